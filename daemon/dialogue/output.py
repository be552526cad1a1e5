"""Outputs: where the answers and error messages of a dialogue are written."""

from __future__ import annotations

import os
import select
import threading
from typing import Protocol


class DialogueOutput(Protocol):
    """The output of a dialogue. Text includes its line ends; an error is one line without."""

    def write(self, text: str) -> None:
        """An answer, or part of one."""

    def error(self, line: str) -> None:
        """Write a message about invalid input."""

    def flush(self) -> None:
        """Deliver everything written so far."""


class Collected:
    """Keeps everything written until `take`: for the text sessions of remote clients, and tests."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.err: list[str] = []

    def write(self, text: str) -> None:
        """See `DialogueOutput`."""
        self.out.append(text)

    def error(self, line: str) -> None:
        """See `DialogueOutput`."""
        self.err.append(line)

    def flush(self) -> None:
        """See `DialogueOutput`."""

    def take(self) -> tuple[str, str]:
        """Return and remove the text and the error lines written so far."""
        out, err = "".join(self.out), "".join(line + "\n" for line in self.err)
        self.out.clear()
        self.err.clear()
        return out, err


class Descriptors:
    """Writes to two file descriptors, blocking or not. Raises `OSError` when answers cannot be delivered.

    Every method may be called from any thread; the text of one `flush` is not mixed with another's.
    """

    def __init__(self, out: int, err: int) -> None:
        self._out = out
        self._err = err
        self._pending: list[str] = []
        self._lock = threading.Lock()

    def write(self, text: str) -> None:
        """See `DialogueOutput`."""
        with self._lock:
            self._pending.append(text)

    def error(self, line: str) -> None:
        """See `DialogueOutput`. Earlier answers are delivered first; a closed standard error is no error."""
        self.flush()
        try:
            _write_all(self._err, f"{line}\n")
        except OSError:
            return

    def flush(self) -> None:
        """See `DialogueOutput`."""
        with self._lock:
            text = "".join(self._pending)
            self._pending.clear()
            if text:
                _write_all(self._out, text)


class Prompting:
    """An output at a terminal where a line editor shows the prompt.

    Instead of being written the prompt sets ``prompted``. The dialogue's thread writes; `free` may be called from any
    thread.
    """

    def __init__(self, output: DialogueOutput, prompt: str) -> None:
        self._output = output
        self._prompt = prompt
        self._due = False
        self._free = True
        self.prompted = threading.Event()
        """A line is wanted, and everything before it has been written."""

    def free(self) -> bool:
        """Whether the cursor is at the beginning of a line, and no prompt will follow before more is written."""
        return self._free

    def write(self, text: str) -> None:
        """See `DialogueOutput`."""
        self._due = text == self._prompt
        if not self._due:
            self.prompted.clear()
            self._claim()
            self._output.write(text)
            self._output.flush()
            self._free = text.endswith("\n")

    def error(self, line: str) -> None:
        """See `DialogueOutput`."""
        free = self._free
        self._claim()
        self._output.error(line)
        self._free = free

    def flush(self) -> None:
        """See `DialogueOutput`."""
        self._output.flush()
        if self._due:
            self._due = False
            self._claim()
            self.prompted.set()

    def _claim(self) -> None:
        """Clear the compiler's progress from the cursor's line."""
        # Imported here: nothing that precedes the first prompt needs it.
        from desdaemon.engine.compiler import notice

        self._free = False
        notice.wipe()


class Counted:
    """Forwards everything to another output and counts the errors, for the exit status of a single command."""

    def __init__(self, output: DialogueOutput) -> None:
        self._output = output
        self.errors = 0

    def write(self, text: str) -> None:
        """See `DialogueOutput`."""
        self._output.write(text)

    def error(self, line: str) -> None:
        """See `DialogueOutput`."""
        self.errors += 1
        self._output.error(line)

    def flush(self) -> None:
        """See `DialogueOutput`."""
        self._output.flush()


def _write_all(descriptor: int, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
