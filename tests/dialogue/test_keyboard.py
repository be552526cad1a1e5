"""Somebody at a terminal: Ctrl-C, editing, history; and a daemon whose output or terminal is a full device."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from live import COMMAND, TIMEOUT

from desdaemon.dialogue.terminal import PromptingOutput

COUNTING = pytest.mark.needs("engine.counting")

pytestmark = pytest.mark.posix

MUST_PASS = "OX------" + "-" * 56 + " X"
CTRL_C, CTRL_D, UP, LEFT, TAB = b"\x03", b"\x04", b"\x1b[A", b"\x1b[D", b"\t"


def _own_terminal(slave: int) -> None:
    """Make the terminal the one whose keyboard interrupts this process, which heeds it."""
    import fcntl

    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """The daemon with the engine that pretends, at a terminal of 80 columns."""

    def __init__(self, home: Path, *arguments: str, **environment: str) -> None:
        self.master, self.slave = pty.openpty()
        self.as_found = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env={**os.environ, "TERM": "xterm", "XDG_STATE_HOME": str(home), "COLUMNS": "80", **environment},
            preexec_fn=lambda: _own_terminal(0),
        )
        self.seen = b""

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def until(self, piece: bytes) -> bytes:
        """Read up to a piece of what is shown; all that came with it."""
        seen = b""
        until = time.monotonic() + TIMEOUT
        while piece not in seen:
            ready = select.select([self.master], [], [], max(0.0, until - time.monotonic()))[0]
            assert ready, (piece, seen)
            try:
                seen += os.read(self.master, 1)
            except OSError as error:
                raise AssertionError(seen) from error
        return seen

    def end(self) -> int:
        status = self.process.wait(TIMEOUT)
        assert termios.tcgetattr(self.slave)[3] == self.as_found[3], "the terminal is left in another state"
        return status

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(TIMEOUT)
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    made = Terminal(tmp_path, "-q", *getattr(request, "param", ()))
    made.until(b">")
    # The engine is there from now on.
    made.type(b"eval\n")
    made.until(b">")
    yield made
    made.close()


ENDLESS = pytest.mark.parametrize("terminal", [("-l", "60")], indirect=True)


@ENDLESS
def test_ctrl_c_ends_the_search_and_shows_what_it_found(terminal: Terminal) -> None:
    terminal.type(b"verbose 1\nhint\n")
    terminal.until(b"principal variation")
    time.sleep(0.7)
    terminal.type(CTRL_C)
    # An echoed key would shift the row.
    assert b"^C" not in terminal.until(b"?+10")
    terminal.until(b">")
    # And the dialogue goes on.
    terminal.type(b"mode\n")
    terminal.until(b"mode = 3")
    terminal.until(b">")
    terminal.type(b"quit\n")
    assert terminal.end() == 0


def test_a_change_of_a_setting_is_told(terminal: Terminal) -> None:
    for line, told in (("level 3", "level = 3"), ("mode 3", "mode = 3"), ("ponder on", "ponder = on")):
        terminal.type(f"{line}\n".encode())
        terminal.until(f"\n{told}".encode())
        terminal.until(b">")
    terminal.type(b"level 99\n")
    assert b"\nlevel = " not in terminal.until(b">")


def test_a_misspelt_word_is_told_in_plain_words(terminal: Terminal) -> None:
    """Those of Edax, two messages in one, are for programs."""
    terminal.type(b"hlep\n")
    terminal.until(b'Neither a command nor a move: "hlep": did you mean "help"?')


def test_a_forced_pass_is_told(terminal: Terminal) -> None:
    terminal.type(f"setboard {MUST_PASS}\n".encode())
    terminal.until(b"Black has no move: type PS to pass")
    terminal.until(b">")
    terminal.type(b"ps\n")
    terminal.until(b"You play PS")
    assert b"no move" not in terminal.until(b">")


def test_the_first_screen_names_help_and_quit(tmp_path: Path) -> None:
    made = Terminal(tmp_path)
    try:
        made.until(b"type help for the commands, quit to leave")
        made.until(b">")
        made.type(b"quit\n")
        assert made.end() == 0
    finally:
        made.close()


def test_a_pipe_gets_no_prompt() -> None:
    lines = f"level 3\nmode 3\nsetboard {MUST_PASS}\nquit\n"
    done = subprocess.run([*COMMAND], input=lines, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0
    assert not re.search(r"help|=|has no move", done.stdout + done.stderr)
    done = subprocess.run([*COMMAND], input="hlep\n", capture_output=True, text=True, timeout=TIMEOUT)
    assert 'Unknown command/Illegal move: "hlep"' in done.stderr


@ENDLESS
def test_lines_typed_during_a_search_do_not_shift_the_prompt(terminal: Terminal) -> None:
    terminal.type(b"verbose 1\nhint\n")
    terminal.until(b"principal variation")
    time.sleep(0.7)
    terminal.type(b"\nstop\n")
    terminal.until(b"?+10")
    for _ in range(3):
        terminal.type(b"mode\n")
        terminal.until(b"mode = 3")
        terminal.until(b">")
    terminal.type(b"quit\n")
    assert terminal.end() == 0


class _Shown:
    """An output that keeps what is written."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def error(self, line: str) -> None:
        self.text += line

    def flush(self) -> None: ...


def test_a_prompt_waits_for_the_keyboard_only_if_no_line_was_typed_before_it() -> None:
    typed = ["stop"]
    shown = _Shown()
    output = PromptingOutput(shown, ">", lambda: typed)
    output.write(">")
    output.flush()
    assert shown.text == ">"
    assert not output.prompted.is_set()
    typed.clear()
    output.write("\n")
    output.write(">")
    output.flush()
    # The line editor shows this one.
    assert shown.text == ">\n"
    assert output.prompted.is_set()


@ENDLESS
def test_a_second_ctrl_c_leaves(terminal: Terminal) -> None:
    terminal.type(b"verbose 1\nmode 2\n")
    terminal.until(b"principal variation")
    time.sleep(0.7)
    terminal.type(CTRL_C)
    terminal.until(b"Edax plays D3")
    terminal.until(b">")
    time.sleep(0.3)
    terminal.type(CTRL_C)
    assert terminal.end() == 130


def test_ctrl_c_before_the_engine_is_loaded_gets_an_answer(tmp_path: Path) -> None:
    """The command ends with a message, and the dialogue goes on."""
    terminal = Terminal(tmp_path, "-q", "-l", "60", DELAY="1000")
    try:
        terminal.until(b">")
        terminal.type(b"verbose 1\nhint 2\n")
        terminal.until(b"principal variation")
        terminal.type(CTRL_C)
        terminal.until(b'"hint 2": stopped before its search began')
        terminal.until(b">")
        terminal.type(b"quit\n")
        assert terminal.end() == 0
    finally:
        terminal.close()


def test_ctrl_c_at_the_prompt_leaves(terminal: Terminal) -> None:
    time.sleep(0.3)
    terminal.type(b"half a li")
    terminal.until(b"half a li")
    terminal.type(CTRL_C)
    assert terminal.end() == 130


def test_lines_are_edited_kept_and_completed(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type(b"verjion" + LEFT * 3 + b"\x7fs")
    terminal.type(b"\n")
    terminal.until(b"desdaemon version")
    terminal.until(b">")
    terminal.type(UP + b"\n")
    terminal.until(b"desdaemon version")
    terminal.until(b">")
    terminal.type(b"opti" + TAB)
    terminal.until(b"options ")
    terminal.type(b"\n")
    terminal.until(b"book-tasks")
    terminal.until(b">")
    terminal.type(CTRL_D)
    assert terminal.end() == 0
    kept = (tmp_path / "desdaemon" / "history").read_text().splitlines()
    assert kept[-1].strip() == "options"
    assert "version" in kept
    assert (tmp_path / "desdaemon" / "history").stat().st_mode & 0o077 == 0
    again = Terminal(tmp_path, "-q")
    try:
        again.until(b">")
        time.sleep(0.3)
        again.type(UP + UP + b"\n")
        again.until(b"desdaemon version")
        again.type(b"quit\n")
        assert again.end() == 0
    finally:
        again.close()


def test_a_history_that_cannot_be_kept_is_done_without(tmp_path: Path) -> None:
    made = Terminal(tmp_path, "-q", XDG_STATE_HOME="/proc/nowhere")
    try:
        made.until(b">")
        made.type(b"moves\n")
        made.until(b"D3 C4 F5 E6")
        made.type(b"quit\n")
        assert made.end() == 0
    finally:
        made.close()


def test_a_long_help_has_a_pager(tmp_path: Path) -> None:
    """The pager reads the keys, and Ctrl-C is one of them."""
    pager = tmp_path / "pager"
    pager.write_text(
        "import sys\nlines = sys.stdin.read().splitlines()\nprint(max(map(len, lines)) < 80, 'page', flush=True)\n"
        "print(repr(open('/dev/tty').readline()))\n"
    )
    made = Terminal(tmp_path, "-q", PAGER=f"{sys.executable} {pager}", LINES="24")
    try:
        made.until(b">")
        made.type(b"help options\n")
        made.until(b"True page")
        made.type(CTRL_C + b"mode\n")
        made.until(b"'\\x03mode\\n'")
        made.until(b">")
        made.type(b"help hint\n")
        assert b"page" not in made.until(b"Search and show")
        made.until(b">")
        made.type(b"quit\n")
        assert made.end() == 0
    finally:
        made.close()


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [[], pytest.param(["perft", "2"], marks=COUNTING), ["--help"]])
def test_a_full_device_is_named_in_a_line(arguments: list[str]) -> None:
    with FULL.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "desdaemon", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT,
            check=False,
        )
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_a_reader_that_has_left_gets_no_message() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "desdaemon", "--help"], stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
