"""The features of the protocol over real sockets, with the real engine: endless analyses, budgets, batches."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reply_checks import shape_faults
from served import Peer, Served, line_of, serving
from waits import until


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("features")) as found:
        yield found


@pytest.fixture
def peer(served: Served) -> Iterator[Peer]:
    with Peer(served.ipc) as found:
        yield found


def test_deeper_and_deeper_until_a_cancel(peer: Peer) -> None:
    asked = peer.request("analyze", {"moves": line_of(1, 20), "until": "cancelled", "partial_ms": 10, "book": "ignore"})
    depths: list[int] = []
    while not depths or depths[-1] < 9:
        reply = peer.reply()
        assert (reply["id"], reply["type"]) == (asked, "partial")
        depths.append(reply["data"]["moves"][0]["depth"])
    assert depths == sorted(depths)
    cancel = peer.request("cancel", {"target": asked, "keep": True})
    replies = []
    while len(replies) < 2:
        reply = peer.reply()
        if reply["type"] != "partial":
            replies.append(reply)
    final, cancelled = replies
    assert (final["id"], final["type"], final["data"]["finished"]) == (asked, "final", False)
    assert final["data"]["moves"][0]["depth"] >= depths[-1]
    assert shape_faults("analysis", final["data"]) == []
    assert (cancelled["id"], cancelled["data"]) == (cancel, {"cancelled": True})


def test_a_budget_of_nodes_holds_for_the_whole_game(peer: Peer) -> None:
    for budget in (2_000, 60_000):
        asked = {"moves": line_of(4, 40), "plies": list(range(41)), "game_nodes": budget, "book": "ignore"}
        data = peer.final("analyze", asked)
        assert len(data["plies"]) == 41
        assert data["nodes"] <= 1.1 * budget + 41 * 64
        assert any(answer.get("stopped") for answer in data["plies"])
        assert all(answer["moves"] for answer in data["plies"])


def batch_results(peer: Peer, job: int, after: int = 0) -> dict[str, Any]:
    return peer.final("batch.results", {"job": job, "after": after})


def test_a_batch_answers_what_analyze_answers(peer: Peer) -> None:
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
