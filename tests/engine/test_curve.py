"""The score curve: the compiled evaluation against the hyperbolic tangent of the straight one's sums."""

from __future__ import annotations

import math
from functools import cache

import judge
import numpy as np
import plain_weights
import pytest

from desdaemon.engine.compiler import library
from desdaemon.engine.evaluation import curve
from desdaemon.engine.evaluation.patterns import CONSTANT
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.layout import CURVE_STEPS
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher

pytestmark = pytest.mark.compiled


@cache
def boards() -> list[judge.Board]:
    found = [*judge.positions(30, 240, range(1, 60)), *judge.strewn(31, 120, range(1, 60))]
    return [board for board in found if judge.moves(*board)]


@pytest.fixture(scope="module")
def packed(packed_by_lot: np.ndarray) -> np.ndarray:
    """Weights of some discs each."""
    found = packed_by_lot * 8
    found[:, CONSTANT] = np.random.default_rng(32).integers(-10_000, 10_000, len(found))
    return found


@pytest.fixture(scope="module")
def searcher_of(
    engine: library.Library, packed: np.ndarray, tmp_path_factory: pytest.TempPathFactory
) -> dict[float | None, Searcher]:
    """By curve; the weights are the same, and so large that many sums are far beyond 64 discs."""
    path = tmp_path_factory.mktemp("curve") / "large.weights"
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "cache_folder", lambda: None)
        for number in (None, 30, 61.5, 90, 1000):
            plain_weights.write(path, packed, {"curve": number})
            made[number] = Searcher(hash_bits=10, weights=Weights.load(path))
    return made


def discs(searcher: Searcher, board: judge.Board) -> int:
    """The score that a search has at a leaf."""
    return searcher.search(*board, Limits(0)).lines[0].score


def test_without_a_curve_the_score_is_the_sum(searcher_of: dict[float | None, Searcher]) -> None:
    straight = searcher_of[None]
    sums = [round(128 * straight.evaluate(*board)) for board in boards()]
    assert min(sums) < -128 * 70
    assert max(sums) > 128 * 70
    for board, total in zip(boards(), sums, strict=True):
        rounded = (abs(total) + 64) // 128
        assert discs(straight, board) == max(-63, min(63, rounded if total > 0 else -rounded))


@pytest.mark.parametrize("number", [30, 61.5, 90, 1000])
def test_with_a_curve_it_is_the_tangent_of_the_sum(searcher_of: dict[float | None, Searcher], number: float) -> None:
    straight, curved = searcher_of[None], searcher_of[number]
    for board in boards():
        total = straight.evaluate(*board)
        if abs(total) > 128:
            continue
        expected = number * math.tanh(total / number)
        # Borders of 128ths of a disc, and the line between them.
        assert curved.evaluate(*board) == pytest.approx(expected, abs=1.1 / 128)
        # A table entry is for all sums within an eighth of a disc.
        assert abs(discs(curved, board) - max(-63, min(63, expected))) <= 0.5 + 1 / 16
        assert discs(curved, board) * total >= 0


@pytest.mark.parametrize("number", [None, 30.0, 64.0, 80.0, 1000.0])
def test_the_tables_hold_the_curve(number: float | None) -> None:
    memory = bytes(curve.table(number))
    whole, borders = memory[:CURVE_STEPS], np.frombuffer(memory[CURVE_STEPS:], np.int16)
    assert len(borders) == CURVE_STEPS + 1
    assert (np.diff(list(whole)) >= 0).all()
    assert (np.diff(borders) >= 0).all()
    assert whole[0] == borders[0] == 0
    assert max(whole) == min(63, round(128 if number is None else number * math.tanh(127.9 / number)))
    if number is None:
        assert borders.tolist() == list(range(0, 16 * 1025, 16))
        # As many 128ths as an eighth of a disc has are never on both sides of a half.
        assert all(whole[total >> 4] == min(63, (total + 64) >> 7) for total in range(16 * 1024))


def test_a_curve_moves_a_search_as_the_leaves_say(searcher_of: dict[float | None, Searcher]) -> None:
    curved = searcher_of[90]
    for board in boards()[:200:10]:
        children = [judge.play(board, square) for square in judge.squares(judge.moves(*board))]
        if judge.empties(board) < 2 or not all(judge.moves(*child) and 0 not in child for child in children):
            continue
        curved.clear()
        score = curved.search(*board, Limits(1)).lines[0].score
        assert score == max(-discs(curved, child) for child in children)
