"""A scheduler and workers as processes: the same book as by one thread, whatever happens to the workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cluster_processes import TIMEOUT, Cluster, grown, run, solved_rows
from random_games import random_game
from served import Peer, serving

from desdaemon.cluster.connection import connect
from desdaemon.cluster.status import status
from desdaemon.engine.training import store
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import START, board_text, moves_text

pytest.importorskip("distributed")

SHIPPED = Path(__file__).resolve().parents[2] / "engine" / "data" / "weights.xz"
GROWTH = "book deviate 2 4"


@pytest.fixture(scope="module")
def by_one_thread(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return grown(tmp_path_factory.mktemp("book") / "one.egbk3", GROWTH, "-book-tasks", "1")[0]


def test_a_cluster_makes_the_book_of_one_thread(cluster: Cluster, by_one_thread: bytes, tmp_path: Path) -> None:
    book, said = grown(tmp_path / "book.egbk3", GROWTH, "-cluster", str(cluster.file))
    assert book == by_one_thread
    assert "cluster:" not in said


def games_file(folder: Path) -> Path:
    """Games of random players."""
    file = folder / "games.txt"
    file.write_text(
        "".join(f"{moves_text([each.move for each in random_game(seed, 60).moves])}\n" for seed in range(6))
    )
    return file


def test_every_command_that_searches_makes_the_book_of_one_thread(cluster: Cluster, tmp_path: Path) -> None:
    games = games_file(tmp_path)
    commands = (
        "book learn 8 2 4 2 4", f"book add {games}", "book enhance 2 2", f"book add --unsearched {games}", "book fix",
        "book deepen 7", "book correct", "book recalculate-leaves 6 4 4 8", "book self-play 4 2", "book play",
        "book extend", "book fill 2",
    )  # fmt: skip
    before = {row.name: row.done for row in status(str(cluster.file), "", "")}
    exports = []
    for number, options in enumerate((("-book-tasks", "1"), ("-cluster", str(cluster.file)))):
        files = [tmp_path / f"{number}-{at}.txt" for at in range(len(commands))]
        each = zip(commands, files, strict=True)
        lines = "".join(f"{command}\nbook export {file}\n" for command, file in each)
        done = run("-verbose", "0", "-book-seed", "1", *options, given=f"book new 5 8\n{lines}quit\n")
        assert done.stderr.count("\n") <= 2 * len(commands), done.stderr
        exports.append([file.read_bytes() for file in files])
    assert exports[1] == exports[0]
    assert len(set(exports[0])) > len(commands) // 2
    after = {row.name: row.done for row in status(str(cluster.file), "", "")}
    assert after["one"] > before["one"] + 50
    assert after["two"] > before["two"] + 50


@pytest.mark.needs("book.packed")
def test_a_cluster_learns_over_a_packed_book_as_one_thread_over_the_book_itself(
    cluster: Cluster, tmp_path: Path
) -> None:
    whole, packed = tmp_path / "base.book", tmp_path / "base.packed"
    made = run(given=f"book new 4 8\nbook deviate 2 4\nbook save {whole}\nbook export {packed}\nquit\n")
    assert made.returncode == 0, made.stderr
    exports = []
    for base, options in ((whole, ("-book-tasks", "1")), (packed, ("-cluster", str(cluster.file)))):
        above, text = base.with_suffix(".overlay"), base.with_suffix(".txt")
        learned = f"book load {base} --overlay {above}\nbook learn 9 3 6 3 4\nbook export {text}\nquit\n"
        done = run("-verbose", "0", *options, given=learned)
        assert done.returncode == 0, done.stderr
        exports.append(sorted(text.read_bytes().splitlines()))
    assert exports[1] == exports[0]
    assert len(exports[0]) > 100


@pytest.mark.slow
def test_book_jobs_of_a_servers_clients_search_on_the_cluster_and_their_analyses_do_not(
    cluster: Cluster, by_one_thread: bytes, tmp_path: Path
) -> None:
    def done() -> int:
        return sum(row.done for row in status(str(cluster.file), "", ""))

    with serving(tmp_path, "-cluster", str(cluster.file)) as served, Peer(served.ipc) as peer:
        peer.final("book.new", {"level": 6, "depth": 12})
        before = done()
        found = peer.replies(peer.request("book.deviate", {"relative": 2, "absolute": 4}))
        assert found[-1]["data"]["finished"]
        assert {reply["data"]["workers"] for reply in found[:-1] if "workers" in reply["data"]} == {2}
        searched = done()
        assert searched >= before + found[-1]["data"]["searches"]
        peer.final("analyze", {"moves": "f5d6", "level": 6, "book": "ignore"})
        assert done() == searched
        peer.final("book.export", {"file": "book.egbk3"})
        assert (served.data / "book.egbk3").read_bytes() == by_one_thread


@pytest.mark.slow
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
        lines.append(solved_rows(solved.stdout))
    assert len(lines[0]) == 20
    assert lines[0] == lines[1]


def test_a_cluster_makes_the_labels_of_one_process(cluster: Cluster, tmp_path: Path) -> None:
    game, positions = tmp_path / "games.npz", tmp_path / "positions.npz"
    lines = tmp_path / "lines.txt"
    lines.write_text(
        "".join(
            f"{moves_text([each.move for each in random_game(seed, 60).moves if each.move < 64])}\n"
            for seed in range(40)
        )
    )
    settings = ("--weights", str(SHIPPED), "--plies", "10-50", "--depth", "4", "--rows", "40")
    for made in (
        ("games", str(lines), "--out", str(game)),
        ("positions", str(game), "--out", str(positions), "--perturbed", "0"),
        ("label", str(positions), "--out", str(tmp_path / "one.npz"), *settings, "--workers", "1"),
        ("label", str(positions), "--out", str(tmp_path / "two.npz"), *settings, "--workers", "2"),
        ("label", str(positions), "--out", str(tmp_path / "cluster.npz"), *settings, "--cluster", str(cluster.file)),
    ):
        done = run("train", *made)
        assert done.returncode == 0, done.stderr
    one, two, by_cluster = (store.load(tmp_path / f"{name}.npz")[0] for name in ("one", "two", "cluster"))
    assert len(one["rows"]) > 1000
    for name, values in one.items():
        assert values.tolist() == two[name].tolist() == by_cluster[name].tolist()


def test_status_names_every_worker(cluster: Cluster) -> None:
    status = cluster.run("status")
    assert status.returncode == 0, status.stderr
    assert [line.split()[0] for line in status.stdout.splitlines()] == ["one", "two"]
    assert status.stdout.count("same program") == 2


@pytest.mark.parametrize(
    ("address", "tls", "what"),
    [
        ("tcp://192.0.2.1:8786", "", "beyond this machine use tls://"),
        ("tcp://[2001:db8::1]:8786", "", "beyond this machine use tls://"),
        ("scheduler.example:8786", "", "beyond this machine use tls://"),
        ("tls://192.0.2.1:8786", "", "needs a folder of keys (cluster-tls)"),
        ("nothing-there.json", "", "or a scheduler file"),
        ("udp://127.0.0.1:8786", "", "expected tcp://HOST:PORT"),
        ("tcp://127.0.0.1:x", "", "expected tcp://HOST:PORT"),
        ("tcp://127.0.0.1:99999", "", "port 65535 at most"),
        ("tcp://127.0.0.1", "", "expected tcp://HOST:PORT"),
        ("tls://127.0.0.1:8786", "nowhere", "no ca.pem"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_told_in_a_line(address: str, tls: str, what: str) -> None:
    with pytest.raises(BadInput) as refused:
        connect(address, tls)
    assert what in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_no_scheduler_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    for content in ("", "[]", '{"address": 1}'):
        file.write_text(content)
        with pytest.raises(BadInput, match="expected a scheduler file"):
            connect(str(file), "")


def test_nothing_of_dask_is_loaded_without_a_cluster() -> None:
    code = (
        "import sys; from desdaemon.cli.main import main; main(['-verbose', '0']); "
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
        "import sys; sys.modules['dask'] = None; from desdaemon.cluster.cluster import main; "
        "sys.exit(main(['status', 'tcp://127.0.0.1:1']))"
    )
    found = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert found.returncode == 1
    assert found.stderr.count("\n") == 1
    assert "pip install distributed" in found.stderr
