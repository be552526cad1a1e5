"""Training a network: what it can learn that sums of weights cannot, and what of it reaches the file."""

import itertools

import numpy as np
import pytest
from test_training import SHIPPED, label, late_positions

from desdaemon.engine.evaluation import patterns
from desdaemon.engine.evaluation.network import Network
from desdaemon.engine.evaluation.weights_file import read, write_shipped
from desdaemon.engine.layout import PLIES
from desdaemon.engine.training import cli, validate
from desdaemon.engine.training.fitting import network, ridge
from desdaemon.engine.training.store import StageProgress, TrainingError

PLY = 20
EVERY_PLY = (0,)
STAGE = StageProgress("test")


def strangers():
    """Two squares that no pattern has both."""
    for first, second in itertools.combinations(range(64), 2):
        if not any({first, second} <= set(squares) for squares in patterns.INSTANCES):
            return first, second
    raise AssertionError("every pair of squares has a pattern")


def product_rows(number=400):
    """Boards of two discs on such squares, worth 30 where both are the mover's, else -10."""
    first, second = strangers()
    boards = [
        (own << first | other << second, (1 - own) << first | (1 - other) << second)
        for own, other in itertools.product((0, 1), repeat=2)
    ]
    players, opponents = np.array(boards * number, np.uint64).T
    labels = np.array([-10.0 if opponent else 30.0 for _, opponent in boards] * number, np.float32)
    return ridge.Rows(players.copy(), opponents.copy(), labels, np.ones(len(labels), np.float32))


class Shard:
    """The same rows for each of some plies, none held out."""

    def __init__(self, rows, plies=(PLY,)):
        self.all, self.plies = rows, plies

    def rows(self, ply, held=False):
        return ridge.Rows(*(column if ply in self.plies and not held else column[:0] for column in self.all))


def part_of(rows, part):
    return ridge.Rows(*(column[part] for column in rows))


def fitted(*parts, threads=1, seed=1, start=None, passes=40):
    options = network.NetworkOptions(EVERY_PLY, passes=passes, threads=threads, seed=seed)
    shards = [lambda rows=rows: Shard(rows) for rows in parts]
    return network.fit_band(shards, range(PLY, PLY + 1), options, STAGE, start)


def error(band, rows):
    return network._error(
        band, network._gathered(Shard(rows), range(PLY, PLY + 1), 1), network.NetworkOptions(EVERY_PLY)
    )


def test_a_configuration_seen_once_is_not_believed(tmp_path):
    """One row of a thousand says that a disc more is worth 60: the score of such a board moves by less than 24."""
    players, opponents = np.full(1000, 1 << 28, np.uint64), np.full(1000, 1 << 36, np.uint64)
    labels = np.zeros(1000, np.float32)
    players[500], labels[500] = 1 << 28 | 1, 60
    rows = ridge.Rows(players, opponents, labels, np.ones(1000, np.float32))
    options = network.NetworkOptions(EVERY_PLY, passes=4)
    band = network.fit_band([lambda: Shard(rows)], range(PLY, PLY + 1), options, STAGE)
    write_shipped(tmp_path / "net.xz", Network(EVERY_PLY, band.heads() * PLIES, band.packed_lanes()), {"curve": 80})
    common, rare = validate.static_of(tmp_path / "net.xz")(players[499:501], opponents[499:501], 0)
    assert abs(common) < 2
    assert 0 < rare < 24


def test_a_network_learns_what_patterns_say_together(tmp_path):
    rows = product_rows()
    straight = ridge.fit(lambda _: rows, ridge.RidgeOptions(sweeps=1), first=PLY, last=PLY)
    static = validate.static_of_sums(straight, None)
    assert np.abs(static(rows.players[:4], rows.opponents[:4], PLY) - rows.labels[:4]).min() > 8
    band = fitted(rows)
    # The boards have 62 empty squares: their ply is the first.
    heads = band.heads() * PLIES
    write_shipped(tmp_path / "net.xz", Network(EVERY_PLY, heads, band.packed_lanes()), {"curve": 80})
    found = validate.static_of(tmp_path / "net.xz")(rows.players[:4], rows.opponents[:4], 0)
    assert found == pytest.approx(rows.labels[:4], abs=4)


def test_one_thread_gives_the_same_network_for_the_same_seed():
    rows = product_rows(20)
    bands = [fitted(rows), fitted(rows), fitted(rows, seed=2)]
    lanes = [band.packed_lanes() for band in bands]
    assert lanes[0] == lanes[1] != lanes[2]
    assert bands[0].heads() == bands[1].heads() != bands[2].heads()


def test_two_threads_learn_as_well_as_one():
    rows = product_rows()
    assert error(fitted(rows, threads=2), rows) < 2


def test_rows_of_several_files_are_learned_as_those_of_one():
    """Boards worth 30 are in one file, those worth -10 in the other."""
    rows = product_rows()
    first = rows.labels > 0
    assert error(fitted(part_of(rows, first), part_of(rows, ~first)), rows) < 2


def test_a_fit_goes_on_from_what_was_fitted():
    rows = product_rows()
    known = fitted(rows)
    before = error(known, rows)
    again = fitted(part_of(rows, slice(8)), start=known, passes=1)
    assert error(again, rows) < before + 1
    assert error(fitted(part_of(rows, slice(8)), passes=1), rows) > 8


def test_the_numbers_of_a_file_are_those_that_were_written():
    shipped, _ = read(SHIPPED)
    size = len(shipped.lanes) // len(shipped.bands)
    for number in range(len(shipped.bands)):
        band = network.BandWeights.of(shipped, number)
        assert band.heads() == shipped.heads[slice(*(*shipped.bands, PLIES)[number : number + 2])]
        assert band.packed_lanes() == shipped.lanes[number * size :][:size]


@pytest.fixture
def stage(tmp_path):
    """The stage on positions of late plies of a few games, labelled exactly: a function of more arguments."""
    positions, _ = late_positions(tmp_path)
    label(positions, tmp_path / "labels.npz", first=46, last=60)

    def run(*more):
        line = ["fit-network", str(positions), "--labels", str(tmp_path / "labels.npz"), "--result-weight", "0"]
        return cli.main([*line, "--passes", "2", "--workers", "1", "--name", "small", *map(str, more)])

    return run


def test_bands_that_are_not_fitted_are_those_of_the_start(stage, tmp_path, capsys):
    nothing = tmp_path / "nothing.xz"
    bands = (0, 46, 53)
    empty = network.Head((0,) * 32, (0,) * 32, 0)
    write_shipped(nothing, Network(bands, (empty,) * PLIES, bytes(3 * 32 * patterns.PACKED_SIZE)), {"name": "nothing"})
    out = tmp_path / "out.xz"
    assert stage("--out", out, "--bands", "0,46,53", "--start", nothing, "--plies", "46-54") == 0
    found, record = read(out)
    assert record["fitted"] == [[46, 52]]
    assert record["start"] == "nothing"
    size = 32 * patterns.PACKED_SIZE
    parts = [found.lanes[k * size :][:size] for k in range(3)]
    assert [any(part) for part in parts] == [False, True, False]
    assert [ply for ply, head in enumerate(found.heads) if head != empty] == list(range(46, 53))
    assert out.with_suffix(".json").exists()
    # Other bands, linear weights, and no start at all.
    for arguments, message in (
        (("--bands", "0,47", "--start", nothing), "not a network with bands of plies that begin at [0, 47]"),
        (("--bands", "0,46"), "no labels of ply 0, which is in the band 0-45"),
        (("--bands", "0,46", "--plies", "46-60"), "a band of plies is neither fitted nor in --start"),
        (("--curve", "0"), "a network needs a score curve"),
        (("--bands", "0,46", "--go-on"), "nothing to go on from: name it with --start"),
    ):
        assert stage("--out", tmp_path / "other.xz", *arguments) == 1
        assert message in capsys.readouterr().err
        assert not (tmp_path / "other.xz").exists()
    for bad in ("1,20", "0,20,20", "0,61", "all", ""):
        assert stage("--out", tmp_path / "other.xz", "--bands", bad) == 2


def test_a_ply_without_labels_is_refused_before_any_band_is_fitted():
    rows = product_rows(1)
    shards = [lambda: Shard(rows)] * 2
    network.need_rows(shards, [range(PLY, PLY + 1)], STAGE)
    with pytest.raises(TrainingError, match="no labels of ply 21, which is in the band 21-22"):
        network.need_rows(shards, [range(PLY, PLY + 1), range(21, 23)], STAGE)
