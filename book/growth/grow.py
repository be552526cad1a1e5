"""Edax's ways of growing a book: deviate, enhance, play, extend, fill.

Edax expands one position after the other, so that outdated scores choose the second half of a deviation. Here all
positions of a round are chosen by the same scores, those that Edax uses for its first half.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from desdaemon.book import layout
from desdaemon.book.book import Book
from desdaemon.book.chunks import Rows, address
from desdaemon.book.editing.rounds import CommandOutcome, GrowthCommand, Position, Worker
from desdaemon.book.editing.shrink import root_row
from desdaemon.book.errors import within
from desdaemon.book.exports import await_kernels
from desdaemon.book.layout import EXPAND, NO_SCORE, WALK_STACK_WORDS
from desdaemon.book.negamax import LayerOrder, margins_of
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.table import BookTable, Filters

from .exports import SPEC, kernels

_STEP = 1 << 6
_WALKED = 1 << 14
"""Number of rows between two reports of progress."""
_PART = 16
"""If more than one row in this number is reached, a pass over all rows is faster than following links, and used."""


class Mode(enum.IntEnum):
    """The rule by which `select` follows links and chooses leaves (`kernels.walks.select_rows`)."""

    DEVIATE = layout.DEVIATE
    ENHANCE = layout.ENHANCE
    PLAY = layout.PLAY
    EXTEND = layout.EXTEND


def select(
    book: Book,
    root: Position,
    mode: Mode,
    tolerance: tuple[int, int] = (0, 0),
    window: tuple[int, int] = (-129, 129),
    *,
    orders: Callable[[], LayerOrder] | None = None,
    progress: ProgressCallback = no_progress,
) -> Rows:
    """Return the rows whose leaf is to be added, ascending; nothing is changed. Raises `NotInBook`.

    Only `Mode.DEVIATE` uses ``tolerance`` and ``window``. ``tolerance`` is how many discs a move may lose against its
    position's score: moves of the side to move at ``root``, and moves of the other side. ``window`` is the lowest and
    the highest score that is followed, for the side to move at ``root``. ``orders`` returns the rows in layers by their
    discs; it is called only if more than about 1/`_PART` of the rows are reached.
    """
    book.table.need_all()
    await_kernels(progress, SPEC)
    orders = orders or functools.partial(LayerOrder, book.table, progress)
    row = root_row(book, root)
    table = book.table
    marks: npt.NDArray[np.uint8] = np.zeros(len(book), np.uint8)
    marks[row] = 1
    margins = margins_of(book.options)
    low, high = window
    rules = np.array(
        [mode, *tolerance, low, -high, high, -low, book.options.min_empties, address(margins)],
        np.int64,
    )
    if not _select_below(table, row, marks, rules, progress):
        order = orders()
        places = address(rules), order.filters.at
        for start, end in order.downwards("select", progress):
            kernels().select_rows(table.context, address(order.rows), address(marks), start, end, *places)
    return np.flatnonzero(marks & EXPAND)


def _select_below(
    table: BookTable, row: int, marks: npt.NDArray[np.uint8], rules: npt.NDArray[np.int64], progress: ProgressCallback
) -> bool:
    """Mark in ``marks`` the rows reached from ``row``, and those whose leaf is to be added.

    ``rules`` are the settings that `select` makes for the kernel `select_rows`.

    Returns False, with some reached rows not followed, if about 1/`_PART` of the book was visited or the stack is full.
    """
    stack: npt.NDArray[np.uint64] = np.zeros(WALK_STACK_WORDS, np.uint64)
    stack[:2] = 1, row
    filters = Filters()
    places = address(marks), address(stack), _WALKED, address(rules), filters.at
    for walked in range(0, len(marks) // _PART + _WALKED, _WALKED):
        answer = int(kernels().select_below(table.context, *places))
        progress("select", walked, 0)
        if answer:
            return answer > 0
    return False


def _leaf_children(book: Book, rows: Iterable[int]) -> Iterator[tuple[Position, int]]:
    """Yield the canonical position after each row's leaf, with the leaf's score for the side to move in it."""
    for row in rows:
        entry = book.table.entry(row)
        child = book.table.play(entry.player, entry.opponent, entry.leaf_move)
        yield book.table.canonical(*child)[:2], -entry.leaf_score


def _grow(book: Book, root: Position, worker: Worker, mode: Mode) -> CommandOutcome:
    """Add the leaves that `select` chooses below ``root`` by ``mode`` until there is none. Raises `NotInBook`."""
    root_row(book, root)
    job = GrowthCommand(book, worker)
    return job.run(lambda: _leaf_children(book, select(book, root, mode, progress=job.progress).tolist()))


def deviate_rows(
    book: Book, root: Position, relative: int, absolute: int, progress: ProgressCallback = no_progress
) -> tuple[list[int], list[int]]:
    """Return two lists of the rows that `deviate` with these limits grows next. Raises `NotInBook`.

    The first is for deviations of the side to move at ``root``, the second for those of the other side.
    """
    score = book.table.entry(root_row(book, root)).score
    window = (score - absolute, score + absolute)
    orders = functools.cache(lambda: LayerOrder(book.table, progress))
    first = select(book, root, Mode.DEVIATE, (relative, 0), window, orders=orders, progress=progress)
    second = select(book, root, Mode.DEVIATE, (0, relative), window, orders=orders, progress=progress)
    return first.tolist(), second.tolist()


def deviate(book: Book, root: Position, worker: Worker, relative: int = 2, absolute: int = 4) -> CommandOutcome:
    """Grow the book below ``root`` until nothing is left to add: Edax's main growth.

    Lines are followed in which one side loses up to ``relative`` discs with a move while the other plays its best;
    either side may be the one that loses. Only scores within ``absolute`` discs of the root's are followed. Raises
    `NotInBook` and `OutOfRange`.
    """
    within("relative error", relative, -129, 129)
    within("absolute error", absolute, 0, 65)
    root_row(book, root)

    job = GrowthCommand(book, worker)

    def choose() -> Iterator[tuple[Position, int]]:
        first, second = deviate_rows(book, root, relative, absolute, job.progress)
        return _leaf_children(book, sorted({*first, *second}))

    return job.run(choose)


def enhance(
    book: Book, root: Position, worker: Worker, midgame_error: int | None = None, endcut_error: int | None = None
) -> CommandOutcome:
    """Add every leaf below ``root`` that could be best within the error margins, until there is none. Raises
    `NotInBook` and `OutOfRange`.

    Margins that are given become the book's.
    """
    root_row(book, root)
    options = book.options
    if midgame_error is not None:
        options = options._replace(midgame_error=within("midgame error", midgame_error, 0, 129))
    if endcut_error is not None:
        options = options._replace(endcut_error=within("endcut error", endcut_error, 0, 129))
    book.options = options
    return _grow(book, root, worker, Mode.ENHANCE)


def play_out(book: Book, root: Position, worker: Worker) -> CommandOutcome:
    """Extend each line below ``root`` by best moves to the book's depth or the end of the game. Raises `NotInBook`."""
    return _grow(book, root, worker, Mode.PLAY)


def extend(book: Book, root: Position, worker: Worker) -> CommandOutcome:
    """Add leaves until a best move of every position below ``root`` is in the book, as far as the book's depth allows.
    Raises `NotInBook`.
    """
    return _grow(book, root, worker, Mode.EXTEND)


def _bridges(book: Book, player: int, opponent: int, plies: int, progress: Callable[[], None]) -> set[Position]:
    """Return the positions outside the book on lines from a position to positions of the book ``plies`` plies later.

    The position itself is not among them. ``progress`` is called while it searches, if ``plies`` is 3 or more.
    """
    table = book.table
    found: set[Position] = set()
    for move, row in table.links(player, opponent):
        if plies == 1:
            continue
        if plies > 2:
            progress()
        child = table.play(player, opponent, move)
        beyond = _bridges(book, *child, plies - 1, progress)
        ends = plies == 2 and any(last >= 0 for _, last in table.links(*child))
        if beyond or ends:
            found |= beyond
            if row < 0:
                found.add(table.canonical(*child)[:2])
    return found


def fill_positions(book: Book, depth: int, progress: ProgressCallback = no_progress) -> list[Position]:
    """Return the positions that `fill` adds next: those, within the book's depth, between two positions of the book
    ``depth`` plies apart.
    """
    book.table.need_all()
    found: dict[Position, None] = {}
    for row in range(len(book)):

        def looking(row: int = row) -> None:
            progress("scan", row, len(book))

        if row % _STEP == 0:
            looking()
        entry = book.table.entry(row)
        if entry.empties >= book.options.min_empties:
            found.update(dict.fromkeys(sorted(_bridges(book, entry.player, entry.opponent, depth, looking))))
    return [
        position for position in found if 64 - (position[0] | position[1]).bit_count() >= book.options.min_empties - 1
    ]


def fill(book: Book, worker: Worker, depth: int = 1) -> CommandOutcome:
    """Add the positions that lie between two positions of the book ``depth`` plies apart, as far as the book's own
    depth reaches, until all are in. 1 adds nothing, because such moves are links already.

    Raises `OutOfRange` if ``depth`` is not 1 to 61.
    """
    within("fill depth", depth, 1, 61)
    job = GrowthCommand(book, worker)

    def choose() -> list[tuple[Position, int]]:
        return [(position, NO_SCORE) for position in fill_positions(book, depth, job.progress)]

    return job.run(choose)
