"""A book on the disk: its file, the journal of changes since, the lock, and what happens after a crash.

``NAME`` is the file, ``NAME.journal`` the changes since it was written, ``NAME.lock`` says who may write, ``NAME.1`` to
``NAME.3`` are earlier files. Each change is in the journal within `GROUP_SECONDS`; opening replays it. Nothing else
is ever written: closing does not save, and a file that cannot be read is left alone.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from . import journal, snapshot
from .book import Book, Question
from .errors import BookError, Locked, ReadOnly, Unreadable, WriteFailed
from .files import BACKUPS
from .journal import Kind
from .links import Progress
from .lock import Lock
from .options import Options, Rule
from .record import STATE, Entry
from .table import Words

_log = logging.getLogger(__name__)

GROUP_SECONDS = 0.2
"""Changes are synced to the disk together, this often."""

CHECKED_AT_OPEN = 1 << 30
"""Up to this size a file's checksums are all compared when it is opened; a larger one's by `Store.check`."""

BLOATED = 1 << 26
"""No journal is called bloated up to this size."""

_OPTIONS = struct.Struct("<6i")
_SEARCHED = struct.Struct("<QQQbbb5x")


def journal_path(path: Path) -> Path:
    """Where the journal of the book at ``path`` lies."""
    return path.with_name(path.name + ".journal")


def lock_path(path: Path) -> Path:
    """Where the lock of the book at ``path`` lies."""
    return path.with_name(path.name + ".lock")


class _Recorder:
    """Turns a book's changes into journal entries; rows are read only when the group is written."""

    def __init__(self, book: Book, writer: journal.Writer) -> None:
        self._book = book
        self._writer = writer
        self._lock = threading.RLock()
        self._holder = 0
        self._rows: dict[int, None] = {}
        self.waiting = threading.Event()
        self.refuse: BaseException | None = None

    def _flush(self) -> None:
        if self._rows:
            rows = np.fromiter(self._rows, np.int64, len(self._rows))
            self._rows.clear()
            self._writer.append(Kind.STATES, self._book.table.states(rows).tobytes())

    def allow(self) -> None:
        if self.refuse is not None:
            raise ReadOnly(f"{self._writer.path}: read-only since a write failed: {self.refuse}")

    def changed(self, row: int) -> None:
        with self._lock:
            self._rows[row] = None
        self.waiting.set()

    def removed(self, keys: Words) -> None:
        with self._lock:
            self._flush()
            self._writer.append(Kind.REMOVED, np.ascontiguousarray(keys, "<u8").tobytes())
        self.waiting.set()

    def fixed(self) -> None:
        with self._lock:
            self._flush()
            self._writer.append(Kind.FIXED, b"")
        self.waiting.set()

    def options_changed(self, options: Options) -> None:
        with self._lock:
            self._flush()
            self._writer.append(Kind.OPTIONS, _OPTIONS.pack(*options))
        self.waiting.set()

    def remembered(self, question: Question, answer: tuple[int, int]) -> None:
        with self._lock:
            player, opponent, level, excluded = question
            self._writer.append(Kind.SEARCHED, _SEARCHED.pack(player, opponent, excluded, level, *answer))
        self.waiting.set()

    def forgotten(self) -> None:
        with self._lock:
            self._flush()
            self._writer.append(Kind.FORGOTTEN, b"")
        self.waiting.set()

    def hold(self) -> contextlib.AbstractContextManager[None]:
        return self._held()

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        with self._lock:
            before, self._holder = self._holder, threading.get_ident()
            try:
                yield
            finally:
                self._holder = before

    @property
    def held_here(self) -> bool:
        """Whether this thread is inside `hold`."""
        return self._holder == threading.get_ident()

    def take(self) -> bytes:
        """Everything not yet written, as journal bytes."""
        with self._lock:
            self._flush()
            return self._writer.take()


class _Refuser:
    """Stands where the recorder of a book opened for reading would be: nothing may change, so nothing is told."""

    def __init__(self, path: Path, holder: int) -> None:
        self._path = path
        self._holder = holder

    def allow(self) -> None:
        why = f": process {self._holder} writes it" if self._holder else ""
        raise ReadOnly(f"{self._path}: opened for reading only{why}")

    def changed(self, row: int) -> None:
        self.allow()

    def removed(self, keys: Words) -> None:
        self.allow()

    def remembered(self, question: Question, answer: tuple[int, int]) -> None:
        self.allow()

    def forgotten(self) -> None:
        self.allow()

    def hold(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def fixed(self) -> None:
        self.allow()

    def options_changed(self, options: Options) -> None:
        self.allow()


def replay(book: Book, frames: list[journal.Frame], path: Path) -> None:
    """Apply journal entries to a book as it was when its file was written. Raises Unreadable."""
    table = book.table
    if not frames:
        return
    for frame in frames:
        if frame.kind == Kind.STATES:
            for values in np.frombuffer(frame.payload, STATE).tolist():
                entry, results = Entry(*values[:14]), values[14:]
                row, _ = table.insert(entry.player, entry.opponent)
                table.write(row, entry)
                if any(results) or table.keeps_results:
                    table.set_results(row, results)
        elif frame.kind == Kind.REMOVED:
            marked = np.zeros(len(table), np.uint8)
            rows = table.find_many(np.frombuffer(frame.payload, "<u8").reshape(-1, 2))
            marked[rows[rows >= 0]] = 1
            table.remove(marked)
        elif frame.kind == Kind.OPTIONS:
            values = _OPTIONS.unpack(frame.payload)
            try:
                book.options = Options._make((*values[:5], Rule(values[5])))
            except ValueError:
                raise Unreadable(path, None, f"entry {frame.sequence}: the rule {values[5]} is not known") from None
        elif frame.kind == Kind.SEARCHED:
            for player, opponent, excluded, level, move, score in _SEARCHED.iter_unpack(frame.payload):
                book.memo[player, opponent, level, excluded] = move, score
        elif frame.kind == Kind.FORGOTTEN:
            book.memo.clear()
        elif book.options.rule is Rule.EGAROUCID:
            # Here a position that lost its links keeps the score it had from them.
            book.negamax()
    # With Edax's rule scores follow from the leaves: once at the end is as good as at every FIXED.
    book.negamax()


class Store:
    """An open book file. Use `open_store` or `create_store`."""

    def __init__(self, path: Path, book: Book, mapped: snapshot.Mapped, lock: Lock | None) -> None:
        self.path = path
        self.book = book
        self.notes: list[str] = []
        self.holder = 0
        self._mapped = mapped
        self._book_id = mapped.header.book
        self._lock = lock
        self._io = threading.RLock()
        self._closing = threading.Event()
        self._writer: journal.Writer | None = None
        self._recorder: _Recorder | None = None
        self._thread: threading.Thread | None = None

    @property
    def read_only(self) -> bool:
        """Whether changes are refused."""
        return self._recorder is None or self._recorder.refuse is not None

    @property
    def journal_bytes(self) -> int:
        """The size of the journal on the disk; 0 for a book opened for reading."""
        return self._writer.size if self._writer is not None else 0

    @property
    def bloated(self) -> bool:
        """Whether the journal has grown so long (over 64 MiB, and over the file) that saving would be sensible."""
        return self.journal_bytes > max(BLOATED, self._mapped.header.size)

    def _start(self, found: journal.Scan) -> None:
        self._writer = journal.Writer(journal_path(self.path), found)
        self._recorder = self.book.recorder = _Recorder(self.book, self._writer)
        if self._thread is None:
            self._thread = threading.Thread(target=self._commit_groups, name="book-journal", daemon=True)
            self._thread.start()

    def _commit_groups(self) -> None:
        while not self._closing.wait(GROUP_SECONDS):
            recorder = self._recorder
            if recorder is None or recorder.refuse is not None or not recorder.waiting.is_set():
                continue
            try:
                self.commit()
            except BookError as error:
                _log.error("%s", error)

    def commit(self) -> None:
        """Return when everything done so far is on the disk. Raises WriteFailed, after which the book is read-only.

        Inside `Book.together` it does nothing: those changes are written afterwards, all or none.
        """
        recorder, writer = self._recorder, self._writer
        if recorder is None or writer is None or recorder.held_here:
            return
        with self._io:
            if recorder.refuse is not None:
                raise WriteFailed(f"{self.path}: an earlier write failed: {recorder.refuse}")
            recorder.waiting.clear()
            content = recorder.take()
            if not content:
                return
            try:
                writer.write(content)
            except WriteFailed as error:
                recorder.refuse = error
                raise

    def save(self, *, backups: int = BACKUPS, progress: Progress | None = None) -> None:
        """Write the whole book to its file, keeping the previous one as ``NAME.1``, and begin a new journal.

        The caller sees to it that nothing changes meanwhile. Raises ReadOnly and WriteFailed; the old file and the
        journal are then still there.
        """
        if self._writer is None or self._recorder is None:
            raise ReadOnly(f"{self.path}: opened for reading only")
        self.commit()
        with self._io:
            sequence = self._writer.sequence
            snapshot.write(
                self.path,
                self.book.table,
                self.book.options,
                self._book_id,
                sequence,
                backups=backups,
                progress=progress,
            )
            journal.create(journal_path(self.path), self._book_id, sequence)
            self._writer.close()
            self._start(journal.read(journal_path(self.path)))
        for question, answer in self.book.memo.items():
            self._recorder.remembered(question, answer)
        self.commit()

    def check(self) -> None:
        """Compare every block of the file, as it was when opened, with its checksum. Raises Unreadable."""
        self._mapped.check()

    def close(self) -> None:
        """Commit and let go of the files. Nothing is saved: the journal holds what the file does not."""
        try:
            if not self.read_only:
                self.commit()
        finally:
            self._closing.set()
            if self._thread is not None:
                self._thread.join()
            self.book.recorder = None
            if self._writer is not None:
                self._writer.close()
                self._writer = self._recorder = None
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def create_store(path: Path, book: Book) -> Store:
    """Give a book without a file one. Raises WriteFailed when ``path`` exists, and Locked."""
    path = path.resolve()
    if path.exists() or journal_path(path).exists():
        raise WriteFailed(f"{path}: already exists; choose another name or move it away")
    lock = Lock(lock_path(path))
    try:
        identity = secrets.randbits(64)
        snapshot.write(path, book.table, book.options, identity, 0, backups=0)
        journal.create(journal_path(path), identity, 0)
        store = Store(path, book, snapshot.read(path, check=False), lock)
        store._start(journal.read(journal_path(path)))
    except BaseException:
        lock.release()
        raise
    return store


def _load(path: Path) -> tuple[snapshot.Mapped, journal.Scan | None]:
    """The file and the journal that belongs to it."""
    for _ in range(100):
        mapped = snapshot.read(path, check=path.stat().st_size <= CHECKED_AT_OPEN)
        if not journal_path(path).exists():
            return mapped, None
        found = journal.read(journal_path(path))
        if found.book != mapped.header.book:
            raise Unreadable(
                journal_path(path), 16, f"this journal belongs to another book than {path.name}; move it away"
            )
        # A writer may have saved between the two reads.
        if found.base <= mapped.header.sequence:
            return mapped, found
    raise Unreadable(journal_path(path), 24, "begins after changes that the book's file does not have")


def open_store(path: Path, *, read_only: bool | None = False) -> Store:
    """Open a book's file and bring it up to date from its journal.

    ``read_only`` None opens for writing, or for reading when somebody else writes (`Store.holder` is then that
    process). A torn end of the journal is kept beside it and cut; `Store.notes` says so. Raises Locked, Unreadable
    and WriteFailed.
    """
    path = path.resolve()
    if not path.exists():
        raise Unreadable(path, None, "no such file")
    lock: Lock | None = None
    holder = 0
    if read_only is not True:
        try:
            lock = Lock(lock_path(path))
        except Locked as error:
            if read_only is False:
                raise
            holder = error.pid
    try:
        mapped, found = _load(path)
        book = Book(mapped.header.options, mapped.table)
        store = Store(path, book, mapped, lock)
        store.holder = holder
        log = journal_path(path)
        if found is not None:
            replay(book, list(journal.replayed(found.frames, mapped.header.sequence)), log)
        if lock is not None:
            if found is None:
                journal.create(log, mapped.header.book, mapped.header.sequence)
                found = journal.read(log)
            elif found.torn:
                aside = journal.set_aside(log, found)
                store.notes.append(
                    f"{log}: {found.torn} bytes after byte {found.end} were cut short by a crash; kept as {aside.name}"
                )
            store._start(found)
        else:
            book.recorder = _Refuser(path, holder)
    except BaseException:
        if lock is not None:
            lock.release()
        raise
    return store
