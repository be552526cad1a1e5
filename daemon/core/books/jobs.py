"""Jobs: work of more than a second beside the dialogues, with progress and cancellation, listed for all clients.

Jobs that need the book for themselves (because they change it, or because it must not change meanwhile) run one at a
time in the order of arrival; others run in parallel. `desdaemon.core.books.job_turns` decides; here are threads and
locks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from .job_turns import JobTurns, PhaseProgress, Turn

QUEUED, RUNNING, DONE, CANCELLED, FAILED = "queued", "running", "done", "cancelled", "failed"

KEPT = 100
"""Finished jobs that stay in the list."""

Result = dict[str, Any]


class Effort(NamedTuple):
    """The effort of a job since it began, before a restart too: seconds, nodes, searches, positions added."""

    time: float = 0.0
    nodes: int = 0
    searches: int = 0
    positions: int = 0


class JobState(NamedTuple):
    """Progress of a job: in its ``phase``, ``done`` of ``total`` (0: not known) at ``rate`` a second.

    ``eta_s`` seconds are left of the phase, if that can be estimated; ``positions`` are in the book. The other fields
    concern the whole job: ``step`` of a schedule, ``round`` of a command, ``added`` and ``searches`` since it began,
    ``budget`` the spent part of its budget, 0 without one.
    """

    job: int
    phase: str
    done: int
    total: int
    eta_s: float | None
    positions: int
    rate: float = 0.0
    step: str = ""
    round: int = 0
    added: int = 0
    searches: int = 0
    budget: float = 0.0


class ClusterFigures(NamedTuple):
    """The state of a cluster that searches for a job: its workers and slots, and the share of the slots' time in
    searches.
    """

    workers: int
    slots: int
    busy: float


class BookJob:
    """A piece of work; made by `BookJobs`. Its attributes may be read, and all methods called, from any thread.

    ``on_book`` jobs read or change the book and have a thread; others are run by the component that registered them.
    ``state`` is one of the five above; ``result`` is set when it is over, even after a cancel; ``failure`` is the
    exception of a failed one and ``error`` its text. ``started`` is the time of its submission, in seconds since 1970.
    """

    def __init__(self, number: int, op: str, client: str, work: Callable[[BookJob], Result]) -> None:
        self.id = number
        self.op = op
        self.client = client
        self.state = QUEUED
        self.started = time.time()
        self.progress = JobState(number, "", 0, 0, None, 0)
        self.reported = self.progress
        """The progress in the latest report."""
        self.result: Result = {}
        self.failure: Exception | None = None
        self.error = ""
        self.over = False
        """Whether it has ended: done, cancelled or failed."""
        self.cancelled = False
        self.cluster: ClusterFigures | None = None
        """Set from time to time while a cluster searches for it."""
        self.obstacle = ""
        """The reason why it had to end before it was finished, if there was one."""
        self.step = ""
        self.round = 0
        self.budget: dict[str, int] = {}
        """Limits of fields of ``effort``."""
        self.effort = Effort()
        self.first: int | None = None
        """Positions of the book when it began, before a restart too; None before that."""
        self.alone = False
        """Whether it excludes other jobs that need the book for themselves."""
        self.interrupted = False
        """Whether only the end of the process cancelled it."""
        self.notes: list[str] = []
        """Notes to add to the result's own when the job ends."""
        self.on_book = True
        self.before_notice: Callable[[], None] = lambda: None
        """Called before every report, to write results to the disk."""
        self.begins: Callable[[], None] = lambda: None
        """Called when ``first`` is known, before any change."""
        self._work = work
        self._watchers_called = threading.Event()
        self._lock = threading.Lock()
        self._watchers: list[Callable[[BookJob], None]] = []
        self._cancellers: list[Callable[[], None]] = []
        self._phases = PhaseProgress(time.monotonic())

    # For those who asked for it

    @property
    def budget_spent(self) -> float:
        """The spent part of its budget; 0 without one."""
        return max((getattr(self.effort, name) / limit for name, limit in self.budget.items()), default=0.0)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait up to ``timeout`` seconds for its end and the calls of all watchers. Returns whether both are over."""
        return self._watchers_called.wait(timeout)

    def cancel(self) -> None:
        """End it soon, at a point where the book is consistent; returns at once."""
        with self._lock:
            self.cancelled = True
            cancellers = list(self._cancellers)
        for cancel in cancellers:
            cancel()

    def give_up(self, why: str) -> None:
        """Cancel it because it cannot continue; ``why`` is kept as `obstacle`."""
        self.obstacle = why
        self.notes.append(why)
        self.cancel()

    def watch(self, watcher: Callable[[BookJob], None]) -> Callable[[], None]:
        """Call ``watcher`` from the job's thread with each progress report and at the end. Returns a function that
        unregisters it.

        For a job that is already over it is called at once, on this thread.
        """
        with self._lock:
            over = self.over
            if not over:
                self._watchers.append(watcher)
        if over:
            watcher(self)

        def unwatch() -> None:
            with self._lock:
                if watcher in self._watchers:
                    self._watchers.remove(watcher)

        return unwatch

    # For the work itself

    def on_cancel(self, cancel: Callable[[], None]) -> None:
        """Call ``cancel`` when the job is cancelled; at once if it already was."""
        with self._lock:
            self._cancellers.append(cancel)
            now = self.cancelled
        if now:
            cancel()

    def report(self, phase: str, done: int, total: int, positions: int) -> bool:
        """Report progress; returns whether to continue."""
        notices = self._phases.step(phase, done, total, time.monotonic())
        spent = round(self.budget_spent, 4)
        self.progress = JobState(
            *(self.id, phase, done, total, self._phases.eta_s, positions, self._phases.rate, self.step, self.round),
            self.effort.positions,
            self.effort.searches,
            spent,
        )
        if notices:
            self._notify()
        return not self.cancelled and self.budget_spent < 1

    # For `BookJobs`

    def run(self) -> None:
        """Run the job on this thread."""
        begun = time.monotonic()
        self.state = RUNNING
        state = DONE
        try:
            if self.cancelled:
                state = CANCELLED
            else:
                self.result = self._work(self)
                if self.cancelled and not self.result.get("finished"):
                    state = CANCELLED
        except Exception as error:
            self.failure, self.error, state = _without_frames(error), str(error) or type(error).__name__, FAILED
        if self.notes:
            self.result["notes"] = [*self.result.get("notes", ()), *self.notes]
        if "positions" in self.result:
            self.progress = self.progress._replace(positions=self.result["positions"])
        self.result.setdefault("time_s", round(time.monotonic() - begun, 3))
        self.result.setdefault("job", self.id)
        self.end(state)

    def end(self, state: str) -> None:
        """Set the final state and call the watchers."""
        self.state = state
        with self._lock:
            self.over = True
        try:
            self._notify()
        finally:
            # An ended job is kept for a while; free what its request and its work hold.
            with self._lock:
                self._watchers.clear()
                self._cancellers.clear()
                self._work = _no_work
            self._watchers_called.set()

    def _notify(self) -> None:
        with self._lock:
            watchers = list(self._watchers)
        found = self.progress
        if not self.over:
            self.before_notice()
        self.reported = found
        for watcher in watchers:
            watcher(self)


def _without_frames(error: Exception) -> Exception:
    """Return the error without the tracebacks of it and its causes, which would be kept as long as its job.

    They refer to the job, so that both would wait for the garbage collector.
    """
    each: BaseException | None = error
    while each is not None:
        each.__traceback__ = None
        each = each.__cause__ or each.__context__
    return error


def _no_work(job: BookJob) -> Result:
    raise AssertionError


class BookJobs:
    """All jobs of the process; ``on_change`` is called with every change of a job.

    ``active`` jobs on the book are not over, ``ended`` ones are.
    """

    def __init__(self) -> None:
        self.active = 0
        self.ended = 0
        self.on_change: Callable[[BookJob], None] = lambda job: None
        self.prepare: Callable[[], None] = lambda: None
        """Called by each job's thread before its work; threads that the job starts inherit its priority."""
        self._lock = threading.Lock()
        self._jobs: dict[int, BookJob] = {}
        self._number = 0
        self._turns = JobTurns()

    def submit(
        self,
        op: str,
        work: Callable[[BookJob], Result],
        client: str,
        *,
        writes: bool,
        before: Callable[[BookJob], None] = lambda job: None,
        number: int = 0,
    ) -> BookJob:
        """Run ``work`` on a thread of its own; with ``writes`` no other such job runs meanwhile.

        ``work`` gets the job, for progress and cancellation, and returns the result; an exception fails the job.
        ``before`` is called before it can start; ``number`` is one that was reserved by `reserve`.
        """
        job = self._new(op, work, client, number)
        before(job)
        with self._lock:
            turn = self._turns.submit(job.id, exclusive=writes)
        if turn is Turn.REFUSE:
            job.cancelled = True
            job.run()
        elif turn is Turn.BEGIN:
            self._begin(job)
        return job

    def at_once(self, op: str, work: Callable[[BookJob], Result], client: str) -> BookJob:
        """Run short work on this thread; the job is over when this returns, and is not listed."""
        job = BookJob(0, op, client, work)
        job.run()
        return job

    def register(self, number: int, op: str, client: str) -> BookJob:
        """List a job that is not on the book and has no thread; the caller sets its state, reports progress and ends
        it.

        ``number`` is chosen by the caller, far above those of book jobs, which begin at 1. It stays listed until
        `remove`.
        """
        job = BookJob(number, op, client, _no_work)
        job.on_book = False
        with self._lock:
            self._jobs[number] = job
        job.watch(self._watch)
        return job

    def remove(self, job: BookJob) -> None:
        """Remove a job from the list."""
        with self._lock:
            self._jobs.pop(job.id, None)

    def reserve(self, number: int) -> None:
        """Make all later jobs get numbers above this one."""
        with self._lock:
            self._number = max(self._number, number)

    def _new(self, op: str, work: Callable[[BookJob], Result], client: str, number: int) -> BookJob:
        with self._lock:
            self._number += not number
            number = number or self._number
            job = self._jobs[number] = BookJob(number, op, client, work)
            self.active += 1
            over = [number for number, old in self._jobs.items() if old.over and old.on_book]
            for number in over[: max(0, len(over) - KEPT)]:
                del self._jobs[number]
        job.watch(self._watch)
        return job

    def _watch(self, job: BookJob) -> None:
        if job.over and job.on_book:
            with self._lock:
                self.active -= 1
                self.ended += 1
        self.on_change(job)

    def _begin(self, job: BookJob) -> None:
        from desdaemon.core.threads import begin

        begin(partial(self._run, job), f"job-{job.id}")

    def _run(self, job: BookJob) -> None:
        try:
            self.prepare()
            job.run()
        finally:
            # Also after an error in a watcher, which must not end the turns of others.
            with self._lock:
                number = self._turns.ended(job.id)
                following = self._jobs[number] if number is not None else None
            if following is not None:
                self._begin(following)

    def listed(self) -> list[BookJob]:
        """Return the jobs that wait, run, or ended recently, oldest first."""
        with self._lock:
            return sorted(self._jobs.values(), key=lambda job: job.started)

    def find(self, number: int) -> BookJob | None:
        """Return the job of that number if it is listed."""
        with self._lock:
            return self._jobs.get(number)

    def cancel(self, number: int) -> bool:
        """Cancel the job of that number. Returns False when there is none, or it is over."""
        job = self.find(number)
        if job is None or job.over:
            return False
        job.cancel()
        return True

    def close(self, timeout: float = 5.0) -> bool:
        """Cancel all jobs on the book, refuse new ones, and wait up to ``timeout`` seconds. Returns whether all are
        over.
        """
        with self._lock:
            jobs = [self._jobs[number] for number in self._turns.close()]
        until = time.monotonic() + timeout
        for job in jobs:
            job.interrupted = not job.cancelled
            job.cancel()
        return all(job.wait(max(0.0, until - time.monotonic())) for job in jobs)
