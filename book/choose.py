"""The choice of a move from the book."""

from __future__ import annotations

import enum
import math
import random
from typing import NamedTuple

from .book import Book, MoveInBook
from .errors import within


class Choice(enum.StrEnum):
    """The criterion by which a move is chosen from the book."""

    VALUE = "value"
    """The score."""

    RESULTS = "results"
    """The results of games; the more games a move has, the less its score counts."""

    MIXED = "mixed"
    """The results, among the moves at most `MoveChoice.randomness` discs below the best score."""


class MoveChoice(NamedTuple):
    """Options of the choice: a `Choice`, and what limits it.

    ``randomness`` is how many discs below the best score a move may be; ``reject`` the probability 0..1 to leave the
    book on purpose, for learning; ``least_level`` the lowest level of a link's score that is used. ``registered_only``
    excludes the leaf: only links are chosen.
    """

    choice: str = Choice.VALUE
    randomness: int = 0
    reject: float = 0.0
    least_level: int = -1
    registered_only: bool = False


PRIOR_GAMES = 10
"""The weight of a search's score in games when it is mixed with the results of games."""
_UNSCORED_PRIOR = 1
"""The games, half of them won, that a move without a score begins with."""

_DISCS = 8
"""A score of this many discs counts as a share of e / (1 + e) = 73 % of the points."""


def _results(book: Book, move: MoveInBook) -> tuple[float, float, float]:
    """Return the numbers of games won, drawn and lost by the side that plays ``move``; zeros for a leaf. They may be
    fractions (`game_results`).
    """
    if not move.linked:
        return 0.0, 0.0, 0.0
    won, drawn, lost = book.table.results(move.row)
    return lost, drawn, won


def _supposed_share(book: Book, move: MoveInBook, rng: random.Random) -> float:
    """Return a share of the points (0 to 1) for a move, drawn at random by its score and its games' results.

    The draw is from a beta distribution. The more games a move has, the closer the draw is to their share: 700 of 1000
    points mostly beat 8 of 10. A move without games competes by its score alone, one without a score by its games
    alone.
    """
    won, drawn, lost = _results(book, move)
    games, expected = PRIOR_GAMES, 1 / (1 + math.exp(-move.score / _DISCS))
    if not move.scored:
        games, expected = _UNSCORED_PRIOR, 0.5
    return rng.betavariate(won + drawn / 2 + games * expected, lost + drawn / 2 + games * (1 - expected))


def _holds_its_own(book: Book, move: MoveInBook) -> bool:
    """Return whether a move has games, of which it has lost no more than it has won."""
    won, drawn, lost = _results(book, move)
    return won + drawn + lost > 0 and won >= lost


def candidates(book: Book, player: int, opponent: int, settings: MoveChoice) -> list[MoveInBook]:
    """Return the moves that may be chosen, on the given board, best first; none if `Book.view` returns None.

    With `Choice.RESULTS` a move without a score is one of them, after the others, if it has lost no more games than it
    has won. Left out are other moves without a score, links below ``settings.least_level``, and the leaf if only links
    are wanted or Egaroucid's rule ignores it. Moves more than the randomness below the best are left out too, unless
    `Choice.RESULTS` decides. Raises `OutOfRange` for a randomness outside 0..128.
    """
    within("randomness", settings.randomness, 0, 128)
    known = book.moves_that_count(player, opponent)
    moves = [
        move
        for move in known
        if move.scored
        and (book.table.entry(move.row).level >= settings.least_level if move.linked else not settings.registered_only)
    ]
    if settings.choice == Choice.RESULTS:
        return [*moves, *(move for move in known if not move.scored and _holds_its_own(book, move))]
    return [move for move in moves if move.score >= moves[0].score - settings.randomness]


def choose(book: Book, player: int, opponent: int, settings: MoveChoice, rng: random.Random) -> MoveInBook | None:
    """Return a move of the book for a position in any orientation, as a move on that board; None to leave the book.

    The book is left by chance (``settings.reject``), or if there are no `candidates`. Raises as `candidates` does.

    With `Choice.VALUE` each candidate is equally likely. Otherwise the one with the greatest `_supposed_share` is
    chosen: Thompson sampling (W. R. Thompson, Biometrika 25, 1933; O. Chapelle and L. Li, NIPS 2011). Moves that win
    are played most, moves that lose are given up, little known moves are tried. The same state of ``rng`` gives the
    same choice.
    """
    moves = candidates(book, player, opponent, settings)
    if not moves or (settings.reject and rng.random() < settings.reject):
        return None
    if settings.choice == Choice.VALUE:
        return moves[rng.randrange(len(moves))]
    return max(moves, key=lambda move: _supposed_share(book, move, rng))


def line(book: Book, player: int, opponent: int) -> list[int]:
    """Return the best line through the book from a position, as moves on the given board; [] if no move is known.

    Of equally good moves the lowest square is taken. The line ends after a leaf, or when no move has a score.
    """
    moves: list[int] = []
    while True:
        choices = book.moves_that_count(player, opponent)
        if not choices or not -64 <= choices[0].score <= 64:
            break
        moves.append(choices[0].move)
        player, opponent = book.table.play(player, opponent, choices[0].move)
        if not choices[0].linked:
            break
    return moves
