"""What one client must not do to the others, to the book or to the memory, whatever it asks for."""

from __future__ import annotations

import errno
import os
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import referee
from fake_engine import ENDLESS_DEPTH
from operated import Operated
from waits import until

from desdaemon.core.books.running import run_command
from desdaemon.core.books.service import Books, Caller
from desdaemon.core.paths import names_of_folders
from desdaemon.core.requests.request import ClientRecord, ServerLimits
from desdaemon.dialogue import text_sessions
from desdaemon.dialogue.dialects import text
from desdaemon.protocol.commands.book import BY_NAME

ENDLESS = {"depth": ENDLESS_DEPTH}


@pytest.fixture
def daemon(tmp_path: Path) -> Operated:
    return Operated(tmp_path)


def whole_game() -> str:
    return "".join(referee.name(move).lower() for move in referee.random_moves(7, 60))


def test_an_id_is_free_when_its_last_reply_arrives(daemon: Operated) -> None:
    free: list[bool] = []

    def reply(message: dict[str, Any]) -> None:
        free.append(((), message["id"]) not in daemon.client.requests)

    request = {"v": 1, "id": "again", "op": "analyze", "args": {"plies": [0], "depth": 2}}
    daemon.services.operations.handle(daemon.client, request, reply)
    daemon.ask("analyze", {"moves": "f5", "depth": 2})
    assert free[-1]


def test_a_reader_adds_nothing_to_the_book_by_playing(daemon: Operated) -> None:
    daemon.settings.auto_store = True
    daemon.final("book.new", {"discard": True, "level": 0, "depth": 10})
    reader, editor = ClientRecord("reader", "reader"), ClientRecord("editor", "editor")
    daemon.final("text", {"line": f"play {whole_game()}"}, reader)
    assert daemon.final("status")["book"]["positions"] == 1
    daemon.final("text", {"line": f"play {whole_game()}"}, editor)
    assert daemon.final("status")["book"]["positions"] > 1


def test_an_editor_who_became_a_reader_adds_nothing(daemon: Operated) -> None:
    daemon.final("book.new", {"discard": True, "level": 0, "depth": 10})
    client = ClientRecord("changing", "editor")
    daemon.final("text", {"line": "auto-store on"}, client)
    client.role = "reader"
    daemon.final("text", {"line": f"play {whole_game()}"}, client)
    assert daemon.final("status")["book"]["positions"] == 1


def test_how_a_client_plays_from_the_book_is_its_own_matter(daemon: Operated) -> None:
    reader, later = ClientRecord("reader", "reader"), ClientRecord("later", "reader")
    daemon.final("book.off", client=reader)
    daemon.final("book.randomness", {"discs": 9}, reader)
    for client, shown in ((reader, "off 9"), (later, "on 0")):
        for name, value in zip(("book-usage", "book-randomness"), shown.split(), strict=True):
            assert daemon.final("text", {"line": name}, client)["out"] == f"{name} = {value}\n"


def test_folders_of_the_daemon_are_not_told(tmp_path: Path) -> None:
    kept = tmp_path / "elsewhere" / "kept.book"
    kept.parent.mkdir()
    daemon = Operated(tmp_path / "data", book_file=str(kept))
    daemon.final("book.new", {"discard": True, "level": 0, "depth": 2})
    books: Books = daemon.services.books
    run_command(books, BY_NAME["save"], {"file": str(kept)}, Caller("the user", daemon.settings)).wait()
    reader = ClientRecord("reader", "reader")
    for op, args in (("text", {"line": "options"}), ("text", {"line": "book info"}), ("book.info", {})):
        said = str(daemon.final(op, args, reader))
        assert "kept.book" in said
        assert str(tmp_path) not in said


def test_names_of_folders_are_hidden() -> None:
    hidden = names_of_folders(str(Path("/data")), str(Path("/data/books")), "", os.sep)
    assert hidden.sub("", "/data/books/a: /data/b /etc/c".replace("/", os.sep)) == f"a: b {Path('/etc/c')}"


def test_the_threads_of_book_jobs_are_everybodys(daemon: Operated) -> None:
    daemon.final("text", {"line": "book-tasks 200"})
    assert daemon.final("text", {"line": "book-tasks"})["out"] == "book-tasks = 0\n"


def test_a_game_tells_the_progress_of_each_ply(tmp_path: Path) -> None:
    daemon = Operated(tmp_path, slots=2)
    asked = {"moves": "f5d6c3d3", "plies": [0, 1, 2, 3], "depth": 12, "partial_ms": 1, "book": "ignore"}
    *partials, final = daemon.ends(daemon.request("analyze", asked))
    assert [found["ply"] for found in final["data"]["plies"]] == [0, 1, 2, 3]
    told = [(partial["data"]["ply"], partial["data"]["done"]) for partial in partials]
    for ply in range(4):
        done = [last for told_ply, last in told if told_ply == ply]
        assert done == [False] * (len(done) - 1) + [True], told
    assert len({ply for ply, done in told if not done}) > 1, told


def test_everything_of_a_client_is_cancelled_at_once(daemon: Operated) -> None:
    daemon.final("text", {"line": f"depth {ENDLESS_DEPTH}"})
    mine = [daemon.request("analyze", ENDLESS) for _ in range(3)] + [daemon.request("text", {"line": "hint"})]
    other = daemon.request("analyze", {**ENDLESS, "priority": -1}, ClientRecord("other", "reader"))
    assert daemon.final("cancel", {"all": True}) == {"cancelled": True, "number": 4}
    assert {daemon.ends(number)[-1]["error"]["code"] for number in mine} == {"cancelled"}
    assert not [reply for reply in daemon.replies if reply["id"] == other]
    assert daemon.final("cancel", {"all": True}) == {"cancelled": False, "number": 0}
    for args in ({}, {"all": False}, {"all": True, "target": other}):
        assert daemon.code("cancel", args) == "bad_request"


@pytest.mark.needs("book.growth")
def test_an_argument_of_a_book_command_is_named(daemon: Operated) -> None:
    for op, args, field in (
        ("book.deviate", {"relative": "x"}, "relative"),
        ("book.learn", {"depth": 1, "per-move": 200}, "per-move"),
        ("book.edit", {"score": 1}, "move"),
        ("book.load", {"file": 5}, "file"),
    ):
        assert daemon.ask(op, args)["error"]["field"] == field


def test_a_key_in_the_wrong_place_gives_a_warning(daemon: Operated) -> None:
    warned = daemon.ask("legal", {"bord": ""}, moves="f5", **{"arg\n": 1})
    assert warned["warnings"] == [
        'unknown key "moves": arguments are in args',
        'unknown key "arg\\n": arguments are in args',
        'legal has no argument "bord"',
    ]


def test_jobs_of_clients_that_come_and_go_do_not_pile_up(tmp_path: Path) -> None:
    daemon = Operated(tmp_path, limits=ServerLimits(queue=5))
    go_on = threading.Event()
    jobs = daemon.services.books.jobs
    jobs.submit("first", lambda job: {"waited": go_on.wait()}, "first", writes=True)

    def is_active(number: int) -> bool:
        return jobs.active == number

    for number in range(8):
        client = ClientRecord(str(number), "editor")
        asked = daemon.request("book.fix", client=client)
        # A client that leaves before its command is looked at leaves no job.
        until(partial(is_active, min(number + 2, 5)))
        daemon.services.operations.drop(client)
        assert daemon.ends(asked)[-1]["error"]["code"] == ("cancelled" if number < 4 else "busy")
    go_on.set()


def test_a_line_that_needs_no_search_is_carried_out_though_all_threads_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_sessions, "MOST_THREADS", 2)
    daemon = Operated(tmp_path)
    slow = [ClientRecord(str(number), "reader") for number in range(3)]
    for client in slow:
        daemon.final("text", {"line": f"depth {ENDLESS_DEPTH}"}, client)
        daemon.request("text", {"line": "hint"}, client)
    assert daemon.final("text", {"line": "moves"})["out"]
    for client in slow:
        daemon.final("cancel", {"all": True}, client)


def test_a_full_disk_is_nobodys_bad_request(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon.final("book.new", {"discard": True, "level": 0, "depth": 4})

    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", refuse)
    reply = daemon.ask("book.save", {"file": "kept.book"})
    assert (reply["error"]["code"], "No space" in reply["error"]["message"]) == ("internal", True)
    assert daemon.final("book.get")["found"]


def test_only_a_few_lines_are_carried_out_at_a_time(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, running, most = threading.Lock(), 0, 0

    def slow(dialect: object, argument: str) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1

    monkeypatch.setattr(text, "find_handler", lambda name: slow)
    for name in ("moves", "seek"):
        most = 0
        clients = [ClientRecord(str(number), "admin") for number in range(20)]
        asked = [daemon.request("text", {"line": name}, client) for client in clients]
        assert all(daemon.ends(number)[-1]["type"] == "final" for number in asked)
        assert most <= {"moves": 4, "seek": 1}[name]


def test_whole_games_are_not_taken_beyond_the_queue(tmp_path: Path) -> None:
    daemon = Operated(tmp_path, limits=ServerLimits(queue=200, in_flight=100))
    asked = [daemon.request("analyze", {**ENDLESS, "plies": [0] * 30, "multipv": number + 1}) for number in range(20)]
    accepted = 3
    until(lambda: daemon.services.scheduler.queued + daemon.services.scheduler.running == 30 * accepted)
    refused = [reply["error"]["code"] for reply in daemon.replies if reply["id"] in asked and reply["type"] == "error"]
    assert set(refused) == {"busy"}
    assert len(asked) - len(refused) == accepted
    assert daemon.final("cancel", {"all": True})["number"] == accepted
    assert daemon.services.scheduler.queued == 0


def test_one_client_cannot_make_the_server_busy_for_others(tmp_path: Path) -> None:
    daemon = Operated(tmp_path, limits=ServerLimits(queue=400, key_queue=300, in_flight=100))
    game = {**ENDLESS, "plies": [0] * 20}

    def fill(client: ClientRecord) -> int:
        """Games that are let in before the first is refused."""
        taken = 0
        while True:
            asked = daemon.request("analyze", game, client)
            if any(reply["id"] == asked and reply["type"] == "error" for reply in daemon.replies):
                return taken
            taken += 1

    greedy = [ClientRecord(f"greedy/{number}", "admin") for number in range(4)]
    taken = [fill(client) for client in greedy]
    assert 20 * taken[0] <= 300 / 2 + 20
    assert taken == sorted(taken, reverse=True)
    modest, other = ClientRecord("greedy/modest", "admin"), ClientRecord("other/1", "admin")
    assert daemon.ends(daemon.request("analyze", {"depth": 0}, modest))[-1]["type"] == "final"
    assert daemon.ends(daemon.request("text", {"line": "play f5"}, modest))[-1]["type"] == "final"
    assert daemon.ends(daemon.request("book.new", {"level": 0, "depth": 4}, modest))[-1]["type"] == "final"
    assert daemon.ends(daemon.request("book.info", {}, other))[-1]["type"] == "final"
    assert fill(other) > 0
    for client in greedy:
        daemon.services.operations.drop(client)
    assert fill(ClientRecord("third/1", "admin")) == taken[0]


def test_an_admin_sees_what_each_key_has_had(tmp_path: Path) -> None:
    daemon = Operated(tmp_path)
    for key, number in (("laptop", 2), ("phone", 1)):
        for _ in range(number):
            asked = daemon.request("analyze", {"depth": 3, "book": "ignore"}, ClientRecord(f"{key}/7", "reader"))
            assert daemon.ends(asked)[-1]["type"] == "final"
    phone = ClientRecord("phone/8", "reader")
    daemon.request("analyze", ENDLESS, phone)
    accounts = {found["key"]: found for found in daemon.final("status")["accounts"]}
    assert {name: accounts[name]["requests"] for name in ("laptop", "phone")} == {"laptop": 2, "phone": 2}
    assert {name: accounts[name]["in_flight"] for name in ("laptop", "phone")} == {"laptop": 0, "phone": 1}
    assert accounts["laptop"]["nodes"] > 0
    until(lambda: daemon.services.scheduler.running)
    time.sleep(0.01)
    daemon.final("cancel", {"all": True}, phone)
    until(lambda: {found["key"]: found["seconds"] for found in daemon.final("status")["accounts"]}["phone"] > 0)
    hello = ClientRecord("laptop/9", "reader")
    assert "accounts" not in daemon.ends(daemon.request("status", client=hello))[-1]["data"]
