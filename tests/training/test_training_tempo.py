"""Stage `tempo`: the excess that searches of odd and even depths show, and its way out of a network's constants."""

import numpy as np
import pytest
from test_training import late_positions

from desdaemon.engine.evaluation.weights import SHIPPED
from desdaemon.engine.evaluation.weights_file import WEIGHTS_PER_PLY, read, write_shipped
from desdaemon.engine.layout import PLIES
from desdaemon.engine.training import cli, tempo, validate


def searched(excess, plies, values, errors):
    """Scores at each depth, in discs: the value of each position, and what the evaluation gives the side to move too
    much where the search ends. After an even number of plies that is the root's side.
    """
    signs = [(-1) ** depth for depth in tempo.DEPTHS]
    ends = [excess[plies + depth] for depth in tempo.DEPTHS]
    return values + np.array(signs)[:, None] * np.array(ends) + errors


def test_the_excess_of_searches_is_found():
    dice = np.random.default_rng(3)
    excess = 0.4 + 0.3 * np.sin(np.arange(PLIES) / 4)
    plies = np.repeat(np.arange(4, 50), 400)
    values = dice.normal(0, 6, len(plies))
    scores = searched(excess, plies, values, dice.normal(0, 1, (len(tempo.DEPTHS), len(plies))))
    # Positions that are far from even are left out, whatever their searches say.
    far = np.full(len(plies), 45.0)
    strange = np.where(np.arange(len(tempo.DEPTHS))[:, None] % 2 == 0, far, 0.0)
    found = tempo.differences(np.concatenate([plies, plies]), np.concatenate([scores, strange], 1))
    assert tempo.excesses(found)[6:51] == pytest.approx(excess[6:51], abs=0.12)
    assert {each.ply + each.depth for each in found} == set(range(6, 51))


def test_few_positions_of_a_ply_say_nothing():
    assert tempo.differences(np.full(19, 20), np.zeros((len(tempo.DEPTHS), 19))) == []
    assert len(tempo.differences(np.full(20, 20), np.zeros((len(tempo.DEPTHS), 20)))) == len(tempo.DEPTHS) - 2


@pytest.fixture(scope="module")
def positions(tmp_path_factory):
    return late_positions(tmp_path_factory.mktemp("positions"))[0]


def arguments(positions, weights, out):
    return ["tempo", str(positions), "--weights", str(weights), "--out", str(out), "--name", "moved"]


@pytest.mark.slow
def test_tempo_takes_off_what_weights_give_the_side_to_move_too_much(positions, tmp_path):
    """Of weights that give the side to move two discs too much where the searches end, one round takes off most."""
    network, record = read(SHIPPED)
    wrong = np.where(np.arange(PLIES) >= 36, 2.0, 0.0)
    spoilt, mended = tmp_path / "spoilt.xz", tmp_path / "mended.xz"
    write_shipped(spoilt, tempo.less(network, -wrong), record)
    assert cli.main([*arguments(positions, spoilt, mended), "--plies", "36-41", "--rounds", "1"]) == 0
    found, about = read(mended)
    assert found.lanes == network.lanes
    assert about["name"] == "moved"
    assert about["probcut"] == record["probcut"]
    assert 1 < np.mean(about["tempo"]["excess"][40:48]) < 3
    # The evaluation of a board of 40 discs, ply 36, falls by what the record says of that ply.
    board = np.array([0x00003C3C18000000], np.uint64), np.array([0xE000000007FFFFFF], np.uint64)
    before, after = (float(validate.static_of(path)(*board, 36)[0]) for path in (spoilt, mended))
    slope = 1 - (before / about["curve"]) ** 2
    assert before - after == pytest.approx(about["tempo"]["excess"][36] * slope, abs=0.1)


def test_files_that_are_no_calibration_are_refused(positions, tmp_path, capfd):
    out = tmp_path / "out.xz"
    linear = tmp_path / "linear.xz"
    write_shipped(linear, bytes(PLIES * WEIGHTS_PER_PLY * 2), {})
    assert cli.main(arguments(positions, linear, out)) == 1
    assert "linear.xz: expected a network" in capfd.readouterr().err
    assert cli.main([*arguments(positions, SHIPPED, out), "--plies", "0-2"]) == 1
    assert "no ply has 20 positions" in capfd.readouterr().err
    assert cli.main([*arguments(positions, SHIPPED, out), "--rounds", "0"]) == 2
    assert not out.exists()
