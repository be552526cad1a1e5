"""A served daemon whose disk is full or cannot be written: it says so, reads on, and writes again once it can."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checkout import IMPORT
from served import Peer, line_of, serving
from test_book_unwritable import fill, mounted
from waits import until

LINE = "f5d6c3d3c4f4c5b3c2b4a3"
READING: list[tuple[str, dict[str, Any]]] = [
    ("book.get", {"moves": "f5", "children": True}),
    ("book.show", {}),
    ("book.info", {}),
    ("book.stats", {}),
    ("book.lines", {}),
    ("book.grade", {}),
    ("book.verify", {}),
    ("book.problem", {}),
    ("book.analyze", {"moves": "f5d6"}),
    ("book.diff", {"file": "kept.book"}),
    ("analyze", {"moves": "f5f6e6", "level": 3}),
    ("jobs", {}),
    ("status", {}),
    ("metrics", {}),
]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system, which holds the data folder."""
    folder = tmp_path / "data"
    mounted(folder, "1m")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


def grown(peer: Peer) -> None:
    peer.final("book.new", {"level": 1, "depth": 20})
    peer.final("book.store", {"moves": LINE[:8]})
    peer.final("book.save", {"file": "kept.book"})
    peer.final("book.save", {"file": "a.book"})
    peer.final("book.load", {"file": "a.book"})


def unwritten(peer: Peer) -> None:
    """Store games until one finds no room."""
    for seed in range(100):
        reply = peer.ask("book.store", {"moves": line_of(seed, 12)})
        if reply["type"] == "error":
            assert reply["error"]["code"] == "internal", reply
            return
    raise AssertionError


def metric(peer: Peer, name: str) -> float:
    text = peer.final("metrics")["text"]
    return float(next(line.split()[1] for line in text.splitlines() if line.startswith(f"desdaemon_{name} ")))


def all_can_be_read(peer: Peer) -> None:
    for op, args in READING:
        reply = peer.ask(op, args)
        assert reply["type"] == "final", (op, reply)


@pytest.mark.needs("book.reports")
def test_a_server_writes_again_after_a_full_disk(tmp_path: Path, disk: Path) -> None:
    with serving(tmp_path) as served, Peer(served.ipc) as peer:
        grown(peer)
        status = peer.final("status")
        assert (status["book"]["state"], status["book"]["writable"], status["problems"]) == ("open", True, [])
        filler = fill(disk)
        unwritten(peer)
        status = peer.final("status")
        assert not status["book"]["writable"]
        assert status["book"]["dirty"]
        assert "No space left" in status["book"]["reason"]
        assert str(disk) not in status["book"]["reason"]
        assert status["problems"] == [f"book: {status['book']['reason']}"]
        assert (metric(peer, "problems"), metric(peer, "book_writable")) == (1, 0)
        all_can_be_read(peer)
        filler.unlink()
        peer.final("book.store", {"moves": LINE})
        status = peer.final("status")
        assert (status["book"]["writable"], status["book"]["reason"], status["problems"]) == (True, "", [])
        assert (metric(peer, "problems"), metric(peer, "book_writable")) == (0, 1)
        positions = status["book"]["positions"]
        served.kill()
        served.start()
        with Peer(served.ipc) as again:
            again.final("book.load", {"file": "a.book"})
            assert again.final("status")["book"]["positions"] == positions
            assert again.final("book.verify")["clean"]


def test_of_two_servers_the_second_one_reads_until_it_is_told_to_reopen(tmp_path: Path) -> None:
    with serving(tmp_path / "one") as first, Peer(first.ipc) as writer:
        grown(writer)
        book = str(first.data / "a.book")
        with serving(tmp_path / "two", "-book-file", book) as second, Peer(second.ipc) as reader:
            until(lambda: reader.final("status")["book"]["state"] == "open")
            found = reader.final("status")
            assert (found["book"]["writable"], found["book"]["holder"]) == (False, first.process.pid)
            assert f"process {first.process.pid} writes it" in found["book"]["reason"]
            assert found["problems"]
            before = found["book"]["positions"]
            writer.final("book.store", {"moves": LINE})
            assert reader.refused("book.store", {"moves": "f5f6"}) == "bad_request"
            assert reader.final("status")["book"]["positions"] == before
            reader.final("book.reopen")
            assert reader.final("status")["book"]["positions"] == writer.final("status")["book"]["positions"] > before
            assert not reader.final("status")["book"]["writable"]
            writer.close()
            first.end()
            reader.final("book.reopen")
            assert reader.final("status")["book"]["writable"]
            reader.final("book.store", {"moves": "f5f6"})


SLOWLY = """
import sys, time
from pathlib import Path
from desdaemon.book.formats import registry
from desdaemon.cli.main import program

def slowly(path, of=registry.format_by_content):
    while not path.with_name("go").exists():
        time.sleep(0.01)
    return of(path)

registry.format_by_content = slowly
program()
"""
"""A daemon that opens a book once a file beside it says so."""


def test_status_answers_while_the_book_is_opened(tmp_path: Path) -> None:
    book = tmp_path / "slow.book"
    book.write_bytes(b"no book at all")
    held = (sys.executable, "-c", IMPORT + SLOWLY)
    with serving(tmp_path, "-book-file", str(book), program=held) as served, Peer(served.ipc) as peer:
        status = peer.final("status")
        assert status["book"]["state"] == "opening"
        assert (status["book"]["path"], status["book"]["writable"]) == ("slow.book", False)
        assert set(status["book"]["opening"]) == {"phase", "done", "total"}
        waiting = peer.request("book.get", {"moves": "f5"})
        assert peer.final("ping") == {}
        book.with_name("go").touch()
        assert peer.replies(waiting)[-1]["data"] == {"found": False}
        until(lambda: peer.final("status")["book"]["state"] == "failed")
        status = peer.final("status")
        assert "slow.book" in status["book"]["reason"]
        assert len(status["problems"]) == 1
