"""Stops and searches of one session: which search a stop ends, and when one ends by itself. A state machine.

Commands are numbered in the order of arrival. A stop ends the running search or, without one, the first search of the
commands that arrived before the stop; each stop ends one search. After the end of the input an unbounded search ends
after a short grace period; after the other end has gone, every search does.

`desdaemon.dialogue.interrupt.Interrupt` holds the lock and carries out the instructions. Times are seconds of any
clock.
"""

from __future__ import annotations

from typing import NamedTuple

UNBOUNDED_GRACE_S = 2.0
"""How long a search without bounds may go on when no command can end it any more."""

ABSENT_GRACE_S = 1.0
"""How long searches may go on once the program at the other end has gone."""

INTERACTIVE_AFTER_S = 1.0
"""A quit that comes later than this into a search was typed by a user who has seen enough of it."""


class SearchEnd(NamedTuple):
    """The instruction to stop the running search; ``abandon``: its answer is not needed."""

    abandon: bool


class _RunningSearch(NamedTuple):
    bounded: bool
    idle: bool
    since: float


class _Stop(NamedTuple):
    """A stop that found no running search. ``only`` is the number of the one command whose search it may end, 0 for
    any.
    """

    number: int
    only: int
    abandon: bool


class Stops:
    """Pending stops and the end of input of one session. For one thread at a time.

    Events return the instruction that follows from them, None for none. When `deadline` has come, `elapsed` is due.
    """

    def __init__(self) -> None:
        self.closing = False
        """Whether the input has ended: no more commands will come."""
        self.expired = False
        """Whether the other end has gone and its grace period is over, so that no answer is read any more."""
        self._command = 0
        self._stopped_command = -1
        self._busy = True
        self._heard = 0
        self._stops: list[_Stop] = []
        self._search: _RunningSearch | None = None
        self._search_deadline: float | None = None
        self._absent_deadline: float | None = None

    @property
    def deadline(self) -> float | None:
        """The time at which `elapsed` has to be called, None for never."""
        return min((due for due in (self._search_deadline, self._absent_deadline) if due is not None), default=None)

    @property
    def pending(self) -> int:
        """The number of stops that wait for a search."""
        return len(self._stops)

    def begin(self, command: int) -> None:
        """The command ``command`` starts: stops that arrived before it have no search left to end."""
        self._command = command
        self._busy = True
        self._stops = [stop for stop in self._stops if stop.number > command]

    def rest(self) -> None:
        """No command is running: the dialogue waits for the next line."""
        self._busy = False

    def heard(self, command: int) -> SearchEnd | None:
        """The line ``command`` has arrived: a search that is pondering ends."""
        self._heard = command
        if self._search is not None and self._search.idle and command > self._command:
            return SearchEnd(abandon=True)
        return None

    def search_begins(self, now: float, *, bounded: bool, idle: bool = False) -> SearchEnd | None:
        """A search begins, as the only one. The instruction ends it at once: a stop has come before it.

        ``bounded``: it ends by itself. ``idle``: it is pondering, and ends with the next line and the input.
        """
        assert self._search is None
        self._search = _RunningSearch(bounded, idle, now)
        if idle:
            return SearchEnd(abandon=True) if self.closing or self._heard > self._command else None
        found = SearchEnd(abandon=True) if self.expired else None
        for stop in self._stops:
            if stop.number > self._command and stop.only in (0, self._command):
                self._stops.remove(stop)
                found = SearchEnd(stop.abandon)
                break
        if self.closing and not bounded:
            self._search_deadline = now + UNBOUNDED_GRACE_S
        return found

    def search_ends(self) -> None:
        """The search is over."""
        self._search = self._search_deadline = None

    def stop(self, number: int, *, only: int = 0, abandon: bool = False) -> SearchEnd | None:
        """A stop that arrived as the command ``number``.

        With ``only`` it ends no search but that of the command of that number.
        """
        if only and self._command > only:
            return None
        if self._search is None or only not in (0, self._command):
            self._stops.append(_Stop(number, only, abandon))
            return None
        return SearchEnd(abandon)

    def stop_command(self) -> tuple[bool, SearchEnd | None]:
        """Stop the search of the running command, or the first that it will start.

        First: whether there is such a command, and it was not stopped before.
        """
        if not self._busy or self._stopped_command == self._command:
            return False, None
        self._stopped_command = self._command
        if self._search is None or self._search.idle:
            self._stops.append(_Stop(self._command + 1, self._command, True))
            return True, None
        return True, SearchEnd(abandon=True)

    def close(self, now: float, *, leaving: bool, absent: bool = False) -> SearchEnd | None:
        """No more commands will come: the input has ended or, ``leaving``, a quit was read.

        ``absent``: the program at the other end has gone. All searches, of later commands too, then share a grace
        period of `ABSENT_GRACE_S`.
        """
        self.closing = True
        if absent:
            self._absent_deadline = now + ABSENT_GRACE_S
        search = self._search
        if search is None:
            return None
        late = now - search.since > INTERACTIVE_AFTER_S
        if search.idle or (leaving and late):
            return SearchEnd(abandon=True)
        if not search.bounded:
            self._search_deadline = now + UNBOUNDED_GRACE_S
        return None

    def stop_all(self) -> SearchEnd | None:
        """The other end has gone: the running search ends, and every later one as it starts."""
        self.closing = self.expired = True
        return SearchEnd(abandon=True) if self._search is not None else None

    def elapsed(self, now: float) -> SearchEnd | None:
        """Time has passed."""
        if self._absent_deadline is not None and now >= self._absent_deadline:
            self._absent_deadline = None
            return self.stop_all()
        if self._search_deadline is not None and now >= self._search_deadline:
            self._search_deadline = None
            return SearchEnd(abandon=False)
        return None
