"""Positions that are scored together: a unit of work for a search thread of this process or of a cluster's worker.

The table is cleared before each chunk, so its scores depend only on the chunk and the weights.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Control, Searcher
from desdaemon.protocol.othello.selectivity import Selectivity

CHUNK = 64
"""Number of positions in a chunk."""

_BOARD_BYTES = 8


class BoardChunk(NamedTuple):
    """Boards as bytes of 64-bit words, those of the side to move and of the other side apart; depth in plies,
    selectivity in percent.
    """

    players: bytes
    opponents: bytes
    depth: int
    selectivity: int

    @property
    def level(self) -> int:
        """The level by which the cost of the chunk is estimated: its depth."""
        return self.depth

    @property
    def empties(self) -> int:
        """0, because a chunk has positions of all phases."""
        return 0


ScoreChunks = Callable[[Iterable[BoardChunk]], Iterator[tuple[int, bytes | None]]]
"""Scores chunks: yields, in any order, the number of a chunk from 0 and the scores of its positions.

Scores are signed bytes, discs for the side to move; None instead means that the chunk was stopped. Raises `Unfinished`
if it cannot continue.
"""


def score_chunk(searcher: Searcher, chunk: BoardChunk, control: Control) -> bytes | None:
    """Return a signed byte for each position, its score in discs for the side to move; None if ``control`` was stopped.

    The table is cleared first.
    """
    boards = array("Q", chunk.players), array("Q", chunk.opponents)
    number = len(boards[0])
    scores = array("q", bytes(_BOARD_BYTES * number))
    searcher.clear()
    limits = Limits(chunk.depth, Selectivity(chunk.selectivity))
    players, opponents, results = (each.buffer_info()[0] for each in (*boards, scores))
    searcher.score_many(players, opponents, results, number, limits, control)
    return None if control.stopped else array("b", scores).tobytes()
