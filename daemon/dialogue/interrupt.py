"""Stops of searches: one thread searches, another, which reads commands or handles signals, ends its searches.

`Stops` decides, without threads, which search a stop ends; here are the lock, the controls of running searches and the
timer.
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
    """One search, or several in a row that one stop ends together. All methods may be called from any thread.

    ``bounded``: it ends by itself. ``idle``: it is pondering, and the next line ends it.
    """

    def __init__(self, bounded: bool, idle: bool = False) -> None:
        self.bounded = bounded
        self.idle = idle
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


class Interrupt:
    """Pending stops and the end of input of one session. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stops = Stops()
        self._search: StoppableSearch | None = None
        self._timer: threading.Timer | None = None
        self._timer_due: float | None = None

    @property
    def closing(self) -> bool:
        """Whether the input has ended: no more commands will come."""
        return self._stops.closing

    @property
    def expired(self) -> bool:
        """Whether the other end has gone and its grace period is over, so that no answer is read any more."""
        return self._stops.expired

    def begin(self, command: int) -> None:
        """The command ``command`` starts: stops that arrived before it have no search left to end."""
        with self._lock:
            self._stops.begin(command)

    def heard(self, command: int) -> None:
        """The line ``command`` has arrived: stop pondering."""
        with self._lock:
            search, end = self._search, self._stops.heard(command)
        _end(search, end)

    @contextmanager
    def searching(self, bounded: bool, *, idle: bool = False) -> Iterator[StoppableSearch]:
        """A context during which a stop ends this search; nested contexts share the outermost one.

        An ``idle`` search is stopped by the next line, and at the end of the input.
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
        """A stop that arrived as the command of that number.

        With ``only`` it ends no search but that of the command of that number; ``abandon`` when the search need
        not even wait for an engine that is still being loaded.
        """
        with self._lock:
            search, end = self._search, self._stops.stop(command, only=only, abandon=abandon)
        _end(search, end)

    def rest(self) -> None:
        """No command is running: the dialogue waits for the next line."""
        with self._lock:
            self._stops.rest()

    def stop_command(self) -> bool:
        """Stop the search of the running command, or the first that it will start, and its wait for an engine.

        Returns False where no command runs, and where this one was stopped before.
        """
        with self._lock:
            search = self._search
            stopped, end = self._stops.stop_command()
        _end(search, end)
        return stopped

    def close(self, leaving: bool, absent: bool = False) -> None:
        """No more commands will come: the input has ended or, ``leaving``, a quit was read.

        ``absent``: the program at the other end has gone. All searches, of later commands too, then share a grace
        period.
        """
        with self._lock:
            search, end = self._search, self._stops.close(time.monotonic(), leaving=leaving, absent=absent)
            self._set_timer()
        _end(search, end)

    def stop_all(self) -> None:
        """The other end has gone: stop the running search, and every later one as it starts."""
        with self._lock:
            search, end = self._search, self._stops.stop_all()
        _end(search, end)

    def _set_timer(self) -> None:
        """Have `_elapsed` called at the deadline; the lock is held."""
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
    """Carry an instruction out, with the lock released: a control may take another one."""
    if search is not None and end is not None:
        search.stop(end.abandon)
