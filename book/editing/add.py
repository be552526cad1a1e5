"""Adding positions and games to a book."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import Book
from desdaemon.book.chunks import Words
from desdaemon.book.errors import within
from desdaemon.book.exports import await_kernels
from desdaemon.book.games import identity, new_games, packed, squares, unpacked
from desdaemon.book.options import BookOptions
from desdaemon.book.progress import ProgressCallback, WorkCancelled, no_progress
from desdaemon.book.record import START, unsearched

from .game_results import count
from .rounds import CommandOutcome, GrowthCommand, Position, Worker

_GAMES = 1 << 10
_UNSORTED = 1 << 20


def kept_positions(book: Book, positions: Iterable[Position]) -> Iterator[Position]:
    """Yield the canonical forms of the ``positions`` that are within the book's depth."""
    least = book.options.min_empties - 1
    for player, opponent in positions:
        if 64 - (player | opponent).bit_count() >= least:
            yield book.table.canonical(player, opponent)[:2]


def add_positions(book: Book, positions: Iterable[Position], worker: Worker) -> CommandOutcome:
    """Add positions, in any orientation, within the book's depth; then search their open leaves and those of parents
    that now link to them, and run negamax.

    After a cancellation the positions added so far stay, but scores may be stale.
    """
    job = GrowthCommand(book, worker)
    stored = list(kept_positions(book, positions))

    def work() -> None:
        job.rounds = 1
        job.store(stored)

    return job.outcome(work)


class BookGame(NamedTuple):
    """A game from the initial position; its ``moves`` are squares 0..63, and passes may be left out.

    ``score`` is the final score in discs for the first mover, None if unknown. ``about`` tells games with the same
    moves apart, for example by players and date. ``source`` is the name of the game's file.
    """

    moves: bytes
    score: int | None = None
    about: str = ""
    source: str = ""


class AddedGames(NamedTuple):
    """The outcome of `add_games`. ``problems`` are messages about games with an illegal move, which are used up to that
    move; ``counted`` is the number of games that are new, ``known`` that of games counted before.
    """

    outcome: CommandOutcome
    problems: list[str]
    counted: int = 0
    known: int = 0


def add_games(
    book: Book,
    games: Iterable[BookGame],
    worker: Worker,
    *,
    keep_results: bool = False,
    adjusting: bool = False,
    search: bool = True,
    played: int = 1,
) -> AddedGames:
    """Add the positions of many games within the book's depth. Search (if ``search``) the open leaves of the games'
    positions, and those of parents that now link to them. Run negamax.

    With ``played`` above 1 only positions that at least this number of the games reach are added, the most played
    first, so that these are searched first too.

    With ``keep_results`` the games' results are counted for their positions, in one step at the end, so that a command
    that was cancelled and is repeated counts each once. ``games`` is then iterated twice, so it must not be an
    iterator. A game with the moves and the ``about`` of a counted one is not counted again; games of one file with an
    empty ``about`` are different games even if their moves are equal. ``adjusting`` also makes each lost game's line
    less attractive to its loser (`game_results.adjust`).
    """
    job = GrowthCommand(book, worker)
    problems: list[str] = []

    def add() -> None:
        whole = book.complete or not len(book)
        rows = _union(add_all())
        if search:
            job.rounds = 1
            job.complete_at(rows, whole=whole)

    def add_all() -> Iterator[npt.NDArray[np.int64]]:
        first = 1
        counts = _PlayCounts()
        waiting = iter(games)
        while batch := list(itertools.islice(waiting, _GAMES)):
            keys = _positions_of(book, batch, first, problems)
            if played > 1:
                counts.add(keys)
            else:
                yield _add_keys(job, keys)
            first += len(batch)
            job.progress("add", first - 1, 0)
        if played > 1:
            yield _add_keys(job, counts.most_played(played))

    outcome = job.outcome(add)
    if outcome.finished and keep_results:
        try:
            return AddedGames(outcome, problems, *_count_results(job, games, adjusting=adjusting))
        except WorkCancelled:
            outcome = outcome._replace(finished=False)
    return AddedGames(outcome, problems)


def _positions_of(book: Book, batch: list[BookGame], first: int, problems: list[str]) -> Words:
    """Return the positions, within the book's depth, of a batch of games, whose first game has the number ``first``.

    Appends a line about each game with an illegal move to ``problems``.
    """
    least = max(0, book.options.min_empties - 1)
    replayed = []
    for number, game in enumerate(batch, first):
        positions, illegal = book.table.replay(*START, game.moves, least)
        replayed.append(positions)
        if illegal is not None:
            problems.append(f"game {number}: move {illegal + 1} is not legal")
    return np.concatenate(replayed)


class _PlayCounts:
    """Counts how many games reach each position."""

    def __init__(self) -> None:
        self._keys: Words = np.empty((0, 2), np.uint64)
        self._counts: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._new: list[Words] = []
        self._waiting = 0

    def add(self, keys: Words) -> None:
        """Count the positions of further games; ``keys`` has each position once for every game that reaches it."""
        self._new.append(keys)
        self._waiting += len(keys)
        # So the memory is that of the distinct positions, and each is sorted only a few times.
        if self._waiting > max(_UNSORTED, len(self._keys)):
            self._sort()

    def _sort(self) -> None:
        keys = np.concatenate([self._keys, *self._new])
        counts = np.concatenate([self._counts, np.ones(self._waiting, np.int64)])
        order = np.lexsort(keys.T)
        keys, counts = keys[order], counts[order]
        fresh = np.ones(len(keys), np.bool_)
        fresh[1:] = (keys[1:] != keys[:-1]).any(axis=1)
        starts = np.flatnonzero(fresh)
        self._keys, self._counts = keys[starts], np.add.reduceat(counts, starts) if len(starts) else counts
        self._new, self._waiting = [], 0

    def most_played(self, least: int) -> Words:
        """Return the positions that at least ``least`` games reach, in falling order of that number, then by board."""
        self._sort()
        often = np.flatnonzero(self._counts >= least)
        return self._keys[often[np.argsort(-self._counts[often], kind="stable")]]


def _union(parts: Iterable[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Return the numbers of all parts, each once, in order; the parts are not kept until the end."""
    union, new, waiting = np.empty(0, np.int64), [np.empty(0, np.int64)], 0
    for part in parts:
        new.append(part)
        waiting += len(part)
        if waiting > max(_UNSORTED, len(union)):
            union, new, waiting = np.unique(np.concatenate([union, *new])), [], 0
    return np.unique(np.concatenate([union, *new]))


def _add_keys(job: GrowthCommand, keys: Words) -> npt.NDArray[np.int64]:
    """Add canonical positions, uint64 (n, 2), without searches; positions of the book stay unchanged. Return the rows
    of all of them, each once.
    """
    book = job.book
    missing = keys[book.table.find_many(keys) < 0]
    number = len(book)
    book.put_new(unsearched(missing, book.options.level))
    job.added += len(book) - number
    return np.unique(book.table.find_many(keys))


def _count_results(job: GrowthCommand, games: Iterable[BookGame], *, adjusting: bool) -> tuple[int, int]:
    """Count the results of all games with a known score, in one step; with ``adjusting`` make each lost game's line
    less attractive to its loser. Returns the numbers of games counted now and of games that had been counted before.
    """
    new = bytearray()
    repeated: Counter[bytes] = Counter()
    source = ""
    for game in games:
        if game.score is None:
            continue
        if game.source != source:
            source = game.source
            repeated.clear()
        moves = squares(game.moves)
        mark = identity(START, moves, game.about)
        if not game.about:
            repeated[mark] += 1
            if repeated[mark] > 1:
                mark = identity(START, moves, str(repeated[mark]))
        new += packed(mark, START, moves, game.score, source, learned=adjusting)
    given = unpacked(bytes(new))
    fresh = new_games(given, job.book.games)
    count(job.book, fresh, all_games=True, progress=job.progress)
    return len(fresh), len(given) - len(fresh)


def fix(book: Book, worker: Worker) -> CommandOutcome:
    """Drop leaves that are links or illegal, search open leaves and bring all scores up to date."""
    return GrowthCommand(book, worker).run()


def enumerate_book(plies: int, options: BookOptions, progress: ProgressCallback = no_progress) -> Book:
    """Return a new book of every position up to ``plies`` moves after the initial one; a forced pass counts as a move.

    Nothing is searched: the positions have no score and an open leaf. Each ply has about seven times as many positions
    as the one before. Raises `OutOfRange` above 12 plies.
    """
    within("plies", plies, 0, 12)
    await_kernels(progress)
    book = Book(options)
    book.table.insert(*START)
    first = 0
    for _ in range(plies):
        last = len(book)
        book.table.insert_children(first, last, progress)
        first = last
    return book
