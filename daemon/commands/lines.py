"""The text commands about lines of play: names of openings, and how a board can be reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, moves_text, parse_board, play_moves
from desdaemon.protocol.othello.openings import LANGUAGES, line_or_opening, opening_of
from desdaemon.protocol.othello.rules import PASS

if TYPE_CHECKING:
    from desdaemon.dialects.text import TextDialect
    from desdaemon.session.interrupt import Search

MOST_POSITIONS = 2_000_000
"""Looked at by `seek` before it gives up."""


def _play(text: TextDialect, argument: str) -> None:
    moves = line_or_opening(argument)
    if not moves:
        raise BadInput("play: expected moves such as f5d6c3, or an opening such as Tiger")
    for move in play_moves(text.session.game.position, moves):
        text.session.play_move(move)
    text.played()


def _force(text: TextDialect, argument: str) -> None:
    text.session.force(line_or_opening(argument))


def _opening(text: TextDialect, argument: str) -> None:
    language = argument.lower() or LANGUAGES[0]
    if language not in LANGUAGES:
        raise BadInput(f"opening {quoted(argument)}: expected {', '.join(LANGUAGES)} or nothing")
    _say_name(text, language)


def _ouverture(text: TextDialect, argument: str) -> None:
    _say_name(text, "french")


def _say_name(text: TextDialect, language: str) -> None:
    opening = opening_of(text.session.game.positions())
    text.say(opening.name(language) if opening else "?")


def _seek(text: TextDialect, argument: str) -> None:
    target = parse_board(argument)
    game = text.session.game
    if (game.initial.player | game.initial.opponent) & ~(target.player | target.opponent):
        raise BadInput(f"seek {quoted(argument)}: expected a board on which the first discs lie")
    with text.session.interrupt.searching(bounded=True) as search:
        seeker = _Seeker(target, search)
        found = seeker.seek(game.initial)
    if found is not None:
        text.say(moves_text(found) if found else "the initial position")
    elif seeker.left <= 0 or search.stopped:
        text.say(f"no line found among {len(seeker.failed)} positions; there may be one")
    else:
        text.say("no line leads to that board")


class _Seeker:
    """Looks for a line to a board, deepest first, moves that leave the most squares as they have to be first."""

    def __init__(self, target: Position, search: Search) -> None:
        self._target = target
        self._occupied = target.player | target.opponent
        self._search = search
        self.left = MOST_POSITIONS
        self.failed: set[Position] = set()

    def seek(self, position: Position) -> list[int] | None:
        """A line from ``position``, or None."""
        if position == self._target:
            return []
        discs = position.player | position.opponent
        if discs == self._occupied and not position.must_pass:
            return None
        if position in self.failed or self.left <= 0 or self._search.stopped:
            return None
        self.left -= 1
        moves = [PASS] if position.must_pass else rules.squares(position.moves & self._occupied)
        after = [(position.after(move), move) for move in moves]
        for child, move in sorted(after, key=lambda pair: self._wrong(pair[0])):
            rest = self.seek(child)
            if rest is not None:
                return [move, *rest]
        self.failed.add(position)
        return None

    def _wrong(self, position: Position) -> int:
        return ((position.black & self._target.white) | (position.white & self._target.black)).bit_count()


HANDLERS: dict[str, Callable[[TextDialect, str], None]] = {
    "play": _play,
    "force": _force,
    "opening": _opening,
    "ouverture": _ouverture,
    "seek": _seek,
}
