"""A campaign of labels: shards that are made one after the other, whatever ends it."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from checkout import IMPORT
from test_training import SHIPPED, random_line
from waits import until

from desdaemon.engine.training import cli, store
from desdaemon.engine.training.labelling import campaign
from desdaemon.protocol.othello.notation import square_text
from desdaemon.protocol.system.locks import FileLock

# At idle priority it would wait for all other tests.
PROGRAM = IMPORT + (
    "from desdaemon.engine.training.labelling import campaign\n"
    "campaign.platform.lower_process = lambda niceness: None\n"
    "from desdaemon.cli.main import program; program()"
)


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    path = tmp_path_factory.mktemp("games") / "games.txt"
    lines = ("".join(square_text(square) for square in random_line(seed)[0]) for seed in range(5))
    path.write_text("\n".join(lines).lower() + "\n")
    return path


def command(folder, *more):
    options = ["--weights", str(SHIPPED), "--perturbed", "6", "--self-play", "9", "--workers", "1"]
    return [sys.executable, "-c", PROGRAM, "train", "campaign", str(folder), *map(str, more), *options]


@pytest.fixture(autouse=True, scope="module")
def priority():
    """The tests keep their priority; what the stage lowers it to."""
    with pytest.MonkeyPatch.context() as patch:
        lowered = []
        patch.setattr(campaign.platform, "lower_process", lowered.append)
        yield lowered


def run(*arguments):
    return cli.main(command(*arguments)[4:])


def contents(folder):
    """Arrays of all files; the record that `label` keeps beside them names the folder."""
    return {
        path.name: {name: array.tobytes() for name, array in store.load(path)[0].items()}
        for path in sorted(folder.glob("*.npz"))
    }


@pytest.fixture(scope="module")
def two_shards(games, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    assert run(folder, games, "--shards", 2) == 0
    return folder


def test_two_processes_do_not_make_the_same_shards(two_shards, capsys):
    lock = FileLock(two_shards / "0001.lock")
    assert run(two_shards, "--shards", 2) == 1
    assert f"process {os.getpid()} makes the shards from 1 on: wait for its end" in capsys.readouterr().err
    lock.release()
    assert run(two_shards, "--shards", 2) == 0


def test_a_file_without_weights_is_not_kept(games, tmp_path, capsys):
    assert cli.main(["campaign", str(tmp_path / "new"), str(games), "--weights", str(games), "--workers", "1"]) == 1
    assert str(games) in capsys.readouterr().err
    # Its copy would have refused the right weights from then on.
    assert not (tmp_path / "new").exists()


@pytest.mark.posix
def test_a_pipe_without_a_writer_is_refused(games, tmp_path, capsys):
    pipe = tmp_path / "pipe.npz"
    os.mkfifo(pipe)
    assert cli.main(["games", str(pipe), "--out", str(tmp_path / "o.npz")]) == 1
    assert cli.main(["positions", str(pipe), "--out", str(tmp_path / "o.npz")]) == 1
    assert cli.main(["campaign", str(tmp_path / "new"), str(games), "--weights", str(pipe), "--workers", "1"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_each_shard_has_its_own_positions_and_three_kinds_of_labels(two_shards, priority, capsys):
    folder = two_shards
    kinds = {f"{number:04}-{kind}.npz" for number in (1, 2) for kind in ("even", "exact", "odd", "positions")}
    assert {path.name for path in folder.glob("0*.npz")} == kinds | {"0002-games.npz"}
    assert store.record_of(folder / "0002-positions.npz")["games"]["stage"] == "self-play"
    boards = []
    for number in (1, 2):
        rows, record = store.load(folder / f"{number:04}-positions.npz")
        boards.append(set(zip(rows["players"].tolist(), rows["opponents"].tolist(), strict=True)))
        for kind in ("even", "exact", "odd"):
            labels, about = store.load(folder / f"{number:04}-{kind}.npz")
            assert about["positions"] == record["digest"]
            assert len(labels["rows"]) > 0
            wanted = (47, 60) if kind == "exact" else (0, 46)
            assert np.isin(rows["plies"][labels["rows"]], np.arange(wanted[0], wanted[1] + 1)).all()
    assert not boards[0] & boards[1]
    counts = sum(len(store.load(path)[0]["rows"]) for path in folder.glob("*-e*.npz"))
    counts += sum(len(store.load(path)[0]["rows"]) for path in folder.glob("*-odd.npz"))
    assert run(folder, "--shards", 2) == 0
    assert f" labels; {counts} of the shards from 1 on" in capsys.readouterr().err
    assert set(priority) == {19}


def test_a_network_is_fitted_to_all_that_a_campaign_made(two_shards, tmp_path, capsys):
    kinds = ("positions", "e*", "odd")
    positions, *labels = ([str(path) for path in sorted(two_shards.glob(f"0*-{kind}.npz"))] for kind in kinds)
    options = ["--start", str(SHIPPED), "--go-on", "--passes", "1", "--name", "x", "--out", str(tmp_path / "x.xz")]
    assert cli.main(["fit-network", *positions, "--labels", *labels[0], *labels[1], *options]) == 0, capsys.readouterr()
    assert json.loads((tmp_path / "x.json").read_text())["fitted"] == [[0, 23], [24, 37], [38, 60]]


def test_a_campaign_that_is_killed_goes_on_to_the_same_labels(games, two_shards, tmp_path):
    folder = tmp_path / "killed"
    with subprocess.Popen(command(folder, games, "--shards", 2), stderr=subprocess.DEVNULL) as program:
        until(lambda: (folder / "0001-exact.npz").exists() or program.poll() is not None)
        program.kill()
    assert run(folder, "--shards", 2) == 0
    assert contents(folder) == contents(two_shards)


def test_a_campaign_refuses_other_weights_and_a_new_folder_without_games(two_shards, tmp_path, capsys):
    other = tmp_path / "other.xz"
    other.write_bytes(SHIPPED.read_bytes() + b"\0" * 4)
    assert cli.main(["campaign", str(two_shards), "--weights", str(other)]) == 1
    assert "has labels by other weights" in capsys.readouterr().err
    assert cli.main(["campaign", str(tmp_path / "new"), "--weights", str(SHIPPED)]) == 1
    assert "is new: name the games to begin with" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
