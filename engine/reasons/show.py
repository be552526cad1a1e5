"""The command `explain`."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.judgement import SearchedMove, as_played
from desdaemon.protocol.othello.notation import Position, illegal_move, parse_move, square_text
from desdaemon.protocol.othello.rules import FULL, PASS
from desdaemon.protocol.spelling import plural

from .explain import reasons

if TYPE_CHECKING:
    from desdaemon.dialogue.session import CommandContext, Session

_COLUMNS = 79


def show(context: CommandContext, argument: str) -> None:
    session = context.session
    position, move = _asked(session, argument)
    with session.interrupt.searching(session.limits(position, clocks=False).bounded) as search:
        best = _searched(session, position, FULL)
        played = as_played(position, best, move)
        if played is None and not search.stopped:
            played = _searched(session, position, 1 << move)
    if played is None or search.stopped:
        raise BadInput("explain: stopped before both moves were searched")
    name, lost = square_text(move), best.score - played.score
    if lost <= 0:
        context.say(f"{name} loses nothing: {played.score:+}")
        return
    found = reasons(position, played.line, best.line)
    mover = "Black" if position.black_to_move else "White"
    # The last move may be the opponent's.
    you = f' ("you" is {mover})' if found and not argument else ""
    context.say(
        f"{name} loses {mover} {plural(lost, 'disc')}: {played.score:+}, with {square_text(best.move)} instead "
        f"{best.score:+}{you}"
    )
    for reason in found:
        context.say(fill(reason.text, _COLUMNS, initial_indent="- ", subsequent_indent="  "))
    if not found:
        context.say("no difference on the board explains it")


def _asked(session: Session, argument: str) -> tuple[Position, int]:
    """Return the move to explain, and the position where it is or was played. Raises `BadInput` if there is none."""
    game = session.game
    if argument:
        position, move = game.position, parse_move(argument)
        if move == PASS or not position.moves >> move & 1:
            raise BadInput(f"explain: {illegal_move(position, move)}")
        return position, move
    for position, move in zip(reversed(game.positions()[:-1]), reversed(list(game.moves)), strict=True):
        if move != PASS:
            return position, move
    raise BadInput("explain: no move was played: expected a move, such as explain f5")


def _searched(session: Session, position: Position, allow: int) -> SearchedMove:
    """Return the best of the moves ``allow``, by a search within the options' limits."""
    line = session.search(position, session.limits(position, clocks=False), allow=allow).lines[0]
    return SearchedMove(line.move, line.score, line.depth, line.selectivity, line.exact, line=line.pv)
