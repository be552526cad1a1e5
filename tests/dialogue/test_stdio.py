"""The dialogue over real pipes and files, with the engine that pretends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from checkout import IMPORT
from live import COMMAND, TIMEOUT, Live, converse


@pytest.fixture
def live() -> Iterator[Callable[..., Live]]:
    running: list[Live] = []

    def start(*arguments: str, **environment: str) -> Live:
        running.append(Live(*arguments, **environment))
        return running[-1]

    yield start
    for dialogue in running:
        dialogue.close()


def test_commands_before_quit_are_carried_out() -> None:
    done = converse(b"play f5\nhint 3\nquit\n", "-q", DELAY="0.3")
    assert done.stdout.count(b"\n") == 6
    assert b"F4" in done.stdout
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("data", [b"", b"moves", b"moves\r\n", b"mode 2\nlevel 1\nmode 3"])
def test_the_end_of_the_input_ends_the_process(data: bytes) -> None:
    done = converse(data, "-q")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"D3 C4 F5 E6") == data.count(b"moves")


@pytest.mark.parametrize("leave", [b"quit\n", b"quit"])
def test_every_way_to_leave_ends_the_process(leave: bytes) -> None:
    done = converse(leave + b"moves\n", "-q") if leave.endswith(b"\n") else converse(leave, "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, b">\n", b"")


def test_input_may_be_a_file_or_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.txt"
    script.write_bytes(b"moves\nhint\n")
    for source, answers in ((script, 2), (Path(os.devnull), 0)):
        with source.open("rb") as stdin:
            done = subprocess.run([*COMMAND, "-q"], stdin=stdin, capture_output=True, timeout=TIMEOUT, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.count(b"\n") == answers * 2 + 1


@pytest.mark.posix
def test_a_closed_input_is_an_empty_one() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" "$@" <&-', *COMMAND, "-q"], capture_output=True, timeout=TIMEOUT, check=False
    )
    assert (done.returncode, done.stdout) == (0, b">\n")


def test_bad_lines_get_a_line_each_and_the_dialogue_goes_on() -> None:
    lines = [b"\xff\xfe\x80", b"mo\x00ves", b"x" * 10_000_000, b"level 99", b"hint -3", b"\x1b[A", b"setboard X"]
    done = converse(b"\n".join([*lines, b"moves", b""]), "-q")
    complaints = done.stderr.decode().splitlines()
    expected = [
        "expected UTF-8 text",
        "expected text without control characters",
        "a line of 10000000 bytes: expected at most 65536",
        "expected a whole number from 0 to 60",
        "expected a whole number from 1",
        "expected text without control characters",
        "expected 64 squares",
    ]
    assert len(complaints) == len(expected)
    for complaint, piece in zip(complaints, expected, strict=True):
        assert piece in complaint
        assert len(complaint) < 400
    assert done.stdout.endswith(b">\nD3 C4 F5 E6\n>\n")
    assert done.returncode == 0


def test_stop_ends_a_search_and_keeps_what_is_queued(live: Callable[..., Live]) -> None:
    dialogue = live("-q", "-l", "60")
    dialogue.until(b">")
    dialogue.send(b"go\nmoves\nhint 2\n")
    time.sleep(0.5)
    dialogue.send(b"stop\n")
    assert b"Edax plays D3" in dialogue.until(b">")
    assert b"C3 E3 C5\n" in dialogue.until(b">")
    time.sleep(0.2)
    dialogue.send(b"stop\nmode\n")
    hints = dialogue.until(b">")
    assert hints.count(b"?+") == 2
    dialogue.until(b">")
    dialogue.until(b">")
    assert b"mode = 3" in dialogue.until(b">")


@pytest.mark.parametrize("end", [b"quit\n", b""])
def test_an_endless_search_does_not_outlive_the_input_by_much(end: bytes) -> None:
    done = converse(b"level 60\nhint 2\nmoves\n" + end, "-q", GRACE_S="0.1")
    assert done.stdout.count(b"?+") == 2
    assert b"D3 C4 F5 E6" in done.stdout
    assert done.returncode == 0


def test_answers_that_need_no_engine_do_not_wait_for_it(live: Callable[..., Live]) -> None:
    dialogue = live(DELAY="600")
    dialogue.until(b">")
    for line, answer in (
        (b"version", b"desdaemon version"),
        (b"help", b"setboard"),
        (b"play f5", b"ply  2"),
        (b"setboard 8/8/8/3Pp3/3pP3/8/8/8 w", b"White's turn"),
        (b"moves", b"E3"),
    ):
        dialogue.send(line + b"\n")
        assert answer in dialogue.until(b"\n>")
    dialogue.send(b"quit\n")
    assert dialogue.end()[2] == 0


def test_quit_does_not_wait_for_the_engine(live: Callable[..., Live]) -> None:
    dialogue = live("-q", DELAY="600", GRACE_S="0.1")
    dialogue.until(b">")
    dialogue.send(b"hint\n")
    time.sleep(1)
    dialogue.send(b"quit\n")
    assert dialogue.end()[2] == 0


def test_a_lost_output_ends_the_process(live: Callable[..., Live]) -> None:
    dialogue = live()
    dialogue.until(b">")
    assert dialogue.process.stdout is not None
    dialogue.process.stdout.close()
    # On Windows the fixture would read it all the same.
    dialogue.process.stdout = None
    dialogue.send(b"moves\n")
    assert dialogue.process.wait(TIMEOUT) == 1


@pytest.mark.needs("clients.gamefiles")
@pytest.mark.posix
def test_an_interrupt_ends_solving_with_what_was_solved(live: Callable[..., Live]) -> None:
    problem = b"--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X; G8:+18;\n"
    dialogue = live("-solve", "-", "-l", "4")
    dialogue.send(problem)
    dialogue.until(b"  1|")
    dialogue.until(b"\n")
    dialogue.process.send_signal(signal.SIGINT)
    out, err, status = dialogue.end()
    assert b"1 positions; " in out
    assert (err, status) == (b"", 0)


@pytest.mark.needs("clients.gamefiles")
@pytest.mark.posix
def test_an_interrupt_while_solving_waits_for_the_engine(live: Callable[..., Live]) -> None:
    dialogue = live("-verbose", "2", "-solve", "-", DELAY="60")
    dialogue.send(b"--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X; G8:+18;\n")
    dialogue.until(b"principal variation\n")
    time.sleep(0.3)
    dialogue.process.send_signal(signal.SIGINT)
    _, err, status = dialogue.end()
    assert (err, status) == (b"", 130)


def test_stray_prints_do_not_reach_the_answers() -> None:
    code = (
        "import os\n"
        "from desdaemon.dialogue.stdio import guard_stdout\n"
        "from desdaemon.dialogue.streams import DescriptorOutput\n"
        "output = DescriptorOutput(guard_stdout(), 2); print('stray'); os.system('echo stray')\n"
        "sys.stdout.flush(); output.write('answer'); output.flush()"
    )
    done = subprocess.run(
        [sys.executable, "-c", IMPORT + code],
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.stdout == b"answer"
    # Of which the shell's has the line end of the system.
    assert done.stderr.splitlines() == [b"stray", b"stray"]


@pytest.mark.needs("clients.gamefiles")
@pytest.mark.posix
def test_solve_streams_problems_from_standard_input(live: Callable[..., Live]) -> None:
    problem = b"--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X; G8:+18; H1:+12;\n"
    dialogue = live("-solve", "/dev/stdin", "-l", "4")
    dialogue.until(b"principal variation\n")
    dialogue.until(b"---+\n".replace(b"+\n", b"\n"))
    for number in (1, 2):
        dialogue.send(problem)
        assert dialogue.until(b"\n").startswith(b"%3d|" % number)
    assert dialogue.process.stdin is not None
    dialogue.process.stdin.close()
    dialogue.process.stdin = None
    out, err, status = dialogue.end()
    assert b"2 positions; " in out
    assert (err, status) == (b"", 0)
