"""The lines of one client's text session, carried out one by one in the order of arrival. A state machine.

Each line works on the board that the lines before it have left. So the lines of a client that leaves live or die
together. For example of ``play f5``, ``hint 3``, ``book store``, ``undo`` the third must outlive the client: the first
and the third are carried out, the second only asks, and nothing needs the last. Without ``book store`` none is.

`desdaemon.dialogue.text_sessions` holds the lock, has the threads, and stops the searches of cancelled lines.
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
        """Not looked at here."""
        self.outlives = outlives
        """It is carried out even when its client has gone."""
        self.asks = asks
        """It has no effect but its reply."""
        self.cancelled = False
        self.receiver = receiver
        """Gets the output; not looked at here."""


class ClientLines:
    """The lines that wait, and the one that runs. For one thread at a time.

    `put` and `ended` return whether `next` is to be called: it returns the line to begin.
    """

    def __init__(self) -> None:
        self.running: ClientLine | None = None
        self._waiting: deque[ClientLine] = deque()
        self._number = 0
        self._claimed = False
        """A line runs, or `next` is about to be called."""
        self.deserted = False
        """The client has gone and has sent nothing since."""
        self._gap = False
        """A line was refused: lines behind it work on another board than the client thinks."""
        self._closed = False
        """No other line begins: one was refused, and the client cannot know of it. Implies ``_gap``."""

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """True if no line runs or is about to."""
        return not self._claimed

    def put(
        self, line: Any, *, outlives: bool = False, asks: bool = False, receiver: Any = None
    ) -> tuple[ClientLine, bool]:
        """Add a line. Returns True second if `next` is to be called."""
        self._number += 1
        self.deserted = False
        item = ClientLine(self._number, line, outlives and not self._gap, asks, receiver)
        item.cancelled = self._closed
        self._waiting.append(item)
        begins = not self._claimed
        self._claimed = True
        return item, begins

    def next(self) -> ClientLine | None:
        """Return the line to carry out now; None if all waiting lines were cancelled."""
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
        """Note that the running line is over; `next` is to be called."""
        assert self.running is not None
        self.running = None

    def cancel(self, line: ClientLine) -> None:
        """Cancel a line that nobody waits for: it does not begin."""
        line.cancelled = True

    def refuse(self, *, gone: bool) -> None:
        """Note that there was no room for a line. Until all lines are over, lines behind it do not outlive the client.

        ``gone``: the client has gone already and cannot hear of it; nothing behind the line begins.
        """
        self._closed = self._closed or gone
        self._gap = self._closed or self._claimed

    def leave(self) -> ClientLine | None:
        """Note that the client has gone. Returns the running line if it is to be stopped."""
        self.deserted = True
        running = self.running
        lines = [line for line in (running, *self._waiting) if line is not None and not line.cancelled]
        last = max((line.number for line in lines if line.outlives), default=0)
        for line in lines:
            line.cancelled = line.asks or line.number > last
        return running if running in lines and running is not None and running.cancelled else None
