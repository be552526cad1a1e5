"""`desdaemon web --api`: the parts by themselves, and the gateway as a process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from checkout import ROOT
from hypothesis import given
from hypothesis import strategies as st
from served import PATIENCE_S, PRETENDING, Peer, Served, line_of, serving

pytest.importorskip("tornado")

from web_gateway import Web

from desdaemon.clients.asynchronous import AsyncClient
from desdaemon.clients.http_api import positions
from desdaemon.clients.http_api.openapi import description, page
from desdaemon.clients.http_api.positions import MOST_WAITING, Away, Positions, read_query
from desdaemon.clients.http_api.rates import Rates, asker
from desdaemon.clients.http_api.terms import Terms, digest, read_keys
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.wire.messages import RequestError

KEY = "a-key-that-nobody-guesses"
OVER = "X" * 64 + " X"
UNKNOWN, ALSO_UNKNOWN = line_of(61, 12), line_of(62, 12)
"""Lines that the book lacks."""

SEED = 20_261_129


# Rates


def test_a_bucket_empties_and_fills_again() -> None:
    rates = Rates()
    assert [rates.wait_s("a", 3, 0.0) for _ in range(4)] == [0.0, 0.0, 0.0, 20.0]
    assert rates.wait_s("b", 3, 0.0) == 0.0
    assert rates.wait_s("a", 3, 19.0) == pytest.approx(1.0)
    assert rates.wait_s("a", 3, 20.1) == 0.0
    assert [rates.wait_s("a", 3, 1000.0) for _ in range(4)][-1] == 20.0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 30)), max_size=60), st.integers(1, 20))
def test_requests_stay_within_the_bucket_and_its_rate(steps: list[tuple[str, float]], rate: int) -> None:
    rates, now, granted = Rates(), 0.0, dict.fromkeys("abc", 0)
    for who, passed in steps:
        now += passed
        granted[who] += rates.wait_s(who, rate, now) == 0
        assert granted[who] <= rate + now * rate / 60 + 1e-6


def test_the_oldest_asker_is_forgotten_first() -> None:
    rates = Rates(most=2)
    for who in ("a", "b", "a", "c"):
        rates.wait_s(who, 2, 0.0)
    assert rates.wait_s("a", 2, 0.0) > 0, "a is remembered, b was forgotten"
    assert rates.wait_s("b", 2, 0.0) == 0.0
    for number in range(1000):
        rates.wait_s(str(number), 2, 0.0)
    assert len(rates._buckets) == 2


def test_an_address_is_one_asker_and_a_network_of_ipv6_another() -> None:
    assert asker("192.0.2.1") != asker("192.0.2.2")
    assert asker("2001:db8:1:2::1") == asker("2001:db8:1:2:ffff::9%eth0")
    assert asker("2001:db8:1:2::1") != asker("2001:db8:1:3::1")
    assert asker("") == asker("")


# Parameters


@pytest.mark.parametrize(
    ("query", "code", "told"),
    [
        ({"move": [b"f5"]}, "bad_request", 'did you mean "moves"'),
        ({"level": [b"60"]}, "bad_request", "no parameter"),
        ({"moves": [b"f5", b"f5"]}, "bad_request", "2 times"),
        ({"moves": [b"\xff"]}, "bad_request", "UTF-8"),
        ({"moves": [b"a1"]}, "illegal_move", "illegal"),
        ({"moves": [b"f5" * 5000]}, "too_large", "at most"),
        ({"moves": [b"zz"]}, "bad_request", "zz"),
        ({"board": [b""]}, "bad_position", "64 squares"),
        ({"board": [b"x" * 9000]}, "too_large", "at most"),
        ({"multipv": [b"0"]}, "bad_request", "from 1 to 64"),
        ({"multipv": [b"9" * 5000]}, "bad_request", "from 1 to 64"),
        ({"multipv": ["\u0663".encode()]}, "bad_request", "from 1 to 64"),
        ({"multipv": [b""]}, "bad_request", "from 1 to 64"),
    ],
)
def test_wrong_parameters_are_told(query: dict[str, list[bytes]], code: str, told: str) -> None:
    with pytest.raises(RequestError, match=told) as refused:
        read_query(query)
    assert refused.value.code == code
    assert "\n" not in refused.value.message


def test_right_parameters_are_arguments_of_an_analysis() -> None:
    assert read_query({}) == {}
    assert read_query({"moves": [b"f5d6"], "multipv": [b"3"]}) == {"moves": "f5d6", "multipv": 3}
    assert read_query({"board": [OVER.encode()], "moves": [b""]}) == {"board": OVER, "moves": ""}


# Keys


@pytest.mark.posix
def test_keys_are_read_by_digest(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# club\n\n{KEY} 600\n  another-key-of-16-and-more\t5  \n")
    file.chmod(0o600)
    assert read_keys(str(file)) == {digest(KEY): 600, digest("another-key-of-16-and-more"): 5}


@pytest.mark.posix
@pytest.mark.parametrize("line", [KEY, f"{KEY} 0", f"{KEY} many", "short 5", f"{KEY} 5 6", "\u00e9" * 20 + " 5"])
def test_a_line_that_is_no_key_is_refused_and_not_shown(tmp_path: Path, line: str) -> None:
    file = tmp_path / "keys"
    file.write_text(f"{KEY} 1\n{line}\n")
    file.chmod(0o600)
    with pytest.raises(BadInput, match="line 2: expected") as refused:
        read_keys(str(file))
    assert KEY not in str(refused.value)


@pytest.mark.posix
def test_keys_that_others_may_read_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"{KEY} 1\n")
    file.chmod(0o644)
    with pytest.raises(BadInput, match="chmod 600"):
        read_keys(str(file))
    with pytest.raises(BadInput, match="No such file"):
        read_keys(str(tmp_path / "none"))


# Waiting


def test_waiting_requests_are_bounded_in_number_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "_PATIENCE_S", 0.5)

    async def never(timeout_s: float) -> AsyncClient:
        await asyncio.Event().wait()
        raise AssertionError

    async def run() -> None:
        asked = Positions(never, 0)
        waiting = [asyncio.create_task(asked.answer({})) for _ in range(MOST_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Away, match="wait already"):
            await asked.answer({})
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(error, Away) for error in ended)
        with pytest.raises(Away, match="does not answer"):
            await asked.answer({})
        await asked.close()

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_no_position_is_searched_while_the_book_is_being_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "_PATIENCE_S", 0.2)
    asked = []

    class Client:
        connections = 1
        opened = False

        async def book_get(self) -> None:
            asked.append("book.get")
            if not self.opened:
                await asyncio.Event().wait()

        async def request(self, name: str, values: dict[str, Any]) -> dict[str, Any]:
            asked.append(name)
            return {"moves": [], "over": True}

        async def close(self) -> None:
            pass

    async def run() -> None:
        client = Client()

        async def connect(timeout_s: float) -> Any:
            return client

        positions = Positions(connect, 500)
        for _ in range(2):
            with pytest.raises(Away):
                await positions.answer({})
        client.opened = True
        await positions.answer({})
        await positions.answer({})
        client.connections += 1
        await positions.answer({})
        await positions.close()

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
    assert asked == [*["book.get"] * 3, "analyze", "analyze", "book.get", "analyze"]


# The gateway


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("daemon"), "-book-file", "builtin", program=PRETENDING) as served:
        yield served


@pytest.fixture(scope="module")
def web(daemon: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    found = Web(tmp_path_factory.mktemp("web"), daemon.ipc, "--api", "--api-rate", "100000")
    yield found
    assert found.end() == 0
    assert "Traceback" not in found.errors.read_text()


def get(web: Web, query: str, **headers: str) -> tuple[int, dict[str, str], Any]:
    """Status, headers and data of an answer about a position, without a cookie."""
    status, answered, body = web.get(f"/api/v1/position{query}", cookie="", **headers)
    return status, answered, json.loads(body) if body else None


def refusal(web: Web, query: str, **headers: str) -> tuple[int, str]:
    status, answered, data = get(web, query, **headers)
    assert answered["content-type"].startswith("application/json")
    assert data.keys() == {"error"}
    assert data["error"].keys() <= {"code", "message", "field"}
    return status, data["error"]["code"]


def test_the_api_is_off_unless_asked_for(daemon: Served, tmp_path: Path) -> None:
    web = Web(tmp_path, daemon.ipc)
    try:
        for path in ("/api/v1/position", "/api/v1/openapi.json", "/api/v1/"):
            assert web.get(path, cookie="")[0] == 403
            assert web.get(path)[0] == 404
    finally:
        web.end()


def test_the_book_answers_first(web: Web) -> None:
    status, headers, data = get(web, "?moves=f5&multipv=2")
    assert status == 200
    assert [(move["move"], move["source"]) for move in data["moves"]] == [("d6", "book"), ("f6", "book")]
    assert data["board"].endswith(" O")
    assert not {"nodes", "time_ms", "cached"} & data.keys(), "what differs from answer to answer is left out"
    assert headers["cache-control"] == "public, max-age=300"
    assert headers["access-control-allow-origin"] == "*"
    assert get(web, f"?board={quote(data['board'])}&multipv=2")[2] == data


def test_an_answer_that_is_known_is_not_sent_again(web: Web) -> None:
    _, headers, _ = get(web, "?moves=f5")
    assert get(web, "?moves=f5", If_None_Match=headers["etag"])[::2] == (304, None)
    status, again, _ = get(web, "?moves=f5d6", If_None_Match=headers["etag"])
    assert (status, again["etag"] != headers["etag"]) == (200, True)
    status, _, body = web.get("/api/v1/position?moves=f5", method="HEAD", cookie="")
    assert (status, body) == (200, b"")


def test_kept_analyses_answer_and_nothing_else_is_searched(web: Web, daemon: Served) -> None:
    assert refusal(web, f"?moves={UNKNOWN}") == (404, "not_found")
    assert refusal(web, f"?moves={UNKNOWN}") == (404, "not_found"), "what was asked for is not known by that"
    with Peer(daemon.ipc) as peer:
        peer.final("analyze", {"moves": UNKNOWN, "level": 8})
    status, headers, data = get(web, f"?moves={UNKNOWN}")
    assert (status, data["moves"][0]["depth"], data["moves"][0]["source"]) == (200, 8, "search")
    assert headers["cache-control"] == "public, max-age=300"


def test_a_finished_game_has_its_score_for_a_day(web: Web) -> None:
    status, headers, data = get(web, f"?board={quote(OVER)}")
    assert (status, data["over"], data["score"], data["moves"]) == (200, True, 64, [])
    assert headers["cache-control"] == "public, max-age=86400"


@pytest.mark.parametrize(("side", "move"), [("X", "h8"), ("O", "pa")])
def test_the_last_empty_square_is_no_search(web: Web, side: str, move: str) -> None:
    status, headers, data = get(web, f"?board={quote('X' * 8 * 7 + 'XXXXXXO- ' + side)}")
    assert status == 200
    assert [(known["move"], known["exact"]) for known in data["moves"]] == [(move, True)]
    assert headers["cache-control"] == "public, max-age=86400"


def test_wrong_requests_get_one_error_in_json(web: Web) -> None:
    for query in ("?moves=a1", "?board=xx", "?move=f5", "?moves=f5&moves=f5", "?moves=%ff", "?multipv=x", "?%00=1"):
        assert refusal(web, query)[0] == 400, query
    assert refusal(web, "s") == (404, "not_found")
    assert refusal(web, "/../position") == (404, "not_found")
    assert refusal(web, "?moves=f5", host="evil.example") == (403, "forbidden")
    assert refusal(web, "?moves=f5", Authorization="Bearer x") == (401, "forbidden")
    for method in ("POST", "PUT", "DELETE"):
        status, headers, body = web.get("/api/v1/position", method=method, cookie="")
        assert (status, headers["allow"]) == (405, "GET, HEAD, OPTIONS")
        assert json.loads(body)["error"]
    assert web.get("/api/v1/position", method="POST", cookie="", body="x" * 100)[0] == 400
    assert get(web, "?moves=f5")[0] == 200


def test_random_bytes_do_no_harm(web: Web) -> None:
    chance = random.Random(SEED)
    for _ in range(60):
        # Beyond 16 kB the gateway does not answer at all.
        noise = bytes(chance.choices(range(33, 256), k=chance.choice((3, 30, 300, 30_000))))
        with socket.create_connection(("127.0.0.1", web.port), timeout=PATIENCE_S) as plain:
            request = b"GET /api/v1/position?" + noise + b" HTTP/1.1\r\nHost: " + web.host.encode()
            answer = b""
            with contextlib.suppress(ConnectionError):
                plain.sendall(request + b"\r\nConnection: close\r\n\r\n")
                answer = b"".join(iter(lambda plain=plain: plain.recv(65_536), b""))
        assert not answer or answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 200")), noise
    assert get(web, "?moves=f5")[0] == 200


def test_positions_are_searched_where_it_is_allowed(daemon: Served, tmp_path: Path) -> None:
    web = Web(tmp_path, daemon.ipc, "--api", "--api-search", "50")
    try:
        status, _, data = get(web, f"?moves={ALSO_UNKNOWN}&multipv=2")
        assert (status, [move["source"] for move in data["moves"]]) == (200, ["search"] * 2)
    finally:
        assert web.end() == 0


@pytest.mark.posix
def test_each_address_and_each_key_has_its_rate(daemon: Served, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"{KEY} 5\n")
    keys.chmod(0o600)
    web = Web(tmp_path, daemon.ipc, "--api", "--api-rate", "2", "--api-keys", str(keys))
    try:
        assert [get(web, "?moves=f5")[0] for _ in range(2)] == [200, 200]
        status, headers, data = get(web, "?moves=f5")
        assert (status, data["error"]["code"]) == (429, "busy")
        assert 1 <= int(headers["retry-after"]) <= 60
        given = {"Authorization": f"Bearer {KEY}"}
        assert [get(web, "?moves=f5", **given)[0] for _ in range(6)] == [200] * 5 + [429]
        assert refusal(web, "?moves=f5", Authorization=f"Bearer {KEY}x") == (401, "forbidden")
        assert web.get("/api/v1/", cookie="")[0] == 200
    finally:
        assert web.end() == 0


@pytest.mark.posix
def test_a_rate_of_zero_admits_keys_alone(daemon: Served, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"{KEY} 5\n")
    keys.chmod(0o600)
    web = Web(tmp_path, daemon.ipc, "--api", "--api-rate", "0", "--api-keys", str(keys))
    try:
        assert refusal(web, "?moves=f5") == (401, "forbidden")
        assert get(web, "?moves=f5", Authorization=f"bearer {KEY}")[0] == 200
    finally:
        assert web.end() == 0


def test_a_lost_daemon_is_told_and_found_again(tmp_path: Path) -> None:
    with serving(tmp_path / "daemon", "-book-file", "builtin", program=PRETENDING) as served:
        (tmp_path / "web").mkdir()
        web = Web(tmp_path / "web", served.ipc, "--api", "--api-rate", "100000")
        try:
            assert get(web, "?moves=f5")[0] == 200
            served.kill()
            status, headers, data = get(web, "?moves=f5")
            assert (status, headers["retry-after"], data["error"]["code"]) == (503, "1", "busy")
            assert str(tmp_path) not in data["error"]["message"]
            served.start()
            found = [404]
            while found[-1] in (404, 503):
                found.append(get(web, "?moves=f5")[0])
            assert found[-1] == 200
        finally:
            assert web.end() == 0


def test_options_of_the_api_are_refused_without_it() -> None:
    for options in (("--api-search", "5"), ("--api-rate", "5"), ("--api-keys", "file")):
        done = subprocess.run(
            [sys.executable, "-m", "daemon", "web", *options], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 2
        assert f"{options[0]} needs --api" in done.stderr


# The description


def test_the_description_holds_what_is_answered(web: Web) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    status, headers, body = web.get("/api/v1/openapi.json", cookie="")
    assert (status, headers["content-type"]) == (200, "application/json; charset=utf-8")
    described = json.loads(body)
    assert described == json.loads(json.dumps(description(Terms(0, 100_000, {}))))
    operation = described["paths"]["/api/v1/position"]["get"]
    assert [parameter["name"] for parameter in operation["parameters"]] == ["board", "moves", "multipv"]
    responses = operation["responses"]
    queries = ("?moves=f5", f"?board={quote(OVER)}", "?moves=a1", f"?moves={line_of(63, 12)}", "?moves=x&y=1")
    for query in queries:
        status, _, data = get(web, query)
        jsonschema.validate(data, responses[str(status)]["content"]["application/json"]["schema"])
    answered = responses["200"]["content"]["application/json"]["schema"]["properties"]
    known = answered["moves"]["items"]["properties"]
    assert get(web, "?moves=f5")[2].keys() <= answered.keys()
    assert get(web, "?moves=f5")[2]["moves"][0].keys() <= known.keys()


def test_the_page_tells_people_the_terms(web: Web) -> None:
    status, headers, body = web.get("/api/v1/", cookie="")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"multipv" in body
    assert "at most 70 ms" in page(Terms(70, 60, {}))
    assert "A key is needed" in page(Terms(0, 0, {}))
