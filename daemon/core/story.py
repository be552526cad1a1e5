"""Stories: the last events that a state machine took, for bug reports. Without I/O."""

from __future__ import annotations

from collections import deque

EVENTS_KEPT = 64


class Story:
    """The last events of a state machine, oldest first. For one thread at a time; `text` for any thread.

    An event is a name and plain values: nothing that would keep a client or a search alive.
    """

    __slots__ = ("_events", "_name", "taken")

    def __init__(self, name: str, most: int = EVENTS_KEPT) -> None:
        """``name`` says whose story it is; the last ``most`` events are kept."""
        self.taken = 0
        """All events so far."""
        self._name = name
        self._events: deque[tuple[object, ...]] = deque(maxlen=most)

    def add(self, *event: object) -> None:
        """Add an event: its name and its values."""
        self.taken += 1
        self._events.append(event)

    def text(self) -> str:
        """One line: the name, and each event with its number, its name and its values."""
        events = tuple(self._events)
        first = self.taken - len(events) + 1
        return f"{self._name}: " + "; ".join(
            " ".join(map(_shown, (number, *event))) for number, event in enumerate(events, max(1, first))
        )


def _shown(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
