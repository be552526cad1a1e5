"""The outbox of a tab: a bounded queue in which newer partials replace older ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

MOST_BEHIND = 4 << 20
"""Most bytes that may wait for a tab; a tab that would have more is closed."""


class TooFarBehind(Exception):
    """The tab reads too slowly: more bytes would wait for it than ``most_behind``."""


class Outbox:
    """Keeps the frames that wait to be sent to a tab, in order. A state machine for one thread."""

    def __init__(self, most_behind: int = MOST_BEHIND) -> None:
        self._frames: OrderedDict[Hashable, str] = OrderedDict()
        self._number = 0
        self._most_behind = most_behind
        self.behind = 0
        """Characters that wait to be sent, which are bytes, because frames are ASCII."""

    def put(self, frame: str, replaces: Hashable = None) -> None:
        """Add a frame at the end. If ``replaces`` is not None, a waiting frame with the same ``replaces`` is removed.

        Raises `TooFarBehind` if more than ``most_behind`` bytes would wait; then neither frame is in the queue.
        """
        self._number += 1
        key = ("frame", self._number) if replaces is None else ("newest", replaces)
        old = self._frames.pop(key, None)
        if old is not None:
            self.behind -= len(old)
        if self.behind + len(frame) > self._most_behind:
            raise TooFarBehind
        self._frames[key] = frame
        self.behind += len(frame)

    def take(self) -> str | None:
        """Return the next frame to send; None if there is none."""
        if not self._frames:
            return None
        _, frame = self._frames.popitem(last=False)
        self.behind -= len(frame)
        return frame
