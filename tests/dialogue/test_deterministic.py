"""`deterministic on`: what is answered does not depend on the number of threads."""

from __future__ import annotations

import random

import pytest
from random_games import random_boards

from desdaemon.core.search.loader import build_engine
from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.session import Session
from desdaemon.engine.limits import level_limits
from desdaemon.engine.result import Line
from desdaemon.protocol.commands.options import OPTIONS

MOST_LEVEL = 21


def answers(tasks: int, asked: list[tuple[int, int, int]]) -> list[tuple[list[Line], int]]:
    """Lines without times, and nodes, for each (player, opponent, level), by the engine that a session asks for."""
    settings = SessionSettings()
    for name, value in (("n-tasks", str(tasks)), ("deterministic", "on"), ("hash-table-size", "16")):
        option = OPTIONS.find(name)
        assert option
        settings.set(option, value)
    engine = build_engine(Session(settings, None).config)  # type: ignore[arg-type]
    found = []
    for player, opponent, level in asked:
        limits = level_limits(level, 64 - (player | opponent).bit_count())
        result = engine.searcher.search(player, opponent, limits, multipv=1 + level % 2)
        found.append(([line._replace(time_ms=0) for line in result.lines], result.nodes))
    return found


def compared(number: int, most_level: int) -> None:
    dice = random.Random(7)
    asked = []
    for _ in range(number):
        [board] = random_boards(1, dice.randint(8, 50), dice.getrandbits(20))
        asked.append((*board, dice.randint(8, most_level)))
    first, *others = (answers(tasks, asked) for tasks in (1, 2, 3, 8))
    assert all(other == first for other in others)


@pytest.mark.compiled
def test_deterministic_answers_repeat_at_low_levels() -> None:
    compared(8, 12)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.timeout(3600)
def test_deterministic_answers_repeat_at_many_positions() -> None:
    compared(200, MOST_LEVEL)
