"""A book's files: read whole or mapped, replaced with backups, large ones synced in parts."""

from __future__ import annotations

import contextlib
import glob
import itertools
import mmap
import os
import re
import shutil
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from desdaemon.book.errors import Damaged, Unreadable, WriteFailed
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.protocol.system import files, platform
from desdaemon.protocol.system.logs import message

from .arena import ARENA

BACKUPS = 3
"""Number of earlier versions of the book's own file that are kept."""

_MOMENT_S = 60.0
_PIECE = 1 << 23
_SHARE = 8
_SYNCED = 1 << 26

_BUFFER = 1 << 20
"""Bytes collected for a write: copying the kilobytes of most parts takes less time than a system call."""

_AROUND = 1 << 21
"""Most bytes before a page of a mapped file that the system reads with it."""


class SyncedFile:
    """A file being written whose data are synced after each 64 MiB, so that the last sync is short.

    The owner of the stream must still sync the rest.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._waiting = 0

    def write(self, data: bytes | memoryview) -> None:
        self._waiting += self._stream.write(data)
        if self._waiting >= _SYNCED:
            self._stream.flush()
            platform.sync_data(self._stream.fileno())
            self._waiting = 0

    def seek(self, place: int) -> None:
        """Continue writing at byte ``place``."""
        self._stream.seek(place)


def content(path: Path, progress: ProgressCallback = no_progress) -> npt.NDArray[np.uint8]:
    """Return all bytes of a file. A file larger than 1/`_SHARE` of the tables' memory limit (`Arena.limit`) is mapped,
    read-only, instead of read.

    Raises `Unreadable` if it is no regular file, or cannot be opened or read.
    """
    try:
        with files.open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            if ARENA.limit and size > ARENA.limit // _SHARE:
                return np.frombuffer(mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ), np.uint8)
            data: npt.NDArray[np.uint8] = np.empty(size, np.uint8)
            at = 0
            while at < len(data) and (read := stream.readinto(data[at : at + _PIECE].data)):
                at += read
                progress("read", at, len(data))
            return data[:at]
    except OSError as error:
        raise Unreadable(path, None, error.strerror or str(error)) from None


CHECKED_S = 0.0001
"""How long a file counts as whole after it was asked for. Asking takes half the time of a look-up, and is no guarantee:
the file may be cut between the answer and the reading.
"""


class MappedFile:
    """A mapped file in use, and whether another program has cut it: what is mapped of a file that was cut ends the
    process that reads it.
    """

    def __init__(self, path: Path, descriptor: int, size: int) -> None:
        """``size`` bytes of the file are mapped; its ``descriptor`` stays open as long as this object."""
        self._path = path
        self._opened = descriptor
        self._size = size
        self._cut = False
        self._next_check = 0.0
        weakref.finalize(self, os.close, descriptor)

    @property
    def damage(self) -> Damaged | None:
        """The error of a file that was cut, even if it grew again; the first time says so. None for a whole one."""
        first = False
        if not self._cut:
            if not platform.MAPPED_FILES_CAN_BE_CUT or (now := time.perf_counter()) < self._next_check:
                return None
            first = self._cut = os.fstat(self._opened).st_size < self._size
            self._next_check = now + CHECKED_S
            if not first:
                return None
        problem = "another program cut this file since it was opened: nothing of it is used until a new start"
        damage = Damaged(self._path, None, problem)
        if first:
            message(str(damage), level="error", event="book")
        return damage


def release(data: npt.NDArray[np.uint8], start: int, end: int) -> None:
    """Release the memory of a file's bytes ``start`` to ``end`` - 1 if `content` mapped it; they can still be read.

    All bytes before ``start`` must have been released.
    """
    source = data.base.obj if isinstance(data.base, memoryview) else None
    first, last = (max(0, place) // mmap.PAGESIZE * mmap.PAGESIZE for place in (start - _AROUND, end))
    if isinstance(source, mmap.mmap) and first < last and hasattr(source, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        source.madvise(mmap.MADV_DONTNEED, first, last - first)


@contextlib.contextmanager
def keeping_backups(path: Path, count: int = BACKUPS) -> Iterator[None]:
    """Return a context manager for a block that replaces the file at ``path``: the file becomes ``path.1``, which
    becomes ``path.2`` and so on up to ``path.COUNT``. If the block raises, all are as before.

    Does nothing without a regular file, or if ``count`` is 0. The file stays at ``path`` too. Raises OSError, before
    the block, if a file cannot be renamed or copied; then too all are as before.
    """
    if not count or not path.is_file():
        yield
        return
    tidy(path)
    names = [path.with_name(f"{path.name}.{number}") for number in range(count, 0, -1)]
    # A backup may be mapped, as the file of the book in use that it once was: Windows removes no such file, and
    # `take_place` removes files with such names later.
    oldest, linked = (path.with_name(f"{path.name}.{os.getpid()}-{time.time_ns()}-{n}.old") for n in (0, 1))
    with contextlib.ExitStack() as cleared, contextlib.ExitStack() as undone:
        cleared.callback(_remove, oldest)
        for older, newer in itertools.pairwise([oldest, *names]):
            if newer.exists():
                platform.take_place(str(newer), str(older))
                undone.callback(platform.take_place, str(older), str(newer))
        cleared.callback(_remove, linked)
        try:
            os.link(path, linked)
        except OSError:
            # Memory sticks and many network disks have no second names, and those of others' files may be forbidden.
            with path.open("rb") as content, files.replacing(linked) as copy:
                shutil.copyfileobj(content, copy)
        platform.take_place(str(linked), str(names[-1]))
        undone.callback(_remove, names[-1])
        yield
        undone.pop_all()


def tidy(path: Path) -> None:
    """Remove what killed writers have left beside ``path``: new files of its folder, and backups of ``path`` that were
    about to be removed.
    """
    files.tidy(path.parent)
    for left in path.parent.glob(f"{glob.escape(path.name)}.*.old"):
        # The time in ns has so many digits; a copy of the user's may have a date.
        if not re.fullmatch(r"\.[0-9]+-[0-9]{18,}-[01]\.old", left.name.removeprefix(path.name)):
            continue
        with contextlib.suppress(OSError):
            # A writer that is alive needs them for a moment.
            if time.time() - left.stat().st_ctime > _MOMENT_S:
                left.unlink()


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


@contextlib.contextmanager
def replacing(path: Path, *, backups: int = BACKUPS) -> Iterator[SyncedFile]:
    """Return a context manager that yields a stream. When the block ends, the stream's content is synced and replaces
    the file at ``path``; the earlier file is kept as a backup (`keeping_backups`).

    If the block raises, ``path`` stays unchanged. Raises `WriteFailed` if the disk refuses.
    """
    path = path.resolve()
    try:
        with files.replacing(path, around=keeping_backups(path, backups), buffering=_BUFFER) as stream:
            yield SyncedFile(stream)
    except OSError as error:
        raise WriteFailed(f"{path}: {error.strerror or error}") from error
