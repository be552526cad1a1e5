"""Words that threads share without a lock, as a processor with weak order may show them: stale, torn, out of order.

Kernels run as Python over a modelled memory (`lab.weak_memory`) in a process of their own; compiled ones over tables
into which stale and torn entries are written meanwhile.
"""

from __future__ import annotations

import ctypes
import random
import threading
from typing import Any

import judge
import numpy as np
import pytest
from table_entries import check_entries

from desdaemon.engine.compiler import library
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.exports import SPEC
from desdaemon.engine.layout import (
    BUCKET_BYTES,
    BUCKET_ENTRIES,
    DATE,
    ENTRY_BYTES,
    EXACT,
    NO_MOVE,
    PV_TABLE,
    SALT,
    TABLE,
    WORD,
)
from desdaemon.engine.limits import Limits
from desdaemon.engine.memory import Block
from desdaemon.engine.search import Searcher
from desdaemon.engine.team import Context

DEPTH = 20


def words_of(address: int, number: int) -> Any:
    """Memory as an array of 64-bit words."""
    return np.ctypeslib.as_array((ctypes.c_uint64 * number).from_address(address))


def test_every_pair_of_halves_of_different_writes_is_refused() -> None:
    """At every place of a bucket, for both boards; the halves of one write are found again."""
    engine = library.load(SPEC)
    bucket, lines, context = Block(4096), Block(4096), Context()
    context[TABLE], context[PV_TABLE], context[SALT], context[DATE] = bucket.address, lines.address, 77 << 32, 1
    dice = random.Random(7)
    words = words_of(bucket.address, BUCKET_BYTES // WORD)

    def stored(board: judge.Board, score: int, move: int) -> tuple[int, int]:
        words[:] = 0
        engine.feed_score(context.address, *board, score, DEPTH, EXACT, move)
        [(first, data)] = [pair for pair in words.reshape(BUCKET_ENTRIES, 2).tolist() if any(pair)]
        return first, data

    writes = []
    for board in judge.strewn(5, 12, [25]):
        for _ in range(3):
            score, move = dice.randint(-64, 64), dice.randint(0, 63)
            writes.append((board, move, *stored(board, score, move)))
    for one, (board, move, first, data) in enumerate(writes):
        for other, (its_board, _, _, its_data) in enumerate(writes):
            words[:] = 0
            place = 2 * ((one + other) % BUCKET_ENTRIES)
            words[place : place + 2] = first, its_data
            whole = its_data == data
            for asked in (board, its_board):
                answer = engine.known_move(context.address, *asked, DEPTH, EXACT)
                assert answer == (move if whole and asked == board else NO_MOVE)


class Meddler:
    """A thread that writes into a searcher's shared tables while it searches: halves of entries over those of others,
    and words that were there some time ago.
    """

    def __init__(self, searcher: Searcher) -> None:
        tables = (searcher._table, searcher._pv_table)
        self._tables = [
            words_of(table.address, table.size // WORD).reshape(-1, ENTRY_BYTES // WORD) for table in tables
        ]
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self.torn = 0
        """Entries that were written with halves of different entries."""

    def __enter__(self) -> Meddler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _live(self) -> None:
        dice = np.random.default_rng(3)
        old = [table.copy() for table in self._tables]
        while not self._end.is_set():
            for table, before in zip(self._tables, old, strict=True):
                places = dice.integers(0, len(table), 64)
                others = dice.integers(0, len(table), 64)
                half = int(dice.integers(0, 2))
                source = before if dice.random() < 0.5 else table
                # Of the same bucket half of the time: two threads that write one place.
                if dice.random() < 0.5:
                    others = (places & ~(BUCKET_ENTRIES - 1)) | (others & (BUCKET_ENTRIES - 1))
                values = source[others, half].copy()
                self.torn += int(np.count_nonzero((values != table[places, half]) & (values != 0)))
                table[places, half] = values
                if dice.random() < 0.05:
                    before[:] = table


@pytest.mark.compiled
@pytest.mark.parametrize("threads", [1, 2])
def test_exact_searches_are_right_while_entries_are_torn(weights: Weights, searcher: Searcher, threads: int) -> None:
    """Scores stay right, and no exact entry that a look-up would take is wrong."""
    deceived = Searcher(threads=threads, hash_bits=12, weights=weights)
    boards = [board for board in judge.positions(61, 12, [16]) if judge.moves(*board)]
    torn = entries = 0
    for board in boards:
        score = searcher.search(*board, Limits(60)).lines[0].score
        with Meddler(deceived) as meddler:
            for _ in range(3):
                deceived.clear()
                assert deceived.search(*board, Limits(60)).lines[0].score == score
        torn += meddler.torn
        _, found, wrong = check_entries(deceived, searcher, *board, thread=0, fewest=11, share=128)
        assert wrong == 0
        entries += found
    assert torn > 1000
    assert entries > 100
