"""Edax's ways of growing a book: deviate, enhance, play, extend, fill.

Edax expands one position after the other, and lets scores that are out of date choose the second half of a
deviation; the positions chosen in a round here are those that Edax chooses in its first.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import Book
from desdaemon.book.chunks import Rows, address
from desdaemon.book.compiled import kernels
from desdaemon.book.errors import within
from desdaemon.book.negamax import Order, margins_of
from desdaemon.book.progress import Going, silent
from desdaemon.book.record import NO_SCORE

from .rounds import Job, Outcome, Position, Worker
from .shrink import root_row

_STEP = 1 << 6
_EXPAND = 64


class Mode(enum.IntEnum):
    """What `select` follows and chooses; see the kernel."""

    DEVIATE = 0
    ENHANCE = 1
    PLAY = 2
    EXTEND = 3


def select(
    book: Book,
    root: Position,
    mode: Mode,
    tolerance: tuple[int, int] = (0, 0),
    window: tuple[int, int] = (-129, 129),
    *,
    order: Order | None = None,
    going: Going = silent,
) -> Rows:
    """The rows whose leaf is to be added, ascending; nothing is changed.

    ``tolerance`` is what the side to move at ``root`` and the other side may lose with a move against the position's
    score; ``window`` the lowest and highest score, seen by the side to move at ``root``; ``order`` is that of the
    book, if there is one already. Raises NotInBook.
    """
    row = root_row(book, root)
    order = order or Order(book.table, going)
    marks: npt.NDArray[np.uint8] = np.zeros(len(book), np.uint8)
    marks[row] = 1
    margins = margins_of(book.options)
    low, high = window
    rules = np.array(
        [mode, *tolerance, low, -high, high, -low, book.options.min_empties, address(margins)],
        np.int64,
    )
    for start, end in order.downwards("select", going):
        kernels().select_rows(book.table.context, address(order.rows), address(marks), start, end, address(rules))
    return np.flatnonzero(marks & _EXPAND)


def _leaf_children(book: Book, rows: Iterable[int]) -> Iterator[tuple[Position, int]]:
    """Where the leaves of rows lead, with the leaf's score seen from there."""
    for row in rows:
        entry = book.table.entry(row)
        child = book.table.play(entry.player, entry.opponent, entry.leaf_move)
        yield book.table.canonical(*child)[:2], -entry.leaf_score


def _grow(job: Job, choose: Callable[[], Iterable[int]]) -> Outcome:
    return job.run(lambda: _leaf_children(job.book, choose()))


def _select_and_grow(job: Job, root: Position, mode: Mode) -> Outcome:
    return _grow(job, lambda: select(job.book, root, mode, going=job.going).tolist())


def deviate_rows(
    book: Book, root: Position, relative: int, absolute: int, going: Going = silent
) -> tuple[list[int], list[int]]:
    """What ``deviate`` chooses in its next round: with the side to move at ``root`` deviating, and the other."""
    score = book.table.entry(root_row(book, root)).score
    window = (score - absolute, score + absolute)
    order = Order(book.table, going)
    first = select(book, root, Mode.DEVIATE, (relative, 0), window, order=order, going=going)
    second = select(book, root, Mode.DEVIATE, (0, relative), window, order=order, going=going)
    return first.tolist(), second.tolist()


def deviate(book: Book, root: Position, worker: Worker, relative: int = 2, absolute: int = 4) -> Outcome:
    """Edax's main growth: one side may lose up to ``relative`` discs a move while the other plays its best, in
    either way round, within ``absolute`` discs of the root's score. Raises NotInBook and OutOfRange."""
    within("relative error", relative, -129, 129)
    within("absolute error", absolute, 0, 65)
    root_row(book, root)

    job = Job(book, worker, f"deviate {relative} {absolute}")

    def choose() -> list[int]:
        first, second = deviate_rows(book, root, relative, absolute, job.going)
        return sorted({*first, *second})

    return _grow(job, choose)


def enhance(book: Book, root: Position, worker: Worker, midgame_error: int = 2, endcut_error: int = 4) -> Outcome:
    """Add, until there is none, every leaf that could be best within the error margins, which become the book's.

    Raises NotInBook and OutOfRange.
    """
    within("midgame error", midgame_error, 0, 129)
    within("endcut error", endcut_error, 0, 129)
    root_row(book, root)
    book.options = book.options._replace(midgame_error=midgame_error, endcut_error=endcut_error)
    return _select_and_grow(Job(book, worker, f"enhance {midgame_error} {endcut_error}"), root, Mode.ENHANCE)


def play_out(book: Book, root: Position, worker: Worker) -> Outcome:
    """Go on with the best move, down to the book's depth, wherever a line below ``root`` ends. Raises NotInBook."""
    root_row(book, root)
    return _select_and_grow(Job(book, worker, "play"), root, Mode.PLAY)


def extend(book: Book, root: Position, worker: Worker) -> Outcome:
    """Add leaves until a best move of every position below ``root`` is in the book. Raises NotInBook."""
    root_row(book, root)
    return _select_and_grow(Job(book, worker, "extend"), root, Mode.EXTEND)


def _bridges(book: Book, player: int, opponent: int, plies: int, going: Callable[[], None]) -> set[Position]:
    """The positions on the ways of ``plies`` plies from a position to positions of the book, both ends left out."""
    table = book.table
    found: set[Position] = set()
    for move, row in table.links(player, opponent):
        if plies == 1:
            continue
        if plies > 2:
            going()
        child = table.play(player, opponent, move)
        beyond = _bridges(book, *child, plies - 1, going)
        ends = plies == 2 and any(last >= 0 for _, last in table.links(*child))
        if beyond or ends:
            found |= beyond
            if row < 0:
                found.add(table.canonical(*child)[:2])
    return found


def fill_positions(book: Book, depth: int, going: Going = silent) -> list[Position]:
    """What ``fill`` adds in its next round: all positions between two positions of the book ``depth`` plies apart."""
    found: dict[Position, None] = {}
    for row in range(len(book)):

        def looking(row: int = row) -> None:
            going("scan", row, len(book))

        if row % _STEP == 0:
            looking()
        entry = book.table.entry(row)
        if entry.empties >= book.options.min_empties:
            found.update(dict.fromkeys(sorted(_bridges(book, entry.player, entry.opponent, depth, looking))))
    return [
        position for position in found if 64 - (position[0] | position[1]).bit_count() >= book.options.min_empties - 1
    ]


def fill(book: Book, worker: Worker, depth: int = 1) -> Outcome:
    """Add the positions between any two positions of the book ``depth`` plies apart, until there are none.

    With 1 nothing is added: links are always found. Raises OutOfRange.
    """
    within("fill depth", depth, 1, 61)
    job = Job(book, worker, f"fill {depth}")

    def choose() -> list[tuple[Position, int]]:
        return [(position, NO_SCORE) for position in fill_positions(book, depth, job.going)]

    return job.run(choose)
