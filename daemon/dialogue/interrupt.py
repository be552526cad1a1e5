"""Stops of searches in one session: which search a stop ends, and when a search ends without a stop.

Commands are numbered in the order of arrival. A stop ends one search: the running search or, if none runs, the next
search of a command that arrived before the stop. After the end of the input an unbounded search ends after a grace
period; once the other end has gone, every search does.

`Stops` decides, as a state machine. `Interrupt` has its lock and timer, and ends searches on behalf of other threads:
the reader of commands, a signal handler, the timer. Times are seconds of any clock.
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
"""Seconds that a search without bounds may go on once no command can end it any more."""

ABSENT_GRACE_S = 1.0
"""Seconds that searches may go on after the program at the other end has gone."""

INTERACTIVE_AFTER_S = 1.0
"""Seconds after its beginning from which on a search is ended by a quit: then a user who has waited typed the quit, not
a script.
"""


class SearchEnd(NamedTuple):
    """The instruction to stop the running search; ``abandon`` says that nobody needs its answer."""

    abandon: bool


class _RunningSearch(NamedTuple):
    bounded: bool
    idle: bool
    since: float


class _Stop(NamedTuple):
    """A stop that came before the search that it is to end: that of a command with a smaller number than its own."""

    number: int
    only: int
    """Number of the only command whose search the stop may end; 0 for any."""
    abandon: bool
    """Whether nobody needs the answer of the ended search."""


class Stops:
    """The pending stops, and the end of the input, of one session. For one thread at a time.

    Methods that note events may return an instruction for the caller to carry out. After each event read `deadline`
    again; at that time call `elapsed`.
    """

    def __init__(self) -> None:
        self.closing = False
        """Whether the input has ended, so that no more commands come."""
        self.expired = False
        """Whether the other end has gone and its grace period is over: nobody reads answers. Implies ``closing``."""
        self._command = 0
        """Number of the command that runs, or ran last."""
        self._stopped_command = -1
        """Number of the command that `stop_command` has stopped; -1 before."""
        self._busy = True
        """Whether a command runs."""
        self._heard = 0
        """Number of the command that arrived last."""
        self._stops: list[_Stop] = []
        """Stops that wait for a search, oldest first."""
        self._search: _RunningSearch | None = None
        self._search_deadline: float | None = None
        self._absent_deadline: float | None = None

    @property
    def deadline(self) -> float | None:
        """When to call `elapsed`; None for never."""
        return min((due for due in (self._search_deadline, self._absent_deadline) if due is not None), default=None)

    @property
    def pending(self) -> int:
        """The number of stops that have not yet found a search to end."""
        return len(self._stops)

    def begin(self, command: int) -> None:
        """Note that the command number ``command`` starts. Stops that arrived before it are dropped: they have no
        search left to end.
        """
        self._command = command
        self._busy = True
        self._stops = [stop for stop in self._stops if stop.number > command]

    def rest(self) -> None:
        """Note that no command runs: the dialogue waits for the next line."""
        self._busy = False

    def heard(self, command: int) -> SearchEnd | None:
        """Note that a line has arrived as the command number ``command``. Returns the instruction to end a search that
        ponders, if one runs.
        """
        self._heard = command
        if self._search is not None and self._search.idle and command > self._command:
            return SearchEnd(abandon=True)
        return None

    def search_begins(self, now: float, *, bounded: bool, idle: bool = False) -> SearchEnd | None:
        """Note that a search begins, the only one. A ``bounded`` search ends by itself; an ``idle`` search ponders
        until the next line or the end of the input.

        Returns the instruction to end the search at once, or None. An ``idle`` search ends at once if the next line or
        the end of the input has already come. Any other search does if a stop waited for it, or if nobody reads
        answers. After the end of the input an unbounded search gets `UNBOUNDED_GRACE_S`: read `deadline` again.
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
        """Note that the search has ended."""
        self._search = self._search_deadline = None

    def stop(self, number: int, *, only: int = 0, abandon: bool = False) -> SearchEnd | None:
        """Note a stop that arrived as command ``number``; with ``only`` it ends the search of that command alone.

        Without such a search the stop waits for one, unless the command ``only`` is over.
        """
        if only and self._command > only:
            return None
        if self._search is None or only not in (0, self._command):
            self._stops.append(_Stop(number, only, abandon))
            return None
        return SearchEnd(abandon)

    def stop_command(self) -> tuple[bool, SearchEnd | None]:
        """Stop the running command's search, or the first that it will start.

        The first result is False if no command runs or this one was stopped before.
        """
        if not self._busy or self._stopped_command == self._command:
            return False, None
        self._stopped_command = self._command
        if self._search is None or self._search.idle:
            self._stops.append(_Stop(self._command + 1, self._command, True))
            return True, None
        return True, SearchEnd(abandon=True)

    def close(self, now: float, *, leaving: bool, absent: bool = False) -> SearchEnd | None:
        """Note that no more commands come: the input has ended or, ``leaving``, a quit was read.

        ``absent`` says that the program at the other end has gone; then all searches, of later commands too, share
        `ABSENT_GRACE_S`. Returns the instruction to end a search that ponders or, with ``leaving``, has run for more
        than `INTERACTIVE_AFTER_S`. Any other unbounded search gets `UNBOUNDED_GRACE_S`: read `deadline` again.
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
        """Note that nobody reads answers: end the running search, and every later one as it starts."""
        self.closing = self.expired = True
        return SearchEnd(abandon=True) if self._search is not None else None

    def elapsed(self, now: float) -> SearchEnd | None:
        """Note that the time is ``now``, and return the instruction that is due, if any."""
        if self._absent_deadline is not None and now >= self._absent_deadline:
            self._absent_deadline = None
            return self.stop_all()
        if self._search_deadline is not None and now >= self._search_deadline:
            self._search_deadline = None
            return SearchEnd(abandon=False)
        return None


class StoppableSearch:
    """A search, or several in a row, that one stop ends. Any thread may use it."""

    def __init__(self, bounded: bool, idle: bool = False) -> None:
        self.bounded = bounded
        """Whether the search ends by itself."""
        self.idle = idle
        """Whether the search ponders, so that the next line ends it."""
        self.stopped = False
        self.abandoned = False
        """Whether nobody needs the answer; implies ``stopped``."""
        self._controls: list[Stoppable] = []
        """The controls of the running searches."""
        self._lock = threading.Lock()

    @contextmanager
    def control(self, control: C) -> Iterator[C]:
        """Return a context manager for a running search: within the block a stop stops ``control``. If a stop came
        before, ``control`` is stopped at once.
        """
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
        """Stop the search; ``abandon`` says that nobody needs its answer."""
        with self._lock:
            self.stopped = True
            self.abandoned = self.abandoned or abandon
            controls = list(self._controls)
        for control in controls:
            control.stop()


class Interrupt:
    """Carries out what a session's `Stops` decide. A method without a description passes its event on to the method of
    `Stops` with the same name. Any thread may call the methods.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stops = Stops()
        self._search: StoppableSearch | None = None
        self._timer: threading.Timer | None = None
        self._timer_due: float | None = None

    @property
    def closing(self) -> bool:
        return self._stops.closing

    @property
    def expired(self) -> bool:
        return self._stops.expired

    def begin(self, command: int) -> None:
        with self._lock:
            self._stops.begin(command)

    def heard(self, command: int) -> None:
        self._carry_out(lambda: self._stops.heard(command))

    @contextmanager
    def searching(self, bounded: bool, *, idle: bool = False) -> Iterator[StoppableSearch]:
        """Return a context manager for a search: within the block stops reach the search, which is the block's value.
        Read ``stopped`` of the search or use its `control`. A ``bounded`` search ends by itself; an ``idle`` search
        ends with the next line or the end of the input.

        Inside another such block the value is the outer block's search, and the arguments have no effect.
        """
        with self._lock:
            outer = self._search
            search = outer or StoppableSearch(bounded, idle)
            if outer is None:
                self._search = search
                end = self._stops.search_begins(time.perf_counter(), bounded=bounded, idle=idle)
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
        """Carry out a stop that arrived as the command number ``command``.

        With ``only`` it ends the search of that command alone. With ``abandon`` the search does not even wait for an
        engine that is being loaded.
        """
        self._carry_out(lambda: self._stops.stop(command, only=only, abandon=abandon))

    def rest(self) -> None:
        with self._lock:
            self._stops.rest()

    def stop_command(self) -> bool:
        """Stop the running command's search, or the first that it will start, and its wait for an engine.

        Returns False if no command runs or this one was stopped before.
        """
        with self._lock:
            search = self._search
            stopped, end = self._stops.stop_command()
        _end(search, end)
        return stopped

    def close(self, leaving: bool, absent: bool = False) -> None:
        self._carry_out(lambda: self._stops.close(time.perf_counter(), leaving=leaving, absent=absent))

    def stop_all(self) -> None:
        self._carry_out(self._stops.stop_all)

    def _set_timer(self) -> None:
        """Replace the timer by one that calls `_elapsed` at the deadline, if there is one. Call it with the lock
        held.
        """
        due = self._stops.deadline
        if due == self._timer_due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_due = None, due
        if due is not None:
            self._timer = threading.Timer(max(0.0, due - time.perf_counter()), self._elapsed, (due,))
            self._timer.daemon = True
            self._timer.start()

    def _elapsed(self, due: float) -> None:
        self._carry_out(lambda: self._stops.elapsed(max(due, time.perf_counter())))

    def _carry_out(self, event: Callable[[], SearchEnd | None]) -> None:
        with self._lock:
            search, end = self._search, event()
            self._set_timer()
        _end(search, end)


def _end(search: StoppableSearch | None, end: SearchEnd | None) -> None:
    """Stop ``search`` as ``end`` says; do nothing if either is None. Call it without holding the lock: a control may
    take a lock of its own.
    """
    if search is not None and end is not None:
        search.stop(end.abandon)
