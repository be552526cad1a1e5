"""State machines of jobs on the book: when each may start (`JobTurns`), when progress is reported (`PhaseProgress`).

A job that changes the book, or needs it unchanged, is *exclusive*. Exclusive jobs run one at a time, in the order of
arrival; all other jobs run in parallel with them and with each other. `desdaemon.core.books.jobs` has the locks and
threads. Times are seconds of any clock.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

NOTICE_S = 0.2
"""Least seconds between two progress reports."""


class Turn(Enum):
    """What to do with a new job."""

    BEGIN = "begin"
    """Run it now."""
    WAIT = "wait"
    """Run it when `JobTurns.ended` returns its number."""
    REFUSE = "refuse"
    """Cancel it: no more jobs are accepted."""


class JobTurns:
    """The running and waiting jobs on the book. For one thread at a time. Call `ended` at the end of each begun job."""

    def __init__(self) -> None:
        self.running: set[int] = set()
        self.waiting: deque[int] = deque()
        """Exclusive jobs that wait for their turn, in its order."""
        self.exclusive: int | None = None
        """The running exclusive job; it is in ``running`` too."""
        self._closed = False

    def submit(self, job: int, *, exclusive: bool) -> Turn:
        """Add a job with the unique number ``job``, unless `close` was called. Returns what to do with the job."""
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
        """Note the end of a running job. Returns the number of the waiting job to start now, None if there is none."""
        self.running.remove(job)
        following = None
        if job == self.exclusive:
            self.exclusive = None
            if self.waiting:
                following = self.waiting.popleft()
                self._begin(following, True)
        return following

    def close(self) -> list[int]:
        """Accept no more jobs. Returns the numbers of all running and waiting jobs, for the caller to cancel. Waiting
        jobs still get a turn, in which they only end.
        """
        self._closed = True
        return sorted((*self.running, *self.waiting))

    def _begin(self, job: int, exclusive: bool) -> None:
        self.running.add(job)
        if exclusive:
            self.exclusive = job


class PhaseProgress:
    """Speed and remaining time of a job's present phase, and when to report it. For one thread at a time."""

    def __init__(self, now: float) -> None:
        self.rate = 0.0
        """Steps done a second in the present phase."""
        self.eta_s: float | None = None
        """Estimated seconds until the phase ends; None if unknown."""
        self._phase = ""
        self._done = 0
        self._since = now
        self._from = 0
        self._reported: float | None = None

    def step(self, phase: str, done: int, total: int, now: float) -> bool:
        """Note that ``done`` of ``total`` steps (0: unknown) are done at time ``now``. Returns whether to report the
        step: the first time, and then at most once in `NOTICE_S`.
        """
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
