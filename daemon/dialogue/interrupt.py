"""Ends searches from other threads than the searching one: from the reader of commands, a signal handler, a timer.

`Stops` decides which search a stop ends; here are the lock, the controls of running searches and the timer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from desdaemon.core.search.loader import Stoppable

from .stops import SearchEnd, Stops

C = TypeVar("C", bound=Stoppable)


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
        with self._lock:
            search, end = self._search, self._stops.heard(command)
        _end(search, end)

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
        with self._lock:
            search, end = self._search, self._stops.stop(command, only=only, abandon=abandon)
        _end(search, end)

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
        with self._lock:
            search, end = self._search, self._stops.close(time.monotonic(), leaving=leaving, absent=absent)
            self._set_timer()
        _end(search, end)

    def stop_all(self) -> None:
        """See `Stops`."""
        with self._lock:
            search, end = self._search, self._stops.stop_all()
        _end(search, end)

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
        with self._lock:
            search, end = self._search, self._stops.elapsed(max(due, time.monotonic()))
            self._set_timer()
        _end(search, end)


def _end(search: StoppableSearch | None, end: SearchEnd | None) -> None:
    """Carry out an instruction, with the lock released: a control may take another lock."""
    if search is not None and end is not None:
        search.stop(end.abandon)
