"""A daemon that is killed under load: what it had acknowledged is there, the book is whole, clients go on."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import pytest
import referee
from served import Peer, Served
from waits import until

from desdaemon.clients import Client, ConnectionLost, DaemonError

pytestmark = pytest.mark.needs("book.growth")

DEPTH = 20


def line_of(seed: int) -> str:
    return "".join(referee.name(move).lower() for move in referee.random_moves(seed, 8))


class Load:
    """Clients of a daemon that comes and goes: two analyse, one stores lines, one keeps a learn job running."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.stored: list[str] = []
        self.analysed = 0
        self.lost = 0
        self.problems: list[BaseException] = []
        self._ends = threading.Event()
        work = (self._analyse, self._analyse, self._store, self._learn)
        self._threads = [
            threading.Thread(target=self._run, args=(part, number), daemon=True) for number, part in enumerate(work)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, part: object, number: int) -> None:
        try:
            with Client.connect(self.endpoint, timeout_s=30, patience_s=120) as client:
                while not self._ends.is_set():
                    part(client, number)  # type: ignore[operator]
        except BaseException as problem:
            self.problems.append(problem)

    def _analyse(self, client: Client, number: int) -> None:
        seed = random.randrange(10**6)
        found = client.analyze(moves=line_of(seed), level=6, book="ignore").result(timeout_s=120)
        assert found.moves
        self.analysed += 1

    def _store(self, client: Client, number: int) -> None:
        line = line_of(random.randrange(10**6))
        try:
            client.book("store", moves=line).result(timeout_s=120)
        except ConnectionLost:
            self.lost += 1
        else:
            self.stored.append(line)

    def _learn(self, client: Client, number: int) -> None:
        job = client.book("learn", depth=DEPTH, per_move=4, cumulative=8, leaf=4, level=1, time=1)
        try:
            while not job.wait(0.3):
                if self._ends.is_set():
                    job.cancel()
                # The job takes the book's only turn from the lines that wait to be stored.
                job.cancel()
            job.result()
        except ConnectionLost:
            self.lost += 1
        except DaemonError as error:
            if error.code != "cancelled":
                raise

    def end(self) -> None:
        """Let every client finish what it does."""
        self._ends.set()
        for thread in self._threads:
            thread.join(120)
        assert not self.problems, self.problems


def kill_again_and_again(folder: Path, times: int) -> None:
    served = Served(folder, "--bind", "tcp://127.0.0.1:0", "-book-file", str(folder / "data" / "kill.book"))
    try:
        with Peer(served.ipc) as admin:
            admin.final("book.new", {"level": 1, "depth": DEPTH})
            admin.final("book.save", {"file": "kill.book"})
        load = Load(served.ipc)
        for _ in range(times):
            before, analysed = len(load.stored), load.analysed
            due = time.monotonic() + 240
            while len(load.stored) < before + 3 or load.analysed < analysed + 3:
                assert time.monotonic() < due, "the clients do not go on"
                assert not load.problems, load.problems
                time.sleep(0.01)
            time.sleep(random.random() / 4)
            acknowledged = list(load.stored)
            served.kill()
            served.start()
            with Peer(served.ipc) as admin:
                # The book is opened beside the sockets.
                until(lambda: admin.final("status")["book"]["positions"] > 0)
                missing = [line for line in acknowledged if not admin.final("book.get", {"moves": line})["found"]]
                assert missing == []
        load.end()
        # The learn job of the killed process goes on in this one until its budget is spent, and adds positions. It has
        # a file from its beginning to its end, also before this process has begun with it.
        until(lambda: not list((served.data / "jobs").glob("*.json")))
        with Peer(served.ipc) as admin:
            before = admin.final("status")["book"]["positions"]
            verified = admin.final("book.verify")
            assert verified["positions"] == before
            assert verified["changed"] == 0
            assert "text" not in verified or not any("wrong" in line for line in verified["text"])
        assert load.lost > 0
    finally:
        served.end()


def test_two_kills_lose_nothing_acknowledged(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, 2)


@pytest.mark.slow
def test_twenty_kills_lose_nothing_acknowledged(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, 20)
