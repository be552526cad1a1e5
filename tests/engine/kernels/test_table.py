"""What the transposition table keeps of a board that is searched again and again, at other depths and selectivities."""

from __future__ import annotations

import judge
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.engine.compiler.library import Library
from desdaemon.engine.layout import DATE, INFINITE, LAST_DATE, SALT, TABLE
from desdaemon.engine.memory import Block
from desdaemon.engine.team import Context

TRUE_SCORE = 4
"""Of every board and search here, so that an answer can be judged."""

BOARDS = judge.strewn(3, 2, [20])
"""Two boards have two places each in a bucket of four: nothing has to be forgotten."""

RESULTS = st.lists(
    st.tuples(
        st.sampled_from(BOARDS),
        st.integers(1, 20),
        st.integers(0, 5),
        st.integers(-10, 10),
        st.integers(0, 6),
    ),
    max_size=16,
)
"""Boards, depths, selectivity indices, alphas, and how far the scores stay from the true one."""


def bound(alpha: int, far: int) -> int:
    """A score that a null window from ``alpha`` may give: a bound of the true one on its own side."""
    return max(alpha + 1, TRUE_SCORE - far) if alpha < TRUE_SCORE else min(alpha, TRUE_SCORE + far)


@given(RESULTS)
def test_results_are_found_and_deeper_ones_stay(
    inner: Library, results: list[tuple[judge.Board, int, int, int, int]]
) -> None:
    bucket, context = Block(4096), Context()
    context[TABLE], context[SALT], context[DATE] = bucket.address, 77 << 32, 1
    deepest: dict[judge.Board, tuple[int, int, int]] = {}
    for move, (board, depth, selectivity, alpha, far) in enumerate(results):
        score = bound(alpha, far)
        inner.probe_remember(context.address, *board, alpha, score, move, depth, selectivity)
        found = inner.probe_answer(context.address, *board, alpha, depth, selectivity)
        assert found != INFINITE
        assert (found > alpha) == (alpha < TRUE_SCORE)
        best = deepest.get(board)
        if best is None or not (best[0] >= depth and best[1] >= selectivity):
            deepest[board] = (depth, selectivity, alpha)
        for kept, (its_depth, its_selectivity, its_alpha) in deepest.items():
            answer = inner.probe_answer(context.address, *kept, its_alpha, its_depth, its_selectivity)
            assert answer != INFINITE, "a deeper result was lost to a shallower one"
            assert (answer > its_alpha) == (its_alpha < TRUE_SCORE)


def test_dates_that_begin_again_are_newer(inner: Library) -> None:
    """Results of before the dates began again give way to new ones, which do not give way to each other."""
    bucket, context = Block(4096), Context()
    context[TABLE], context[SALT] = bucket.address, 77 << 32
    boards = [(1 << square, 2 << square) for square in range(8)]
    for number, board in enumerate(boards):
        context[DATE] = LAST_DATE if number < 4 else 1
        inner.probe_remember(context.address, *board, 0, TRUE_SCORE, 9, 5, 0)
    assert [inner.probe_answer(context.address, *board, 0, 5, 0) for board in boards[4:]] == [TRUE_SCORE] * 4
