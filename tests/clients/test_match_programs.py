"""Programs of a match that do not start, fail, or are to be ended: nothing of them is left, and why is told."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from checkout import IMPORT
from pretended_players import fake
from processes import alive, gone

from desdaemon.clients.match import match as command
from desdaemon.clients.programs import process_groups
from desdaemon.clients.programs.engine_process import EngineFault, EngineProcess, command_of
from desdaemon.clients.programs.engine_protocols import PLAYERS, NBoardPlayer, start_player
from desdaemon.clients.programs.process_groups import MatchStopped, ProcessGroups
from desdaemon.clients.programs.time_control import Stopwatch, TimeControl
from desdaemon.protocol.errors import quoted
from desdaemon.protocol.games.records import GameRecord
from desdaemon.protocol.othello.notation import START

RUN = IMPORT + "from desdaemon.clients.match import match; sys.exit(match.main(sys.argv[1:]))"


STAGES = {
    "detection": (["sh -c 'sleep 1000'", "sh -c 'sleep 1000'"], lambda folder, mark: len(alive(mark)) > 2),
    "start": ([fake("gtp", "deaf"), fake("gtp", "deaf")], lambda folder, mark: len(alive(mark)) > 2),
    "game": ([fake("gtp", "stubborn"), fake("gtp", "hang", 30)], lambda folder, mark: journal_lines(folder) > 1),
}
"""Two programs, and whether a match has come so far: beside it and its guard a program runs, or a game was played."""


def journal_lines(folder: Path) -> int:
    path = folder / "journal"
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.posix
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("stage", list(STAGES))
def test_a_signal_leaves_no_program_behind(stage: str, name: str, tmp_path: Path) -> None:
    """At any stage; those that programs have started themselves neither, and a killed match none either."""
    number = signal.Signals[name]
    programs, reached = STAGES[stage]
    mark = f"desdaemon-test-{os.getpid()}-{stage}-{number}"
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *programs, "--concurrency", "2", "--journal", str(tmp_path / "journal")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "MARK": mark},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        end = time.monotonic() + 60
        while not reached(tmp_path, mark):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        if number == signal.SIGKILL:
            # The guard has to have heard of the last program.
            time.sleep(1)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert gone(mark)
        assert b"Traceback" not in err
        if number != signal.SIGKILL:
            assert process.returncode == 128 + number
            assert err == b""
            assert (b"score" in out) == (stage != "detection")
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            assert stream
            stream.close()


_STARTER = (
    IMPORT
    + """
import time
from desdaemon.clients.programs.process_groups import ProcessGroups
program = '''
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"], stderr=sys.stderr)
print("started", flush=True)
if sys.argv[1] == "killed":
    time.sleep(120)
'''
groups = ProcessGroups()
process = groups.start([sys.executable, "-c", program, sys.argv[1]], None)
process.stdout.readline()
if sys.argv[1] == "ended":
    process.wait()
    groups.end(process)
print("started", flush=True)
time.sleep(120)
"""
)
"""Starts a program that starts another one. It ends by itself and then its group, or the starter is killed."""


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_what_a_program_has_started_ends_with_it(how: str) -> None:
    """Wherever the system is: no word of /proc, no signal."""
    with subprocess.Popen(
        [sys.executable, "-c", _STARTER, how], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        begun = process.stdout.readline()
        process.kill()
        since = time.monotonic()
        # Each of them holds the other end, and has ended when this comes to an end.
        assert process.stderr.read() == b""
    assert begun.strip() == b"started"
    assert time.monotonic() - since < 60


@pytest.mark.posix
def test_no_program_is_started_after_a_stop() -> None:
    groups = ProcessGroups()
    process = EngineProcess(command_of(fake("gtp")), groups=groups)
    groups.stop()
    with pytest.raises(EngineFault, match="SIGKILL"):
        process.until(re.compile(b"never").search, 20)
    process.kill()
    with pytest.raises(MatchStopped):
        groups.start(["true"], None)
    with pytest.raises(EngineFault, match="being stopped"):
        EngineProcess(["true"], groups=groups)


@pytest.mark.posix
def test_no_end_of_a_program_is_waited_for_without_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither that of a program that the system does not end, nor that of the guard."""
    sleeper = (sys.executable, "-c", "import time; print(flush=True); time.sleep(3600)")
    monkeypatch.setattr(process_groups, "END_S", 0.1)
    monkeypatch.setattr(process_groups, "_GUARD_COMMAND", sleeper)
    groups = ProcessGroups()
    process = groups.start(sleeper, None)
    guard = groups._guard
    assert guard is not None
    try:
        with monkeypatch.context() as patch:
            patch.setattr(process_groups.platform, "end_group", lambda process: None)
            groups.end(process)
        assert process.poll() is None
        assert guard.wait(60) < 0
    finally:
        for started in (process, guard):
            started.kill()
            started.wait()
            for stream in (started.stdin, started.stdout):
                if stream is not None:
                    stream.close()


def test_the_reason_of_a_failed_start_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """The last line of its standard error is in the message, without colours."""
    assert command.main([fake("gtp", "broken"), fake("gtp")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "does not speak gtp: it has ended with status 1: no such weights: /no/where" in err


def test_a_program_that_fails_every_game_stops_the_match(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    account = tmp_path / "account.json"
    sides = [fake("gtp", "crash", 3), fake("gtp", "first")]
    assert command.main([*sides, "--games", "100", "--json", str(account), "--names", "A,B"]) == 1
    out = capsys.readouterr().out
    assert "A failed in every game (crash 4): no Elo" in out
    assert "Elo of" not in out
    assert "SPRT" not in out
    found = json.loads(account.read_text())
    assert (found["status"], found["failed"], found["games"]) == ("failed", "A", 4)
    assert found["pairings"][0]["elo"] is None


@pytest.mark.posix
def test_a_full_disk_stops_the_match_with_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says so, and what was played is reported."""

    def full(descriptor: int) -> None:
        if journal.read_bytes().count(b"\n") > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    journal = tmp_path / "journal"
    monkeypatch.setattr(os, "fsync", full)
    assert command.main([fake("gtp"), fake("gtp"), "--games", "4", "--journal", str(journal)]) == 1
    out, err = capsys.readouterr()
    assert re.search(r"^Fake first \(1\) +2 ", out, re.MULTILINE)
    assert err == f"desdaemon match: {quoted(str(journal))}: No space left on device\n"
    assert command.main([fake("gtp"), fake("gtp"), "--journal", "/dev/full"]) == 1
    assert "expected a regular file" in capsys.readouterr().err


@pytest.mark.posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device without room")
def test_a_full_standard_output_ends_the_match(tmp_path: Path) -> None:
    saved = tmp_path / "games.txt"
    with Path("/dev/full").open("w") as device:
        done = subprocess.run(
            [sys.executable, "-c", RUN, fake("gtp"), fake("gtp"), "--games", "1", "--save", str(saved)],
            stdout=device,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr == "desdaemon match: standard output: No space left on device\n"
    assert saved.exists()


def test_a_program_that_gives_up_has_not_failed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([fake("gtp", "resign", 2), fake("gtp"), "--games", "6"]) == 0
    assert "Elo of" in capsys.readouterr().out


def test_nboard_programs_may_be_late_with_their_name() -> None:
    """Some say nothing before they are told a depth, and print a page of text first."""
    player = start_player(command_of(fake("nboard", "late-name")), "nboard")
    assert isinstance(player, NBoardPlayer)
    assert player.title == Path(sys.executable).name
    player.begin(START, TimeControl(level=7))
    assert player.title == "Late7"
    player.close()


@pytest.mark.parametrize("protocol", list(PLAYERS))
def test_an_answer_without_end_takes_no_longer_than_any_other(protocol: str, tmp_path: Path) -> None:
    """What comes is searched once, in a time in proportion: no pattern goes over it again from each of its places. Of
    the log it takes a MiB.
    """
    log = tmp_path / "log"
    player = start_player(command_of(fake(protocol, "flood")), protocol, log)
    since = time.monotonic()
    try:
        player.begin(START, TimeControl())
        with pytest.raises(EngineFault, match="no answer within 1 s"):
            player.answer(GameRecord(START, ()), Stopwatch(TimeControl(), 0), 1.0)
        assert time.monotonic() - since < 20
    finally:
        player.process.kill()
    assert log.stat().st_size < 4 << 20
    assert "! what follows is not written" in log.read_text()


@pytest.mark.parametrize("protocol", ["gtp", "nboard"])
def test_a_page_of_lines_before_the_answer_is_searched_once(protocol: str) -> None:
    process = EngineProcess(command_of(fake(protocol, "babble")))
    since = time.monotonic()
    try:
        with pytest.raises(EngineFault, match="no answer within 1 s"):
            PLAYERS[protocol](process, 1.0)
        assert time.monotonic() - since < 20
    finally:
        process.kill()


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("= \x1b]0;mine\x07 of\n two\u202e", r"\x1b]0;mine\x07 of two\u202e"),
        ("= " + "n" * 100000, "n" * 40 + "..." + "n" * 10),
        ("? no", Path(sys.executable).name),
    ],
    ids=["controls", "long", "refused"],
)
def test_the_name_of_a_program_is_a_short_line_that_no_terminal_obeys(said: str, title: str) -> None:
    player = start_player(command_of(fake("gtp", "name", said)), "gtp")
    player.close()
    assert player.title == title
