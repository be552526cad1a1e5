"""`analyze.batch`: many positions as a job that survives restarts, kills and full disks."""

from __future__ import annotations

import errno
import os
import random
import stat
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import referee
from fake_engine import ENDLESS_DEPTH
from operated import Operated
from reply_checks import shape_faults
from waits import until

from desdaemon.batches import batches, items
from desdaemon.batches.files import SUFFIX, BatchFile
from desdaemon.core.requests.questions import Terms
from desdaemon.core.requests.request import ClientRecord, ServerLimits
from desdaemon.protocol.system import platform

QUICK = {"depth": 2, "book": "ignore"}


def lines(number: int) -> list[dict[str, Any]]:
    """Different positions."""
    return [
        {"id": f"p{seed}", "moves": "".join(referee.name(move).lower() for move in referee.random_moves(seed, 12))}
        for seed in range(number)
    ]


def fetched(daemon: Operated, job: int, limit: int = 1000) -> list[dict[str, Any]]:
    """All results, as a client fetches them until the batch is over."""
    found: list[dict[str, Any]] = []
    cursor = 0
    due = time.monotonic() + 60
    while True:
        page = daemon.final("batch.results", {"job": job, "after": cursor, "limit": limit})
        found += page["results"]
        assert page["cursor"] == cursor + len(page["results"])
        assert len(page["results"]) <= limit
        cursor = page["cursor"]
        if page["done"]:
            return found
        assert time.monotonic() < due
        time.sleep(0.01)


@pytest.fixture
def daemon(tmp_path: Path) -> Operated:
    return Operated(tmp_path, slots=2)


def test_every_item_is_answered_once(daemon: Operated) -> None:
    items = lines(40)
    asked = daemon.final("analyze.batch", {"items": items, **QUICK})
    assert asked["items"] == 40
    found = fetched(daemon, asked["job"], limit=7)
    assert sorted(result["item"] for result in found) == list(range(40))
    for result in found:
        item = items[result["item"]]
        assert result["id"] == item["id"]
        assert result["data"]["board"] == daemon.final("legal", {"moves": item["moves"]})["board"]
        assert result["data"]["moves"][0]["depth"] == 2
    assert fetched(daemon, asked["job"]) == found
    page = daemon.final("batch.results", {"job": asked["job"], "after": 10**9})
    assert (page["results"], page["cursor"], page["done"], page["state"]) == ([], 40, True, "done")


def test_replies_have_the_fields_of_the_tables(daemon: Operated) -> None:
    asked = daemon.final("analyze.batch", {"items": [{}, {"moves": "a1"}], "level": 3})
    assert shape_faults("batch", asked) == []
    until(lambda: daemon.final("batch.results", {"job": asked["job"]})["done"])
    page = daemon.final("batch.results", {"job": asked["job"]})
    assert shape_faults("batch_page", page) == []
    assert {"data", "error"} <= {name for result in page["results"] for name in result}
    assert shape_faults("jobs", daemon.final("jobs")) == []
    status = daemon.final("status")
    assert shape_faults("status", status) == []
    assert status["batches"] == {"kept": 1, "unfinished": 0}
    assert "\ndesdaemon_batches_kept 1\n" in daemon.final("metrics")["text"]
    assert shape_faults("forgotten", daemon.final("batch.forget", {"job": asked["job"]})) == []


def test_positions_are_read_beside_the_loop(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def noted(*arguments: Any) -> Terms:
        threads.append(threading.get_ident())
        return Terms(*arguments)

    monkeypatch.setattr(items, "Terms", noted)
    daemon.final("analyze.batch", {"items": lines(100), "depth": 2})
    assert threads
    assert threading.get_ident() not in threads


def test_bad_items_and_items_without_an_id_are_told(daemon: Operated) -> None:
    items = [{}, {"moves": "a1"}, {"board": "nonsense"}, {"id": 2**63, "moves": "f5"}, {"surplus": 1, "id": None}]
    job = daemon.final("analyze.batch", {"items": items})["job"]
    found = {result["item"]: result for result in fetched(daemon, job)}
    assert [found[number]["id"] for number in range(5)] == [0, 1, 2, 2**63, 4]
    assert found[1]["error"]["code"] == "illegal_move"
    assert found[2]["error"]["code"] == "bad_position"
    assert "data" in found[0]
    assert "data" in found[3]


@pytest.mark.parametrize(
    "args",
    [
        {"items": []},
        {"items": "f5"},
        {"items": [1]},
        {"items": [{"moves": 3}]},
        {"items": [{"id": {}}]},
        {"items": [{}], "level": 3, "depth": 3},
        {"items": [{}], "selectivity": 75},
        {"items": [{}], "allow": ["z9"]},
        {"items": [{}], "file": "x"},
        {},
    ],
)
def test_a_wrong_request_makes_no_batch(daemon: Operated, args: dict[str, Any]) -> None:
    assert daemon.code("analyze.batch", args) == "bad_request"
    assert daemon.final("jobs")["jobs"] == []


def test_arguments_of_single_requests_are_unknown(daemon: Operated) -> None:
    asked = daemon.ask("analyze.batch", {"items": [{}], "priority": 3, "partial_ms": 5, "until": "cancelled", **QUICK})
    assert len(asked["warnings"]) == 3


def test_plies_and_budgets_are_those_of_each_item(daemon: Operated) -> None:
    asked = {"items": [{"moves": "f5d6"}, {"moves": "f5f6"}], "plies": [0, 2], "game_nodes": 40_000}
    for result in fetched(daemon, daemon.final("analyze.batch", asked)["job"]):
        assert [answer["ply"] for answer in result["data"]["plies"]] == [0, 2]
    assert {call[2].nodes for searcher in daemon.searchers for call in searcher.calls} >= {20_000}


def test_a_batch_goes_after_everything_else(tmp_path: Path) -> None:
    daemon = Operated(tmp_path, slots=1)
    job = daemon.final("analyze.batch", {"items": lines(3), "depth": ENDLESS_DEPTH, "book": "ignore"})["job"]
    until(lambda: daemon.searchers and daemon.searchers[0].begun.is_set())
    assert daemon.final("analyze", {"moves": "f5", **QUICK})["moves"]
    daemon.final("cancel", {"job": job})


def test_a_cancelled_batch_keeps_what_was_found(daemon: Operated) -> None:
    items = [*lines(5), *({"id": f"x{number}"} for number in range(3))]
    asked = daemon.final("analyze.batch", {"items": items, "depth": ENDLESS_DEPTH, "book": "ignore"})
    job = asked["job"]
    until(lambda: daemon.services.scheduler.running == 2)
    assert daemon.final("cancel", {"job": job}) == {"cancelled": True}
    until(lambda: daemon.final("batch.results", {"job": job})["done"])
    page = daemon.final("batch.results", {"job": job})
    assert (page["state"], page["items"]) == ("cancelled", 8)
    assert daemon.final("cancel", {"job": job}) == {"cancelled": False}
    until(lambda: daemon.services.scheduler.running == 0)
    daemon.services.operations.parts["batches"].close()
    again = Operated(daemon.folder)
    assert again.final("batch.results", {"job": job})["state"] == "cancelled"


def test_a_forgotten_batch_is_gone(daemon: Operated) -> None:
    over = daemon.final("analyze.batch", {"items": lines(2), **QUICK})["job"]
    fetched(daemon, over)
    running = daemon.final("analyze.batch", {"items": lines(2), "depth": ENDLESS_DEPTH, "book": "ignore"})["job"]
    assert over != running
    assert [job["job"] for job in daemon.final("jobs")["jobs"]] == [over, running]
    for job in (over, running):
        assert daemon.final("batch.forget", {"job": job}) == {"forgotten": True}
        assert daemon.code("batch.results", {"job": job}) == "not_found"
        assert daemon.code("batch.forget", {"job": job}) == "not_found"
    assert daemon.final("jobs")["jobs"] == []
    assert not list((daemon.folder / "batches").glob(f"*{SUFFIX}"))
    until(lambda: daemon.services.scheduler.running == 0)


def test_a_batch_that_cannot_be_removed_goes_on(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **_options: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    job = daemon.final("analyze.batch", {"items": lines(2), "depth": ENDLESS_DEPTH, "book": "ignore"})["job"]
    until(lambda: daemon.services.scheduler.running == 2)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        assert daemon.code("batch.forget", {"job": job}) == "internal"
    assert daemon.services.scheduler.running == 2
    daemon.final("cancel", {"job": job})
    until(lambda: daemon.final("batch.results", {"job": job})["done"])
    assert daemon.final("batch.forget", {"job": job}) == {"forgotten": True}


# --- restarts


def test_a_batch_goes_on_after_a_restart(tmp_path: Path) -> None:
    first = Operated(tmp_path, slots=2)
    items = [*lines(20), {"id": "endless"}, *lines(5)]
    # The engine that pretends does not come to an end where it may use every ply.
    asked = {"items": items, "depth": ENDLESS_DEPTH, "nodes": 1, "book": "ignore"}
    job = first.final("analyze.batch", asked)["job"]
    until(lambda: first.final("batch.results", {"job": job})["answered"] > 3)
    before = first.final("batch.results", {"job": job})["results"]
    first.services.operations.parts["batches"].close()
    second = Operated(tmp_path, slots=2)
    second.services.operations.parts["batches"].start()
    until(lambda: second.final("jobs")["jobs"])
    assert second.final("jobs")["jobs"][0]["job"] == job
    found = fetched(second, job)
    assert found[: len(before)] == before
    assert sorted(result["item"] for result in found) == list(range(len(items)))
    later = second.final("analyze.batch", {"items": lines(1), **QUICK})["job"]
    assert later > job


def test_a_batch_keeps_the_level_that_was_set_when_it_was_sent(tmp_path: Path) -> None:
    first = Operated(tmp_path)
    job = first.final("analyze.batch", {"items": [{}]})["job"]
    first.services.operations.parts["batches"].close()
    file = BatchFile(tmp_path / "batches" / f"{job}{SUFFIX}")
    file.open()
    assert file.args == {"level": 4}
    file.close()


def test_a_second_daemon_leaves_the_batches_of_the_first(tmp_path: Path) -> None:
    first = Operated(tmp_path)
    job = first.final("analyze.batch", {"items": [{}], **QUICK})["job"]
    second = Operated(tmp_path)
    assert second.code("analyze.batch", {"items": [{}], **QUICK}) == "busy"
    assert second.final("status")["problems"] == ["another daemon keeps the batches of this data folder"]
    first.services.operations.parts["batches"].close()
    assert second.final("batch.results", {"job": job})["items"] == 1
    assert second.final("status")["problems"] == []


def test_a_folder_that_cannot_be_locked_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(platform, "lock_file", refuse)
    (tmp_path / "batches").mkdir()
    daemon = Operated(tmp_path)
    error = daemon.ask("analyze.batch", {"items": [{}], **QUICK})["error"]
    assert error["code"] == "internal"
    assert "the file system has no lock for it (No locks available)" in error["message"]
    assert daemon.final("status")["problems"] == [error["message"]]
    assert "mistakes" not in daemon.services.health.counters


def test_without_a_data_folder_there_are_no_batches(tmp_path: Path) -> None:
    daemon = Operated(tmp_path, data_folder="")
    assert "analyze.batch" not in daemon.final("hello")["ops"]
    assert daemon.code("analyze.batch", {"items": [{}]}) == "not_found"


@pytest.mark.parametrize("seed", range(20))
def test_a_file_cut_off_anywhere_goes_on_or_is_refused(tmp_path: Path, seed: int) -> None:
    items = [{"id": number} for number in range(5)]
    file = BatchFile.create(tmp_path, 7, "owner", 1.5, {"level": 3}, items)
    whole = file.size
    for number in range(5):
        file.append([{"item": number, "data": {"score": number}}], "done" if number == 4 else "")
    file.close()
    content = file.path.read_bytes()
    chosen = random.Random(seed)
    end = chosen.randrange(whole, len(content) + 1)
    torn = content[:end] + chosen.choice([b"", b"\0" * 30, b"00000000 {}\n"])
    file.path.write_bytes(torn)
    again = BatchFile(file.path)
    again.open()
    assert (again.job, again.owner, again.created, again.args, again.items) == (7, "owner", 1.5, {"level": 3}, 5)
    complete = content[whole:end].count(b"\n")
    assert again.results == min(5, complete)
    assert [again.result(place)["data"]["score"] for place in range(again.results)] == list(range(again.results))
    if not again.state:
        rest = [{"item": number, "data": {"score": number}} for number in range(again.results, 5)]
        again.append(rest, "done")
    again.close()
    last = BatchFile(file.path)
    last.open()
    assert (last.results, last.state, bytes(last.answered)) == (5, "done", b"\1" * 5)
    last.close()
    if seed == 0:
        assert file.path.read_bytes() == content


def test_a_file_damaged_before_its_results_is_refused(tmp_path: Path) -> None:
    file = BatchFile.create(tmp_path, 7, "owner", 1.5, {}, [{"id": number} for number in range(5)])
    file.close()
    content = bytearray(file.path.read_bytes())
    for at in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[at] ^= 1
        file.path.write_bytes(damaged)
        with pytest.raises(ValueError):
            BatchFile(file.path).open()


# --- full disks


@pytest.mark.posix
def test_a_full_disk_loses_nothing(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "RETRY_S", 0.05)
    write = os.write

    def refuse(descriptor: int, content: bytes) -> int:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return write(descriptor, content)
        write(descriptor, content[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    with daemon.busy():
        job = daemon.final("analyze.batch", {"items": lines(30), **QUICK})["job"]
        monkeypatch.setattr(os, "write", refuse)
    until(lambda: daemon.final("status")["problems"])
    assert daemon.final("status")["problems"] == ["batches cannot be written: No space left on device"]
    assert daemon.final("batch.results", {"job": job})["state"] == "running"
    monkeypatch.setattr(os, "write", write)
    found = fetched(daemon, job)
    assert sorted(result["item"] for result in found) == list(range(30))
    assert daemon.final("status")["problems"] == []


@pytest.mark.parametrize("failing", [0, 1, 4])
def test_an_item_that_cannot_be_read_is_asked_again(
    daemon: Operated, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """A batch with an answer missing must not call itself done."""
    monkeypatch.setattr(batches, "RETRY_S", 0.05)
    read, broken = BatchFile.item, [True]

    def item(self: BatchFile, number: int) -> Any:
        if number == failing and broken:
            raise OSError(errno.EIO, "Input/output error")
        return read(self, number)

    monkeypatch.setattr(BatchFile, "item", item)
    job = daemon.final("analyze.batch", {"items": lines(5), **QUICK})["job"]
    until(lambda: daemon.final("status")["problems"])
    assert daemon.final("status")["problems"] == ["batches cannot be read: Input/output error"]
    assert not daemon.final("batch.results", {"job": job})["done"]
    broken.clear()
    assert sorted(result["item"] for result in fetched(daemon, job)) == [0, 1, 2, 3, 4]
    assert daemon.final("status")["problems"] == []


def test_a_batch_that_finds_no_room_is_refused(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync = os.fsync

    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    reply = daemon.ask("analyze.batch", {"items": lines(3), **QUICK})
    assert (reply["error"]["code"], "No space" in reply["error"]["message"]) == ("internal", True)
    monkeypatch.setattr(os, "fsync", fsync)
    assert [path.name for path in (daemon.folder / "batches").iterdir()] == ["lock"]
    assert len(fetched(daemon, daemon.final("analyze.batch", {"items": lines(3), **QUICK})["job"])) == 3


# --- who, and how much


def test_batches_of_other_keys_are_not_shown(daemon: Operated) -> None:
    mine, other, editor = (
        ClientRecord("mine", "reader"),
        ClientRecord("other", "reader"),
        ClientRecord("editor", "editor"),
    )
    job = daemon.final("analyze.batch", {"items": lines(2), "depth": ENDLESS_DEPTH, "book": "ignore"}, mine)["job"]
    for op in ("batch.results", "batch.forget", "cancel"):
        assert daemon.code(op, {"job": job}, other) == "forbidden"
    again = ClientRecord("mine", "reader")
    assert daemon.final("batch.results", {"job": job}, again)["items"] == 2
    assert daemon.final("batch.results", {"job": job}, editor)["items"] == 2
    assert daemon.final("cancel", {"job": job}, again) == {"cancelled": True}
    assert daemon.final("batch.forget", {"job": job}, again) == {"forgotten": True}


def test_limits_are_those_of_each_key(tmp_path: Path) -> None:
    daemon = Operated(tmp_path, limits=ServerLimits(batches=2, batch_bytes=10_000))
    mine, other = ClientRecord("mine", "reader"), ClientRecord("other", "reader")
    for _ in range(2):
        daemon.final("analyze.batch", {"items": lines(1), **QUICK}, mine)
    assert daemon.code("analyze.batch", {"items": lines(1), **QUICK}, mine) == "busy"
    assert daemon.code("analyze.batch", {"items": lines(100), **QUICK}, other) == "busy"
    assert daemon.final("analyze.batch", {"items": lines(2), **QUICK}, other)["items"] == 2
    for _ in range(100):
        reply = daemon.ask("analyze.batch", {"items": lines(1), **QUICK})
        if reply["type"] == "error":
            break
    assert reply["error"]["code"] == "busy"


def test_batches_do_not_count_as_work_on_the_book(daemon: Operated) -> None:
    job = daemon.final("analyze.batch", {"items": lines(2), "depth": ENDLESS_DEPTH, "book": "ignore"})["job"]
    assert daemon.services.books.jobs.active == 0
    assert daemon.services.books.jobs.close(0.1)
    daemon.final("cancel", {"job": job})


def test_few_batches_wait_to_be_written(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    create = BatchFile.create

    def slow(*arguments: Any) -> BatchFile:
        assert go_on.wait(60)
        return create(*arguments)

    monkeypatch.setattr(BatchFile, "create", slow)
    asked = [daemon.request("analyze.batch", {"items": lines(1), **QUICK}) for _ in range(7)]
    assert [daemon.ends(number)[-1]["error"]["code"] for number in asked[4:]] == ["busy"] * 3
    daemon.final("cancel", {"target": asked[3]})
    go_on.set()
    assert [daemon.ends(number)[-1]["type"] for number in asked[:4]] == ["final"] * 3 + ["error"]
    assert daemon.final("analyze.batch", {"items": lines(1), **QUICK})["items"] == 1
