"""Searches by a cluster's workers: `ClusterSearches` for any kind, `ClusterPool` in place of a book's thread pool.

A `SearchKind` describes a kind of search and its messages: `POSITIONS` here, chunks of labels in `labels.py`.

The caller's thread owns the window of searches in flight (`window.py`). Dask's client has its own thread and reports
finished batches through a queue. Answers come in the order of the searches, so a book is byte for byte the one that a
single thread makes.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from desdaemon.book.growth.engine_evaluator import HASH_BITS
from desdaemon.book.growth.rounds import SearchLine, Worker
from desdaemon.book.progress import WorkCancelled
from desdaemon.protocol.errors import Unfinished

from . import tasks as remote
from .connection import SILENT_S, client_of, workers_of
from .identity import Identity, identity, of_resources
from .window import A, Costs, Disagreement, S, Search, SearchBatch, SearchWindow, WorkerAnswer

if TYPE_CHECKING:
    from distributed import Client, Future

    from desdaemon.book.book import Evaluate
    from desdaemon.book.growth.rounds import OnProgress
    from desdaemon.engine.evaluation.weights import Weights

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


T = TypeVar("T")
R = TypeVar("R")


class _Done(NamedTuple):
    """A finished batch, with the answers of its worker ("" for this process), or the error that prevented them."""

    number: int
    worker: str
    answers: list[Any]
    error: BaseException | None


class SearchKind(NamedTuple, Generic[S, A]):
    """A kind of search.

    Workers run ``task`` for a batch; ``answer`` makes an answer from the fields that a task returns for a search;
    ``named`` returns a search's name for messages to the user.
    """

    task: Callable[..., tuple[str, list[Any]]]
    answer: Callable[..., A]
    named: Callable[[S], str]


class ClusterSearches(Generic[S, A]):
    """Searches of one kind by a scheduler's workers. One thread calls `answers` or `replies`, any thread `stop`.

    After `stop`, or after an iterator was left before its end, all searches end and no more are made.
    """

    def __init__(
        self,
        client: Client,
        own: Identity,
        kind: SearchKind[S, A],
        here: Callable[[S], A | None],
        *,
        hash_bits: int,
        local: int = 0,
        figures: Callable[[int, int, float], None] = lambda workers, slots, busy: None,
        note: Callable[[str], None] = lambda line: None,
    ) -> None:
        """``own`` is the identity that workers must have. ``here`` answers a search in this process; it returns None
        after a stop. It is called on ``local`` threads, which help the workers, and on the caller's thread for searches
        that the cluster cannot do and for those to which two workers gave different answers.

        A search's table has 2 to the power ``hash_bits`` entries at most. ``note`` is called once for each thing that a
        person should know. ``figures`` is called each second with the number of workers, their slots, and the part of
        the slots' time (0 to 1) spent in searches.
        """
        self._kind = kind
        self._here = here
        self._client = client
        self._own = own
        self._hash_bits = hash_bits
        self._local = local
        self._figures = figures
        self._note = note
        self._costs = Costs()
        self._job = os.urandom(8).hex()
        self._done: queue.SimpleQueue[_Done] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._futures: dict[int, Future[Any]] = {}
        self._narrowed: dict[int, list[str]] = {}
        """Addresses of the workers that may get a batch, by batch number, if not all may."""
        self._recalled: set[int] = set()
        self._addresses: dict[str, str] = {}
        self._barred: set[str] = set()
        self._noted: set[str] = set()
        self._looked = -LOOK_S
        self._lost_since: float | None = None
        self._gone = False
        self._seen: dict[str, tuple[float, float]] = {}
        """By a worker's address: when the scheduler last heard of it, on the scheduler's clock, and when this process
        noticed that, on its own clock.
        """
        self._before = 0
        self._slots = 0
        self._busy_ms = self._slot_ms = 0.0

    def stop(self) -> None:
        """End the searches in flight; iterators of answers yield None and end."""
        self._stopped.set()

    def answers(self, searches: Iterable[S]) -> Generator[A | None, None, None]:
        """Yield the answer to each search, in order; after a stop one None. Raises `Unfinished` if the scheduler is
        gone.
        """
        waiting = iter(searches)
        return self._run(lambda window: window.offer_from(waiting), SearchWindow.answers)

    def replies(
        self, offer: Callable[[SearchWindow[S, A]], None]
    ) -> Generator[tuple[int, A | None] | None, None, None]:
        """Yield answers as they arrive, each with the number of its search; after a stop None, once.

        ``offer`` is called whenever all available answers were yielded. It must give the window more searches, say that
        none come before another answer (`SearchWindow.drain`), or close the window. Raises `Unfinished` if the
        scheduler is lost.
        """
        return self._run(offer, SearchWindow.replies)

    def _run(
        self,
        offer: Callable[[SearchWindow[S, A]], None],
        ready: Callable[[SearchWindow[S, A]], Iterator[T]],
    ) -> Generator[T | None, None, None]:
        """Keep the workers busy with the searches offered, and yield the answers that ``ready`` takes, until all are
        answered (`SearchWindow.over`). After a stop yield None and end. Raises `Unfinished` if the scheduler is lost.
        """
        # A queue for each run, because batch numbers begin again: late answers for an earlier run are lost.
        self._done = queue.SimpleQueue()
        self._narrowed.clear()
        self._recalled.clear()
        window: SearchWindow[S, A] = SearchWindow(self._costs, first=self._before)
        window.slots = self._slots
        helpers = ThreadPoolExecutor(self._local) if self._local else None
        helping: set[int] = set()
        try:
            while True:
                offer(window)
                self._look(window)
                submitted = False
                for batch in window.batches():
                    self._submit(batch)
                    submitted = True
                while helpers and len(helping) < self._local and (here := window.local()):
                    helping.add(here.number)
                    helpers.submit(self._search_here, here)
                handed_out = False
                for answer in ready(window):
                    handed_out = True
                    yield answer
                if window.over:
                    return
                if self._gone:
                    raise Unfinished(GONE)
                if self._stopped.is_set():
                    yield None
                    return
                # The answers may have led to more searches.
                self._take_all(window, helping, 0.0 if handed_out or submitted else _POLL_S)
        finally:
            self._before += window.offered
            if not window.over:
                self._end()
            if helpers:
                helpers.shutdown(wait=False, cancel_futures=True)

    # Batches

    def _submit(self, batch: SearchBatch[S]) -> None:
        kind = "long" if batch.long else "short"
        right = {address: name for address, name in self._addresses.items() if name not in self._barred}
        usable = [address for address, name in right.items() if name != batch.avoided] or list(right)
        narrowed = len(usable) < len(self._addresses)
        future = self._client.submit(
            self._kind.task,
            tuple(self._own),
            self._job,
            self._hash_bits,
            tuple(tuple(search) for search in batch.searches),
            key=f"desdaemon-{kind}-{self._job}-{self._digest(batch)}",
            resources={self._own.resource: 1},
            retries=2,
            priority=int(batch.cost_ms),
            workers=usable if narrowed else None,
        )
        self._futures[batch.number] = future
        if narrowed:
            self._narrowed[batch.number] = usable
        loop, finished = self._client.loop, self._done
        assert loop is not None
        future.add_done_callback(lambda done: loop.add_callback(self._fetch, batch.number, done, finished))

    async def _fetch(self, number: int, future: Future[Any], finished: queue.SimpleQueue[_Done]) -> None:
        """Read the outcome of the batch ``number`` from ``future`` and put it into ``finished``.

        Runs on the event loop of dask's client, which reads outcomes that arrive together in one message; a thread
        would read them one by one.
        """
        reading = asyncio.ensure_future(self._client.gather(future, asynchronous=True))
        # Reading goes on beyond the limit, because the same message may carry other outcomes.
        await asyncio.wait({reading}, timeout=_FETCH_S)
        finished.put(_came_back(number, reading))

    def _digest(self, batch: SearchBatch[S]) -> str:
        """Return a digest of a batch, dask's key for its task: dask runs tasks with equal keys only once.

        A check and a batch that is sent again have digests of their own, because the scheduler may still have the first
        batch's task.
        """
        asked = (self._own, self._hash_bits, batch.check, batch.attempt, [tuple(search) for search in batch.searches])
        return hashlib.blake2b(repr(asked).encode(), digest_size=12).hexdigest()

    def _search_here(self, batch: SearchBatch[S]) -> None:
        answers: list[A | None] = []
        try:
            for search in batch.searches:
                answers.append(None if self._stopped.is_set() else self._here(search))
        except BaseException as error:
            self._done.put(_Done(batch.number, "", [], error))
            return
        self._done.put(_Done(batch.number, "", answers, None))

    def _take_all(self, window: SearchWindow[S, A], helping: set[int], wait_s: float) -> None:
        """Enter all finished batches in the window, waiting up to ``wait_s`` seconds for the first. ``helping`` has the
        numbers of batches at work in this process; those of finished ones are removed.
        """
        with contextlib.suppress(queue.Empty):
            done = self._done.get(timeout=wait_s)
            while True:
                helping.discard(done.number)
                self._take(window, done)
                done = self._done.get_nowait()

    def _take(self, window: SearchWindow[S, A], done: _Done) -> None:
        if done.number in self._recalled:
            self._recalled.discard(done.number)
            return
        self._narrowed.pop(done.number, None)
        future = self._futures.pop(done.number, None)
        if future is not None:
            future.release()
        elif done.error is not None:
            raise done.error
        if done.error is not None:
            self._failed(window, done)
            return
        answers: list[A | None] = done.answers
        if future is not None:
            answers = [None if answer is None else self._kind.answer(*answer) for answer in done.answers]
        self._busy_ms += sum(answer.ms for answer in answers if answer is not None)
        disagreement = window.answered(done.number, done.worker, answers)
        if disagreement is not None:
            self._judge(disagreement)

    def _failed(self, window: SearchWindow[S, A], done: _Done) -> None:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        assert done.error is not None
        if isinstance(done.error, FutureCancelledError):
            # Only dask's client cancels, when it loses the scheduler.
            self._gone = True
            return
        if isinstance(done.error, remote.OtherIdentity) and done.error.args[0]:
            self._bar(done.error.args[0], f"{done.error.args[1]}: it gets no more")
            window.refused(done.number)
            return
        here = window.failed(done.number)
        if here is None:
            return
        search = here.searches[0]
        if isinstance(done.error, KilledWorker):
            what = "its workers died"
        else:
            what = f"{type(done.error).__name__}: {done.error}".partition("\n")[0]
        self._note(f"cluster: {self._kind.named(search)}: {what}: it is searched here")
        self._search_here(here)

    def _judge(self, disagreement: Disagreement[S, A]) -> None:
        """Repeat the search of a disagreement in this process, and exclude each worker whose answer differs."""
        search = disagreement.search
        right = self._here(search)
        for worker, answer in zip(disagreement.workers, disagreement.answers, strict=True):
            if right is not None and answer.compared != right.compared:
                self._bar(
                    worker,
                    f"answered {answer.compared!r} to {self._kind.named(search)}, here it is {right.compared!r}: it "
                    "gets no more searches; its earlier answers may be wrong too (in a book: book correct)",
                )

    def _bar(self, worker: str, why: str) -> None:
        """Send no more searches to a worker, and tell the user once; ``why`` follows its name in that message."""
        if worker not in self._barred:
            self._barred.add(worker)
            self._note(f"cluster: worker {worker} {why}")
            # Count the workers again at once, before more searches are sent.
            self._looked = -LOOK_S

    # The cluster

    def _look(self, window: SearchWindow[S, A]) -> None:
        """Count the workers and report figures, unless that was done less than `LOOK_S` seconds ago. Notes which
        workers have left, and sets ``_gone`` once the scheduler has been lost for more than `LOST_S` seconds.
        """
        now = time.monotonic()
        if now - self._looked < LOOK_S:
            return
        spent = min(now - self._looked, 10 * LOOK_S) if self._looked > 0 else 0.0
        self._looked = now
        self._slot_ms += spent * window.slots * 1000
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
            elif name not in self._noted:
                self._noted.add(name)
                self._note(f"cluster: worker {name} runs another version or other weights: it gets no searches")
        window.slots = self._slots = slots
        if not slots and not self._local and "nobody" not in self._noted:
            self._noted.add("nobody")
            self._note("cluster: no worker can do these searches yet: waiting for one")
        if slots:
            self._recall(window)
        busy = min(1.0, self._busy_ms / self._slot_ms) if self._slot_ms else 0.0
        self._figures(len(self._addresses), slots, busy)

    def _listen(self, address: str, name: str, last_seen: float, now: float) -> None:
        """Report a worker that has been silent for `QUIET_S` seconds, once for each silence. ``last_seen`` is when the
        scheduler last heard from it, on the scheduler's clock; ``now`` is this process's time.
        """
        seen_before, since = self._seen.get(address, (0.0, now))
        if last_seen != seen_before:
            self._seen[address] = last_seen, now
        elif now - since > QUIET_S:
            # Told again only after the worker was heard in between.
            self._seen[address] = last_seen, math.inf
            self._note(
                f"cluster: worker {name} has been silent for {QUIET_S:g} s: after {SILENT_S} to "
                f"{2 * SILENT_S} s its searches go to others"
            )

    def _recall(self, window: SearchWindow[S, A]) -> None:
        """Send a batch again if all workers that may run it have left; dask would wait for them to come back."""
        for number, usable in list(self._narrowed.items()):
            if not any(address in self._addresses for address in usable):
                del self._narrowed[number]
                # Releasing the future reports the batch as cancelled; `_take` ignores that.
                self._recalled.add(number)
                self._futures.pop(number).release()
                window.refused(number)

    def _end(self) -> None:
        """End the run: cancel its batches and stop its searches at the workers, waiting up to `_STOP_S`."""
        self._stopped.set()
        with contextlib.suppress(Exception):
            if self._client.status == "running":
                if self._futures:
                    self._client.cancel(list(self._futures.values()), asynchronous=False)
                ending = threading.Thread(target=self._stop_at_workers, daemon=True)
                ending.start()
                ending.join(_STOP_S)
        self._futures.clear()

    def _stop_at_workers(self) -> None:
        with contextlib.suppress(Exception):
            self._client.run(remote.stop_job, self._job, workers=list(self._addresses), on_error="ignore")


def _came_back(number: int, reading: asyncio.Future[Any]) -> _Done:
    """Return the outcome of a batch: its answers, or the error if they could not be read, or not in time."""
    if not reading.done():
        return _Done(number, "", [], TimeoutError(f"its outcome could not be read within {_FETCH_S:g} s"))
    try:
        worker, answers = reading.result()
    except BaseException as error:
        return _Done(number, "", [], error)
    return _Done(number, worker, answers, None)


def _named(search: Search) -> str:
    from desdaemon.protocol.othello.notation import Position, board_text

    board = board_text(Position(search.player, search.opponent, True))
    return f"{board} at level {search.level}"


POSITIONS = SearchKind[Search, WorkerAnswer](remote.search_batch, WorkerAnswer, _named)


class ClusterPool(Worker):
    """The searches of a book job by a cluster. Only the job's thread uses it."""

    def __init__(
        self,
        cluster: ClusterSearches[Search, WorkerAnswer],
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
        """Yield the result of each line of searches, in order. All lines run on the calling thread; one is begun only
        if the workers need more searches. Raises `WorkCancelled` after a stop, and once the scheduler is lost.
        """
        followed = _Lines(lines)
        try:
            with closing(self._cluster.replies(followed.offer)) as replies:
                yield from followed.results()
                for reply in replies:
                    if reply is None:
                        raise WorkCancelled
                    number, answer = reply
                    followed.take(number, self._counted(answer))
                    yield from followed.results()
                yield from followed.results()
        except Unfinished as gone:
            self._on_gone(str(gone))
            raise WorkCancelled from None

    def _counted(self, answer: WorkerAnswer | None) -> tuple[int, int] | None:
        """Return an answer's move and score, and count its nodes, which are 0 for searches in this process. Returns
        None for None.
        """
        if answer is None:
            return None
        self.nodes_elsewhere += answer.nodes
        return answer.move, answer.score


class _Asking(NamedTuple, Generic[R]):
    """A search and the line of searches that waits for its answer; ``place`` is the number of the line."""

    search: Search
    place: int
    line: SearchLine[R]


class _Lines(Generic[R]):
    """Lines of searches, each search depending on the answers before it, that share a window. For one thread."""

    def __init__(self, lines: Iterable[SearchLine[R]]) -> None:
        self._waiting = enumerate(lines)
        self._open: dict[int, _Asking[R]] = {}
        self._asking: deque[_Asking[R]] = deque()
        self._results: dict[int, R] = {}
        self._given = 0

    def offer(self, window: SearchWindow[Search, WorkerAnswer]) -> None:
        """Offer the next searches of begun lines while the window wants any; if there are none, begin another line. If
        no line is left to begin, drain the window while a line waits for an answer, else close it.
        """
        while window.wants():
            if self._asking:
                asking = self._asking.popleft()
                self._open[window.offered] = asking
                window.offer(asking.search)
                continue
            begun = next(self._waiting, None)
            if begun is not None:
                self._advance(*begun, None)
            elif self._open:
                window.drain()
                return
            else:
                window.close()

    def take(self, number: int, answer: tuple[int, int] | None) -> None:
        """Go on with the line that waits for the search ``number``; ``answer`` is move and score, None after a stop."""
        asked = self._open.pop(number)
        self._advance(asked.place, asked.line, answer)

    def results(self) -> Iterator[R]:
        """Yield the results that are available, in the order of the lines."""
        while self._given in self._results:
            self._given += 1
            yield self._results.pop(self._given - 1)

    def _advance(self, index: int, line: SearchLine[R], answer: tuple[int, int] | None) -> None:
        try:
            # The first value sent into a generator must be None.
            question = line.send(answer)
        except StopIteration as end:
            self._results[index] = end.value
        else:
            self._asking.append(_Asking(Search(*question), index, line))


def cluster_pool(
    place: tuple[str, str],
    weights: Weights,
    evaluate: Evaluate,
    threads: int,
    *,
    local: int,
    on_progress: OnProgress,
    on_figures: Callable[[int, int, float], None],
    on_gone: Callable[[str], None],
    note: Callable[[str], None],
) -> ClusterPool:
    """Return a pool for a book job's searches, by the cluster at ``place`` (address, folder of keys or "") and
    ``local`` threads.

    The other arguments go to `ClusterSearches` and `ClusterPool`. Raises `BadInput` if there is no scheduler.
    """

    def here(search: Search) -> WorkerAnswer | None:
        begun = time.perf_counter()
        scored = evaluate(search.player, search.opponent, search.level, search.excluded)
        return None if scored is None else WorkerAnswer(*scored, 0, (time.perf_counter() - begun) * 1000)

    cluster = ClusterSearches(
        client_of(*place), identity(weights), POSITIONS, here,
        hash_bits=HASH_BITS, local=local, figures=on_figures, note=note,
    )  # fmt: skip
    return ClusterPool(cluster, evaluate, threads, on_progress, on_gone)
