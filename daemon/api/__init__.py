"""The engine inside a program: `Board` and `Engine`, for scripts and notebooks.

`from desdaemon import Board, Engine` loads neither numpy nor the compiler; making an engine does. Programs that share
one engine with others ask a daemon instead, by `desdaemon.clients`.
"""

from desdaemon.protocol.errors import BadInput

from .board import BLACK, WHITE, Board
from .engine import Engine
from .results import Analysis, BookEntry, BookMove, MoveLine, Score

__all__ = [
    "BLACK",
    "WHITE",
    "Analysis",
    "BadInput",
    "Board",
    "BookEntry",
    "BookMove",
    "Engine",
    "MoveLine",
    "Score",
]
