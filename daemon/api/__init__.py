"""The engine inside a program: `Board` and `Engine`, for scripts and notebooks.

`from desdaemon import Board, Engine` is the way in. Importing it loads neither numpy nor the compiler; the engine does
when it is made. Programs that share one engine with others ask a daemon instead, see `desdaemon.clients`.
"""

from desdaemon.protocol.errors import BadInput

from .board import BLACK, WHITE, Board
from .engine import Engine
from .results import Analysis, BookEntry, BookMove, MoveLine, Score

__all__ = ["BLACK", "WHITE", "Analysis", "BadInput", "Board", "BookEntry", "BookMove", "Engine", "MoveLine", "Score"]
