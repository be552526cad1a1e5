"""The operations, without any socket and with an engine that pretends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_engine import ENDLESS_DEPTH
from operated import Operated, keep_turns
from waits import until

from desdaemon.core.requests.request import ClientRecord, ServerLimits
from desdaemon.core.search import schedule
from desdaemon.dialogue import text_sessions
from desdaemon.dialogue.text_sessions import checked_line
from desdaemon.protocol.commands.text import COMMANDS, PROTOCOLS, read_line
from desdaemon.protocol.system.logs import Log
from desdaemon.protocol.wire.messages import RequestError

GAMEFILES = pytest.mark.needs("clients.gamefiles")
COUNTING = pytest.mark.needs("engine.counting")

ENDLESS = {"depth": ENDLESS_DEPTH}
OVER = "X" * 63 + "- O"
PASSING = "OX" + "-" * 62 + " X"


@pytest.fixture
def daemon(tmp_path: Path) -> Operated:
    return Operated(tmp_path)


def test_an_analysis_tells_its_findings(daemon: Operated) -> None:
    data = daemon.final("analyze", {"moves": "f5", "depth": 6, "multipv": 2})
    assert data["board"] == "---------------------------OX------XXX-------------------------- O"
    assert [move["move"] for move in data["moves"]] == ["f4", "d6"]
    assert data["moves"][0] == {
        "move": "f4",
        "score": 10,
        "lower": 10,
        "upper": 10,
        "depth": 6,
        "selectivity": 100,
        "exact": False,
        "source": "search",
        "pv": "f4",
        "nodes": 6000,
    }


def test_requests_are_logged_when_they_end(daemon: Operated, tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as stream:
        for level in ("info", "debug"):
            daemon.services.health.log = Log(level, "json", stream.fileno())
            daemon.final("ping")
            daemon.final("text", {"line": "undo"})
            asked = daemon.request("analyze", ENDLESS)
            daemon.final("cancel", {"target": asked})
            assert daemon.code("legal", {"moves": "a1"}) == "illegal_move"
        # A line is written after the reply, perhaps by another thread.
        until(lambda: path.read_bytes().count(b"\n") == 5)
    lines = sorted((json.loads(line) for line in path.read_text().splitlines()), key=lambda line: line["id"])
    assert [(line["op"], line.get("error")) for line in lines] == [
        ("ping", None),
        ("text", None),
        ("analyze", "cancelled"),
        ("cancel", None),
        ("legal", "illegal_move"),
    ]
    assert lines[2]["id"] == asked
    for line in lines:
        assert line["level"] == "debug"
        assert line["event"] == "request"
        assert line["client"] == "tester"
        assert line["ms"] >= 0


def test_limits_reach_the_engine_as_asked(daemon: Operated) -> None:
    daemon.final("analyze", {"depth": 7, "selectivity": 87, "nodes": 5, "time_ms": 9, "multipv": 3, "avoid": ["d3"]})
    daemon.final("analyze", {"level": 2, "moves": "f5"})
    daemon.final("analyze", {"time_ms": 5, "moves": "f5d6"})
    (_, _, first, options), (_, _, second, _), (_, _, third, _) = daemon.searchers[0].calls
    assert first == (7, 87, 5, 9)
    assert (options["multipv"], options["allow"] >> 19 & 1) == (3, 0)
    assert second == (2, 100, 0, 0)
    assert third == (58, 100, 0, 5)


def test_the_same_question_is_answered_from_what_was_found(daemon: Operated) -> None:
    first = daemon.final("analyze", {"moves": "f5", "depth": 8})
    again = daemon.final("analyze", {"moves": "e6", "depth": 6})
    assert again["cached"]
    assert (again["moves"][0]["score"], again["nodes"]) == (first["moves"][0]["score"], 0)
    assert again["moves"][0]["move"] in daemon.final("legal", {"moves": "e6"})["moves"]
    assert again["canonical"] == first["canonical"]
    assert "cached" not in daemon.final("analyze", {"moves": "f5", "depth": 9})
    assert "cached" not in daemon.final("analyze", {"moves": "f5", "depth": 8, "multipv": 3})


def test_finished_games_and_passes_are_answered(daemon: Operated) -> None:
    data = daemon.final("analyze", {"board": OVER})
    assert (data["moves"], data["over"], data["score"]) == ([], True, -64)
    assert daemon.final("legal", {"board": OVER})["over"]
    assert daemon.final("legal", {"board": PASSING})["moves"] == ["pa"]
    assert daemon.final("analyze", {"board": PASSING, "depth": 1})["moves"][0]["move"] == "pa"


def test_a_cancelled_request_ends_with_what_was_found(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_turns(monkeypatch)
    running = daemon.request("analyze", ENDLESS)
    waiting = daemon.request("analyze", {"depth": 3, "moves": "f5"})
    until(lambda: daemon.services.scheduler.running == 1)
    assert daemon.final("cancel", {"target": waiting}) == {"cancelled": True}
    assert daemon.ends(waiting)[-1]["error"]["code"] == "cancelled"
    assert daemon.final("cancel", {"target": running}) == {"cancelled": True}
    assert daemon.ends(running)[-1]["error"]["code"] == "cancelled"
    assert daemon.final("cancel", {"target": running}) == {"cancelled": False}
    until(lambda: daemon.services.scheduler.running == 0)
    assert daemon.client.requests == {}
    assert daemon.code("cancel", {"target": 1, "job": 1}) == "bad_request"


def test_a_higher_priority_goes_first(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_turns(monkeypatch)
    endless = daemon.request("analyze", ENDLESS)
    until(lambda: daemon.services.scheduler.running == 1)
    asked = [daemon.request("analyze", {"moves": "f5", "depth": 3 + rank, "priority": rank}) for rank in (0, 5, -1)]
    daemon.final("cancel", {"target": endless})
    for number in asked:
        daemon.ends(number)
    over = [reply["id"] for reply in daemon.replies if reply["id"] in asked and reply["type"] == "final"]
    assert over == [asked[1], asked[0], asked[2]]


def test_without_a_book_nothing_is_found(daemon: Operated) -> None:
    assert daemon.final("book.get", {"moves": "f5"}) == {"found": False}
    assert daemon.code("book.store", {"moves": "f5"}) == "not_found"
    assert daemon.final("status")["book"]["positions"] == 0


def test_the_server_tells_its_numbers_for_monitoring(daemon: Operated) -> None:
    daemon.final("ping")
    daemon.final("analyze", {"depth": 2})
    daemon.code("nonsense")
    text = daemon.final("metrics")["text"]
    assert text.endswith("# EOF\n")
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert lines['desdaemon_requests_total{op="ping"}'] == "1"
    assert lines['desdaemon_errors_total{code="unknown_op"}'] == "1"
    assert lines["desdaemon_nodes_total"] == "12345"
    assert (
        lines['desdaemon_request_handling_seconds_bucket{le="+Inf"}']
        == lines["desdaemon_request_handling_seconds_count"]
    )


# --- text


def test_quitting_by_text_ends_the_clients_board_alone(daemon: Operated) -> None:
    daemon.final("text", {"line": "play f5"})
    daemon.final("text", {"line": "quit"})
    assert daemon.final("text", {"line": "moves"})["out"] == "D3 C4 F5 E6\n"
    assert not daemon.ended.is_set()


def test_a_line_sends_what_it_prints_while_it_runs(daemon: Operated) -> None:
    daemon.final("text", {"line": f"depth {ENDLESS_DEPTH}"})
    daemon.final("text", {"line": "verbose 2"})
    number = daemon.request("text", {"line": "hint", "partials": True})
    until(lambda: any(reply["id"] == number for reply in daemon.replies))
    daemon.request("text", {"line": "stop"})
    *partials, final = daemon.ends(number)
    printed = ""
    for partial in partials:
        assert partial["data"]["at"] == len(printed)
        printed += partial["data"]["out"]
    assert "depth|score" in printed
    assert printed == final["data"]["out"]
    assert len(daemon.ends(daemon.request("text", {"line": "moves"}))) == 1


@pytest.mark.needs("book.growth")
def test_a_line_sends_the_progress_of_its_job(
    daemon: Operated, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("desdaemon.protocol.system.terminal.watched", lambda: True)
    daemon.final("book.new", {"discard": True, "level": 1, "depth": 30})
    live = daemon.request("text", {"line": "book deviate 4 8", "partials": True})
    until(lambda: any(reply["id"] == live for reply in daemon.replies))
    daemon.final("text", {"line": "stop"})
    *partials, final = daemon.ends(live)
    assert "Book deviate..." in partials[0]["data"]["progress"]
    assert "stopped" in final["data"]["out"]
    plain = daemon.request("text", {"line": "book deviate 4 8"})
    until(lambda: not daemon.services.books.jobs.listed()[-1].over)
    daemon.final("text", {"line": "stop"})
    assert [reply["type"] for reply in daemon.ends(plain)] == ["final"]
    assert capsys.readouterr().err == "", "the daemon's own terminal"


def test_a_text_search_ends_by_stop_or_cancel(daemon: Operated) -> None:
    daemon.final("text", {"line": f"depth {ENDLESS_DEPTH}"})
    number = daemon.request("text", {"line": "hint"})
    until(lambda: daemon.searchers and daemon.searchers[0].begun.is_set())
    stop = daemon.request("text", {"line": "stop"})
    assert daemon.ends(number)[-1]["data"]["out"]
    daemon.ends(stop)
    daemon.searchers[0].begun.clear()
    number = daemon.request("text", {"line": "hint"})
    until(daemon.searchers[0].begun.is_set)
    daemon.final("cancel", {"target": number})
    assert daemon.ends(number)[-1]["error"]["code"] == "cancelled"
    until(lambda: daemon.services.scheduler.running == 0)


def test_the_engines_games_with_itself_end_by_a_cancel_or_with_a_full_page(
    daemon: Operated, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.final("text", {"line": "level 0"})
    daemon.final("text", {"line": "repeat 1000000000"})
    number = daemon.request("text", {"line": "mode 2"})
    until(lambda: daemon.searchers and len(daemon.searchers[0].calls) > 100)
    daemon.final("cancel", {"target": number})
    daemon.final("text", {"line": "stop"})
    monkeypatch.setattr(text_sessions, "LARGEST_ANSWER", 5000)
    data = daemon.final("text", {"line": "mode 2"})
    assert 5000 < len(data["out"]) < 6000
    assert "plays no further" in data["err"]


def test_each_command_needs_its_role() -> None:
    switches = {protocol.command for protocol in PROTOCOLS}
    at_home = {command.name for command in COMMANDS if command.role is None and command not in switches}
    assert at_home <= {"base", "script-to-obf", "select-hard"}
    admins = {command.name for command in COMMANDS if command.role == "admin"}
    theirs = {"solve", "wtest", "perft", "count", "estimate", "mobility", "bench"}
    assert {"load", "save", "seek"} <= admins <= {"load", "save", "seek", *theirs}
    for command in COMMANDS:
        if command.parameters.startswith("file") or command.parameters.endswith("file"):
            assert command.role is None or (command.files and command.role == "admin"), command


@pytest.mark.parametrize(
    "line",
    [
        "save x",
        "load x",
        "LOAD x",
        "load=x",
        pytest.param("solve x", marks=GAMEFILES),
        "book load x",
        "b save x",
        "book store",
        "auto-store on",
        "set auto-store=on",
        "eval-file x",
        "-eval-file x",
        "set eval-file = x",
        "book-file x",
        pytest.param("base check x", marks=GAMEFILES),
        pytest.param("perft 3", marks=COUNTING),
        pytest.param("count positions 3", marks=COUNTING),
    ],
)
def test_commands_above_a_readers_role_are_forbidden(line: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError) as caught:
        checked_line(read_line(line), "reader", str(tmp_path))
    assert caught.value.code == "forbidden"


def test_an_admins_files_are_read_and_written_there(
    daemon: Operated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    daemon.final("text", {"line": "play f5d6"})
    assert daemon.final("text", {"line": "save game.txt"}) == {"out": "", "err": ""}
    assert (tmp_path / "game.txt").exists()
    daemon.final("text", {"line": "init"})
    daemon.final("text", {"line": "load game.txt"})
    assert "C3" in daemon.final("text", {"line": "moves"})["out"]
    complaint = daemon.final("text", {"line": "load nowhere.txt"})["err"]
    assert str(tmp_path) not in complaint
    assert "nowhere.txt" in complaint
    assert daemon.code("text", {"line": "load ../x"}) == "forbidden"
    assert daemon.code("text", {"line": "load a\0b"}) == "bad_request"


# --- more clients than slots


def test_endless_searches_make_room_for_others_and_go_on(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "SLICE_S", 0.05)
    monkeypatch.setattr(schedule, "LONGEST_SLICE_S", 0.3)
    other = ClientRecord("other", "reader")
    analysis = daemon.request("analyze", ENDLESS)
    until(lambda: daemon.services.scheduler.running == 1)
    assert daemon.final("analyze", {"depth": 3, "moves": "f5"}, other)["moves"]
    daemon.final("text", {"line": f"depth {ENDLESS_DEPTH}"})
    hint = daemon.request("text", {"line": "hint"})
    assert daemon.final("text", {"line": "hint"}, other)["out"].count("\n") > 3
    assert daemon.final("analyze", {"depth": 3, "moves": "f5d6"}, other)["moves"]
    assert [reply for reply in daemon.replies if reply["id"] in (analysis, hint)] == []
    daemon.request("text", {"line": "stop"})
    assert daemon.ends(hint)[-1]["data"]["out"].count("\n") > 3
    daemon.final("cancel", {"target": analysis})
    until(lambda: daemon.services.scheduler.running == 0)


def test_what_a_search_has_spent_is_not_given_twice(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "SLICE_S", 0.05)
    daemon.final("text", {"line": f"depth {ENDLESS_DEPTH}"})
    hint = daemon.request("text", {"line": "hint"})
    until(lambda: daemon.services.scheduler.running == 1)
    daemon.final("text", {"line": "hint"}, ClientRecord("other", "reader"))
    daemon.request("text", {"line": "stop"})
    out = daemon.ends(hint)[-1]["data"]["out"]
    assert out.count("d3") == 1, out


def test_there_are_no_more_engines_than_slots(tmp_path: Path) -> None:
    daemon = Operated(tmp_path, slots=2)
    for number in range(60):
        daemon.request("analyze", {"depth": 3, "moves": "f5d6c3d3c4"[: 2 * (number % 6)], "multipv": 1 + number // 6})
        if not number % 10:
            client = ClientRecord(str(number), "reader")
            # One that takes two threads has an engine of its own, for which another makes room.
            daemon.request("text", {"line": "n-tasks 1"}, client)
            daemon.request("text", {"line": "hint"}, client)
    until(lambda: not daemon.client.requests)
    until(lambda: daemon.services.scheduler.running == 0)
    assert len(daemon.searchers) <= 2


@pytest.mark.needs("book.growth")
def test_a_job_goes_on_when_its_client_has_gone(daemon: Operated) -> None:
    daemon.final("book.new", {"discard": True, "level": 1, "depth": 30})
    by_text, by_op = ClientRecord("text", "editor"), ClientRecord("op", "editor")
    daemon.request("text", {"line": "book deviate 4 8"}, by_text)
    daemon.request("book.deviate", {"relative": 4, "absolute": 8}, by_op)
    until(lambda: len([job for job in daemon.services.books.jobs.listed() if not job.over]) == 2)
    for client in (by_text, by_op):
        daemon.services.operations.drop(client)
        daemon.services.texts.forget(client)
        assert not client.requests
    going = [job for job in daemon.services.books.jobs.listed() if not job.over]
    assert len(going) == 2
    assert not any(job.cancelled for job in going)
    for job in going:
        assert daemon.final("cancel", {"job": job.id}) == {"cancelled": True}
    for job in going:
        assert job.wait(20)


def test_a_book_command_behind_a_refused_line_dies_with_its_client(tmp_path: Path) -> None:
    daemon = Operated(tmp_path, limits=ServerLimits(in_flight=2))
    daemon.final("book.new", {"level": 1, "depth": 10})
    gone = ClientRecord("gone", "editor")
    for line in (f"depth {ENDLESS_DEPTH}", "book-usage off"):
        daemon.final("text", {"line": line}, gone)
    daemon.request("text", {"line": "hint"}, gone)
    other = daemon.request("analyze", ENDLESS, gone)
    assert daemon.code("text", {"line": "play f5d6c3"}, gone) == "busy"
    daemon.final("cancel", {"target": other}, gone)
    daemon.request("text", {"line": "book delete"}, gone)
    daemon.services.operations.drop(gone)
    daemon.services.texts.forget(gone)
    until(lambda: not daemon.services.scheduler.running)
    assert daemon.final("text", {"line": "book show"})["out"]
    assert daemon.final("book.get")["found"]


def test_the_folder_of_a_book_from_elsewhere_is_not_told(tmp_path: Path) -> None:
    daemon = Operated(tmp_path / "data")
    local = ClientRecord("stdio", "admin", remote=False)
    book = tmp_path / "elsewhere" / "a.book"
    book.parent.mkdir()
    daemon.final("book.new", {"discard": True, "level": 0, "depth": 2}, local)
    daemon.final("book.save", {"file": str(book)}, local)
    other = Operated(tmp_path / "data")
    other.final("book.load", {"discard": True, "file": str(book)}, local)
    status = other.final("status")
    assert status["book"]["path"] == "a.book"
    assert status["book"]["reason"]
    assert str(tmp_path) not in str(status)
