"""The program's folders for this user, by the XDG base directory specification. They may not exist yet."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from . import platform

# `pathlib` is slow to load, and a start asks for some of these.
# ruff: noqa: PTH111, PTH117, PTH118

_NAME = "desdaemon"
_LOCK = "lock"
_UNLOCKED_S = 3600.0
"""Seconds after which a folder without a lock is one that was left."""


def _given(variable: str) -> str:
    """Return the value of one of the specification's variables; "" for a relative path, which is to be ignored."""
    folder = os.environ.get(variable, "")
    return folder if os.path.isabs(folder) else ""


def _folder(variable: str, otherwise: str) -> str:
    return os.path.join(_given(variable) or os.path.expanduser(otherwise), _NAME)


def configuration() -> str:
    """Return the folder of options and keys."""
    return _folder("XDG_CONFIG_HOME", platform.CONFIGURATION)


def data() -> str:
    """Return the folder of downloaded lists and, by default, of the data that a server keeps for its clients."""
    return _folder("XDG_DATA_HOME", platform.DATA)


def state() -> str:
    """Return the folder of state that may be lost, such as the history of dialogues."""
    return _folder("XDG_STATE_HOME", platform.STATE)


def runtime() -> str:
    """Return the folder of this user's sockets and connection file: `DESDAEMON_RUNTIME_DIR`, or else one of the login
    session or a temporary one.
    """
    folder = os.environ.get("DESDAEMON_RUNTIME_DIR")
    if folder:
        return folder
    parent = _given("XDG_RUNTIME_DIR")
    return os.path.join(parent, _NAME) if parent else _temporary()


def caches() -> Iterator[str]:
    """Yield folders for files that can be made again, the preferred first: `DESDAEMON_CACHE_DIR` alone if it is set."""
    folder = os.environ.get("DESDAEMON_CACHE_DIR")
    if folder:
        yield folder
        return
    if _given("XDG_CACHE_HOME") or os.environ.get(platform.ENVIRONMENT_HOME):
        yield _folder("XDG_CACHE_HOME", platform.CACHE)
    yield _temporary()


@contextlib.contextmanager
def passing(purpose: str, place: str | os.PathLike[str] | None = None) -> Iterator[str]:
    """Return a context manager that yields a new folder for this process alone, in ``place`` or where the system has
    such. It is removed at the end of the block; what killed processes have left there for the same ``purpose``, a word,
    is removed before it. Raises `OSError`.
    """
    import tempfile

    from .locks import FileLock, Held

    prefix = f"{_NAME}-{purpose}-"
    parent = os.fspath(place or tempfile.gettempdir())
    _remove_left(parent, prefix)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as folder:
        lock = None
        with contextlib.suppress(OSError, Held):
            # A file system without locks keeps what is left there.
            lock = FileLock(os.path.join(folder, _LOCK))
        try:
            yield folder
        finally:
            # Windows removes no file that is open.
            if lock:
                lock.release()


def _remove_left(parent: str, prefix: str) -> None:
    """Remove this user's folders whose processes have ended: while they use them they hold a lock."""
    import shutil
    import time

    from .locks import FileLock, Held

    with contextlib.suppress(OSError):
        for entry in os.scandir(parent):
            if not entry.name.startswith(prefix) or not entry.is_dir(follow_symlinks=False):
                continue
            with contextlib.suppress(OSError, Held):
                described = entry.stat(follow_symlinks=False)
                path = os.path.join(entry.path, _LOCK)
                if not platform.is_ours(described):
                    continue
                if os.path.lexists(path):
                    FileLock(path).release()
                elif time.time() - described.st_mtime < _UNLOCKED_S:
                    continue
                shutil.rmtree(entry.path, ignore_errors=True)


def _temporary() -> str:
    # Rarely needed, and slow to import.
    import tempfile

    return os.path.join(tempfile.gettempdir(), f"{_NAME}-{platform.user()}")
