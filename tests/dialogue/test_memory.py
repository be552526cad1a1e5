"""What a long dialogue keeps: nothing for the lines that are over."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import tracemalloc

from checkout import IMPORT
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
]
ALLOWED = 1000
"""Bytes more after 500 lines; 64 bytes for each line of one command alone would be more."""


def left_by_lines() -> int:
    """Return how many bytes 500 lines leave behind, in a dialogue that has carried out many: of three times the first
    that is little, or else the least, since what a line leaves behind comes every time. For a process of its own, where
    no thread and no cache of another test counts.
    """
    dialogue = Dialogue(level=4)
    chance = random.Random(1)

    def carry_out(number: int) -> int:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(number):
            dialogue.both(chance.choice(LINES))
        dialogue.say("init")
        dialogue.searcher.calls.clear()
        # Caches of limited size, which go on filling.
        rules.canonical_with_symmetry.cache_clear()
        getattr(sys, "_clear_internal_caches", sys._clear_type_cache)()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before

    carry_out(500)
    tracemalloc.start()
    # The tables of the rules, which are filled by what comes up, are nearly full by then.
    carry_out(2000)
    least = carry_out(500)
    for _ in range(2):
        least = min(least, carry_out(500)) if least >= ALLOWED else least
    return least


def test_hundreds_of_mixed_commands_leave_nothing_behind() -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{IMPORT}import test_memory; print(test_memory.left_by_lines())"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert int(done.stdout) < ALLOWED
