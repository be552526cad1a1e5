"""Short searches in one compiled call: the same answers as `Searcher.search`, one after the other or stopped."""

from __future__ import annotations

import judge
import pytest

from desdaemon.engine.compiler import INTERPRETED
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Line, Result
from desdaemon.engine.search import Control, Searcher
from desdaemon.engine.short_searches import ShortSearches
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.selectivity import Selectivity

LIMITS = [Limits(0), Limits(1), Limits(2)] + ([] if INTERPRETED else [Limits(5), Limits(4, Selectivity(73))])


@pytest.fixture(scope="module")
def other(weights_by_lot: Weights) -> Searcher:
    return Searcher(hash_bits=14, weights=weights_by_lot)


def boards(seed: int, number: int) -> list[judge.Board]:
    """Positions in which the game is not over, some of them with a forced pass."""
    found = judge.positions(seed, number, [*range(2, 12), *range(20, 56, 6)]) + judge.strewn(seed, number, [7, 9, 30])
    return [board for board in found if not judge.over(board)]


def without_times(result: Result | None) -> tuple[list[Line], int, bool]:
    assert result is not None
    return [line._replace(time_ms=0.0) for line in result.lines], result.nodes, result.complete


def test_short_searches_answer_as_single_ones_do(searcher_by_lot: Searcher, other: Searcher) -> None:
    short = ShortSearches(other)
    passes = 0
    for player, opponent in boards(1, 40):
        empties = rules.empties(player, opponent)
        for limits in [
            *LIMITS,
            *([Limits(60), Limits(60, Selectivity(87))] if empties <= (4 if INTERPRETED else 10) else []),
        ]:
            searcher_by_lot.clear()
            other.clear()
            expected = searcher_by_lot.search(player, opponent, limits)
            (found,) = short.search([(player, opponent, limits)])
            assert without_times(found) == without_times(expected)
        passes += not judge.moves(player, opponent)
    # Too few for that where kernels run as Python.
    assert passes or INTERPRETED


def test_many_short_searches_equal_single_ones(weights_by_lot: Weights) -> None:
    one, other = (Searcher(hash_bits=12, weights=weights_by_lot) for _ in range(2))
    questions = [(*board, Limits(1 if INTERPRETED else 3)) for board in boards(2, 30)]
    expected = [one.search(*question) for question in questions]
    found = ShortSearches(other).search(questions)
    assert [without_times(each) for each in found] == [without_times(each) for each in expected]
    # The tables are the same afterwards, their dates included.
    again = questions[0]
    assert without_times(other.search(*again)) == without_times(one.search(*again))


def test_a_stop_before_the_call_is_for_an_earlier_one(other: Searcher) -> None:
    short = ShortSearches(other)
    short.stop()
    assert short.search([(*rules.START, Limits(1))])[0] is not None


def test_a_stop_tells_which_searches_were_done(other: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    short = ShortSearches(other)
    search = other.search_records

    def stopped(address: int, number: int, control: Control) -> None:
        short.stop()
        search(address, number, control)

    monkeypatch.setattr(other, "search_records", stopped)
    assert short.search([(*rules.START, Limits(1))] * 3) == [None] * 3


def test_only_short_searches_have_an_estimate() -> None:
    assert Limits(5).estimated_us(40) > Limits(3).estimated_us(40) > 0
    assert Limits(60).estimated_us(8) > 0
    for limits, empties in ((Limits(12), 40), (Limits(60), 20), (Limits(5, nodes=9), 40), (Limits(5, time_ms=9), 40)):
        assert limits.estimated_us(empties) == 0
