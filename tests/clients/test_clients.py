"""The client library against a daemon that pretends: replies, windows, cancelling, lost connections, keys."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
from pretended import PretendedDaemon, leave_connection_file
from waits import until

from desdaemon.clients import AsyncClient, Cancelled, Client, ConnectionLost, DaemonError, NoDaemon, TimedOut, connect
from desdaemon.clients.connection import DaemonAddress, equip
from desdaemon.clients.results import Analysed, AnalysedMove, BookPosition, JobProgress
from desdaemon.protocol.wire import codec

MOVE = {
    "move": "f5",
    "score": 2,
    "lower": 2,
    "upper": 2,
    "depth": 60,
    "selectivity": 100,
    "exact": True,
    "source": "search",
    "pv": "f5d6",
    "nodes": 9,
}
ANALYSED = {"board": "b X", "moves": [MOVE], "nodes": 9, "time_ms": 1.5, "canonical": "c X", "future": "ignored"}


@pytest.fixture
def endpoint(tmp_path: Path) -> str:
    return f"ipc://{tmp_path}/d"


@pytest.fixture
def daemon(endpoint: str) -> Iterator[PretendedDaemon]:
    pretended = PretendedDaemon(endpoint)
    yield pretended
    pretended.close()


@pytest.fixture
def client(daemon: PretendedDaemon, endpoint: str) -> Iterator[Client]:
    with Client.connect(endpoint) as found:
        yield found


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))


def test_results_are_typed_and_newer_fields_are_left_out(daemon: PretendedDaemon, client: Client) -> None:
    daemon.answers["analyze"] = lambda request: ANALYSED
    daemon.answers["book.get"] = lambda request: {
        "found": True,
        "level": 21,
        "links": [{"move": "d6", "score": -1}],
        "leaf": {"move": "f6", "score": -2, "level": 20},
        "score": -1,
    }
    daemon.answers["legal"] = lambda request: {"moves": ["f5"], "board": "b X", "over": False, "discs": [2, 2]}
    found = client.analyze(moves="f5d6", level=3, avoid=["c3"]).result()
    best = AnalysedMove("f5", 2, 2, 2, 60, 100, exact=True, source="search", pv="f5d6", nodes=9)
    assert found == Analysed("b X", (best,), 9, 1.5, "c X")
    assert found.best == found.moves[0]
    assert daemon.seen[-1]["args"] == {"moves": "f5d6", "level": 3, "avoid": ["c3"]}
    look = client.book_get("board")
    assert (look.found, look.links, look.leaf) == (True, (("d6", -1),), ("f6", -2, 20))
    assert client.legal().discs == (2, 2)
    assert client.hello.role == "admin"


def test_partials_come_before_the_final(daemon: PretendedDaemon, client: Client) -> None:
    job = client.book("recalculate_leaves", per_move=2)
    until(lambda: daemon.held)
    assert daemon.seen[-1]["op"] == "book.recalculate-leaves"
    assert daemon.seen[-1]["args"] == {"per-move": 2}
    for done in range(3):
        progress = {"job": 7, "phase": "leaves", "done": done, "total": 3, "eta_s": None, "positions": 5}
        daemon.reply(daemon.held[0], "partial", data=progress)
    daemon.reply(daemon.held[0], "final", data={"job": 7, "added": 2, "positions": 5, "more": 1}, warnings=["mind"])
    assert list(job) == [JobProgress(7, "leaves", done, 3, 5) for done in range(3)]
    result = job.result()
    assert (result.job, result.added, result.changed, result.positions, result.data["more"]) == (7, 2, 0, 5, 1)
    assert job.warnings == ["mind"]
    assert list(job) == []


def test_a_game_is_analysed_at_every_ply(daemon: PretendedDaemon, client: Client) -> None:
    daemon.answers["analyze"] = lambda request: {
        "plies": [{**ANALYSED, "ply": ply} for ply in request["args"]["plies"]]
    }
    found = client.analyze_game("f5 d6 c3", level=1).result()
    assert [position.ply for position in found] == [0, 1, 2, 3]
    assert [position.ply for position in client.analyze_game("f5d6", plies=[1]).result()] == [1]


def test_a_list_of_positions_is_one_request(daemon: PretendedDaemon, client: Client) -> None:
    daemon.answers["analyze"] = lambda request: {
        "results": [{**ANALYSED, "item": item} for item, _ in enumerate(request["args"]["positions"])],
        "nodes": 2,
        "time_ms": 1.0,
    }
    found = client.analyze_many(["f5", {"board": "x", "moves": "d6"}], level=1).result()
    assert [position.item for position in found] == [0, 1]
    assert daemon.seen[-1]["args"] == {"positions": [{"moves": "f5"}, {"board": "x", "moves": "d6"}], "level": 1}


def test_errors_are_exceptions_with_codes(daemon: PretendedDaemon, client: Client) -> None:
    for code in ("busy", "illegal_move", "something_new"):
        handle = client.start("analyze")
        until(lambda: daemon.held)
        daemon.refuse(daemon.held.pop(), code)
        with pytest.raises(DaemonError, match=f"{code}: as the test wants it .x.") as caught:
            handle.result()
        assert (caught.value.code, caught.value.field) == (code, "x")


def test_a_reply_that_makes_no_sense_is_an_error_not_a_wait(daemon: PretendedDaemon, client: Client) -> None:
    daemon.answers["legal"] = lambda request: {"moves": 3}
    with pytest.raises(DaemonError, match="cannot be understood"):
        client.legal()
    assert client.ping() >= 0


def test_warnings_that_make_no_sense_are_an_error_not_a_wait(daemon: PretendedDaemon, client: Client) -> None:
    handle = client.start("legal")
    until(lambda: bool(daemon.held))
    daemon.reply(daemon.held[0], "final", data={}, warnings=5)
    with pytest.raises(DaemonError, match="cannot be understood"):
        handle.result(10)


@pytest.mark.parametrize("limits", [{"in_flight": "8"}, {"in_flight": None}, 3, None])
def test_a_greeting_that_makes_no_sense_is_told(daemon: PretendedDaemon, endpoint: str, limits: object) -> None:
    daemon.answers["hello"] = lambda request: {**daemon.hello(request), "limits": limits}
    with pytest.raises(DaemonError, match="the reply to hello cannot be understood"):
        Client.connect(endpoint, timeout_s=10)


def test_events_that_make_no_sense_are_left_out(daemon: PretendedDaemon, endpoint: str) -> None:
    publisher = zmq.Context.instance().socket(zmq.PUB)
    publisher.linger = 0
    publisher.bind(f"{endpoint}-events")
    body = codec.encode({"job": 1})

    async def work() -> None:
        async with await AsyncClient.connect(endpoint) as client:
            events = client.events()
            heard = asyncio.ensure_future(anext(events))
            while not heard.done():
                for frames in ([b"book"], [b"\xff", body], [b"book", b"\xff"], [b"book", body]):
                    publisher.send_multipart(frames)
                await asyncio.sleep(0.05)
            assert await heard == ("book", {"job": 1})
            await events.aclose()

    try:
        run(work())
    finally:
        publisher.close()


def test_unsendable_arguments_are_refused_before_sending(client: Client) -> None:
    for args, code in (({"x": object()}, "bad_request"), ({"x": "y" * (1 << 20)}, "too_large")):
        with pytest.raises(DaemonError) as caught:
            client.request("legal", args)
        assert caught.value.code == code
    assert client.ping() >= 0


def test_an_error_about_the_client_as_a_whole_ends_what_is_in_flight(daemon: PretendedDaemon, client: Client) -> None:
    waiting = [client.analyze(), client.analyze()]
    until(lambda: len(daemon.held) == 2)
    nobody, request = daemon.held[0]
    daemon.refuse((nobody, {**request, "id": None}), "forbidden")
    for handle in waiting:
        with pytest.raises(DaemonError, match="forbidden"):
            handle.result()


@pytest.mark.posix
@pytest.mark.parametrize(
    "make",
    [
        lambda client: client.analyze(moves="f5", level=60),
        lambda client: client.start("analyze", {"moves": "f5"}),
        lambda client: client.book("fix"),
    ],
)
def test_an_interrupt_while_a_request_is_made_cancels_it(
    make: Callable[[Client], object], daemon: PretendedDaemon, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has its handle."""
    start = AsyncClient.start
    daemon.answers["cancel"] = lambda request: {"cancelled": True}

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(AsyncClient, "start", start)
        handle = start(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        return handle

    monkeypatch.setattr(AsyncClient, "start", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            make(client)
    finally:
        signal.signal(signal.SIGINT, before)
    until(lambda: daemon.held and "cancel" in daemon.operations())


def test_a_request_is_cancelled(daemon: PretendedDaemon, client: Client) -> None:
    def cancel(request: dict[str, Any]) -> dict[str, Any]:
        found = [asked for asked in daemon.held if asked[1]["id"] == request["args"]["target"]]
        for asked in found:
            daemon.held.remove(asked)
            daemon.refuse(asked, "cancelled")
        return {"cancelled": bool(found)}

    daemon.answers["cancel"] = cancel
    analysis = client.analyze(level=60)
    until(lambda: daemon.held)
    assert analysis.cancel()
    with pytest.raises(Cancelled):
        analysis.result()
    assert not analysis.cancel()
    with pytest.raises(TimedOut, match=r"no final reply to analyze within 0\.05 s"):
        client.analyze(level=60).result(timeout_s=0.05)
    until(lambda: not daemon.held and daemon.operations()[-1] == "cancel")


def test_no_more_is_in_flight_than_the_daemon_takes(daemon: PretendedDaemon, client: Client) -> None:
    daemon.answers["book.get"] = lambda request: {"found": len(request["args"]["moves"]) == 4}
    assert client.look_up(["f5d6", "f5"] * 500) == [BookPosition(True), BookPosition(False)] * 500
    assert daemon.most_open <= daemon.in_flight
    waiting = [client.analyze() for _ in range(20)]
    until(lambda: len(daemon.held) == daemon.in_flight - 2)
    assert client.ping() >= 0
    daemon.answers["status"] = lambda request: {"queued": 18}
    assert [client.status()["queued"] for _ in range(100)] == [18] * 100
    daemon.answers["cancel"] = lambda request: {"cancelled": True}
    assert waiting[-1].cancel()
    with pytest.raises(Cancelled):
        waiting[-1].result()


def test_after_a_restart_harmless_requests_go_on_and_others_say_so(endpoint: str) -> None:
    first = PretendedDaemon(endpoint)
    with Client.connect(endpoint) as client:
        asked = [client.analyze(level=2), client.analyze(level=3)]
        job = client.book("store")
        until(lambda: len(first.held) == 3)
        first.close()
        with pytest.raises(ConnectionLost, match=r"broke before the final reply to book\.store"):
            job.result()
        late = client.analyze(level=4)
        second = PretendedDaemon(endpoint)
        second.answers["analyze"] = lambda request: {**ANALYSED, "nodes": request["args"]["level"]}
        assert [handle.result().nodes for handle in [*asked, late]] == [2, 3, 4]
        assert second.operations() == ["analyze"] * 3
        assert client.connections == 2
        second.close()


def test_a_daemon_that_does_not_come_back_is_given_up(endpoint: str) -> None:
    daemon = PretendedDaemon(endpoint)
    with Client.connect(endpoint, patience_s=0.1) as client:
        analysis = client.analyze()
        until(lambda: daemon.held)
        daemon.close()
        with pytest.raises(ConnectionLost, match=r"away for 0\.1 s"):
            analysis.result()


def test_a_daemon_found_by_its_file_is_found_again_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESDAEMON_RUNTIME_DIR", str(tmp_path))
    first = PretendedDaemon(f"ipc://{tmp_path}/one")
    leave_connection_file(tmp_path, first.endpoint)
    with connect() as client:
        first.close()
        second = PretendedDaemon(f"ipc://{tmp_path}/two")
        leave_connection_file(tmp_path, second.endpoint)
        assert client.ping() >= 0
        assert second.operations() == ["ping"]
        second.close()


def test_a_missing_daemon_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESDAEMON_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(NoDaemon, match=r"connection\.json: .*desdaemon serve"):
        connect()
    with pytest.raises(NoDaemon, match="no answer within"):
        connect(f"ipc://{tmp_path}/nobody", timeout_s=0.05)
    for endpoint in ("nonsense", "tcp://127.0.0.1", "tcp://127.0.0.1:70000", "http://127.0.0.1:80", "\0", ""):
        with pytest.raises(NoDaemon, match=r"expected|desdaemon serve"):
            connect(endpoint)
    file = tmp_path / "connection.json"
    for content in ("", "[]", "{}", '{"pid": 1}', "[" * 9000):
        file.write_text(content)
        with pytest.raises(NoDaemon, match="expected"):
            connect()
    leave_connection_file(tmp_path, f"ipc://{tmp_path}/x")
    file.write_text(file.read_text().replace(str(os.getpid()), "999999999"))
    with pytest.raises(NoDaemon, match="is gone"):
        connect()


@pytest.mark.posix
def test_unusable_key_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "me.key"
    with pytest.raises(DaemonError, match="forbidden"):
        connect("tcp://127.0.0.1:1", key=file)
    for content in ("", "[]", 'public-key = "short"', "\0" * 500):
        file.write_text(content)
        with pytest.raises(DaemonError, match="not a key file"):
            connect("tcp://127.0.0.1:1", key=file)
    key = "a" * 40
    file.write_text("".join(f'{name}-key = "{key}"\n' for name in ("public", "secret", "server")))
    file.chmod(0o644)
    with pytest.raises(DaemonError, match="others can read"):
        connect("tcp://127.0.0.1:1", key=file)


def test_the_asyncio_client_does_what_the_blocking_one_does(daemon: PretendedDaemon, endpoint: str) -> None:
    async def work() -> None:
        async with await AsyncClient.connect(endpoint) as client:
            daemon.answers["analyze"] = lambda request: ANALYSED
            results = await asyncio.gather(*(client.analyze(level=level) for level in range(40)))
            assert {result.best.move for result in results if result.best} == {"f5"}
            del daemon.answers["analyze"]
            analysis = client.analyze(partial_ms=1)
            while not daemon.held:
                await asyncio.sleep(0.002)
            for _ in range(2):
                daemon.reply(daemon.held[0], "partial", data=ANALYSED)
            daemon.final(daemon.held.pop(), ANALYSED)
            assert [partial.nodes async for partial in analysis] == [9, 9]
            assert (await analysis).nodes == 9

    run(work())


def test_a_task_that_is_cancelled_cancels_its_request(daemon: PretendedDaemon, endpoint: str) -> None:
    async def work() -> None:
        async with await AsyncClient.connect(endpoint) as client:
            daemon.answers["cancel"] = lambda request: {"cancelled": True}
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.analyze().result(), 0.05)
            while "cancel" not in daemon.operations():
                await asyncio.sleep(0.002)

    run(work())


@pytest.mark.posix
def test_a_client_inherited_over_a_fork_says_so(daemon: PretendedDaemon, endpoint: str, client: Client) -> None:
    handle = client.start("held")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        # What comes of it is told over the pipe; an alarm ends a child that hangs.
        signal.alarm(30)
        told = []
        for use in (client.ping, client.legal, handle.result, lambda: next(client.events()), handle.cancel):
            try:
                use()
            except DaemonError as error:
                told.append(error.code)
            except BaseException as error:
                told.append(repr(error))
        client.close()
        os.write(writing, " ".join(told).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == " ".join(["forked"] * 5)
    assert os.waitpid(child, 0)[1] == 0
    assert client.ping() >= 0


def test_no_option_makes_libzmq_abort(endpoint: str) -> None:
    """Heartbeats that meet a full receive queue and a broken connection do (`stream_engine_base.cpp`)."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        equip(socket, DaemonAddress(endpoint, endpoint, None), endpoint)
        assert socket.get(zmq.HEARTBEAT_IVL) <= 0
        assert socket.rcvhwm == 0


def test_a_closed_client_says_so(daemon: PretendedDaemon, endpoint: str) -> None:
    client = Client.connect(endpoint)
    client.close()
    client.close()
    for ask in (client.ping, client.analyze, lambda: client.book("store")):
        with pytest.raises(ConnectionLost, match="closed"):
            ask()

    async def work() -> None:
        found = await AsyncClient.connect(endpoint)
        assert found.connected
        await found.close()
        await found.close()
        assert not found.connected
        with pytest.raises(ConnectionLost, match="closed"):
            await found.legal()

    run(work())


@pytest.mark.posix
def test_closing_fails_what_is_in_flight_and_leaves_nothing(daemon: PretendedDaemon, endpoint: str) -> None:
    def closed_in_flight() -> None:
        client = Client.connect(endpoint)
        analysis = client.analyze()
        client.close()
        with pytest.raises(ConnectionLost, match="closed"):
            analysis._handle.outcome()

    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    # The first client makes what all of them share, ZeroMQ's context, and keeps it.
    closed_in_flight()
    # Threads of earlier tests may end while this one runs: what counts is which are new, not how many there are.
    threads, before = set(threading.enumerate()), descriptors()
    for _ in range(5):
        closed_in_flight()
    until(lambda: not set(threading.enumerate()) - threads)
    until(lambda: descriptors() <= before + 4)
    until(lambda: daemon.operations().count("cancel") >= 1)


def test_a_cancelled_analysis_returns_what_was_found(daemon: PretendedDaemon, client: Client) -> None:
    daemon.answers["cancel"] = lambda request: {"cancelled": True}
    for verb, data in (
        (lambda: client.analyze(moves="f5"), ANALYSED),
        (lambda: client.analyze_game("f5", plies=[0]), {"plies": [ANALYSED], "nodes": 1, "time_ms": 1}),
        (lambda: client.analyze_many(["f5", "d3"]), {"results": [ANALYSED], "nodes": 1, "time_ms": 1}),
    ):
        handle = verb()
        until(lambda: daemon.held)
        identity, request = daemon.held.pop()
        assert handle.cancel(keep=True)
        assert daemon.seen[-1]["args"] == {"target": request["id"], "keep": True}
        error = {"code": "cancelled", "message": "the request was cancelled"}
        daemon.reply((identity, request), "error", error=error, data={**data, "finished": False})
        with pytest.raises(Cancelled) as raised:
            handle.result(5)
        found = raised.value.found
        first = found[0] if isinstance(found, tuple) and not isinstance(found, Analysed) else found
        assert first.best.move == "f5"
        assert first.finished is (first is not found)


def test_an_error_carries_nothing_found(daemon: PretendedDaemon, client: Client) -> None:
    handle = client.analyze(moves="f5")
    until(lambda: daemon.held)
    identity, request = daemon.held.pop()
    daemon.reply((identity, request), "error", error={"code": "cancelled", "message": "gone"})
    with pytest.raises(Cancelled) as raised:
        handle.result(5)
    assert raised.value.found is None


def test_a_game_gives_out_what_is_done(daemon: PretendedDaemon, client: Client) -> None:
    for limits, expected in (({}, [True]), ({"partial_ms": 5}, [False, True])):
        handle = client.analyze_game("f5", plies=[0], **limits)  # type: ignore[arg-type]
        until(lambda: daemon.held)
        identity, request = daemon.held.pop()
        for done in (False, True):
            daemon.reply((identity, request), "partial", data={**ANALYSED, "ply": 0, "done": done})
        daemon.reply((identity, request), "final", data={"plies": [ANALYSED], "nodes": 1, "time_ms": 1})
        assert [found.done for found in handle] == expected


def test_a_client_works_with_batches(daemon: PretendedDaemon, client: Client) -> None:
    daemon.answers["analyze.batch"] = lambda request: {"job": 7, "items": 2}
    daemon.answers["batch.forget"] = lambda request: {"forgotten": True}
    daemon.answers["cache.clear"] = lambda request: {"forgotten": 3}
    results = [
        {"item": 1, "id": "b", "data": ANALYSED},
        {"item": 0, "id": 0, "error": {"code": "bad_position", "message": "no board"}},
        {"item": 2, "id": 2, "data": {"plies": [ANALYSED], "nodes": 1, "time_ms": 1}},
    ]

    def page(request: dict[str, Any]) -> dict[str, Any]:
        after = request["args"]["after"]
        return {"results": results[after : after + 1], "cursor": min(3, after + 1), "done": after >= 2, "items": 3}

    daemon.answers["batch.results"] = page
    job = client.analyze_batch(["f5", {"id": "b", "board": "x"}], level=3)
    assert daemon.seen[-1]["args"] == {"items": [{"moves": "f5"}, {"id": "b", "board": "x"}], "level": 3}
    found = list(client.batch(job, poll_s=0))
    assert [(result.item, result.id, result.code) for result in found] == [
        (1, "b", ""),
        (0, 0, "bad_position"),
        (2, 2, ""),
    ]
    assert found[0].found is not None
    assert found[0].found.best == found[2].plies[0].best
    assert client.batch_results(job, 2).done
    assert client.batch_forget(job)
    assert client.cache_clear() == 3
    client.analyze_batch(file="games.txt")
    assert daemon.seen[-1]["args"] == {"file": "games.txt"}


def test_the_children_of_a_position_are_typed(daemon: PretendedDaemon, client: Client) -> None:
    child = {"move": "d6", "score": -1, "grade": "A", "lines": 2, "level": 21, "wins": 1, "draws": 0, "losses": 3}
    daemon.answers["book.get"] = lambda request: {"found": True, "children": [child]}
    assert client.book_get(moves="f5", children=True).children[0].losses == 3
    assert daemon.seen[-1]["args"] == {"moves": "f5", "children": True}
    client.book_get(moves="f5")
    assert daemon.seen[-1]["args"] == {"moves": "f5"}
