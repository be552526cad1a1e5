"""Stops and searches of one session: which search a stop ends, and when one ends by itself.

Commands are numbered in the order of arrival. A stop ends the running search or, without one, the first search of the
commands that arrived before the stop; each stop ends one search. After the end of the input an unbounded search ends
after a short grace period; after the other end has gone, every search does.

`Stops` decides, as a state machine. `Interrupt` holds its lock, ends searches from other threads than the searching one
(the reader of commands, a signal handler, a timer), and has the timer. Times are seconds of any clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from desdaemon.core.search.loader import Stoppable

C = TypeVar("C", bound=Stoppable)

UNBOUNDED_GRACE_S = 2.0
"""Seconds that a search without bounds may go on when no command can end it any more."""

ABSENT_GRACE_S = 1.0
"""Seconds that searches may go on once the program at the other end has gone."""

INTERACTIVE_AFTER_S = 1.0
"""Seconds into a search after which a quit ends it: a user typed it who has seen enough."""


class SearchEnd(NamedTuple):
    """The instruction to stop the running search; ``abandon``: its answer is not needed."""

    abandon: bool


class _RunningSearch(NamedTuple):
    bounded: bool
    idle: bool
    since: float


class _Stop(NamedTuple):
    """A stop that waits for a search."""

    number: int
    only: int
    """The number of the one command whose search it may end; 0 for any."""
    abandon: bool


class Stops:
    """Pending stops and the end of input of one session. For one thread at a time.

    Events return the instruction that follows from them, None for none. When `deadline` has come, `elapsed` is due.
    """

    def __init__(self) -> None:
        self.closing = False
        """The input has ended: no more commands will come."""
        self.expired = False
        """The other end has gone and its grace period is over: nobody reads answers. Implies ``closing``."""
        self._command = 0
        """The command that runs, or ran last."""
        self._stopped_command = -1
        """The command that `stop_command` has stopped."""
        self._busy = True
        """A command runs."""
        self._heard = 0
        """The command that arrived last."""
        self._stops: list[_Stop] = []
        """Stops that came before their search, in the order of arrival."""
        self._search: _RunningSearch | None = None
        self._search_deadline: float | None = None
        self._absent_deadline: float | None = None

    @property
    def deadline(self) -> float | None:
        """The time at which to call `elapsed`, None for never."""
        return min((due for due in (self._search_deadline, self._absent_deadline) if due is not None), default=None)

    @property
    def pending(self) -> int:
        """The number of stops that wait for a search."""
        return len(self._stops)

    def begin(self, command: int) -> None:
        """Start a command: stops that arrived before it have no search left to end."""
        self._command = command
        self._busy = True
        self._stops = [stop for stop in self._stops if stop.number > command]

    def rest(self) -> None:
        """Note that no command runs: the dialogue waits for the next line."""
        self._busy = False

    def heard(self, command: int) -> SearchEnd | None:
        """Note that the line of a command has arrived: it ends a search that is pondering."""
        self._heard = command
        if self._search is not None and self._search.idle and command > self._command:
            return SearchEnd(abandon=True)
        return None

    def search_begins(self, now: float, *, bounded: bool, idle: bool = False) -> SearchEnd | None:
        """Begin the only search. The instruction ends it at once if a stop has come before it.

        ``bounded``: it ends by itself. ``idle``: it is pondering, and ends with the next line or the input.
        """
        assert self._search is None
        self._search = _RunningSearch(bounded, idle, now)
        if idle:
            return SearchEnd(abandon=True) if self.closing or self._heard > self._command else None
        end = SearchEnd(abandon=True) if self.expired else None
        for stop in self._stops:
            if stop.number > self._command and stop.only in (0, self._command):
                self._stops.remove(stop)
                end = SearchEnd(stop.abandon)
                break
        if self.closing and not bounded:
            self._search_deadline = now + UNBOUNDED_GRACE_S
        return end

    def search_ends(self) -> None:
        """Note that the search is over."""
        self._search = self._search_deadline = None

    def stop(self, number: int, *, only: int = 0, abandon: bool = False) -> SearchEnd | None:
        """Take a stop that arrived as the command ``number``; with ``only`` it ends no other command's search."""
        if only and self._command > only:
            return None
        if self._search is None or only not in (0, self._command):
            self._stops.append(_Stop(number, only, abandon))
            return None
        return SearchEnd(abandon)

    def stop_command(self) -> tuple[bool, SearchEnd | None]:
        """Stop the search of the running command, or the first that it will start.

        Returns False first if no command runs or this one was stopped before.
        """
        if not self._busy or self._stopped_command == self._command:
            return False, None
        self._stopped_command = self._command
        if self._search is None or self._search.idle:
            self._stops.append(_Stop(self._command + 1, self._command, True))
            return True, None
        return True, SearchEnd(abandon=True)

    def close(self, now: float, *, leaving: bool, absent: bool = False) -> SearchEnd | None:
        """Note that no more commands will come: the input has ended or, ``leaving``, a quit was read.

        ``absent``: the program at the other end has gone; all searches, of later commands too, then share
        `ABSENT_GRACE_S`.
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
        """Note that the other end has gone: end the running search, and every later one as it starts."""
        self.closing = self.expired = True
        return SearchEnd(abandon=True) if self._search is not None else None

    def elapsed(self, now: float) -> SearchEnd | None:
        """Note that time has passed."""
        if self._absent_deadline is not None and now >= self._absent_deadline:
            self._absent_deadline = None
            return self.stop_all()
        if self._search_deadline is not None and now >= self._search_deadline:
            self._search_deadline = None
            return SearchEnd(abandon=False)
        return None


class StoppableSearch:
    """One search, or several in a row that one stop ends together. Any thread."""

    def __init__(self, bounded: bool, idle: bool = False) -> None:
        self.bounded = bounded
        """It ends by itself."""
        self.idle = idle
        """It is pondering, and the next line ends it."""
        self.stopped = False
        self.abandoned = False
        """Its answer is not needed; implies ``stopped``."""
        self._controls: list[Stoppable] = []
        """The controls of the running searches."""
        self._lock = threading.Lock()

    @contextmanager
    def control(self, control: C) -> Iterator[C]:
        """Make a context around a running search in which a stop, earlier or later, stops ``control``."""
        with self._lock:
            self._controls.append(control)
            stopped = self.stopped
        if stopped:
            control.stop()
        try:
            yield control
        finally:
            with self._lock:
                self._controls.remove(control)

    def stop(self, abandon: bool = False) -> None:
        """Stop the search; ``abandon``: its answer is not needed."""
        with self._lock:
            self.stopped = True
            self.abandoned = self.abandoned or abandon
            controls = list(self._controls)
        for control in controls:
            control.stop()


class Interrupt:
    """The `Stops` of one session, carried out. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stops = Stops()
        self._search: StoppableSearch | None = None
        self._timer: threading.Timer | None = None
        self._timer_due: float | None = None

    @property
    def closing(self) -> bool:
        """See `Stops`."""
        return self._stops.closing

    @property
    def expired(self) -> bool:
        """See `Stops`."""
        return self._stops.expired

    def begin(self, command: int) -> None:
        """See `Stops`."""
        with self._lock:
            self._stops.begin(command)

    def heard(self, command: int) -> None:
        """See `Stops`."""
        self._carry_out(lambda: self._stops.heard(command))

    @contextmanager
    def searching(self, bounded: bool, *, idle: bool = False) -> Iterator[StoppableSearch]:
        """Make a context in which a stop ends this search; nested contexts share the outermost one.

        The next line, or the end of the input, ends an ``idle`` search.
        """
        with self._lock:
            outer = self._search
            search = outer or StoppableSearch(bounded, idle)
            if outer is None:
                self._search = search
                end = self._stops.search_begins(time.monotonic(), bounded=bounded, idle=idle)
                if end is not None:
                    search.stopped, search.abandoned = True, end.abandon
                self._set_timer()
        try:
            yield search
        finally:
            if outer is None:
                with self._lock:
                    self._search = None
                    self._stops.search_ends()
                    self._set_timer()

    def stop(self, command: int, *, only: int = 0, abandon: bool = False) -> None:
        """Carry out a stop that came as command number ``command`` of the input.

        With ``only`` it ends the search of the command with that number and no other. ``abandon``: the search need not
        even wait for an engine that is being loaded.
        """
        self._carry_out(lambda: self._stops.stop(command, only=only, abandon=abandon))

    def rest(self) -> None:
        """See `Stops`."""
        with self._lock:
            self._stops.rest()

    def stop_command(self) -> bool:
        """Stop the search of the running command, or the first that it will start, and its wait for an engine.

        Returns False if no command runs or this one was stopped before.
        """
        with self._lock:
            search = self._search
            stopped, end = self._stops.stop_command()
        _end(search, end)
        return stopped

    def close(self, leaving: bool, absent: bool = False) -> None:
        """See `Stops`."""
        self._carry_out(lambda: self._stops.close(time.monotonic(), leaving=leaving, absent=absent))

    def stop_all(self) -> None:
        """See `Stops`."""
        self._carry_out(self._stops.stop_all)

    def _set_timer(self) -> None:
        """Make a timer call `_elapsed` at the deadline; the lock is held."""
        due = self._stops.deadline
        if due == self._timer_due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_due = None, due
        if due is not None:
            self._timer = threading.Timer(max(0.0, due - time.monotonic()), self._elapsed, (due,))
            self._timer.daemon = True
            self._timer.start()

    def _elapsed(self, due: float) -> None:
        self._carry_out(lambda: self._stops.elapsed(max(due, time.monotonic())))

    def _carry_out(self, event: Callable[[], SearchEnd | None]) -> None:
        with self._lock:
            search, end = self._search, event()
            self._set_timer()
        _end(search, end)


def _end(search: StoppableSearch | None, end: SearchEnd | None) -> None:
    """Carry out an instruction, with the lock released: a control may take another lock."""
    if search is not None and end is not None:
        search.stop(end.abandon)
