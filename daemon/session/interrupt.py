"""Stops of searches: one thread searches, another, which reads commands or handles signals, ends its searches.

Commands are numbered in the order of arrival. A stop ends the running search or, without one, the first search of the
commands that arrived before the stop; each stop ends one search. After the end of the input an unbounded search ends
after a short grace period; after the other end has gone, every search does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol, TypeVar

UNBOUNDED_GRACE_S = 2.0
"""How long a search without bounds may go on when no command can end it any more."""

ABSENT_GRACE_S = 1.0
"""How long searches may go on once the program at the other end has gone."""

INTERACTIVE_AFTER_S = 1.0
"""A quit that comes later than this into a search was typed by a user who has seen enough of it."""


class Stoppable(Protocol):
    """The control of a running search, as `desdaemon.engine.search.Control`."""

    def stop(self) -> None:
        """Make the search end soon, with its results so far."""


C = TypeVar("C", bound=Stoppable)


class StoppableSearch:
    """One search, or several in a row that one stop ends together. All methods may be called from any thread.

    ``bounded``: it ends by itself. ``idle``: it is pondering, and the next line ends it.
    """

    def __init__(self, bounded: bool, idle: bool = False) -> None:
        self.bounded = bounded
        self.idle = idle
        self.started = time.monotonic()
        self.stopped = False
        self.abandoned = False
        self._controls: list[Stoppable] = []
        self._lock = threading.Lock()

    @contextmanager
    def control(self, control: C) -> Iterator[C]:
        """A context around a running search in which a stop, earlier or later, stops ``control``."""
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
        """Stop it; ``abandon`` when its answer is not needed."""
        with self._lock:
            self.stopped = True
            self.abandoned = self.abandoned or abandon
            controls = list(self._controls)
        for control in controls:
            control.stop()


class _Stop(NamedTuple):
    """A stop that found no running search. ``only`` is the number of the one command whose search it may end, 0 for
    any.
    """

    number: int
    only: int
    abandon: bool


class Interrupt:
    """Pending stops and the end of input of one session. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._command = 0
        self._stopped_command = -1
        self._busy = True
        self._heard = 0
        self._stops: list[_Stop] = []
        self._search: StoppableSearch | None = None
        self._closing = False
        self._expired = False
        self._timer: threading.Timer | None = None

    @property
    def closing(self) -> bool:
        """Whether the input has ended: no more commands will come."""
        return self._closing

    @property
    def expired(self) -> bool:
        """Whether the other end has gone and its grace period is over, so that no answer is read any more."""
        return self._expired

    def begin(self, command: int) -> None:
        """The command ``command`` starts: stops that arrived before it have no search left to end."""
        with self._lock:
            self._command = command
            self._busy = True
            self._stops = [stop for stop in self._stops if stop.number > command]

    def heard(self, command: int) -> None:
        """The line ``command`` has arrived: stop pondering."""
        with self._lock:
            self._heard = command
            search = self._search
        if search and search.idle and command > self._command:
            search.stop(abandon=True)

    @contextmanager
    def searching(self, bounded: bool, *, idle: bool = False) -> Iterator[StoppableSearch]:
        """A context during which a stop ends this search; nested contexts share the outermost one.

        An ``idle`` search is stopped by the next line, and at the end of the input.
        """
        with self._lock:
            outer = self._search
            search = outer or StoppableSearch(bounded, idle)
            if outer is None and idle:
                self._search = search
                search.stopped = search.abandoned = self._closing or self._heard > self._command
            elif outer is None:
                self._search = search
                search.stopped = search.abandoned = self._expired
                for stop in self._stops:
                    if stop.number > self._command and stop.only in (0, self._command):
                        self._stops.remove(stop)
                        search.stopped, search.abandoned = True, stop.abandon
                        break
                if self._closing and not bounded:
                    self._end_later(search)
        try:
            yield search
        finally:
            if outer is None:
                with self._lock:
                    self._search = None
                    if self._timer:
                        self._timer.cancel()
                        self._timer = None

    def stop(self, command: int, *, only: int = 0, abandon: bool = False) -> None:
        """A stop that arrived as the command of that number.

        With ``only`` it ends no search but that of the command of that number; ``abandon`` when the search need
        not even wait for an engine that is still being loaded.
        """
        with self._lock:
            search = self._search
            if only and self._command > only:
                return
            if search is None or only not in (0, self._command):
                self._stops.append(_Stop(command, only, abandon))
                return
        search.stop(abandon)

    def rest(self) -> None:
        """No command is running: the dialogue waits for the next line."""
        with self._lock:
            self._busy = False

    def stop_command(self) -> bool:
        """Stop the search of the running command, or the first that it will start, and its wait for an engine.

        Returns False where no command runs, and where this one was stopped before.
        """
        with self._lock:
            search = self._search
            if not self._busy or self._stopped_command == self._command:
                return False
            self._stopped_command = self._command
            if search is None or search.idle:
                self._stops.append(_Stop(self._command + 1, self._command, True))
                return True
        search.stop(abandon=True)
        return True

    def close(self, leaving: bool, absent: bool = False) -> None:
        """No more commands will come: the input has ended or, ``leaving``, a quit was read.

        ``absent``: the program at the other end has gone. All searches, of later commands too, then share a grace
        period of `ABSENT_GRACE_S`.
        """
        if absent:
            expiry = threading.Timer(ABSENT_GRACE_S, self.stop_all)
            expiry.daemon = True
            expiry.start()
        with self._lock:
            self._closing = True
            search = self._search
            if search is None:
                return
            late = time.monotonic() - search.started > INTERACTIVE_AFTER_S
            if not search.idle and not (leaving and late):
                if not search.bounded:
                    self._end_later(search)
                return
        search.stop(abandon=True)

    def stop_all(self) -> None:
        """The other end has gone: stop the running search, and every later one as it starts."""
        with self._lock:
            self._closing = self._expired = True
            search = self._search
        if search:
            search.stop(abandon=True)

    def _end_later(self, search: StoppableSearch) -> None:
        self._timer = threading.Timer(UNBOUNDED_GRACE_S, search.stop)
        self._timer.daemon = True
        self._timer.start()
