"""The engine in the process: against the plain solver and itself, asked in every way."""

from __future__ import annotations

import asyncio
import errno
import itertools
import math
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import judge
import pytest
from checkout import ROOT
from quiet_signals import quiet_signal
from test_board import random_game
from waits import until

import desdaemon
from desdaemon import Analysis, BadInput, Board, Engine
from desdaemon.api import BLACK, WHITE, Score


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine(level=4, threads=2, hash_bits=16) as engine:
        yield engine


def endgames(number: int, empties: int) -> list[Board]:
    found = []
    for seed in range(10 * number):
        board = next((known for known in random_game(seed).history if known.empties == empties), None)
        if board is not None and not board.over:
            found.append(board)
    return found[:number]


def solved(board: Board) -> int:
    """The score for the side to move, by the plain solver of the tests."""
    return judge.solve(board.position.player, board.position.opponent)


def test_scores_have_a_point_of_view() -> None:
    score = Score(6, WHITE)
    assert (score.white, score.black, score.seen_by(BLACK), str(score)) == (6, -6, -6, "+6 for white")
    with pytest.raises(ValueError, match="'red' is not a side"):
        score.seen_by("red")


def test_the_package_lists_its_names() -> None:
    assert {"Analysis", "BadInput", "Board", "Engine"} <= set(dir(desdaemon))
    with pytest.raises(AttributeError, match="Bord"):
        _ = desdaemon.Bord  # type: ignore[attr-defined]


def test_a_text_stands_for_its_board(engine: Engine) -> None:
    board = Board("f5d6")
    assert engine.analyze("f5d6", depth=2).board == board
    assert engine.evaluate("f5d6") == engine.evaluate(board)
    assert [found.board for found in engine.analyze_many(["f5d6", board], depth=1)] == [board, board]
    assert next(engine.iterate("f5d6", depth=1)).board == board
    assert [judged.ply for judged in engine.judge_game("f5d6", depth=1)] == [1, 2]
    assert len(engine.analyze_game("f5d6", depth=1)) == 3
    assert engine.look_up("f5d6") is None
    for wrong in ("f5d7", "junk", 5):
        with pytest.raises(BadInput):
            engine.analyze(wrong, depth=1)  # type: ignore[arg-type]


def test_scores_of_endgames_are_exact(engine: Engine) -> None:
    for board in endgames(8, 7):
        found = engine.analyze(board, level=60)
        assert found.best is not None
        assert found.score == Score(solved(board), board.side)
        assert (found.best.exact, found.complete, found.best.move in board.legal) == (True, True, True)
        end = board.play("".join(found.best.pv))
        assert end.result == found.score.black


def test_all_moves_best_first(engine: Engine) -> None:
    board = Board("f5d6c3")
    found = engine.analyze(board, depth=6, multipv=64)
    assert {line.move for line in found.lines} == set(board.legal)
    scores = [line.score.discs for line in found.lines]
    assert scores == sorted(scores, reverse=True)
    assert engine.best_move(board, depth=6) == found.lines[0].move
    chosen = board.legal[1]
    assert [line.move for line in engine.analyze(board, depth=2, allow=[chosen]).lines] == [chosen]


def test_a_pass_and_the_end_of_a_game_have_their_moves(engine: Engine) -> None:
    passing = next(known for seed in range(50) for known in random_game(seed).history if known.legal == ["pa"])
    ended = random_game(3)
    assert engine.analyze(ended).lines == ()
    assert engine.analyze(ended).score.black == ended.result
    assert engine.best_move(ended) is None
    assert engine.best_move(passing, depth=2) == "pa"


def test_many_boards_at_once_are_what_they_are_one_by_one(engine: Engine) -> None:
    boards = endgames(10, 7)
    found = list(engine.analyze_many(boards, level=60))
    assert [one.board for one in found] == boards
    assert [one.score.discs for one in found] == [solved(board) for board in boards]


def test_an_endless_row_of_boards_can_be_left_early(engine: Engine) -> None:
    found = engine.analyze_many(cycle([Board(), Board("f5")]), depth=2)
    assert [one.board.line for one in islice(found, 3)] == ["", "f5", ""]
    found.close()  # type: ignore[attr-defined]


def test_a_game_is_analysed_position_by_position(engine: Engine) -> None:
    board = Board("f5d6c3d3c4")
    assert [one.board.line for one in engine.analyze_game(board, depth=2)] == [known.line for known in board.history]


def test_each_iteration_of_a_search_is_yielded(engine: Engine) -> None:
    found = list(engine.iterate(Board("f5d6"), depth=8))
    assert len(found) > 2
    depths = [one.best.depth for one in found if one.best]
    assert depths == sorted(depths)
    assert [one.complete for one in found] == [False] * (len(found) - 1) + [True]
    whole = engine.analyze(Board("f5d6"), depth=8)
    assert found[-1].best is not None
    assert whole.best is not None
    assert found[-1].best.score == whole.best.score


def test_leaving_an_iteration_ends_the_search(engine: Engine) -> None:
    for known in engine.iterate(Board(), level=60):
        assert known.lines
        break
    assert engine.analyze(Board(), depth=2).complete


@pytest.mark.timeout(120)
def test_inside_an_iteration_what_would_wait_for_its_end_is_refused(engine: Engine) -> None:
    for _ in engine.iterate(Board(), level=60):
        for ask in (engine.analyze, engine.evaluate, engine.best_move, lambda board: next(engine.iterate(board))):
            with pytest.raises(BadInput, match="leave the loop"):
                ask("f5")
        with pytest.raises(BadInput, match="leave the loop"):
            asyncio.run(engine.analyze_async("f5"))
        assert [found.complete for found in engine.analyze_many(["f5"], depth=2)] == [True]
        break
    assert engine.analyze("f5", depth=2).complete
    assert [found.complete for found in engine.iterate("f5", depth=1)][-1]
    assert engine.evaluate("f5").side == WHITE


def test_a_finished_game_has_no_move_to_allow(engine: Engine) -> None:
    over = Board(f"{'X' * 40}{'-' * 24} O")
    assert engine.analyze(over, allow=over.legal).lines == ()


def test_an_engine_answers_within_asyncio(engine: Engine) -> None:
    async def both() -> tuple[Analysis, Analysis]:
        return await asyncio.gather(*(engine.analyze_async(Board(line), depth=4) for line in ("f5", "f5d6")))

    one, other = asyncio.run(both())
    assert (one.board.line, other.board.line) == ("f5", "f5d6")

    async def cancelled() -> None:
        task = asyncio.create_task(engine.analyze_async(Board(), level=60))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert engine.analyze(Board(), depth=2).complete


def test_a_limit_or_a_stop_ends_a_search(engine: Engine) -> None:
    assert not engine.analyze(Board(), nodes=2000).complete
    assert not engine.analyze(Board(), time_s=0.05).complete
    over = threading.Event()

    def stop() -> None:
        # Again and again: a stop that comes before the search has begun ends nothing.
        while not over.wait(0.1):
            engine.stop()

    stopper = threading.Thread(target=stop)
    stopper.start()
    found = engine.analyze(Board(), level=60)
    over.set()
    stopper.join()
    assert not found.complete
    assert found.lines


def test_a_time_limit_ends_a_search_and_not_the_game(engine: Engine) -> None:
    assert [judged.ply for judged in engine.judge_game("f5d6c3d3", time_s=0.02)] == [1, 2, 3, 4]


def test_a_stop_between_two_searches_of_a_move_ends_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first search, of the best move, is over, the second, of the move that was played, has not begun."""
    engine = Engine(threads=1, hash_bits=16)
    search: Any = engine._search

    def then_stop(searcher: Any, board: Board, limits: Any, *rest: Any) -> Analysis:
        if then_stop.first:  # type: ignore[attr-defined]
            then_stop.first = False  # type: ignore[attr-defined]
            found: Analysis = search(searcher, board, limits._replace(depth=1), *rest)
            engine.stop()
            return found
        return search(searcher, board, limits, *rest)  # type: ignore[no-any-return]

    then_stop.first = True  # type: ignore[attr-defined]
    monkeypatch.setattr(engine, "_search", then_stop)
    monkeypatch.setattr("desdaemon.api.engine.as_played", lambda *_: None)
    assert list(engine.judge_game("f5", level=60)) == []


def test_a_stop_before_a_call_has_its_turn_ends_it(engine: Engine) -> None:
    """One search runs, another waits for it."""
    asked = [threading.Thread(target=engine.analyze, args=("",), kwargs={"level": 60}) for _ in range(2)]
    for thread in asked:
        thread.start()
    until(lambda: len(engine._running) == 2)
    engine.stop()
    for thread in asked:
        thread.join()


@pytest.mark.parametrize(
    "work",
    [
        lambda engine: list(engine.judge_game("f5d6", level=60)),
        lambda engine: list(engine.analyze_many(["", "f5"], level=60)),
        lambda engine: list(engine.iterate("", level=60, multipv=10)),
    ],
)
def test_a_signal_that_wakes_nobody_is_heard(work: Callable[[Engine], list[object]]) -> None:
    engine = Engine(threads=2, hash_bits=16)
    with quiet_signal(engine.stop):
        work(engine)


def test_a_closed_engine_begins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closed by a signal handler, just when the call is noted."""
    engine = Engine(threads=1, hash_bits=12)

    class Noting(set[Any]):
        def add(self, call: Any) -> None:
            engine.close()
            super().add(call)

    monkeypatch.setattr(engine, "_running", Noting())
    for work in (engine.analyze, engine.iterate, engine.judge_game):
        with pytest.raises(BadInput, match="closed"):
            list(work("f5", level=60))  # type: ignore[operator]
    assert engine._running == set()


def test_static_evaluations_are_seen_from_the_side_to_move(engine: Engine) -> None:
    score = engine.evaluate(Board("f5d6c3"))
    assert score.side == WHITE
    assert engine.evaluate(Board("f5d6c3").mirrored(3)) == score


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"level": 61}, "61"),
        ({"level": 3, "depth": 3}, "level and depth"),
        ({"selectivity": 80}, "selectivity 80"),
        ({"depth": -1}, "depth -1: expected a whole number"),
        ({"depth": math.nan}, "depth nan: expected a whole number"),
        ({"level": 3.5}, "level 3.5: expected a whole number"),
        ({"nodes": 1 << 64}, "expected a whole number from 0 to 10"),
        ({"time_s": math.nan}, "time_s nan: expected 0 to 1000000"),
        ({"time_s": math.inf}, "time_s inf: expected 0 to 1000000"),
        ({"time_s": -1}, "time_s -1: expected 0 to 1000000"),
        ({"multipv": 0}, "multipv 0: expected a whole number"),
        ({"allow": ["a1"]}, "a1 is not legal"),
        ({"allow": []}, "allow names no move"),
    ],
)
def test_wrong_questions_are_refused(engine: Engine, how: dict[str, object], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        engine.analyze(Board(), **how)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=told):
        list(engine.iterate(Board(), **how))
    with pytest.raises(TypeError, match="'levle' is not an argument"):
        next(engine.iterate(Board(), levle=3))


def test_the_shortest_time_is_no_endless_search(engine: Engine) -> None:
    assert not engine.analyze(Board(), time_s=1e-9).complete


def test_memory_that_the_system_refuses_makes_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(size: int) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr("desdaemon.engine.search.Block", refuse)
    with pytest.raises(BadInput, match=r"hash_bits 12, threads 1: .*Cannot allocate memory"):
        Engine(threads=1, hash_bits=12)


@pytest.mark.needs("engine.people")
@pytest.mark.parametrize("rating", [99, 2701, math.nan])
def test_people_have_ratings_of_a_scale(engine: Engine, rating: int) -> None:
    with pytest.raises(BadInput, match=f"rating {rating}: expected a whole number from 100 to 2700"):
        engine.people("f5", rating)


@pytest.mark.posix
@pytest.mark.compiled
def test_an_engine_searches_on_in_a_child_that_is_a_fork() -> None:
    program = """
import os, signal
from desdaemon import Engine
engine = Engine(threads=2, hash_bits=12)
engine.analyze("f5", depth=14)
child = os.fork()
if not child:
    signal.alarm(30)
print(engine.analyze("f5d6", depth=14).complete, len(list(engine.analyze_many(["f5", "f5d6"], depth=1))), flush=True)
if not child:
    os._exit(0)
os.waitpid(child, 0)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert run.stdout == "True 2\n" * 2


def test_the_evaluation_of_a_finished_game_is_its_result(engine: Engine) -> None:
    assert engine.evaluate(f"{'X' * 40}{'-' * 24} O") == Score(-64, WHITE)


def test_wrong_settings_make_no_engine(tmp_path: Path) -> None:
    rubbish = tmp_path / "rubbish"
    rubbish.write_bytes(b"rubbish")
    wrong: list[dict[str, Any]] = [{"level": 61}, {"eval_file": rubbish}, {"book": rubbish}, {"hash_bits": 99}]
    wrong += [{"threads": -1}, {"eval_file": "a\0b"}, {"book": "a\0b"}, {"book": "~nobody/a"}]
    for how in wrong:
        with pytest.raises(BadInput):
            Engine(**{"threads": 1, **how})
    engine = Engine(threads=1, hash_bits=12)
    engine.close()
    with pytest.raises(BadInput, match="closed"):
        engine.analyze(Board())


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
@pytest.mark.parametrize("name", ["a.book", "a.dat", "a.egbk3"])
def test_a_book_is_looked_up(tmp_path: Path, name: str) -> None:
    lines = f"book new 1 12\nplay f5d6c3d3c4\nbook store\nbook save {tmp_path / name}\n"
    program = [sys.executable, str(ROOT / "daemon" / "__main__.py"), "-q"]
    subprocess.run(program, input=lines, text=True, check=True, capture_output=True)
    with Engine(threads=1, hash_bits=12, book=tmp_path / name) as engine:
        played = Board("f5d6c3d3c4")
        for line in (played, played.mirrored(3)):
            for board, after in itertools.pairwise(line.history):
                entry = engine.look_up(board)
                assert entry is not None
                assert entry.score.side == board.side
                assert entry.lower <= entry.score.discs <= entry.upper
                assert {move.move for move in entry.moves} <= set(board.legal)
                assert after.last_move in [move.move for move in entry.moves if move.linked]
        assert engine.look_up(random_game(1)) is None


@pytest.mark.needs("book.umigame")
def test_a_program_counts_the_lines_to_know() -> None:
    """Of the book that ships: its first moves are one, so that either side needs as many lines after it as before."""
    with Engine(threads=1, hash_bits=12, book="builtin") as engine:
        known = engine.umigame("")
        assert known is not None
        assert known == engine.umigame("f5") == engine.umigame(Board("d3").mirrored(3))
        assert known[0] < known[1]
        assert engine.umigame("", depth=1) == (1, 1)
        assert engine.umigame(random_game(1)) is None
