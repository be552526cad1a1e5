"""Counts of the game tree against published numbers and the referee."""

import os
import subprocess
import sys

import pytest
import referee
from checkout import IMPORT
from hypothesis import given, settings
from hypothesis import strategies as st

from desdaemon.engine.counting.counts import count_positions, perft
from desdaemon.protocol.othello.rules import START

PERFT = {
    1: [1, 4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288, 24571284, 212258800],
    2: [1, 4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005320, 24571420, 212260880],
}
POSITIONS = {
    1: [1, 1, 3, 14, 60, 322, 1773, 10649, 67245, 434029, 2958586],
    2: [1, 1, 3, 14, 60, 322, 1773, 10649, 67245, 434029, 2958579],
    3: [1, 1, 3, 14, 60, 322, 1773, 10649, 67245, 433993, 2958551],
}


@pytest.mark.compiled
@pytest.mark.parametrize("mode", [1, 2])
def test_perft_of_the_opening_is_the_known_one(mode: int) -> None:
    assert [perft(*START, depth, mode) for depth in range(12)] == PERFT[mode]


@pytest.mark.slow
@pytest.mark.compiled
def test_perft_is_the_same_on_a_processor_without_vectors() -> None:
    code = IMPORT + (
        "from desdaemon.engine.counting.counts import perft\n"
        "from desdaemon.protocol.othello.rules import START\n"
        "print([perft(*START, depth, mode) for mode in (1, 2) for depth in range(10)])\n"
    )
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=550, check=True
    )
    assert done.stdout == f"{PERFT[1][:10] + PERFT[2][:10]}\n"


@given(st.integers(0, 2**32), st.integers(0, 60), st.integers(0, 4), st.sampled_from([1, 2]))
@settings(max_examples=30, deadline=None)
def test_perft_agrees_with_the_referee(seed: int, plies: int, depth: int, mode: int) -> None:
    cells = referee.random_position(seed, plies)
    assert perft(*referee.to_bits(cells), depth, mode) == referee.perft(cells, depth, mode)


@given(st.integers(0, 2**32), st.integers(50, 58), st.sampled_from([1, 2]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_perft_to_the_end_of_the_game_agrees_with_the_referee(seed: int, plies: int, mode: int, swap: bool) -> None:
    """Deep enough to be cut into parts, with passes and ends on the way, and a pass at the root."""
    cells = referee.random_position(seed, plies)
    if swap:
        cells = referee.passed(cells)
    if referee.empties(cells) <= 7:
        assert perft(*referee.to_bits(cells), 14, mode) == referee.perft(cells, 14, mode)


@pytest.mark.parametrize("mode", [1, 2])
def test_threads_do_not_change_a_count(mode: int) -> None:
    assert perft(*START, 10, mode, threads=4) == PERFT[mode][10]


@pytest.mark.parametrize("definition", [1, 2, 3])
def test_positions_of_the_opening_are_the_known_ones(definition: int) -> None:
    assert [count_positions(depth, definition) for depth in range(10)] == POSITIONS[definition][:10]


def test_positions_agree_with_the_referee() -> None:
    for definition in (1, 2, 3):
        assert referee.count_positions(5, definition) == POSITIONS[definition][5]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((1, 1, 3), "0x1, 0x1: expected two 64-bit words that share no square"),
        ((1 << 64, 0, 3), "share no square"),
        ((-1, 0, 3), "share no square"),
        ((*START, -1), "depth -1: expected 0 or more plies"),
        ((*START, 3, 3), r"perft mode 3: expected 1 \(a pass is a ply\) or 2"),
    ],
)
def test_wrong_depths_of_perft_are_refused(arguments: tuple[int, ...], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        perft(*arguments)


def test_wrong_counts_of_positions_are_refused() -> None:
    with pytest.raises(ValueError, match="depth -2: expected 0 or more plies"):
        count_positions(-2)
    with pytest.raises(ValueError, match=r"definition 4: expected 1 \(as moved\), 2"):
        count_positions(3, 4)
