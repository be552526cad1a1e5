"""What ends a search, and what the levels mean."""

from __future__ import annotations

import json
import threading
import time

import judge
import pytest

from desdaemon.engine.compiler import INTERPRETED
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits, level_limits
from desdaemon.engine.result import Line, Result
from desdaemon.engine.search import Control, Searcher
from desdaemon.protocol.othello.selectivity import SELECTIVITIES, Selectivity, depth_text

# Edax's levels: of each level, up to how many empties the game is read to its end with which selectivity; beyond,
# the depth is the level, with the selectivity that stands last.
LEVELS = {
    **{level: ([(2 * level, 100)], 100) for level in range(1, 11)},
    **dict.fromkeys((11, 12), ([(21, 100), (24, 98)], 73)),
    **dict.fromkeys(range(13, 19), ([(21, 100), (24, 98), (27, 87)], 73)),
    **dict.fromkeys((19, 20, 21), ([(24, 100), (27, 98), (30, 87)], 73)),
    **dict.fromkeys((22, 23, 24), ([(24, 100), (27, 99), (30, 95), (33, 73)], 73)),
    **dict.fromkeys((25, 26, 27), ([(27, 100), (30, 98), (33, 87)], 73)),
    **dict.fromkeys((28, 29), ([(27, 100), (30, 99), (33, 95), (36, 73)], 73)),
    **dict.fromkeys((30, 31), ([(30, 100), (33, 98), (36, 87)], 73)),
    **dict.fromkeys((32, 33), ([(30, 100), (33, 99), (36, 95), (39, 73)], 73)),
    **dict.fromkeys((34, 35), ([(30, 100), (33, 99), (36, 98), (39, 87)], 73)),
    **{
        level: (
            [(level - 6, 100), (level - 3, 99), (level, 98), (level + 3, 95), (level + 6, 87), (level + 9, 73)],
            73,
        )
        for level in range(36, 60)
    },
}


@pytest.mark.parametrize("level", LEVELS)
def test_levels_have_their_depths(level: int) -> None:
    to_the_end, beyond = LEVELS[level]
    for empties in range(61):
        expected = next(
            (Limits(empties, Selectivity(percent)) for most, percent in to_the_end if empties <= most),
            Limits(level, Selectivity(beyond)),
        )
        assert level_limits(level, empties) == expected


def test_the_first_and_the_last_level_search() -> None:
    for empties in range(61):
        assert level_limits(0, empties) == Limits(0, Selectivity(100))
        assert level_limits(60, empties) == Limits(empties, Selectivity(100))


@pytest.mark.parametrize(
    ("level", "empties", "complaint"),
    [
        (-1, 20, "level -1 is outside 0..60"),
        (61, 20, "level 61 is outside 0..60"),
        (10, -1, "-1 empties are outside 0..64"),
        (10, 65, "65 empties are outside 0..64"),
    ],
)
def test_a_wrong_level_is_refused(level: int, empties: int, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        level_limits(level, empties)


@pytest.mark.parametrize(("bits", "threads"), [(9, 1), (33, 1), (-1, 1), (16, 0), (16, -2)])
def test_wrong_settings_make_no_searcher(weights: Weights, bits: int, threads: int) -> None:
    with pytest.raises(ValueError, match=f"2\\^{bits} entries is outside" if threads == 1 else "threads: at least 1"):
        Searcher(hash_bits=bits, threads=threads, weights=weights)


def test_selectivities_have_indices_and_print_as_percentages() -> None:
    assert [Selectivity.at(level.index) for level in SELECTIVITIES] == list(Selectivity)
    assert [int(level.index) for level in SELECTIVITIES] == [0, 1, 2, 3, 4, 5]
    assert f"{Selectivity.PERCENT_73}" == str(Selectivity(73)) == repr(Selectivity(73)) == "73"
    assert json.dumps(list(Selectivity)) == "[73, 87, 95, 98, 99, 100]"
    assert depth_text(16, Selectivity(87)) == "16@87%"
    assert depth_text(16, Selectivity.FULL) == "16"


def opened(seed: int) -> judge.Board:
    [board] = [board for board in judge.positions(seed, 1, [44]) if judge.moves(*board)]
    return board


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("nodes", [1, 10_000, 300_000])
def test_a_node_limit_ends_a_search(weights: Weights, nodes: int, threads: int) -> None:
    searcher = Searcher(hash_bits=14, weights=weights, threads=threads)
    for board, limits in (
        (opened(1), Limits(40, Selectivity(100), nodes)),
        (opened(3), Limits(60, Selectivity(73), nodes)),
    ):
        result = searcher.search(*board, limits)
        assert not result.complete
        [line] = result.lines
        assert judge.moves(*board) >> line.move & 1
        assert result.nodes < nodes + 2000
        assert nodes < 10_000 or result.nodes > nodes // 8


def test_a_distant_node_limit_changes_nothing(searcher: Searcher) -> None:
    board = opened(1)
    free = searcher.search(*board, Limits(5))
    searcher.clear()
    limited = searcher.search(*board, Limits(5, Selectivity(100), free.nodes + 10_000))
    assert limited.complete
    assert limited.lines[0][:7] == free.lines[0][:7]


def test_a_time_limit_ends_a_search(searcher: Searcher) -> None:
    board = opened(1)
    result = searcher.search(*board, Limits(60, Selectivity(100), 0, 100))
    assert not result.complete
    assert judge.moves(*board) >> result.lines[0].move & 1
    assert result.lines[0].depth >= 1


def test_a_distant_time_limit_changes_nothing(searcher: Searcher) -> None:
    # Where there are no alarms pytest's own limit is such a timer.
    before = set(threading.enumerate())
    assert searcher.search(*opened(1), Limits(2, Selectivity(100), 0, 3_600_000)).complete
    for thread in set(threading.enumerate()) - before:
        if isinstance(thread, threading.Timer):
            thread.join(30)
            assert not thread.is_alive()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("empties", "limits", "depth"), [(44, Limits(40), 9), (26, Limits(60), 15)])
def test_another_thread_stops_a_search(
    weights: Weights, threads: int, empties: int, limits: Limits, depth: int
) -> None:
    """In the middle of a step that is far from its end."""
    if INTERPRETED:
        depth = 2
    searcher = Searcher(hash_bits=14, weights=weights, threads=threads)
    [board] = judge.positions(4, 1, [empties])
    control = Control()
    begun = threading.Event()
    told: list[Line] = []

    def progress(rank: int, line: Line) -> None:
        told.append(line)
        if line.depth >= depth:
            begun.set()

    found: list[Result] = []
    worker = threading.Thread(
        daemon=True,
        target=lambda: found.append(searcher.search(*board, limits, control=control, progress=progress)),
    )
    worker.start()
    try:
        assert begun.wait(60)
        assert not control.stopped
        time.sleep(0.02)
    finally:
        control.stop()
        nodes = control.nodes
        worker.join(60)
    assert control.stopped
    [result] = found
    assert result.nodes - nodes < 50_000
    assert not result.complete
    [line] = result.lines
    assert line.depth >= told[-1].depth
    end = board
    for move in line.pv:
        end = judge.play(end, move)


@pytest.mark.parametrize("multipv", [1, 3])
def test_a_stop_before_the_search_ends_it(searcher: Searcher, multipv: int) -> None:
    for board in (opened(1), *judge.positions(6, 5, [9])):
        control = Control()
        control.stop()
        result = searcher.search(*board, Limits(60), control=control, multipv=multipv)
        if judge.over(board):
            assert result.lines == ()
            continue
        assert not result.complete
        legal = judge.moves(*board)
        for line in result.lines:
            assert legal >> line.move & 1 if legal else line.move == judge.PASS
            assert line.lower <= line.score <= line.upper
            assert not line.exact or line.score == judge.solve(*board)


def test_a_search_after_a_stopped_one_is_right(searcher: Searcher) -> None:
    """Whatever a search leaves in the table when it is cut short must be true."""
    for number, board in enumerate(judge.positions(7, 30, [12, 13])):
        if judge.over(board):
            continue
        exact = judge.solve(*board)
        result = searcher.search(*board, Limits(60, Selectivity(100), 50 + 80 * number))
        for line in result.lines:
            assert line.lower <= exact <= line.upper or line.depth < line.empties
        assert searcher.search(*board, Limits(60)).lines[0].score == exact


def test_a_search_after_one_stopped_at_its_last_step(weights: Weights) -> None:
    boards = [board for board in judge.positions(9, 6, [16]) if judge.moves(*board)]
    for board in boards:
        whole = Searcher(hash_bits=16, weights=weights).search(*board, Limits(60))
        for share in (60, 75, 85, 95):
            searcher = Searcher(hash_bits=16, weights=weights)
            stopped = searcher.search(*board, Limits(60, Selectivity(100), whole.nodes * share // 100))
            assert not stopped.complete
            assert searcher.search(*board, Limits(60)).lines[0].score == whole.lines[0].score


def test_one_control_stops_a_bulk_call(searcher: Searcher, weights: Weights) -> None:
    from desdaemon.engine.memory import Block

    memory = Block(8 * 300)
    words = memory.words()
    board = opened(1)
    for k in range(100):
        words[k], words[100 + k], words[200 + k] = *board, 77
    control = Control()
    control.stop()
    searcher.score_many(memory.address, memory.address + 800, memory.address + 1600, 100, Limits(8), control)
    assert list(words[201:300]) == [77] * 99
