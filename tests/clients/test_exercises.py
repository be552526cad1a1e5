"""Exercises: all of them, and no others, by the referee's search to the end; the files by their readers."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
import referee
from random_games import random_game
from test_analyze import NASTY, Page, late_game

from desdaemon.clients.analysis import exercises as command
from desdaemon.protocol.games.bases import FileGame, read_games, write_games
from desdaemon.protocol.othello.notation import Position, move_text
from desdaemon.protocol.othello.obf import Problem, parse_problem
from desdaemon.protocol.othello.rules import PASS, canonical

GAMES = [
    game._replace(record=game.record._replace(black=f"Ann {seed % 2}"))
    for seed, game in ((seed, late_game(seed)) for seed in range(30))
]
"""The last moves of games, which the search solves at any level."""


@pytest.fixture
def base(tmp_path: Path) -> str:
    path = str(tmp_path / "late.pgn")
    write_games(path, GAMES)
    return path


def expected(black: bool | None) -> dict[tuple[int, int], tuple[Position, dict[int, int], list[int]]]:
    """The positions that are exercises, with the scores of all moves and the moves that were played, by brute force."""
    found = {}
    for game in GAMES:
        position = game.record.initial
        for played in game.record.moves:
            if played.move != PASS and black in (None, position.black_to_move):
                scores = referee.solve_moves(referee.from_bits(position.player, position.opponent))
                ordered = sorted(scores.values(), reverse=True)
                if len(ordered) > 1 and ordered[0] - ordered[1] >= 4 and scores[played.move] < ordered[0]:
                    _, _, moves = found.setdefault(canonical(*position[:2]), (position, scores, []))
                    moves.append(played.move)
            position = position.after(played.move)
    return found


def problems(text: str) -> list[Problem]:
    found = [parse_problem(line) for line in text.splitlines()]
    return [problem for problem in found if problem]


@pytest.mark.parametrize(("player", "black"), [("", None), ("ann 1", True)])
def test_exercises_are_those_of_brute_force(
    player: str, black: bool | None, base: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if player:
        monkeypatch.setattr(f"{__name__}.GAMES", [game for game in GAMES if game.record.black == "Ann 1"])
    assert command.main([base, "--player", player, "--threads", "1"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    wanted = expected(black)
    found = problems(out)
    assert {canonical(*problem.position[:2]) for problem in found} == set(wanted)
    assert len(found) == len(wanted) > (0 if player else 10)
    for problem, line in zip(found, out.splitlines(), strict=True):
        position, scores, played = wanted[canonical(*problem.position[:2])]
        assert problem.position == position
        assert problem.scores == {move: scores[move] for move in problem.scores}
        assert list(problem.scores.values())[:2] == sorted(scores.values(), reverse=True)[:2]
        best = next(iter(problem.scores))
        answer = r"% .*: (..) ([+-]\d+) \(exact\): (?i:\1).*; next .*; (..) was played and lost (\d+): (?i:\3)"
        named = re.search(answer, line)
        assert named
        assert named[1] == move_text(best)
        lost = {move_text(move): scores[best] - scores[move] for move in played}
        assert int(named[4]) == lost[named[3]] >= 4
    assert all(name in out for name in ("Ann", "Cup", "1999"))


def test_phases_take_turns_the_clearest_first(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of one phase alone it is the clearest ones that a count leaves."""
    assert command.main([base, "--count", "5", "--threads", "1"]) == 0
    few = capsys.readouterr().out.splitlines()
    assert command.main([base, "--threads", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert few == lines[:5]
    gaps = [
        max(problem.scores.values()) - sorted(problem.scores.values())[-2] for problem in problems("\n".join(lines))
    ]
    assert gaps == sorted(gaps, reverse=True)


def test_games_in_sgf_give_exercises(base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    obf, sgf = tmp_path / "x.obf", tmp_path / "x.sgf"
    for path in (obf, sgf):
        assert command.main([base, "--out", str(path), "--threads", "1"]) == 0
        out = capsys.readouterr().out
        assert re.fullmatch(rf"\d+ exercises in {path}, of 30 games with \d+ positions; \d+ checked at level 16\n", out)
    listed = problems(obf.read_text("utf-8"))
    games = list(read_games(str(sgf)))
    assert [game.record.initial for game in games] == [problem.position for problem in listed]
    for game, problem in zip(games, listed, strict=True):
        assert game.record.moves[0].move == next(iter(problem.scores))
    assert sgf.read_text("utf-8").count(" to move. Ann") == len(games)


def test_a_page_to_print_is_written(base: str, tmp_path: Path) -> None:
    html = tmp_path / "x.html"
    assert command.main([base, "--count", "7", "--out", str(html), "--threads", "1"]) == 0
    text = html.read_text("utf-8")
    page = Page(text)
    assert page.open == []
    assert not page.scripts
    assert NASTY not in text
    labels = [attributes["aria-label"] for tag, attributes in page.elements if tag == "svg"]
    assert [str(label).split(".")[0] for label in labels] == list("1234567")
    assert text.count("was played and lost") == 7


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--out", "x.pdf"], '"x.pdf": expected a file name that ends in .obf, .sgf, .html'),
        (["--player", "anm"], 'no player "anm": did you mean "Ann"?'),
        (["--out", "/no/such/folder/x.obf"], '--out "/no/such/folder/x.obf": expected a file that can be written'),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: list[str], line: str, base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([base, *arguments]) == 1
    assert capsys.readouterr().err == f"desdaemon exercises: {line}\n"


def test_games_without_mistakes_give_no_exercise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "short.txt"
    path.write_text("f5\n")
    assert command.main([str(path)]) == 1
    line = "no exercise was found in 1 game with 1 position; 0 checked at level 16"
    assert capsys.readouterr().err == f"desdaemon exercises: {line}\n"


def test_a_signal_leaves_what_was_found(
    base: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it came when the first part had been checked."""
    check: Any = command.Search._check
    signals: list[command.StoppedBySignals] = []

    class Noted(command.StoppedBySignals):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            signals.append(self)

    def stopped(search: Any, spots: Any) -> Any:
        yield from check(search, spots)
        signals[-1].number = 2

    monkeypatch.setattr(command, "_AT_A_TIME", 4)
    monkeypatch.setattr(command.Search, "_check", stopped)
    monkeypatch.setattr(command, "StoppedBySignals", Noted)
    assert command.main([base, "--threads", "1"]) == 130
    assert len(problems(capsys.readouterr().out)) == 4

    def stopped_at_once(search: Any, games: Any) -> Any:
        signals[-1].number = 2
        return iter(())

    # In the first pass there is nothing to leave.
    monkeypatch.setattr(command.Search, "_spots", stopped_at_once)
    assert command.main([base, "--threads", "1"]) == 130
    line = "stopped: no exercise was found in 0 games with 0 positions; 0 checked at level 16"
    assert capsys.readouterr().err == f"desdaemon exercises: {line}\n"


@pytest.mark.posix
@pytest.mark.parametrize("arguments", [[], ["--lines", "both"]])
def test_a_signal_ends_a_search_that_runs(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would be searched for days is left out."""
    write_games(str(tmp_path / "game.pgn"), [FileGame(random_game(2, 20))])
    check: Any = command.Engine.analyze_many

    def long(engine: Any, boards: Any, **how: Any) -> Any:
        if how["level"] == 60:
            Timer(0.2, signal.raise_signal, (signal.SIGTERM,)).start()
        return check(engine, boards, **how)

    monkeypatch.setattr(command.Engine, "analyze_many", long)
    file = str(tmp_path / "game.pgn")
    assert command.main([file, "--threads", "1", "--level", "60", *arguments]) == 143
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("desdaemon exercises: stopped: no exercise was found in 1 game with ")


def test_own_lines_are_exercises_with_their_moves_as_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each position once where the side has a choice, with all moves of the lines there, scored by the engine."""
    (tmp_path / "mine.txt").write_text("Tiger | f5d6c3d3c4\nf5d6c4\nCow | f5f6e6f4\n")
    file = str(tmp_path / "mine.txt")
    assert command.main([file, "--lines", "black", "--level", "1", "--threads", "1"]) == 0
    text = capsys.readouterr().out
    found = [sorted(move_text(move) for move in problem.scores) for problem in problems(text)]
    assert found == [["F5"], ["C3", "C4"], ["C4"], ["E6"]]
    assert [line.partition(" % ")[2] for line in text.splitlines()] == [
        "the start",
        "after f5d6",
        "after f5d6c3d3",
        "after f5f6",
    ]
    assert all(problem.position.black_to_move for problem in problems(text))
    out = tmp_path / "white.obf"
    assert command.main([file, "--lines", "white", "--level", "1", "--threads", "1", "--out", str(out)]) == 0
    assert len(problems(out.read_text())) == 3
    assert "3 exercises" in capsys.readouterr().out
    for arguments in (["--out", "x.sgf"], ["--player", "Ann"]):
        with pytest.raises(SystemExit, match="2"):
            command.main([file, "--lines", "white", *arguments])
