"""The lines of one client's text session: one is carried out at a time, in the order of arrival. A state machine.

`desdaemon.dialogue.text_sessions` holds the lock and has the threads; what is cancelled or forgotten here it also tells
`Stops`, by the same numbers.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from desdaemon.core.story import Story


class ClientLine:
    """A line, waiting, running or over. Its ``cancelled`` may be read from any thread."""

    __slots__ = ("cancelled", "number", "outlives", "receiver", "text")

    def __init__(self, number: int, text: str, outlives: bool, receiver: Any) -> None:
        self.number = number
        """1 for the client's first line."""
        self.text = text
        self.outlives = outlives
        """Whether it is carried out even when its client has gone."""
        self.cancelled = False
        self.receiver = receiver
        """The component's: it gets the output."""


class ClientLines:
    """The lines that wait, and the one that runs. For one thread at a time.

    `put` and `ended` return whether `next` is to be called: it returns the line to begin.
    """

    def __init__(self) -> None:
        self.story = Story("lines")
        self.running: ClientLine | None = None
        self._waiting: deque[ClientLine] = deque()
        self._number = 0
        self._claimed = False
        """Whether a line runs, or `next` is about to be called."""

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """Whether no line runs or is about to."""
        return not self._claimed

    def put(self, text: str, *, outlives: bool = False, receiver: Any = None) -> tuple[ClientLine, bool]:
        """A line has come. Second: whether `next` is to be called."""
        self._number += 1
        line = ClientLine(self._number, text, outlives, receiver)
        self._waiting.append(line)
        begins = not self._claimed
        self._claimed = True
        self.story.add("put", line.number)
        return line, begins

    def next(self) -> ClientLine | None:
        """The line that is to be carried out now; None where all that wait were cancelled."""
        assert self._claimed
        assert self.running is None
        while self._waiting:
            line = self._waiting.popleft()
            if not line.cancelled:
                self.running = line
                self.story.add("begin", line.number)
                return line
        self._claimed = False
        self.story.add("idle")
        return None

    def ended(self) -> None:
        """The line that ran is over; `next` is to be called."""
        assert self.running is not None
        self.story.add("ended", self.running.number)
        self.running = None

    def cancel(self, line: ClientLine) -> None:
        """Nobody waits for this line any more: it does not begin."""
        self.story.add("cancel", line.number)
        line.cancelled = True

    def forget(self) -> bool:
        """The client has gone: of the lines that wait only those that outlive it begin.

        Returns whether what runs is to be stopped.
        """
        self.story.add("forget")
        running = self.running
        for line in (*self._waiting, *([running] if running is not None else [])):
            line.cancelled = line.cancelled or not line.outlives
        return running is None or not running.outlives
