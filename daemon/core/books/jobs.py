"""Jobs: work of more than a second on threads of its own, with progress and cancellation, listed for all clients.

`JobTurns` decides when a job on the book starts; here are the threads and locks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from desdaemon.protocol.errors import lacking

from .job_turns import JobTurns, PhaseProgress, Turn

QUEUED, RUNNING, DONE, CANCELLED, FAILED = "queued", "running", "done", "cancelled", "failed"

KEPT = 100
"""The most ended jobs on the book that stay listed."""

Result = dict[str, Any]


class Effort(NamedTuple):
    """What a job has done so far, restarts of the daemon included: seconds, nodes, searches, positions added to the
    book.
    """

    time: float = 0.0
    nodes: int = 0
    searches: int = 0
    positions: int = 0


class JobState(NamedTuple):
    """The progress of a job.

    In the present ``phase``, ``done`` of ``total`` steps (0: unknown) are done at ``rate`` steps a second; ``eta_s`` is
    the number of seconds left (None: unknown). The book has ``positions``. Since its start the job has added
    ``added`` positions and made ``searches`` searches. ``round`` is the number of its present round, 0 without rounds;
    ``step`` is the present step of a schedule, "" without one. ``budget`` is the part of its budget that is spent, 0
    to 1; 0 without a budget.
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


class HelperFigures(NamedTuple):
    """Who searches for a job beside this process: workers, their slots, and the part of the slots in use, 0 to 1."""

    workers: int
    slots: int
    busy: float


class BookJob:
    """A piece of work, made by `BookJobs`. Any thread may read its attributes and call its methods.

    ``on_book`` jobs read or change the book, on a thread of their own; others are run by the component that registered
    them. ``state`` is `QUEUED`, `RUNNING`, `DONE`, `CANCELLED` or `FAILED`; ``result`` is set at the end, after a
    cancel too; ``failure`` is the exception of a failed job, ``error`` its text. ``started`` is the time of submission,
    seconds since 1970.
    """

    def __init__(self, number: int, op: str, client: str, work: Callable[[BookJob], Result]) -> None:
        self.id = number
        self.op = op
        self.client = client
        self.state = QUEUED
        self.started = time.time()
        self.progress = JobState(number, "", 0, 0, None, 0)
        self.reported = self.progress
        """The progress that the last report told."""
        self.result: Result = {}
        self.failure: Exception | None = None
        self.error = ""
        self.over = False
        """Whether the job has ended: done, cancelled or failed."""
        self.cancelled = False
        self.helpers: HelperFigures | None = None
        """Updated while others than this process search for the job; None without them."""
        self.obstacle = ""
        """Why the job ended unfinished; "" if nothing stood in its way."""
        self.step = ""
        self.round = 0
        self.budget: dict[str, int] = {}
        """The most that fields of ``effort`` may reach: ``{"nodes": 1000000}``."""
        self.effort = Effort()
        self.earlier = Effort()
        """The part of ``effort`` that earlier processes made."""
        self.first: int | None = None
        """Positions in the book when the job began, before any restart of the daemon; None until then."""
        self.games = 0
        """Games that the book had counted then."""
        self.alone = False
        """Whether the job is exclusive, see `JobTurns`."""
        self.interrupted = False
        """Whether the job was cancelled only because the process ends, and is to be resumed by the next one."""
        self.notes: list[str] = []
        """Notes to add to the result's own when the job ends."""
        self.on_book = True
        self.before_notice: Callable[[], None] = lambda: None
        """Called before every progress report, to commit what it tells."""
        self.begins: Callable[[], None] = lambda: None
        """Called once ``first`` is set, before any change of the book."""
        self._work = work
        self._watchers_called = threading.Event()
        self._lock = threading.Lock()
        self._watchers: list[Callable[[BookJob], None]] = []
        self._cancellers: list[Callable[[], None]] = []
        self._phases = PhaseProgress(time.perf_counter())

    # For the clients that asked for the job

    @property
    def budget_spent(self) -> float:
        """The part of the job's budget that is spent, 0 to 1 or a little more; 0 without a budget."""
        return self._spent(*self.budget)

    def _spent(self, *names: str) -> float:
        """Return the part that is spent of the limits with these names, 0 without any of them."""
        limits = {name: limit for name, limit in self.budget.items() if name in names}
        return max((getattr(self.effort, name) / limit for name, limit in limits.items()), default=0.0)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait up to ``timeout`` seconds until the job has ended and all watchers were called. Returns whether that is
        so.
        """
        return self._watchers_called.wait(timeout)

    def cancel(self) -> None:
        """Ask the job to end soon, with the book consistent. Returns at once."""
        with self._lock:
            self.cancelled = True
            cancellers = list(self._cancellers)
        for cancel in cancellers:
            cancel()

    def give_up(self, why: str) -> None:
        """Cancel the job because it cannot continue; ``why`` becomes its `obstacle` and one of its `notes`."""
        self.obstacle = why
        self.notes.append(why)
        self.cancel()

    def watch(self, watcher: Callable[[BookJob], None]) -> None:
        """Call ``watcher`` with each progress report and at the end.

        ``watcher`` is called on the thread that reports the progress or ends the job. If the job is over already,
        ``watcher`` is called once, at once, on this thread.
        """
        with self._lock:
            over = self.over
            if not over:
                self._watchers.append(watcher)
        if over:
            watcher(self)

    # For the job's work

    def on_cancel(self, cancel: Callable[[], None]) -> None:
        """Call ``cancel`` at each cancel of the job, on the cancelling thread; at once if it was cancelled before."""
        with self._lock:
            self._cancellers.append(cancel)
            now = self.cancelled
        if now:
            cancel()

    def report(self, phase: str, done: int, total: int, positions: int) -> bool:
        """Note that ``done`` of ``total`` steps of ``phase`` are done, with ``positions`` in the book, and call the
        watchers, at most once in `NOTICE_S`.

        Returns whether to go on: False after a cancel and once the time or the nodes of the budget are spent. What its
        positions need is still done.
        """
        notices = self._phases.step(phase, done, total, time.perf_counter())
        spent = round(self.budget_spent, 4)
        self.progress = JobState(
            self.id,
            phase,
            done,
            total,
            eta_s=self._phases.eta_s,
            positions=positions,
            rate=self._phases.rate,
            step=self.step,
            round=self.round,
            added=self.effort.positions,
            searches=self.effort.searches,
            budget=spent,
        )
        if notices:
            self._notify()
        return not self.cancelled and self._spent("time", "nodes") < 1

    # For `BookJobs`

    def run(self) -> None:
        """Do the job's work on this thread, unless it was cancelled before, and end the job. An exception of the work
        fails the job; an exception of a watcher is raised.
        """
        begun = time.perf_counter()
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
            self.failure, state = _without_frames(error), FAILED
            self.error = lacking(error) or str(error) or type(error).__name__
        if self.notes:
            self.result["notes"] = [*self.result.get("notes", ()), *self.notes]
        if "positions" in self.result:
            self.progress = self.progress._replace(positions=self.result["positions"])
        self.result.setdefault("time_s", round(time.perf_counter() - begun, 3))
        self.result.setdefault("job", self.id)
        self.end(state)

    def refuse(self, error: Exception) -> None:
        """Fail the job, which has not begun, with ``error``."""

        def work(job: BookJob) -> Result:
            raise error

        self._work = work
        self.run()

    def end(self, state: str) -> None:
        """Set the final state, `DONE`, `CANCELLED` or `FAILED`, and call the watchers."""
        self.state = state
        with self._lock:
            self.over = True
        try:
            self._notify()
        finally:
            # The ended job stays listed; free the objects that its request and its work hold.
            with self._lock:
                self._watchers.clear()
                self._cancellers.clear()
                self._work = _no_work
            self._watchers_called.set()

    def _notify(self) -> None:
        with self._lock:
            watchers = list(self._watchers)
        progress = self.progress
        if not self.over:
            self.before_notice()
        self.reported = progress
        for watcher in watchers:
            watcher(self)


def _without_frames(error: Exception) -> Exception:
    """Remove the tracebacks from an error and its causes: they refer to the job, which stays listed for long. Returns
    ``error``.
    """
    each: BaseException | None = error
    while each is not None:
        each.__traceback__ = None
        each = each.__cause__ or each.__context__
    return error


def _no_work(job: BookJob) -> Result:
    raise AssertionError


class BookJobs:
    """The listed jobs of the process, without those of `at_once`. ``on_change`` is called with a job at each progress
    report and at its end, on the thread that reports or ends it.

    ``active`` is the number of jobs on the book that have not ended, ``ended`` the number of those that have.
    """

    def __init__(self) -> None:
        self.active = 0
        self.ended = 0
        self.on_change: Callable[[BookJob], None] = lambda job: None
        self.prepare: Callable[[], None] = lambda: None
        """Called by each job's thread before its work, to lower its priority and that of the threads it starts."""
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
        """Run ``work`` on a thread of its own when its turn comes; with ``writes`` the job is exclusive, see
        `JobTurns`.

        ``op`` names the work and ``client`` the caller in the list of jobs. ``work`` gets the job, for progress and
        cancellation, and returns the result; its exception fails the job. ``before`` is called with the job before it
        can start. ``number`` is that of an earlier process or from `next_number`; with 0 the job gets the next number.
        After `close` the job ends at once, cancelled.
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
        """Run short ``work`` on this thread. The job has ended on return, and is never listed; messages have ``op`` and
        ``client``.
        """
        job = BookJob(0, op, client, work)
        job.run()
        return job

    def register(self, number: int, op: str, client: str) -> BookJob:
        """List a job that is not on the book; the caller runs it, sets its state, reports progress and ends it.

        ``op`` names the work and ``client`` the caller in the list. ``number`` must be far above those of book jobs,
        which begin at 1. The job stays listed until `remove`.
        """
        job = BookJob(number, op, client, _no_work)
        job.on_book = False
        with self._lock:
            self._jobs[number] = job
        job.watch(self._watch)
        return job

    def list_ended(self, number: int, ended: Result) -> None:
        """List a job on the book that ended in an earlier process: ``ended`` is what `JobJournal.ended` yields."""
        job = BookJob(number, ended["op"], ended["client"], _no_work)
        job.state, job.error, job.started, job.result = ended["state"], ended["error"], ended["started"], ended
        job.failure = Exception(job.error) if job.state == FAILED else None
        figures = {name: ended[name] for name in ("positions", "added", "searches")}
        job.progress = job.progress._replace(round=ended["rounds"], **figures)
        job.reported, job.over = job.progress, True
        job._watchers_called.set()
        with self._lock:
            self._jobs[number] = job

    def remove(self, job: BookJob) -> None:
        """Remove a registered job from the list."""
        with self._lock:
            self._jobs.pop(job.id, None)

    def reserve(self, number: int) -> None:
        """Give later jobs numbers above ``number``."""
        with self._lock:
            self._number = max(self._number, number)

    def next_number(self) -> int:
        """Return a number for a job that no other has."""
        with self._lock:
            self._number += 1
            return self._number

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
        """Run a job on a thread of its own. Those for which the system has no thread fail, and the next one begins."""
        from desdaemon.protocol.system.threads import begin

        following: BookJob | None = job
        while following is not None:
            try:
                begin(partial(self._run, following), f"job-{following.id}")
                return
            except RuntimeError as error:
                following.refuse(error)
                following = self._following(following)

    def _run(self, job: BookJob) -> None:
        try:
            self.prepare()
            job.run()
        finally:
            # Also after an error in a watcher, which must not end the turns of others.
            following = self._following(job)
            if following is not None:
                self._begin(following)

    def _following(self, job: BookJob) -> BookJob | None:
        """End the turn of a job. Returns the job whose turn begins, if there is one."""
        with self._lock:
            number = self._turns.ended(job.id)
            return self._jobs[number] if number is not None else None

    def listed(self) -> list[BookJob]:
        """Return all listed jobs, the first submitted first: jobs on the book that wait or run, the last `KEPT` that
        ended, and registered jobs.
        """
        with self._lock:
            return sorted(self._jobs.values(), key=lambda job: job.started)

    def find(self, number: int) -> BookJob | None:
        """Return the listed job with this number; None if there is none."""
        with self._lock:
            return self._jobs.get(number)

    def cancel(self, number: int) -> bool:
        """Cancel the listed job with this number. Returns False if there is no such job or it is over."""
        job = self.find(number)
        if job is None or job.over:
            return False
        job.cancel()
        return True

    def close(self, timeout: float = 5.0) -> bool:
        """Refuse new jobs, cancel all jobs on the book and wait up to ``timeout`` seconds for their ends. Returns
        whether all ended. Those that were not cancelled before are marked as ``interrupted``.
        """
        with self._lock:
            jobs = [self._jobs[number] for number in self._turns.close()]
        until = time.monotonic() + timeout
        for job in jobs:
            job.interrupted = not job.cancelled
            job.cancel()
        return all(job.wait(max(0.0, until - time.monotonic())) for job in jobs)
