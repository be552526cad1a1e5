"""The structured messages as lines of JSON on standard input and output, of a process whose engine pretends."""

from __future__ import annotations

import json
from typing import Any

from live import TIMEOUT, Live, converse

LARGEST_BODY = 1 << 20


def request(number: Any, op: str, **args: Any) -> bytes:
    return json.dumps({"v": 1, "id": number, "op": op, "args": args}).encode() + b"\n"


def replies(data: bytes, *arguments: str, **environment: str) -> dict[Any, list[dict[str, Any]]]:
    """The replies by id, of a process that has come to its end."""
    done = converse(data, "-json", *arguments, **environment)
    assert done.returncode == 0
    assert done.stderr == b""
    found: dict[Any, list[dict[str, Any]]] = {}
    for line in done.stdout.splitlines():
        reply = json.loads(line)
        found.setdefault(reply["id"], []).append(reply)
    return found


def test_everything_that_was_asked_is_answered_before_the_end() -> None:
    asked = b"".join(
        request(number, "analyze", moves="f5d6c3d3c4", plies=[number % 5], depth=5) for number in range(50)
    )
    found = replies(asked + request("h", "hello"), "-n", "2")
    assert found["h"][0]["data"]["role"] == "admin"
    for number in range(50):
        assert [reply["type"] for reply in found[number]] == ["partial", "final"]
        assert found[number][1]["data"]["plies"][0]["ply"] == number % 5


def test_an_endless_search_ends_with_the_input() -> None:
    found = replies(request(1, "analyze", depth=37) + request(2, "analyze", depth=3, moves="f5"), GRACE_S="0.1")
    assert found[1][0]["error"]["code"] == "shutting_down"
    assert found[2][-1]["type"] == "final"


def test_lines_that_are_no_requests_are_refused() -> None:
    lines = [
        b"nonsense",
        b"[1]",
        b"3",
        b'{"v": 1',
        b"",
        b"\xff",
        b'{"v":1,"id":1,"op":"ping","args":[' * 2000,
        b"[" * 9999,
        b'{"v":1,"id":"\\ud800","op":"ping"}',
        b'{"v": 1, "op": "ping", "id": "x", "args": {"level": 05}}',
        b'{"args": {"id": 9}, "id": 12',
        b'{"args": {"id": 9',
    ]
    found = replies(b"\n".join(lines) + b"\n" + request("after", "ping"))
    assert [reply["error"]["code"] for reply in found[None]] == ["bad_request"] * 9
    # Of requests that break off or are nested too deep, those whose id can be read are refused by it.
    assert [found[each][0]["error"]["code"] for each in (1, "x")] == ["bad_request"] * 2
    assert found["after"][0]["type"] == "final"


def test_a_line_that_is_too_long_is_refused() -> None:
    found = replies(b'{"x": "' + b"a" * LARGEST_BODY + b'"}\n' + request(1, "ping"))
    assert found[None][0]["error"]["code"] == "too_large"
    assert found[1][0]["type"] == "final"


def test_a_shutdown_says_so_and_tells_what_was_found() -> None:
    with Live("-json") as dialogue:
        dialogue.send(request(1, "analyze", depth=38, partial_ms=10))
        dialogue.until(b'"done":false}}\n')
        dialogue.send(request(2, "analyze", depth=37, moves="f5"))
        dialogue.send(request(3, "shutdown"))
        out, _, status = dialogue.end()
        last = {json.loads(line)["id"]: json.loads(line) for line in out.splitlines()}
        assert [last[number]["error"]["code"] for number in (1, 2)] == ["shutting_down"] * 2
        assert (last[1]["data"]["finished"], last[1]["data"]["moves"][0]["depth"]) == (False, 2)
        assert "data" not in last[2]
        assert (last[3]["type"], status) == ("final", 0)


def test_a_closed_output_ends_the_program() -> None:
    with Live("-json") as dialogue:
        dialogue.send(request(1, "ping"))
        dialogue.until(b"\n")
        assert dialogue.process.stdout is not None
        dialogue.process.stdout.close()
        dialogue.send(request(2, "ping"))
        assert dialogue.process.stderr is not None
        assert (dialogue.process.wait(TIMEOUT), dialogue.process.stderr.read()) == (1, b"")
        dialogue.process.stdout = None


def test_a_local_user_may_name_any_file() -> None:
    found = replies(request(1, "text", line="load /nowhere/at/all.txt"))
    assert "/nowhere/at/all.txt" in found[1][0]["data"]["err"]
