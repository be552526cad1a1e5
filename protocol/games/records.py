"""The record of a game: initial position, every move with forced passes and its time, names and clocks.

Text that cannot be read raises `BadInput`; a game with an illegal move is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, escaped
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import (
    Position,
    illegal_move,
)
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import BlackScore, seen_by_black

Complain = Callable[[str], None]
"""Takes the message about a game that cannot be read."""


def complain(line: str, bad: Complain | None) -> None:
    """Pass a message to ``bad``; without it raise `BadInput`."""
    if bad is None:
        raise BadInput(line) from None
    bad(line)


class ClockTerms(NamedTuple):
    """A side's clock: milliseconds for the game, and milliseconds added after each move; both 0 without a clock."""

    main: float
    increment: float


class PlayedMove(NamedTuple):
    """A move (0..63, or a pass) and the milliseconds it took, 0 if unknown."""

    move: int
    ms: float


class GameRecord(NamedTuple):
    """A game. ``moves`` holds every forced pass; names may be empty; the clocks are Black's and White's."""

    initial: Position
    moves: tuple[PlayedMove, ...]
    black: str = ""
    white: str = ""
    black_clock: ClockTerms = ClockTerms(0.0, 0.0)
    white_clock: ClockTerms = ClockTerms(0.0, 0.0)

    @property
    def positions(self) -> list[Position]:
        """The positions before each move, and the last one."""
        positions = [self.initial]
        for played in self.moves:
            positions.append(positions[-1].after(played.move))
        return positions

    @property
    def final(self) -> Position:
        """The position after the last move."""
        return self.positions[-1]


def follow(initial: Position, moves: list[tuple[bool, int, float]]) -> tuple[PlayedMove, ...]:
    """Return a game's moves from ``initial``, missing forced passes inserted and passes after its end removed. Each of
    ``moves`` is a triple of whether it is Black's, the move, and its milliseconds.

    Raises `BadInput` for an illegal move or one of the wrong side.
    """
    position = initial
    played: list[PlayedMove] = []
    for number, (black, move, ms) in enumerate(moves, 1):
        if move == PASS and position.over:
            continue
        if black != position.black_to_move and move != PASS and position.must_pass:
            played.append(PlayedMove(PASS, 0.0))
            position = position.after(PASS)
        if black != position.black_to_move:
            raise BadInput(
                f"move {number} is {'Black' if black else 'White'}'s: expected one of "
                f"{'Black' if position.black_to_move else 'White'}"
            )
        try:
            position = position.after(move)
        except rules.IllegalMove:
            raise BadInput(illegal_move(position, move, number)) from None
        played.append(PlayedMove(move, ms))
    return tuple(played)


WRITTEN_RESULT = "*"
"""The name in a `GameText` of the result that stands after the moves."""


class GameText(NamedTuple):
    """The text of a game in parts: where it begins (an index; in a format of lines the number of one), and its
    pairs of a name in upper case and a value, in order.

    A move, or a line of moves, to which the text gives no name has the name "". ``fault`` says why the text cannot be a
    game, "" if it can.
    """

    start: int
    properties: list[tuple[str, str]]
    fault: str = ""

    def tags(self) -> dict[str, str]:
        """Return the first value for each name, in one line without blanks around it."""
        return {name: plain_name(value) for name, value in reversed(self.properties)}


def plain_name(text: str) -> str:
    """Return a name in one line, without blanks around it, control characters escaped."""
    text = text.strip()
    return text if text.isprintable() else escaped(" ".join(text.split()))


def final_result(record: GameRecord, claimed: BlackScore | None) -> BlackScore | None:
    """Return Black's score of a finished game, empty squares counted for the winner; of another game ``claimed``."""
    final = record.final
    return black_score(final) if final.over else claimed


def black_score(position: Position) -> BlackScore:
    """Return Black's score of a finished game in discs, empty squares counted for the winner."""
    return seen_by_black(rules.final_score(position.player, position.opponent), position.black_to_move)
