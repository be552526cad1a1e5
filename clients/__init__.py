"""The client library, and the programs that talk to a daemon or to other engines.

`connect` finds a daemon and returns a `Client`; `AsyncClient.connect` is the same for asyncio. Modules of this package
are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .asynchronous import AsyncClient
    from .blocking import Client
    from .errors import Cancelled, ConnectionLost, DaemonError, Forked, NoDaemon, TimedOut

__all__ = [
    "AsyncClient",
    "Cancelled",
    "Client",
    "ConnectionLost",
    "DaemonError",
    "Forked",
    "NoDaemon",
    "TimedOut",
    "connect",
]

_HOMES = {"AsyncClient": "asynchronous", "Client": "blocking"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)


def connect(endpoint: str | None = None, **options: Any) -> Client:
    """Return a `Client` of the daemon at an endpoint, by default of the one on this machine. `Client.connect` has the
    ``options``. Raises `NoDaemon` if no daemon is found or answers, and `DaemonError` for unusable keys.
    """
    from .blocking import Client

    return Client.connect(endpoint, **options)
