"""The arguments of `analyze` as questions about positions, checked against the game. No I/O, any thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position, move_text
from desdaemon.protocol.othello.selectivity import SELECTIVITIES, Selectivity
from desdaemon.protocol.wire.messages import RequestError
from desdaemon.protocol.wire.positions import read_board, read_last, read_line, read_moves

if TYPE_CHECKING:
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.short_searches import LineFollower

    from .registry import Data

_LIMITING = ("level", "depth", "selectivity", "nodes", "time_ms", "game_nodes", "plies")


class BoardFacts(NamedTuple):
    """Facts that follow from a board: the legal moves, and the canonical board with the symmetry that leads to it."""

    moves: int
    over: bool
    canonical: tuple[int, int, int]


class Question(NamedTuple):
    """One position to be analysed, with its limits.

    ``ply`` is its index in a game, -1 for a single position. ``allow`` is a mask of the moves considered. ``level`` is
    None where a depth, nodes or a time was given. ``endless``: it is searched until a cancel.
    """

    position: Position
    facts: BoardFacts
    ply: int
    limits: Limits
    multipv: int
    allow: int
    book: str
    level: int | None = None
    endless: bool = False
    any_depth: bool = False
    """Whether nothing but nodes or a time was asked for, so that an answer of any depth is one."""
    threads: int = 1
    """How many may search it together at most, 0 for all that are idle."""
    deterministic: bool = False
    """Whether the answer has to depend on nothing but the question: one thread, and a table that knows nothing."""


def read_questions(
    values: Data, default_level: int, follower: LineFollower | None = None, *, deterministic: bool = False
) -> list[Question]:
    """A question for each position of the request. Raises `RequestError`.

    ``default_level`` is used for requests without a limit, ``deterministic`` for those that do not say. ``follower``,
    owned by this thread, reads lines of play faster.
    """
    values = {"deterministic": deterministic, **values}
    if values.get("until"):
        given = next((name for name in _LIMITING if values.get(name) is not None), None)
        if given is not None:
            raise RequestError("bad_request", f"until and {given} are both given: expected one of them", given)
    plies = values.get("plies")
    if plies is None:
        return [_question(values, *_read_last(values, follower), -1, default_level)]
    line = read_line(values)
    wrong = next((ply for ply in plies if not 0 <= ply < len(line.positions)), None)
    if wrong is not None:
        last = len(line.positions) - 1
        raise RequestError("bad_request", f"ply {wrong}: expected one from 0 to {last}", "plies")
    return [_question(values, line.positions[ply], _facts(line.positions[ply]), ply, default_level) for ply in plies]


def _read_last(values: Data, follower: LineFollower | None) -> tuple[Position, BoardFacts]:
    text, moves = values.get("board"), values.get("moves") or ""
    if follower is not None:
        first = START if text is None else read_board(text)
        found = follower.follow(first.player, first.opponent, moves)
        if found is not None:
            position = Position(found.player, found.opponent, first.black_to_move != bool(len(moves) & 2))
            return position, BoardFacts(found.moves, not (found.moves or found.other_moves), found[4:])
    position = read_last(values)
    return position, _facts(position)


def _facts(position: Position) -> BoardFacts:
    board = position.player, position.opponent
    return BoardFacts(position.moves, position.over, rules.canonical_with_symmetry(*board))


def _question(values: Data, position: Position, facts: BoardFacts, ply: int, default_level: int) -> Question:
    from desdaemon.engine.limits import Limits, level_limits

    level, depth, percent = (values.get(name) for name in ("level", "depth", "selectivity"))
    nodes, time_ms = values.get("nodes", 0), values.get("time_ms", 0)
    endless = values.get("until") is not None
    if level is not None and depth is not None:
        raise RequestError("bad_request", "level and depth are both given: expected one of them", "depth")
    if percent is not None and percent not in SELECTIVITIES:
        message = f"selectivity = {percent}: expected one of {' '.join(map(str, SELECTIVITIES))}"
        raise RequestError("bad_request", message, "selectivity")
    any_depth = depth is None and level is None and bool(nodes or time_ms or values.get("game_nodes"))
    if depth is not None:
        found = Limits(min(depth, position.empties))
    elif endless or any_depth:
        found = Limits(position.empties)
    else:
        level = default_level if level is None else level
        found = level_limits(level, min(position.empties, 60))
    return Question(
        position,
        facts,
        ply,
        Limits(found.depth, Selectivity(percent or found.selectivity), nodes, time_ms),
        values.get("multipv", 1),
        _allowed(values, position, single=ply < 0),
        values.get("book", "use"),
        level,
        endless,
        any_depth,
        1 if values["deterministic"] or ply >= 0 else values.get("threads", 0),
        values["deterministic"],
    )


def _allowed(values: Data, position: Position, *, single: bool) -> int:
    """The mask of the moves to consider; raises `RequestError`.

    In a game (not ``single``) moves that are illegal in a position are ignored there.
    """
    allow, avoid = values.get("allow"), values.get("avoid")
    if allow is None and not avoid:
        return rules.FULL
    legal = position.moves
    mask = rules.FULL
    if allow is not None:
        mask = 0
        for move in read_moves("allow", allow):
            passes = move == rules.PASS and position.must_pass
            if single and not passes and not (move < 64 and legal >> move & 1):
                raise RequestError("illegal_move", f"{move_text(move)} is not legal there", "allow")
            mask |= 0 if move == rules.PASS else 1 << move
    for move in read_moves("avoid", avoid or []):
        mask &= ~(0 if move == rules.PASS else 1 << move)
    if legal and not mask & legal:
        if single:
            field = "allow" if allow is not None else "avoid"
            raise RequestError("illegal_move", "no legal move is left to look at", field)
        return rules.FULL
    return mask if legal else rules.FULL
