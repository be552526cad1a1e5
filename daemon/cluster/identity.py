"""The identity of a search program: a short text, equal on machines whose searches give the same results.

It has digests of the sources of search and kernels, of the weights, and of the results of fixed searches, which differ
if a compiler or processor treats the same sources differently. The processor's model does not count.
"""

from __future__ import annotations

import hashlib

from desdaemon.book.editing.engine_evaluator import Searches
from desdaemon.engine.compiler.library import imported_sources
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.exports import MODULES

_SEARCH = ("desdaemon.engine.search", "desdaemon.book.editing.engine_evaluator", *MODULES)

_RESOURCE = "desdaemon-"

_FIXED = (
    (0x0000000810000000, 0x0000001008000000, 10),
    (0x0000100804000000, 0x0000001018000000, 12),
    (0x00003C1C08100000, 0x0000000010080400, 9),
    (0x0000002C1C382000, 0x0010101020040E00, 11),
    (0x003E020C14083000, 0x0000001028140E08, 8),
)
"""Boards from openings to the midgame (discs of the side to move, of the other side), each with a level."""


def identity(weights: Weights) -> str:
    """Return this program's identity: a digest of sources and weights, a dash, a digest of the fixed searches' results.

    Takes some tens of ms, more if kernels must be compiled. Raises `LibraryError` if they cannot be compiled.
    """
    code = hashlib.blake2b(weights.digest.encode(), digest_size=6)
    for path in imported_sources(_SEARCH):
        code.update(path.read_bytes())
    proof = hashlib.blake2b(digest_size=6)
    searches = Searches(weights=weights)
    for player, opponent, level in _FIXED:
        result = searches.result(player, opponent, level, 0)
        assert result is not None, "nobody stops it"
        proof.update(f"{result.lines[0].move} {result.lines[0].score} {result.nodes}\n".encode())
    return f"{code.hexdigest()}-{proof.hexdigest()}"


def resource_of(identity: str) -> str:
    """Return the name of the dask resource that a search's task requires; a worker of this identity offers as many as
    it has slots.
    """
    return _RESOURCE + identity


def of_resources(resources: dict[str, float]) -> str:
    """Return the identity of a worker with these resources; "" if it is no worker of desdaemon."""
    return next((name.removeprefix(_RESOURCE) for name in resources if name.startswith(_RESOURCE)), "")
