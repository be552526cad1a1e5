"""Analysis of a finished or running game for ``analyze``: for each move its score and that of the best alternative.

The game is walked from its end, so that scores found later in the game correct those of earlier moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from desdaemon.dialogue.session import Session
from desdaemon.protocol.games.judgement import JudgedMove, SearchedMove, equivalents
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import MoverScore, opposite


class _Value(NamedTuple):
    """The value of a position: score for its side to move, whether it is proved, whether it was searched to the end."""

    score: MoverScore
    exact: bool
    full: bool


def judged_moves(session: Session, plies: int) -> Iterator[JudgedMove]:
    """Judge each of the last ``plies`` moves that was not a pass, the last move first.

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
            value = _Value(opposite(value.score), value.exact, value.full)
            if move == PASS:
                continue
            judged = _judge(session, before, move, value, at + 1)
            if search.stopped:
                return
            if judged.other is not None:
                full = judged.played.full and judged.other.full
                value = _Value(max(value.score, judged.other.score), judged.exact, full)
            yield judged


def _judge(session: Session, before: Position, move: int, value: _Value, ply: int) -> JudgedMove:
    limits = session.limits(before)
    played = SearchedMove(move, value.score, limits.depth, limits.selectivity, value.exact, value.full)
    others = before.moves & ~equivalents(before, move)
    result = session.search(before, limits, allow=others) if others else None
    if result is None or not result.lines:
        return JudgedMove(ply, before, played, None)
    line = result.lines[0]
    full = line.depth >= before.empties
    other = SearchedMove(line.move, line.score, line.depth, line.selectivity, line.exact, full)
    return JudgedMove(ply, before, played, other)


def _position_value(session: Session, position: Position) -> _Value:
    if position.over:
        return _Value(rules.final_score(position.player, position.opponent), True, True)
    line = session.search(position, session.limits(position)).lines[0]
    return _Value(line.score, line.exact, line.depth >= position.empties)
