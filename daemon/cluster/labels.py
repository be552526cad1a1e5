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

from .connection import client_of
from .identity import identity
from .pool import ClusterSearches
from .window import WorkerAnswer


def cluster_scores(address: str, tls: str, weights: Path, hash_bits: int) -> ScoreChunks:
    """Return a function that has chunks scored by the workers of the scheduler at ``address``. It yields the number of
    each chunk with its scores, in order of arrival, and ends early after a stop.

    ``tls`` is the folder of certificates or "". A search's table has 2 to the power ``hash_bits`` entries. Raises
    `BadInput` if there is no scheduler, `WeightsError` if the weights cannot be used.
    """
    loaded = Weights.load(weights)
    searcher: list[Searcher] = []

    def here(chunk: BoardChunk) -> WorkerAnswer | None:
        if not searcher:
            searcher.append(Searcher(hash_bits=hash_bits, weights=loaded))
        begun = time.perf_counter()
        scores = score_chunk(searcher[0], chunk, Control())
        return None if scores is None else WorkerAnswer(scores, (time.perf_counter() - begun) * 1000)

    cluster = ClusterSearches(client_of(address, tls), identity(loaded), here, hash_bits=hash_bits, note=logs.message)

    def score(chunks: Iterable[BoardChunk]) -> Iterator[tuple[int, bytes | None]]:
        waiting = iter(chunks)
        # Taken as they arrive, so that finished chunks are stored even if another never arrives.
        with closing(cluster.replies(lambda window: window.offer_from(waiting))) as replies:
            for reply in replies:
                if reply is None:
                    return
                number, answer = reply
                assert isinstance(answer.found, bytes)
                yield number, answer.found

    return score
