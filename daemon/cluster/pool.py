"""Searches by a cluster's workers: `ClusterSearches` for any kind, `ClusterPool` in place of a book's thread pool.

The caller's thread owns the window of searches in flight (`window.py`). Dask's client has its own thread and reports
finished batches through a queue. Answers come in the order of the searches, so a book is byte for byte the one that a
single thread makes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from desdaemon.book.editing.engine_evaluator import HASH_BITS
from desdaemon.book.editing.rounds import SearchLine, Worker
from desdaemon.book.progress import WorkCancelled
from desdaemon.protocol.errors import Unfinished
from desdaemon.protocol.system.threads import begun

from . import tasks as remote
from .connection import SILENT_S, client_of, workers_of
from .identity import identity, of_resources, resource_of
from .rows import CLUSTER_THREADS, place
from .window import AnySearch, Disagreement, Search, SearchBatch, SearchWindow, WorkerAnswer

if TYPE_CHECKING:
    from distributed import Client, Future

    from desdaemon.book.book import Evaluate
    from desdaemon.book.editing.rounds import OnProgress
    from desdaemon.core.searchers import JobSearches

LOOK_S = 1.0
"""Seconds between two counts of the workers."""

LOST_S = 8.0
"""Seconds without a scheduler after which a command ends."""

QUIET_S = 10.0
"""Seconds of silence after which a worker is named in a note."""

GONE = "the cluster's scheduler has gone: repeat the command once there is one"

_POLL_S = 0.1
_FETCH_S = 60.0
_STOP_S = 2.0
_BOARD_BYTES = 8

R = TypeVar("R")

Line = Generator[AnySearch, WorkerAnswer | None, R]
"""A line of searches that depend on each other. It is sent the answer to each search, and returns a result."""


class _Done(NamedTuple):
    """A finished batch, with the answers of its worker ("" for this process), or the error that prevented them."""

    number: int
    worker: str
    answers: list[WorkerAnswer | None]
    error: BaseException | None = None


class ClusterSearches:
    """The searches of a job by a scheduler's workers. One thread calls `follow` or `replies`, any thread `stop`.

    After `stop`, or after an iterator was left before its end, all searches end and no more are made.
    """

    def __init__(
        self,
        client: Client,
        own: str,
        here: Callable[[Any], WorkerAnswer | None],
        *,
        hash_bits: int,
        local: int = 0,
        figures: Callable[[int, int, float], None] = lambda workers, slots, busy: None,
        note: Callable[[str], None] = lambda line: None,
    ) -> None:
        """``own`` is the identity that workers must have. ``here`` answers a search in this process; it returns None
        after a stop. It is called on ``local`` threads, which help the workers, and on the caller's thread for searches
        that the cluster cannot do, for checks of a worker alone, and for those to which two workers gave different
        answers.

        A search's table has 2 to the power ``hash_bits`` entries at most. ``note`` is called once for each thing that a
        person should know. ``figures`` is called each second with the number of workers, their slots, and the part of
        the slots' time (0 to 1) spent in searches.
        """
        self._here = here
        self._client = client
        self._own = own
        self._hash_bits = hash_bits
        self._local = local
        self._figures = figures
        self._note = note
        self._job = os.urandom(8).hex()
        self._window = SearchWindow()
        self._done: queue.SimpleQueue[_Done] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._sent: dict[int, tuple[Future[Any], list[str] | None]] = {}
        """The batches at the workers, by number, each with the addresses of those that may get it; None for all."""
        self._helping: set[int] = set()
        """The numbers of the batches on threads of this process."""
        self._addresses: dict[str, str] = {}
        """The names of the workers that can do these searches, by address."""
        self._barred: set[str] = set()
        """Names of workers that get no more searches."""
        self._noted: set[object] = set()
        self._looked = -LOOK_S
        self._lost_since: float | None = None
        self._gone = False
        self._heard: dict[str, tuple[float, float]] = {}
        """By a worker's address: when the scheduler last heard of it, on the scheduler's clock, and when this process
        noticed that, on its own clock.
        """
        self._busy_ms = self._slot_ms = 0.0

    def stop(self) -> None:
        """End the searches in flight and their iterators."""
        self._stopped.set()

    def replies(self, offer: Callable[[SearchWindow], None]) -> Generator[tuple[int, WorkerAnswer] | None, None, None]:
        """Yield answers as they arrive, each with the number of its search; after a stop None, once.

        ``offer`` is called whenever all available answers were yielded. It must give the window more searches, say that
        none come before another answer (`SearchWindow.drain`), or close the window. Raises `Unfinished` if the
        scheduler is lost.
        """
        window = self._window
        window.open()
        helpers = ThreadPoolExecutor(self._local) if self._local else None
        try:
            while True:
                offer(window)
                self._look()
                active = False
                for batch in window.batches():
                    self._submit(batch)
                    active = True
                while helpers and len(self._helping) < self._local and (here := window.local()):
                    self._helping.add(here.number)
                    helpers.submit(self._search_here, here)
                for reply in window.replies():
                    active = True
                    yield reply
                if window.over:
                    return
                if self._gone:
                    raise Unfinished(GONE)
                if self._stopped.is_set():
                    yield None
                    return
                # Do not wait if answers were taken: they may lead to more searches.
                self._take_all(0.0 if active else _POLL_S)
        finally:
            if not window.over:
                self._end()
            if helpers:
                helpers.shutdown(wait=False, cancel_futures=True)

    def follow(self, lines: Iterable[Line[R]]) -> Generator[R, None, None]:
        """Yield the result of each line of searches, in order. All lines run on the calling thread; one is begun only
        if the workers need more searches.

        Raises `WorkCancelled` after a stop, and `Unfinished` if the scheduler is lost.
        """
        waiting = enumerate(lines)
        asking: deque[tuple[AnySearch, int, Line[R]]] = deque()
        """The next search of each line that has one to offer, with the line's number."""
        offered: dict[int, tuple[int, Line[R]]] = {}
        """The lines that wait for an answer, by the number of their search."""
        results: dict[int, R] = {}

        def advance(place: int, line: Line[R], answer: WorkerAnswer | None) -> None:
            try:
                # The first value sent into a generator must be None.
                asking.append((line.send(answer), place, line))
            except StopIteration as end:
                results[place] = end.value

        def offer(window: SearchWindow) -> None:
            while window.wants():
                if asking:
                    search, place, line = asking.popleft()
                    offered[window.offered] = place, line
                    window.offer(search)
                elif begun := next(waiting, None):
                    advance(*begun, None)
                elif offered:
                    window.drain()
                    return
                else:
                    window.close()

        with closing(self.replies(offer)) as replies:
            for place in itertools.count():
                while place not in results:
                    try:
                        reply = next(replies)
                    except StopIteration:
                        return
                    if reply is None:
                        raise WorkCancelled
                    number, answer = reply
                    advance(*offered.pop(number), answer)
                yield results.pop(place)

    # Batches

    def _submit(self, batch: SearchBatch) -> None:
        right = {address: name for address, name in self._addresses.items() if name not in self._barred}
        usable = [address for address, name in right.items() if name != batch.avoided]
        if batch.check and not usable:
            # A worker alone would confirm itself.
            self._helping.add(batch.number)
            self._search_here(batch)
            return
        usable = usable or list(right)
        restricted = usable if len(usable) < len(self._addresses) else None
        future = self._client.submit(
            remote.search_batch,
            self._job,
            self._hash_bits,
            batch.searches,
            # Dask takes tasks whose keys have the same first words for equally long.
            key=f"desdaemon-{'long' if batch.long else 'short'}-{self._job}-{batch.number}",
            resources={resource_of(self._own): 1},
            retries=2,
            # By default what is submitted within 100 ms is equally urgent, and a worker takes it in the order of the
            # keys: long before short.
            fifo_timeout=0,
            workers=restricted,
        )
        self._sent[batch.number] = future, restricted
        loop = self._client.loop
        assert loop is not None
        future.add_done_callback(lambda done: loop.add_callback(self._fetch, batch.number, done))

    async def _fetch(self, number: int, future: Future[Any]) -> None:
        """Read the outcome of the batch ``number`` from ``future`` and report it.

        Runs on the event loop of dask's client, which reads outcomes that arrive together in one message; a thread
        would read them one by one.
        """
        # Reading goes on beyond the limit, because the same message may carry other outcomes.
        reading = asyncio.shield(self._client.gather(future, asynchronous=True))
        try:
            self._done.put(_Done(number, *await asyncio.wait_for(reading, _FETCH_S)))
        except BaseException as error:
            self._done.put(_Done(number, "", [], error))

    def _search_here(self, batch: SearchBatch) -> None:
        try:
            answers = [None if self._stopped.is_set() else self._here(search) for search in batch.searches]
        except BaseException as error:
            self._done.put(_Done(batch.number, "", [], error))
        else:
            self._done.put(_Done(batch.number, "", answers))

    def _take_all(self, wait_s: float) -> None:
        """Enter all finished batches in the window, waiting up to ``wait_s`` seconds for the first."""
        with contextlib.suppress(queue.Empty):
            done = self._done.get(timeout=wait_s)
            while True:
                self._take(done)
                done = self._done.get_nowait()

    def _take(self, done: _Done) -> None:
        if done.number in self._sent:
            self._sent.pop(done.number)[0].release()
            if done.error is not None:
                self._failed(done.number, done.error)
                return
        elif done.error is not None:
            # The future of a batch that was recalled is cancelled; what fails here must be raised.
            if done.number in self._helping:
                raise done.error
            return
        self._helping.discard(done.number)
        self._busy_ms += sum(answer.ms for answer in done.answers if answer is not None)
        disagreement = self._window.answered(done.number, done.worker, done.answers)
        if disagreement is not None:
            self._judge(disagreement)

    def _failed(self, number: int, error: BaseException) -> None:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        if isinstance(error, FutureCancelledError):
            # Only dask's client cancels, when it loses the scheduler.
            self._gone = True
            return
        here = self._window.failed(number)
        if here is not None:
            what = "its workers died"
            if not isinstance(error, KilledWorker):
                what = f"{type(error).__name__}: {error}".partition("\n")[0]
            self._note(f"cluster: {_named(here.searches[0])}: {what}: it is searched here")
            self._helping.add(number)
            self._search_here(here)

    def _judge(self, disagreement: Disagreement) -> None:
        """Repeat the search of a disagreement in this process, and exclude each worker whose answer differs."""
        right = self._here(disagreement.search)
        for worker, answer in disagreement.answers:
            if right is None or answer.found == right.found:
                continue
            self._barred.add(worker)
            self._note_once(
                f"cluster: worker {worker} answered {answer.found!r} to {_named(disagreement.search)}, here it is "
                f"{right.found!r}: it gets no more searches; its earlier answers may be wrong too (in a book: book "
                "correct)",
                worker,
            )
            # Count the workers again at once, before more searches are sent.
            self._looked = -LOOK_S

    # The cluster

    def _note_once(self, line: str, subject: object) -> None:
        """Tell the user the first line about ``subject``, and no others."""
        if subject not in self._noted:
            self._noted.add(subject)
            self._note(line)

    def _look(self) -> None:
        """Count the workers and report figures, unless that was done less than `LOOK_S` seconds ago. Notes which
        workers have left, and sets ``_gone`` once the scheduler has been lost for more than `LOST_S` seconds.
        """
        now = time.monotonic()
        if now - self._looked < LOOK_S:
            return
        spent = min(now - self._looked, 10 * LOOK_S) if self._looked > 0 else 0.0
        self._looked = now
        self._slot_ms += spent * self._window.slots * 1000
        try:
            if self._client.status != "running":
                raise OSError
            workers = workers_of(self._client)
        except (OSError, TimeoutError):
            self._lost_since = self._lost_since or now
            self._gone = now - self._lost_since > LOST_S
            return
        self._lost_since = None
        for address in self._addresses.keys() - workers:
            self._note(f"cluster: worker {self._addresses[address]} has gone: its searches go to others")
        self._addresses = {}
        slots = 0
        for address, worker in workers.items():
            name = str(worker["name"])
            self._listen(address, name, worker["last_seen"], now)
            if of_resources(worker["resources"]) == self._own:
                self._addresses[address] = name
                slots += worker["nthreads"] if name not in self._barred else 0
            else:
                self._note_once(
                    f"cluster: worker {name} runs another version or other weights: it gets no searches", name
                )
        self._window.slots = slots
        if slots:
            self._recall()
        elif not self._local:
            self._note_once("cluster: no worker can do these searches yet: waiting for one", None)
        busy = min(1.0, self._busy_ms / self._slot_ms) if self._slot_ms else 0.0
        self._figures(len(self._addresses), slots, busy)

    def _listen(self, address: str, name: str, last_seen: float, now: float) -> None:
        """Report a worker that has been silent for `QUIET_S` seconds, once for each silence. ``last_seen`` is when the
        scheduler last heard from it, on the scheduler's clock; ``now`` is this process's time.
        """
        if self._heard.get(address, (0.0, 0.0))[0] != last_seen:
            self._heard[address] = last_seen, now
        elif now - self._heard[address][1] > QUIET_S:
            self._note_once(
                f"cluster: worker {name} has been silent for {QUIET_S:g} s: after {SILENT_S} to "
                f"{2 * SILENT_S} s its searches go to others",
                (address, last_seen),
            )

    def _recall(self) -> None:
        """Send a batch again if all workers that may run it have left; dask would wait for them to come back."""
        for number, (future, usable) in list(self._sent.items()):
            if usable is not None and self._addresses.keys().isdisjoint(usable):
                del self._sent[number]
                future.release()
                self._window.refused(number)

    def _end(self) -> None:
        """End the run: cancel its batches and stop its searches at the workers, waiting up to `_STOP_S`."""
        self._stopped.set()
        with contextlib.suppress(Exception):
            if self._client.status == "running":
                if self._sent:
                    self._client.cancel([future for future, _ in self._sent.values()], asynchronous=False)
                begun(self._stop_at_workers, "cluster-stop").wait(_STOP_S)
        self._sent.clear()

    def _stop_at_workers(self) -> None:
        with contextlib.suppress(Exception):
            self._client.run(remote.stop_job, self._job, workers=list(self._addresses), on_error="ignore")


def _named(search: AnySearch) -> str:
    """Return a search's name for messages to the user."""
    if not isinstance(search, Search):
        return f"{len(search.players) // _BOARD_BYTES} positions at {search.depth} plies"
    from desdaemon.protocol.othello.notation import Position, board_text

    return f"{board_text(Position(search.player, search.opponent, True))} at level {search.level}"


class ClusterPool(Worker):
    """The searches of a book job by a cluster. Only the job's thread uses it."""

    def __init__(
        self,
        cluster: ClusterSearches,
        evaluate: Evaluate,
        threads: int,
        on_progress: OnProgress,
        on_gone: Callable[[str], None],
    ) -> None:
        """``evaluate`` makes single searches here; ``threads`` are for the book's other work.

        ``on_gone`` is called with the reason if the scheduler is lost; the command then ends as after a stop.
        """
        super().__init__(evaluate, threads=threads, on_progress=on_progress, halt=cluster.stop)
        self._cluster = cluster
        self._on_gone = on_gone

    def follow(self, lines: Iterable[SearchLine[R]]) -> Generator[R, None, None]:
        """Yield the result of each line of searches, in order. Raises `WorkCancelled` after a stop, and once the
        scheduler is lost.
        """
        try:
            yield from self._cluster.follow(map(self._line, lines))
        except Unfinished as gone:
            self._on_gone(str(gone))
            raise WorkCancelled from None

    def _line(self, line: SearchLine[R]) -> Line[R]:
        """Carry out a line of the book, and count the nodes, which are 0 for searches in this process."""
        found: Any = None
        while True:
            try:
                question = line.send(found)
            except StopIteration as end:
                result: R = end.value
                return result
            answer = yield Search(*question)
            assert answer is not None, "only the first value sent is None"
            self.nodes_elsewhere += answer.nodes
            found = answer.found


def job_worker(searches: JobSearches) -> ClusterPool:
    """Return a pool for a book job's searches, by the cluster and the threads that the options name. Raises `BadInput`
    if there is no scheduler.
    """
    evaluate, settings = searches.evaluate, searches.settings

    def here(search: Search) -> WorkerAnswer | None:
        begun = time.perf_counter()
        scored = evaluate(search.player, search.opponent, search.level, search.excluded)
        return None if scored is None else WorkerAnswer(scored, (time.perf_counter() - begun) * 1000)

    cluster = ClusterSearches(
        client_of(*place(settings)), identity(searches.weights), here,
        hash_bits=HASH_BITS, local=settings.value(CLUSTER_THREADS, int), figures=searches.on_figures,
        note=searches.note,
    )  # fmt: skip
    return ClusterPool(cluster, evaluate, searches.threads, searches.on_progress, searches.on_gone)
