"""The lines of one client's text session: one is carried out at a time, in the order of arrival. A state machine.

Each works on the board that those before it have left. So the lines of a client that leaves live or die together: if
one of them must outlive the client, all that change anything are carried out up to the last such line, otherwise none.

`desdaemon.dialogue.text_sessions` holds the lock and has the threads; what is cancelled here it also tells `Stops`, by
the same numbers.
"""

from __future__ import annotations

from collections import deque
from typing import Any


class ClientLine:
    """A line, waiting, running or over. Its ``cancelled`` may be read from any thread."""

    __slots__ = ("asks", "cancelled", "line", "number", "outlives", "receiver")

    def __init__(self, number: int, line: Any, outlives: bool, asks: bool, receiver: Any) -> None:
        self.number = number
        """1 for the client's first line."""
        self.line = line
        """The component's."""
        self.outlives = outlives
        """Whether it is carried out even when its client has gone."""
        self.asks = asks
        """Whether it has no effect but its reply."""
        self.cancelled = False
        self.receiver = receiver
        """The component's: it gets the output."""


class ClientLines:
    """The lines that wait, and the one that runs. For one thread at a time.

    `put` and `ended` return whether `next` is to be called: it returns the line to begin.
    """

    def __init__(self) -> None:
        self.running: ClientLine | None = None
        self._waiting: deque[ClientLine] = deque()
        self._number = 0
        self._claimed = False
        """Whether a line runs, or `next` is about to be called."""
        self.deserted = False
        """Whether the client has gone and has sent nothing since."""
        self._gap = False
        """Whether a line was refused, so that those behind it work on another board than the client thinks."""
        self._closed = False
        """Whether no other line begins: one was refused, and the client cannot have heard of it."""

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """Whether no line runs or is about to."""
        return not self._claimed

    def put(
        self, line: Any, *, outlives: bool = False, asks: bool = False, receiver: Any = None
    ) -> tuple[ClientLine, bool]:
        """A line has come. Second: whether `next` is to be called."""
        self._number += 1
        self.deserted = False
        item = ClientLine(self._number, line, outlives and not self._gap, asks, receiver)
        item.cancelled = self._closed
        self._waiting.append(item)
        begins = not self._claimed
        self._claimed = True
        return item, begins

    def next(self) -> ClientLine | None:
        """The line that is to be carried out now; None if all that wait were cancelled."""
        assert self._claimed
        assert self.running is None
        while self._waiting:
            line = self._waiting.popleft()
            if not line.cancelled:
                self.running = line
                return line
        self._claimed = False
        self._gap = self._closed
        return None

    def ended(self) -> None:
        """The line that ran is over; `next` is to be called."""
        assert self.running is not None
        self.running = None

    def cancel(self, line: ClientLine) -> None:
        """Nobody waits for this line any more: it does not begin."""
        line.cancelled = True

    def refuse(self, *, gone: bool) -> None:
        """There was no room for a line. Until all lines are over, those behind it do not outlive the client.

        ``gone``: the client has gone already and cannot hear of it; nothing behind the line begins.
        """
        self._closed = self._closed or gone
        self._gap = self._closed or self._claimed

    def leave(self) -> ClientLine | None:
        """The client has gone. Returns the running line if it is to be stopped."""
        self.deserted = True
        running = self.running
        lines = [line for line in (running, *self._waiting) if line is not None and not line.cancelled]
        last = max((line.number for line in lines if line.outlives), default=0)
        for line in lines:
            line.cancelled = line.asks or line.number > last
        return running if running in lines and running is not None and running.cancelled else None
