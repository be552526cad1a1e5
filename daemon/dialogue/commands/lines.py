"""Handlers of the commands on lines of play: names of openings, and ``seek``, which finds a line to a given board."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, moves_text, parse_board, play_moves
from desdaemon.protocol.othello.openings import LANGUAGES, line_or_opening, opening_of
from desdaemon.protocol.othello.rules import A_FILE, CORNERS, H_FILE, PASS

if TYPE_CHECKING:
    from desdaemon.dialogue.dialects.text import TextDialect
    from desdaemon.dialogue.interrupt import StoppableSearch

SEEK_S = 10.0
"""How long `seek` looks before it gives up."""

_REPORT_S = 1.0
_DIRECTIONS = [(right, down) for right in (-1, 0, 1) for down in (-1, 0, 1) if right or down]


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
    if not _can_come_about(game.initial, target):
        text.say("no line leads to that board")
        return
    with text.session.interrupt.searching(bounded=True) as search:
        seeker = _Seeker(target, search, text.say)
        found = seeker.seek(game.initial)
    if found is not None:
        text.say(moves_text(found) if found else "the initial position")
    elif seeker.given_up:
        text.say(f"no line found among {seeker.looked_at} positions; there may be one")
    else:
        text.say("no line leads to that board")


def _can_come_about(initial: Position, target: Position) -> bool:
    """Whether a board may be reachable: False where some discs are not connected to the others, or no move can have
    been the last.
    """
    occupied, joined = target.player | target.opponent, initial.player | initial.opponent
    while True:
        grown = (joined | _neighbours(joined)) & occupied
        if grown == joined:
            break
        joined = grown
    return joined == occupied and (target == initial or any(_last_moves(initial, target)))


def _neighbours(squares: int) -> int:
    sideways = squares | (squares & ~H_FILE) << 1 | (squares & ~A_FILE) >> 1
    return (sideways | sideways << 8 | sideways >> 8) & rules.FULL


def _last_moves(initial: Position, target: Position) -> Iterator[int]:
    """The squares whose disc can have been placed by the last move, of either side: it turned a disc beside it."""
    first = initial.player | initial.opponent
    for own in (target.player, target.opponent):
        for square in rules.squares(own & ~first):
            file, rank = square % 8, square // 8
            for right, down in _DIRECTIONS:
                far = file + 2 * right, rank + 2 * down
                beside = square + right + 8 * down
                if all(0 <= at < 8 for at in far) and own >> beside & own >> beside + right + 8 * down & 1:
                    yield square
                    break


class _Seeker:
    """Depth-first search for a line that leads to a board. Moves that leave most squares as the board has them come
    first.
    """

    def __init__(self, target: Position, search: StoppableSearch, show: Callable[[str], None]) -> None:
        self._target = target
        self._occupied = target.player | target.opponent
        self._search = search
        self._show = show
        self._until = time.monotonic() + SEEK_S
        self._reported_at = time.monotonic()
        self.looked_at = 0
        self.given_up = False
        self._failed: set[Position] = set()

    def seek(self, position: Position) -> list[int] | None:
        """A line from ``position``, or None."""
        if position == self._target:
            return []
        discs = position.player | position.opponent
        if discs == self._occupied and not position.must_pass:
            return None
        if position in self._failed or self._gives_up() or self._lost(position):
            return None
        self.looked_at += 1
        moves = [PASS] if position.must_pass else rules.squares(position.moves & self._occupied)
        after = [(position.after(move), move) for move in moves]
        for child, move in sorted(after, key=lambda pair: self._wrong(pair[0])):
            rest = self.seek(child)
            if rest is not None:
                return [move, *rest]
        if not self.given_up:
            self._failed.add(position)
        return None

    def _gives_up(self) -> bool:
        now = time.monotonic()
        if now - self._reported_at >= _REPORT_S:
            self._reported_at = now
            self._show(f"Seek...{self.looked_at} positions looked at")
        self.given_up = self.given_up or self._search.stopped or now >= self._until
        return self.given_up

    def _lost(self, position: Position) -> bool:
        """Whether a corner has a disc of the wrong colour, which can never be turned."""
        wrong = position.black & self._target.white | position.white & self._target.black
        return bool(wrong & CORNERS)

    def _wrong(self, position: Position) -> int:
        return ((position.black & self._target.white) | (position.white & self._target.black)).bit_count()


HANDLERS: dict[str, Callable[[TextDialect, str], None]] = {
    "play": _play,
    "force": _force,
    "opening": _opening,
    "ouverture": _ouverture,
    "seek": _seek,
}
