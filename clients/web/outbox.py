"""The outbox of a tab: a bounded queue in which newer partials replace older ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

MOST_BEHIND = 4 << 20
"""Bytes that a tab may be behind; one that reads no faster is dropped."""


class TooFarBehind(Exception):
    """The tab reads too slowly: more than `MOST_BEHIND` bytes wait for it."""


class Outbox:
    """Frames in the order in which they are to be sent. A state machine for one thread, without I/O."""

    def __init__(self, most_behind: int = MOST_BEHIND) -> None:
        self._frames: OrderedDict[Hashable, str] = OrderedDict()
        self._number = 0
        self._most_behind = most_behind
        self.behind = 0
        """Characters that wait; frames are ASCII, so these are bytes."""
        self.dropped = 0
        """Partials and events that a newer one has replaced."""

    def put(self, frame: str, replaces: Hashable = None) -> None:
        """Add a frame. One of the same ``replaces`` that still waits is dropped; raises `TooFarBehind`."""
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
        """The frame to be sent next, None if there is none."""
        if not self._frames:
            return None
        _, frame = self._frames.popitem(last=False)
        self.behind -= len(frame)
        return frame
