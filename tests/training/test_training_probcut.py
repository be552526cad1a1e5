"""Stage `probcut`: nodes of searches, the model fitted to them, the check, and the way into a weights file."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import referee

from desdaemon.engine.evaluation.weights import SHIPPED, Weights
from desdaemon.engine.evaluation.weights_file import read
from desdaemon.engine.evaluation.weights_metadata import of_record
from desdaemon.engine.limits import Limits
from desdaemon.engine.probcut import ErrorModel, stand_in
from desdaemon.engine.search import Searcher
from desdaemon.engine.training import cli
from desdaemon.engine.training.probcut import fit, nodes
from desdaemon.engine.training.probcut.nodes import Measured, Nodes
from desdaemon.engine.training.store import StageProgress, TrainingError, save
from desdaemon.protocol.othello.selectivity import Selectivity

TRUE = ErrorModel(
    scale=20.0,
    gap_exponent=0.3,
    depth_offset=4.0,
    depth_exponent=0.8,
    empties_rate=0.015,
    sigma_to_end=4.5,
    bias_odd=-2.0,
    bias_even=1.0,
)


def boards_of(empties, dice):
    squares = dice.permutation(64)[empties:].tolist()
    half = len(squares) // 2
    return sum(1 << square for square in squares[:half]), sum(1 << square for square in squares[half:])


def made(model, number, seed=1):
    """Nodes near their bounds whose errors are the model's."""
    dice = np.random.default_rng(seed)
    rows = []
    for k in range(number):
        if k % 3:
            depth = int(dice.integers(3, 15))
            empties = int(dice.integers(depth + 1, 53))
        else:
            depth = empties = int(dice.integers(13, 23))
        shallow = int(dice.integers(-15, 16))
        error = dice.normal() * model.sigma(empties, depth, stand_in(empties, depth))
        deep = round(shallow - model.bias(empties, depth) + error)
        alpha = shallow + int(dice.integers(-8, 8))
        rows.append((*boards_of(empties, dice), alpha, depth, k, shallow + 3 * dice.normal(), shallow, deep))
    own, other, *rest = zip(*rows, strict=True)
    found = Nodes(
        np.array(own, np.uint64), np.array(other, np.uint64), *(np.array(part, np.int64) for part in rest[:3])
    )
    return Measured(found, *(np.array(part, float) for part in rest[3:]))


@pytest.fixture(scope="module")
def synthetic():
    return made(TRUE, 12_000)


def test_a_model_is_recovered_from_the_errors_it_made(synthetic):
    found = fit.fit(synthetic)
    for empties, depth in ((50, 3), (50, 14), (30, 8), (20, 5), (18, 12), (13, 13), (17, 17), (22, 22)):
        shallow = stand_in(empties, depth)
        assert found.sigma(empties, depth, shallow) == pytest.approx(TRUE.sigma(empties, depth, shallow), rel=0.08)
    assert found.bias_odd == pytest.approx(-2.0, abs=0.3)
    assert found.bias_even == pytest.approx(1.0, abs=0.3)
    # What is far from its bound says nothing about cuts.
    astray = synthetic.deep.copy()
    far = ~fit.near(synthetic._replace(nodes=synthetic.nodes._replace(alphas=synthetic.nodes.alphas + 5)))
    astray[far] += 20
    moved = synthetic.nodes._replace(alphas=np.where(far, 60, synthetic.nodes.alphas))
    again = fit.fit(synthetic._replace(nodes=moved, deep=astray))
    assert again.sigma(30, 8, 4) == pytest.approx(TRUE.sigma(30, 8, 4), rel=0.08)


@pytest.mark.parametrize(
    ("kept", "missing"),
    [
        (lambda found: found.to_the_end, "before the end"),
        (lambda found: ~found.to_the_end, "to the end with an odd number of empties"),
        (lambda found: ~found.to_the_end | (found.nodes.empties % 2 == 1), "to the end with an even number of empties"),
    ],
)
def test_too_few_nodes_are_refused(synthetic, kept, missing):
    with pytest.raises(TrainingError, match=f"^0 nodes of searches {missing} are near their bounds, 60 are needed"):
        fit.fit(synthetic.at(kept(synthetic)))


def test_the_true_model_keeps_its_promise(synthetic):
    for entry in fit.check(synthetic, TRUE):
        if entry.cuts > 500:
            allowed = 100 - entry.percent
            assert entry.wrong <= allowed + 300 * math.sqrt(allowed / 100 / entry.cuts)
        if entry.edge_cuts > 100:
            allowed = 100 - entry.percent
            assert entry.edge_wrong <= allowed + 300 * math.sqrt(allowed / 100 / entry.edge_cuts)


def played(path, number=40):
    """A positions file of games played at random from ply 34 to 49, all held out."""
    rows = []
    for seed in range(number):
        cells = referee.start()
        for square in referee.random_moves(seed, 60):
            if not referee.legal_moves(cells):
                cells = referee.passed(cells)
            own, other = referee.to_bits(cells)
            rows.append((60 - (64 - (own | other).bit_count()), own, other))
            cells = referee.play(cells, square)
    rows = sorted(row for row in rows if 34 <= row[0] <= 49)
    plies, own, other = zip(*rows, strict=True)
    arrays = {
        "plies": np.array(plies, np.uint8),
        "players": np.array(own, np.uint64),
        "opponents": np.array(other, np.uint64),
        "held": np.ones(len(rows), np.bool_),
    }
    save(path, arrays, {"digest": "played"})
    return arrays


@pytest.fixture
def shallow_searches(monkeypatch):
    """Searches of a few plies stand for the deep ones."""
    monkeypatch.setattr(
        nodes, "limits_of", lambda empties, dice: Limits(empties if empties <= 17 else 6, Selectivity(73), 100_000)
    )
    monkeypatch.setattr(nodes, "BEFORE", dict.fromkeys(range(3, 7), (100, 100)))
    monkeypatch.setattr(nodes, "TO_THE_END", dict.fromkeys((13, 14), (40, 98)))
    monkeypatch.setattr(nodes, "CLOSE_TO", 64)
    monkeypatch.setattr(nodes, "FULL_COUNT", 60)
    monkeypatch.setattr(fit, "FEWEST", 4)


def test_positions_without_held_out_ones_are_refused(tmp_path, shallow_searches):
    arrays = played(tmp_path / "positions.npz")
    arrays["held"][:] = False
    with pytest.raises(TrainingError, match="no held-out positions"):
        nodes.gather(arrays, Weights.load(), count=1, seed=3, workers=1, progress=StageProgress("test"))


def test_nodes_are_those_of_searches(tmp_path, shallow_searches):
    arrays = played(tmp_path / "positions.npz")
    weights = Weights.load()
    found = [
        nodes.gather(arrays, weights, count=12, seed=3, workers=workers, progress=StageProgress("test"))
        for workers in (1, 2)
    ]
    assert all((one == other).all() for one, other in zip(*found, strict=True))
    own, other = found[0].players, found[0].opponents
    assert len(own) > 100
    assert not (own & other).any()
    assert (found[0].depths <= found[0].empties).all()
    assert (found[0].depths >= 3).all()
    assert (np.abs(found[0].alphas) <= nodes.OPEN).all()
    assert len(np.unique(found[0].searches)) > 6
    # Of each class and search as many as there is room for.
    kinds = np.stack([found[0].searches, found[0].depths, found[0].depths >= found[0].empties])
    assert np.unique(kinds, axis=1, return_counts=True)[1].max() == nodes.SAMPLED
    assert len(np.unique(np.stack([own, other]), axis=1).T) > len(own) / 2


def test_sampling_adds_no_nodes_to_a_search(tmp_path, shallow_searches):
    from desdaemon.engine.memory import Block

    player, opponent = 0x0000000810000000, 0x0000001008000000
    searcher = Searcher(hash_bits=14)
    before = searcher.search(player, opponent, Limits(9, Selectivity(73)))
    block = Block(128 * 8 * (1 + 4 * nodes.SAMPLED))
    searcher.clear()
    searcher.sample(block.address)
    during = searcher.search(player, opponent, Limits(9, Selectivity(73)))
    assert (before.lines[0].score, before.nodes) == (during.lines[0].score, during.nodes)
    kept = np.frombuffer(block.words(), np.uint64).reshape(128, -1)
    assert set(np.flatnonzero(kept[:, 0])) <= set(range(3, 9))
    assert kept[3, 0] > nodes.SAMPLED
    searcher.clear()
    searcher.sample(0)
    seen = kept[:, 0].copy()
    searcher.search(player, opponent, Limits(9, Selectivity(73)))
    assert (kept[:, 0] == seen).all()


@pytest.mark.slow
def test_the_stage_measures_once_and_its_model_is_installed(tmp_path, shallow_searches, monkeypatch, capsys):
    source, out, installed = tmp_path / "positions.npz", tmp_path / "cuts.json", tmp_path / "with.xz"
    played(source)
    line = ["probcut", str(source), "--weights", str(SHIPPED), "--out", str(out), "--count", "60", "--workers", "2"]
    assert cli.main(line) == 0
    printed = capsys.readouterr().out
    assert "73 % before the end" in printed
    assert "99 % to the end" in printed
    told = json.loads(out.read_text())
    model = fit.model_of(told["model"])
    assert {entry["percent"] for entry in told["check"]} == {73, 87, 95, 98, 99}
    # Measured nodes are kept: the second run fits again, and does nothing else.
    monkeypatch.setattr(nodes, "measure", lambda *_: pytest.fail("measured again"))
    monkeypatch.setattr(nodes, "gather", lambda *_, **__: pytest.fail("gathered again"))
    first = out.read_bytes()
    assert cli.main(line) == 0
    assert out.read_bytes() == first
    capsys.readouterr()
    assert cli.main([*line, "--seed", "2"]) == 1
    assert f"{out.with_suffix('.nodes.npz')}: holds nodes of" in capsys.readouterr().err
    # Into a weights file, with which searches then work.
    assert cli.main(["install", str(out), str(SHIPPED), "--out", str(installed)]) == 0
    assert Weights.load(installed).metadata.probcut == model
    assert read(installed)[0] == read(SHIPPED)[0]
    assert of_record(json.loads(installed.with_suffix(".json").read_text())).probcut == model
    # Of other weights, or no model at all.
    capsys.readouterr()
    if model != of_record(read(SHIPPED)[1]).probcut:
        assert cli.main(["install", str(out), str(installed), "--out", str(tmp_path / "x.xz")]) == 1
        assert "measured with weights" in capsys.readouterr().err
    for bad in ("", "[]", "{}", "[" * 100_000, '{"model": {"ceiling": 3}}', '{"model": 3}'):
        out.write_text(bad)
        assert cli.main(["install", str(out), str(SHIPPED), "--out", str(tmp_path / "x.xz")]) == 1
        assert f"{out}: not a file of stage probcut" in capsys.readouterr().err
    assert cli.main(["install", str(tmp_path / "none"), str(SHIPPED), "--out", str(tmp_path / "x.xz")]) == 1
    assert not Path(tmp_path / "x.xz").exists()
