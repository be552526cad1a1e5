"""Batches over real sockets: their limits, and with the real engine what is kept when the daemon is killed."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from looped import Loop
from served import Peer, line_of, serving
from waits import until

from desdaemon.core.requests.request import ServerLimits


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Peer]:
    """A client of a loop of sockets whose engine pretends."""
    loop = Loop(tmp_path, ServerLimits(batches=2, batch_bytes=32 << 20))
    with Peer(loop.ipc) as found:
        yield found
    loop.close()
    assert loop.counters.get("mistakes", 0) == 0


def refused(peer: Peer, code: str, args: dict[str, Any]) -> dict[str, Any]:
    asked = peer.request("analyze.batch", args)
    reply = peer.reply()
    error: dict[str, Any] = reply.get("error", {})
    assert (reply["id"], error.get("code")) == (asked, code), reply
    return error


def test_the_longest_batch_is_answered_and_one_item_more_refused(peer: Peer) -> None:
    items = [{"id": "ж" * 8, "moves": "f5d6"}] * 20_000
    job = peer.final("analyze.batch", {"items": items, "depth": 1})["job"]
    assert peer.final("batch.results", {"job": job, "limit": 1000})["items"] == 20_000
    assert refused(peer, "bad_request", {"items": [*items, {}], "depth": 1})["field"] == "items"


def test_few_batches_of_a_key_are_kept(peer: Peer) -> None:
    for _ in range(2):
        peer.final("analyze.batch", {"items": [{}], "depth": 1})
    refused(peer, "busy", {"items": [{}], "depth": 1})


def test_bytes_of_batches_are_limited(peer: Peer) -> None:
    peer.final("analyze.batch", {"items": [{}], "depth": 1})
    refused(peer, "busy", {"items": [{}] * 20_000, "depth": 1, "multipv": 8})


def batch_results(peer: Peer, job: int, after: int = 0) -> dict[str, Any]:
    return peer.final("batch.results", {"job": job, "after": after})


def test_a_batch_answers_what_analyze_answers(tmp_path: Path) -> None:
    with serving(tmp_path) as served, Peer(served.ipc) as peer:
        answers_as_analyze(peer)


def answers_as_analyze(peer: Peer) -> None:
    items = [{"id": seed, "moves": line_of(seed, 30)} for seed in range(12)]
    job = peer.final("analyze.batch", {"items": items, "level": 3, "book": "ignore"})["job"]
    until(lambda: batch_results(peer, job)["done"])
    for result in batch_results(peer, job)["results"]:
        alone = peer.final("analyze", {"moves": line_of(result["id"], 30), "level": 3, "book": "ignore"})
        told = [(move["move"], move["score"], move["depth"]) for move in result["data"]["moves"]]
        assert told == [(move["move"], move["score"], move["depth"]) for move in alone["moves"]]
    assert peer.final("batch.forget", {"job": job}) == {"forgotten": True}


@pytest.mark.parametrize("kills", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_a_batch_survives_kills(tmp_path: Path, kills: int) -> None:
    """Nothing that was fetched changes or comes twice, and every item is answered, however often the daemon dies."""
    number, chosen = 20 * (kills + 1), random.Random(kills)
    items = [{"id": f"p{seed}", "moves": line_of(seed, 16)} for seed in range(number)]
    fetched: list[dict[str, Any]] = []
    with serving(tmp_path) as served:
        with Peer(served.ipc) as peer:
            job = peer.final("analyze.batch", {"items": items, "level": 6, "book": "ignore"})["job"]
        for kill in range(kills + 1):
            with Peer(served.ipc) as peer:
                before = len(fetched)
                due = time.monotonic() + 60
                while len(fetched) < min(number, before + 1) and time.monotonic() < due:
                    page = batch_results(peer, job, len(fetched))
                    assert page["items"] == number
                    fetched += page["results"]
                if kill == kills:
                    until(lambda peer=peer: batch_results(peer, job)["state"] == "done")  # type: ignore[misc]
                    fetched += batch_results(peer, job, len(fetched))["results"]
                    assert batch_results(peer, job)["results"] == fetched
                    assert batch_results(peer, job, number)["done"]
                    peer.final("batch.forget", {"job": job})
            if kill < kills:
                time.sleep(chosen.uniform(0, 0.3))
                served.kill()
                served.start()
        assert not list((served.data / "batches").glob("*.batch"))
    assert sorted(result["item"] for result in fetched) == list(range(number))
    assert all(result["id"] == f"p{result['item']}" and "data" in result for result in fetched)
