"""The last questions of the game against published figures and plain recounts: flips, shortest draws and Stoner."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
import referee

from desdaemon.engine.counting import studies
from desdaemon.engine.counting.command_line import main
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position, parse_moves

PUBLISHED_FLIPS = 2.244
PUBLISHED_STONER = "e6d6c6d7c8b6c7f7f6e8f8g8b7"
SHORTEST_DRAW, DRAWS = 20, 185

pytestmark = pytest.mark.compiled


def after(line: list[int]) -> Position:
    position = START
    for move in line:
        position = position.after(move)
    return position


# Flips


def test_counts_of_the_first_plies_are_the_known_ones() -> None:
    """The first two moves turn one disc, the third one or two: 64 lines of 56 turn two."""
    found = studies.count_flips(2_000)
    assert [(ply.mean, ply.deviation) for ply in found[:2]] == [(1.0, 0.0), (1.0, 0.0)]
    assert found[0].games == 2_000
    assert [ply.ply for ply in found] == list(range(1, 61))


def test_flips_agree_with_a_plain_recount() -> None:
    """Over random games of our own by the referee, ply by ply within five standard errors."""
    rng = random.Random(4)
    turned: dict[int, list[int]] = {ply: [] for ply in range(1, 61)}
    for _ in range(150):
        cells, ply = referee.start(), 1
        while not referee.game_over(cells):
            legal = referee.legal_moves(cells)
            if not legal:
                cells = referee.passed(cells)
                continue
            turned[ply] += [len(referee.flips(cells, move)) for move in legal]
            cells, ply = referee.play(cells, rng.choice(legal)), ply + 1
    for found in studies.count_flips(20_000):
        sample = turned[found.ply]
        if len(sample) > 200:
            mean = sum(sample) / len(sample)
            assert abs(mean - found.mean) < 8 * found.deviation / len(sample) ** 0.5 + 0.05, found.ply


def test_the_mean_of_flips_is_the_published_one() -> None:
    """2.244 lies between the two ways to count: every legal move alike, and the moves that are played."""
    legal, played = studies.mean_of_plies(studies.count_flips(50_000))
    assert abs(legal - PUBLISHED_FLIPS) < 0.01
    assert abs(played - PUBLISHED_FLIPS) < 0.01


def test_the_same_seed_gives_the_same_figures() -> None:
    assert studies.count_flips(6_000, 3) == studies.count_flips(6_000, 3)
    assert studies.count_flips(6_000, 3) != studies.count_flips(6_000, 4)


# Draws


def plain_drawn_games(plies: int) -> Counter[int]:
    """Games that end in a draw, by their plies, from f5; every line is walked."""
    found: Counter[int] = Counter()

    def walk(player: int, opponent: int, played: int) -> None:
        moves = rules.legal_moves(player, opponent)
        if not moves:
            if rules.legal_moves(opponent, player):
                walk(opponent, player, played)
            elif player.bit_count() == opponent.bit_count():
                found[played] += 1
            return
        for move in rules.squares(moves) if played < plies else ():
            walk(*rules.play(player, opponent, move), played + 1)

    walk(*rules.play(*rules.START, studies.F5), 1)
    return found


@pytest.mark.slow
def test_no_short_game_is_drawn() -> None:
    assert plain_drawn_games(5) == Counter()
    assert studies.shortest_draws(12) == []


def test_games_on_a_given_shape_are_all_found() -> None:
    """From the known shapes of games that end early: each line on it, walked by hand, is found, and no other."""
    lines = [
        parse_moves(text)
        for text in ("f5f4g3e6c4b3b4g4b2a2h4b5b6c2f7g8d6a4d7b7", "f5f4g3e6c4b3b4g4b2a2h4b5b6a4f7g8d6c2d7b7")
    ]
    [shape] = {studies.canonical(final.player | final.opponent) for final in map(after, lines)}
    found = studies.drawn_games([shape])
    assert all(line in found for line in lines)
    assert len({tuple(game) for game in found}) == len(found)
    for game in found:
        final = after(game)
        assert final.over
        assert final.black.bit_count() == final.white.bit_count() == 12


@pytest.mark.slow
def test_the_shortest_draws_are_the_published_ones() -> None:
    """185 games of 20 plies from f5, on ten final boards, mirror images aside."""
    found = studies.shortest_draws(SHORTEST_DRAW)
    assert {len(game) for game in found} == {SHORTEST_DRAW}
    assert len(found) == DRAWS
    boards = set()
    for game in found:
        assert game[0] == studies.F5
        final = after(game)
        assert final.over
        assert final.black.bit_count() == final.white.bit_count() == 12
        boards.add(min((rules.transform(final.black, at), rules.transform(final.white, at)) for at in range(8)))
    assert len(boards) == 10


# Stoner


def is_stoner(line: list[int]) -> bool:
    other, mover = studies._after(line)
    return bool(studies._is_stoner(np.uint64(mover), np.uint64(other), line[-1]))


def test_the_published_stoner_is_one() -> None:
    line = parse_moves(PUBLISHED_STONER)
    assert len(line) == 13
    assert is_stoner(line)
    assert not any(is_stoner(line[:length]) for length in range(1, 13))


def test_no_stoner_exists_within_ten_plies() -> None:
    assert studies.shortest_stoners(10) == []


@pytest.mark.slow
def test_the_shortest_stoner_is_found() -> None:
    found = studies.shortest_stoners(13)
    assert {len(line) for line in found} == {13}
    assert all(is_stoner(line) for line in found)
    published = parse_moves(PUBLISHED_STONER)
    images = [[rules.transform_move(move, symmetry) for move in published] for symmetry in range(8)]
    assert any(image in found for image in images)


# The command line


def test_the_commands_print_their_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flips", "--games", "1000"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert len(table) == 62
    assert table[1].split() == ["1", "1000", "1.000", "0.000", "1.000"]
    assert main(["draws", "--most", "10"]) == 0
    assert capsys.readouterr().out == "no drawn game of up to 10 plies\n"
    assert main(["stoner", "--most", "8"]) == 0
    assert capsys.readouterr().out == "no Stoner within 8 plies\n"
