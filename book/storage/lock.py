"""One writer at a time: an advisory lock on a small file that is never replaced or removed."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from desdaemon.book.errors import Locked, WriteFailed


class Lock:
    """The right to write a book, held until `release` or the end of the process."""

    def __init__(self, path: Path) -> None:
        """Take the lock at ``path``. Raises Locked, with the holder's process id, or WriteFailed."""
        self.path = path
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise WriteFailed(f"{path}: {error.strerror}") from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = os.read(self._handle, 32).decode(errors="replace").strip()
            os.close(self._handle)
            raise Locked(path, int(text) if text.isdigit() else 0) from None
        except OSError as error:
            # Some network file systems have no locks.
            os.close(self._handle)
            raise WriteFailed(f"{path}: {error.strerror}") from error
        with contextlib.suppress(OSError):
            # The number is for people; a full disk must not keep the book closed.
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give the lock back."""
        os.close(self._handle)
