"""Exact entries of a searcher's tables, compared with searches of another one; the probe library does it."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module

from checkout import TESTS

from desdaemon.engine.compiler import library
from desdaemon.engine.layout import SWITCHED_OFF
from desdaemon.engine.limits import Limits
from desdaemon.engine.memory import Block
from desdaemon.engine.search import Control, Searcher

_SEEN = 1 << 16
"""Slots of the set of positions that are looked up."""


@cache
def probe_library() -> library.Library:
    """The engine's entries and inner kernels, compiled for tests (tests/engine/probe)."""
    folder = str(TESTS / "engine")
    if folder not in sys.path:
        sys.path.append(folder)
    before = os.environ.get("PYTHONPATH")
    # Of the child that compiles.
    os.environ["PYTHONPATH"] = folder
    try:
        return library.load(import_module("probe.exports").SPEC)
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def check_entries(
    searcher: Searcher, judge: Searcher, player: int, opponent: int, *, thread: int, fewest: int, share: int
) -> tuple[int, int, int]:
    """Compare exact entries for a board and later positions with searches by ``judge``; return the numbers of
    positions looked up, of their exact entries, and of wrong ones.

    The entries are those of the shared tables, and of the table of one of the searcher's threads. Positions have at
    least ``fewest`` empties, and ``share`` in 256 moves of each are followed; at most half of `_SEEN` positions.
    """
    player, opponent, _ = searcher._canonical(player, opponent)
    judge._prepare(Limits(0), Control())
    seen, counts = Block(_SEEN * 16), Block(4096)
    contexts = searcher._contexts[thread].address, judge._contexts[0].address
    words = seen.address, _SEEN - 1, counts.address
    probe_library().check_entries(*contexts, player, opponent, fewest, share, *words)
    found, entries, wrong = counts.words()[:3]
    return int(found), int(entries), int(wrong)


def switch_off(searcher: Searcher, bits: int) -> None:
    """Switch off the parts of the search in the mask ``bits`` (`layout.OFF_...`), and switch on all others."""
    for context in searcher._contexts:
        context[SWITCHED_OFF] = bits
