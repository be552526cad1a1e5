"""How a daemon ends, and that there is only one."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from raw_zmtp import RawPeer, request
from served import ENDLESS, PATIENCE_S, REAL, ROOT, Peer, Served
from waits import until


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path)
    yield served
    served.end()


def load(peer: Peer) -> list[object]:
    """A search without end, and a book job."""
    peer.final("book.new", {"level": 8, "depth": 30})
    peer.final("book.save", {"file": "kept.book"})
    analysis = peer.request("analyze", ENDLESS)
    job = peer.request("book.learn", {"depth": 30, "per-move": 20, "cumulative": 40, "leaf": 20, "level": 8})
    until(lambda: peer.final("status")["running"] >= 1)
    return [analysis, job]


@pytest.mark.needs("book.growth")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_everybody_is_told(lone: Served, how: signal.Signals) -> None:
    with Peer(lone.ipc) as peer:
        wanted = set(load(peer))
        lone.process.send_signal(how)
        assert lone.process.wait(PATIENCE_S) == 0
        while wanted:
            reply = peer.reply()
            if reply["id"] in wanted and reply["type"] != "partial":
                assert reply["error"]["code"] in ("cancelled", "shutting_down")
                wanted.remove(reply["id"])
    assert not (lone.runtime / "connection.json").exists()
    lone.start()
    with Peer(lone.ipc) as peer:
        peer.final("book.load", {"file": "kept.book"})
        assert peer.final("book.verify")["changed"] == 0


def test_whoever_asks_in_the_same_breath_gets_an_answer(lone: Served) -> None:
    last = 601
    with RawPeer(lone.ipc).greet() as peer:
        legal = b"".join(request(number, "legal", moves="f5") for number in range(1, last - 1))
        # In one piece: all requests have come when it reads the first one.
        peer.send(request(0, "shutdown") + legal + request(last - 1, "book.get") + request(last, "analyze", **ENDLESS))
        ends = {reply["id"]: reply.get("error", {}).get("code") for reply in (peer.reply() for _ in range(last + 1))}
    assert set(ends) == set(range(last + 1))
    assert [ends[at] for at in (0, 1, last - 1, last)] == [None, None, "shutting_down", "shutting_down"]
    assert lone.process.wait(PATIENCE_S) == 0


@pytest.mark.needs("book.growth")
@pytest.mark.posix
def test_two_interrupts_end_it_at_once(lone: Served) -> None:
    with Peer(lone.ipc) as peer:
        load(peer)
        lone.process.send_signal(signal.SIGINT)
        lone.process.send_signal(signal.SIGINT)
        lone.process.wait(PATIENCE_S)
    lone.start()
    with Peer(lone.ipc) as peer:
        peer.final("book.load", {"file": "kept.book"})
        assert peer.final("book.verify")["changed"] == 0


@pytest.mark.parametrize("arguments", ["", "--ipc {ipc}"])
def test_a_second_daemon_says_who_holds_the_endpoint(lone: Served, arguments: str) -> None:
    elsewhere = {**lone.environment, "DESDAEMON_RUNTIME_DIR": f"{lone.runtime}2"}
    second = subprocess.run(
        [*REAL, "serve", "-l", "1", *arguments.format(ipc=lone.ipc).split()],
        cwd=ROOT,
        env=elsewhere if arguments else lone.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
    )
    assert second.returncode != 0
    assert str(lone.process.pid) in second.stderr
    assert second.stdout == ""
    with Peer(lone.ipc) as peer:
        assert peer.final("ping") == {}


def test_what_a_killed_daemon_left_behind_hinders_nobody(lone: Served) -> None:
    lone.kill()
    assert (lone.runtime / "connection.json").exists()
    lone.start()
    with Peer(lone.ipc) as peer:
        assert peer.final("ping") == {}


def test_a_first_start_can_be_ended_while_the_book_is_compiled(tmp_path: Path) -> None:
    served = Served(tmp_path, "-book-file", "builtin", DESDAEMON_CACHE_DIR=str(tmp_path / "cache"))
    until(lambda: "compiling the book" in served.log.read_text())
    assert served.end() == 0
    assert {line.split()[1] for line in served.log.read_text().splitlines()} == {"info"}


@pytest.mark.posix
def test_only_its_user_can_reach_it(lone: Served) -> None:
    assert lone.runtime.stat().st_mode & 0o777 == 0o700
    assert (lone.runtime / "connection.json").stat().st_mode & 0o777 == 0o600
