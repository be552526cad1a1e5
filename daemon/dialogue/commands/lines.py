"""The commands on lines of play: play or follow one, name its opening, ``seek`` a line that leads to a given board."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from desdaemon.dialogue.interrupt import StoppableSearch
from desdaemon.dialogue.session import CommandContext
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, moves_text, parse_board, play_moves
from desdaemon.protocol.othello.openings import LANGUAGES, line_or_opening, numbered, opening_of
from desdaemon.protocol.othello.rules import A_FILE, CORNERS, H_FILE, PASS
from desdaemon.protocol.spelling import plural

SEEK_S = 10.0
"""Seconds after which `seek` gives up."""

_REPORT_S = 1.0
_DIRECTIONS = [(right, down) for right in (-1, 0, 1) for down in (-1, 0, 1) if right or down]


def play(context: CommandContext, argument: str) -> None:
    moves = line_or_opening(argument)
    if not moves:
        raise BadInput("play: expected moves such as f5d6c3, or an opening such as Tiger")
    for move in play_moves(context.session.game.position, moves).moves:
        context.session.play_move(move)
    context.moved = True


def force(context: CommandContext, argument: str) -> None:
    context.session.force(line_or_opening(argument))


def opening(context: CommandContext, argument: str) -> None:
    language = argument.lower() or LANGUAGES[0]
    if language not in LANGUAGES:
        raise BadInput(f"opening {quoted(argument)}: expected {', '.join(LANGUAGES)} or nothing")
    _say_name(context, language)


def ouverture(context: CommandContext, argument: str) -> None:
    _say_name(context, "french")


def _say_name(context: CommandContext, language: str) -> None:
    positions = context.session.game.positions()
    opening = opening_of(positions)
    names = (opening.name(language) if opening else "", numbered(positions))
    context.say(", ".join(filter(None, names)) or "?")


def seek(context: CommandContext, argument: str) -> None:
    target = parse_board(argument)
    game = context.session.game
    if (game.initial.player | game.initial.opponent) & ~(target.player | target.opponent):
        raise BadInput(f"seek {quoted(argument)}: expected a board with discs on the four centre squares")
    if not _can_come_about(game.initial, target):
        context.say("no line leads to that board")
        return
    with context.session.interrupt.searching(bounded=True) as search:
        seeker = _Seeker(target, search, context.say)
        line = seeker.seek(game.initial)
    if line is not None:
        context.say(moves_text(line) if line else "the initial position")
    elif seeker.given_up:
        context.say(f"no line found in {plural(seeker.looked_at, 'position')}; there may still be one")
    else:
        context.say("no line leads to that board")


def _can_come_about(initial: Position, target: Position) -> bool:
    """Return False if ``target`` cannot arise from ``initial``, because its discs are not connected or no move can have
    been the last; True if it may.
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
    """Yield the squares where the last move to ``target`` can have been played: empty in ``initial``, and now the end
    of three or more discs of one colour in a row.
    """
    first = initial.player | initial.opponent
    for own in (target.player, target.opponent):
        for square in rules.squares(own & ~first):
            file, rank = square % 8, square // 8
            for right, down in _DIRECTIONS:
                far = file + 2 * right, rank + 2 * down
                beside = square + right + 8 * down
                if all(0 <= place < 8 for place in far) and own >> beside & own >> beside + right + 8 * down & 1:
                    yield square
                    break


class _Seeker:
    """Searches depth first for a line to a board. Moves that leave the fewest discs of the wrong colour come first."""

    def __init__(self, target: Position, search: StoppableSearch, show: Callable[[str], None]) -> None:
        self._target = target
        self._occupied = target.player | target.opponent
        self._search = search
        self._show = show
        self._until = time.perf_counter() + SEEK_S
        self._reported_s = time.perf_counter()
        self.looked_at = 0
        """Number of positions visited."""
        self.given_up = False
        self._failed: set[Position] = set()
        """Positions from which no line leads to the board."""

    def seek(self, position: Position) -> list[int] | None:
        """Return the moves of a line from ``position`` to the board; None without one, after a stop or `SEEK_S`."""
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
        now = time.perf_counter()
        if now - self._reported_s >= _REPORT_S:
            self._reported_s = now
            self._show(f"Seek...{self.looked_at} positions looked at")
        self.given_up = self.given_up or self._search.stopped or now >= self._until
        return self.given_up

    def _lost(self, position: Position) -> bool:
        """Return whether a corner has a disc of the wrong colour, which can never be turned."""
        wrong = position.black & self._target.white | position.white & self._target.black
        return bool(wrong & CORNERS)

    def _wrong(self, position: Position) -> int:
        return ((position.black & self._target.white) | (position.white & self._target.black)).bit_count()
