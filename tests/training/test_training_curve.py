"""Training with a score curve, and search labels corrected to exact scores."""

import json
import math

import numpy as np
import pytest
import referee
from test_training import label, late_positions

from desdaemon.engine.evaluation import patterns
from desdaemon.engine.evaluation.patterns import PACKED_SIZE
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.evaluation.weights_file import read_packed, write_shipped
from desdaemon.engine.evaluation.weights_metadata import WeightsMetadata, of_record
from desdaemon.engine.layout import PLIES
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.engine.training import cli, store
from desdaemon.engine.training.fitting import curves, dataset, features, fit, ridge
from desdaemon.engine.training.labelling import calibration
from desdaemon.engine.training.labelling.calibration import Coefficients, Samples

# ------------------------------------------------------------------------------------------------ the curve


@pytest.mark.parametrize("curve", [40.0, 90.0, None])
def test_slopes_are_those_of_the_scores(curve):
    sums = np.linspace(-60, 60, 241, dtype=np.float32)
    scores = curves.scores(sums, curve)
    expected = [total if curve is None else curve * math.tanh(total / curve) for total in sums.tolist()]
    assert np.allclose(scores, expected, atol=1e-4)
    measured = (curves.scores(sums + 0.125, curve) - curves.scores(sums - 0.125, curve)) * 4
    assert np.allclose(curves.slopes(sums, curve), np.maximum(measured, 0.15), atol=1e-3)


@pytest.mark.parametrize(("curve", "expected"), [(None, 55.0), (70.0, 70 * math.atanh(55 / 70))])
def test_a_label_becomes_the_sum_that_means_it(curve, expected):
    nothing = np.zeros(400, np.uint64)
    rows = ridge.Rows(nothing, nothing, np.full(400, 55, np.float32), np.ones(400, np.float32))
    options = ridge.RidgeOptions(ridge=0.01, tie=0, sweeps=1, iterations=30, rounds=6, curve=curve)
    found = ridge.fit(lambda _: rows, options, first=20, last=20)[20]
    assert features.predict(features.index(nothing[:1], nothing[:1]), found)[0] == pytest.approx(expected, abs=0.1)


def test_a_curve_foretells_boards_that_were_not_fitted():
    """Labels that weights of one class give through a curve; the straight fit must err where the sums are large."""
    pattern = patterns.CLASSES[patterns.EDAX_CLASSES - 1]
    squares = sum({1 << square for instance in pattern.instances for square in instance})
    random = np.random.default_rng(4)
    players, opponents = random.integers(0, 1 << 63, (2, 3000), dtype=np.uint64) & np.uint64(squares)
    opponents &= ~players
    hidden = np.zeros(PACKED_SIZE, np.float32)
    hidden[pattern.packed_offset :][: pattern.packed_size] = random.normal(scale=25, size=pattern.packed_size)
    sums = features.predict(features.index(players, opponents), hidden)
    assert 40 < sums.std() < 70
    labels = curves.scores(sums, 60.0)
    rows = ridge.Rows(players[:2400], opponents[:2400], labels[:2400], np.ones(2400, np.float32))
    held = features.index(players[2400:], opponents[2400:])
    errors = {}
    start = None
    for curve in (None, 60.0):
        options = ridge.RidgeOptions(ridge=0.01, tie=0, sweeps=1, iterations=80, rounds=8, curve=curve, wide=False)
        # The second fit begins from weights of another curve.
        start = ridge.fit(lambda _: rows, options, first=20, last=20, start=start)
        scores = curves.scores(features.predict(held, start[20]), curve)
        errors[curve] = ridge.errors_of(scores, labels[2400:])[0]
    assert errors[60.0] < 0.3 * errors[None]


# ------------------------------------------------------------------------------------------------ command line


NOTHING = bytes(2 * PLIES * PACKED_SIZE)


def test_the_curve_comes_from_the_command_line_or_from_the_start(tmp_path, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(fit, "run", lambda _task, options: asked.append(options.curve))
    write_shipped(tmp_path / "curved.xz", NOTHING, {"curve": 90})
    write_shipped(tmp_path / "plain.xz", NOTHING, {})
    line = ["fit", "none.npz", "--out", "x", "--name", "x"]
    curved, plain = (["--start", str(tmp_path / name)] for name in ("curved.xz", "plain.xz"))
    for more, expected in (
        ([], None),
        (["--curve", "82.5"], 82.5),
        (plain, None),
        ([*plain, "--curve", "82.5"], 82.5),
        (curved, 90),
        ([*curved, "--curve", "0"], None),
        ([*curved, "--patterns", "edax"], None),
        ([*curved, "--patterns", "edax", "--curve", "80"], 80),
    ):
        assert cli.main([*line, *more]) == 0
        assert asked.pop() == expected
    for bad in ("29", "2000", "-90", "nan", "much"):
        assert cli.main([*line, "--curve", bad]) == 2
        assert "expected 30 to 1000 discs, or 0 for the straight line" in capsys.readouterr().err


def test_weights_with_a_curve_are_imported_but_not_exported(tmp_path, capsys):
    errors = {"size": 21.25}
    write_shipped(tmp_path / "a.xz", NOTHING, {"curve": 90, "probcut": errors})
    assert cli.main(["export", str(tmp_path / "a.xz"), str(tmp_path / "eval.dat")]) == 1
    told = capsys.readouterr().err
    assert "score curve (90)" in told
    assert "fit --patterns edax --curve 0" in told
    assert not (tmp_path / "eval.dat").exists()
    assert cli.main(["import", str(tmp_path / "a.xz"), str(tmp_path / "b.xz")]) == 0
    metadata = [of_record(read_packed(tmp_path / name)[1]) for name in ("a.xz", "b.xz")]
    assert metadata[0] == metadata[1]


# ------------------------------------------------------------------------------------------------ calibration


def made_samples(count, seed, first=30, last=45):
    """Exact scores by known coefficients, with noise; and those coefficients by (ply, depth)."""
    random = np.random.default_rng(seed)
    plies = random.integers(first, last + 1, count)
    depths = random.choice([4, 5, 6], count, p=[0.1, 0.2, 0.7])
    labels = random.normal(scale=20, size=count).clip(-64, 64).round()

    def true(ply, depth):
        along = (ply - 38) / 10
        level = 0.3 * (depth % 2) - 0.2 + 0.5 * (ply % 2) + 0.2 * along
        return level, 1.08 - 0.03 * along, -0.14 + 0.02 * along

    levels, linear, cubic = np.array([true(p, d) for p, d in zip(plies, depths, strict=True)]).T
    exact = levels + linear * labels + cubic * labels**3 / 64**2 + random.normal(scale=4, size=count)
    return Samples(plies, depths, labels, exact), true


def test_coefficients_are_recovered_from_labels_that_they_shrank():
    samples, true = made_samples(30_000, seed=1)
    found = calibration.fit(samples, 30, 45)
    assert sorted(found) == list(range(30, 46))
    for ply, fields in found.items():
        for depth, level in ((5, fields.odd), (6, fields.even)):
            expected = true(ply, depth)
            assert level == pytest.approx(expected[0], abs=0.25)
            assert fields.linear == pytest.approx(expected[1], abs=0.02)
            assert fields.cubic == pytest.approx(expected[2], abs=0.05)
    rows = calibration.errors(samples, found)
    assert sum(row["samples"] for row in rows) == 30_000
    assert len(rows) == 16 * 3
    assert np.mean([row["after"][0] for row in rows]) == pytest.approx(4, abs=0.1)
    assert all(row["after"][0] < row["before"][0] + 0.1 for row in rows)


def test_few_labels_of_one_parity_get_what_the_others_have():
    samples, _ = made_samples(4000, seed=2)
    rare = (samples.depths % 2 == 0) | (np.arange(4000) < 10)
    part = samples.where(rare)
    assert (part.depths % 2 == 1).sum() < 10
    far = part._replace(exact=part.exact + 30 * (part.depths % 2))
    found = calibration.fit(far, 40, 40)[40]
    assert abs(found.odd - found.even) < 4
    with pytest.raises(store.TrainingError, match="at least 100"):
        calibration.fit(samples.where(np.arange(4000) < 99), 40, 40)


def test_corrected_labels_are_cut_off_and_odd():
    fields = Coefficients(1.0, -1.0, 1.5, -0.25)
    labels, depths = np.array([10, 10, 64, -64, 0]), np.array([5, 6, 6, 5, 6])
    shrunk = 15 - 0.25 * 1000 / 4096
    assert fields.corrected(labels, depths).tolist() == pytest.approx([shrunk + 1, shrunk - 1, 64, -64, -1])


def test_only_search_labels_of_the_plies_in_the_file_are_corrected(monkeypatch):
    boards_of = np.arange(1, 7, dtype=np.uint64)
    arrays = {
        "players": boards_of,
        "opponents": boards_of << np.uint64(8),
        "plies": np.array([20, 20, 20, 20, 21, 21], np.uint8),
        "kinds": np.zeros(6, np.uint8),
        "held": np.zeros(6, np.bool_),
        "results": np.full(6, np.nan, np.float32),
        "counts": np.zeros(6, np.uint16),
    }
    table = {20: Coefficients(2.0, 1.0, 1.0, 0.0)}
    part = dataset.Dataset(arrays, {}, dataset.Mixture(), table)
    values = np.array([10, 10, 10, 10, 10, 10], np.int8)
    part.add(np.arange(6), values, np.array([5, 6, dataset.EXACT, 2, 5, 6], np.uint8))
    assert part.rows(20).labels.tolist() == [12.0, 11.0, 10.0, 10.0]
    assert part.rows(21).labels.tolist() == [10.0, 10.0]
    # What straight lines for all kinds of positions leave between the parities is balanced away.
    monkeypatch.setattr(dataset, "BALANCED", 1)
    assert part.rows(20).labels.tolist() == [11.25, 11.75, 10.0, 10.75]


@pytest.mark.slow
def test_the_stage_measures_labels_against_exact_scores(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(calibration, "FEWEST", 20)
    path, rows = late_positions(tmp_path)
    label(path, tmp_path / "labels.npz", depth=3, first=52, last=54)
    label(path, tmp_path / "shallow.npz", depth=2, first=55, last=55)
    label(path, tmp_path / "exact.npz", first=53, last=53, count=5)
    line = ["calibrate", str(path), "--out", str(tmp_path / "cal.json"), "--weights", str(tmp_path / "plain.xz")]
    line += ["--plies", "52-55", "--count", "15", "--workers", "2", "--seed", "7", "--labels"]
    write_shipped(tmp_path / "plain.xz", NOTHING, {})
    assert cli.main([*line, *(str(tmp_path / f"{name}.npz") for name in ("labels", "shallow", "exact"))]) == 0
    told = json.loads((tmp_path / "cal.json").read_text())
    assert sorted(told["coefficients"]) == ["52", "53", "54", "55"]
    samples = told["samples"]
    assert [samples["plies"].count(ply) for ply in (52, 53, 54, 55)] == [15, 15, 15, 0]
    assert set(samples["depths"]) == {3}
    known = {ply: set() for ply in (52, 53, 54)}
    for row, value in zip(
        *(store.load(tmp_path / "labels.npz")[0][name].tolist() for name in ("rows", "values")), strict=True
    ):
        exact = referee.solve(referee.from_bits(int(rows["players"][row]), int(rows["opponents"][row])))
        known[int(rows["plies"][row])].add((value, exact))
    for ply, value, exact in zip(samples["plies"], samples["labels"], samples["exact"], strict=True):
        assert (value, exact) in known[ply]
    assert {row["ply"]: row["samples"] for row in told["errors"]} == {52: 15, 53: 15, 54: 15}
    first = (tmp_path / "cal.json").read_bytes()
    assert cli.main([*line, *(str(tmp_path / f"{name}.npz") for name in ("labels", "shallow", "exact"))]) == 0
    assert (tmp_path / "cal.json").read_bytes() == first
    out = tmp_path / "w.xz"
    line_of_fit = ["fit", str(path), "--labels", str(tmp_path / "labels.npz"), "--out", str(out), "--name", "tried"]
    line_of_fit += ["--calibration", str(tmp_path / "cal.json"), "--curve", "90", "--start", str(tmp_path / "plain.xz")]
    capsys.readouterr()
    assert cli.main([*line_of_fit, "--plies", "52-54", "--iterations", "3", "--workers", "1"]) == 0
    assert "plies outside 52-54 are kept from weights with the curve None" in capsys.readouterr().err
    record = read_packed(out)[1]
    assert of_record(record) == WeightsMetadata(90.0, None)
    assert record["calibration"]["54"] == list(calibration.read(tmp_path / "cal.json")[54])
    other = {"coefficients": {ply: {"odd": 1, "even": 2, "linear": 1, "cubic": 0} for ply in ("51", "54")}}
    (tmp_path / "other.json").write_text(json.dumps(other))
    line_of_fit.insert(line_of_fit.index("--curve"), str(tmp_path / "other.json"))
    assert cli.main([*line_of_fit, "--plies", "52-54", "--iterations", "3", "--workers", "1"]) == 0
    assert read_packed(out)[1]["calibration"] == {**record["calibration"], "51": [1, 2, 1, 0]}
    capsys.readouterr()
    assert cli.main([*line[:-1], "--labels", str(tmp_path / "shallow.npz")]) == 1
    assert "no search labels of depth 3 or more" in capsys.readouterr().err


def test_labels_may_be_measured_against_the_mean_of_two_searches(tmp_path, monkeypatch):
    monkeypatch.setattr(calibration, "FEWEST", 20)
    path, rows = late_positions(tmp_path)
    label(path, tmp_path / "labels.npz", depth=3, first=52, last=53)
    write_shipped(tmp_path / "plain.xz", NOTHING, {})
    line = ["calibrate", str(path), "--labels", str(tmp_path / "labels.npz"), "--out", str(tmp_path / "cal.json")]
    line += ["--weights", str(tmp_path / "plain.xz"), "--plies", "52-53", "--count", "15", "--depth", "1", "4"]
    assert cli.main(line) == 0
    told = json.loads((tmp_path / "cal.json").read_text())
    assert told["depths"] == [1, 4]
    searcher = Searcher(hash_bits=12, weights=Weights.load(tmp_path / "plain.xz"))
    known = set()
    found, _ = store.load(tmp_path / "labels.npz")
    for row, value in zip(found["rows"].tolist(), found["values"].tolist(), strict=True):
        board = int(rows["players"][row]), int(rows["opponents"][row])
        scores = [searcher.search(*board, Limits(depth)).lines[0].score for depth in (1, 4)]
        known.add((int(rows["plies"][row]), value, sum(scores) / 2))
    samples = told["samples"]
    assert len(samples["plies"]) == 30
    assert set(zip(samples["plies"], samples["labels"], samples["exact"], strict=True)) <= known


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        '{"coefficients": {}}',
        '{"coefficients": {"4": 1}}',
        '{"coefficients": {"4": {"odd": NaN}}}',
    ],
)
def test_files_of_other_kinds_are_no_calibration(tmp_path, capsys, content):
    path = tmp_path / "cal.json"
    path.write_text(content)
    assert cli.main(["fit", "none.npz", "--out", "x", "--name", "x", "--calibration", str(path)]) == 1
    told = capsys.readouterr().err
    assert f"{path}: not a file of stage `calibrate`" in told
    assert told.count("\n") == 1
