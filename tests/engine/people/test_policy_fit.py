"""Stage `policy`: ratings against players of known strength, and what is fitted against what the policy looks up."""

from __future__ import annotations

import lzma
import math
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from desdaemon.clients.gamefiles import wthor
from desdaemon.engine.evaluation.weights_file import WeightsError
from desdaemon.engine.people import policy
from desdaemon.engine.people.fitting import stage
from desdaemon.engine.people.fitting.choices import Choices, Openings, choices, search
from desdaemon.engine.people.fitting.fit import Fit
from desdaemon.engine.people.fitting.games import Games, positions_of, read_games
from desdaemon.engine.people.fitting.ratings import MEAN, Ratings, rate
from desdaemon.engine.training.store import StageProgress, TrainingError
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import parse_moves

Rows = tuple[list[int], list[int], list[int], list[float]]


def rated(rows: Rows) -> Ratings:
    first, second, years, points = rows
    return rate(np.array(first), np.array(second), np.array(years), np.array(points, float))


def rating(found: Ratings, player: int, year: int) -> float:
    return float(found.of(np.array([player]), np.array([year]))[0])


def league(strengths: list[float], games: int, years: range, seed: int = 1) -> Rows:
    """Results drawn by lot, as the difference of the players' strengths has it."""
    lot = random.Random(seed)
    rows: Rows = ([], [], [], [])
    for _ in range(games):
        one, other = lot.sample(range(len(strengths)), 2)
        won = lot.random() < 1 / (1 + 10 ** ((strengths[other] - strengths[one]) / 400))
        for column, value in zip(rows, (one, other, lot.choice(years), float(won)), strict=True):
            column.append(value)  # type: ignore[arg-type]
    return rows


def test_ratings_are_the_strengths_that_made_the_results() -> None:
    lot = random.Random(7)
    strengths = [lot.gauss(1500, 250) for _ in range(40)]
    found = rated(league(strengths, 8000, range(2000, 2010)))
    errors = [rating(found, player, 2009) - strength for player, strength in enumerate(strengths)]
    assert math.sqrt(sum(error**2 for error in errors) / len(errors)) < 60


def test_few_games_leave_a_player_near_the_mean_and_none_at_it() -> None:
    often = rated(([0] * 50, [1] * 50, [2000] * 50, [1.0] * 50))
    once = rated(([0], [1], [2000], [1.0]))
    assert MEAN < rating(once, 0, 2000) < MEAN + 150 < rating(often, 0, 2000)
    assert rating(once, 0, 2000) + rating(once, 1, 2000) == pytest.approx(2 * MEAN)
    assert math.isnan(rating(once, 5, 2000))
    assert math.isnan(rating(once, 0, 1999))
    assert rating(once, 0, 2005) == rating(once, 0, 2000)


def test_a_rating_of_one_year_is_that_of_the_likeliest_history() -> None:
    """Against a search by small steps for the maximum of the likelihood, written down anew."""
    first, second, years, points = league([1300.0, 1500.0, 1700.0], 30, range(2000, 2003), seed=3)

    def log_likelihood(history: dict[tuple[int, int], float]) -> float:
        total = 0.0
        for one, other, year, point in zip(first, second, years, points, strict=True):
            expected = 1 / (1 + 10 ** ((history[other, year] - history[one, year]) / 400))
            total += math.log(expected if point else 1 - expected)
        for player in range(3):
            played = sorted(year for who, year in history if who == player)
            total -= (history[player, played[0]] - 1500) ** 2 / (2 * 300**2)
            for before, after in pairwise(played):
                total -= (history[player, after] - history[player, before]) ** 2 / (2 * 50**2 * (after - before))
        return total

    found = rated((first, second, years, points))
    keys = list(zip(found.players.tolist(), found.years.tolist(), strict=True))
    history = dict(zip(keys, found.values.tolist(), strict=True))
    most = log_likelihood(history)
    for key in keys:
        for step in (-4.0, 4.0):
            assert log_likelihood({**history, key: history[key] + step}) < most


BEGINNING = parse_moves("f5d6c3d3c4")


def walk(plies: int, lot: random.Random) -> tuple[int, int]:
    player, opponent = rules.START
    for _ in range(plies):
        if not rules.legal_moves(player, opponent):
            player, opponent = opponent, player
        player, opponent = rules.play(player, opponent, lot.choice(rules.squares(rules.legal_moves(player, opponent))))
    return player, opponent


def base(folder: Path, year: int, games: int, lot: random.Random) -> Path:
    """A file of games by four players, one of them a program, that are random after the first moves."""
    rows = []
    for _ in range(games):
        player, opponent = rules.START
        moves = []
        while not rules.is_over(player, opponent):
            if not rules.legal_moves(player, opponent):
                player, opponent = opponent, player
            move = lot.choice(rules.squares(rules.legal_moves(player, opponent)))
            if len(moves) < len(BEGINNING):
                move = BEGINNING[len(moves)]
            moves.append(move)
            player, opponent = rules.play(player, opponent, move)
        black, white = lot.sample(range(1, 5), 2)
        rows.append(wthor.WthorGame(bytes(moves), lot.randrange(65), 32, 0, black, white))
    path = folder / f"WTH_{year}.wtb"
    path.write_bytes(wthor.to_bytes(rows, wthor.WthorHeader((2026, 1, 1), 0, year)))
    names = ["???", "One", "Two", "Three", "Four (its author)"]
    (folder / "WTH.JOU").write_bytes(wthor.names_to_bytes(names, (2026, 1, 1), 20))
    return path


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Games:
    folder = tmp_path_factory.mktemp("bases")
    lot = random.Random(5)
    for year in (2001, 2002):
        base(folder, year, 30, lot)
    return read_games([folder])


def test_games_come_with_players_and_years(games: Games) -> None:
    assert len(games.squares) == 60
    assert Counter(games.years.tolist()) == {2001: 30, 2002: 30}
    assert games.programs.tolist() == [False] * 4 + [True]
    assert set(games.points.tolist()) <= {0.0, 0.5, 1.0}


def test_a_base_without_names_is_left_out(tmp_path: Path) -> None:
    base(tmp_path, 2001, 2, random.Random(1))
    (tmp_path / "WTH.JOU").unlink()
    with pytest.raises(TrainingError, match="no games of named players"):
        read_games([tmp_path])


def fitted(games: Games) -> tuple[Choices, Openings, Fit]:
    """Positions with weights drawn by lot."""
    ratings = rate(games.black, games.white, games.years, games.points)
    openings = Openings.of(positions_of(games, ratings, 12))
    positions = positions_of(games.part(slice(0, 8)), ratings, 59)
    positions.last[::3] = rules.PASS
    found = choices(positions, openings, own=False)
    search(found, StageProgress("test"))
    fit = Fit(1)
    lot = np.random.default_rng(2)
    fit.model.rows[1:] = lot.normal(0, 0.3, fit.model.rows[1:].shape)
    fit.model.outputs[1:] = lot.normal(0, 0.5, policy.HIDDEN - 1)
    fit.model.patterns[:] = lot.normal(0, 0.3, fit.model.patterns.shape)
    return found, openings, fit


@pytest.fixture
def quickly_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of the policy are as large as they come: how small is no question here."""
    compress = lzma.compress
    monkeypatch.setattr(lzma, "compress", lambda content, preset: compress(content, preset=0))


@pytest.mark.usefixtures("quickly_packed")
def test_the_policy_computes_what_was_fitted(games: Games, tmp_path: Path) -> None:
    found, openings, fit = fitted(games)
    path = tmp_path / "policy.xz"
    weights = fit.weights(openings, {"seed": 1})
    policy.write(path, weights)
    assert policy.read(path) == weights
    people = policy.HumanPolicy(policy.read(path))
    chances = fit.chances(found)
    assert len(openings.keys) > 0
    for k in range(0, len(found.positions.players), 7):
        part = slice(found.starts[k], found.starts[k + 1])
        player, opponent, _, rating, last = (each[k].item() for each in found.positions)
        told = people.probabilities(player, opponent, rating, last)
        assert list(told) == found.squares[part].tolist()
        assert list(told.values()) == pytest.approx(chances[part].tolist(), abs=1e-4)
        assert sum(told.values()) == pytest.approx(1)


def test_known_openings_are_found_in_every_orientation(games: Games) -> None:
    ratings = rate(games.black, games.white, games.years, games.points)
    positions = positions_of(games, ratings, 8)
    openings = Openings.of(positions)
    chosen: dict[tuple[int, int], Counter[int]] = {}
    for player, opponent, square in zip(*(each.tolist() for each in positions[:3]), strict=True):
        chosen.setdefault((player, opponent), Counter())[square] += 1
    often = {board: moves for board, moves in chosen.items() if moves.total() >= policy.OFTEN[0]}
    assert len(often) == len(openings.keys) > 0
    packed = openings.packed()
    for (player, opponent), moves in often.items():
        for turn in range(8):
            told = packed.steps(rules.transform(player, turn), rules.transform(opponent, turn))
            first = told.pop(rules.PASS)
            assert told == {
                rules.transform_move(move, turn): first + policy.share_step(count, moves.total())
                for move, count in moves.items()
            }
    assert packed.steps(*walk(30, random.Random(1))) == {}


def test_a_fit_learns_a_preference_that_people_have(games: Games) -> None:
    """All turn the most discs: soon that is predicted more often, in positions that were held out too."""
    ratings = rate(games.black, games.white, games.years, games.points)
    parts = [positions_of(games.part(games.years == year), ratings, 59) for year in (2001, 2002)]
    openings = Openings.of(parts[0])

    def greedy(found: Choices) -> Choices:
        own = [board.bit_count() for board in found.children[1].tolist()]
        moves = [own[begin:end] for begin, end in pairwise(found.starts.tolist())]
        return found._replace(chosen=np.array([each.index(max(each)) for each in moves]))

    taught, held = (greedy(choices(part, openings, own=False)) for part in parts)
    picks = held.starts[:-1] + held.chosen
    fit = Fit(1)
    before = fit.chances(held)[picks].mean()
    for _ in range(3):
        fit.run(taught, np.random.default_rng(1), 0.2, 0.05)
    assert fit.chances(held)[picks].mean() > before + 0.3


@pytest.mark.usefixtures("quickly_packed")
def test_the_stage_writes_the_same_file_from_the_same_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for year in range(2000, 2004):
        base(tmp_path, year, 10, random.Random(year))
    written = []
    for seed in (1, 1, 2):
        path = tmp_path / "policy.xz"
        stage.run([tmp_path], path, games=20, searched=50, held=40, seed=seed, command="made for a test")
        written.append(policy.read(path))
        assert "all                     40" in capsys.readouterr().out
    assert written[0] == written[1]
    assert written[0].rows != written[2].rows
    assert written[0].record["command"] == "made for a test"
    assert (written[0].record["games"], written[0].record["searched"]) == (20, 50)


@pytest.mark.parametrize("content", [b"", b"no xz", lzma.compress(b"{}\n"), lzma.compress(b'{"lengths": [1]}\n')])
def test_a_broken_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "policy.xz"
    path.write_bytes(content)
    with pytest.raises(WeightsError, match=r"policy\.xz: no intact file"):
        policy.read(path)
    with pytest.raises(WeightsError, match="can't be read"):
        policy.read(tmp_path / "missing.xz")


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.xz"
    path.write_bytes(lzma.compress(bytes(1 << 26)))
    with pytest.raises(WeightsError, match="more than 8388608 bytes"):
        policy.read(path)
