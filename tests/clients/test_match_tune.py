"""Tuning by games: the machine that learns, on functions whose best point is known, and matches that it learns from."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from checkout import IMPORT
from pretended_players import fake

from desdaemon.clients.match import match as command
from desdaemon.clients.match.spsa import Trial, TunedOption, Tuning
from desdaemon.clients.match.tune import parse_parameter
from desdaemon.clients.programs.statistics import expected_score
from desdaemon.protocol.errors import BadInput

SPEED = TunedOption("speed", 0, 1000, 200)
LEVEL = TunedOption("level", 0, 20, 18)
BEST = (600, 6)


def elo(values: Sequence[float]) -> float:
    """The strength of a program that is best at `BEST`: 200 Elo are lost half a range away from it."""
    return -sum(
        200 * ((value - best) / (0.5 * (one.high - one.low))) ** 2
        for one, value, best in zip((SPEED, LEVEL), values, BEST, strict=True)
    )


def flat(values: Sequence[float]) -> float:
    """Values that do not matter."""
    return 0.0


def pair(trial: Trial, strength: Callable[[Sequence[float]], float], chance: random.Random) -> int:
    """The result of two games without draws."""
    likely = expected_score(strength(trial.plus) - strength(trial.minus))
    return sum(1 if chance.random() < likely else -1 for _ in range(2))


def tuned(strength: Callable[[Sequence[float]], float], seed: int, iterations: int) -> Tuning:
    """A tuning that has played all of its games."""
    tuning, chance = Tuning([SPEED, LEVEL], iterations, seed), random.Random(seed)
    for iteration in range(1, iterations + 1):
        tuning.update(iteration, pair(tuning.trial(iteration), strength, chance))
    return tuning


def test_a_tuning_finds_the_best_of_a_noisy_quadratic() -> None:
    """The mean of ten tunings comes within a twentieth of the range, and they lose little Elo."""
    found = [tuned(elo, seed, 1000).values for seed in range(10)]
    for at, one in enumerate((SPEED, LEVEL)):
        assert abs(sum(values[at] for values in found) / 10 - BEST[at]) < (one.high - one.low) / 20
    assert sum(elo(BEST) - elo(values) for values in found) / 10 < 10
    assert elo(BEST) - elo([SPEED.start, LEVEL.start]) > 400


def test_a_parameter_without_effect_stays_within_its_error() -> None:
    """In about 19 of 20 tunings."""
    wide = TunedOption("speed", 0, 10**6, 500_000)
    inside = 0
    for seed in range(100):
        tuning, chance = Tuning([wide], 400, seed), random.Random(-seed - 1)
        for iteration in range(1, 401):
            tuning.update(iteration, pair(tuning.trial(iteration), flat, chance))
        inside += abs(tuning.values[0] - wide.start) <= tuning.errors[0]
    # 95 expected; the deviation is 2.2.
    assert 88 <= inside <= 99


def test_trials_lie_around_the_values_and_in_the_range() -> None:
    """They differ in each parameter, and grow nearer; both directions come up."""
    tuning = Tuning([SPEED, LEVEL], 1000, 1)
    trials = [tuning.trial(iteration) for iteration in range(1, 1001)]
    assert trials == [Tuning([SPEED, LEVEL], 1000, 1).trial(iteration) for iteration in range(1, 1001)]
    for at, one in enumerate((SPEED, LEVEL)):
        assert all(one.low <= values[at] <= one.high for trial in trials for values in trial)
        ups = sum(trial.plus[at] > trial.minus[at] for trial in trials)
        assert ups + sum(trial.plus[at] < trial.minus[at] for trial in trials) == 1000
        assert 420 < ups < 580
    gaps = [abs(trial.plus[0] - trial.minus[0]) for trial in trials]
    # A twentieth of the range to each side in the end, and 1000^0.101 = 2.01 times that in the beginning.
    assert gaps[-1] == 100
    assert abs(gaps[0] - 201) <= 1
    assert abs(sum(sum(values[1] for values in trial) / 2 for trial in trials) / 1000 - 18) < 0.5


def test_a_step_follows_the_formula() -> None:
    """The last iteration moves by R times the change for each game won."""
    tuning = Tuning([SPEED], 400, 1)
    trial = tuning.trial(400)
    tuning.update(400, 2)
    assert tuning.values[0] - 200 == pytest.approx((40 / 400) * 2 * (trial.plus[0] - trial.minus[0]) / 2)
    assert tuning.errors == [pytest.approx(1.959964 * abs(tuning.values[0] - 200))]


@pytest.mark.parametrize(
    ("text", "parameter"),
    [("level=2:9", ("level", 2, 9, 5)), ("l=0:60:7", ("level", 0, 60, 7)), ("alpha=-64:0", ("alpha", -64, 0, -32))],
)
def test_parameters_are_read_with_their_ranges(text: str, parameter: tuple[object, ...]) -> None:
    assert parse_parameter(text) == parameter


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *((text, "whole number") for text in ("level", "level=1", "nothing=1:2", "ponder=0:1")),
        *((text, "a range within 0 to 60") for text in ("level=9:2", "level=1:99", "level=5:5")),
        *((text, "a start from 1 to 5") for text in ("l=1:5:6", "l=1:5:0")),
    ],
)
def test_wrong_parameters_are_refused(text: str, reason: str) -> None:
    with pytest.raises(BadInput, match=f"--tune .*expected .*{reason}"):
        parse_parameter(text)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["self", "self"], "expected self, with or without options"),
        ([fake("gtp")], "expected self, with or without options"),
        (["self", "--sprt", "0,5"], "--sprt: expected no --tune with it"),
        (["self", "--save", "x.ggf"], "--save: expected no --tune with it"),
        (["self", "--games", "1"], "--games 1: expected 2 or more with --tune"),
    ],
)
def test_options_of_a_match_that_exclude_a_tuning_are_refused(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main([*arguments, "--tune", "level=1:3"])
    assert ended.value.code == 2
    assert line in capsys.readouterr().err


CODE = IMPORT + "from desdaemon.clients.match import match; sys.exit(match.main(sys.argv[1:]))"


@pytest.mark.posix
def test_a_tuning_that_is_killed_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No pair is played twice, what was learned is learned again, and the journal has the values."""
    journal = tmp_path / "journal"
    arguments = ["self -l 1", "--tune", "book-randomness=0:8", "--tune", "noise=0:9:3", "--games", "8"]
    arguments += ["--concurrency", "2", "--journal", str(journal)]
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *arguments],
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 3):
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    before = journal.read_text()
    assert command.main(arguments) == 0
    after = journal.read_text()
    assert after.startswith(before[: before.rfind("\n") + 1])
    numbers = [json.loads(line)["game"] for line in after.splitlines()[1:]]
    assert set(numbers) == set(range(8))
    assert len(numbers) <= 9
    game = json.loads(after.splitlines()[-1])
    assert re.fullmatch(r"book-randomness \d, noise \d", game["black"])
    assert game["black"] != game["white"]
    table = capsys.readouterr().out
    assert "4 of 4 pairs of games" in table
    found = re.search(r"^noise +3 +(\d\.\d\d) +\d+\.\d\d +0 +9$", table, re.MULTILINE)
    assert found
    # How the value came there: from its start, in five steps of a fifth of the games.
    moved = table.splitlines()[-1].split()
    assert (moved[0], moved[1], len(moved)) == ("noise", "3.0", 7)
    assert float(moved[6]) == pytest.approx(float(found[1]), abs=0.06)
    assert command.main(arguments) == 0
    assert journal.read_text() == after
    assert capsys.readouterr().out == table
    assert command.main([*arguments[:-4], "--games", "10", "--journal", str(journal)]) == 1
    assert "games: 8 there, 10 here" in capsys.readouterr().err


def test_a_program_that_does_not_start_ends_the_tuning(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["self -eval-file /no/where", "--tune", "level=1:3", "--games", "4"]) == 1
    assert "-eval-file /no/where: can't be read" in capsys.readouterr().err


def test_a_tuning_is_printed_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The values with their errors, and how they came there; into a file, or in place of the table."""
    journal, account = str(tmp_path / "journal"), tmp_path / "tuned.json"
    arguments = ["self -l 1", "--tune", "noise=0:9:3", "--games", "4", "--journal", journal]
    assert command.main([*arguments, "--json", str(account)]) == 0
    found = json.loads(account.read_text())
    assert "2 of 2 pairs of games" in capsys.readouterr().out
    assert (found["format"], found["status"], found["pairs"], found["played_pairs"]) == (1, "finished", 2, 2)
    (noise,) = found["options"]
    assert [noise[key] for key in ("name", "low", "high", "start")] == ["noise", 0, 9, 3]
    assert (noise["history"][0], noise["history"][-1], len(noise["history"])) == (3.0, noise["value"], 3)
    assert noise["error"] >= abs(noise["value"] - 3)
    assert found["program"]["command"].endswith("-l 1")
    assert command.main([*arguments, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["options"] == found["options"]
