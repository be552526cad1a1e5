"""Positions scored together: the unit of work of a search thread, of this process or of a cluster's worker.

A chunk's scores depend only on the chunk and the weights: the table is cleared before it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Control, Searcher
from desdaemon.protocol.othello.selectivity import Selectivity

CHUNK = 64
"""Positions in a chunk."""

_BOARD_BYTES = 8


class BoardChunk(NamedTuple):
    """Boards as unsigned 64-bit words, those of the sides to move and of the other sides, and how to search them.

    ``depth`` in plies, ``selectivity`` in percent.
    """

    players: bytes
    opponents: bytes
    depth: int
    selectivity: int

    @property
    def level(self) -> int:
        """The level by which its cost is estimated."""
        return self.depth

    @property
    def empties(self) -> int:
        """0, because a chunk has positions of all phases."""
        return 0


ScoreChunks = Callable[[Iterable[BoardChunk]], Iterator[tuple[int, bytes | None]]]
"""Scores chunks, in any order, each with its number from 0: a signed byte for each position (discs, side to move), None
after a stop. Raises `Unfinished` if it cannot continue.
"""


def score_chunk(searcher: Searcher, chunk: BoardChunk, control: Control) -> bytes | None:
    """Return a signed byte for each position (discs, side to move); None after a stop of ``control``."""
    boards = array("Q", chunk.players), array("Q", chunk.opponents)
    number = len(boards[0])
    scores = array("q", bytes(_BOARD_BYTES * number))
    searcher.clear()
    limits = Limits(chunk.depth, Selectivity(chunk.selectivity))
    players, opponents, found = (each.buffer_info()[0] for each in (*boards, scores))
    searcher.score_many(players, opponents, found, number, limits, control)
    return None if control.stopped else array("b", scores).tobytes()
