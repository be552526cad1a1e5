"""A book on the disk: its file, the journal of changes since, the lock, and what happens after a crash.

``NAME`` is the file, ``NAME.journal`` the changes since it was written, ``NAME.lock`` says who may write, ``NAME.1`` to
``NAME.3`` are earlier files. Each change is in the journal within `GROUP_SECONDS`; opening replays it. Nothing else
is ever written: closing does not save, and a file that cannot be read is left alone.
"""

from __future__ import annotations

import logging
import secrets
import threading
from pathlib import Path

from desdaemon.book.book import Book
from desdaemon.book.errors import BookError, Locked, ReadOnly, Unreadable, WriteFailed
from desdaemon.book.progress import Going, silent

from . import journal, snapshot
from .files import BACKUPS
from .lock import Lock
from .observers import Journalist, Recorder, Refuser
from .replay import replay

_log = logging.getLogger(__name__)

GROUP_SECONDS = 0.2
"""Changes are synced to the disk together, this often."""

CHECKED_AT_OPEN = 1 << 30
"""Up to this size a file's checksums are all compared when it is opened; a larger one's by `Store.check`."""

BLOATED = 1 << 26
"""No journal is called bloated up to this size."""


def journal_path(path: Path) -> Path:
    """Where the journal of the book at ``path`` lies."""
    return path.with_name(path.name + ".journal")


def lock_path(path: Path) -> Path:
    """Where the lock of the book at ``path`` lies."""
    return path.with_name(path.name + ".lock")


class Store:
    """An open book file. Use `open_store` or `create_store`."""

    def __init__(self, path: Path, book: Book, mapped: snapshot.Mapped, lock: Lock | None) -> None:
        self.path = path
        self.book = book
        self.notes: list[str] = []
        self.holder = 0
        self._size = mapped.header.size
        self._identity = mapped.header.book
        self._lock = lock
        self._io = threading.RLock()
        self._closing = threading.Event()
        self._writer: journal.Writer | None = None
        self._recorder: Journalist | None = None
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
        return self.journal_bytes > max(BLOATED, self._size)

    def _start(self, found: journal.Scan) -> None:
        self._writer = journal.Writer(journal_path(self.path), found)
        self._recorder = self.book.recorder = Journalist(self.book, self._writer)
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
                raise WriteFailed(f"{self.path}: an earlier write failed: {recorder.refuse}") from recorder.refuse
            recorder.waiting.clear()
            content = recorder.take()
            if not content:
                return
            try:
                writer.write(content)
            except WriteFailed as error:
                recorder.refuse = error
                raise

    def save(self, *, backups: int = BACKUPS, going: Going = silent) -> None:
        """Write the whole book to its file, keeping the previous one as ``NAME.1``, and begin a new journal.

        The caller sees to it that nothing changes meanwhile. Raises ReadOnly and WriteFailed; the old file and the
        journal are then still there, as after a stop.
        """
        if self._writer is None or self._recorder is None:
            self.book.recorder.allow()
            raise ReadOnly(f"{self.path}: closed")
        self.commit()
        with self._io:
            sequence = self._writer.sequence
            written = snapshot.write(self.path, self.book, self._identity, sequence, backups=backups, going=going)
            self._size = written.size
            journal.create(journal_path(self.path), self._identity, sequence)
            self._writer.close()
            self._start(journal.read(journal_path(self.path)))
        self.keep(self.book)
        self.commit()

    def keep(self, book: Book) -> None:
        """Take over what ``book`` remembers beside its positions."""
        for question, answer in book.memo.items():
            self.book.remember(question, answer)
        for schedule, done in book.steps.items():
            self.book.step(schedule, done)

    def check(self, going: Going = silent) -> None:
        """Compare every block of the file with its checksum. Raises Unreadable."""
        snapshot.check(self.path, going)

    def close(self) -> None:
        """Commit and let go of the files. Nothing is saved: the journal holds what the file does not."""
        try:
            if not self.read_only:
                self.commit()
        finally:
            self._closing.set()
            if self._thread is not None:
                self._thread.join()
            self.book.recorder = Recorder()
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
        snapshot.write(path, book, identity, 0, backups=0)
        journal.create(journal_path(path), identity, 0)
        store = Store(path, book, snapshot.read(path, check=False), lock)
        store._start(journal.read(journal_path(path)))
    except BaseException:
        lock.release()
        raise
    return store


def _load(path: Path, going: Going) -> tuple[snapshot.Mapped, journal.Scan | None]:
    """The file and the journal that belongs to it."""
    for _ in range(100):
        mapped = snapshot.read(path, check=path.stat().st_size <= CHECKED_AT_OPEN, going=going)
        if not journal_path(path).exists():
            return mapped, None
        found = journal.read(journal_path(path), going)
        if found.book != mapped.header.book:
            raise Unreadable(
                journal_path(path), 16, f"this journal belongs to another book than {path.name}; move it away"
            )
        # A writer may have saved between the two reads.
        if found.base <= mapped.header.sequence:
            return mapped, found
    raise Unreadable(journal_path(path), 24, "begins after changes that the book's file does not have")


def open_store(path: Path, *, read_only: bool | None = False, going: Going = silent) -> Store:
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
        mapped, found = _load(path, going)
        book = snapshot.book_of(mapped)
        store = Store(path, book, mapped, lock)
        store.holder = holder
        log = journal_path(path)
        if found is not None:
            replay(book, list(journal.replayed(found.frames, mapped.header.sequence)), log, going)
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
            book.recorder = Refuser(path, holder)
    except BaseException:
        if lock is not None:
            lock.release()
        raise
    return store
