"""The content of a book: summaries, statistics, single entries as text, games and problems compared with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from desdaemon.book.book import Book, MoveInBook
from desdaemon.book.chunks import CHUNK_ROWS, Words, address
from desdaemon.book.exports import kernels
from desdaemon.book.formats.losses import RULES
from desdaemon.book.formats.text import board_text, move_name
from desdaemon.book.games import sources
from desdaemon.book.growth.game_results import results_of
from desdaemon.book.negamax import reach
from desdaemon.book.options import Rule
from desdaemon.book.progress import ProgressCallback, no_progress, slices
from desdaemon.book.record import START, PositionEntry

from .children import LEAF, LINK, ReportedMove

_SLICE = 1 << 15
_PAIRS = 1 << 20
_OUTCOMES = ("win", "draw", "loss")


class EmptiesRow(NamedTuple):
    """The counts for the positions with one number of empty squares."""

    empties: int
    positions: int
    links: int
    leaves: int
    finished: int


class BookSummary(NamedTuple):
    """A book at a glance; ``levels`` counts positions by level, ``by_empties`` has a row for each number of empties,
    most first.
    """

    positions: int
    links: int
    leaves: int
    finished: int
    levels: dict[int, int]
    scores: dict[int, int]
    depth: int
    memory: int
    by_empties: list[EmptiesRow]
    unreachable: int
    """Positions that no line of the book from the initial position reaches; -1 if not counted."""

    @property
    def bytes_per_position(self) -> float:
        """Memory for each position, index included."""
        return self.memory / self.positions if self.positions else 0.0


def unreachable(book: Book, progress: ProgressCallback = no_progress) -> int:
    """Count the positions that no line from the initial position reaches; all if that is not in the book."""
    start = book.table.find(*START)
    if start < 0:
        return len(book)
    return len(book) - int(np.count_nonzero(reach(book.table, {start: 1}, progress=progress)))


def summary(book: Book, progress: ProgressCallback = no_progress, *, reached: bool = True) -> BookSummary:
    """Return a book's counts. They are kept with the book; only a book that was never counted is walked through.

    Counting unreached positions takes a walk if the number is not known; without ``reached`` it is left out.
    """
    known = book.counts(progress)
    counts = known.kinds
    if reached and known.unreachable < 0:
        known.unreachable = unreachable(book, progress)
    rows = [EmptiesRow(empties, *counts[:, empties].tolist()) for empties in range(60, -1, -1) if counts[0, empties]]
    totals = counts.sum(axis=1).tolist()
    return BookSummary(
        totals[0],
        totals[1],
        totals[2],
        totals[3],
        known.levels,
        known.scores,
        book.options.depth,
        book.table.memory,
        rows,
        known.unreachable,
    )


def moves_text(moves: Iterable[MoveInBook], black: bool) -> str:
    """Moves as Edax writes them: ``[F4:+1]`` a link, ``<E6:-1>`` the leaf; Black's in capitals."""
    parts = []
    for move in moves:
        text = f"{_name(move.move, black)}:{score_text(move.score)}"
        parts.append(f"[{text}]" if move.linked else f"<{text}>")
    return " ".join(parts)


def entry_moves_text(book: Book, entry: PositionEntry) -> str:
    """Return the moves of an entry as `moves_text`; as an entry has no colours, Black is to have an even number of
    empties.
    """
    return moves_text(book.known_moves(entry), (entry.player | entry.opponent).bit_count() % 2 == 0)


def _name(move: int, black: bool) -> str:
    return move_name(move) if black else move_name(move).lower()


def score_text(score: int | None) -> str:
    """Return a score with its sign, ? if there is none."""
    return f"{score:+d}" if score is not None and -64 <= score <= 64 else "?"


def _scores_text(entry: PositionEntry) -> str:
    if not -64 <= entry.score <= 64:
        return "?"
    return f"{entry.score:+d} [{entry.lower:+d}, {entry.upper:+d}]"


def entry_text(book: Book, entry: PositionEntry) -> str:
    """Return an entry in a line."""
    board = board_text(entry.player, entry.opponent)
    moves = entry_moves_text(book, entry)
    return f"{{board:{board} X; level:{entry.level}; best: {_scores_text(entry)};moves: {moves}}}"


def show_lines(book: Book, player: int, opponent: int, *, black: bool) -> list[str]:
    """Return Edax's lines about a position, below its board: level, score, moves on this board, lines; then the results
    of games, if any. Empty if `Book.view` is None.
    """
    entry = book.view(player, opponent)
    if entry is None:
        return []
    inside = book.table.find(player, opponent) >= 0
    shown = [
        f"Level: {entry.level}{' (set by hand)' if entry.human else ''}"
        if inside
        else "Level: none, only its moves are in the book",
        f"Best score: {_scores_text(entry)}",
        f"Moves: {moves_text(book.moves_on(player, opponent), black)}",
    ]
    solved = entry.wins + entry.draws + entry.losses
    if solved:
        shares = [f"{100 * count / solved:.2f}% {name}" for count, name in zip(entry[2:5], _OUTCOMES, strict=True)]
        shown.append(f"Lines: {solved} full games with {', '.join(shares)}")
    if book.options.rule is Rule.EGAROUCID:
        shown.append(f"Lines: {entry.lines} positions by all paths from here.")
    elif entry.lines > solved:
        shown.append(f"       {entry.lines - solved} incomplete lines.")
    results = results_of(book, book.table.find(player, opponent))
    if results.games:
        shown.append(f"Games: {results}")
    return shown


_COLUMNS = " move   score  bounds      grade         lines  level"


def children_lines(found: Sequence[ReportedMove], *, black: bool) -> list[str]:
    """Return a table of all legal moves of a position of the book; moves outside the book have no data."""
    if not found:
        return []
    games = any(child.results.games for child in found)
    lines = [_COLUMNS + ("  games" if games else "")]
    for child in found:
        name = _name(child.move, black)
        name = f"[{name}]" if child.kind is LINK else f"<{name}>" if child.kind is LEAF else f" {name} "
        if not child.kind:
            lines.append(f" {name}".rstrip())
            continue
        bounds = f"[{child.lower:+d}, {child.upper:+d}]" if child.lower is not None else ""
        level = "hand" if child.human else str(child.level) if child.level >= 0 else "?"
        line = f" {name} {score_text(child.score):>6}  {bounds:<10}  {child.grade:<5} {child.lines:>13} {level:>6}"
        lines.append(f"{line}  {child.results}" if child.results.games else line)
    return lines


def info_lines(found: BookSummary) -> list[str]:
    """Return a summary in Edax's words."""
    return [
        f"Positions: {found.positions} (moves = {found.links} links + {found.leaves} leaves);",
        *(f"Level {level} : {count} nodes" for level, count in found.levels.items()),
        f"Depth: {found.depth}",
        f"Memory occupation: {found.memory}"
        # In a small book most of this is room for growth.
        + (f" ({found.bytes_per_position:.1f} bytes a position)" if found.positions >= CHUNK_ROWS else ""),
    ]


def more_lines(book: Book) -> list[str]:
    """Return facts beyond `info_lines`: level and errors, the rule, the games counted, and how even the index is."""
    options = book.options
    lines = [
        f"Searches: level {options.level}, midgame error {options.midgame_error}, endcut error {options.endcut_error}",
        f"Rule: {options.rule.name.lower()}: {RULES[options.rule]}",
    ]
    start = book.table.find(*START)
    if book.table.keeps_results:
        results = results_of(book, start) if start >= 0 else None
        lines.append(f"Games: Black {results}" if results else "Games: counted, none from the initial position")
    counted = ", ".join(f"{number} of {name}" for name, number in sources(book.games).items())
    lines += [f"Games counted: {counted}"] if counted else []
    least, mean, most = book.table.balance
    return [*lines, f"Hash balance: {least} < {mean} < {most}"]


class Checked(NamedTuple):
    """The moves of some games compared with the book: in unknown positions, among the best, and worse."""

    missing: int
    good: int
    bad: int

    @property
    def bad_percent(self) -> float:
        """The share, in percent, of the moves in known positions."""
        return 100.0 * self.bad / (self.good + self.bad) if self.good + self.bad else 0.0


def check_games(
    book: Book, games: Iterable[bytes], progress: ProgressCallback = no_progress
) -> tuple[Checked, list[str]]:
    """Compare games from the initial position with the book, each (position, move) once. Games are given as moves
    (squares 0..63, passes may be left out). Returns also lines that name games with an illegal move; they are used up
    to it.

    Positions beyond the book's depth do not count. Moves that are mirror images of each other count once.
    """
    table, least = book.table, book.options.min_empties
    pairs: list[Words] = [np.empty((0, 4), np.uint64)]
    problems = []
    waiting = 0
    for number, moves in enumerate(games, 1):
        positions, illegal = table.replay(*START, moves, max(0, least - 1))
        if illegal is not None:
            problems.append(f"game {number}: move {illegal + 1} is not legal")
        before = positions[:-1]
        shallow = 64 - np.bitwise_count(before[:, 0] | before[:, 1]) >= least
        pairs.append(np.concatenate([before, positions[1:]], axis=1)[shallow])
        waiting += len(before)
        if waiting > _PAIRS:
            pairs, waiting = [_different(pairs)], 0
            progress("check", number, 0)
    counts = np.zeros(3, np.uint64)
    found = _different(pairs)
    for start, end in slices(len(found), _SLICE, "check", progress):
        part = np.ascontiguousarray(found[start:end])
        with table.lock:
            kernels().judge_moves(table.context, address(part), len(part), address(counts))
    return Checked(*counts.tolist()), problems


def _different(pairs: list[Words]) -> Words:
    """Return the distinct rows of some arrays."""
    rows = np.ascontiguousarray(np.concatenate(pairs))
    return np.unique(rows.view("V32")).view(np.uint64).reshape(-1, 4)


def problems(book: Book, empties: int, count: int, progress: ProgressCallback = no_progress) -> Iterator[str]:
    """At most ``count`` positions with ``empties`` empty squares and a single best move, as lines of a problem file."""
    found = 0
    for row in _rows_with(book, empties, progress):
        if found >= count:
            return
        entry = book.table.entry(row)
        moves = book.known_moves(entry)
        if len(moves) < 2 or moves[0].score == moves[1].score:
            continue
        best, *others = (f"{move_name(move.move)}:{move.score:+d}" for move in moves)
        yield f"{board_text(entry.player, entry.opponent)} X % bm {best}; ba {' '.join(others)};"
        found += 1


def _rows_with(book: Book, empties: int, progress: ProgressCallback) -> Iterator[int]:
    for number, chunk in enumerate(book.table.chunks()):
        first = number * CHUNK_ROWS
        progress("scan", first, len(book))
        yield from (
            np.flatnonzero(np.bitwise_count(chunk["player"] | chunk["opponent"]) == 64 - empties) + first
        ).tolist()


def best_lines(book: Book, player: int, opponent: int, loss: int = 0, limit: int = 1000) -> Iterator[list[int]]:
    """Yield the lines through the book that lose at most ``loss`` discs at each move, as moves on the board given.

    If several moves lead to the same child, only one is followed. At most ``limit`` lines.
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
