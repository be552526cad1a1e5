"""A scheduler and workers as processes: the same book as by one thread, whatever happens to the workers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_processes import COMMAND, TIMEOUT, Cluster, grown, run
from random_games import random_game

from desdaemon.protocol.othello.notation import START, board_text

pytest.importorskip("distributed")

GROWTH = "book deviate 2 4"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        found.add("one", "two")
        yield found
    finally:
        found.close()


@pytest.fixture(scope="module")
def by_one_thread(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return grown(tmp_path_factory.mktemp("book") / "one.egbk3", GROWTH, "-book-tasks", "1")[0]


def test_the_book_is_that_of_one_thread(cluster: Cluster, by_one_thread: bytes, tmp_path: Path) -> None:
    book, said = grown(tmp_path / "book.egbk3", GROWTH, "-cluster", str(cluster.file))
    assert book == by_one_thread
    assert "cluster:" not in said


def test_threads_of_the_owner_may_help(cluster: Cluster, by_one_thread: bytes, tmp_path: Path) -> None:
    options = ("-cluster", str(cluster.file), "-cluster-threads", "1")
    assert grown(tmp_path / "book.egbk3", GROWTH, *options)[0] == by_one_thread


def test_problems_are_solved_in_order_with_the_same_answers(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "problems.obf"
    boards = []
    for seed in range(20):
        position = START
        for played in random_game(seed, 50).moves:
            position = position.after(played.move)
        boards.append(board_text(position))
    file.write_text("".join(f"{board};\n" for board in boards))
    lines = []
    for options in ((), ("-cluster", str(cluster.file))):
        solved = run("-solve", str(file), "-level", "60", "-n", "1", *options)
        assert solved.returncode == 0, solved.stderr
        # Time and nodes a second are the machine's.
        rows = [line for line in solved.stdout.splitlines() if "|" in line]
        lines.append([[part for at, part in enumerate(row.split("|")) if at != 3] for row in rows])
    assert len(lines[0]) > 20
    assert [row[:3] for row in lines[0]] == [row[:3] for row in lines[1]]


def test_status_and_check_name_the_workers(cluster: Cluster) -> None:
    status = cluster.run("status")
    assert status.returncode == 0, status.stderr
    assert [line.split()[0] for line in status.stdout.splitlines()] == ["one", "two"]
    assert status.stdout.count("same program") == 2
    check = cluster.run("check")
    assert (check.returncode, check.stdout) == (0, "one  right\ntwo  right\n")


def test_a_worker_that_dies_costs_nothing_and_one_that_comes_late_helps(
    cluster: Cluster, by_one_thread: bytes, tmp_path: Path
) -> None:
    (victim,) = cluster.add("victim")
    file = tmp_path / "book.egbk3"
    dialogue = subprocess.Popen(
        [*COMMAND, "-verbose", "0", "-cluster", str(cluster.file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert dialogue.stdin
    dialogue.stdin.write(f"book new 6 12\n{GROWTH}\nbook export {file}\nquit\n")
    dialogue.stdin.flush()
    victim.process.kill()
    cluster.start("late")
    said, _ = dialogue.communicate(timeout=TIMEOUT)
    assert dialogue.returncode == 0, said
    assert file.read_bytes() == by_one_thread


def test_a_command_without_workers_waits_for_one(by_one_thread: bytes, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    file = tmp_path / "book.egbk3"
    try:
        dialogue = subprocess.Popen(
            [*COMMAND, "-verbose", "0", "-cluster", str(cluster.file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert dialogue.stdin
        assert dialogue.stdout
        dialogue.stdin.write(f"book new 6 12\n{GROWTH}\nbook export {file}\nquit\n")
        dialogue.stdin.flush()
        for line in dialogue.stdout:
            if "waiting for one" in line:
                break
        cluster.add("late")
        dialogue.communicate(timeout=TIMEOUT)
    finally:
        cluster.close()
    assert file.read_bytes() == by_one_thread


def test_a_lost_scheduler_ends_the_command_and_the_same_command_goes_on(
    cluster: Cluster, by_one_thread: bytes, tmp_path: Path
) -> None:
    lost = Cluster(tmp_path)
    book = tmp_path / "own.book"
    file = tmp_path / "book.egbk3"
    try:
        lost.add("one")
        dialogue = subprocess.Popen(
            [*COMMAND, "-verbose", "0", "-cluster", str(lost.file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert dialogue.stdin
        dialogue.stdin.write(f"book new 6 12\nbook save {book}\nbook deviate 2 4\nquit\n")
        dialogue.stdin.flush()
        lost.scheduler.process.kill()
        said, _ = dialogue.communicate(timeout=TIMEOUT)
    finally:
        lost.close()
    assert dialogue.returncode == 0
    assert "Book deviate 2 4...finished" not in said
    again = run(
        "-verbose",
        "0",
        "-cluster",
        str(cluster.file),
        given=f"book load {book}\n{GROWTH}\nbook export {file}\nquit\n",
    )
    assert "finished" in again.stdout
    assert file.read_bytes() == by_one_thread


def test_a_signal_ends_worker_and_scheduler_in_good_order(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    try:
        (worker,) = cluster.add("one")
        assert worker.end() == 0
        assert cluster.run("status").stdout == "no workers\n"
        assert cluster.run("check").returncode == 1
        assert cluster.scheduler.end() == 0
        assert json.loads(cluster.file.read_text())["address"].startswith("tcp://127.0.0.1:")
    finally:
        cluster.close()


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("tcp://127.0.0.1:9", "expected a scheduler that answers"),
        ("tcp://192.0.2.1:8786", "expected tls:// beyond this machine"),
        ("tls://192.0.2.1:8786", "by cluster-tls"),
        ("nothing-there.json", "or a scheduler file"),
        ("udp://127.0.0.1:8786", "expected tcp://HOST:PORT"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_told_in_a_line(address: str, what: str) -> None:
    found = run("-verbose", "0", "-cluster", address, given="book new 6 12\nbook store\nbook info\nquit\n")
    assert found.returncode == 0
    assert what in found.stderr + found.stdout
    assert "Traceback" not in found.stderr


def test_nothing_of_dask_is_loaded_without_a_cluster() -> None:
    code = (
        "import sys; from desdaemon import cli; cli.main(['-verbose', '0']); "
        "sys.stderr.write(str([name for name in sys.modules if name.startswith(('dask', 'distributed', 'tornado'))]))"
    )
    found = subprocess.run(
        [sys.executable, "-P", "-c", code],
        input="book new 4 8\nbook store\nquit\n",
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert found.stderr.endswith("[]") or "[]" in found.stderr


def test_without_the_extra_a_line_says_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['dask'] = None; from desdaemon.cluster.command import main; "
        "sys.exit(main(['status', 'tcp://127.0.0.1:1']))"
    )
    found = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert found.returncode == 1
    assert found.stderr.count("\n") == 1
    assert "desdaemon[cluster]" in found.stderr
