"""A book on the disk: its file, the journal of later changes, the lock, and recovery after a crash.

``NAME`` is the file, ``NAME.journal`` the changes since it was written, ``NAME.lock`` the writer's lock. ``NAME.1`` to
``NAME.3`` are earlier files, ``NAME.journal.torn-1`` ... the ends of journals that crashes cut short. A change is in
the journal within `GROUP_SECONDS`; opening replays it. Nothing else is ever written: closing does not save
(`Store.fold` does), and a file that cannot be read is left alone.
"""

from __future__ import annotations

import contextlib
import functools
import os
import struct
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from desdaemon.book.book import Book
from desdaemon.book.changes import GivenCommand
from desdaemon.book.errors import BookError, Locked, ReadOnly, Unreadable, WriteFailed
from desdaemon.book.memory.blocks import Blocks
from desdaemon.book.memory.files import BACKUPS, tidy
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.protocol.system import platform
from desdaemon.protocol.system.locks import FileLock, Held
from desdaemon.protocol.system.logs import message
from desdaemon.protocol.system.threads import begun

from . import journal, snapshot
from .observers import ENDED, JournalObserver, ReadOnlyObserver, unfinished, unpacked_command
from .replay import replay

GROUP_SECONDS = 0.2
"""Seconds between syncs of collected changes."""

RETRY_SECONDS = 5.0
"""Seconds between attempts to repeat a failed write; a new change repeats it at once."""

CHECKED_AT_OPEN = 1 << 26
"""Most bytes of a file that is verified whole when it is opened, which takes some 30 ms. In a larger file each block is
verified before its first use, and all of them in the background.
"""

CHECK_AFTER_S = 1.0
"""Seconds after opening before the background check begins, so that first look-ups have the disk to themselves."""

_LOWEST = 19

_UNFINISHED = (journal.FrameKind.SEARCHED, journal.FrameKind.STEPS, journal.FrameKind.COMMAND)
"""The kinds of entries for which a book's file has no place: they stay in the journal."""

_NO_CHANGES = (*_UNFINISHED, journal.FrameKind.FORGOTTEN)
"""The kinds of entries after which the book's positions, options and games are what they were."""

REMOVING = (
    *("add", "merge", "uncount", "adjust", "edit", "unedit", "rule", "verify"),
    *("prune", "subtree", "cut", "reduce", "delete"),
)
"""The commands that remove or overwrite data: after one of them `Store.fold` keeps the file before."""

CLOSED = "it is closed: book reopen opens it again"
"""Why a book that stays in use after `Store.close` takes no changes."""

MARK = struct.Struct("<QQ")
"""A book's identity and the last journal entry that it was opened with."""

BLOATED = 1 << 26
"""A journal of at most this many bytes is not called bloated."""


def journal_path(path: Path) -> Path:
    """Return the path of the journal of the book at ``path``."""
    return path.with_name(path.name + ".journal")


def lock_path(path: Path) -> Path:
    """Return the path of the lock of the book at ``path``."""
    return path.with_name(path.name + ".lock")


def _lock(path: Path) -> FileLock:
    """Lock a book for writing. Raises `Locked`, with the holder's process id, or `WriteFailed` if the lock's file
    cannot be made.
    """
    try:
        lock = FileLock(lock_path(path), mode=0o644)
    except Held as held:
        raise Locked(lock_path(path), held.holder) from None
    except OSError as error:
        raise WriteFailed(f"{lock_path(path)}: {error.strerror}") from error
    platform.remove_replaced(str(path))
    return lock


class Locking(NamedTuple):
    """What came of locking a book: the lock or None; then why the book can only be read, and the process that writes
    it (0 if that is unknown or not the reason).
    """

    lock: FileLock | None
    reason: str = ""
    holder: int = 0


def locking(path: Path, *, read_only: bool | None) -> Locking:
    """Lock a book for writing, if possible or, with ``read_only`` False, else raise `Locked` or `WriteFailed`; with
    ``read_only`` True do not try.
    """
    if read_only:
        return Locking(None)
    try:
        return Locking(_lock(path))
    except (Locked, WriteFailed) as error:
        if read_only is False:
            raise
        if isinstance(error, WriteFailed):
            return Locking(None, str(error))
        return Locking(None, f"process {error.pid} writes it" if error.pid else "another process writes it", error.pid)


@contextlib.contextmanager
def overwriting(path: Path, *, keep: bool = False) -> Iterator[None]:
    """Return a context manager: within the block another book may be written to ``path``. If the book there has a
    journal, its lock is held meanwhile, and the journal is removed at the end unless ``keep``.

    Raises `Locked` if a process has the book open for writing, and `WriteFailed` if its journal has changes that the
    file lacks.
    """
    # A link leads to the book whose lock and journal count.
    path = path.resolve()
    log = journal_path(path)
    if not log.exists():
        yield
        return
    lock = _lock(path)
    try:
        if _journal_has_changes(path):
            raise WriteFailed(f"{log}: has changes that {path.name} lacks: book load writes them into it")
        yield
        if not keep:
            log.unlink(missing_ok=True)
    finally:
        lock.release()


def in_use(path: Path) -> str:
    """Return why the book at ``path`` may not be overwritten now, and what to do; "" if it may."""
    try:
        with overwriting(path, keep=True):
            return ""
    except Locked as error:
        process = f"process {error.pid}" if error.pid else "another process"
        return f"{process} has this book in use: choose another name"
    except WriteFailed:
        return "its journal has changes that it lacks: open it with book load, or choose another name"


def _journal_has_changes(path: Path) -> bool:
    """Return whether the journal of the book at ``path`` has, or may have, changes that the book's file lacks."""
    try:
        scan = journal.read(journal_path(path))
        header = snapshot.header_of(path) if path.exists() else None
    except (Unreadable, OSError):
        return True
    ours = header is not None and scan.book == header.book
    frames = scan.after(header.sequence) if header is not None and ours else scan.frames
    return any(frame.kind not in _UNFINISHED for frame in frames)


def _stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    """Return device, inode, size and time of a file, to tell later whether it was replaced or written."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class Store:
    """An open book file with its journal, made by `open_store`; a context manager that closes it."""

    base: Path | None = None
    """The file of the book that this one lies over, which is only read; None for a book of its own (`overlay`)."""

    def __init__(self, path: Path, book: Book, header: snapshot.SnapshotHeader | None, lock: FileLock | None) -> None:
        """``header`` is that of the file; None if the file holds the journal alone (`overlay`)."""
        self.path = path
        self.book = book
        self._log = path if header is None else journal_path(path)
        self.notes: list[str] = []
        self.holder = 0
        """Process id of the process that kept this one from opening the book for writing; 0 if none did, or if its id
        is unknown.
        """
        self.reason = ""
        """Why the book can only be read; "" if it can be written, or if reading was asked for."""
        self._size = header.size if header is not None else 0
        self._identity = header.book if header is not None else 0
        self._sequence = header.sequence if header is not None else 0
        """The last journal entry that the file includes."""
        self._marked = header is None or bool(header.state & snapshot.JOURNALLED)
        """Whether the file says that the journal has changes."""
        self.mark = MARK.pack(self._identity, self._sequence)
        """Changes with every change that the book was opened with."""
        self._folded = self._sequence
        """The last journal entry that `fold` need not write to the file."""
        self._stamp = _stamp(path.stat())
        self._lock = lock
        self._io = threading.RLock()
        self._closing = threading.Event()
        self._writer: journal.Writer | None = None
        self._recorder: JournalObserver | None = None
        self._committing: threading.Event | None = None
        """Set when the thread that writes the journal ends; None before it begins."""
        self._checked: threading.Event | None = None
        """Set when the thread that verifies blocks ends; None if there is none."""
        self._rescued = -1
        """The last journal entry whose changes were written elsewhere."""
        if header is not None and book.table.guard is not None:
            self._checked = begun(self._check_blocks, "book-check")

    @property
    def read_only(self) -> bool:
        """Whether changes are refused at present."""
        return self._recorder is None or self._recorder.refuse is not None

    @property
    def locked(self) -> bool:
        """Whether this process holds the book's lock, so that it may write as soon as the disk allows it."""
        return self._lock is not None

    @property
    def failure(self) -> str:
        """Why the last write failed, so that changes are in memory only; "" as long as writes succeed."""
        recorder = self._recorder
        return str(recorder.refuse) if recorder is not None and recorder.refuse is not None else ""

    @property
    def intrusion(self) -> str:
        """A line about a change of the book's file by another process since it was opened or saved; "" for none."""
        try:
            there = self.path.stat()
        except OSError:
            wanted = "book save writes it again" if self.locked else "book save FILE keeps it"
            return f"{self.path}: another process removed or renamed this open file: {wanted}"
        stamp = _stamp(there)
        if stamp == self._stamp:
            return ""
        if not self.locked:
            # The process that writes the book may.
            return f"{self.path}: has changed since it was opened: book reopen reads it again"
        if stamp[:2] == self._stamp[:2]:
            return f"{self.path}: another program wrote to this file since it was opened: salvage and verify it"
        return (
            f"{self.path}: this is another file than the one that was opened: book load opens it, "
            "book save keeps it as a backup and writes the book in use"
        )

    @property
    def unwritten(self) -> bool:
        """Whether a failed write left changes that are only in memory, not saved elsewhere (`rescued`)."""
        return bool(self.failure) and self._writer is not None and self._writer.sequence > self._rescued

    @property
    def journal_bytes(self) -> int:
        """Size of the journal on the disk in bytes; 0 for a book opened for reading."""
        return self._writer.size if self._writer is not None else 0

    @property
    def bloated(self) -> bool:
        """Whether saving is advisable: the journal is longer than the file and than `BLOATED` bytes."""
        return self.journal_bytes > max(BLOATED, self._size)

    def _start(self, log: journal.Scan) -> None:
        before = self._recorder
        self._writer = journal.Writer(self._log, log)
        self._recorder = self.book.recorder = JournalObserver(self.book, self._writer, self.commit)
        if before is None:
            self._recorder.unfinished = unfinished(log.frames)
        elif before.unfinished is not None:
            # After `save`, whose new journal has no commands.
            self._recorder.resume(before.unfinished)
        if self._committing is None:
            self._committing = begun(self._commit_groups, "book-journal")

    @property
    def damage(self) -> str:
        """The error of the damaged block found first since the file was opened; "" if there is none."""
        damage = self.book.table.damage
        return str(damage) if damage is not None else ""

    def _check_blocks(self) -> None:
        """Verify a large file's blocks in the background, at the lowest priority, half of the time; report damage."""
        table = self.book.table
        blocks = table.guard
        if not isinstance(blocks, Blocks):
            return
        platform.lower_thread(_LOWEST)
        done, spent = 0, CHECK_AFTER_S
        while not self._closing.wait(spent) and done < blocks.size and table.damage is None:
            if table.guard is not blocks:
                # Nothing of the file is in use any more.
                return
            begun = time.perf_counter()
            done = blocks.check_some(done)
            spent = time.perf_counter() - begun
        if blocks.damage is None and done == blocks.size and table.guard is blocks:
            table.count_index()
        if blocks.damage is not None:
            message(str(blocks.damage), level="error", event="book")

    def begin(self, write: Callable[[], None], reason: str, *, read_only: bool | None) -> None:
        """Begin to write by ``write`` if the book is locked; if not, ``reason`` says why it can only be read.

        If the disk takes nothing, this raises `WriteFailed` with ``read_only`` False. Otherwise the lock is kept, so
        that changes can be written as soon as there is room.
        """
        if self._lock is None:
            self.reason = reason
            self.book.recorder = ReadOnlyObserver(self.path, reason)
            return
        try:
            tidy(self.path)
            write()
        except WriteFailed as error:
            if read_only is False:
                raise
            self.reason = str(error)
            self.book.recorder = ReadOnlyObserver(self.path, self.reason, write)

    def _begin_writing(self, scan: journal.Scan | None, identity: int, sequence: int) -> None:
        """Begin to write changes to the journal, whose content is ``scan``; if that is None, create it. A torn end is
        moved to another file before.

        ``identity`` and ``sequence`` are those of the book's file. Raises `WriteFailed`; the journal is then unchanged.
        """
        log = self._log
        if scan is None:
            journal.write(log, identity, sequence)
            scan = journal.read(log)
        elif scan.torn:
            aside = journal.set_aside(log, scan)
            self.notes.append(
                f"{log}: {scan.torn} bytes after byte {scan.end} were cut short by a crash; kept as {aside.name}"
            )
        self._start(scan)
        self.reason = ""

    def _commit_groups(self) -> None:
        next_retry = 0.0
        while not self._closing.wait(GROUP_SECONDS):
            recorder = self._recorder
            if recorder is None:
                continue
            failed = recorder.refuse is not None
            if time.monotonic() < next_retry if failed else not recorder.waiting.is_set():
                continue
            try:
                self.commit()
                if failed:
                    message(f"{self._log}: written again", event="book")
            except BookError as error:
                next_retry = time.monotonic() + RETRY_SECONDS
                if not failed:
                    trace = "" if isinstance(recorder.refuse, WriteFailed) else f"\n{traceback.format_exc()}"
                    message(f"{error}{trace}", level="error", event="book")

    def commit(self) -> None:
        """Put all changes so far on the disk, and return when they are there.

        Raises `WriteFailed`: until a later commit succeeds, changes are refused and the failed ones are kept in memory.
        Does nothing in a book opened for reading, and inside `Book.together`, whose changes are written when it ends.
        """
        recorder = self._recorder
        if recorder is None or recorder.held_here:
            return
        with self._io:
            recorder, writer = self._recorder, self._writer
            if recorder is None or writer is None:
                return
            recorder.waiting.clear()
            try:
                recorder.collect()
                if writer.waiting and not self._marked:
                    self._mark()
                writer.write()
            except WriteFailed as error:
                recorder.refuse = error
                raise
            except Exception as error:
                # After any error the changes are not on the disk, so no later change may be acknowledged.
                recorder.refuse = error
                raise WriteFailed(f"{self._log}: {type(error).__name__}: {error}") from error
            recorder.refuse = None

    def _mark(self) -> None:
        """Set, if possible, the file's flag that its journal has changes: it shows that a copy of the file without the
        journal lacks them.
        """
        if not self.intrusion:
            with contextlib.suppress(OSError, Unreadable):
                snapshot.note_journal(self.path)
                self._stamp = _stamp(self.path.stat())
            self._marked = True

    def rescued(self) -> None:
        """Take note that everything in memory was written elsewhere, so that closing loses nothing."""
        if self._writer is not None:
            self._rescued = self._writer.sequence

    def save(self, *, backups: int = BACKUPS, progress: ProgressCallback = no_progress) -> None:
        """Write the whole book to its file, keep at most ``backups`` earlier files (``NAME.1`` ...), and begin a new
        journal with the remembered searches and steps.

        The caller must prevent changes meanwhile. Changes that the journal could not take are in the new file. Raises
        `ReadOnly` if the book was opened for reading or is closed, and `WriteFailed`, also where the journal has
        another process's changes; the old file and the journal are then kept, as after a cancellation.
        """
        if self._writer is None:
            self.book.recorder.allow()
        if self._writer is None or self._recorder is None:
            raise ReadOnly(f"{self.path}: closed")
        with contextlib.suppress(WriteFailed):
            self.commit()
        with self._io:
            try:
                self._writer.check()
            except WriteFailed:
                if self._log.exists() and _journal_has_changes(self.path):
                    raise WriteFailed(f"{self._log}: {journal.OTHERS}") from None
            sequence = self._writer.sequence
            written = snapshot.write(self.path, self.book, self._identity, sequence, backups=backups, progress=progress)
            self._size, self._sequence, self._marked = written.size, sequence, False
            self._stamp = _stamp(self.path.stat())
            journal.write(self._log, self._identity, sequence)
            self._writer.close()
            self._start(journal.read(self._log))
        self.keep(self.book)
        self.commit()
        self._folded = self._writer.sequence

    def fold(self) -> None:
        """Write the journal's changes into the file (`save`), which is then complete by itself.

        Does nothing without changes, or if the last write failed. As for `save`, the caller must prevent changes
        meanwhile. The earlier file is kept only if a command in `REMOVING` was given. Raises as `save` does.
        """
        if self._writer is not None and not self.failure and self._writer.sequence > self._folded:
            self._writer.check()
            removed = any(command.name in REMOVING for command in self.undoable())
            self.save(backups=BACKUPS if removed else 0)

    def _commands(self) -> tuple[list[journal.Frame], list[tuple[int, GivenCommand]]]:
        """Commit; return the journal's entries that the file lacks, and the commands among them, each with the index
        of its first entry. A job that several processes carried out is one command.
        """
        self.commit()
        frames = journal.read(self._log).after(self._sequence)
        found: list[tuple[int, GivenCommand]] = []
        last: tuple[int, GivenCommand] | None = None
        ended = False
        for place, frame in enumerate(frames):
            if frame.kind is journal.FrameKind.COMMAND:
                command = unpacked_command(frame.payload)
                if last is None or not command.started or last[1][:3] != command[:3]:
                    last = place, command
                ended = False
            elif frame.kind is journal.FrameKind.STEPS and frame.payload == ENDED:
                # What follows without a command, as of a negamax that changes nothing, is none of its changes.
                ended = True
            elif frame.kind not in _NO_CHANGES and last is not None and not ended and last not in found[-1:]:
                found.append(last)
        return frames, found

    def undoable(self) -> list[GivenCommand]:
        """Commit, then return the commands that `undo` can take back one after another, oldest first: those that have
        changed the book since the file was written. Raises `WriteFailed` if the commit fails.
        """
        return [command for _, command in self._commands()[1]]

    def undo(self) -> None:
        """Remove the last of the `undoable` commands from the journal, and close the store; the caller opens it again,
        and gives the new book what was done by hand.

        There must be such a command. Raises `WriteFailed` before any change.
        """
        frames, commands = self._commands()
        place, undone = commands[-1]
        journal.write(self._log, self._identity, self._sequence, frames[:place])
        before = self.book.by_hand_before
        if before and before[-1][0].started == undone.started:
            self.book.by_hand = before.pop()[1]
        self.close()

    def keep(self, book: Book) -> None:
        """Take over the remembered searches and steps of ``book`` into the store's book and its journal, its replies,
        and what was done by hand.
        """
        self.book.replies, self.book.by_hand = book.replies, book.by_hand
        for question, answer in book.memo.items():
            self.book.remember(question, answer)
        for schedule, done in book.steps.items():
            self.book.step(schedule, done)

    def check(self, progress: ProgressCallback = no_progress) -> None:
        """Compare every block of the file on the disk with its checksum. Raises `Unreadable`."""
        snapshot.check(self.path, progress)

    def close(self) -> None:
        """Commit, close the files and release the lock; from then on the book takes no changes. The journal has the
        changes that the file lacks.

        Raises `WriteFailed` if changes were written nowhere; the store is closed all the same.
        """
        try:
            self.commit()
        except WriteFailed as error:
            if self.unwritten:
                raise WriteFailed(f"{self.path}: the last changes were not written: {error}") from error
        finally:
            self._closing.set()
            for over in (self._committing, self._checked):
                if over is not None:
                    over.wait()
            # The book may stay in use, where opening it again fails: no change may be told that nothing writes down.
            self.reason = self.reason or CLOSED
            self.book.recorder = ReadOnlyObserver(self.path, self.reason)
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


def _load(path: Path, progress: ProgressCallback) -> tuple[Book, snapshot.SnapshotHeader, journal.Scan | None]:
    """Return the book of a file, the file's header, and its journal (None if it has none).

    Raises `Unreadable`, also if the two do not belong together.
    """
    for _ in range(100):
        book, header = snapshot.read(path, check=path.stat().st_size <= CHECKED_AT_OPEN, progress=progress)
        if not journal_path(path).exists():
            return book, header, None
        log = journal.read(journal_path(path), progress)
        if log.book != header.book and not log.frames:
            # An empty journal was left behind by a book that was renamed.
            return book, header, None
        if log.book != header.book:
            raise Unreadable(
                journal_path(path), 16, f"this journal belongs to another book than {path.name}; move it away"
            )
        # A writer may have saved between the two reads.
        if log.base <= header.sequence:
            return book, header, log
    raise Unreadable(journal_path(path), 24, "begins after changes that the book's file does not have")


def open_store(path: Path, *, read_only: bool | None = False, progress: ProgressCallback = no_progress) -> Store:
    """Open a book's file and bring it up to date from its journal.

    With ``read_only`` None the book is opened for writing if possible, else for reading; `Store.reason` says why.
    Either another process writes it (`Store.holder` is its process id), or the folder cannot be written, or the disk is
    full (then changes are accepted once there is room). If the book is opened for writing, a torn end of the journal is
    moved to a file beside it, and `Store.notes` says so. Raises `Unreadable`; with ``read_only`` False also `Locked`
    and `WriteFailed`.
    """
    path = path.resolve()
    platform.bring_back(str(path))
    if not path.exists():
        raise Unreadable(path, None, "no such file")
    lock, reason, holder = locking(path, read_only=read_only)
    try:
        book, header, journal_scan = _load(path, progress)
        store = Store(path, book, header, lock)
        store.holder = holder
        log = journal_path(path)
        frames = journal_scan.after(header.sequence) if journal_scan is not None else []
        if all(frame.kind in _UNFINISHED for frame in frames):
            store._folded += len(frames)
        if journal_scan is None and header.state & snapshot.JOURNALLED:
            store.notes.append(
                f"{path}: what was changed since it was saved is missing: it is in the journal that lay beside it, "
                f"{log.name}"
            )
        if frames:
            store.mark = MARK.pack(header.book, frames[-1].sequence)
            replay(book, frames, log, progress)
        begin = functools.partial(store._begin_writing, journal_scan, header.book, header.sequence)
        store.begin(begin, reason, read_only=read_only)
    except BaseException:
        if lock is not None:
            lock.release()
        raise
    return store
