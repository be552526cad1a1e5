"""The data that a conversion loses: fields that a format lacks, and options that a file lacks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from desdaemon.book.book import Book
from desdaemon.book.games import sources
from desdaemon.book.layout import HUMAN
from desdaemon.book.options import BookOptions, Rule
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.readings import levels_in_scale
from desdaemon.book.record import have_leaf
from desdaemon.protocol.rows import (
    BOOK_CONTENT,
    BOUNDS,
    HAND,
    LEAF_LEVELS,
    LEVELS,
    PATHS,
    RULE,
    SCORES,
    SETTINGS,
    WIDE_PATHS,
    BookFormat,
)

RULES = {Rule.EDAX: "leaves count in scores", Rule.EGAROUCID: "leaves do not count in scores"}
"""A description of each rule, for people."""

_SETTINGS = "level, depth and errors of the book"


def rule_text(rule: Rule) -> str:
    """Return a rule's description with its name: ``leaves count in scores (rule edax)``."""
    return f"{RULES[rule]} (rule {rule.name.lower()})"


def _by_hand(book: Book) -> int:
    return sum(int(np.count_nonzero(chunk["flags"] & HUMAN)) for chunk in book.table.chunks())


def _own_levels(book: Book, progress: ProgressCallback) -> int:
    """Return the number of leaves whose level is not that of their position."""
    number = done = 0
    for chunk in book.table.chunks():
        leaves = chunk[have_leaf(chunk)]
        number += int(np.count_nonzero(leaves["leaf_level"] != leaves["level"]))
        done += len(chunk)
        progress("losses", done, len(book))
    return number


def _scaled_levels(book: Book, *, egaroucid: bool) -> int:
    """Return the number of positions whose level becomes lower in one scale, Egaroucid's or ours."""
    chunks = book.table.chunks()
    return sum(int(np.count_nonzero(levels_in_scale(chunk, egaroucid=egaroucid) != chunk["level"])) for chunk in chunks)


def _counted(number: int, what: str) -> Iterator[str]:
    if number:
        yield f"{what} ({number})"


def _lost(book: Book, kind: BookFormat, progress: ProgressCallback) -> Iterator[str]:
    gone = BOOK_CONTENT - kind.keeps
    chunks = list(book.table.chunks())
    if BOUNDS in gone and any(
        (chunk[bound] != chunk["score"]).any() for chunk in chunks for bound in ("lower", "upper")
    ):
        yield "bounds"
    if PATHS in gone and any(chunk[count].any() for chunk in chunks for count in ("wins", "draws", "losses")):
        yield "wins, draws and losses of lines"
    if SETTINGS in gone:
        yield _SETTINGS
    if SCORES in gone and (_by_hand(book) or not book.settled or book.options.rule is Rule.EGAROUCID):
        yield "scores that do not follow from leaves"
    if LEAF_LEVELS in gone:
        yield from _counted(_own_levels(book, progress), "levels of leaves that are not their position's")
    if HAND in gone:
        yield from _counted(_by_hand(book), "that scores were set by hand")
    if WIDE_PATHS in gone and PATHS not in gone:
        yield from _counted(len(book.table.state().wide), "path counts above 4294967295")
    rule = Rule[kind.rule.upper()]
    if LEVELS in gone:
        scaled = _scaled_levels(book, egaroucid=rule is Rule.EGAROUCID)
        yield from _counted(scaled, "levels that mean more there, so that lower ones are written")
    if book.table.keeps_results and book.table.results_of(np.arange(len(book))).view(np.float64).any():
        yield "results of games"
    yield from _counted(sum(sources(book.games).values()), "which games were counted")
    if RULE in gone and book.options.rule is not rule:
        yield f"that {rule_text(book.options.rule)}"


def lost_by_writing(book: Book, kind: BookFormat, progress: ProgressCallback = no_progress) -> str:
    """Return a line about the data of the book that a file of format ``kind`` would not hold; "" if it holds all."""
    lost = list(_lost(book, kind, progress))
    return f"not kept: {'; '.join(lost)}" if lost else ""


def assumed_by_reading(options: BookOptions, kind: BookFormat) -> str:
    """Return a line about the options that a file of format ``kind`` lacks, with the assumed values; "" for none."""
    if SETTINGS in kind.keeps:
        return ""
    return (
        f"not in the file, and assumed: level {options.level}, depth {options.depth}, errors "
        f"{options.midgame_error} and {options.endcut_error}; {rule_text(options.rule)}"
    )
