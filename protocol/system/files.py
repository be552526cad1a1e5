"""Opening files to be read, and replacing them: at any moment the name refers to the old content or the new one, whole
and on the disk.

- The new content is written to a file beside the old one, with a name that is used nowhere else.
- It is on the disk before it takes the name, and the name is on the disk when the block has ended.
- If anything fails before it has the name, the old file is unchanged, and nothing is left beside it. A writer that is
  killed leaves the new file, which the next writer in the folder removes.
- A link is followed and the file's permissions are kept; a new file gets those of ``mode``.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from io import BufferedReader
from typing import Any, BinaryIO

from . import platform

# `pathlib` is slow to load, and a start may replace the connection file.
# ruff: noqa: PTH108, PTH116, PTH118, PTH119, PTH120

PRIVATE = 0o600
"""Permissions of files that only this user may read."""

READABLE = 0o644
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
_MOMENT_S = 60.0
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""Flags to open a pipe without waiting for its writer, and a terminal without becoming its process."""

_numbers = itertools.count(1)
_writing: set[str] = set()
"""The names of the new files that this process writes."""


class NotAFile(OSError):
    """The name is that of a folder, a pipe or a device, which cannot be replaced."""

    def __init__(self, what: str, path: str | os.PathLike[str]) -> None:
        super().__init__(0, f"is {what}: expected the name of a file", os.fspath(path))


NO_NAME = "no name that a file can have here"
"""What is said of a name for which `platform.names_file` is false."""


@contextlib.contextmanager
def replacing(
    path: str | os.PathLike[str],
    *,
    mode: int = READABLE,
    around: AbstractContextManager[None] = contextlib.nullcontext(),  # noqa: B008
    buffering: int = -1,
) -> Iterator[BinaryIO]:
    """Return a context manager with a stream for the new content of the file ``path``. At the end of the block that
    content replaces the file, atomically and synced. If the block raises, the old file stays.

    ``mode`` applies only to a new file. ``around`` is entered when the new content is on the disk and the old file
    still has the name, and left when the new file has it or could not get it. ``buffering`` is passed to `open`. Raises
    `OSError`, of which `NotAFile` is one.
    """
    if not platform.names_file(path):
        raise NotAFile(NO_NAME, path)
    place = os.path.realpath(path)
    old_mode = _mode_of(place)
    descriptor, new = _beside(place)
    try:
        with os.fdopen(descriptor, "wb", buffering) as stream:
            yield stream
            stream.flush()
            platform.set_mode(stream.fileno(), mode if old_mode is None else old_mode)
            platform.sync(stream.fileno())
            # Closing unlocks it: from then on it would be taken for one that was left.
            with around:
                platform.take_place(new, place)
        platform.sync_folder(os.path.dirname(place))
    except OSError as error:
        # An error names the file that the user knows; one of a write names none.
        if error.filename == new or (error.filename is None and error.errno in _NO_ROOM):
            error.filename, error.filename2 = place, None
        raise
    finally:
        _writing.discard(os.path.basename(new))
        with contextlib.suppress(OSError):
            os.unlink(new)


def replace(path: str | os.PathLike[str], content: bytes | memoryview, *, mode: int = READABLE) -> None:
    """Replace the content of ``path`` atomically and synced: readers and crashes find the old content or the new,
    whole.

    ``mode`` applies only to a new file. Raises `OSError`; then the old file is unchanged, unless only syncing its
    folder failed.
    """
    with replacing(path, mode=mode) as stream:
        stream.write(content)


def append(path: str | os.PathLike[str], content: bytes | bytearray) -> None:
    """Append to a file, which may be a device or new, whole or not at all. Other programs may append to it too. Raises
    `OSError`.
    """
    if not platform.names_file(path):
        raise NotAFile(NO_NAME, path)
    descriptor = platform.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, READABLE)
    try:
        before = os.fstat(descriptor)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except OSError:
            if stat.S_ISREG(before.st_mode):
                os.ftruncate(descriptor, before.st_size)
            raise
    finally:
        os.close(descriptor)


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a file to be read. Raises `OSError`, also for a folder, a pipe, which would be waited for, and a device,
    which may have no end.
    """
    try:
        # It is opened first: what was looked at before may be another file by then.
        descriptor = platform.open_file(path, os.O_RDONLY | _AT_ONCE)
    except PermissionError:
        # Windows opens no folders.
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            raise
    else:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            return os.fdopen(descriptor, "rb")
        os.close(descriptor)
    raise OSError(0, os.strerror(errno.EISDIR) if stat.S_ISDIR(mode) else "expected a regular file", path)


def read_json(path: str | os.PathLike[str], largest: int) -> Any:
    """Return what a regular file of JSON holds. Raises `OSError`, and `ValueError` if it holds something else or more
    than ``largest`` bytes.
    """
    import json

    with open_regular(path) as file:
        text = file.read(largest + 1)
    if len(text) > largest:
        raise ValueError(f"expected at most {largest} bytes")
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError(str(error)) from None


def tidy(folder: str | os.PathLike[str]) -> None:
    """Remove from a folder what killed writers have left there."""
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder):  # noqa: PTH208
            writer, _, number = entry.removesuffix(".new").rpartition(".")[2].partition("-")
            if entry[0] == "." and entry.endswith(".new") and f"{writer}{number or 0}".isdecimal():
                new = os.path.join(folder, entry)
                if not _seems_written(new, int(writer)):
                    _remove_if_left(new)


def _seems_written(new: str, writer: int) -> bool:
    """Return whether the process ``writer`` may be writing a new file: a lock tells, but some file systems give it to
    everybody. Raises `OSError`.
    """
    if writer == os.getpid():
        return os.path.basename(new) in _writing
    # Its number may have become another's.
    return platform.alive(writer) and time.time() - os.stat(new).st_mtime < _MOMENT_S


def _remove_if_left(new: str) -> None:
    """Remove the new file of a writer that has ended: while it writes it holds a lock."""
    with contextlib.suppress(OSError):
        _mode_of(new)
        descriptor = platform.open_file(new, os.O_RDONLY)
        try:
            platform.lock_file(descriptor)
            os.unlink(new)
        finally:
            os.close(descriptor)


def _mode_of(place: str) -> int | None:
    """Return the permissions of a file; None if it does not exist. Raises `NotAFile`."""
    try:
        status = os.stat(place)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise NotAFile("a folder" if stat.S_ISDIR(status.st_mode) else "a device", place)
    return stat.S_IMODE(status.st_mode)


def _beside(place: str) -> tuple[int, str]:
    """Create a file beside ``place`` that only this user may read, and lock it; return its descriptor and its path."""
    folder, name = os.path.split(place)
    tidy(folder)
    while True:
        new = os.path.join(folder, f".{name[:200]}.{os.getpid()}-{next(_numbers)}.new")
        try:
            descriptor = platform.open_file(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
        except FileExistsError:
            continue
        except OSError as error:
            error.filename = place
            raise
        try:
            platform.lock_file(descriptor)
        except BlockingIOError:
            # Another writer takes it for one that was left, and removes it.
            os.close(descriptor)
            continue
        except OSError:
            # Some file systems have no locks: what is left there stays.
            pass
        if os.path.lexists(new):
            _writing.add(os.path.basename(new))
            return descriptor, new
        os.close(descriptor)
