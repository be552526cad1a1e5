"""`analyze` by several threads, and answers that do not depend on any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from operated import Operated
from waits import until

from desdaemon.core.requests.analysis import Budget
from desdaemon.core.search.loader import EngineConfig, LoadedEngine, build_engine
from desdaemon.engine.limits import level_limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.wire.positions import read_line

MOVES = "f5d6c3d3c4f4f6f3e6e7d7g6"
NEXT = [MOVES[:at] for at in range(4, len(MOVES), 2)]


@pytest.fixture
def daemon(tmp_path: Path) -> Operated:
    return Operated(tmp_path, slots=3)


class Searching(Operated):
    """With the real engine."""

    def _build(self, config: EngineConfig) -> LoadedEngine:
        return build_engine(config._replace(hash_bits=16))


@pytest.fixture
def searching(tmp_path: Path) -> Searching:
    return Searching(tmp_path, slots=3)


def test_only_a_single_position_may_be_joined(daemon: Operated) -> None:
    def welcomed(**more: Any) -> list[bool]:
        """Of the searches of a request, whether other threads may join them."""
        before = sum(len(searcher.calls) for searcher in daemon.searchers)
        daemon.final("analyze", {"moves": MOVES, "depth": 12, "nodes": 10**6 + before, "book": "ignore", **more})
        calls = [call for searcher in daemon.searchers for call in searcher.calls if call[2].nodes == 10**6 + before]
        return [call[3]["welcome"] is not None for call in calls]

    # The searches that pretend have no team, which is what joins.
    assert welcomed() == [False]
    for searcher in daemon.searchers:
        searcher.team = object()  # type: ignore[attr-defined]
    daemon.services.cache.clear()
    assert welcomed() == [True]
    for more in ({"threads": 1}, {"deterministic": True}, {"plies": [3]}):
        daemon.services.cache.clear()
        assert welcomed(**more) == [False], more


def test_wrong_arguments_are_refused(daemon: Operated) -> None:
    assert daemon.code("analyze", {"threads": -1}) == "bad_request"
    assert daemon.code("analyze", {"deterministic": 1}) == "bad_request"
    assert "analyze.threads" in daemon.final("hello")["features"]


def test_deterministic_answers_begin_with_an_empty_table_and_are_not_from_the_cache(tmp_path: Path) -> None:
    daemon = Operated(tmp_path)
    asked = {"moves": "f5", "depth": 5, "book": "ignore"}
    daemon.final("analyze", asked)
    assert daemon.final("analyze", asked)["cached"]

    def cleared() -> int:
        """How often tables were emptied, those of all search threads together."""
        return sum(searcher.cleared for searcher in daemon.searchers)

    assert cleared() == 0
    for number in (1, 2):
        data = daemon.final("analyze", {**asked, "deterministic": True})
        assert data["deterministic"]
        assert not {"cached", "threads"} & set(data)
        assert cleared() == number
    game = daemon.final("analyze", {"moves": "f5d6", "plies": [0, 1], "depth": 5, "deterministic": True})
    assert [answer["deterministic"] for answer in game["plies"]] == [True, True]
    assert cleared() == 4


def test_the_daemons_option_holds_where_a_request_does_not_say(daemon: Operated) -> None:
    daemon.services.operations.analyses.deterministic = True
    asked = {"moves": "f5", "depth": 5, "book": "ignore"}
    assert daemon.final("analyze", asked)["deterministic"]
    assert "deterministic" not in daemon.final("analyze", {**asked, "deterministic": False})


def test_a_deterministic_budget_is_shared_equally() -> None:
    budget = Budget(100, 3, deterministic=True)
    budget.settle(budget.take(), 5, goes_on=False)
    assert [budget.take(), budget.take()] == [33, 33]
    assert Budget(1, 3, deterministic=True).take() == 1


@pytest.mark.compiled
def test_idle_threads_join_and_are_told(searching: Searching) -> None:
    asked = {"moves": MOVES, "level": 20, "book": "ignore"}
    data = searching.final("analyze", {**asked, "threads": 2})
    assert data["threads"] == 2
    assert searching.final("analyze", {**asked, "moves": MOVES[:-2]})["threads"] == 3
    assert "threads" not in searching.final("analyze", {**asked, "moves": MOVES[:-4], "threads": 1})
    until(lambda: not searching.services.scheduler._schedule.running)


@pytest.mark.compiled
def test_idle_threads_make_room_for_others(searching: Searching) -> None:
    endless = searching.request("analyze", {"moves": MOVES[:4], "until": "cancelled", "book": "ignore"})
    schedule = searching.services.scheduler._schedule
    until(lambda: len(schedule.running) == 3)
    for number, moves in enumerate(NEXT):
        searching.final("analyze", {"moves": moves, "level": 10 + number, "book": "ignore"})
    until(lambda: len(schedule.running) == 3)
    searching.final("cancel", {"target": endless, "keep": True})
    assert searching.ends(endless)[-1]["data"]["nodes"] > 0
    until(lambda: not schedule.running)


@pytest.mark.compiled
def test_deterministic_answers_are_those_of_one_thread_with_an_empty_table(searching: Searching) -> None:
    """Whatever the daemon has searched before, or searches beside it."""
    level = 14
    endless = [
        searching.request("analyze", {"moves": moves, "until": "cancelled", "book": "ignore"}) for moves in NEXT[:2]
    ]
    for moves in NEXT[2:]:
        searching.final("analyze", {"moves": moves, "level": level, "book": "ignore"})
        data = searching.final(
            "analyze", {"moves": moves, "level": level, "book": "ignore", "multipv": 2, "deterministic": True}
        )
        position = read_line({"moves": moves}).last
        alone = Searcher(hash_bits=16).search(
            position.player, position.opponent, level_limits(level, position.empties), multipv=2
        )
        assert data["nodes"] == alone.nodes
        assert [move["score"] for move in data["moves"]] == [line.score for line in alone.lines]
    for asked in endless:
        searching.final("cancel", {"target": asked})
