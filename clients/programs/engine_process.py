"""A playing program as a child process: its output lines with times of arrival, time-outs, end and exit status."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO, BinaryIO

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.system import platform
from desdaemon.protocol.system.interpreter import SIGNALS_S

from .process_groups import GROUPS, MatchStopped, ProcessGroups

OWN = "self"
"""Name of this program at the start of an engine's command line; it speaks GTP unless its options say otherwise."""

OWN_COMMAND = [sys.executable, "-P", "-m", "desdaemon"]
"""This program; ``-P`` keeps modules in the current folder, which is the user's, from being imported."""

_CHOOSE_PROTOCOL = {"gtp", "nboard", "protocol"}
THREAD_OPTIONS = {"n", "n-tasks"}
"""Names of this program's option for the number of search threads; the match sets 1 if it is not given."""

_MOST_KEPT = 1 << 20
_SENT = b"< "
_GOING_S = 3.0
_LAST_LINES_S = 0.5
_LONGEST_LINE = 300
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class EngineFault(Exception):
    """An engine crashed, hung, answered wrongly or resigned; ``kind`` is ``crash``, ``hang``, ``answer`` (refused or
    unreadable), ``illegal`` or ``resigned``.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def command_of(text: str) -> list[str]:
    """Return the words of a command line (`platform.command_words`). Raises `BadInput` for no word and an open quote.

    A first word `OWN` becomes this program, with ``-gtp`` unless its options choose a protocol, and with ``-n 1``
    unless they set the number of threads.
    """
    try:
        words = platform.command_words(text)
    except ValueError as error:
        raise BadInput(f"engine {quoted(text)}: {error}: expected a command line") from None
    if not words:
        raise BadInput(f"engine {quoted(text)}: expected a command line")
    if words[0] == OWN:
        named = {word.lstrip("-").partition("=")[0] for word in words[1:]}
        protocol = [] if named & _CHOOSE_PROTOCOL else ["-gtp"]
        # With more threads, programs that play side by side would take each other's processors.
        threads = [] if named & THREAD_OPTIONS else ["-n", "1"]
        return [*OWN_COMMAND, *protocol, *threads, *words[1:]]
    return words


def command_text(command: list[str]) -> str:
    """Return a command line for people, with `OWN` for this program."""
    own = command[: len(OWN_COMMAND)] == OWN_COMMAND
    return platform.command_text([OWN, *command[len(OWN_COMMAND) :]] if own else command)


def program_name(command: list[str]) -> str:
    """Return a name for a program that reports none: ``desdaemon`` for this one, else the name of its file."""
    return "desdaemon" if command[: len(OWN_COMMAND)] == OWN_COMMAND else Path(command[0]).name


class EngineProcess:
    """A running program. Every wait is bounded: it returns the awaited line or raises `EngineFault`."""

    def __init__(
        self, command: list[str], log: Path | None = None, *, quiet: bool = True, groups: ProcessGroups = GROUPS
    ) -> None:
        """Start the program in a process group of its own; the dialogue is appended to the file ``log``.

        With ``quiet`` the program's standard error goes to `error_line` and ``log``, otherwise to this process's.
        Raises `BadInput` if there is no such program, `EngineFault` once ``groups`` was stopped.
        """
        self.command = command
        self._groups = groups
        try:
            self._process = groups.start(command, subprocess.PIPE if quiet else None)
        except OSError as error:
            raise BadInput(f"engine {quoted(command_text(command))}: {error.strerror}") from None
        except MatchStopped:
            raise EngineFault("crash", "not started: it is being stopped") from None
        self._log = log.open("ab") if log else None
        self._log_lock = threading.Lock()
        self._noted = 0
        self._said = bytearray()
        self._received = 0
        self._ended = False
        self._news = threading.Condition()
        self._last_news = time.perf_counter()
        assert self._process.stdin
        assert self._process.stdout
        self._input: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout.fileno(),), daemon=True)
        self._reader.start()
        self._error_lines: deque[str] = deque(maxlen=20)
        self._error_reader: threading.Thread | None = None
        if self._process.stderr:
            self._error_reader = threading.Thread(target=self._read_errors, args=(self._process.stderr,), daemon=True)
            self._error_reader.start()

    def _read_errors(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := stream.readline(1 << 16):
                self._note(b"! ", line)
                text = _ESCAPES.sub("", line.decode("utf-8", "replace")).strip()
                if text:
                    self._error_lines.append("".join(c for c in text[:_LONGEST_LINE] if c.isprintable()))

    @property
    def error_line(self) -> str:
        """A colon, a blank and the last line of standard error, for the end of a message; "" without a line."""
        return f": {self._error_lines[-1]}" if self._error_lines else ""

    def _read(self, descriptor: int) -> None:
        while True:
            try:
                data = os.read(descriptor, 65536)
            except OSError:
                data = b""
            now = time.perf_counter()
            with self._news:
                self._said += data
                self._received += len(data)
                del self._said[:-_MOST_KEPT]
                self._last_news = now
                self._ended = not data
                self._news.notify_all()
            if not data:
                return
            self._note(b"> ", data)

    def _note(self, mark: bytes, data: bytes) -> None:
        """Write to the log. Of a program that floods it gets `_MOST_KEPT` bytes for each line that was sent."""
        if self._log:
            with self._log_lock, contextlib.suppress(OSError, ValueError):
                self._noted = 0 if mark == _SENT else self._noted + len(data)
                if self._noted <= _MOST_KEPT:
                    self._log.write(b"".join(mark + line for line in data.splitlines(keepends=True)))
                elif self._noted - len(data) <= _MOST_KEPT:
                    self._log.write(b"\n! what follows is not written: it is too much\n")
                self._log.flush()

    def send(self, *lines: str) -> None:
        data = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
        self._note(_SENT, data)
        try:
            self._input.write(data)
            self._input.flush()
        except OSError:
            raise self._crash() from None

    def forget(self) -> None:
        """Discard the output that arrived and that no `until` has matched."""
        with self._news:
            self._said.clear()

    def until(self, find: Callable[[bytes], re.Match[bytes] | None], seconds: float) -> tuple[re.Match[bytes], float]:
        """Wait until ``find`` finds what is awaited in the output. Returns the match and the time of the latest output
        (`time.perf_counter`), and drops the output up to the match's end. Only the last `_MOST_KEPT` bytes of output
        are searched.

        A program may write anything, so ``find`` must take a time in proportion to the output.

        Raises `EngineFault` after ``seconds`` without a match, or if the program ends first.
        """
        deadline = time.perf_counter() + seconds
        searched = -1
        with self._news:
            while True:
                # What has been searched is not searched again: signals wait for it.
                if searched != self._received:
                    searched = self._received
                    match = find(bytes(self._said))
                    if match:
                        del self._said[: match.end()]
                        return match, self._last_news
                if self._ended:
                    break
                left = deadline - time.perf_counter()
                if left <= 0:
                    raise EngineFault("hang", f"no answer within {seconds:.3g} s")
                self._news.wait(min(left, SIGNALS_S))
        raise self._crash()

    def _crash(self) -> EngineFault:
        try:
            status = self._process.wait(_GOING_S)
        except subprocess.TimeoutExpired:
            return EngineFault("crash", f"it has closed its output{self.error_line}")
        if self._error_reader:
            # The program's children may hold the stream open.
            self._error_reader.join(_LAST_LINES_S)
        if status < 0:
            return EngineFault("crash", f"it has been ended by {signal.Signals(-status).name}{self.error_line}")
        return EngineFault("crash", f"it has ended with status {status}{self.error_line}")

    def close(self) -> None:
        """Close the program's input, wait a few seconds for its exit, and kill what is left of it and its children."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self._input.close()
            self._process.wait(_GOING_S)
        self.kill()

    def kill(self) -> None:
        """Kill the program and its children, and close its pipes."""
        self._groups.end(self._process)
        for thread in (self._reader, self._error_reader):
            if thread:
                thread.join(_GOING_S)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr, self._log):
            with contextlib.suppress(OSError):
                if stream:
                    stream.close()
