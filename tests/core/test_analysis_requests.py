"""`analyze`: what a cancel leaves, searching until told to stop, budgets, and what the book may answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fake_engine import ENDLESS_DEPTH
from operated import Operated, keep_turns
from waits import until

from desdaemon.core.books.service import Books, BookView
from desdaemon.core.requests.analysis import FoundLines
from desdaemon.core.requests.request import ClientRecord
from desdaemon.engine.result import Line
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity

TELLING = {"depth": ENDLESS_DEPTH + 1, "book": "ignore"}
"""A search that finds something at once and does not end."""

SILENT = {"depth": ENDLESS_DEPTH, "book": "ignore"}


@pytest.fixture
def daemon(tmp_path: Path) -> Operated:
    return Operated(tmp_path)


def begun(daemon: Operated) -> None:
    until(lambda: daemon.searchers and daemon.searchers[0].begun.is_set())


# --- cancel.data


def test_a_cancelled_analysis_carries_what_was_found(daemon: Operated) -> None:
    asked = daemon.request("analyze", {**TELLING, "moves": "f5"})
    begun(daemon)
    daemon.final("cancel", {"target": asked})
    reply = daemon.ends(asked)[-1]
    assert reply["error"]["code"] == "cancelled"
    assert reply["data"]["finished"] is False
    assert [(move["move"], move["depth"]) for move in reply["data"]["moves"]] == [("f4", 2)]
    assert reply["data"]["board"] == daemon.final("legal", {"moves": "f5"})["board"]


def test_a_cancel_before_anything_was_found_carries_nothing(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_turns(monkeypatch)
    running = daemon.request("analyze", SILENT)
    waiting = daemon.request("analyze", {**SILENT, "moves": "f5"})
    begun(daemon)
    for asked in (waiting, running):
        daemon.final("cancel", {"target": asked, "keep": True})
        reply = daemon.ends(asked)[-1]
        assert (reply["type"], reply["error"]["code"]) == ("error", "cancelled")
        assert "data" not in reply


def test_a_cancelled_game_tells_its_known_plies(tmp_path: Path) -> None:
    daemon = Operated(tmp_path, slots=2)
    known = {"moves": "f5d6c3", "plies": [3], "depth": 60, "nodes": 5}
    daemon.final("analyze", known)
    asked = daemon.request("analyze", {"moves": "f5d6c3", "plies": [0, 1, 3], **TELLING})
    until(lambda: len(daemon.searchers) == 2 and all(found.begun.is_set() for found in daemon.searchers))
    daemon.final("cancel", {"all": True})
    data = daemon.ends(asked)[-1]["data"]
    assert data["finished"] is False
    assert {answer["ply"] for answer in data["plies"]} >= {0, 1}
    assert all(answer["finished"] is False for answer in data["plies"] if answer["ply"] < 3)
    assert data["nodes"] == sum(answer["nodes"] for answer in data["plies"])


def test_the_end_of_the_daemon_tells_what_was_found(daemon: Operated) -> None:
    asked = daemon.request("analyze", TELLING)
    begun(daemon)
    operations = daemon.services.operations
    for request in list(daemon.client.requests.values()):
        operations.end(request, code="shutting_down")
    reply = daemon.ends(asked)[-1]
    assert (reply["error"]["code"], reply["data"]["finished"]) == ("shutting_down", False)
    until(lambda: daemon.services.scheduler.running == 0)


# --- analyze.until


def test_a_search_until_cancelled_is_kept(daemon: Operated) -> None:
    asked = daemon.request("analyze", {"until": "cancelled", "moves": "f5"})
    begun(daemon)
    assert daemon.searchers[0].calls[0][2] == (59, 100, 0, 0)
    assert daemon.final("cancel", {"target": asked, "keep": True}) == {"cancelled": True}
    reply = daemon.ends(asked)[-1]
    assert (reply["type"], reply["data"]["finished"], reply["data"]["moves"][0]["move"]) == ("final", False, "f4")
    until(lambda: daemon.services.scheduler.running == 0)


def test_a_search_until_cancelled_ends_when_all_is_solved(daemon: Operated) -> None:
    over = "X" * 63 + "- O"
    assert daemon.final("analyze", {"board": over, "until": "cancelled"})["over"]
    near = "X" * 60 + "OO-- X"
    data = daemon.final("analyze", {"board": near, "until": "cancelled"})
    assert "finished" not in data


@pytest.mark.parametrize(
    "more", [{"level": 3}, {"depth": 3}, {"nodes": 9}, {"time_ms": 9}, {"game_nodes": 9}, {"plies": [0]}]
)
def test_a_search_until_cancelled_takes_no_other_limit(daemon: Operated, more: dict[str, Any]) -> None:
    reply = daemon.ask("analyze", {"until": "cancelled", **more})
    assert (reply["error"]["code"], reply["error"]["field"]) == ("bad_request", next(iter(more)))
    assert daemon.code("analyze", {"until": "doomsday"}) == "bad_request"


# --- analyze.game_nodes


def test_a_budget_is_shared_by_the_plies(daemon: Operated) -> None:
    asked = {"moves": "f5d6c3d3", "plies": [0, 1, 2, 3, 4], "game_nodes": 100_000, "book": "ignore"}
    daemon.final("analyze", asked)
    limits = [call[2].nodes for call in daemon.searchers[0].calls]
    # Each search of the engine that pretends visits 12,345 nodes, and leaves what it does not need to the others.
    assert limits == [100_000 // 5, 87_655 // 4, 75_310 // 3, 62_965 // 2, 50_620]


def test_a_budget_goes_together_with_a_limit_of_each_ply(daemon: Operated) -> None:
    asked = {"moves": "f5d6", "plies": [0, 1, 2], "depth": 9, "game_nodes": 90_000, "nodes": 1000, "book": "ignore"}
    daemon.final("analyze", asked)
    assert [call[2][::2] for call in daemon.searchers[0].calls] == [(9, 1000)] * 3


# --- the book


def grown(daemon: Operated, level: int = 6) -> None:
    """A book of one line, whose scores are of that level."""
    daemon.final("book.new", {"discard": True, "level": level, "depth": 4})
    daemon.final("book.store", {"moves": "f5d6"})


def test_a_book_of_the_level_asked_for_answers_alone(daemon: Operated) -> None:
    grown(daemon)
    for limits in ({"level": 6}, {"level": 3}, {"depth": 5}, {"time_ms": 50}, {"nodes": 50}, {}):
        replies = daemon.ends(daemon.request("analyze", {"moves": "f5", **limits}))
        assert [reply["type"] for reply in replies] == ["final"], limits
        best = replies[0]["data"]["moves"][0]
        assert (best["source"], best["level"]) == ("book", 6)


def test_a_lower_book_is_the_first_partial_and_the_search_goes_on(daemon: Operated) -> None:
    grown(daemon)
    for limits in ({"level": 10}, {"depth": 30}, {"depth": 5, "selectivity": 100, "multipv": 3, "level": None}):
        first, *_, last = daemon.ends(daemon.request("analyze", {"moves": "f5", **limits, "book": "use"}))
        if "multipv" in limits:
            # There the book is good enough, but does not know as many moves.
            assert {move["source"] for move in last["data"]["moves"]} == {"book", "search"}
            continue
        assert (first["type"], first["data"]["done"]) == ("partial", False)
        assert {(move["source"], move["level"]) for move in first["data"]["moves"]} == {("book", 6)}
        assert last["type"] == "final"
        assert {move["source"] for move in last["data"]["moves"]} == {"search"}
        assert all("level" not in move for move in last["data"]["moves"])


def test_the_book_of_a_game_is_told_by_ply(daemon: Operated) -> None:
    grown(daemon)
    replies = daemon.ends(daemon.request("analyze", {"moves": "f5d6", "plies": [0, 1, 2], "level": 9}))
    first = [reply["data"] for reply in replies if reply["type"] == "partial" and not reply["data"]["done"]]
    assert {data["ply"] for data in first} == {0, 1, 2}
    assert {data["moves"][0]["source"] for data in replies[-1]["data"]["plies"]} == {"search"}


def test_the_book_answers_until_the_search_has_found_something(daemon: Operated) -> None:
    grown(daemon)
    asked = daemon.request("analyze", {**SILENT, "moves": "f5", "book": "use"})
    begun(daemon)
    daemon.final("cancel", {"target": asked, "keep": True})
    reply = daemon.ends(asked)[-1]
    assert (reply["type"], reply["data"]["moves"][0]["source"]) == ("final", "book")


def test_the_book_can_be_ignored_or_asked_alone(daemon: Operated) -> None:
    grown(daemon)
    ignored = daemon.final("analyze", {"moves": "f5", "level": 3, "book": "ignore"})
    assert {move["source"] for move in ignored["moves"]} == {"search"}
    only = daemon.ends(daemon.request("analyze", {"moves": "f5", "level": 30, "book": "only"}))
    assert [reply["type"] for reply in only] == ["final"]
    assert {move["source"] for move in only[0]["data"]["moves"]} == {"book"}


def test_the_leaf_of_a_new_book_stands_for_its_mirror_images(daemon: Operated) -> None:
    """All first moves are one: none of them is searched, and none has another score."""
    daemon.final("book.new", {"discard": True, "level": 6, "depth": 4})
    replies = daemon.ends(daemon.request("analyze", {"multipv": 4, "level": 6}))
    assert [reply["type"] for reply in replies] == ["final"]
    moves = replies[0]["data"]["moves"]
    assert sorted(move["move"] for move in moves) == ["c4", "d3", "e6", "f5"]
    assert {move["source"] for move in moves} == {"book"}
    assert len({move["score"] for move in moves}) == 1
    for move in moves:
        assert move["depth"] == 6
        assert daemon.final("analyze", {"moves": move["pv"]})["board"]
    first, *_, last = daemon.ends(daemon.request("analyze", {"multipv": 4, "level": 10}))
    assert first["data"]["moves"] == moves
    assert {move["source"] for move in last["data"]["moves"]} == {"search"}
    only = daemon.final("analyze", {"allow": [next(move["move"] for move in reversed(moves))], "level": 6})
    assert only["moves"] == moves[-1:]


def test_bounds_hold_the_score_while_a_job_changes_the_book(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    """The position after a move is read after the move's score: its bounds may have moved on."""
    grown(daemon)
    look_up = Books.look_up

    def changed(books: Books, player: int, opponent: int) -> BookView | None:
        view = look_up(books, player, opponent)
        return view and view._replace(lower=MoverScore(view.lower + 20), upper=MoverScore(view.upper + 20))

    monkeypatch.setattr(Books, "look_up", changed)
    moves = daemon.final("analyze", {"moves": "f5", "book": "only", "multipv": 9})["moves"]
    assert "d6" in [move["move"] for move in moves]
    assert all(move["lower"] <= move["score"] <= move["upper"] for move in moves)


def test_a_search_does_not_outrank_the_best_move_of_a_book_that_suffices(daemon: Operated) -> None:
    daemon.final("book.new", {"discard": True, "level": 6, "depth": 4})
    daemon.final("book.store", {"moves": "f5d6c3"})
    daemon.final("book.edit", {"moves": "f5", "move": "f6", "score": -60})
    daemon.final("book.edit", {"moves": "f5", "move": "d6", "score": -50})
    (best,) = daemon.final("analyze", {"moves": "f5", "level": 3})["moves"]
    moves = daemon.final("analyze", {"moves": "f5", "level": 3, "multipv": 3})["moves"]
    assert moves[0] == best


# --- book.get.children


def test_the_book_tells_of_every_move(daemon: Operated) -> None:
    grown(daemon)
    data = daemon.final("book.get", {"moves": "f5", "children": True})
    links = {link["move"]: link["score"] for link in data["links"]}
    children = {child["move"]: child for child in data["children"]}
    for move, score in links.items():
        assert children[move]["score"] == score
        after = daemon.final("book.get", {"moves": f"f5{move}"})
        named = {name: children[move][name] for name in ("grade", "lines", "level", "wins", "draws", "losses")}
        assert named == {
            **{name: after[name] for name in ("grade", "lines", "level", "draws")},
            "wins": after["losses"],
            "losses": after["wins"],
        }
    leaf = data["leaf"]
    assert leaf is not None
    assert (children[leaf["move"]]["score"], children[leaf["move"]]["level"]) == (leaf["score"], leaf["level"])
    assert set(children) == {*links, leaf["move"]}
    scores = [child["score"] for child in data["children"]]
    assert scores == sorted(scores, reverse=True)
    assert "children" not in daemon.final("book.get", {"moves": "f5"})
    assert daemon.final("book.get", {"moves": "f5d6c3d3", "children": True}) == {"found": False}


# --- the rest


def test_a_cleared_cache_answers_nothing(tmp_path: Path) -> None:
    daemon = Operated(tmp_path)
    cache = daemon.services.cache
    daemon.final("analyze", {"depth": 4})
    cache.save(str(tmp_path / "kept"))
    assert "cached" in daemon.final("analyze", {"depth": 4})
    assert daemon.code("cache.clear", client=ClientRecord("e", "editor")) == "forbidden"
    assert daemon.final("cache.clear") == {"forgotten": 1}
    assert not (tmp_path / "kept").exists()
    assert "cached" not in daemon.final("analyze", {"depth": 4})
    assert daemon.final("cache.clear") == {"forgotten": 1}


def test_only_dialogues_have_the_operation_that_needs_their_search(daemon: Operated) -> None:
    assert "book.feed-hash" not in daemon.final("hello")["ops"]
    assert daemon.code("book.feed-hash") == "unknown_op"


# --- partials


def line(move: int, depth: int, score: int = 0) -> Line:
    found = MoverScore(score)
    return Line(move, found, found, found, depth, Selectivity.FULL, (move,), 0, 0.0, 50)


def test_no_move_is_lost_while_moves_change_their_rank() -> None:
    """All moves were asked for: whatever comes first in an iteration, none of them is left out of what is known."""
    known = FoundLines(3)
    for rank, move in enumerate((19, 26, 37)):
        assert not known.complete
        known.add(rank, line(move, 2))
    for depth, order in ((3, (37, 19, 26)), (4, (26, 37, 19)), (5, (19, 26, 37))):
        for rank, move in enumerate(order):
            known.add(rank, line(move, depth))
            assert known.complete
            assert {found.move: found.depth for found in known.known()} == {
                **dict.fromkeys(order, depth - 1),
                **dict.fromkeys(order[: rank + 1], depth),
            }


def test_a_stop_tells_the_moves_of_the_last_iteration() -> None:
    known = FoundLines(2)
    for rank, move in enumerate((19, 26)):
        known.add(rank, line(move, 2))
    known.add(0, line(44, 3))
    assert [(found.move, found.depth) for found in known.known()] == [(44, 3), (19, 2)]
    known.add(1, line(37, 3))
    assert [(found.move, found.depth) for found in known.known()] == [(44, 3), (37, 3)]


def test_partials_tell_all_moves_that_were_asked_for(daemon: Operated) -> None:
    found = daemon.ends(daemon.request("analyze", {"depth": 5, "multipv": 64, "partial_ms": 10, "moves": "f5"}))
    assert len(found) >= 2
    assert {len(reply["data"]["moves"]) for reply in found} == {3}
