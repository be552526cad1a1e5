"""The table that ProbCut works with says what the error model says, and the search heeds it."""

import math
from itertools import pairwise

import pytest

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.evaluation.weights_metadata import WeightsMetadata
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


@pytest.mark.compiled
def test_errors_beyond_all_scores_leave_no_cut(weights_by_lot: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search reads the model of its weights: where nothing is ever certain, selectivity changes nothing."""
    player, opponent = 0x00003C7830000000, 0x0008000408040000
    hopeless = ErrorModel(
        scale=128, gap_exponent=0, depth_exponent=0, empties_rate=0, sigma_to_end=128, bias_odd=0, bias_even=0
    )
    monkeypatch.setattr(weights_by_lot, "metadata", WeightsMetadata(None, hopeless))
    answers = []
    for percent in (73, 100):
        found = Searcher(hash_bits=16, weights=weights_by_lot).search(player, opponent, Limits(8, Selectivity(percent)))
        answers.append((found.lines[0].move, found.lines[0].score, found.nodes))
    # Asking and never cutting costs an evaluation a node, no more.
    assert answers[0][:2] == answers[1][:2]
    assert answers[1][2] <= answers[0][2] < 1.1 * answers[1][2]
    monkeypatch.setattr(weights_by_lot, "metadata", WeightsMetadata(None, hopeless._replace(scale=0.25)))
    hasty = Searcher(hash_bits=16, weights=weights_by_lot).search(player, opponent, Limits(8, Selectivity(73)))
    assert hasty.nodes < answers[1][2] / 2
