"""The base of all dialogues: an input line, the queue of lines, and the loop that answers line by line to a
`DialogueOutput`.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from desdaemon.dialogue.output import DialogueOutput
from desdaemon.dialogue.session import Session
from desdaemon.protocol.commands.text import TextLine


class InputLine(NamedTuple):
    """A numbered line from the reader thread, or the ``error`` in place of a line that could not be read.

    ``text`` is None at the end of the input; ``status`` is the exit status then. ``line`` is the text as the text
    protocol's listener has read it, None in other protocols.
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


class LineSource(Protocol):
    """A queue of `InputLine`: filled by a reader thread, emptied by the dialogue's thread."""

    def get(self) -> InputLine:
        """Wait for the next item and remove it."""

    def peek(self) -> InputLine | None:
        """The next item without removing it; None when there is none yet."""


class Dialect(Protocol):
    """A dialogue in one protocol. `run` is called once, on the dialogue's thread."""

    def run(self, source: LineSource, first: InputLine | None = None) -> int:
        """Answer lines, ``first`` before those of the source, until the dialogue ends; returns the exit status."""


class LineDialect:
    """Base of the dialogues that answer line by line. ``leaving`` is the exit status once the dialogue is to end, None
    before.
    """

    def __init__(self, session: Session, output: DialogueOutput) -> None:
        self.session = session
        self.output = output
        self.leaving: int | None = None

    def run(self, source: LineSource, first: InputLine | None = None) -> int:
        """See `Dialect`."""
        item = first or source.get()
        while item.text is not None:
            self.session.interrupt.begin(item.number)
            if item.error:
                self.refuse(item.error)
            else:
                self.execute(item.text)
            if self.leaving is not None:
                return self.leaving
            if source.peek() is None:
                self.idle()
            item = source.get()
        return item.status

    def idle(self) -> None:
        """Called while no line waits, for pondering; must return soon after a line has arrived."""
        self.session.ponder()

    def execute(self, line: str) -> None:
        """Answer a line; invalid input gets the protocol's form of an error and changes nothing."""
        raise NotImplementedError

    def refuse(self, error: str) -> None:
        """Answer a line that could not be read; ``error`` is the reason."""
        raise NotImplementedError

    def say(self, *lines: str) -> None:
        """Send lines together."""
        self.output.write("".join(f"{line}\n" for line in lines))
        self.output.flush()
