"""Labels for training from a cluster, for `desdaemon train label --cluster`: equal to those that one thread makes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.search import Control, Searcher
from desdaemon.engine.training.labelling.chunks import BoardChunk, ScoreChunks, score_chunk
from desdaemon.protocol.system import logs

from . import tasks as remote
from .connection import client_of
from .identity import identity
from .pool import ClusterSearches, SearchKind
from .window import ChunkAnswer

_BOARD_BYTES = 8


def _named(chunk: BoardChunk) -> str:
    return f"{len(chunk.players) // _BOARD_BYTES} positions at {chunk.depth} plies"


CHUNKS = SearchKind[BoardChunk, ChunkAnswer](remote.score_batch, ChunkAnswer, _named)


def cluster_scores(address: str, tls: str, weights: Path, hash_bits: int) -> ScoreChunks:
    """Return a function that has chunks scored by the workers of the scheduler at ``address``. It yields the number of
    each chunk with its scores, or with None if a stop prevented them, in order of arrival.

    ``tls`` is the folder of certificates or "". A search's table has 2 to the power ``hash_bits`` entries. Raises
    `BadInput` if there is no scheduler, `WeightsError` if the weights cannot be used.
    """
    loaded = Weights.load(weights)
    searcher: list[Searcher] = []

    def here(chunk: BoardChunk) -> ChunkAnswer | None:
        if not searcher:
            searcher.append(Searcher(hash_bits=hash_bits, weights=loaded))
        begun = time.perf_counter()
        scores = score_chunk(searcher[0], chunk, Control())
        return None if scores is None else ChunkAnswer(scores, (time.perf_counter() - begun) * 1000)

    cluster = ClusterSearches(
        client_of(address, tls), identity(loaded), CHUNKS, here, hash_bits=hash_bits, note=logs.message
    )

    def score(chunks: Iterable[BoardChunk]) -> Iterator[tuple[int, bytes | None]]:
        waiting = iter(chunks)
        # Taken as they arrive, so that finished chunks are stored even if another never arrives.
        with closing(cluster.replies(lambda window: window.offer_from(waiting))) as replies:
            for reply in replies:
                if reply is None:
                    return
                number, answer = reply
                yield number, None if answer is None else answer.scores

    return score
