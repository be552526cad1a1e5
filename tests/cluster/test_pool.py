"""The owner's loop beside a cluster that is made up: what it gives out before it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from desdaemon.cluster.identity import resource_of
from desdaemon.cluster.pool import ClusterSearches, Line
from desdaemon.cluster.window import CHECK_EVERY, Search, WorkerAnswer

OWN = "0123456789ab-ba9876543210"
SLOTS = 200


class IdleClient:
    """A client of a scheduler with one worker, which takes all that it is given."""

    status = "running"
    loop = SimpleNamespace()

    def __init__(self) -> None:
        self.given = 0
        self.last_seen = 0.0
        self.scheduler = SimpleNamespace(identity=self.identity)

    def identity(self, n_workers: int) -> dict[str, Any]:
        worker = {"name": "one", "nthreads": SLOTS, "resources": {resource_of(OWN): SLOTS}, "last_seen": self.last_seen}
        return {"workers": {"tcp://there": worker}}

    def sync(self, call: Callable[..., dict[str, Any]], **arguments: int) -> dict[str, Any]:
        return call(**arguments)


def not_here(search: Search) -> WorkerAnswer | None:
    raise AssertionError(search)


def test_a_worker_that_says_nothing_is_named_each_time_it_begins_to(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("desdaemon.cluster.pool.time.monotonic", lambda: now)
    client = IdleClient()
    notes: list[str] = []
    cluster = ClusterSearches(client, OWN, not_here, hash_bits=18, note=notes.append)  # type: ignore[arg-type]
    for seconds, heard, named in ((0, 1, 0), (9, 1, 0), (11, 1, 1), (30, 1, 1), (31, 2, 1), (40, 2, 1), (42, 2, 2)):
        now, client.last_seen = 100.0 + seconds, heard
        cluster._look()
        assert len(notes) == named, seconds
    assert "worker one has been silent for 10 s: after 30 to 60 s" in notes[0]


class LyingClient(IdleClient):
    """A client whose worker answers everything at once with the same wrong score."""

    def __init__(self) -> None:
        super().__init__()
        self.last_seen = 1.0

    loop = SimpleNamespace(add_callback=lambda call, *arguments: asyncio.run(call(*arguments)))

    def submit(self, function: object, job: str, bits: int, searches: tuple[Search, ...], **_: object) -> Any:
        found = "one", [WorkerAnswer((19, 64), 1.0)] * len(searches)
        future = SimpleNamespace(found=found, release=lambda: None)
        future.add_done_callback = lambda done: done(future)
        return future

    async def gather(self, future: Any, *, asynchronous: bool) -> Any:
        return future.found


def test_a_worker_alone_that_lies_is_found_by_the_owner() -> None:
    notes: list[str] = []
    asked: list[Search] = []

    def here(search: Search) -> WorkerAnswer:
        asked.append(search)
        return WorkerAnswer((19, 2), 1.0)

    def line(search: Search) -> Line[object]:
        answer = yield search
        return answer and answer.found

    cluster = ClusterSearches(LyingClient(), OWN, here, hash_bits=18, note=notes.append)  # type: ignore[arg-type]
    searches = [Search(1 << 27, 1 << 28, 1)] * CHECK_EVERY
    assert list(cluster.follow(map(line, searches))) == [(19, 64)] * CHECK_EVERY
    assert any(note.startswith("cluster: worker one answered (19, 64)") for note in notes)
    assert len(asked) == 2
