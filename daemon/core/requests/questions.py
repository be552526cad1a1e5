"""The arguments of `analyze` as questions about positions, checked against the game. No I/O, any thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position, move_text
from desdaemon.protocol.othello.selectivity import SELECTIVITIES, Selectivity
from desdaemon.protocol.wire.constants import MOST_LISTED_MOVES
from desdaemon.protocol.wire.messages import RequestError
from desdaemon.protocol.wire.positions import (
    check_list_alone,
    read_board,
    read_last,
    read_line,
    read_listed,
    read_moves,
)

if TYPE_CHECKING:
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.short_searches import LineFollower

    from .request import Data

_LIMITING = ("level", "depth", "selectivity", "nodes", "time_ms", "game_nodes", "plies", "positions")
_READ_AT_ONCE = 50
"""Positions of a list that are read without a pause."""


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
    item: int = -1
    """Its place in a list of positions, -1 without one."""


def read_questions(
    values: Data,
    default_level: int,
    follower: LineFollower | None = None,
    *,
    deterministic: bool = False,
    pause: Callable[[], None] = lambda: None,
) -> list[Question]:
    """A question for each position of the request. Raises `RequestError`.

    A list of positions has passed `check_list`. ``default_level`` is used for requests without a limit,
    ``deterministic`` for those that do not say. ``follower``, owned by this thread, reads lines of play faster.
    ``pause`` is called at intervals within a long list.
    """
    asked = _AskedLimits({"deterministic": deterministic, **values}, default_level)
    plies, items = values.get("plies"), values.get("positions")
    if items is not None:
        return list(_listed(asked, items, follower, pause))
    if plies is None:
        return [asked.question(*_read_last(values, follower))]
    line = read_line(values)
    wrong = next((ply for ply in plies if not 0 <= ply < len(line.positions)), None)
    if wrong is not None:
        last = len(line.positions) - 1
        raise RequestError("bad_request", f"ply {wrong}: expected one from 0 to {last}", "plies")
    return [asked.question(line.positions[ply], _facts(line.positions[ply]), ply=ply) for ply in plies]


def check_list(values: Data) -> None:
    """Check a request with `positions`: raise `RequestError` for arguments that exclude it, and for too long a list."""
    check_list_alone(values)
    if values.get("plies") is not None:
        raise RequestError("bad_request", "positions and plies are both given: expected one of them", "positions")
    positions, multipv = len(values["positions"]), values.get("multipv", 1)
    if positions * multipv > MOST_LISTED_MOVES:
        raise RequestError(
            "too_large",
            f"{positions} positions with multipv {multipv}: expected at most {MOST_LISTED_MOVES} moves in all",
            "positions",
        )


def _listed(
    asked: _AskedLimits, items: list[Data], follower: LineFollower | None, pause: Callable[[], None]
) -> Iterator[Question]:
    def read(item: Data) -> tuple[Position, BoardFacts]:
        return _read_last(item, follower)

    for number, item in enumerate(items):
        if number % _READ_AT_ONCE == _READ_AT_ONCE - 1:
            pause()
        yield asked.question(*read_listed(number, item, read), item=number)


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


class _AskedLimits:
    """The arguments that hold for all positions of a request, checked."""

    def __init__(self, values: Data, default_level: int) -> None:
        """``values`` has ``deterministic``. Raises `RequestError`."""
        level, percent = values.get("level"), values.get("selectivity")
        self._depth = values.get("depth")
        self._nodes, self._time_ms = values.get("nodes", 0), values.get("time_ms", 0)
        self._endless = bool(values.get("until"))
        if self._endless:
            given = next((name for name in _LIMITING if values.get(name) is not None), None)
            if given is not None:
                raise RequestError("bad_request", f"until and {given} are both given: expected one of them", given)
        if level is not None and self._depth is not None:
            raise RequestError("bad_request", "level and depth are both given: expected one of them", "depth")
        if percent is not None and percent not in SELECTIVITIES:
            message = f"selectivity = {percent}: expected one of {' '.join(map(str, SELECTIVITIES))}"
            raise RequestError("bad_request", message, "selectivity")
        limited = self._nodes or self._time_ms or values.get("game_nodes")
        self._any_depth = self._depth is None and level is None and bool(limited)
        if self._depth is None and not self._endless and not self._any_depth:
            level = default_level if level is None else level
        self._level: int | None = level
        self._percent = percent
        self._multipv = values.get("multipv", 1)
        self._book = values.get("book", "use")
        self._deterministic = values["deterministic"]
        self._threads = 1 if self._deterministic else values.get("threads", 0)
        self._restricted = values.get("allow") is not None or bool(values.get("avoid"))
        self._values = values
        self._limits: dict[int, Limits] = {}
        """By the number of empties."""

    def question(self, position: Position, facts: BoardFacts, *, ply: int = -1, item: int = -1) -> Question:
        """The question about a position of the request. Raises `RequestError`."""
        empties = position.empties
        limits = self._limits.get(empties)
        if limits is None:
            limits = self._limits[empties] = self._limits_with(empties)
        single = ply < 0 and item < 0
        return Question(
            position,
            facts,
            ply,
            limits,
            self._multipv,
            _allowed(self._values, position, single=single) if self._restricted else rules.FULL,
            self._book,
            self._level,
            self._endless,
            self._any_depth,
            self._threads if single else 1,
            self._deterministic,
            item,
        )

    def _limits_with(self, empties: int) -> Limits:
        from desdaemon.engine.limits import Limits, level_limits

        if self._depth is not None:
            found = Limits(min(self._depth, empties))
        elif self._endless or self._any_depth:
            found = Limits(empties)
        else:
            assert self._level is not None
            found = level_limits(self._level, min(empties, 60))
        return Limits(found.depth, Selectivity(self._percent or found.selectivity), self._nodes, self._time_ms)


def _allowed(values: Data, position: Position, *, single: bool) -> int:
    """The mask of the moves to consider; raises `RequestError`.

    In a game or a list (not ``single``) moves that are illegal in a position are ignored there.
    """
    allow, avoid = values.get("allow"), values.get("avoid")
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
