"""Games over several lines, cut in many ways: the game that was cut, or a refusal; never half a game without a word."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from random_games import random_game

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.bases import parse_games
from desdaemon.protocol.othello.notation import moves_text


def cut_game(choices: random.Random) -> tuple[str, list[str]]:
    """Return the moves of a game, and its lines as somebody may have written them."""
    moves = [played.move for played in random_game(choices.randrange(60), 60).moves][: choices.randint(2, 60)]
    usual = choices.choice((1, 2, 2, 3, 4, 8))
    ends = [0]
    while ends[-1] < len(moves):
        ends.append(ends[-1] + (usual if choices.random() < 0.7 else choices.randint(1, 20)))
    lines = [moves_text(moves[start:end]) for start, end in pairwise(ends)]
    if choices.random() < 0.3:
        lines = [" ".join(line[at : at + 2] for at in range(0, len(line), 2)).upper() for line in lines]
    if choices.random() < 0.2:
        lines = [f"{line} # remark\n" for line in lines]
    return moves_text(moves), lines


def read(lines: list[str]) -> tuple[list[str], list[str]]:
    complaints: list[str] = []
    try:
        games = list(parse_games("\n".join(lines).encode(), "x.txt", complaints.append))
    except BadInput as error:
        return [], [str(error)]
    return [moves_text([played.move for played in game.record.moves]) for game in games], complaints


def test_a_game_in_lines_is_one_game_or_refused() -> None:
    choices = random.Random(2611)
    refused = 0
    for _ in range(200):
        moves, lines = cut_game(choices)
        games, complaints = read(lines)
        assert (games, complaints) == ([moves], []) or (not games and len(complaints) == 1), lines
        refused += not games
    assert refused < 5


def test_a_game_in_lines_after_a_list_is_one_game_unless_every_line_is_one() -> None:
    choices = random.Random(2612)
    for _ in range(100):
        moves, lines = cut_game(choices)
        games, complaints = read(["f5d6c3", "f5f6e6", *lines])
        if not complaints and games[2:] != [moves]:
            assert [read([line]) for line in lines] == [([game], []) for game in games[2:]]


@pytest.mark.parametrize(
    ("text", "games"),
    [
        # A later line decides: the first lines are no games of their own.
        ("e6f6 / f5f4 / g4d6", "e6f6f5f4g4d6"),
        ("d3c3 / c4e3 / d2c5", "d3c3c4e3d2c5"),
        ("d3c3 / c4e3 / d2c5 / f5d6", "d3c3c4e3d2c5 f5d6"),
        # They are a list after a list, and where results end them.
        ("f5d6 / f5f6 / e6f6 / f5f4", "f5d6 f5f6 e6f6 f5f4"),
        ("e6f6 * / f5f4 *", "e6f6 f5f4"),
        ("1. e6f6 / 1. f5f4", "e6f6 f5f4"),
    ],
)
def test_lines_that_may_begin_games_wait_for_one_that_decides(text: str, games: str) -> None:
    assert read(text.split(" / ")) == (games.split(), [])


@pytest.mark.parametrize(
    ("text", "games"),
    [("e6f6 / f5f4", ""), ("e6f6 / f5f4 / a1", ""), ("e6f6 / f5f4 / e6f4", "e6f4")],
)
def test_lines_that_nothing_decides_are_refused_together(text: str, games: str) -> None:
    read_games, complaints = read(text.split(" / "))
    assert (read_games, len(complaints)) == (games.split(), 1)
