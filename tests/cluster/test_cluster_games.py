"""Games of a match by a cluster: as texts, at a worker, and the whole match with the table of a local one."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checkout import SUPPORT
from cluster_processes import COMMAND, TIMEOUT, Cluster, heed_interrupts, run

from desdaemon.book.growth.engine_evaluator import HASH_BITS
from desdaemon.clients.match.engine_process import command_of
from desdaemon.clients.match.identity import identity
from desdaemon.clients.match.openings import listed_openings
from desdaemon.clients.match.process_groups import ProcessGroups
from desdaemon.clients.match.referee import MatchTerms
from desdaemon.clients.match.time_control import TimeControl
from desdaemon.clients.match.workers import GameToPlay, Program
from desdaemon.cluster import games, tasks
from desdaemon.engine.evaluation.weights import Weights

pytest.importorskip("distributed")

FAKE = str(SUPPORT / "fake_player.py")
TIMES = re.compile(r"[\d.]+ s a move, [\d.]+ s the longest")


def fake(*arguments: object) -> str:
    return shlex.join([sys.executable, FAKE, *map(str, arguments)])


def game_to_play(first: str, second: str) -> GameToPlay:
    commands = [command_of(text) for text in (first, second)]
    one, two = (
        Program(command, "gtp", name, TimeControl(1000.0, 60_000.0, 500.0, 3))
        for command, name in zip(commands, ("one", ""), strict=True)
    )
    digests = tuple(identity(command)["sha256"] for command in commands)
    terms = MatchTerms(5.0, 3000.0, adjudicate=4)
    return GameToPlay((one, two), digests, listed_openings(1).openings[0], terms)


def test_a_game_travels_as_a_text() -> None:
    game = game_to_play("self -level 3", fake("gtp", "first"))
    again = games.game_of(games.task_of(game))
    opening = again.opening._replace(moves=game.opening.moves)
    assert again._replace(opening=opening) == game
    assert [each.move for each in again.opening.moves] == [each.move for each in game.opening.moves]
    # Whose interpreter lies elsewhere starts its own.
    assert sys.executable not in games.task_of(game_to_play("self -level 3", "self")).text


def test_a_worker_plays_a_game_unless_its_programs_are_others() -> None:
    state = tasks.prepare("here", Weights.load())
    game = game_to_play(fake("gtp", "first"), fake("gtp", "last"))
    own = tuple(state.identity)
    worker, ((text, ms),) = games.play_batch(own, "job", HASH_BITS, (tuple(games.task_of(game)),))  # type: ignore[arg-type, misc]
    assert worker == "here"
    assert ms > 0
    found = json.loads(text)
    assert (found["ending"], found["black"]) == ("adjudicated", "one")
    wrong = game._replace(digests=(game.digests[0], "0" * 64))
    with pytest.raises(tasks.OtherIdentity) as refused:
        games.play_batch(own, "job", HASH_BITS, (tuple(games.task_of(wrong)),))  # type: ignore[arg-type]
    assert refused.value.args[0] == "here"
    assert "another state of the files of the program" in refused.value.args[1]
    tasks.stop_job("stopped")
    assert games.play_batch(own, "stopped", HASH_BITS, (tuple(games.task_of(game)),)) == ("here", [None])  # type: ignore[arg-type]


def test_a_stop_ends_a_game_that_hangs() -> None:
    groups = ProcessGroups()
    groups.stop()
    task = games.task_of(game_to_play(fake("gtp", "hang", 1), fake("gtp", "last")))
    players = games.ClusterPlayers.__new__(games.ClusterPlayers)
    players._groups = groups
    assert players._here(task) is None


def match(*options: str) -> tuple[str, dict[str, Any], list[Any]]:
    """The table without its times, the account's part that is not about this run, and the journal's games."""
    folder = Path(options[0])
    files = ("--journal", str(folder / "journal"), "--json", str(folder / "account"))
    programs = (fake("gtp", "first"), fake("gtp", "last"), fake("nboard"))
    done = run("match", *programs, "--protocol", "gtp,gtp,nboard", "--games", "2", *files, *options[1:])
    assert done.returncode == 0, done.stderr
    journal = [json.loads(line) for line in (folder / "journal").read_text().splitlines()[1:]]
    for game in journal:
        for name in ("ms", "used", "longest"):
            del game[name]
    account = json.loads((folder / "account").read_text())
    return TIMES.sub("", done.stdout), account["games"], journal


def test_a_match_has_the_table_of_a_local_one(cluster: Cluster, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    table, count, journal = match(str(here))
    assert count == 6
    assert match(str(there), "--cluster", str(cluster.file)) == (table, count, journal)
    # In order, however long each took.
    assert [game["game"] for game in journal] == list(range(6))
    status = cluster.run("status").stdout
    assert sum(int(done) for done in re.findall(r"(\d+) searches done", status)) >= 6


@pytest.mark.slow
def test_a_match_goes_on_where_workers_die_and_stops_at_a_signal(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    journal = tmp_path / "journal"
    programs = (fake("gtp", "first"), fake("gtp", "slow", 0))
    command = [
        *COMMAND, "match", *programs, "--protocol", "gtp", "--games", "4", "--journal", str(journal), "--cluster",
        str(cluster.file),
    ]  # fmt: skip
    try:
        victim, _ = cluster.add("victim", "other")
        running = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
        )
        while not journal.exists() or journal.read_text().count("\n") < 2:
            assert running.poll() is None
        victim.process.kill()
        cluster.start("late")
        while journal.read_text().count("\n") < 4:
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=TIMEOUT)
        assert running.returncode == 130
        again = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        assert again.returncode == 0, again.stderr
    finally:
        cluster.close()
    assert [json.loads(line)["game"] for line in journal.read_text().splitlines()[1:]] == [0, 1, 2, 3]


def test_a_log_of_programs_that_run_elsewhere_is_refused(tmp_path: Path) -> None:
    found = run("match", "self", "self", "--log", str(tmp_path), "--cluster", "tcp://127.0.0.1:1")
    assert found.returncode == 2
    assert "expected no --cluster" in found.stderr
