"""Analysis of a finished or running game for ``analyze``: for each move its score and that of the best alternative.

The game is walked from its end, so that scores found later in the game correct those of earlier moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from desdaemon.dialogue.session import Session
from desdaemon.protocol.dialects.edax import MoveVerdict
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import MoverScore, opposite


class _Value(NamedTuple):
    """The value of a position: score for its side to move, whether it is proved, whether it was searched to the end."""

    score: MoverScore
    exact: bool
    full: bool


def verdicts(session: Session, plies: int) -> Iterator[MoveVerdict]:
    """A verdict on each of the last ``plies`` moves that was not a pass, the last move first.

    A stop ends the walk; the move it came in is left out.
    """
    positions = session.game.positions()
    moves = list(session.game.moves)
    first = len(moves) - plies
    bounded = all(session.limits(position).bounded for position in positions[first:])
    with session.interrupt.searching(bounded) as search:
        if plies:
            value = _position_value(session, positions[-1])
        for at in range(len(moves) - 1, first - 1, -1):
            if search.stopped:
                return
            before, move = positions[at], moves[at]
            played = _Value(opposite(value.score), value.exact, value.full)
            if move == PASS:
                value = played
                continue
            verdict, value = _judge(session, before, move, played, at + 1)
            if search.stopped:
                return
            yield verdict


def _judge(session: Session, before: Position, move: int, played: _Value, ply: int) -> tuple[MoveVerdict, _Value]:
    limits = session.limits(before)
    others = before.moves & ~_equivalents(before, move)
    verdict = MoveVerdict(
        ply=ply,
        depth=limits.depth,
        selectivity=limits.selectivity,
        choices=before.moves.bit_count(),
        move=move,
        black=before.black_to_move,
        score=played.score,
        alternative=None,
        alternative_score=MoverScore(0),
        exact=played.exact,
        full=played.full,
    )
    result = session.search(before, limits, allow=others) if others else None
    if result is None or not result.lines:
        return verdict, played
    line = result.lines[0]
    exact = played.exact and line.exact
    full = played.full and line.depth >= before.empties
    verdict = verdict._replace(
        depth=line.depth,
        selectivity=line.selectivity,
        alternative=line.move,
        alternative_score=line.score,
        exact=exact,
        full=full,
    )
    return verdict, _Value(max(played.score, line.score), exact, full)


def _position_value(session: Session, position: Position) -> _Value:
    if position.over:
        return _Value(rules.final_score(position.player, position.opponent), True, True)
    line = session.search(position, session.limits(position)).lines[0]
    return _Value(line.score, line.exact, line.depth >= position.empties)


def _equivalents(position: Position, move: int) -> int:
    """The moves that lead to the position after ``move`` or a mirror image of it, as a mask."""

    def reached(square: int) -> tuple[int, int]:
        return rules.canonical(*rules.play(position.player, position.opponent, square))

    target = reached(move)
    return sum(1 << square for square in rules.squares(position.moves) if reached(square) == target)
