"""Many short searches in one call of the compiled code (`kernels.short_searches`), for threads that share the GIL.

The daemon's scheduler uses `ShortSearches` for questions of a low level: one line each, all moves allowed, no progress
callback. The results are those of `Searcher.search`.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence

from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity

from .layout import (
    NO_MOVE,
    SHORT_BYTES,
    SHORT_LINE_MOST,
)
from .limits import Limits
from .memory import Block
from .result import Line, Result
from .search import Control, Searcher

__all__ = ["MOST_AT_ONCE", "ShortSearches"]

MOST_AT_ONCE = 128
"""Most searches in one call."""

_RECORD = struct.Struct(f"<QQqqqQQq{SHORT_LINE_MOST}s")
"""A search's player, opponent, depth and index of the selectivity; then its score, nodes, nodes of the line, length of
the line, moves.
"""
assert _RECORD.size == SHORT_BYTES
assert PASS == NO_MOVE


Question = tuple[int, int, Limits]
"""The discs of the side to move, the discs of the other side, and the limits, of which depth and selectivity count. The
game must not be over.
"""


class ShortSearches:
    """Short searches on one `Searcher`, one call at a time; any thread may call `stop`."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._memory = Block(MOST_AT_ONCE * SHORT_BYTES)
        self._records = memoryview(self._memory.words()).cast("B")
        self._control = Control()

    def stop(self) -> None:
        """End the call of `search` that runs now, if any; its unfinished searches have the result None. Later calls are
        not affected.
        """
        self._control.stop()

    def search(self, questions: Sequence[Question]) -> list[Result | None]:
        """Search at most `MOST_AT_ONCE` positions, with the GIL released. Returns their results in order, None for a
        search that `stop` ended. No game may be over; only the depth and selectivity of the limits count.

        ``time_ms`` of a result is its share, by nodes, of the call's time.
        """
        records = self._records
        self._control = Control()
        offset = 0
        for player, opponent, limits in questions:
            index = limits.selectivity.index
            _RECORD.pack_into(records, offset, player, opponent, limits.depth, index, 0, 0, 0, 0, b"")
            offset += SHORT_BYTES
        begun = time.perf_counter()
        self._searcher.search_records(self._memory.address, len(questions), self._control)
        elapsed = 1e3 * (time.perf_counter() - begun)
        rows = [row[4:] for row in _RECORD.iter_unpack(records[:offset])]
        per_node = elapsed / max(1, sum(row[1] for row in rows))
        return [
            _result(question, row, per_node) if row[3] else None for question, row in zip(questions, rows, strict=True)
        ]


def _result(question: Question, row: tuple[int, int, int, int, bytes], per_node: float) -> Result:
    discs, nodes, line_nodes, length, moves = row
    score = MoverScore(discs)
    player, opponent, limits = question
    empties = 64 - (player | opponent).bit_count()
    depth = min(limits.depth, empties)
    line = Line(
        moves[0],
        score,
        score,
        score,
        depth,
        limits.selectivity if depth else Selectivity.FULL,
        tuple(moves[:length]),
        line_nodes,
        line_nodes * per_node,
        empties,
    )
    return Result((line,), nodes, nodes * per_node, True)
