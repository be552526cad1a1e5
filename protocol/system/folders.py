"""The program's folders for this user, by the XDG base directory specification. They may not exist yet."""

from __future__ import annotations

import os
from collections.abc import Iterator

from . import platform

# `pathlib` is slow to load, and a start asks for some of these.
# ruff: noqa: PTH111, PTH118

_NAME = "desdaemon"


def _folder(variable: str, otherwise: str) -> str:
    return os.path.join(os.environ.get(variable) or os.path.expanduser(otherwise), _NAME)


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
    parent = os.environ.get("XDG_RUNTIME_DIR")
    return os.path.join(parent, _NAME) if parent else _temporary()


def caches() -> Iterator[str]:
    """Yield folders for files that can be made again, the preferred first: `DESDAEMON_CACHE_DIR` alone if it is set."""
    folder = os.environ.get("DESDAEMON_CACHE_DIR")
    if folder:
        yield folder
        return
    if os.environ.get("XDG_CACHE_HOME") or os.environ.get(platform.ENVIRONMENT_HOME):
        yield _folder("XDG_CACHE_HOME", platform.CACHE)
    yield _temporary()


def _temporary() -> str:
    # Rarely needed, and slow to import.
    import tempfile

    return os.path.join(tempfile.gettempdir(), f"{_NAME}-{platform.user()}")
