"""desdaemon: an Othello engine that runs as a long-lived daemon."""

# As in typing, which importing the package alone does not load.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from desdaemon.api import Analysis as Analysis
    from desdaemon.api import Board as Board
    from desdaemon.api import Engine as Engine

__version__ = "0.4.0"


def __getattr__(name: str) -> object:
    """`Board`, `Engine` and `Analysis` when they are asked for: importing the package loads nothing."""
    if name in ("Analysis", "Board", "Engine"):
        from desdaemon import api

        found: object = getattr(api, name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
