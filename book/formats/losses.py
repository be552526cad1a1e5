"""The data that a conversion loses: fields that a format lacks, and options that a file lacks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from desdaemon.book.book import Book
from desdaemon.book.games import sources
from desdaemon.book.layout import HUMAN, PASS
from desdaemon.book.options import BookOptions, Rule
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.readings import levels_in_scale

EDAX = "edax"
EGAROUCID = "egaroucid"
TEXT = "text"

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
        leaf = (chunk["leaf_move"] <= PASS) & (chunk["leaf_score"] >= -64)
        number += int(np.count_nonzero(leaf & (chunk["leaf_level"] != chunk["level"])))
        done += len(chunk)
        progress("losses", done, len(book))
    return number


def _scaled_levels(book: Book, kind: str) -> int:
    """Return the number of positions whose level becomes lower in the scale of the format ``kind``."""
    chunks = book.table.chunks()
    return sum(
        int(np.count_nonzero(levels_in_scale(chunk, egaroucid=kind == EGAROUCID) != chunk["level"])) for chunk in chunks
    )


def _counted(number: int, what: str) -> Iterator[str]:
    if number:
        yield f"{what} ({number})"


def _lost(book: Book, kind: str, progress: ProgressCallback) -> Iterator[str]:
    if kind in (EGAROUCID, TEXT):
        chunks = list(book.table.chunks())
        if any((chunk[bound] != chunk["score"]).any() for chunk in chunks for bound in ("lower", "upper")):
            yield "bounds"
        if any(chunk[count].any() for chunk in chunks for count in ("wins", "draws", "losses")):
            yield "wins, draws and losses of lines"
        yield _SETTINGS
    if kind == TEXT and (_by_hand(book) or not book.settled or book.options.rule is Rule.EGAROUCID):
        yield "scores that do not follow from leaves"
    if kind in (EDAX, TEXT):
        yield from _counted(_own_levels(book, progress), "levels of leaves that are not their position's")
        yield from _counted(_by_hand(book), "that scores were set by hand")
    if kind == EDAX:
        yield from _counted(len(book.table.state().wide), "path counts above 4294967295")
    if kind in (EDAX, EGAROUCID, TEXT):
        yield from _counted(_scaled_levels(book, kind), "levels that mean more there, so that lower ones are written")
        rule = Rule.EGAROUCID if kind == EGAROUCID else Rule.EDAX
        if book.options.rule is not rule:
            yield f"that {rule_text(book.options.rule)}"
    if book.table.keeps_results and book.table.results_of(np.arange(len(book))).view(np.float64).any():
        yield "results of games"
    yield from _counted(sum(sources(book.games).values()), "which games were counted")


def lost_by_writing(book: Book, kind: str, progress: ProgressCallback = no_progress) -> str:
    """Return a line about the data of the book that a file of format ``kind``, not our own, would not hold; "" if it
    holds all.
    """
    lost = list(_lost(book, kind, progress))
    return f"not kept: {'; '.join(lost)}" if lost else ""


def assumed_by_reading(options: BookOptions, kind: str) -> str:
    """Return a line about the options that a file of format ``kind`` lacks, with the assumed values; "" for none."""
    if kind not in (EGAROUCID, TEXT):
        return ""
    return (
        f"not in the file, and assumed: level {options.level}, depth {options.depth}, errors "
        f"{options.midgame_error} and {options.endcut_error}; {rule_text(options.rule)}"
    )
