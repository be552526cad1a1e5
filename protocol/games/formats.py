"""The formats of files of games: lists of moves, and those that satellites bring. Game texts are read and written here.

Forced passes are written if the format has them, and inserted if a text leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from desdaemon.protocol import satellites
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.notation import START, Position, board_text, move_text, play_moves
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import BlackScore, MoverScore
from desdaemon.protocol.rows import GameFormat, load

from .records import GameRecord, GameText, PlayedMove

_TXT = GameFormat(
    "txt",
    "a line of moves such as F5D6C3",
    texts="desdaemon.protocol.games.move_lists:move_lists",
    by_line=True,
    game="desdaemon.protocol.games.move_lists:txt_game",
    written="desdaemon.protocol.games.formats:txt_text",
)
BY_NAME = {
    row.name: row
    for row in (_TXT, *(row for satellite in satellites.present("game_formats") for row in satellite.game_formats))
}
READ_FORMATS = tuple(BY_NAME)
"""The names of all formats."""
FORMATS = tuple(row.name for row in BY_NAME.values() if row.written)
"""The formats in which a game is written as text."""
BASE_FORMATS = tuple(row.name for row in BY_NAME.values() if row.written or row.write)
"""The formats that are written."""


class GameDetails(NamedTuple):
    """What is written beside a game: the arguments of `game_text`."""

    date: str
    event: str | None
    result: BlackScore | None
    comment: str
    notes: Sequence[str]
    scores: Sequence[MoverScore | None]
    round: str
    ending: str


def game_texts(text: str, format: str) -> Iterator[GameText]:
    """Yield the games of a text in one pass; ``format`` is the name of a text format."""
    row = BY_NAME[format]
    games: Iterator[GameText] = load(row.texts)(text.splitlines(keepends=True) if row.by_line else text)
    return games


def game_of(text: GameText, format: str) -> GameRecord:
    """Return the game of a text that `game_texts` yielded; raises `BadInput`."""
    game: GameRecord = load(BY_NAME[format].game)(text)
    return game


def parse_game(text: str, format: str) -> GameRecord:
    """Return the first game of a text in ``format``, one of `FORMATS`; raises `BadInput`, also if there is none."""
    first = next(game_texts(text, format), None)
    if first is None:
        raise BadInput(f"{quoted(text)}: no game found: expected {BY_NAME[format].example}")
    return game_of(first, format)


def game_text(
    record: GameRecord,
    format: str,
    date: str,
    event: str | None = None,
    result: BlackScore | None = None,
    *,
    comment: str = "",
    notes: Sequence[str] = (),
    scores: Sequence[MoverScore | None] = (),
    round: str = "",
    ending: str = "",
) -> str:
    """Return a game as text in ``format``, one of `FORMATS`.

    ``date`` is ``2026-01-31 12:00:00`` (GMT), or only its first part such as ``2026-01-31``, or "" if unknown. With
    ``event`` None GGF names this program as the place. ``result`` is Black's score, for an unfinished game. ``comment``
    is about the game. ``notes`` (SGF, PGN) and ``scores`` (GGF; discs for the mover, None for none) have one item for
    each move from the first on and may be shorter than the game. ``round`` is for PGN, such as ``12.1``.
    ``ending`` says why a game ended early: ``time``, ``hang``, ``resigned``, ``illegal``, ``answer``, ``crash`` or
    ``adjudicated``. The format ``txt`` uses none of these.
    """
    details = GameDetails(date, event, result, comment, notes, scores, round, ending)
    text: str = load(BY_NAME[format].written)(record, details)
    return text


def txt_text(record: GameRecord, _: GameDetails) -> str:
    """Return a game as a line of moves without passes. The initial board comes first if it is not the standard one, or
    if there are no moves.
    """
    moves = "".join(move_text(played.move) for played in record.moves if played.move != PASS)
    return f"{moves}\n" if moves and record.initial == START else f"{board_text(record.initial)};{moves}\n"


def replayed(initial: Position, squares: Iterable[int]) -> tuple[PlayedMove, ...]:
    """Return the moves with missing forced passes inserted; raises `BadInput` for an illegal move."""
    return tuple(PlayedMove(move, 0.0) for move in play_moves(initial, list(squares)).moves)
