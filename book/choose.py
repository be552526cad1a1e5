"""Choosing a move from the book."""

from __future__ import annotations

import enum
import math
import random
from typing import NamedTuple

from desdaemon.protocol.othello.scores import MoverScore

from .book import Book, Evaluate, MoveInBook
from .errors import within
from .layout import MAX_LEVEL, PASS


class Choice(enum.Enum):
    """The criterion by which one of the book's moves is chosen."""

    VALUE = "value"
    """The score."""

    RESULTS = "results"
    """The results of games: the share of points, seen with caution where there were few."""

    MIXED = "mixed"
    """The results among the moves within the randomness."""


class MoveChoice(NamedTuple):
    """Options of the choice.

    ``randomness`` is the number of discs below the best score that a move may be; ``reject`` the probability 0..1 to
    leave the book on purpose, for learning; ``least_level`` the lowest level of a score that is used.
    ``registered_only`` excludes the leaf: only links are chosen.
    """

    choice: Choice = Choice.VALUE
    randomness: int = 0
    reject: float = 0.0
    least_level: int = -1
    registered_only: bool = False


def caution(won: float, drawn: float, lost: float) -> float:
    """A lower limit of the share of points that results prove: Wilson's, with one standard deviation.

    700 of 1000 is worth more than 8 of 10, and both more than no games, which are worth 0.
    """
    games = won + drawn + lost
    if games <= 0:
        return 0.0
    share = (won + drawn / 2) / games
    spread = math.sqrt(share * (1 - share) / games + 1 / (4 * games * games))
    return (share + 1 / (2 * games) - spread) / (1 + 1 / games)


def _results(book: Book, move: MoveInBook) -> tuple[float, float, float]:
    """Games through a move, seen by the side that plays it."""
    if not move.linked:
        return 0.0, 0.0, 0.0
    won, drawn, lost = book.table.results(move.row)
    return lost, drawn, won


def candidates(book: Book, player: int, opponent: int, settings: MoveChoice) -> list[MoveInBook]:
    """The moves that may be chosen, best first: those within the randomness of the best, or, with `Choice.RESULTS`, all
    that were ever played. Empty outside the book. Raises OutOfRange.
    """
    within("randomness", settings.randomness, 0, 128)
    moves = [
        move
        for move in book.moves_on(player, opponent)
        if -64 <= move.score <= 64
        and (book.table.entry(move.row).level >= settings.least_level if move.linked else not settings.registered_only)
    ]
    if not moves:
        return []
    near = [move for move in moves if move.score >= moves[0].score - settings.randomness]
    if settings.choice is Choice.VALUE:
        return near
    pool = near if settings.choice is Choice.MIXED else moves
    played = [move for move in pool if any(_results(book, move))]
    return played or near


def choose(book: Book, player: int, opponent: int, settings: MoveChoice, rng: random.Random) -> MoveInBook | None:
    """One move of the book for a position in any orientation, None to leave the book.

    By value each candidate is equally likely. By results the probability is the points that the move has proved
    (`caution`) times the root of its games, so that good moves with many games lead and rare ones still occur. The same
    generator state gives the same choice.
    """
    found = candidates(book, player, opponent, settings)
    if not found or (settings.reject and rng.random() < settings.reject):
        return None
    if settings.choice is Choice.VALUE:
        return found[rng.randrange(len(found))]
    weights = [caution(*_results(book, move)) * math.sqrt(sum(_results(book, move))) for move in found]
    if not any(weights):
        return found[rng.randrange(len(found))]
    return rng.choices(found, weights)[0]


def checked(book: Book, player: int, opponent: int, chosen: MoveInBook, evaluate: Evaluate, level: int) -> MoveInBook:
    """``chosen``, or a move outside the book that a search at ``level`` finds better.

    Only the legal moves that are not links are searched, and only where the leaf was not already searched at that
    level. A stopped search changes nothing. Raises OutOfRange.
    """
    within("level", level, 0, MAX_LEVEL)
    entry = book.entry(player, opponent)
    if entry is None or (entry.has_leaf and entry.leaf_level >= level):
        return chosen
    links = book.table.links(player, opponent)
    excluded = sum(1 << move for move, row in links if row >= 0 and move < PASS)
    if not any(row < 0 and move < PASS for move, row in links):
        return chosen
    answer = evaluate(player, opponent, level, excluded)
    return MoveInBook(answer[0], MoverScore(answer[1]), -1) if answer and answer[1] > chosen.score else chosen


def line(book: Book, player: int, opponent: int, plies: int = 60) -> list[int]:
    """The best line through the book from a position: at each step the first of the best moves, until the book ends."""
    moves: list[int] = []
    while len(moves) < plies:
        known = book.moves_on(player, opponent)
        if not known or not -64 <= known[0].score <= 64:
            break
        moves.append(known[0].move)
        player, opponent = book.table.play(player, opponent, known[0].move)
        if not known[0].linked:
            break
    return moves
