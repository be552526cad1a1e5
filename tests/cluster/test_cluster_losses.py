"""What becomes of commands and workers whose scheduler, or whose neighbour, is killed: nobody calls it success."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from checkout import ROOT
from cluster_processes import COMMAND, IMPATIENT, TIMEOUT, Cluster, Process, run
from random_games import random_game

from desdaemon.engine.training import store
from desdaemon.protocol.othello.notation import START, Position, board_text, moves_text

pytest.importorskip("distributed")

SHIPPED = ROOT / "engine" / "data" / "weights.xz"
SCRIPT = "book load {folder}/own.book\nbook deviate 2 4\nbook export {folder}/after.txt\nquit\n"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler without workers."""
    with closing(Cluster(tmp_path, command=IMPATIENT)) as found:
        yield found


class Owner:
    """A program that searches by a cluster; ``until`` waits for a piece of what it says, not for ever."""

    def __init__(self, cluster: Cluster, *arguments: str, given: str = "") -> None:
        self.process = subprocess.Popen(
            [*IMPATIENT, *arguments, "-verbose", "1" if "-solve" in arguments else "0", "-cluster", str(cluster.file)],
            # A book that is lost would be kept here.
            cwd=cluster.file.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdin
        self.process.stdin.write(given)
        self.process.stdin.flush()
        self.said = ""

    def until(self, piece: str) -> None:
        assert self.process.stdout
        given_up = threading.Timer(TIMEOUT, self.process.kill)
        given_up.start()
        while piece not in self.said:
            line = self.process.stdout.readline()
            assert line, self.said
            self.said += line
        given_up.cancel()

    def end(self) -> int:
        """Its exit status."""
        self.said += self.process.communicate(timeout=TIMEOUT)[0]
        return self.process.returncode


def test_a_script_ends_with_the_command_that_has_lost_its_scheduler(cluster: Cluster, tmp_path: Path) -> None:
    """What comes after it in a script would make another book."""
    folders = [tmp_path / "ends", tmp_path / "goes-on"]
    owners = []
    for folder, options in zip(folders, ((), ("-keep-going", "on")), strict=True):
        folder.mkdir()
        run("-verbose", "0", given=f"book new 6 12\nbook save {folder}/own.book\nquit\n")
        owners.append(Owner(cluster, *options, given=SCRIPT.format(folder=folder)))
    for owner in owners:
        owner.until("no worker can do these searches yet: waiting for one")
    cluster.scheduler.close()
    assert [owner.end() for owner in owners] == [1, 0]
    for owner in owners:
        assert "WARNING: the cluster's scheduler has gone: repeat the command once there is one" in owner.said
        assert "stopped (repeat it to continue)" in owner.said
        assert "Traceback" not in owner.said
    assert "book deviate 2 4: not finished: the script ends here (-keep-going on goes on)" in owners[0].said
    assert [(folder / "after.txt").exists() for folder in folders] == [False, True]


def test_a_file_of_problems_that_was_not_solved_to_its_end_is_no_success(cluster: Cluster, tmp_path: Path) -> None:
    cluster.add("one")
    solvable = [position_of(seed, 54) for seed in range(5)]
    endless = [position_of(seed, 4) for seed in range(7)]
    file = tmp_path / "problems.obf"
    file.write_text("".join(f"{board_text(position)};\n" for position in (*solvable, *endless)))
    owner = Owner(cluster, "-solve", str(file), "-level", "60")
    owner.until("\n  5|")
    cluster.scheduler.close()
    assert owner.end() == 1
    assert "5 positions; 0 erroneous move" in owner.said
    assert owner.said.splitlines()[-1] == (
        f"desdaemon: {file}: 7 of 12 problems were not solved: the cluster's scheduler has gone: repeat the command "
        "once there is one"
    )


def test_a_short_problem_does_not_wait_for_the_long_one_after_it(cluster: Cluster, tmp_path: Path) -> None:
    """The fourth problem keeps the only worker for a while, and the two after it reach it together."""
    cluster.add("one")
    problems = [position_of(seed, plies) for seed, plies in ((1, 54), (2, 54), (3, 54), (4, 40), (5, 54), (6, 4))]
    file = tmp_path / "problems.obf"
    file.write_text("".join(f"{board_text(position)};\n" for position in problems))
    owner = Owner(cluster, "-solve", str(file), "-level", "60")
    owner.until("\n  5|")
    owner.process.kill()
    owner.end()


def position_of(seed: int, plies: int) -> Position:
    position = START
    for played in random_game(seed, plies).moves:
        position = position.after(played.move)
    return position


@pytest.mark.slow
def test_labels_that_are_not_all_there_are_kept_and_no_success(cluster: Cluster, tmp_path: Path) -> None:
    games, positions, out = (tmp_path / f"{name}.npz" for name in ("games", "positions", "labels"))
    lines = tmp_path / "lines.txt"
    lines.write_text(
        "".join(
            f"{moves_text([each.move for each in random_game(seed, 60).moves if each.move < 64])}\n"
            for seed in range(9)
        )
    )
    settings = ("--weights", str(SHIPPED), "--plies", "10-50", "--depth", "2", "--rows", "9")
    for made in (
        ("games", str(lines), "--out", str(games)),
        ("positions", str(games), "--out", str(positions), "--perturbed", "0"),
    ):
        assert run("train", *made).returncode == 0
    label = ("label", str(positions), "--out", str(out), *settings)
    command = [*COMMAND, "train", *label, "--cluster", str(cluster.file)]
    labelling = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert labelling.stderr
    said = ""
    while "waiting for one" not in said:
        said += labelling.stderr.readline()
    cluster.scheduler.close()
    said += labelling.communicate(timeout=TIMEOUT)[1]
    assert labelling.returncode == 1
    assert re.fullmatch(
        r"desdaemon train: (\d+) of \1 labels are missing: the cluster's scheduler has gone: repeat the command "
        "once there is one",
        said.splitlines()[-1],
    )
    assert store.load(out)[1]["complete"] is False
    # The same command, by this process, goes on with the file.
    assert run("train", *label).returncode == 0
    assert store.load(out)[1]["complete"] is True


def test_with_nobody_at_the_address_a_line_says_so(tmp_path: Path) -> None:
    file = tmp_path / "problems.obf"
    file.write_text(f"{board_text(position_of(0, 54))};\n")
    found = run("-solve", str(file), "-cluster", "tcp://127.0.0.1:1", command=IMPATIENT)
    assert found.returncode == 1
    assert found.stderr.count("\n") == 1
    assert 'cluster "tcp://127.0.0.1:1": ' in found.stderr


def test_workers_come_back_with_their_scheduler_and_a_killed_one_is_named(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESDAEMON_RUNTIME_DIR", str(tmp_path / "runtime"))
    one, two = cluster.add("one", "two")

    def folders() -> int:
        return len(list((tmp_path / "runtime").rglob("*.dirlock")))

    assert folders() == 2
    owner = Owner(cluster, given="book new 20 12\nbook deviate 4 4\nquit\n")
    # Of this command, which is the one that loses a worker: each looks for the workers anew.
    owner.until("New book 20 12...done")
    owner.said = ""
    owner.until("2 workers")
    two.close()
    owner.until("cluster: worker two has gone: its searches go to others")
    cluster.scheduler.close()
    one.until("has lost the scheduler at")
    assert owner.end() == 1
    # With another port, by the same scheduler file.
    again = Process("scheduler", "--listen", "tcp://127.0.0.1:0", "--scheduler-file", str(cluster.file))
    try:
        again.until("scheduler at")
        one.until(f"has joined {json.loads(cluster.file.read_text())['address']}")
        assert folders() == 1
        assert cluster.run("status").stdout.startswith("one  ")
        assert one.end() == 0
        assert folders() == 0
    finally:
        again.close()
