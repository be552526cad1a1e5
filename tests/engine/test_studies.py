"""The last questions of the game against published figures and plain recounts: flips, shortest draws and Stoner."""

from __future__ import annotations

import random
from collections import Counter

import pytest
import referee

from desdaemon.cli.count import main
from desdaemon.engine.studies import draws, flips, stoner
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


def test_the_first_plies_are_known() -> None:
    """The first two moves turn one disc, the third one or two: 64 lines of 56 turn two."""
    found = flips.count_flips(2_000)
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
    for found in flips.count_flips(20_000):
        sample = turned[found.ply]
        if len(sample) > 200:
            mean = sum(sample) / len(sample)
            assert abs(mean - found.mean) < 8 * found.deviation / len(sample) ** 0.5 + 0.05, found.ply


def test_the_published_mean_of_flips() -> None:
    """2.244 lies between the two ways to count: every legal move alike, and the moves that are played."""
    legal, played = flips.mean_of_plies(flips.count_flips(50_000))
    assert abs(legal - PUBLISHED_FLIPS) < 0.01
    assert abs(played - PUBLISHED_FLIPS) < 0.01


def test_the_same_seed_gives_the_same_figures() -> None:
    assert flips.count_flips(6_000, 3) == flips.count_flips(6_000, 3)
    assert flips.count_flips(6_000, 3) != flips.count_flips(6_000, 4)


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

    walk(*rules.play(*rules.START, stoner.F5), 1)
    return found


def test_no_short_game_is_drawn() -> None:
    assert plain_drawn_games(5) == Counter()
    assert draws.shortest_draws(14).games == []


def test_games_on_a_given_shape_are_all_found() -> None:
    """From the known shapes of games that end early: each line on it, walked by hand, is found, and no other."""
    for text in ("f5f4g3e6c4b3b4g4b2a2h4b5b6c2f7g8d6a4d7b7", "f5f4g3e6c4b3b4g4b2a2h4b5b6a4f7g8d6c2d7b7"):
        line = parse_moves(text)
        position = after(line)
        shape = position.player | position.opponent
        found = draws.drawn_games([draws.canonical(shape)])
        assert line in found
        assert len({tuple(game) for game in found}) == len(found)
        for game in found:
            final = after(game)
            assert final.over
            assert final.black.bit_count() == final.white.bit_count() == 12


def test_shapes_of_drawn_games_are_among_the_final_shapes() -> None:
    position = after(parse_moves("f5f4g3e6c4b3b4g4b2a2h4b5b6c2f7g8d6a4d7b7"))
    shape = draws.canonical(position.player | position.opponent)
    cells = shape.bit_count()
    assert cells == SHORTEST_DRAW + 4
    joined = draws.lines_of_the_board()
    assert len(joined) == 42
    full = [line for line in joined if line.squares & shape == line.squares and line.squares.bit_count() > 2]
    assert full, "colours meet on a full line"


@pytest.mark.slow
def test_the_published_shortest_draws() -> None:
    """185 games of 20 plies from f5, on ten final boards, mirror images aside."""
    found = draws.shortest_draws(SHORTEST_DRAW)
    assert (found.plies, len(found.games)) == (SHORTEST_DRAW, DRAWS)
    boards = set()
    for game in found.games:
        assert game[0] == stoner.F5
        final = after(game)
        assert final.over
        assert final.black.bit_count() == final.white.bit_count() == 12
        boards.add(min((rules.transform(final.black, at), rules.transform(final.white, at)) for at in range(8)))
    assert len(boards) == 10


# Stoner


def test_the_published_stoner_is_one() -> None:
    line = parse_moves(PUBLISHED_STONER)
    assert len(line) == 13
    assert stoner.is_stoner(line)
    assert not any(stoner.is_stoner(line[:length]) for length in range(1, 13))


def test_no_stoner_within_ten_plies() -> None:
    assert stoner.shortest_stoners(10).lines == []


@pytest.mark.slow
def test_the_shortest_stoner() -> None:
    found = stoner.shortest_stoners(13)
    assert found.plies == 13
    assert all(stoner.is_stoner(line) for line in found.lines)
    published = parse_moves(PUBLISHED_STONER)
    images = [[rules.transform_move(move, symmetry) for move in published] for symmetry in range(8)]
    assert any(image in found.lines for image in images)


# The command line


def test_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flips", "--games", "1000"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert len(table) == 62
    assert table[1].split() == ["1", "1000", "1.000", "0.000", "1.000"]
    assert main(["draws", "--most", "10"]) == 0
    assert capsys.readouterr().out == "no drawn game of up to 10 plies\n"
    assert main(["stoner", "--most", "8"]) == 0
    assert capsys.readouterr().out == "no Stoner within 8 plies\n"
