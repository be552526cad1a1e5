"""Games of two books against each other, which one engine plays on where a book has no move."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

from desdaemon.book.book import Book
from desdaemon.book.choose import MoveChoice, choose
from desdaemon.book.editing.rounds import SearchLine, Worker
from desdaemon.book.layout import MAX_LEVEL
from desdaemon.book.progress import WorkCancelled
from desdaemon.clients.programs.openings import key_of
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello.notation import START, Position
from desdaemon.protocol.othello.rules import PASS, final_score, squares

EXACT_EMPTIES = 22
"""The most empty squares of a position that is solved for `promises`."""

_TRIES = 200
"""Lines drawn in a row that lead to no new position, after which there are no more starts."""

Books = tuple[Book, Book]


class Terms(NamedTuple):
    """Rules that all games share: the level of the engine's searches, how moves are chosen from the books, and the
    seed of all chances.
    """

    level: int
    choice: MoveChoice
    seed: int


class BookLine(NamedTuple):
    """What a book knew of a game; scores are discs for its side.

    ``left`` is the number of discs placed before the first move that the book did not know, after the last one that it
    knew, and ``score`` the engine's score then; both None if the book knew a move to the end of the game. ``last`` is
    the number of the record's moves up to the last one of the book, and ``promised`` that move's score in the book;
    both None if the book knew no move.
    """

    left: int | None = None
    score: int | None = None
    last: int | None = None
    promised: int | None = None


class BookGame(NamedTuple):
    """A finished game; ``lines`` are those of the first and of the second book."""

    record: GameRecord
    lines: tuple[BookLine, BookLine]


class Promise(NamedTuple):
    """A position late in a game, whether the book had Black, and the score of its last move, for its side."""

    position: Position
    black: bool
    score: int


def starts(books: Books, count: int, plies: int = 6, seed: int = 1) -> Iterator[GameRecord]:
    """Yield up to ``count`` lines of ``plies`` moves that lead to different positions, drawn in turn from the first
    and from the second book: each move leads to a position of that book, or is any legal one if none does.
    """
    dice = random.Random(seed)
    found: set[tuple[int, int]] = set()
    tries = 0
    while len(found) < count and tries < _TRIES:
        line = _walk(books[tries % 2], plies, dice)
        tries += 1
        if not line.final.over and key_of(line) not in found:
            found.add(key_of(line))
            yield line
            tries %= 2


def _walk(book: Book, plies: int, dice: random.Random) -> GameRecord:
    position, moves = START, list[PlayedMove]()
    while len(moves) < plies and not position.over:
        legal = squares(position.moves) or [PASS]
        known = [move for move in legal if book.entry(*position.after(move)[:2]) is not None]
        move = dice.choice(known or legal)
        position = position.after(move)
        moves.append(PlayedMove(move, 0.0))
    return GameRecord(START, tuple(moves))


def games(books: Books, openings: Sequence[GameRecord], pairs: int, terms: Terms, worker: Worker) -> Iterator[BookGame]:
    """Play ``pairs`` games twice, with exchanged colours, from one opening after the other, again and again. Yield
    them in order: the first book has Black in the first, third ... game. Raises `WorkCancelled` if a search was
    stopped.

    Both games of a pair have the same chances, so that two equal books play the same game twice.
    """
    lines = (
        _play(books, colour, openings[pair % len(openings)], terms, random.Random(f"{terms.seed} {pair}"))
        for pair in range(pairs)
        for colour in (0, 1)
    )
    with closing(worker.follow(lines)) as played:
        yield from played


def _play(books: Books, black: int, opening: GameRecord, terms: Terms, dice: random.Random) -> SearchLine[BookGame]:
    """Yield the searches of a game in which the book with the number ``black`` has Black, and return the game."""
    position, moves = opening.final, [*opening.moves]
    lines = [BookLine(), BookLine()]
    while not position.over:
        move = PASS
        if not position.must_pass:
            side = black if position.black_to_move else 1 - black
            line = lines[side]
            chosen = choose(books[side], position.player, position.opponent, terms.choice, dice)
            if chosen is not None:
                move = chosen.move
                lines[side] = BookLine(last=len(moves) + 1, promised=chosen.score)
            else:
                answer = yield position.player, position.opponent, terms.level, 0
                if answer is None:
                    raise WorkCancelled
                move, score = answer
                if line.left is None:
                    lines[side] = line._replace(left=60 - position.empties, score=score)
        position = position.after(move)
        moves.append(PlayedMove(move, 0.0))
    return BookGame(opening._replace(moves=tuple(moves)), (lines[0], lines[1]))


def promises(played: Sequence[BookGame], book: int, most: int) -> list[Promise]:
    """Return what a book (0 or 1) promised, with its last move in each of the games, the first ``most`` different
    ones. Their positions are those of the games after that move, the first with at most `EXACT_EMPTIES` empty squares.
    """
    found: dict[Promise, None] = {}
    for number, game in enumerate(played):
        line = game.lines[book]
        if line.last is None or line.promised is None:
            continue
        late = [position for position in game.record.positions[line.last :] if position.empties <= EXACT_EMPTIES]
        # A game may be over before.
        position = (late or [game.record.final])[0]
        found[Promise(position, number % 2 == book, line.promised)] = None
    return list(found)[:most]


def losses(asked: Sequence[Promise], worker: Worker) -> Iterator[int]:
    """Yield how many discs less than promised each position is worth to the book's side. Raises `WorkCancelled` if a
    search was stopped.
    """
    with closing(worker.follow(map(_loss, asked))) as found:
        yield from found


def _loss(promise: Promise) -> SearchLine[int]:
    position = promise.position
    if position.must_pass:
        position = position.after(PASS)
    if position.over:
        exact: int = final_score(position.player, position.opponent)
    else:
        answer = yield position.player, position.opponent, MAX_LEVEL, 0
        if answer is None:
            raise WorkCancelled
        exact = answer[1]
    return promise.score - (exact if position.black_to_move == promise.black else -exact)
