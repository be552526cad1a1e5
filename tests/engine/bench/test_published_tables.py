"""The experiment that prints the tables of docs/tables.md: what it counts, and that it goes on where it was ended."""

from __future__ import annotations

from pathlib import Path

import judge
import pytest
from lab.tables import DEPTHS, PERCENT, main

from desdaemon.protocol.othello.notation import Position
from desdaemon.protocol.othello.obf import Problem, problem_text
from desdaemon.protocol.othello.scores import MoverScore


def problem(board: tuple[int, int], more: int) -> str:
    """A line with the exact scores of all moves by another solver, each with ``more`` discs."""
    scores = {move: MoverScore(score + more) for move, score in judge.score_of_moves(board).items()}
    return problem_text(Problem(Position(*board, True), scores)) + "\n"


def cells(text: str, *begin: str) -> list[str]:
    [row] = [line.split(" | ") for line in text.splitlines() if line.startswith(f"| {' | '.join(begin)} ")]
    return row


def test_tables_tell_what_is_right_and_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    boards = judge.positions(5, 6, [8])
    lines = [problem(board, 2 * (k == 0)) for k, board in enumerate(boards)]
    (tmp_path / "hard-20.obf").write_text("".join(lines))
    (tmp_path / "fforum-40-59.obf").write_text("".join(lines[1:3]))
    results = tmp_path / "results.jsonl"
    command = [str(tmp_path), str(results), "--threads", "1,2", "--hash", "12"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert cells(first, "hard-20", "1")[2:4] == cells(first, "hard-20", "2")[2:4] == ["6", "5"]
    assert cells(first, "fforum-40-59", "1")[2:4] == ["2", "2"]
    # The plies reach the end of the game. All scores of the first problem are two discs too high.
    assert cells(first, "hard-20", "15@73")[2:6] == ["100.0", "0.00", "0.33", "83.3"]
    for number, board in ((40, boards[1]), (41, boards[2])):
        assert cells(first, str(number))[2] == f"{max(judge.score_of_moves(board).values()):+}"
    rows = results.read_text().splitlines(keepends=True)
    assert len(rows) == 2 * (6 + 2) + 6 * (len(DEPTHS) + len(PERCENT))
    # Two results and a half are lost; a table of the same size makes the same nodes again by one thread.
    results.write_text("".join(rows[:-3]) + rows[-3][:20])
    assert main(command) == 0
    again = results.read_text().splitlines(keepends=True)
    assert again[:-3] == rows[:-3]
    assert [row.split(",")[:-1] for row in again] == [row.split(",")[:-1] for row in rows]


def test_files_that_are_no_table_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), str(tmp_path / "results.jsonl")]) == 1
    assert "has none of fforum-20-39.obf" in capsys.readouterr().err
    (tmp_path / "hard-20.obf").write_text("")
    (tmp_path / "results.jsonl").write_text("{}\n[1]\n")
    assert main([str(tmp_path), str(tmp_path / "results.jsonl")]) == 1
    assert "is no file of results" in capsys.readouterr().err
