"""The lock of a book: one writer at a time."""

from __future__ import annotations

from pathlib import Path

from desdaemon.book.errors import Locked, WriteFailed
from desdaemon.protocol.system.locks import FileLock, Held


def lock_book(path: Path) -> FileLock:
    """Lock a book for writing. Raises Locked, with the holder's process id, or WriteFailed."""
    try:
        return FileLock(path, mode=0o644)
    except Held as held:
        raise Locked(path, held.holder) from None
    except OSError as error:
        raise WriteFailed(f"{path}: {error.strerror}") from error
