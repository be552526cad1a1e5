"""What comes to the gateway's door and is refused: wrong names, wrong origins, old tokens, paths, roles, floods."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import socket
import struct
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import psutil
import pytest
from served import PATIENCE_S, PRETENDING, Peer, Served, serving
from tornado.httpclient import HTTPClientError
from tornado.web import create_signed_value
from tornado.websocket import WebSocketClosedError
from waits import until
from web_gateway import Page, Web

from desdaemon.clients.web.allowed import COMMANDS, operations
from desdaemon.clients.web.connections import MOST_CONNECTIONS
from desdaemon.clients.web.gateway import SECURITY_HEADERS
from desdaemon.clients.web.page_files import page_files
from desdaemon.protocol.wire.messages import OPERATIONS

LARGEST_FRAME = 256 << 10
MOST_TABS = 32
MOST_IN_FLIGHT = 64
MOST_MALFORMED = 100

SEED = 20_261_122


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("daemon"), program=PRETENDING) as served:
        yield served


@pytest.fixture(scope="module")
def web(daemon: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    found = Web(tmp_path_factory.mktemp("web"), daemon.ipc)
    yield found
    assert found.end() == 0
    assert "Traceback" not in found.errors.read_text()


def with_page(web: Web, talk: Callable[[Page], Awaitable[None]]) -> None:
    async def run() -> None:
        async with web.socket() as page:
            await talk(page)

    asyncio.run(run())


async def ended(page: Page) -> None:
    """Read until the gateway closes the socket."""
    with contextlib.suppress(EOFError):
        while True:
            await asyncio.wait_for(page.next(), PATIENCE_S)


def refused_socket(web: Web, *, page: str | None = None, **headers: str) -> int:
    """The status that a socket with these headers and this token of the page is refused with; 0 where it is not."""

    async def run() -> int:
        try:
            async with web.socket(page=page, **headers):
                return 0
        except HTTPClientError as error:
            return error.code

    return asyncio.run(run())


# Who is let in


def test_the_page_and_its_files_are_there_for_those_let_in(web: Web) -> None:
    for name in ("", *page_files()):
        status, headers, body = web.get(f"/{name}")
        assert (status, bool(body)) == (200, True), name
        assert (
            SECURITY_HEADERS.items()
            <= {known: headers[known.lower()] for known in SECURITY_HEADERS if known.lower() in headers}.items()
        )
        assert "server" not in headers
        assert web.get(f"/{name}", If_None_Match=headers["etag"])[0] == 304


def test_peers_without_the_cookie_see_nothing(web: Web) -> None:
    for path in ("/", "/style.css", "/nothing", "/socket"):
        for cookie in ("", "desdaemon=1", web.cookie[:-1], f"{web.cookie}0", web.cookie.replace("2|1", "1|1")):
            status, headers, body = web.get(path, cookie=cookie)
            assert status == 403, (path, cookie)
            assert b"<script" not in body
            assert "set-cookie" not in headers


def test_only_the_token_lets_in(web: Web) -> None:
    assert web.let_in(web.token)
    for wrong in ("", "x", web.token[:-1], f"{web.token}x", "%00", "\u00e9".encode().hex()):
        assert web.let_in(wrong) == "", wrong
    _, headers, body = web.get(f"/?token={web.token}", cookie="")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in headers["set-cookie"].split(";")}
    assert web.token.encode() not in body
    # Not by a name that was rebound to this machine, whatever the token.
    assert web.get(f"/?token={web.token}", cookie="", host="evil.example")[0] == 403


def test_tokens_and_cookies_of_earlier_starts_are_refused(daemon: Served, tmp_path: Path) -> None:
    """A token is that of one start; a cookie outlives it until it is revoked, and belongs to one port."""
    web = Web(tmp_path, daemon.ipc)
    token, cookie = web.token, web.cookie
    assert web.end() == 0
    web.start()
    assert web.let_in(token) == ""
    assert web.get(f"/?token={token}", cookie=cookie)[0] == 403
    assert web.get("/", cookie=cookie)[0] == 200
    assert refused_socket(web, Cookie=cookie) == 0
    key, name = (tmp_path / "run-web" / f"web-{web.port}.key").read_bytes(), f"desdaemon-{web.port}"
    for days, status in ((29, 200), (31, 403)):
        issued = time.time() - days * 86_400
        old = create_signed_value(key, name, "let in", clock=lambda issued=issued: issued).decode()
        assert web.get("/", cookie=f'{name}="{old}"')[0] == status
    other = Web(tmp_path, daemon.ipc)
    assert other.get("/", cookie=cookie)[0] == 403
    assert other.get("/", cookie=cookie.replace(str(web.port), str(other.port)))[0] == 403
    assert other.end() == 0
    assert web.end() == 0
    again = Web(tmp_path, daemon.ipc, "--revoke", port=web.port)
    assert again.get("/", cookie=cookie)[0] == 403
    assert refused_socket(again, Cookie=cookie) == 403
    assert again.end() == 0


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "localhost:1",
        "127.0.0.1:{port}.evil.example",
        "0.0.0.0:{port}",
    ],
)
def test_another_host_is_refused(web: Web, host: str) -> None:
    """What a page of a name that DNS rebinds to 127.0.0.1 can send: its own name, and whatever cookie it has."""
    named = host.format(port=web.port)
    assert web.get("/", host=named)[0] == 403
    assert refused_socket(web, Host=named, Origin=f"http://{named}") == 403


def test_the_names_of_this_machine_are_known(web: Web) -> None:
    for host in (f"localhost:{web.port}", f"127.0.0.1:{web.port}", f"[::1]:{web.port}", f"LOCALHOST:{web.port}"):
        assert web.get("/", host=host)[0] == 200
        assert refused_socket(web, Host=host, Origin=f"http://{host}") == 0


def test_sockets_are_for_our_own_page(web: Web) -> None:
    for origin in (
        "",
        "null",
        "http://evil.example",
        f"http://evil.example:{web.port}",
        f"https://{web.host}",
        f"http://localhost:{web.port}",
        f"http://127.0.0.1:{web.port + 1}",
        f"{web.origin}.evil.example",
        f"{web.origin}/",
    ):
        assert refused_socket(web, Origin=origin) == 403, origin
    assert refused_socket(web, Cookie="") == 403
    assert refused_socket(web) == 0


def test_sockets_are_for_pages_that_have_their_token(web: Web) -> None:
    """Whoever has cookie and Origin, but cannot read our page, has no socket; with a kept cookie the token lasts."""
    for wrong in ("", "x", web.page[:-1], f"{web.page}x", web.token, "%00", "%c3%a9"):
        assert refused_socket(web, page=wrong) == 403, wrong
    assert refused_socket(web, page=f"{web.page}&page={web.page}") == 403
    before = web.page
    assert web.end() == 0
    web.start()
    assert web.page == before
    assert refused_socket(web) == 0


def test_two_host_or_origin_headers_are_refused(web: Web) -> None:
    head = f"GET / HTTP/1.1\r\nHost: {web.host}\r\nHost: evil.example\r\nCookie: {web.cookie}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", web.port), timeout=60) as raw:
        raw.sendall(head.encode())
        assert raw.recv(100).split()[1] in (b"400", b"403")


def test_forms_and_other_methods_change_nothing(web: Web) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "FOO"):
        for path in ("/", "/socket", "/style.css"):
            status, headers, _ = web.get(path, method=method, Origin="http://evil.example")
            assert status in (400, 403, 404, 405), (method, path)
            assert "access-control-allow-origin" not in headers
    form = {"Content_Type": "application/x-www-form-urlencoded", "Origin": "http://evil.example"}
    assert web.get("/socket", method="POST", body="op=shutdown", **form)[0] in (400, 403, 405)


def test_paths_lead_to_no_other_file(web: Web) -> None:
    secrets = ("/etc/passwd", "gateway.py", "web-", "pyproject.toml")
    tricks = ["//", "/..", "/../", "/./", "/%2e%2e/", "/..%2f", "/%2f", "/..\\", "/%00", "/static/", "/index.html/../"]
    for trick in tricks:
        for secret in secrets:
            status, _, body = web.get(f"{trick}{secret}")
            assert status in (400, 404), trick + secret
            assert len(body) < 200
    assert web.get("/" + "a" * 15_000)[0] in (400, 404)
    assert web.get("http://evil.example/")[0] in (400, 404)


def test_requests_of_others_write_nothing_into_the_log(web: Web) -> None:
    before = web.errors.read_text()
    for query in ("?token=%ff", "?token=%ed%a0%80"):
        assert web.get(f"/{query}")[0] == 400
    assert web.errors.read_text() == before


def test_oversized_heads_and_half_requests_end(web: Web) -> None:
    with socket.create_connection(("127.0.0.1", web.port), timeout=60) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 100_000)
        with contextlib.suppress(ConnectionError):
            # Closed without an answer, or with the words that it is too large.
            assert raw.recv(1000)[:12] in (b"", b"HTTP/1.1 431", b"HTTP/1.1 400")
    assert web.get("/")[0] == 200


# What a page may ask for


def test_the_page_may_ask_for_the_listed_operations() -> None:
    """Written out: whoever adds an operation has to decide whether a page may ask for it."""
    basic = {
        "ping",
        "hello",
        "status",
        "analyze",
        "legal",
        "book.get",
        "games.get",
        "people.get",
        "explain",
        "jobs",
        "cancel",
    }
    basic |= {"web.read", "web.write", "web.names", "web.start", "web.follow", "web.commands", "web.exercises"}
    looking = {"show", "edits", "info", "stats", "analyze", "grade", "lines", "umigame", "problem"}
    growing = {
        "reopen", "depth", "level", "rule", "verify", "store", "self-play", "deviate", "enhance", "fill", "play",
        "extend", "deepen", "correct", "learn", "recalculate-leaves", "fix", "negamax", "edit", "unedit", "adjust",
        "prune", "subtree", "cut", "reduce", "delete", "undo", "save",
    }  # fmt: skip
    assert set(operations("reader")) == basic | {f"book.{name}" for name in looking}
    assert set(operations("editor")) == basic | {f"book.{name}" for name in looking | growing}
    assert not any(parameter.kind in ("path", "paths") for command in COMMANDS for parameter in command.parameters)


def test_unlisted_operations_are_refused(web: Web) -> None:
    async def talk(page: Page) -> None:
        hello = await page.final("hello")
        assert hello["role"] == "editor"
        for operation in OPERATIONS:
            if operation.name not in operations("editor"):
                assert operation.name not in hello["ops"]
                assert await page.refused(operation.name, {"line": "quit", "file": "x", "job": 1}) == "forbidden"
        for name in ("", "shutdown ", "SHUTDOWN", "book.save\0", "web.shutdown", "__init__"):
            assert await page.refused(name) in ("unknown_op", "bad_request")
        assert await page.final("ping") == {}

    with_page(web, talk)


def test_a_reader_changes_nothing(daemon: Served, tmp_path: Path) -> None:
    web = Web(tmp_path, daemon.ipc, "--role", "reader")

    async def talk(page: Page) -> None:
        hello = await page.final("hello")
        assert hello["role"] == "reader"
        for name in sorted(set(operations("editor")) - set(operations("reader"))):
            assert name not in hello["ops"]
            assert await page.refused(name, {"moves": "f5", "move": "d6", "score": 1}) == "forbidden"
        assert await page.refused("cancel", {"job": 1}) == "forbidden"
        assert await page.refused("cancel", {"job": 1, "all": True}) == "forbidden"
        assert {"v", "id", "op"} & set(await page.final("legal")) == set()
        names = [command["name"] for command in (await page.final("web.commands"))["commands"]]
        assert "deviate" not in names

    try:
        with_page(web, talk)
    finally:
        web.end()


def test_a_book_that_takes_no_changes_is_saved_under_a_name_of_the_gateway_s(daemon: Served, web: Web) -> None:
    async def talk(page: Page) -> None:
        assert await page.refused("book.save", {"file": "mine.book"}) == "forbidden"
        assert not list(daemon.data.glob("*.book"))
        await page.final("book.save")
        (copy,) = daemon.data.glob("*.book")
        assert re.fullmatch(r"builtin-\d{8}-\d{6}\.book", copy.name)
        book = (await page.final("status"))["book"]
        assert (book["path"], book["writable"]) == (copy.name, True)
        # The copy is its own file from now on.
        await page.final("book.save")
        assert list(daemon.data.glob("*.book")) == [copy]

    with Peer(daemon.ipc) as peer:
        peer.final("book.load", {"file": "builtin"})
        # That it takes no changes is no fault.
        assert peer.final("status")["problems"] == []
    with_page(web, talk)


def test_a_copy_outlives_the_daemon_that_was_started_for_the_page(tmp_path: Path) -> None:
    # Without --book it is the one that ships.
    web = Web(tmp_path, XDG_DATA_HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path))
    with_page(web, lambda page: page.final("book.save"))  # type: ignore[arg-type, return-value]
    assert web.end() == 0
    (copy,) = (tmp_path / "desdaemon" / "web").glob("builtin-*.book")
    assert copy.stat().st_size > 0


# Floods


def malformed(dice: random.Random) -> str | bytes:
    """A frame that is no request that a page may make."""
    value = dice.choice([None, True, -1, 1.5, "x" * dice.randrange(200), [], {}, [[[]]] * 3, "\ud800", 1 << 70])
    request = {"v": 1, "id": dice.randrange(1 << 32), "op": "ping", "args": {}}
    broken = [
        bytes(dice.randrange(256) for _ in range(dice.randrange(60))),
        "".join(chr(dice.randrange(1, 0x500)) for _ in range(dice.randrange(60))),
        "[" * dice.randrange(1, 3000),
        '{"v":1,"id":' * dice.randrange(1, 500),
        json.dumps(request)[: dice.randrange(1, 40)],
        json.dumps({**request, "v": value}) if value != 1 else "NaN",
        json.dumps({**request, "id": value if not isinstance(value, str) else None}),
        json.dumps({**request, "op": value}),
        json.dumps({**request, "op": "analyze", "args": {"multipv": value if value is not None else "x"}}),
        json.dumps({**request, "op": "web.read", "args": {"data": value if value else "?"}}),
        json.dumps({**request, "op": "web.write", "args": {"format": value, "games": value}}),
        json.dumps({**request, "op": "shutdown"}),
        json.dumps({**request, "args": value}) if value not in (None, {}) else "Infinity",
        '{"v":1,"id":1,"op":"legal","args":{"moves":NaN}}',
    ]
    return dice.choice(broken)


@pytest.mark.parametrize("frames", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_malformed_frames_close_their_socket(web: Web, frames: int) -> None:
    dice = random.Random(SEED)

    async def run() -> int:
        """Sockets that were closed; no frame is answered as a request that was carried out."""
        sent = closed = 0
        while sent < frames:
            async with web.socket() as page:
                with contextlib.suppress(WebSocketClosedError):
                    for _ in range(2 * MOST_MALFORMED):
                        frame = malformed(dice)
                        await page.connection.write_message(frame, binary=isinstance(frame, bytes))
                        sent += 1
                await ended(page)
                closed += 1
        return closed

    assert asyncio.run(run()) >= frames // 200
    assert web.get("/")[0] == 200
    with_page(web, lambda page: page.final("ping"))  # type: ignore[arg-type, return-value]


def test_an_oversized_frame_ends_its_socket(web: Web) -> None:
    async def talk(page: Page) -> None:
        await page.connection.write_message("x" * (LARGEST_FRAME + 1))
        await ended(page)

    with_page(web, talk)


def test_a_tab_has_only_so_much_in_flight(web: Web) -> None:
    async def talk(page: Page) -> None:
        for _ in range(MOST_IN_FLIGHT):
            page.request("analyze", {"level": 60, "book": "ignore"})
        assert await page.refused("ping") == "busy"
        # What is under way still has to be ended from somewhere.
        page.connection.close()

    with_page(web, talk)
    assert refused_socket(web) == 0


def test_an_id_in_flight_is_not_taken_twice(web: Web) -> None:
    async def talk(page: Page) -> None:
        page.request("analyze", {"level": 60, "book": "ignore"}, id="same")
        page.request("ping", id="same")
        while (reply := await page.next()).get("type") != "error":
            pass
        assert reply["error"]["code"] == "duplicate_id"
        assert (await page.final("cancel", {"target": "same"}))["cancelled"]

    with_page(web, talk)


def test_the_number_of_tabs_is_bounded(web: Web) -> None:
    async def run() -> int:
        pages = [web.socket() for _ in range(MOST_TABS)]
        for page in pages:
            await page.__aenter__()
        try:
            async with web.socket():
                return 0
        except HTTPClientError as error:
            return error.code
        finally:
            for page in pages:
                await page.__aexit__(None, None, None)

    assert asyncio.run(run()) == 503

    def there_is_room() -> bool:
        return refused_socket(web) == 0

    until(there_is_room)


def test_a_page_that_does_not_read_is_dropped(web: Web) -> None:
    """It asks for large answers and reads none: the gateway keeps no more than some megabytes of them."""
    key = "dGhlIHNhbXBsZSBub25jZQ=="
    head = (
        f"GET /socket?page={web.page} HTTP/1.1\r\nHost: {web.host}\r\nOrigin: {web.origin}\r\nCookie: {web.cookie}\r\n"
        f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", web.port))
        raw.settimeout(60)
        raw.sendall(head.encode())
        seen = b""
        while b"connected" not in seen:
            seen += raw.recv(4096)

        def send_until_closed() -> bool:
            try:
                for _ in range(MOST_IN_FLIGHT):
                    frame = json.dumps({"v": 1, "id": random.randrange(1 << 60), "op": "web.names"}).encode()
                    raw.sendall(struct.pack("!BBI", 0x81, 0x80 | len(frame), 0) + frame)
            except (ConnectionError, TimeoutError):
                return True
            return False

        until(send_until_closed)
    assert web.get("/")[0] == 200


# Many connections


def crowd(web: Web, count: int, stack: contextlib.ExitStack) -> None:
    """Connections that say nothing."""
    for _ in range(count):
        stack.enter_context(socket.create_connection(("127.0.0.1", web.port), 30))


@pytest.mark.posix
def test_silent_connections_keep_nobody_out(web: Web) -> None:
    with contextlib.ExitStack() as stack:
        crowd(web, MOST_CONNECTIONS + 100, stack)
        assert web.get("/")[0] == 200
        assert psutil.Process(web.process.pid).num_fds() < MOST_CONNECTIONS + 100


@pytest.mark.posix
def test_a_tab_stays_in_a_crowd(web: Web) -> None:
    async def talk(page: Page) -> None:
        with contextlib.ExitStack() as stack:
            crowd(web, MOST_CONNECTIONS + 100, stack)
            await page.final("ping")

    with_page(web, talk)


@pytest.mark.posix
def test_without_descriptors_the_oldest_connections_give_way(web: Web) -> None:
    # Windows has no such module.
    import resource

    pid = web.process.pid
    soft, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    opened = psutil.Process(pid).num_fds()
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (opened + 20, most))
    try:
        with contextlib.ExitStack() as stack:
            crowd(web, 100, stack)
            until(lambda: web.get("/")[0] == 200)
            used = psutil.Process(pid).cpu_times()
            time.sleep(1)
            now = psutil.Process(pid).cpu_times()
            assert now.user + now.system - used.user - used.system < 0.3
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, most))
    assert "Traceback" not in web.errors.read_text()
