"""The book played against itself: games whose positions are stored and whose results are counted."""

from __future__ import annotations

import random
from contextlib import closing
from typing import NamedTuple

import numpy as np

from desdaemon.book.book import Book
from desdaemon.book.choose import MoveChoice, choose
from desdaemon.book.editing.add import kept_positions
from desdaemon.book.editing.game_results import count, live_game
from desdaemon.book.editing.rounds import CommandOutcome, Position, SearchLine, Worker
from desdaemon.book.errors import within
from desdaemon.book.games import moves_of
from desdaemon.book.games import played as with_moves
from desdaemon.book.layout import MAX_LEVEL
from desdaemon.book.progress import WorkCancelled
from desdaemon.protocol.othello.rules import final_score

from .learn import RememberedRounds

ROUND = 8
"""Number of games of a round. All use the book as it was before, so that the number of threads does not matter."""

MAX_GAMES = 1_000_000


class SelfPlayTerms(NamedTuple):
    """Options of self-play.

    ``level`` is that of searches outside the book, ``settings`` is the choice of book moves, ``seed`` that of all
    random choices (0: different each time). One of ``openings`` (moves without passes) is drawn for each game and
    played first; after it, moves are random up to ply ``random_plies``.
    """

    level: int
    settings: MoveChoice = MoveChoice()
    seed: int = 0
    random_plies: int = 0
    openings: tuple[tuple[int, ...], ...] = ()


class SelfPlayTally(NamedTuple):
    """Numbers of games won, drawn and lost by the side to move in the position where the games start."""

    won: int = 0
    drawn: int = 0
    lost: int = 0


_CHANCES = int.from_bytes(b"selfplay")
"""The number under which a book keeps the seed of a round that was stopped, among those of schedules."""


def _play(
    rounds: RememberedRounds, root: Position, terms: SelfPlayTerms, dice: random.Random
) -> SearchLine[list[Position]]:
    """Yield the searches of a game, and return its positions, those of passes included. Raises `WorkCancelled` if a
    search was stopped.
    """
    book, table = rounds.book, rounds.book.table
    position = root
    positions = [root]
    opening = dice.choice(terms.openings) if terms.openings else ()
    while True:
        legal = table.moves(*position)
        if not legal:
            if not table.moves(*reversed(position)):
                return positions
            position = position[1], position[0]
            positions.append(position)
            continue
        if len(positions) <= len(opening):
            move = opening[len(positions) - 1]
        elif len(positions) <= terms.random_plies:
            move = dice.choice([square for square in range(64) if legal >> square & 1])
        else:
            with table.lock:
                chosen = choose(book, *position, terms.settings, dice)
            move = chosen.move if chosen is not None else (yield from rounds.ask((*position, terms.level, 0)))[0]
        position = table.play(*position, move)
        positions.append(position)


def self_play(
    book: Book,
    root: Position,
    worker: Worker,
    games: int,
    terms: SelfPlayTerms,
    *,
    adjusting: bool = False,
    before: int | None = None,
) -> tuple[CommandOutcome, SelfPlayTally]:
    """Play games from ``root``; store their positions within the book's depth, search the leaves, count the results.

    ``adjusting`` makes lost lines less attractive to the loser (`game_results.adjust`). `ROUND` games are played at a
    time, on all threads. The games of a round that was stopped are not counted; the next run plays them again, by the
    searches that the book remembers. If an earlier process began this, ``before`` is how many games the book had then:
    those since count among ``games``. Raises `OutOfRange`.
    """
    within("games", games, 1, MAX_GAMES)
    within("level", terms.level, 0, MAX_LEVEL)
    job = RememberedRounds(book, worker)
    seeds = random.Random(terms.seed or None)
    first = len(with_moves(book.games)) if before is None else before
    counted = with_moves(book.games)[first:]

    def play_round(done: int) -> None:
        chances = seeds
        if not terms.seed:
            kept = book.steps.get(_CHANCES) or seeds.getrandbits(63) | 1
            book.step(_CHANCES, kept)
            chances = random.Random(kept)
        dice = [random.Random(chances.getrandbits(64)) for _ in range(min(ROUND, games - done))]
        played = []
        with closing(worker.follow(_play(job, root, terms, each) for each in dice)) as following:
            for game in following:
                played.append(game)
                job.progress("games", done + len(played), games)

        with job.storing([position for positions in played for position in kept_positions(book, positions)]):
            for positions in played:
                last = final_score(*positions[-1])
                score = last if len(positions) % 2 else -last
                count(book, live_game(positions, score, "self-play", learned=adjusting))
            book.forget()
            if not terms.seed:
                book.step(_CHANCES, 0)
        job.negamax()
        if job.full:
            raise WorkCancelled

    def work() -> None:
        if len(counted):
            # The round that was killed may lack searches.
            lines = zip(counted["player"].tolist(), counted["opponent"].tolist(), moves_of(counted), strict=True)
            keys = np.concatenate([book.table.replay(*line)[0] for line in list(lines)[-ROUND:]])
            rows = book.table.find_many(keys)
            job.complete_at(np.unique(rows[rows >= 0]), whole=False)
            job.negamax()
        for done in range(len(counted), games, ROUND):
            job.rounds += 1
            play_round(done)

    for _ in counted:
        seeds.getrandbits(64)
    outcome = job.outcome(work)
    scores = with_moves(book.games)["score"][first:]
    tally = (np.count_nonzero(scores > 0), np.count_nonzero(scores == 0), np.count_nonzero(scores < 0))
    return outcome, SelfPlayTally(*map(int, tally))
