"""The streams of a dialogue: an output for answers and errors, and numbered input lines.

A reader thread cuts the input into lines. The protocol's listener hears each at once, so that a stop takes effect while
the dialogue's thread is busy; then the line waits in a queue for the dialogue.
"""

from __future__ import annotations

import os
import select
import threading
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

from desdaemon.protocol.commands.text import TextLine, read_line
from desdaemon.protocol.errors import quoted
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.output import write_all

from .interrupt import Interrupt

CHUNK = 65_536
"""Most bytes of one read."""


class DialogueOutput(Protocol):
    """The output of a dialogue. Text includes its line ends; an error is one line without a line end."""

    def write(self, text: str) -> None:
        """Write an answer, or part of one."""

    def error(self, line: str) -> None:
        """Write a message about invalid input."""

    def flush(self) -> None:
        """Deliver all text written so far."""


class DescriptorOutput:
    """Writes to two file descriptors, blocking or not. Any thread may use it; texts of two `flush` calls do not mix.

    A line of progress at the terminal gives way to them. Raises `OSError` if answers cannot be delivered.
    """

    def __init__(self, out: int, err: int) -> None:
        self._out = out
        self._err = err
        self._pending: list[str] = []
        self._lock = threading.Lock()

    def write(self, text: str) -> None:
        with self._lock:
            self._pending.append(text)

    def error(self, line: str) -> None:
        """Deliver the answers so far, then write an error; a closed standard error is no failure."""
        self.flush()
        logs.wipe()
        with suppress(OSError):
            write_all(self._err, _encoded(f"{line}\n"))

    def flush(self) -> None:
        with self._lock:
            text = "".join(self._pending)
            self._pending.clear()
            if text:
                logs.wipe()
                write_all(self._out, _encoded(text))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


class InputLine(NamedTuple):
    """A numbered line, or the ``error`` in place of one that could not be read.

    ``text`` is None at the end of the input, with the exit status in ``status``. ``line`` is the text as parsed by the
    text protocol's listener; None in other protocols.
    """

    number: int
    text: str | None
    error: str = ""
    status: int = 0
    line: TextLine | None = None

    @property
    def is_end(self) -> bool:
        """Whether this is the end of the input."""
        return self.text is None


class LineQueue:
    """The lines on their way from the reader thread to the dialogue's. Any thread may call the methods."""

    def __init__(self) -> None:
        self._items: deque[InputLine] = deque()
        self._ready = threading.Condition()
        self._failure: InputLine | None = None
        """The end of the dialogue after a failure; overtakes all waiting lines."""
        self.on_taken: Callable[[InputLine], None] = lambda line: None
        """Called with each line that the dialogue takes."""

    def put(self, line: InputLine) -> None:
        """Add a line."""
        with self._ready:
            self._items.append(line)
            self._ready.notify()

    def fail(self, end: InputLine) -> None:
        """End the dialogue with ``end``, which overtakes all waiting lines."""
        with self._ready:
            self._failure = end
            self._ready.notify()

    def get(self) -> InputLine:
        """Wait for the next line and remove it."""
        with self._ready:
            while not self._items and not self._failure:
                self._ready.wait()
            line = self._failure or self._items.popleft()
        self.on_taken(line)
        return line

    def peek(self) -> InputLine | None:
        """Return the next line without removing it; None if there is none yet."""
        with self._ready:
            return self._failure or (self._items[0] if self._items else None)


class InputListener:
    """Looks at each input line on the reader thread as it arrives, so that ``stop`` or ``quit`` can end a search while
    the dialogue's thread is busy.

    Lines over ``longest`` bytes are refused. Lines that are not UTF-8 or have control characters are refused if
    ``strict`` is true, else cleaned. If ``scripted`` is true, commands that wait at the end of the input are still
    answered; otherwise the end of the input means that the GUI has gone.
    """

    strict = True
    scripted = True
    longest = 65_536

    def __init__(self, interrupt: Interrupt) -> None:
        self.interrupt = interrupt

    def read(self, text: str) -> TextLine | None:
        """Return the line as the text protocol parses it; None in other protocols. Called just before `hear`."""
        return None

    def hear(self, number: int, line: str) -> bool:
        """Report line ``number`` to the `Interrupt` if it ends a search. Returns True for a quit: nothing more is
        read.
        """
        return False

    def following(self) -> str:
        """Return the protocol that the last line begins; "" if it begins none."""
        return ""

    def leave(self) -> bool:
        """Report a quit to the `Interrupt`. Returns True, for `hear` to return."""
        self.interrupt.close(leaving=True)
        return True


class TextListener(InputListener):
    """Hears Edax's text protocol: ``stop``, ``quit``, and lines that change the protocol."""

    _line = read_line("")

    def read(self, text: str) -> TextLine:
        self._line = read_line(text)
        return self._line

    def hear(self, number: int, line: str) -> bool:
        name = self._line.name
        if name == "stop":
            self.interrupt.stop(number)
        return self.leave() if name == "quit" else False

    def following(self) -> str:
        return self._line.successor


class LineReader:
    """Cuts received bytes into lines and passes them to a listener and a `LineQueue`. No I/O; for one thread."""

    def __init__(
        self, lines: LineQueue, listener: InputListener, listener_of: Callable[[str], InputListener] | None = None
    ) -> None:
        """``listener_of`` returns the listener for a protocol that a line begins; with None the first one stays."""
        self._lines = lines
        self._listener = listener
        self._listener_of = listener_of
        self._number = 0
        """Number of the last line."""
        self._partial = b""
        """The start of a line whose end has not come; of a too long line only one byte."""
        self._dropped = 0
        """Bytes of a too long line that were dropped."""
        self._left = False
        """Whether a quit was heard."""

    def feed(self, data: bytes) -> bool:
        """Add received bytes. Returns False after a quit: then feed no more."""
        *complete, rest = data.split(b"\n")
        for part in complete:
            self._line(self._partial + part)
            self._partial = b""
            if self._left:
                return False
        self._partial += rest
        if len(self._partial) > self._listener.longest:
            self._dropped += len(self._partial) - 1
            self._partial = self._partial[:1]
        return True

    def close(self) -> None:
        """End the input, and report that to the `Interrupt`; a last line counts even without a line end. Does nothing
        after a quit.
        """
        if self._partial and not self._left:
            self._line(self._partial)
        if not self._left:
            self._lines.put(InputLine(self._number + 1, None))
            self._listener.interrupt.close(leaving=False, absent=not self._listener.scripted)

    def _line(self, data: bytes) -> None:
        self._number += 1
        if self._number == 1:
            if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
                return self._refuse("the input is UTF-16: expected UTF-8 text")
            data = data.removeprefix(BOM_UTF8)
        length, self._dropped = len(data) + self._dropped, 0
        listener = self._listener
        if length > listener.longest:
            return self._refuse(f"a line of {length} bytes: expected at most {listener.longest}")
        if listener.strict:
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                return self._refuse(f"{quoted(data.decode('utf-8', 'backslashreplace'))}: expected UTF-8 text")
            text = text.removesuffix("\r")
            if any(c < " " and c != "\t" for c in text):
                return self._refuse(f"{quoted(text)}: expected text without control characters")
        else:
            text = data.decode("utf-8", "backslashreplace").replace("\t", " ")
            text = "".join(c for c in text if c >= " " and c != "\x7f")
        self._lines.put(InputLine(self._number, text, line=listener.read(text)))
        listener.interrupt.heard(self._number)
        self._left = listener.hear(self._number, text)
        protocol = listener.following()
        if protocol and self._listener_of:
            self._listener = self._listener_of(protocol)
        return None

    def _refuse(self, error: str) -> None:
        self._lines.put(InputLine(self._number, "", error))
        self._listener.interrupt.heard(self._number)


def read_lines(descriptor: int, reader: LineReader) -> None:
    """Pass what a descriptor delivers to ``reader`` until its end, an error or a quit; then close ``reader``."""
    while True:
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            select.select([descriptor], [], [])
            continue
        except OSError:
            data = b""
        if not data or not reader.feed(data):
            break
    reader.close()
