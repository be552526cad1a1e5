"""The memory that threads share: what one of them writes must not lie beside what another does."""

from __future__ import annotations

from itertools import combinations

from desdaemon.engine import layout
from desdaemon.engine.team import Context

PAIR_OF_LINES = 128
"""Bytes that a processor may fetch at once."""

WRITTEN_BY_MANY = {
    "the search that is open, and the epoch": (layout.TEAM_OPEN, layout.TEAM_EPOCH + layout.WORD),
    "helpers in the search": (layout.TEAM_ACTIVE, layout.TEAM_ACTIVE + layout.WORD),
    "helpers asleep": (layout.TEAM_SLEEPERS, layout.TEAM_SLEEPERS + layout.WORD),
    "nodes drawn": (layout.TEAM_NODES, layout.TEAM_PORTION + layout.WORD),
    "the answer": (layout.TEAM_CLAIMED, layout.TEAM_BEST + layout.WORD),
    "the root": (layout.TEAM_ROOT, layout.TEAM_SHARE_FROM + layout.WORD),
    "marks": (layout.TEAM_BUSY, layout.TEAM_BYTES),
}


def test_what_threads_of_a_team_write_is_apart() -> None:
    for one, other in combinations(WRITTEN_BY_MANY.values(), 2):
        (_, end), (begin, _) = sorted((one, other))
        assert begin // PAIR_OF_LINES > (end - 1) // PAIR_OF_LINES


def test_contexts_are_apart() -> None:
    contexts = [Context() for _ in range(4)]
    assert all(context.address % layout.CONTEXT_BYTES == 0 for context in contexts)
    assert len({context.address for context in contexts}) == 4


def test_what_others_write_in_a_context_is_apart() -> None:
    assert layout.SPINS // PAIR_OF_LINES < layout.LEAVE // PAIR_OF_LINES
    longest = layout.PATH + layout.PATH_CAPACITY * layout.PATH_BYTES
    assert layout.LEAVE + layout.WORD <= layout.PATH - PAIR_OF_LINES
    assert longest <= layout.CONTEXT_BYTES
