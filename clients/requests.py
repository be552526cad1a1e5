"""The arguments of requests: their types, and what they are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import START, parse_board, parse_moves, play_moves


class _Limits(TypedDict, total=False):
    level: int
    depth: int
    selectivity: int
    nodes: int
    time_ms: int
    multipv: int
    allow: list[str]
    avoid: list[str]
    book: str
    deterministic: bool
    game_nodes: int


class AnalysisLimits(_Limits, total=False):
    """The arguments of an analysis, all optional.

    ``level``, ``depth`` (plies, with ``selectivity`` percent), ``nodes`` or ``time_ms`` limits the analysis; without
    any of them the daemon's level does. With ``until="cancelled"`` the daemon searches until `cancel`. ``game_nodes``
    are for all plies of a game together. ``multipv`` is the number of moves that get a score; ``allow`` and ``avoid``
    are lists of moves; ``book`` is ``use``, ``ignore`` or ``only``. ``partial_ms`` is the least time between partials.
    Requests of a higher ``priority`` go first. Up to ``threads`` threads search the position together, 0 (the default)
    for all idle ones. With ``deterministic`` the results are the same every time, on every machine.
    """

    partial_ms: int
    priority: int
    until: str
    threads: int


class BatchLimits(_Limits, total=False):
    """The arguments of an analysis for each item of a batch: those of `AnalysisLimits` that apply, and ``plies``, the
    plies of each item's game to analyse.
    """

    plies: list[int]


BatchItem = str | Mapping[str, str | int]
"""A position of a batch: moves from the standard start, or a map of ``id``, ``board`` and ``moves``."""


ListedPosition = str | Mapping[str, str]
"""A position of a list: moves from the standard start, or a map of ``board`` and ``moves``."""


def item_args(items: Iterable[BatchItem | ListedPosition]) -> list[dict[str, Any]]:
    """Return the positions of a list or a batch as the daemon reads them."""
    return [{"moves": item} if isinstance(item, str) else dict(item) for item in items]


def position_args(board: str | None, moves: str) -> dict[str, Any]:
    """Return the arguments for a position: a board (None: the standard start), and moves played from it."""
    args = {"board": board} if board is not None else {}
    return {**args, "moves": moves} if moves else args


def game_length(board: str | None, moves: str) -> int:
    """Return the number of moves in a game, passes counted, even those that ``moves`` leaves out; 0 for moves that
    cannot be read, which the daemon will report.
    """
    try:
        return len(play_moves(START if board is None else parse_board(board), parse_moves(moves)).moves)
    except BadInput:
        return 0
