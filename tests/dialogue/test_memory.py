"""What a long dialogue keeps: nothing for the lines that are over."""

from __future__ import annotations

import gc
import random
import tracemalloc

from dialogue import Dialogue

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
ALLOWED = 48
"""Bytes a line: strings that the interpreter shares come and go."""


def test_hundreds_of_mixed_commands_leave_nothing_behind() -> None:
    dialogue = Dialogue(level=4)
    chance = random.Random(1)

    def carry_out(number: int) -> None:
        for _ in range(number):
            dialogue.both(chance.choice(LINES))
        dialogue.say("init")
        dialogue.searcher.calls.clear()
        gc.collect()

    carry_out(200)
    tracemalloc.start()
    try:
        carry_out(200)
        growth = []
        while not growth or (growth[-1] >= 500 * ALLOWED and len(growth) < 3):
            # Threads that other tests have left may allocate meanwhile; what a line leaves behind comes every time.
            before = tracemalloc.get_traced_memory()[0]
            carry_out(500)
            growth.append(tracemalloc.get_traced_memory()[0] - before)
        assert min(growth) < 500 * ALLOWED
    finally:
        tracemalloc.stop()
