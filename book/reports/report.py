"""The content of a book: summaries, statistics, entries as text, games and problems compared with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from desdaemon.book.book import Book, MoveInBook
from desdaemon.book.chunks import CHUNK_ROWS, Words, address
from desdaemon.book.editing.game_results import results_of
from desdaemon.book.exports import kernels
from desdaemon.book.formats.losses import RULES
from desdaemon.book.formats.text import move_name
from desdaemon.book.games import sources
from desdaemon.book.layout import HUMAN_LEVEL
from desdaemon.book.negamax import reach
from desdaemon.book.options import Rule
from desdaemon.book.progress import ProgressCallback, no_progress, slices
from desdaemon.book.record import START, PositionEntry
from desdaemon.protocol.othello.notation import discs_text

from .children import LEAF, LINK, ReportedMove

_SLICE = 1 << 15
_PAIRS = 1 << 20
_OUTCOMES = ("win", "draw", "loss")


class EmptiesRow(NamedTuple):
    """Numbers of positions, links, leaves and finished games with a number of empty squares."""

    empties: int
    positions: int
    links: int
    leaves: int
    finished: int


class BookSummary(NamedTuple):
    """A summary of a book: its totals, its numbers of positions by level and by score, and a row of counts for each
    number of empty squares, most empties first.

    ``depth`` is the book's depth in moves from the initial position; ``memory`` is in bytes.
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
    """Number of positions that no line of the book from the initial position reaches; -1 if not counted."""

    @property
    def bytes_per_position(self) -> float:
        """Bytes of memory for each position, index included; 0 for an empty book."""
        return self.memory / self.positions if self.positions else 0.0


def unreachable(book: Book, progress: ProgressCallback = no_progress) -> int:
    """Return the number of positions that no line from the initial position reaches.

    If the initial position is not in the book, these are all positions.
    """
    start = book.table.find(*START)
    if start < 0:
        return len(book)
    return len(book) - int(np.count_nonzero(reach(book.table, {start: 1}, progress=progress)))


def summary(book: Book, progress: ProgressCallback = no_progress, *, reached: bool = True) -> BookSummary:
    """Return the summary of a book. Counts that `Book.counts` lacks are made by a pass over the book, and kept there.

    Without ``reached`` the `unreachable` positions are not counted if their number is unknown.
    """
    kept_counts = book.counts(progress)
    counts = kept_counts.kinds
    if reached and kept_counts.unreachable < 0:
        kept_counts.unreachable = unreachable(book, progress)
    rows = [EmptiesRow(empties, *counts[:, empties].tolist()) for empties in range(60, -1, -1) if counts[0, empties]]
    totals = counts.sum(axis=1).tolist()
    return BookSummary(
        totals[0],
        totals[1],
        totals[2],
        totals[3],
        kept_counts.levels,
        kept_counts.scores,
        book.options.depth,
        book.table.memory,
        rows,
        kept_counts.unreachable,
    )


def moves_text(moves: Iterable[MoveInBook], black: bool) -> str:
    """Return moves as Edax writes them: ``[F4:+1]`` for a link, ``<E6:-1>`` for the leaf; Black's in capitals."""
    parts = []
    for move in moves:
        text = f"{_name(move.move, black)}:{score_text(move.score)}"
        parts.append(f"[{text}]" if move.linked else f"<{text}>")
    return " ".join(parts)


def entry_moves_text(book: Book, entry: PositionEntry) -> str:
    """Return an entry's moves as `moves_text` does; Black counts as the mover if the number of empties is even."""
    return moves_text(book.known_moves(entry), (entry.player | entry.opponent).bit_count() % 2 == 0)


def _name(move: int, black: bool) -> str:
    return move_name(move) if black else move_name(move).lower()


def score_text(score: int | None) -> str:
    """Return a score with its sign, ``?`` if it is unknown."""
    return f"{score:+d}" if score is not None and -64 <= score <= 64 else "?"


def _scores_text(entry: PositionEntry) -> str:
    if not -64 <= entry.score <= 64:
        return "?"
    return f"{entry.score:+d} [{entry.lower:+d}, {entry.upper:+d}]"


def entry_text(book: Book, entry: PositionEntry) -> str:
    """Return an entry as a line: board, level, score with bounds, moves."""
    board = discs_text(entry.player, entry.opponent)
    moves = entry_moves_text(book, entry)
    return f"{{board:{board} X; level:{entry.level}; best: {_scores_text(entry)};moves: {moves}}}"


def show_lines(book: Book, player: int, opponent: int, *, black: bool) -> list[str]:
    """Return Edax's lines about a position: level, score, moves, lines; then results of games, if any.

    Returns no lines if `Book.view` returns None. ``black`` says whether Black is to move (`moves_text`).
    """
    entry = book.view(player, opponent)
    if entry is None:
        return []
    inside = book.table.find(player, opponent) >= 0
    shown = [
        f"Level: {_level_text(entry.level)}" if inside else "Level: none, only its moves are in the book",
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


def _level_text(level: int) -> str:
    return "hand" if level == HUMAN_LEVEL else str(level)


_COLUMNS = " move   score  bounds      grade         lines  level"


def children_lines(moves: Sequence[ReportedMove], *, black: bool) -> list[str]:
    """Return a table of a position's legal moves, those outside the book without data; no lines without ``moves``."""
    if not moves:
        return []
    games = any(child.results.games for child in moves)
    lines = [_COLUMNS + ("  games" if games else "")]
    for child in moves:
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


def info_lines(totals: BookSummary) -> list[str]:
    """Return a book's summary in Edax's words."""
    return [
        f"Positions: {totals.positions} (moves = {totals.links} links + {totals.leaves} leaves);",
        *(f"Level {_level_text(level)} : {count} nodes" for level, count in totals.levels.items()),
        f"Depth: {totals.depth}",
        f"Memory occupation: {totals.memory}"
        # In a small book most memory is room for growth.
        + (f" ({totals.bytes_per_position:.1f} bytes a position)" if totals.positions >= CHUNK_ROWS else ""),
    ]


def more_lines(book: Book) -> list[str]:
    """Return lines about what `info_lines` lacks: level and errors, the rule, the games counted, and the fewest, mean
    and most positions in a segment of the index.
    """
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
        yield from (
            np.flatnonzero(np.bitwise_count(chunk["player"] | chunk["opponent"]) == 64 - empties) + first
        ).tolist()


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
