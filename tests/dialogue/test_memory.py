"""What a long dialogue keeps: nothing for the lines that are over."""

from __future__ import annotations

import gc
import random
import sys
import tracemalloc

from dialogue import Dialogue

from desdaemon.protocol.othello import rules

LINES = [
    "init",
    "play f5d6c3",
    "undo",
    "redo",
    "go",
    "hint 3",
    "eval",
    "moves",
    "options",
    "help",
    "new",
    "hmirror",
    "version",
    "opening",
    "noise 3",
    "level 4",
    "setboard ---------------------------OX------XO--------------------------- X",
    "play nonsense",
    "f5",
    "nonsense",
    "force f5",
    "analyze",
    "book show",
    "setboard nothing",
    "rotate 90",
    "symmetry 5",
    "seek nothing",
    "load nowhere.ggf",
    "solve nowhere.obf",
]
ALLOWED = 1000
"""Bytes more after 500 lines; 64 bytes for each line of one command alone would be more."""


def test_hundreds_of_mixed_commands_leave_nothing_behind() -> None:
    dialogue = Dialogue(level=4)
    chance = random.Random(1)

    def carry_out(number: int) -> int:
        """Return how many bytes ``number`` lines have left."""
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(number):
            dialogue.both(chance.choice(LINES))
        dialogue.say("init")
        dialogue.searcher.calls.clear()
        # Caches of limited size that earlier tests have filled: what takes a place there would count as growth.
        rules.canonical_with_symmetry.cache_clear()
        getattr(sys, "_clear_internal_caches", sys._clear_type_cache)()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before

    carry_out(200)
    tracemalloc.start()
    try:
        carry_out(200)
        growth = [carry_out(500)]
        while growth[-1] >= ALLOWED and len(growth) < 3:
            # Threads that other tests have left may allocate meanwhile; what a line leaves behind comes every time.
            growth.append(carry_out(500))
        assert min(growth) < ALLOWED
    finally:
        tracemalloc.stop()
