"""What many positions of a book say: moves of games judged by it, problems, best lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from desdaemon.book.book import Book
from desdaemon.book.chunks import CHUNK_ROWS, Words, address
from desdaemon.book.exports import await_kernels
from desdaemon.book.formats.text import move_name
from desdaemon.book.progress import ProgressCallback, no_progress, slices
from desdaemon.book.record import START, empty_squares
from desdaemon.protocol.othello.notation import discs_text

from .exports import SPEC, kernels

_SLICE = 1 << 15
_PAIRS = 1 << 20


class Checked(NamedTuple):
    """Numbers of moves in games: ``missing`` were played in positions outside the book; in positions of the book,
    ``good`` are as good as the best move and ``bad`` are worse.
    """

    missing: int
    good: int
    bad: int

    @property
    def bad_percent(self) -> float:
        """Percent of the moves in known positions that are worse than the best."""
        return 100.0 * self.bad / (self.good + self.bad) if self.good + self.bad else 0.0


def check_games(
    book: Book, games: Iterable[bytes], progress: ProgressCallback = no_progress
) -> tuple[Checked, list[str]]:
    """Compare games from the initial position with the book, each (position, move) once; mirror images count as one.

    Games are moves (squares 0..63, passes may be left out). Also returns lines about games with an illegal move, which
    are used up to that move. Positions beyond the book's depth do not count.
    """
    table, least = book.table, book.options.min_empties
    pairs: list[Words] = [np.empty((0, 4), np.uint64)]
    problems = []
    waiting = 0
    for number, moves in enumerate(games, 1):
        positions, illegal = table.replay(*START, moves, max(0, least - 1))
        if illegal is not None:
            problems.append(f"game {number}: move {illegal + 1} is not legal")
        earlier = positions[:-1]
        shallow = 64 - np.bitwise_count(earlier[:, 0] | earlier[:, 1]) >= least
        pairs.append(np.concatenate([earlier, positions[1:]], axis=1)[shallow])
        waiting += len(earlier)
        if waiting > _PAIRS:
            pairs, waiting = [_different(pairs)], 0
            progress("check", number, 0)
    counts = np.zeros(3, np.uint64)
    distinct = _different(pairs)
    # Not under the lock: nobody looks up while a library is compiled there.
    await_kernels(progress, SPEC)
    for start, end in slices(len(distinct), _SLICE, "check", progress):
        part = np.ascontiguousarray(distinct[start:end])
        with table.lock:
            kernels().judge_moves(table.context, address(part), len(part), address(counts))
    return Checked(*counts.tolist()), problems


def _different(pairs: list[Words]) -> Words:
    """Return the distinct rows of ``pairs``, arrays (n, 4) of a position and the one after a move, as one such
    array.
    """
    rows = np.ascontiguousarray(np.concatenate(pairs))
    return np.unique(rows.view("V32")).view(np.uint64).reshape(-1, 4)


def problems(book: Book, empties: int, count: int, progress: ProgressCallback = no_progress) -> Iterator[str]:
    """Yield at most ``count`` positions with ``empties`` empty squares, two or more known moves and a single best one,
    as lines of a problem file.
    """
    number = 0
    for row in _rows_with(book, empties, progress):
        if number >= count:
            return
        entry = book.table.entry(row)
        moves = book.known_moves(entry)
        if len(moves) < 2 or moves[0].score == moves[1].score:
            continue
        best, *others = (f"{move_name(move.move)}:{move.score:+d}" for move in moves)
        yield f"{discs_text(entry.player, entry.opponent)} X % bm {best}; ba {' '.join(others)};"
        number += 1


def _rows_with(book: Book, empties: int, progress: ProgressCallback) -> Iterator[int]:
    for number, chunk in enumerate(book.table.chunks()):
        first = number * CHUNK_ROWS
        progress("scan", first, len(book))
        yield from (np.flatnonzero(empty_squares(chunk) == empties) + first).tolist()


def best_lines(book: Book, player: int, opponent: int, loss: int = 0, limit: int = 1000) -> Iterator[list[int]]:
    """Yield at most ``limit`` lines of links, as moves on the given board, in which each move loses at most ``loss``
    discs against the best; a line ends when no such link follows.

    Of several moves that lead to the same position, only one is followed.
    """
    given = 0
    stack: list[tuple[tuple[int, int], list[int]]] = [((player, opponent), [])]
    while stack and given < limit:
        position, line = stack.pop()
        moves = book.moves_that_count(*position)
        follow: dict[int, int] = {}
        for move in moves:
            if move.linked and move.score >= moves[0].score - loss:
                follow.setdefault(move.row, move.move)
        if not follow:
            yield line
            given += 1
            continue
        for played in reversed(follow.values()):
            stack.append((book.table.play(*position, played), [*line, played]))
