"""Sockets beside a dialogue on standard input: one process, one book, one queue of searches."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import zmq
from live import TIMEOUT, Live

from desdaemon.protocol.wire import codec


def ask(endpoint: str, op: str, **args: Any) -> dict[str, Any]:
    with zmq.Context() as context, context.socket(zmq.REQ) as client:
        client.linger = 0
        client.connect(endpoint)
        client.send(codec.encode({"v": 1, "id": 1, "op": op, "args": args}))
        assert client.poll(1000 * TIMEOUT), "no reply"
        return codec.decode(client.recv())


def live(folder: Path, *arguments: str) -> Live:
    runtime = folder / "run"
    return Live("--zmq", "--data", str(folder / "data"), "-q", *arguments, DESDAEMON_RUNTIME_DIR=str(runtime))


def endpoint(folder: Path) -> str:
    file = folder / "run" / "connection.json"
    due = time.monotonic() + TIMEOUT
    while not file.exists():
        assert time.monotonic() < due
        time.sleep(0.01)
    return str(json.loads(file.read_text())["endpoints"][0])


def test_dialogue_and_sockets_are_answered_until_the_dialogue_ends(tmp_path: Path) -> None:
    with live(tmp_path) as dialogue:
        where = endpoint(tmp_path)
        assert ask(where, "hello")["data"]["role"] == "admin"
        dialogue.send(b"play f5\nmoves\n")
        dialogue.until(b"F4 D6 F6")
        assert ask(where, "analyze", depth=3)["data"]["moves"][0]["score"] == 10
        assert ask(where, "text", line="moves")["data"]["out"] == "D3 C4 F5 E6\n"
        dialogue.send(b"quit\n")
        _, _, status = dialogue.end()
        assert status == 0
    assert not (tmp_path / "run" / "connection.json").exists()


def test_a_shutdown_ends_the_dialogue_too(tmp_path: Path) -> None:
    with live(tmp_path) as dialogue:
        assert ask(endpoint(tmp_path), "shutdown")["type"] == "final"
        assert dialogue.process.wait(TIMEOUT) == 0


def test_a_signal_ends_dialogue_and_sockets(tmp_path: Path) -> None:
    for number, status in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
        with live(tmp_path) as dialogue:
            endpoint(tmp_path)
            dialogue.process.send_signal(number)
            assert dialogue.process.wait(TIMEOUT) == status


def test_json_lines_and_sockets_share_the_searches(tmp_path: Path) -> None:
    with live(tmp_path, "-json") as dialogue:
        where = endpoint(tmp_path)
        dialogue.send(b'{"v": 1, "id": 1, "op": "analyze", "args": {"depth": 37}}\n')
        due = time.monotonic() + TIMEOUT
        while not ask(where, "status")["data"]["running"]:
            assert time.monotonic() < due
        dialogue.send(b'{"v": 1, "id": 2, "op": "cancel", "args": {"target": 1}}\n')
        answers = {json.loads(dialogue.until(b"\n"))["id"] for _ in range(2)}
        assert answers == {1, 2}
        dialogue.send(b'{"v": 1, "id": 3, "op": "shutdown"}\n')
        out, _, status = dialogue.end()
        assert json.loads(out)["id"] == 3
        assert status == 0
