"""The table that ProbCut works with says what the error model says, and the search heeds it."""

import math
from collections.abc import Callable
from itertools import pairwise

import pytest

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.evaluation.weights_metadata import WeightsMetadata
from desdaemon.engine.kernels.midgame import REDUCED_FROM
from desdaemon.engine.layout import PROBCUT_DEPTHS
from desdaemon.engine.limits import Limits
from desdaemon.engine.probcut import (
    CONFIDENCE,
    CONFIDENCE_TO_THE_END,
    DEFAULT,
    ErrorModel,
    cut,
    model_of,
    stand_in,
    table,
)
from desdaemon.engine.result import Result
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.selectivity import SELECTIVITIES, Selectivity

MODEL = ErrorModel(
    scale=18.0,
    gap_exponent=0.3,
    depth_offset=5.0,
    depth_exponent=0.7,
    empties_rate=0.015,
    sigma_to_end=4.5,
    bias_odd=-1.5,
    bias_even=0.75,
)


@pytest.mark.parametrize("selectivity", range(len(SELECTIVITIES) - 1))
@pytest.mark.parametrize(
    ("empties", "depth"), [(60, 3), (44, 10), (30, 12), (30, 29), (20, 7), (13, 13), (24, 24), (60, 60)]
)
def test_the_table_holds_the_model(empties: int, depth: int, selectivity: int) -> None:
    asked = cut(table(MODEL), empties, depth, selectivity)
    end = depth == empties
    shallow = stand_in(empties, depth)
    assert asked.shallow == shallow
    # Once more, by the formula that is documented.
    confidence = (CONFIDENCE_TO_THE_END if end else CONFIDENCE)[selectivity]
    error, rough = (18.0 * (depth - s) ** 0.3 * (5.0 + s) ** -0.7 * math.exp(-0.015 * empties) for s in (shallow, 0))
    if end:
        error = 4.5
    assert MODEL.sigma(empties, depth, shallow) == pytest.approx(error)
    bias = (-1.5 if empties % 2 else 0.75) if end else 0.0
    assert MODEL.bias(empties, depth) == bias
    assert asked.above == pytest.approx(confidence * error + bias, abs=0.6)
    assert asked.below == pytest.approx(confidence * error - bias, abs=0.6)
    assert -0.2 <= asked.rough - confidence * rough <= 1.2


def test_more_certain_searches_ask_for_more() -> None:
    words = table(DEFAULT)
    for empties, depth in ((50, 3), (40, 16), (30, 10), (20, 20), (13, 13)):
        asked = [cut(words, empties, depth, selectivity) for selectivity in range(len(SELECTIVITIES) - 1)]
        for less, more in pairwise(asked):
            assert less.above <= more.above
            assert less.below <= more.below
            assert less.rough <= more.rough
        assert asked[0].above < asked[-1].above


def test_a_stand_in_is_shallower_and_inside_the_game() -> None:
    for depth in range(3, PROBCUT_DEPTHS):
        for empties in (depth, depth + 1, 60):
            assert 1 <= stand_in(empties, depth) < depth
            if empties > depth:
                assert (depth - stand_in(empties, depth)) % 2 == 0


@pytest.mark.parametrize(
    "fields",
    [
        [],
        {"ceiling": 1},
        {"size": "3"},
        {"size": True},
        {"size": 3000},
        {"calm": -1},
        {"start": -20},
        {"start": -3, "decay": 2},
        {"gap": float("nan")},
        {"decay": float("-inf")},
        {"size": 10**400},
    ],
)
def test_what_cannot_be_a_model_is_refused(fields: object) -> None:
    with pytest.raises(ValueError, match="the record's probcut"):
        model_of(fields)


def test_a_model_comes_back_from_its_fields() -> None:
    assert model_of(MODEL.to_record()) == MODEL
    assert model_of({}) == DEFAULT


HOPELESS = ErrorModel(
    scale=128, gap_exponent=0, depth_exponent=0, empties_rate=0, sigma_to_end=128, bias_odd=0, bias_even=0
)
"""Nothing is ever certain."""


@pytest.fixture
def found(weights_by_lot: Weights, monkeypatch: pytest.MonkeyPatch) -> Callable[[ErrorModel, int, int], Result]:
    """Search a position of 48 empties with an error model to a depth (plies) at a selectivity (percent)."""

    def search(model: ErrorModel, depth: int, percent: int) -> Result:
        monkeypatch.setattr(weights_by_lot, "metadata", WeightsMetadata(None, model))
        searcher = Searcher(hash_bits=16, weights=weights_by_lot)
        return searcher.search(0x00003C7830000000, 0x0008000408040000, Limits(depth, Selectivity(percent)))

    return search


@pytest.mark.compiled
def test_errors_beyond_all_scores_leave_no_cut(found: Callable[[ErrorModel, int, int], Result]) -> None:
    """The search reads the model of its weights: where nothing is ever certain, selectivity changes nothing, below the
    depth from which late moves are searched less deep.
    """
    depth = REDUCED_FROM - 1
    selective, full = found(HOPELESS, depth, 73), found(HOPELESS, depth, 100)
    assert (selective.lines[0].move, selective.lines[0].score) == (full.lines[0].move, full.lines[0].score)
    # Asking and never cutting costs an evaluation a node, no more.
    assert full.nodes <= selective.nodes < 1.1 * full.nodes
    assert found(HOPELESS._replace(scale=0.25), depth, 73).nodes < full.nodes / 2


@pytest.mark.compiled
def test_late_moves_are_searched_less_deep_at_73_and_87_percent_alone(
    found: Callable[[ErrorModel, int, int], Result],
) -> None:
    full = found(HOPELESS, REDUCED_FROM + 3, 100)
    for percent in (73, 87):
        assert found(HOPELESS, REDUCED_FROM + 3, percent).nodes < 0.7 * full.nodes
    surer = found(HOPELESS, REDUCED_FROM + 3, 95)
    assert full.nodes <= surer.nodes < 1.1 * full.nodes
    assert (surer.lines[0].move, surer.lines[0].score) == (full.lines[0].move, full.lines[0].score)
