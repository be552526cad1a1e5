"""The features of the protocol over real sockets, with the real engine: endless analyses, budgets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from reply_checks import shape_faults
from served import Peer, Served, line_of, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("features")) as found:
        yield found


@pytest.fixture
def peer(served: Served) -> Iterator[Peer]:
    with Peer(served.ipc) as found:
        yield found


def test_a_search_until_cancelled_goes_deeper_and_deeper(peer: Peer) -> None:
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
