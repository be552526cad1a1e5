"""The base of the dialects: the loop that takes lines from a `LineSource` and answers them to a `DialogueOutput`."""

from __future__ import annotations

from typing import Protocol

from desdaemon.dialogue.session import Session
from desdaemon.dialogue.streams import DialogueOutput, InputLine, LineSource


class Dialect(Protocol):
    """A dialogue in one protocol. `run` is called once, on the dialogue's thread."""

    def run(self, source: LineSource, first: InputLine | None = None) -> int:
        """Answer lines, ``first`` before those of the source, until the dialogue ends; returns the exit status."""


class LineDialect:
    """Base of the dialects that answer line by line."""

    def __init__(self, session: Session, output: DialogueOutput) -> None:
        self.session = session
        self.output = output
        self.leaving: int | None = None
        """The exit status once the dialogue is to end, None before."""

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
        """Ponder, while no line waits; must return soon after a line has arrived."""
        self.session.ponder()

    def execute(self, line: str) -> None:
        """Answer a line; invalid input gets the protocol's form of an error and changes nothing."""
        raise NotImplementedError

    def refuse(self, error: str) -> None:
        """Answer a line that could not be read, for the reason ``error``."""
        raise NotImplementedError

    def say(self, *lines: str) -> None:
        """Send lines together."""
        self.output.write("".join(f"{line}\n" for line in lines))
        self.output.flush()
