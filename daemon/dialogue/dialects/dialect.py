"""The base of the dialects: a loop that gets lines from a `LineQueue` and writes answers to a `DialogueOutput`."""

from __future__ import annotations

from typing import Protocol

from desdaemon.dialogue.session import Session
from desdaemon.dialogue.streams import DialogueOutput, InputLine, LineQueue


class Dialect(Protocol):
    """A dialogue in one protocol. `run` is called once, on the dialogue's thread."""

    def run(self, source: LineQueue, first: InputLine | None = None) -> int:
        """Answer lines, ``first`` before those of the source, until the dialogue ends. Returns the exit status."""


class LineDialect:
    """Base of the dialects that answer line by line."""

    def __init__(self, session: Session, output: DialogueOutput) -> None:
        self.session = session
        self.output = output
        self.leaving: int | None = None
        """The exit status; None until the dialogue shall end."""

    def run(self, source: LineQueue, first: InputLine | None = None) -> int:
        line = first or source.get()
        while line.text is not None:
            self.session.interrupt.begin(line.number)
            if line.error:
                self.refuse(line.error)
            else:
                self.execute(line.text)
            if self.leaving is not None:
                return self.leaving
            if source.peek() is None:
                self.idle()
            line = source.get()
        return line.status

    def idle(self) -> None:
        """Ponder while no line waits; return soon after a line has arrived."""
        self.session.ponder()

    def execute(self, line: str) -> None:
        """Answer a line. Invalid input is answered by the protocol's form of an error and changes nothing."""
        raise NotImplementedError

    def refuse(self, error: str) -> None:
        """Answer a line that could not be read; ``error`` is the reason."""
        raise NotImplementedError

    def say(self, *lines: str) -> None:
        """Send these lines in one write."""
        self.output.write("".join(f"{line}\n" for line in lines))
        self.output.flush()
