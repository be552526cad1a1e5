"""Workers that must not search, owners without certificates, commands without workers; and what a stop ends."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import plain_weights
import pytest
from checkout import ROOT
from cluster_processes import COMMAND, TIMEOUT, Cluster, Process, grown, heed_interrupts, run
from strange_worker import DEADLY
from waits import until

from desdaemon.book.editing.engine_evaluator import HASH_BITS, Searches
from desdaemon.book.progress import WorkCancelled
from desdaemon.cluster.cluster import main
from desdaemon.cluster.connection import connect, workers_of
from desdaemon.cluster.identity import identity
from desdaemon.cluster.pool import ClusterSearches, Line
from desdaemon.cluster.status import status
from desdaemon.cluster.window import Search, WorkerAnswer
from desdaemon.engine.bench.problems import random_problems
from desdaemon.engine.evaluation.network import Network
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.evaluation.weights_file import read
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import START, Position, board_text

SILENT_S = 30

pytest.importorskip("distributed")

SHIPPED = ROOT / "engine" / "data" / "weights.xz"
GROWTH = "book deviate 2 4"
WRONG_KINDS = ("answers", "stranger", "version")
ENDLESS = 60
"""The level of searches that would take years."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler without workers."""
    with closing(Cluster(tmp_path)) as found:
        yield found


class Owner:
    """A client that searches by a cluster; what it searched itself, and what it remarked."""

    def __init__(self, cluster: Cluster) -> None:
        self.notes: list[str] = []
        self.here: list[Search] = []
        self._own = Searches(weights=Weights.load())
        self.client = connect(str(cluster.file), "")
        self.searches = ClusterSearches(
            self.client, identity(Weights.load()), self._here, hash_bits=HASH_BITS, note=self.notes.append
        )

    def _here(self, search: Search) -> WorkerAnswer | None:
        self.here.append(search)
        found = self._own(*search[:4])
        return None if found is None else WorkerAnswer(found, 1.0)

    def expected(self, searches: list[Search]) -> list[tuple[int, int] | None]:
        """What this process finds."""
        return [self._own(*search[:4]) for search in searches]

    def found(self, searches: list[Search]) -> list[object]:
        """What the cluster finds."""

        def line(search: Search) -> Line[object]:
            answer = yield search
            return answer and answer.found

        found = []
        try:
            for each in self.searches.follow(map(line, searches)):
                found.append(each)
        except WorkCancelled:
            found.append(None)
        return found


@pytest.fixture
def owner(cluster: Cluster) -> Iterator[Owner]:
    found = Owner(cluster)
    try:
        yield found
    finally:
        found.client.close(timeout=1)


def at_work(owner: Owner) -> int:
    """The tasks that the one worker is busy with."""
    (worker,) = workers_of(owner.client).values()
    return int(worker["metrics"].get("task_counts", {}).get("executing", 0))


def easy_searches(count: int, level: int) -> list[Search]:
    return [Search(*problem.position[:2], level) for problem in random_problems(count, 40, 1)]


# Workers that get no searches


@pytest.mark.slow
def test_workers_of_another_program_or_weights_get_no_searches_and_are_named(
    cluster: Cluster, owner: Owner, tmp_path: Path
) -> None:
    weights = tmp_path / "other.weights"
    network, _ = read(SHIPPED)
    assert isinstance(network, Network)
    heads = tuple(head._replace(constant=head.constant // 2) for head in network.heads)
    plain_weights.write_network(weights, network._replace(heads=heads))
    cluster.add("right")
    for kind in WRONG_KINDS:
        cluster.strange(kind)
    cluster.start("weights", "--eval-file", str(weights))
    until(lambda: len(workers_of(owner.client)) == 5)

    by_one_thread, _ = grown(tmp_path / "one.egbk3", GROWTH, "-book-tasks", "1")
    book, said = grown(tmp_path / "book.egbk3", GROWTH, "-cluster", str(cluster.file))
    assert book == by_one_thread
    wrong = (*WRONG_KINDS, "weights")
    for name in wrong:
        assert f"cluster: worker {name} runs another version or other weights: it gets no searches" in said
    assert "worker right" not in said

    rows = {row.name: row for row in status(str(cluster.file), "", "")}
    assert {name for name, row in rows.items() if not row.same} == set(wrong)
    assert rows.pop("right").done > 0
    assert [row.done for row in rows.values()] == [0] * len(wrong)
    assert cluster.run("status").stdout.count("OTHER PROGRAM OR WEIGHTS") == len(wrong)
    # To an owner with those weights it is the right one, and the others are wrong.
    assert [row.name for row in status(str(cluster.file), "", str(weights)) if row.same] == ["weights"]


def test_weights_that_cannot_be_used_are_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.weights"
    broken.write_bytes(b"DESDEVAL and nothing more")
    assert main(["status", "tcp://127.0.0.1:1", "--eval-file", str(broken)]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"desdaemon cluster status: {broken}: ")
    assert told.count("\n") == 1


@pytest.mark.slow
def test_a_worker_that_cannot_be_set_up_never_joins(cluster: Cluster, tmp_path: Path) -> None:
    broken = tmp_path / "broken.weights"
    broken.write_bytes(b"DESDEVAL and nothing more")
    without_kernels = cluster.strange("setup")
    without_weights = cluster.start("weights", "--eval-file", str(broken))
    for worker, why in ((without_kernels, "the kernels cannot be compiled"), (without_weights, str(broken))):
        assert worker.process.wait(TIMEOUT) == 1
        told = worker.until(why)
        assert "has joined" not in told
        assert "Traceback" not in told
    assert cluster.run("status").stdout == "no workers\n"


@pytest.mark.slow
def test_a_worker_that_answers_wrong_is_found_by_a_second_one(cluster: Cluster, owner: Owner) -> None:
    cluster.add("right")
    cluster.strange("liar").until("has joined")
    owner.found(easy_searches(1000, 1))
    assert [note for note in owner.notes if note.startswith("cluster: worker liar answered")]
    assert not [note for note in owner.notes if "worker right" in note]
    # It gets no more.
    searches = easy_searches(1000, 2)
    assert owner.found(searches) == owner.expected(searches)


@pytest.mark.posix
@pytest.mark.slow
def test_a_check_by_a_worker_that_goes_is_done_by_whoever_is_left(cluster: Cluster, owner: Owner) -> None:
    """A check is for the worker that did not answer first: were it to wait for that one it would wait for ever."""
    _, two = cluster.add("one", "two")
    two.process.send_signal(signal.SIGSTOP)
    searches = easy_searches(1000, 1)
    found: list[object] = []
    searching = threading.Thread(target=lambda: found.extend(owner.found(searches)), daemon=True)
    searching.start()
    until(lambda: any(usable for _, usable in list(owner.searches._sent.values())))
    two.process.kill()
    searching.join(TIMEOUT)
    assert found == owner.expected(searches)


@pytest.mark.posix
@pytest.mark.slow
def test_a_position_that_workers_die_of_is_searched_at_home_and_told(cluster: Cluster, owner: Owner) -> None:
    searches = easy_searches(12, 4)
    searches.insert(6, Search(*DEADLY, 4))
    ending = threading.Event()

    def restart() -> None:
        while not ending.is_set():
            if all(worker.process.poll() is not None for worker in cluster.workers):
                cluster.strange("deadly")
            ending.wait(0.1)

    starter = threading.Thread(target=restart)
    starter.start()
    try:
        found = owner.found(searches)
    finally:
        ending.set()
        starter.join()
    assert found == owner.expected(searches)
    assert searches[6] in owner.here
    # All at once, then by itself: three workers each time.
    assert sum(worker.process.poll() == -signal.SIGKILL for worker in cluster.workers) >= 6
    board = board_text(Position(*DEADLY, True))
    assert [note for note in owner.notes if f"{board} at level 4: its workers died: it is searched here" in note]


# Searches that last


@pytest.mark.slow
def test_a_worker_is_heard_of_while_all_its_threads_search(cluster: Cluster, owner: Owner) -> None:
    """A minute of searches on all threads; the scheduler hears of it all the time."""
    cluster.start("two", "--threads", "2").until("has joined")
    found: list[object] = []
    endless = [Search(START.player, START.opponent, ENDLESS), Search(START.opponent, START.player, ENDLESS)]
    searching = threading.Thread(target=lambda: found.extend(owner.found(endless)))
    searching.start()
    try:
        (address,) = workers_of(owner.client)
        until(lambda: at_work(owner) == 2)
        silences = []
        end = time.monotonic() + 60
        while time.monotonic() < end:
            # The same worker all the time.
            silences.append(time.time() - workers_of(owner.client)[address]["last_seen"])
            assert at_work(owner) == 2
            time.sleep(0.2)
        assert max(silences) < SILENT_S / 2
    finally:
        owner.searches.stop()
        searching.join(TIMEOUT)
    assert found == [None]
    # The worker is free again although its searches would have gone on for years.
    until(lambda: at_work(owner) == 0)
    assert owner.notes == []


def begun(cluster: Cluster, book: Path, lines: str) -> subprocess.Popen[str]:
    """A dialogue on a new book whose searches are the cluster's, with these lines sent."""
    run("-verbose", "0", given=f"book new 1 12\nbook save {book}\nquit\n")
    dialogue = subprocess.Popen(
        [*COMMAND, "-verbose", "0", "-cluster", str(cluster.file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    assert dialogue.stdin
    dialogue.stdin.write(f"book load {book}\n{lines}")
    dialogue.stdin.flush()
    return dialogue


def interrupted(dialogue: subprocess.Popen[str]) -> str:
    """What a dialogue says after Ctrl-C, until its end."""
    dialogue.send_signal(signal.SIGINT)
    try:
        said, _ = dialogue.communicate(timeout=TIMEOUT)
    finally:
        dialogue.kill()
        dialogue.wait()
    assert dialogue.returncode == 0, said
    return said


@pytest.mark.posix
def test_a_command_without_workers_says_so_and_a_stop_ends_it(cluster: Cluster, tmp_path: Path) -> None:
    dialogue = begun(cluster, tmp_path / "own.book", f"{GROWTH}\nbook info\nquit\n")
    assert dialogue.stdout
    assert any("no worker can do these searches yet: waiting for one" in line for line in dialogue.stdout)
    said = interrupted(dialogue)
    assert "stopped (repeat it to continue)" in said
    # The dialogue goes on.
    assert "positions" in said.partition("stopped")[2]


@pytest.mark.posix
@pytest.mark.slow
def test_a_stop_ends_long_searches_of_the_workers(cluster: Cluster, owner: Owner, tmp_path: Path) -> None:
    cluster.add("one")
    lines = f"book level {ENDLESS}\n{GROWTH}\nbook info\nquit\n"
    dialogue = begun(cluster, tmp_path / "own.book", lines)
    until(lambda: at_work(owner) == 1)
    said = interrupted(dialogue)
    assert "stopped (repeat it to continue)" in said
    until(lambda: at_work(owner) == 0)


# Schedulers that are none


def _greetings(kind: str) -> bytes:
    return {"silence": b"", "zeros": bytes(100), "a page": b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"}[kind]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("silence", "no scheduler answers"),
        ("zeros", "what answers is no scheduler of dask"),
        ("a page", "what answers is no scheduler of dask"),
    ],
)
def test_what_is_no_scheduler_is_told_in_a_line(
    kind: str, why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("desdaemon.cluster.connection.CONNECT_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            with contextlib.suppress(OSError):
                while True:
                    peer, _ = listening.accept()
                    peers.append(peer)
                    peer.sendall(_greetings(kind))

        peers: list[socket.socket] = []
        threading.Thread(target=greet, daemon=True).start()
        address = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        assert main(["status", address]) == 1
        for peer in peers:
            peer.close()
    assert capsys.readouterr().err == f'desdaemon cluster status: cluster "{address}": {why}\n'


@pytest.mark.parametrize("content", ["[" * 100_000, '{"address": "' + " " * (1 << 20) + '"}', "[]", '{"address": 1}'])
def test_what_is_no_scheduler_file_is_told_in_a_line(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file.json"
    file.write_text(content)
    assert main(["status", str(file)]) == 1
    told = capsys.readouterr().err
    assert told.endswith(": expected a scheduler file, made by desdaemon cluster scheduler\n")
    assert told.count("\n") == 1


# Keys


@pytest.mark.posix
@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("", "openssl, which makes the keys: No such file or directory"),
        ("echo one; echo two >&2; exit 3", "openssl, which makes the keys: status 3: two"),
    ],
)
def test_keys_that_cannot_be_made_leave_no_folder(
    program: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    programs, keys = tmp_path / "programs", tmp_path / "keys"
    programs.mkdir()
    if program:
        (programs / "openssl").write_text(f"#!/bin/sh\n{program}\n")
        (programs / "openssl").chmod(0o700)
    monkeypatch.setenv("PATH", str(programs))
    assert main(["keys", str(keys)]) == 1
    assert capsys.readouterr().err.endswith(f'keys": {why}\n')
    assert not keys.exists()


@pytest.mark.posix
def test_a_folder_of_keys_that_cannot_be_made_is_told_by_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "/dev/null/keys"]) == 1
    assert capsys.readouterr().err == 'desdaemon cluster keys: "/dev/null/keys": Not a directory\n'


@pytest.mark.posix
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the keys")
def test_the_keys_of_the_cluster_are_needed(tmp_path: Path) -> None:
    by_one_thread, _ = grown(tmp_path / "one.egbk3", GROWTH, "-book-tasks", "1")
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        assert run("cluster", "keys", str(folder)).returncode == 0
        assert folder.stat().st_mode & 0o777 == 0o700
    again = run("cluster", "keys", str(ours))
    assert again.returncode == 1
    assert "name a new folder" in again.stderr
    cluster = Cluster(tmp_path, "--tls", str(ours), listen="tls://127.0.0.1:0")
    try:
        cluster.add("one")
        assert "every user of this machine" not in cluster.scheduler.told + cluster.workers[0].told
        options = ("-cluster", str(cluster.file), "-cluster-tls", str(ours))
        assert grown(tmp_path / "book.egbk3", GROWTH, *options)[0] == by_one_thread
        address = json.loads(cluster.file.read_text())["address"]
        assert address.startswith("tls://")
        for options in (("--tls", str(theirs)), ()):
            status = run("cluster", "status", address, *options)
            assert status.returncode == 1
            assert status.stderr.count("\n") == 1
            stranger = Process("worker", address, "--threads", "1", *options)
            try:
                assert stranger.process.wait(TIMEOUT) == 1
                assert "has joined" not in stranger.told
            finally:
                stranger.close()
        # Nor does it talk to a program that has other rules than ours for what it sends.
        with pytest.raises(BadInput, match='cluster "'):
            connect(address.replace("tls://", "tcp://"), "")
        host, _, port = address.removeprefix("tls://").rpartition(":")
        context = ssl.create_default_context(cafile=str(ours / "ca.pem"))
        context.check_hostname = False
        assert not answers(host, int(port), context)
        context.load_cert_chain(theirs / "cert.pem", theirs / "key.pem")
        assert not answers(host, int(port), context)
        context.load_cert_chain(ours / "cert.pem", ours / "key.pem")
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        assert answers(host, int(port), context)
    finally:
        cluster.close()


def answers(host: str, port: int, context: ssl.SSLContext) -> bool:
    """Whether a scheduler says anything: it begins each conversation by naming its protocol."""
    with socket.create_connection((host, port), timeout=TIMEOUT) as plain:
        try:
            with context.wrap_socket(plain) as sealed:
                return bool(sealed.recv(1))
        except (ssl.SSLError, ConnectionError):
            return False
