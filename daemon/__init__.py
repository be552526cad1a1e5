"""desdaemon: an Othello engine that runs as a long-lived daemon."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from desdaemon.api import Analysis as Analysis
    from desdaemon.api import Board as Board
    from desdaemon.api import Engine as Engine

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`Board`, `Engine` and `Analysis` when they are asked for: importing the package loads nothing."""
    if name in ("Analysis", "Board", "Engine"):
        from desdaemon import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
