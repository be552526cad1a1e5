"""`analyze.batch`: many positions as a job of the lowest priority that survives a restart.

One thread owns all batches: other threads queue calls for it, and only it reads and writes files and JSON. A result can
be fetched once it is on the disk, until the batch is removed.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from desdaemon.core.books.jobs import CANCELLED, DONE, RUNNING, BookJob
from desdaemon.core.requests.analysis import PendingAnalysis
from desdaemon.core.requests.questions import Terms, read_questions
from desdaemon.core.search.scheduler import Purpose
from desdaemon.core.search.workers import Owner
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.rows import ADMIN, EDITOR
from desdaemon.protocol.system import files
from desdaemon.protocol.system.locks import FileLock, Held
from desdaemon.protocol.system.threads import begin
from desdaemon.protocol.wire import messages
from desdaemon.protocol.wire.constants import MOST_RESULTS
from desdaemon.protocol.wire.messages import RequestError

from .files import SUFFIX, BatchFile
from .items import check_arguments, file_items, item_data

if TYPE_CHECKING:
    from desdaemon.core.requests.parts import PartContext
    from desdaemon.core.requests.request import ClientRecord, Data, PendingRequest

SYNC_S = 0.3
"""Seconds between two writes of collected results."""

RETRY_S = 2.0
"""Seconds until a failed write is tried again."""

LARGEST_REPLY = 512 << 10
"""Approximate bytes of results in one reply, at most."""

_MOST_UNSYNCED = 1000
_RESULT_BYTES = 300
_LINE_BYTES = 250
"""Estimated bytes of a result in the file, and of each line of moves in it, for the limit on a client's batches."""

_MOST_SUBMITTED = 4
"""Most new batches that wait to be written; each may hold tens of megabytes until then."""

_HELD = "another daemon keeps the batches of this data folder"


class _Batch:
    """A batch that runs or has ended: its file, its job, and its searches in flight."""

    def __init__(self, file: BatchFile, job: BookJob) -> None:
        self.file = file
        self.job = job
        self.next = 0
        """No item before this one needs a search to be started."""
        self.in_flight: dict[int, PendingAnalysis] = {}
        self.unwritten: list[Data] = []
        """Results that are not on the disk yet."""
        self.ending = ""
        """The final state, while it is still to be written; "" before the end."""
        self.retry = 0.0
        """`time.monotonic` before which nothing is written."""
        self.unread = 0.0
        """After a failed read of an item: `time.monotonic` before which none is read; 0 once that has worked."""

    @property
    def over(self) -> bool:
        return bool(self.file.state)

    @property
    def weight(self) -> int:
        """The bytes that the batch takes, or will probably take, on the disk."""
        return self.file.size + _result_bytes(self.file.args) * (self.file.items - self.file.results)


class _BatchItem:
    """Receives the replies to one item of a batch, as a client's request would. It passes the final or the error to
    ``on_answer`` and ignores partials.
    """

    def __init__(self, on_answer: Callable[[Data], None]) -> None:
        self._on_answer = on_answer

    def partial(self, data: Data) -> bool:
        return True

    def final(self, data: Data) -> bool:
        self._on_answer({"data": data})
        return True

    def fail(self, error: RequestError) -> bool:
        self._on_answer({"error": error.data()})
        return True


class Batches:
    """Accepts, runs and stores batches. Any thread may call the methods; all but `close` return at once."""

    def __init__(self, context: PartContext) -> None:
        self._unfinished = 0
        self._folder = Path(context.folder) if context.folder else None
        self._jobs = context.jobs
        self._analyses = context.analyses
        self._health = context.health
        self._limits = context.limits
        self._confine = context.confine
        self._batches: dict[int, _Batch] = {}
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock: FileLock | None = None
        self._last = 0
        self._closing = False
        self._submitted = 0
        self._starting = threading.Lock()
        self._begun = False
        self._ended = threading.Event()
        """Set unless the thread of batches runs: then everything is written and the folder released."""
        self._ended.set()

    @property
    def available(self) -> bool:
        """Whether there is a folder, so that batches are accepted."""
        return self._folder is not None

    def status(self) -> Data:
        """Return the number of stored batches, unfinished ones included, and of unfinished ones."""
        return {"kept": len(self._batches), "unfinished": self._unfinished}

    def start(self) -> None:
        """Resume the unfinished batches of an earlier process, on the thread of batches. Does nothing if there is no
        folder yet; if it cannot be had, the metrics show that as a problem.
        """
        if self._folder is not None and self._folder.is_dir():
            self._put(self._hold)

    def ask(self, request: PendingRequest) -> None:
        """Carry out `analyze.batch`, `batch.results` or `batch.forget` on the thread of batches, and reply. Raises
        `RequestError` if too many batches wait to be written; other errors become the reply.
        """
        submits = request.operation == "analyze.batch"
        with self._starting:
            if submits and self._submitted >= _MOST_SUBMITTED:
                raise RequestError("busy", f"{_MOST_SUBMITTED} batches wait to be written: try later")
            self._submitted += submits
        work = {"analyze.batch": self._create, "batch.results": self._results, "batch.forget": self._forget}

        def carry_out() -> Data:
            try:
                self._hold()
                return work[request.operation](request)
            except OSError as error:
                raise RequestError("internal", f"batches: {error.strerror}") from None

        def answer() -> None:
            request.answer(carry_out)
            with self._starting:
                self._submitted -= submits

        self._put(answer)

    def close(self, timeout_s: float = 1.0) -> None:
        """Write the results so far and release the folder, waiting up to ``timeout_s``; the next process resumes
        unfinished batches.
        """
        self._closing = True
        if self._begun:
            self._put(lambda: None)
        self._ended.wait(timeout_s)

    # The thread

    def _put(self, call: Callable[[], None]) -> None:
        with self._starting:
            if not self._begun:
                self._ended.clear()
                begin(self._run, "batches")
                self._begun = True
        self._calls.put(call)

    def _run(self) -> None:
        while not self._closing:
            waiting = any(batch.unwritten or batch.ending or batch.unread for batch in self._batches.values())
            with contextlib.suppress(queue.Empty):
                self._guarded(self._calls.get(timeout=SYNC_S if waiting else None))
                while not self._closing:
                    self._guarded(self._calls.get_nowait())
            for batch in list(self._batches.values()):
                self._guarded(partial(self._sync, batch))
            for batch in self._first_of_each():
                self._guarded(partial(self._search, batch))
            self._unfinished = sum(not batch.over for batch in self._batches.values())
        for batch in self._batches.values():
            for analysis in batch.in_flight.values():
                analysis.cancel()
            batch.retry = 0.0
            self._guarded(partial(self._sync, batch))
            batch.file.close()
        if self._lock is not None:
            self._lock.release()
        self._ended.set()

    def _guarded(self, call: Callable[[], None]) -> None:
        try:
            call()
        except RequestError:
            # The folder is another process's or cannot be used; whoever asks gets an error that says so.
            return
        except Exception:
            self._health.mistake("batches")

    def _hold(self) -> None:
        """Lock the folder and read its batches; does nothing if that is done. A file that cannot be read is left out,
        with a warning in the log. Raises `RequestError` if there is no folder, if another process holds it, or if it
        cannot be created or locked.
        """
        if self._folder is None:
            raise RequestError("not_found", "batches need a server with a data folder")
        if self._lock is not None:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = FileLock(self._folder / "lock", or_read=True)
        except Held:
            self._health.problem("batches", _HELD)
            raise RequestError("busy", _HELD) from None
        except OSError as error:
            problem = f"batches cannot be kept: {error.strerror}"
            self._health.problem("batches", problem)
            raise RequestError("internal", problem) from None
        self._health.problem("batches")
        files.tidy(self._folder)
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            file = BatchFile(path)
            try:
                file.open()
            except (OSError, ValueError, LookupError, TypeError, OverflowError) as error:
                self._health.log.warning("batch not taken over", file=path.name, reason=str(error))
                continue
            self._add(file)

    def _add(self, file: BatchFile) -> _Batch:
        job = self._jobs.register(file.job, "analyze.batch", file.owner)
        job.started = file.created
        batch = _Batch(file, job)
        self._batches[file.job] = batch
        self._last = max(self._last, file.job)
        job.report("analyze", file.results, file.items, 0)
        if file.state:
            job.end(file.state)
        else:
            job.on_cancel(lambda: self._put(lambda: self._cancel(batch)))
        return batch

    # The operations

    def _create(self, request: PendingRequest) -> Data:
        """Write the batch, and let its searches begin."""
        client, values = request.client, dict(request.values)
        items, name = values.pop("items", None), values.pop("file", None)
        if (items is None) == (name is None):
            raise RequestError("bad_request", "expected either items or file", "items")
        fields = [item_data(item) for item in items] if items is not None else self._of_file(client, str(name))
        if not fields:
            raise RequestError("bad_request", "nothing to analyse: expected at least one item", "items")
        check_arguments(values, self._analyses.level)
        self._check_limits(client, fields, values)
        assert self._folder is not None
        created = time.time()
        number = max(self._last + 1, int(created))
        batch = self._add(BatchFile.create(self._folder, number, client.account, created, values, fields))
        return {"job": batch.job.id, "items": batch.file.items}

    def _of_file(self, client: ClientRecord, name: str) -> list[Data]:
        if client.remote and not messages.allows(client.role, ADMIN):
            raise RequestError("forbidden", f"naming a file needs the role admin; yours is {client.role}", "file")
        try:
            return file_items(self._confine(name), name)
        except BadInput as error:
            raise RequestError("forbidden", str(error), "file") from None

    def _check_limits(self, client: ClientRecord, items: list[Data], values: Data) -> None:
        mine = [batch for batch in self._batches.values() if batch.file.owner == client.account]
        if len(mine) >= self._limits.batches:
            raise RequestError("busy", f"{len(mine)} batches of {client.account} are kept: forget one of them")
        size = sum(len(str(item)) for item in items) + _result_bytes(values) * len(items)
        taken = sum(batch.weight for batch in mine)
        if taken + size > self._limits.batch_bytes:
            raise RequestError(
                "busy",
                f"batches of {client.account} take {taken} bytes, this one about {size}: "
                f"expected at most {self._limits.batch_bytes} in all; forget one of them, or ask for less",
            )

    def _batch_of(self, request: PendingRequest) -> _Batch:
        number, client = request.values["job"], request.client
        batch = self._batches.get(number)
        if batch is None:
            raise RequestError("not_found", f"there is no batch {number}", "job")
        if batch.file.owner != client.account and not messages.allows(client.role, EDITOR):
            raise RequestError(
                "forbidden", f"batch {number} belongs to another client: that takes the role editor", "job"
            )
        return batch

    def _results(self, request: PendingRequest) -> Data:
        """Return results that are on the disk."""
        batch = self._batch_of(request)
        file = batch.file
        first = min(request.values.get("after", 0), file.results)
        most = request.values.get("limit", MOST_RESULTS)
        results: list[Data] = []
        size = 0
        while len(results) < most and first + len(results) < file.results and size < LARGEST_REPLY:
            place = first + len(results)
            results.append(file.result(place))
            size += file.length(place)
        cursor = first + len(results)
        return {
            "results": results,
            "cursor": cursor,
            "done": bool(file.state) and cursor == file.results,
            "state": batch.job.state,
            "items": file.items,
            "answered": file.results,
        }

    def _forget(self, request: PendingRequest) -> Data:
        """Remove a batch's file and cancel its searches."""
        batch = self._batch_of(request)
        # First the file: if it cannot be removed, the batch goes on.
        batch.file.remove()
        for analysis in batch.in_flight.values():
            analysis.cancel()
        del self._batches[batch.job.id]
        if not batch.job.over:
            batch.job.end(CANCELLED)
        self._jobs.remove(batch.job)
        return {"forgotten": True}

    def _cancel(self, batch: _Batch) -> None:
        if batch.over or batch.ending:
            return
        for analysis in batch.in_flight.values():
            analysis.cancel()
        batch.in_flight.clear()
        batch.ending = CANCELLED

    # Searching

    def _first_of_each(self) -> list[_Batch]:
        """Return the oldest unfinished batch of each owner."""
        oldest: dict[str, _Batch] = {}
        for batch in sorted(self._batches.values(), key=lambda batch: batch.job.id):
            if not batch.over and not batch.ending:
                oldest.setdefault(batch.file.owner, batch)
        return list(oldest.values())

    def _search(self, batch: _Batch) -> None:
        """Start searches of a batch's items, until twice as many are in flight as there are search threads, or
        `_MOST_UNSYNCED` results wait to be written. A batch with all items answered is marked to end as `DONE`. A
        failed read of an item becomes a problem in the metrics, and is tried again after `RETRY_S`.
        """
        file = batch.file
        if time.monotonic() < batch.unread:
            return
        while len(batch.in_flight) < 2 * self._analyses.scheduler.slots and len(batch.unwritten) < _MOST_UNSYNCED:
            while batch.next < file.items and file.answered[batch.next]:
                batch.next += 1
            if batch.next >= file.items:
                break
            try:
                self._begin(batch, batch.next)
            except OSError as error:
                # The item is asked again: what was not searched is not done.
                batch.unread = time.monotonic() + RETRY_S
                self._health.problem("items of batches", f"batches cannot be read: {error.strerror}")
                break
            batch.next += 1
            if batch.unread:
                batch.unread = 0.0
                self._health.problem("items of batches")
        batch.job.state = RUNNING if batch.in_flight else batch.job.state
        if batch.next >= file.items and not batch.in_flight:
            batch.ending = DONE

    def _begin(self, batch: _Batch, number: int) -> None:
        item: Data = {}

        def on_answer(answer: Data) -> None:
            self._put(lambda: self._found(batch, number, {"item": number, "id": item.get("id", number), **answer}))

        receiver = _BatchItem(on_answer)
        analyses = self._analyses
        self._health.give_way()
        terms = Terms(batch.file.args, analyses.level, deterministic=analyses.deterministic)
        try:
            item = batch.file.item(number)
            values = dict(batch.file.args)
            values.update((name, item[name]) for name in ("board", "moves") if name in item)
            questions = read_questions(terms, values)
        except RequestError as error:
            receiver.fail(error)
            questions = []
        except ValueError as error:
            receiver.fail(RequestError("internal", str(error)))
            questions = []
        analysis = PendingAnalysis(analyses, receiver, terms, questions, Owner(Purpose.BATCH, batch.file.owner, 0))
        batch.in_flight[number] = analysis
        if questions:
            analysis.begin()

    def _found(self, batch: _Batch, number: int, result: Data) -> None:
        if batch.in_flight.pop(number, None) is not None and not batch.over:
            batch.unwritten.append(result)

    def _sync(self, batch: _Batch) -> None:
        """Write new results, and the final state of a batch that has ended, to the batch's file, but at most once in
        `SYNC_S`. A failure becomes a problem in the metrics; the write is tried again after `RETRY_S`.
        """
        now = time.monotonic()
        if now < batch.retry or not (batch.unwritten or batch.ending):
            return
        try:
            batch.file.append(batch.unwritten, batch.ending)
        except OSError as error:
            batch.retry = now + RETRY_S
            self._health.problem("batches", f"batches cannot be written: {error.strerror}")
            return
        self._health.problem("batches")
        batch.unwritten = []
        batch.retry = now + SYNC_S
        batch.job.report("analyze", batch.file.results, batch.file.items, 0)
        if batch.ending:
            batch.job.end(batch.ending)
            batch.ending = ""


def _result_bytes(args: Data) -> int:
    """Return about how many bytes an item's result takes on the disk, with these arguments of `analyze`."""
    lines, plies = int(args.get("multipv", 1)), max(1, len(args.get("plies") or ()))
    return (_RESULT_BYTES + _LINE_BYTES * lines) * plies
