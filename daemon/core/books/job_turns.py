"""Turns of jobs: which may start, and when their progress is reported. State machines.

A job that needs the book for itself (because it changes it, or because it must not change meanwhile) is *exclusive*:
such jobs run one at a time in the order of arrival; others run in parallel with them and with each other.

`desdaemon.core.books.jobs` holds the locks and has the threads. Times are seconds of any clock.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

NOTICE_S = 0.2
"""Least seconds between two reports of progress."""


class Turn(Enum):
    """The instruction for a new job."""

    BEGIN = "begin"
    """It runs now."""
    WAIT = "wait"
    """It runs when `JobTurns.ended` returns it."""
    REFUSE = "refuse"
    """It is cancelled: no more jobs are accepted."""


class JobTurns:
    """The running and waiting jobs on the book. For one thread at a time."""

    def __init__(self) -> None:
        self.running: set[int] = set()
        self.waiting: deque[int] = deque()
        """The exclusive jobs that wait, in the order of their turns."""
        self.exclusive: int | None = None
        """The exclusive job that runs."""
        self._closed = False

    def submit(self, job: int, *, exclusive: bool) -> Turn:
        """Add a job; its number ``job`` is unique."""
        if self._closed:
            turn = Turn.REFUSE
        elif exclusive and self.exclusive is not None:
            turn = Turn.WAIT
            self.waiting.append(job)
        else:
            turn = Turn.BEGIN
            self._begin(job, exclusive)
        return turn

    def ended(self, job: int) -> int | None:
        """Note the end of a running job. Returns the one to start now, if any."""
        self.running.remove(job)
        following = None
        if job == self.exclusive:
            self.exclusive = None
            if self.waiting:
                following = self.waiting.popleft()
                self._begin(following, True)
        return following

    def close(self) -> list[int]:
        """Accept no more jobs. Returns those to cancel; the waiting ones still get their turns, in which they
        only end.
        """
        self._closed = True
        return sorted((*self.running, *self.waiting))

    def _begin(self, job: int, exclusive: bool) -> None:
        self.running.add(job)
        if exclusive:
            self.exclusive = job


class PhaseProgress:
    """The rate of a job's present phase, and the times of its reports. For one thread at a time."""

    def __init__(self, now: float) -> None:
        self.rate = 0.0
        """Steps a second in the present phase."""
        self.eta_s: float | None = None
        """Seconds left of the phase, if that can be estimated."""
        self._phase = ""
        self._done = 0
        self._since = now
        self._from = 0
        self._reported: float | None = None

    def step(self, phase: str, done: int, total: int, now: float) -> bool:
        """Note that ``done`` of ``total`` steps (0: not known) are done. Returns whether to report it now."""
        if phase != self._phase or done < self._done:
            self._since, self._from = now, done
        self._phase, self._done = phase, done
        spent, steps = now - self._since, done - self._from
        self.rate = steps / spent if spent > 0 else 0.0
        self.eta_s = (total - done) / self.rate if self.rate and total >= done else None
        reports = self._reported is None or now - self._reported >= NOTICE_S
        if reports:
            self._reported = now
        return reports
