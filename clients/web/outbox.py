"""The outbox of a tab: a bounded queue in which newer partials replace older ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

MOST_BEHIND = 4 << 20
"""Bytes that may wait for a tab; one that reads more slowly is closed."""


class TooFarBehind(Exception):
    """The tab reads too slowly: more than `MOST_BEHIND` bytes wait for it."""


class Outbox:
    """Frames in sending order. A state machine for one thread, without I/O."""

    def __init__(self, most_behind: int = MOST_BEHIND) -> None:
        self._frames: OrderedDict[Hashable, str] = OrderedDict()
        self._number = 0
        self._most_behind = most_behind
        self.behind = 0
        """Characters that wait to be sent; frames are ASCII, so these are bytes."""
        self.dropped = 0
        """Number of partials and events that a newer one has replaced."""

    def put(self, frame: str, replaces: Hashable = None) -> None:
        """Add a frame. A waiting frame with the same ``replaces`` is dropped; raises `TooFarBehind`."""
        self._number += 1
        key = ("frame", self._number) if replaces is None else ("newest", replaces)
        old = self._frames.pop(key, None)
        if old is not None:
            self.behind -= len(old)
            self.dropped += 1
        if self.behind + len(frame) > self._most_behind:
            raise TooFarBehind
        self._frames[key] = frame
        self.behind += len(frame)

    def take(self) -> str | None:
        """Return the next frame to send, None if there is none."""
        if not self._frames:
            return None
        _, frame = self._frames.popitem(last=False)
        self.behind -= len(frame)
        return frame
