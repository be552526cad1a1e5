"""Divides a request to `analyze` into questions about positions, and turns answers into data. No function does I/O, and
any thread may call them.

docs/protocol.md describes every field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from desdaemon.engine.limits import Limits, level_limits
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, board_text, discs_text, move_text, moves_text
from desdaemon.protocol.othello.selectivity import SELECTIVITIES, Selectivity
from desdaemon.protocol.wire.constants import MOST_LISTED_MOVES
from desdaemon.protocol.wire.messages import RequestError
from desdaemon.protocol.wire.positions import (
    check_list_alone,
    last_position,
    read_first,
    read_line,
    read_listed,
    read_moves,
)

if TYPE_CHECKING:
    from desdaemon.engine.lines import LineReader
    from desdaemon.engine.result import Line

    from .analysis_cache import Canonical
    from .request import Data

_LIMITING = ("level", "depth", "selectivity", "nodes", "time_ms", "game_nodes", "plies", "positions")
_READ_AT_ONCE = 50
"""Positions of a list that are read without a pause."""


class Terms:
    """The arguments that apply to all positions of a request, checked."""

    def __init__(self, values: Data, default_level: int, *, deterministic: bool = False) -> None:
        """``default_level`` is for a request without any limit, ``deterministic`` for one without that argument. Raises
        `RequestError` for arguments that exclude each other, and for an unknown selectivity.
        """
        self.level: int | None = values.get("level")
        """None if the request has no level and is limited by a depth, nodes or a time instead, or endless."""
        self.depth: int | None = values.get("depth")
        self.nodes: int = values.get("nodes", 0)
        self.time_ms: int = values.get("time_ms", 0)
        self.game_nodes: int = values.get("game_nodes", 0)
        self.endless = bool(values.get("until"))
        """Whether the search runs until it is cancelled."""
        self.percent: int | None = values.get("selectivity")
        self.multipv: int = values.get("multipv", 1)
        self.book: str = values.get("book", "use")
        self.plies: list[int] | None = values.get("plies")
        self.listed = values.get("positions") is not None
        self.deterministic: bool = values.get("deterministic", deterministic)
        """Whether the answer may depend on the question only: one thread, and an empty table."""
        self.threads: int = values.get("threads", 0) if self.single and not self.deterministic else 1
        """Most threads that may search a position together, 0 for all idle ones; 1 in a game or list."""
        self._allow: list[str] | None = values.get("allow")
        self._avoid: list[str] = values.get("avoid") or []
        self.restricted = self._allow is not None or bool(self._avoid)
        """Whether some moves are not to be considered."""
        self._limits: dict[int, tuple[Limits, int]] = {}
        """Limits, and the estimate `Question.short_us`, by the number of empties."""
        # A shared turn answers with one line, sends no partials and does not charge the node budget.
        self._shares_turns = not (self.multipv > 1 or values.get("partial_ms") or self.game_nodes)
        self._shares_turns = self._shares_turns and not (self.restricted or self.deterministic)
        self._check(values)
        self.any_depth = (
            self.depth is None and self.level is None and bool(self.nodes or self.time_ms or self.game_nodes)
        )
        """Whether nodes or time are the only limit, so that an answer of any depth will do."""
        if self.level is None and self.depth is None and not self.endless and not self.any_depth:
            self.level = default_level

    @property
    def single(self) -> bool:
        """Whether the request is about one position, not a list or a game."""
        return self.plies is None and not self.listed

    def _check(self, values: Data) -> None:
        given = next((name for name in _LIMITING if values.get(name) is not None), None) if self.endless else None
        if given is not None:
            raise RequestError("bad_request", f"until and {given} exclude each other", given)
        if self.level is not None and self.depth is not None:
            raise RequestError("bad_request", "level and depth exclude each other", "depth")
        if self.percent is not None and self.percent not in SELECTIVITIES:
            expected = " ".join(map(str, SELECTIVITIES))
            message = f"selectivity = {self.percent}: expected one of {expected}"
            raise RequestError("bad_request", message, "selectivity")

    def question(self, position: Position, number: int = 0, facts: tuple[bool, Canonical] | None = None) -> Question:
        """Return the question about a position; ``number`` is its index in the request, ``facts`` are `Question.over`
        and `Question.canonical` where the caller knows them.

        Raises `RequestError` if `allow` or `avoid` has an unreadable move. In a request about one position it is also
        raised if `allow` has an illegal move or no legal move is left.
        """
        empties = position.empties
        known_limits = self._limits.get(empties)
        if known_limits is None:
            limits = self._limits_with(empties)
            short_us = limits.estimated_us(empties) if self._shares_turns else 0
            known_limits = self._limits[empties] = limits, short_us
        allow = self._allowed(position) if self.restricted else rules.FULL
        over, canonical = facts or (position.over, rules.canonical_with_symmetry(*position[:2]))
        return Question(self, number, position, *known_limits, allow, over, canonical)

    def _limits_with(self, empties: int) -> Limits:
        if self.level is not None:
            limits = level_limits(self.level, empties)
        else:
            limits = Limits(empties if self.depth is None else min(self.depth, empties))
        selectivity = limits.selectivity if self.percent is None else Selectivity(self.percent)
        return Limits(limits.depth, selectivity, self.nodes, self.time_ms)

    def _allowed(self, position: Position) -> int:
        """Return the mask of moves to consider; it may include illegal ones. In a game or list all moves count if none
        would be left.

        Raises `RequestError` for an unreadable move, and for a single position if an allowed move is illegal or no
        legal move is left.
        """
        legal = position.moves
        mask = rules.FULL if self._allow is None else 0
        for move in read_moves("allow", self._allow or []):
            passes = move == rules.PASS and position.must_pass
            if self.single and not passes and not (move < 64 and legal >> move & 1):
                raise RequestError("illegal_move", f"{move_text(move)} is not legal there", "allow")
            mask |= 0 if move == rules.PASS else 1 << move
        for move in read_moves("avoid", self._avoid):
            mask &= ~(0 if move == rules.PASS else 1 << move)
        if legal and not mask & legal:
            if self.single:
                field = "allow" if self._allow is not None else "avoid"
                raise RequestError("illegal_move", "allow and avoid leave no legal move", field)
            return rules.FULL
        return mask if legal else rules.FULL


class Question(NamedTuple):
    """A position of a request, with its limits; ``number`` is its index in the request.

    ``short_us`` is the estimated time of its search in µs, 0 if the search cannot share a turn of a search thread.
    ``allow`` is a mask of the moves to consider, ``over`` tells whether the game is over, and ``canonical`` is the
    position in canonical form.
    """

    terms: Terms
    number: int
    position: Position
    limits: Limits
    short_us: int
    allow: int
    over: bool
    canonical: Canonical

    def lines(self, allow: int) -> int:
        """Return the number of legal moves in ``allow``, but 1 if there is only the pass or the game is over."""
        return max(1, (self.position.moves & allow).bit_count())

    def answer(self, moves: list[Data], nodes: int = 0, ms: float = 0.0, **extra: Any) -> Data:
        """Return the answer as data; ``moves`` are best first, ``nodes`` and ``ms`` the cost of the search. ``extra``
        fields are added.
        """
        terms = self.terms
        data: Data = {}
        if terms.plies is not None:
            data["ply"] = terms.plies[self.number]
        elif terms.listed:
            data["item"] = self.number
        data["board"] = board_text(self.position)
        data["moves"] = moves
        data["nodes"] = nodes
        data["time_ms"] = round(ms, 3)
        data["canonical"] = f"{discs_text(*self.canonical[:2])} X"
        if terms.deterministic:
            data["deterministic"] = True
        data.update(extra)
        return data


def read_questions(
    terms: Terms, values: Data, pause: Callable[[], None] = lambda: None, reader: LineReader | None = None
) -> list[Question]:
    """Return a question for each position of the request. Raises `RequestError` for a wrong position, ply or move.

    For a list of positions call `check_list` before. ``pause`` is called at intervals within a long list. With
    ``reader``, which must be this thread's, a list takes less time.
    """
    if terms.listed:
        questions: list[Question] = []
        items = values["positions"]
        for first in range(0, len(items), _READ_AT_ONCE):
            if first:
                pause()
            questions += _read_listed(terms, first, items[first : first + _READ_AT_ONCE], reader)
        return questions
    if terms.plies is None:
        return [terms.question(last_position(values))]
    positions = read_line(values).positions()
    last = len(positions) - 1
    wrong = next((ply for ply in terms.plies if not 0 <= ply <= last), None)
    if wrong is not None:
        raise RequestError("bad_request", f"ply {wrong}: expected one from 0 to {last}", "plies")
    return [terms.question(positions[ply], number) for number, ply in enumerate(terms.plies)]


def _read_listed(terms: Terms, first: int, items: list[Data], reader: LineReader | None) -> Iterator[Question]:
    """Yield the questions about a part of a list of positions; ``first`` is the number of its first. Raises
    `RequestError` for a wrong position or move.
    """
    if reader is None:
        for number, item in enumerate(items, first):
            yield terms.question(read_listed(number, item, last_position), number)
        return
    starts = [read_listed(number, item, read_first) for number, item in enumerate(items, first)]
    texts = [item.get("moves") or "" for item in items]
    boards = reader.play([(*start[:2], moves) for start, moves in zip(starts, texts, strict=True)])
    for number, (item, start, moves, board) in enumerate(zip(items, starts, texts, boards, strict=True), first):
        if board is None:
            yield terms.question(read_listed(number, item, last_position), number)
        else:
            position = Position(board.player, board.opponent, start.black_to_move != bool(len(moves) & 2))
            yield terms.question(position, number, (board.over, board.canonical))


def check_list(values: Data) -> None:
    """Check a request with `positions`: raise `RequestError` for arguments that exclude it, and for too long a list."""
    check_list_alone(values)
    if values.get("plies") is not None:
        raise RequestError("bad_request", "positions and plies exclude each other", "positions")
    positions, multipv = len(values["positions"]), values.get("multipv", 1)
    if positions * multipv > MOST_LISTED_MOVES:
        raise RequestError(
            "too_large",
            f"{positions} positions with multipv {multipv}: expected at most {MOST_LISTED_MOVES} moves in all",
            "positions",
        )


def line_data(line: Line) -> Data:
    """Return a line of a search as an item of ``moves``; scores in discs for the side to move at the root."""
    return {
        "move": move_text(line.move).lower(),
        "score": line.score,
        "lower": line.lower,
        "upper": line.upper,
        "depth": line.depth,
        "selectivity": line.selectivity,
        "exact": line.exact,
        "source": "search",
        "pv": moves_text(line.pv),
        "nodes": line.nodes,
    }
