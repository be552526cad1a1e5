"""`python tests/lab moves`: positions, their exact scores, and what is said of searches by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab import moves
from lab.positions import plausible_positions

from desdaemon.engine.bench.problems import read_problems
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Line, Result
from desdaemon.engine.search import Searcher
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import START
from desdaemon.protocol.othello.obf import Problem
from desdaemon.protocol.othello.rules import canonical, final_score, is_over, legal_moves, play, squares
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity


def best_score(player: int, opponent: int) -> int:
    """The score with best play, by trying everything in plain Python."""
    if is_over(player, opponent):
        return final_score(player, opponent)
    replies = squares(legal_moves(player, opponent))
    if not replies:
        return -best_score(opponent, player)
    return max(-best_score(*play(player, opponent, move)) for move in replies)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with six positions of 6 empties, and their exact scores as the commands write them."""
    folder = tmp_path_factory.mktemp("moves")
    positions = ["positions", str(folder / "p.obf"), "--empties", "6", "--number", "6", "--seed", "3"]
    assert moves.main(positions) == moves.main(["solve", str(folder / "p.obf"), str(folder / "t.obf")]) == 0
    return folder


@pytest.mark.compiled
def test_positions_are_distinct_with_a_choice_and_decided_by_the_seed() -> None:
    searcher = Searcher(hash_bits=10)
    boards = list(plausible_positions(searcher, 12, 30, 1))
    assert boards == list(plausible_positions(searcher, 12, 30, 1)) != list(plausible_positions(searcher, 12, 30, 2))
    assert len({canonical(*board) for board in boards}) == 12
    for board in boards:
        assert 64 - (board[0] | board[1]).bit_count() == 30
        assert legal_moves(*board).bit_count() > 1


@pytest.mark.compiled
def test_every_move_has_its_exact_score(made: Path) -> None:
    problems = read_problems(made / "t.obf")
    assert [each.position for each in problems] == [each.position for each in read_problems(made / "p.obf")]
    for problem in problems:
        player, opponent, _ = problem.position
        assert problem.scores == {
            move: -best_score(*play(player, opponent, move)) for move in squares(legal_moves(player, opponent))
        }


@pytest.mark.compiled
@pytest.mark.parametrize("workers", ["1", "3"])
def test_a_solve_that_was_killed_goes_on_to_the_same_file(made: Path, tmp_path: Path, workers: str) -> None:
    whole = (made / "t.obf").read_bytes()
    third = whole.index(b"\n", whole.index(b"\n") + 1) + 1
    for size in (0, 10, third - 1, third, third + 70, len(whole)):
        (tmp_path / "t.obf").write_bytes(whole[:size])
        assert moves.main(["solve", str(made / "p.obf"), str(tmp_path / "t.obf"), "--workers", workers]) == 0
        assert (tmp_path / "t.obf").read_bytes() == whole


@pytest.mark.compiled
@pytest.mark.parametrize("spoil", [lambda lines: lines[1:], lambda lines: ["notes"], lambda lines: [*lines, lines[0]]])
def test_a_file_of_something_else_is_left_alone(made: Path, tmp_path: Path, spoil: Any) -> None:
    other = "\n".join(spoil((made / "t.obf").read_text("ascii").splitlines()))
    (tmp_path / "t.obf").write_text(other, "ascii")
    assert moves.main(["solve", str(made / "p.obf"), str(tmp_path / "t.obf")]) == 1
    assert (tmp_path / "t.obf").read_text("ascii") == other


class MadeUp:
    """A search of given scores: each the score of the move to its square, seen from the side that makes it."""

    def __init__(self, scores: dict[int, int], static: dict[int, float]) -> None:
        self.scores, self.static = scores, static

    def clear(self) -> None:
        pass

    def evaluate(self, player: int, opponent: int) -> float:
        return -self.static[self._made(player, opponent)]

    def search(self, player: int, opponent: int, limits: Limits) -> Result:
        if (player, opponent) == START[:2]:
            move = max(self.scores, key=self.scores.__getitem__)
            score = self.scores[move]
        else:
            move = 64
            score = -self.scores[self._made(player, opponent)]
        line = Line(
            move, MoverScore(score), MoverScore(-64), MoverScore(64), limits.depth, limits.selectivity, (), 9, 0.0, 60
        )
        return Result((line,), 10 * limits.depth, 0.0, True)

    @staticmethod
    def _made(player: int, opponent: int) -> int:
        return ((player | opponent) & ~(START[0] | START[1])).bit_length() - 1


def rows_of(*exact_and_scores: tuple[list[int], list[int]]) -> list[moves.Judged]:
    """What judges say of searches of the first move, given the exact scores and those of the search."""
    four = squares(legal_moves(*START[:2]))
    rows = []
    for number, (exact, scores) in enumerate(exact_and_scores):
        truth = {move: MoverScore(score) for move, score in zip(four, exact, strict=True)}
        search = MadeUp(dict(zip(four, scores, strict=True)), dict(zip(four, map(float, exact), strict=True)))
        limits = Limits(5, Selectivity.PERCENT_73)
        row = moves.judged(search, Problem(START, truth), limits, siblings=True)
        rows.append(row._replace(board=str(number)))
    return rows


def test_a_search_of_given_scores_has_the_figures_that_follow() -> None:
    rows = rows_of(([4, 2, 0, 0], [2, 3, -9, 1]), ([8, 8, -4, 6], [5, 9, 1, 2]), ([-2, -2, -2, -2], [1, 0, 0, 0]))
    assert [(row.chosen, row.score, row.nodes) for row in rows] == [(1, 3, 50), (1, 9, 50), (0, 1, 50)]
    said = moves.figures(rows)
    # Errors 1, 1, 3 discs; losses 2, 0, 0; of the ordered pairs 4 of 5 and 5 of 5.
    assert said["error of the score"].value == pytest.approx(5 / 3)
    assert said["error of the score"].error == pytest.approx(np.std([1, 1, 3]) / 3**0.5)
    assert said["bias of the score"].value == pytest.approx((-1 + 1 + 3) / 3)
    assert said["best move, %"].value == pytest.approx(200 / 3)
    assert said["loss"].value == pytest.approx(2 / 3)
    assert said["slope, exact on found"].value == pytest.approx(np.polyfit([3, 9, 1], [4, 8, -2], 1)[0])
    assert said["pairs searched, %"].value == pytest.approx(100 * 9 / 10)
    assert said["pairs at one ply, %"].value == 100
    assert said["RMSE at one ply"].value == 0
    assert said["million nodes"].value == pytest.approx(50e-6)


def test_equal_scores_are_half_in_order() -> None:
    (row,) = rows_of(([4, 2, 2, 2], [3, 3, 3, -1]))
    assert moves.figures([row])["pairs searched, %"].value == pytest.approx(100 * 2 / 3)


def test_results_are_compared_by_position() -> None:
    ours = rows_of(([4, 2, 0, 0], [4, 0, 0, 0]), ([4, 2, 0, 0], [4, 0, 0, 0]), ([4, 2, 0, 0], [0, 9, 0, 0]))
    theirs = rows_of(([4, 2, 0, 0], [4, 0, 0, 0]), ([4, 2, 0, 0], [0, 4, 0, 0]), ([4, 2, 0, 0], [0, 0, 4, 0]))
    head, *lines = moves.compared(ours, [*reversed(theirs), theirs[0]._replace(board="another")])
    assert head == "3 positions; best move found by the first alone: 1, by the second alone: 0"
    (loss,) = [line.split() for line in lines if line.startswith("loss ")]
    # Losses 0, 0, 2 against 0, 2, 4: differences 0, -2, -2.
    assert (loss[1], loss[4]) == ("0.667", "2.000")
    assert loss[-3:] == ["-1.333", "+-", f"{np.std([0, -2, -2]) / 3**0.5:.3f}"]
    with pytest.raises(BadInput):
        list(moves.compared(ours[:1], theirs[1:]))


@pytest.mark.compiled
def test_full_searches_make_no_errors(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge = ["judge", str(made / "t.obf"), str(tmp_path / "a.json"), "--selectivity", "100", "--siblings"]
    assert moves.main([*judge, "--depth", "6"]) == 0
    said = dict(line.rsplit("  ", 1) for line in capsys.readouterr().out.splitlines()[1:])
    values = {name.strip(): float(text.split()[0]) for name, text in said.items()}
    assert (values["loss"], values["best move, %"], values["pairs searched, %"]) == (0, 100, 100)
    assert values["error of the score"] == 0 < values["RMSE at one ply"]
    assert moves.main(["compare", str(tmp_path / "a.json"), str(tmp_path / "a.json")]) == 0
    assert moves.main(["compare", str(tmp_path / "a.json"), str(made / "t.obf")]) == 1
