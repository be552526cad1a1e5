"""The replay of a journal on the book as it was when its file was written."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from desdaemon.book.book import Book
from desdaemon.book.chunks import Records, Words, address
from desdaemon.book.errors import Unreadable
from desdaemon.book.exports import kernels
from desdaemon.book.games import unpacked
from desdaemon.book.layout import MAX_SCORE, NO_MOVE
from desdaemon.book.options import Rule, options_of
from desdaemon.book.progress import ProgressCallback, no_progress, slices
from desdaemon.book.record import RECORD, RESULT, STATE
from desdaemon.protocol.system import platform

from . import journal
from .journal import FrameKind
from .observers import OPTIONS, SEARCHED, STEPS

_STEP = 1 << 16

AT_OPENING = 1 << 20
"""Most positions of a book whose scores are all brought up to date when it is opened, which takes about a second."""


def _put(book: Book, states: Records, path: Path, progress: ProgressCallback) -> None:
    """Add or replace positions (`record.STATE`) and their game results; a later negamax computes their path counts.

    Raises `Unreadable` if numbers are impossible.
    """
    table = book.table
    for start, end in slices(len(states), _STEP, "replay", progress):
        part = states[start:end]
        records = np.zeros(len(part), RECORD)
        for name in RECORD.names or ():
            records[name] = part[name]
        results = np.zeros(len(part), RESULT)
        for name in RESULT.names or ():
            results[name] = part[name]
        first, games = address(records), address(results)
        impossible = kernels().find_impossible(first, first, first + records.nbytes) >= 0
        if impossible or kernels().bad_results(games, games + results.nbytes):
            raise Unreadable(path, None, "a position has impossible numbers")
        rows = book.overwrite(records)
        if table.keeps_results or results.view(np.float64).any():
            # Of several states of a position the last one counts.
            rows, last = np.unique(rows[::-1], return_index=True)
            table.set_results_of(rows, results[::-1][last])


def _remove(book: Book, keys: Words, progress: ProgressCallback) -> None:
    """Remove the canonical positions ``keys``, uint64 (n, 2). The leaves that other positions get from them are in
    later entries of the journal.
    """
    marked = np.zeros(len(book.table), bool)
    for start, end in slices(len(keys), _STEP, "replay", progress):
        rows = book.table.find_many(keys[start:end])
        marked[rows[rows >= 0]] = True
    book.remove(marked, progress, leaves=False)


def replay(book: Book, frames: list[journal.Frame], path: Path, progress: ProgressCallback = no_progress) -> None:
    """Apply journal entries to a book, then run negamax, unless that takes a pass over more than `AT_OPENING`
    positions, as after another rule: then scores stay `Book.stale`.

    Raises `Unreadable`, with ``path``, for impossible numbers.
    """
    threads, due = platform.processors(), False
    for kind, group in itertools.groupby(frames, lambda frame: frame.kind):
        if kind == FrameKind.STATES:
            _put(book, np.frombuffer(b"".join(frame.payload for frame in group), STATE), path, progress)
            continue
        if kind == FrameKind.REMOVED:
            if due and book.options.rule is Rule.EGAROUCID:
                book.negamax(threads=threads, progress=progress)
                due = False
            _remove(book, np.frombuffer(b"".join(frame.payload for frame in group), "<u8").reshape(-1, 2), progress)
            continue
        for frame in group:
            if kind == FrameKind.OPTIONS:
                try:
                    options = options_of(*OPTIONS.unpack(frame.payload))
                except ValueError as error:
                    raise Unreadable(path, None, f"entry {frame.sequence}: {error}") from None
                if due and options.rule is Rule.EGAROUCID and book.options.rule is not Rule.EGAROUCID:
                    book.negamax(threads=threads, progress=progress)
                    due = False
                book.options = options
            elif kind == FrameKind.SEARCHED:
                for player, opponent, excluded, level, move, score in SEARCHED.iter_unpack(frame.payload):
                    if not (0 <= move <= NO_MOVE and -MAX_SCORE <= score <= MAX_SCORE):
                        raise Unreadable(path, None, f"entry {frame.sequence} has impossible numbers")
                    book.memo[player, opponent, level, excluded] = move, score
            elif kind == FrameKind.FORGOTTEN:
                book.memo.clear()
            elif kind == FrameKind.COUNTED:
                book.list_games(unpacked(frame.payload))
            elif kind == FrameKind.TAKEN_BACK:
                book.unlist_games(unpacked(frame.payload))
            elif kind == FrameKind.STEPS:
                book.step(*STEPS.unpack(frame.payload))
            elif kind == FrameKind.FIXED:
                # A position without links keeps the score that it has under Egaroucid's rule: negamax goes before a
                # removal, and before that rule.
                due = True
    # Otherwise scores follow from the leaves, so that one negamax at the end serves for every FIXED.
    if book.changed_little or len(book) <= AT_OPENING:
        book.negamax(threads=threads, progress=progress)
