"""A lock between processes: an advisory lock on a small file that is never replaced or removed."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from . import platform


class Held(Exception):
    """Another process holds the lock: ``holder`` is its process id, 0 if unknown."""

    def __init__(self, path: str, holder: int) -> None:
        super().__init__(f"{path}: held by process {holder or 'unknown'}")
        self.holder = holder


class FileLock:
    """An advisory lock, held from the construction until `release` or the end of the process."""

    def __init__(self, path: str | os.PathLike[str], *, mode: int = 0o600, or_read: bool = False) -> None:
        """Take the lock, creating the file with the permissions ``mode``, and write this process's id into it. Raises
        `Held`, and `OSError` if the file cannot be opened or locked.

        With ``or_read`` a file that can only be read is locked too, and the id is not written.
        """
        try:
            self._descriptor = platform.open_file(path, os.O_RDWR | os.O_CREAT, mode)
        except OSError:
            if not or_read:
                raise
            self._descriptor = platform.open_file(path, os.O_RDONLY)
        try:
            platform.lock_file(self._descriptor)
        except BlockingIOError:
            text = os.read(self._descriptor, 32).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            raise Held(os.fspath(path), int(text) if text.isdecimal() else 0) from None
        except OSError as error:
            os.close(self._descriptor)
            reason = f"the file system has no lock for it ({error.strerror}): expected one that has locks"
            raise OSError(error.errno, reason, os.fspath(path)) from None
        with contextlib.suppress(OSError):
            # The process id is only for messages: a full disk must not prevent the lock.
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        os.close(self._descriptor)


@contextlib.contextmanager
def alone(path: str | os.PathLike[str], patience_s: float = 0.0) -> Iterator[None]:
    """Hold the lock of a file while the block runs; first wait ``patience_s`` for it, at most. Raises `Held`. A file
    system without locks keeps nobody out.
    """
    due = time.monotonic() + patience_s
    lock = None
    with contextlib.suppress(OSError):
        while lock is None:
            try:
                lock = FileLock(path)
            except Held:
                if time.monotonic() >= due:
                    raise
                time.sleep(0.005)
    try:
        yield
    finally:
        if lock:
            lock.release()
