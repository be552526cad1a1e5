"""The arguments of requests: their types, and functions that make them from what a caller passes to a client."""

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


def batch_args(items: Iterable[BatchItem] | None, file: str | None, limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `analyze.batch`, for ``items`` or for the ``file`` in the daemon's data folder. Give
    exactly one of the two, or the daemon refuses the request.
    """
    args: dict[str, Any] = dict(limits)
    if items is not None:
        args["items"] = [{"moves": item} if isinstance(item, str) else dict(item) for item in items]
    return {**args, "file": file} if file is not None else args


ListedPosition = str | Mapping[str, str]
"""A position of a list: moves from the standard start, or a map of ``board`` and ``moves``."""


def list_args(positions: Iterable[ListedPosition], limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `analyze` for a list of positions."""
    listed = [{"moves": position} if isinstance(position, str) else dict(position) for position in positions]
    return {"positions": listed, **limits}


def position_args(board: str | None, moves: str) -> dict[str, Any]:
    """Return the arguments for a position: a board (None: the standard start), and moves played from it."""
    args = {"board": board} if board is not None else {}
    return {**args, "moves": moves} if moves else args


def analyze_args(board: str | None, moves: str, limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `analyze` for one position."""
    return {**position_args(board, moves), **limits}


def game_args(board: str | None, moves: str, plies: Iterable[int] | None, limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `analyze` for ``plies`` of a game, None for all: ply n is the position after n moves.

    Passes count as moves, even those that ``moves`` leaves out. If ``moves`` cannot be read, None stands for ply 0, and
    the daemon will report the error.
    """
    if plies is None:
        plies = range(_length(board, moves) + 1)
    return {**analyze_args(board, moves, limits), "plies": list(plies)}


def _length(board: str | None, moves: str) -> int:
    """Return the number of moves in a game, passes counted; 0 if it is unreadable."""
    try:
        return len(play_moves(START if board is None else parse_board(board), parse_moves(moves)).moves)
    except BadInput:
        return 0
