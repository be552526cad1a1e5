"""An overlay: a journal in a file of its own, over a book that is only read.

The base is opened in any format and the overlay's changes are replayed on it in memory, so that everything works as on
one book; further changes go to the overlay. Positions that the overlay has win over the base's, and those that it
removed stay away, also after the base has changed. Nothing is written in the base's folder.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from desdaemon.book.book import Book
from desdaemon.book.changes import ChangeObserver
from desdaemon.book.errors import ReadOnly, Unreadable, WriteFailed
from desdaemon.book.memory.files import BACKUPS
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.record import STATE
from desdaemon.protocol.system.locks import FileLock

from . import journal, snapshot
from .journal import Frame, FrameKind
from .observers import OPTIONS
from .replay import replay
from .store import Store, _stamp, locking

MARK_BYTES = 16
_HEAD = journal.HEADER.size + journal.FRAME.size


class Base(NamedTuple):
    """The book below an overlay: its path, the level of its scores if its file has none, its content's ``mark`` of
    `MARK_BYTES`.
    """

    path: str
    level: int
    mark: bytes

    @property
    def frame(self) -> Frame:
        """The first entry of an overlay over this book."""
        return Frame(1, FrameKind.OVER, self.mark + bytes([self.level]) + os.fsencode(self.path))


def is_overlay(head: bytes) -> bool:
    """Return whether a file that begins with the bytes ``head`` is an overlay."""
    if not head.startswith(journal.MAGIC) or len(head) < _HEAD:
        return False
    return bool(journal.FRAME.unpack_from(head, journal.HEADER.size)[1] == FrameKind.OVER)


def _scan(path: Path, progress: ProgressCallback = no_progress) -> journal.Scan:
    """Return the content of an overlay. Raises `Unreadable` if the file is none."""
    found = journal.read(path, progress)
    if not found.frames or found.frames[0].kind is not FrameKind.OVER or len(found.frames[0].payload) <= MARK_BYTES:
        raise Unreadable(path, 0, "not an overlay: name a new file, or one that was made as an overlay")
    return found


def base_of(path: Path) -> Base:
    """Return the book that an overlay was last opened over. Raises `Unreadable`."""
    payload = _scan(path).frames[0].payload
    return Base(os.fsdecode(payload[MARK_BYTES + 1 :]), payload[MARK_BYTES], payload[:MARK_BYTES])


class Overlay(Store):
    """An open overlay with the book below, made by `open_overlay`; ``path`` is the overlay's own file."""

    def __init__(self, path: Path, book: Book, lock: FileLock | None, base: Path, below: Store | None) -> None:
        """``base`` is the file of the book below, ``below`` its store, open for reading, if it has our own format."""
        super().__init__(path, book, None, lock)
        self.base = base
        self._below = below
        self._stamp = _stamp(base.stat())

    @property
    def intrusion(self) -> str:
        """A line about a change of the base since it was opened; "" for none."""
        try:
            same = _stamp(self.base.stat()) == self._stamp if self.base is not None else True
        except OSError:
            same = False
        return (
            ""
            if same or self.base is None
            else f"{self.base.name}: has changed since it was opened: book reopen reads it again"
        )

    def fold(self) -> None:
        """Do nothing: the changes are where they stay."""

    def check(self, progress: ProgressCallback = no_progress) -> None:
        if self._below is not None:
            snapshot.check(self._below.path, progress)

    def _begin(self, scan: journal.Scan, over: Frame) -> None:
        """Begin to write to the overlay, whose content is ``scan``; its base becomes that of the entry ``over``. A torn
        end is moved to another file before. Raises `WriteFailed`.
        """
        if scan.torn:
            aside = journal.set_aside(self.path, scan)
            self.notes.append(f"{self.path}: {scan.torn} bytes were cut short by a crash; kept as {aside.name}")
            scan = _scan(self.path)
        if scan.frames[0].payload != over.payload:
            journal.write(self.path, scan.book, scan.base, [over, *scan.frames[1:]])
            scan = _scan(self.path)
        self._start(scan)
        self.reason = ""

    def save(self, *, backups: int = BACKUPS, progress: ProgressCallback = no_progress) -> None:
        """Write the overlay anew, with the last state of each position that it changed; nothing can be undone then.

        The caller must prevent changes meanwhile. Raises `ReadOnly`, and `WriteFailed` or `Unreadable`; the overlay is
        then unchanged.
        """
        del backups
        self.book.recorder.allow()
        self.commit()
        if self._writer is None:
            raise ReadOnly(f"{self.path}: closed")
        with self._io:
            self._writer.check()
            frames = self._folded_frames(_scan(self.path, progress).frames)
            journal.write(self.path, self._identity, self._sequence, frames)
            self._writer.close()
            self._start(_scan(self.path))
        self.keep(self.book)
        self.commit()
        self._size = 2 * self.journal_bytes

    def _folded_frames(self, frames: list[Frame]) -> list[Frame]:
        """Return entries with the same effect on the base as ``frames``, without commands, searches and steps."""
        words = [np.empty((0, 2), np.uint64)]
        for frame in frames:
            if frame.kind is FrameKind.STATES:
                states = np.frombuffer(frame.payload, STATE)
                words.append(np.stack([states["player"], states["opponent"]], 1))
            elif frame.kind is FrameKind.REMOVED:
                words.append(np.frombuffer(frame.payload, "<u8").reshape(-1, 2))
        keys = np.unique(np.concatenate(words), axis=0)
        table = self.book.table
        rows = table.find_many(keys)
        folded = [frames[0]]
        kinds = {frame.kind for frame in frames}
        if FrameKind.OPTIONS in kinds:
            folded.append(Frame(0, FrameKind.OPTIONS, OPTIONS.pack(*self.book.options)))
        parts = ((FrameKind.REMOVED, keys[rows < 0].astype("<u8"), 16), (FrameKind.STATES, rows[rows >= 0], 80))
        for kind, values, size in parts:
            step = journal.MAX_PAYLOAD // size
            for start in range(0, len(values), step):
                part = values[start : start + step]
                packed = part if kind is FrameKind.REMOVED else table.states(part)
                folded.append(Frame(0, kind, packed.tobytes()))
        return folded + [frame for frame in frames if frame.kind in (FrameKind.COUNTED, FrameKind.TAKEN_BACK)]

    def close(self) -> None:
        try:
            if self._below is not None:
                self._below.close()
        finally:
            super().close()


def open_overlay(
    path: Path,
    base: Base,
    file: Path,
    book: Book,
    below: Store | None,
    *,
    read_only: bool | None = False,
    progress: ProgressCallback = no_progress,
) -> Overlay:
    """Open an overlay over ``book``, which was read from ``file``, and bring the book up to date; without a file make
    one.

    ``below`` is the open store of the book if it has one; it is closed with the overlay. ``read_only`` is as for
    `open_store`. Raises `Unreadable`, `Locked` or `WriteFailed`.
    """
    path = path.resolve()
    if path.exists():
        _scan(path)
    lock, reason, holder = locking(path, read_only=read_only)
    try:
        if not path.exists():
            if lock is None:
                raise WriteFailed(f"{path}: cannot be made: {reason or 'opened for reading'}")
            journal.write(path, 0, 0, [base.frame])
        scan = _scan(path, progress)
        store = Overlay(path, book, lock, file, below)
        store.holder = holder
        before = scan.frames[0].payload
        if os.fsdecode(before[MARK_BYTES + 1 :]) != base.path:
            store.notes.append(f"{path}: lay over {os.fsdecode(before[MARK_BYTES + 1 :])}, and lies over {file} now")
        elif before[:MARK_BYTES] != base.mark:
            store.notes.append(f"{file}: has changed since {path.name} was opened over it: what {path.name} has stays")
        book.recorder = ChangeObserver()
        if len(scan.frames) > 1:
            replay(book, scan.frames[1:], path, progress)
        begin = functools.partial(store._begin, scan, base.frame)
        store.begin(begin, reason, read_only=read_only)
    except BaseException:
        if lock is not None:
            lock.release()
        raise
    return store
