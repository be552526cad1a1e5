"""The content of a book for people: its summary, and entries and moves as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from desdaemon.book.book import Book, MoveInBook
from desdaemon.book.chunks import CHUNK_ROWS
from desdaemon.book.formats.losses import RULES
from desdaemon.book.formats.text import move_name
from desdaemon.book.games import sources
from desdaemon.book.layout import HUMAN_LEVEL
from desdaemon.book.negamax import reach
from desdaemon.book.options import Rule
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.record import START, PositionEntry
from desdaemon.protocol.othello.notation import discs_text

from .grade import LEAF, LINK, ReportedMove

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
    results = book.table.results(book.table.find(player, opponent))
    if results.games:
        shown.append(f"Games: {results}")
    return shown


def _level_text(level: int) -> str:
    return "hand" if level == HUMAN_LEVEL else str(level) if level >= 0 else "none"


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
        f"Memory occupation: {totals.memory} bytes"
        # In a small book most memory is room for growth.
        + (f" ({totals.bytes_per_position:.1f} bytes a position)" if totals.positions >= CHUNK_ROWS else ""),
    ]


def packed_lines(book: Book) -> list[str]:
    """Return what `info_lines` has that is known of a book whose positions are not all in memory."""
    return [
        f"Positions: {book.table.positions} (links and leaves of a packed book are not counted);",
        f"Depth: {book.options.depth}",
    ]


def more_lines(book: Book) -> list[str]:
    """Return lines about what `info_lines` lacks: level and errors, the rule, the games counted, and, if all positions
    are in memory, the fewest, mean and most of them in a segment of the index.
    """
    options = book.options
    lines = [
        f"Searches: level {options.level}, midgame error {options.midgame_error}, endcut error {options.endcut_error}",
        f"Rule: {options.rule.name.lower()}: {RULES[options.rule]}",
    ]
    start = book.table.find(*START)
    if book.table.keeps_results:
        results = book.table.results(start) if start >= 0 else None
        lines.append(f"Games: Black {results}" if results else "Games: counted, none from the initial position")
    counted = ", ".join(f"{number} of {name}" for name, number in sources(book.games).items())
    lines += [f"Games counted: {counted}"] if counted else []
    if not book.table.whole:
        return lines
    least, mean, most = book.table.balance
    return [*lines, f"Hash balance: {least} < {mean} < {most}"]
