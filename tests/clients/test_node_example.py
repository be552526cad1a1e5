"""The example for Node, written from docs/protocol.md alone: sockets, ZMTP and msgpack of its own against a daemon."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import ROOT
from served import Served, serving

EXAMPLE = ROOT / "clients" / "examples" / "node"
GOLDEN = ROOT / "tests" / "protocol" / "golden_messages.json"
PATIENCE_S = 120

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

CONVERSATION = """
import { Daemon, subscribe } from "ROOT/desdaemon.js"
const endpoint = process.argv[1]
const daemon = await Daemon.connect(endpoint)
const found = {}

found.legal = await daemon.request("legal", { moves: "f5" })
found.refused = await daemon.request("analyze", { moves: "a1" }).catch(({ code, field }) => [code, field])
// A body of many frames' worth of bytes, and a reply that is longer than 255.
found.long = (await daemon.request("legal", { moves: "f5", padding: "x".repeat(100000) })).moves.length
found.many = (await daemon.request("book.get", { positions: Array.from({ length: 300 }, () => ({})) })).results.length

const partials = []
const args = { moves: "f5d6", book: "ignore", partial_ms: 1 }
const endless = daemon.start("analyze", { ...args, until: "cancelled" }, (data) => {
  if (partials.push(data.moves[0].depth) === 3) endless.cancel(true)
})
found.kept = await endless.final
found.partials = partials.length

const ended = daemon.start("analyze", { ...args, level: 60 }, () => ended.cancel())
found.cancelled = await ended.final.catch(({ code, data }) => [code, data.finished])

const event = new Promise((resolve) => {
  const events = subscribe(endpoint, ["status"], (topic, data) => {
    events.close()
    resolve([topic, typeof data.uptime_s])
  })
})
found.event = await event
daemon.close()
console.log(JSON.stringify(found))
"""

DECODING = """
import { readFileSync } from "node:fs"
import { decode, encode } from "ROOT/msgpack.js"
const golden = JSON.parse(readFileSync(process.argv[1]))
// Node has no integers beyond 2^53.
const exchanges = golden.exchanges.filter(({ name }) => !name.includes("largest"))
const recorded = exchanges.flatMap(({ request, replies }) => [request, ...replies]).concat(golden.events)
const decoded = recorded.map(({ hex }) => decode(Buffer.from(hex, "hex")))
console.log(JSON.stringify([decoded, decoded.map((message) => decode(encode(message)))]))
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("node"), "--bind", "tcp://127.0.0.1:0") as found:
        yield found


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["node", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={**os.environ, **environment},
    )


def run_module(code: str, *arguments: str) -> str:
    done = run("--input-type=module", "-e", code.replace("ROOT", EXAMPLE.as_posix()), *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("over", ["ipc", "tcp"])
def test_the_example_talks_to_a_daemon(daemon: Served, over: str) -> None:
    found = json.loads(run_module(CONVERSATION, getattr(daemon, over)))
    assert found["legal"]["moves"] == ["f4", "d6", "f6"]
    assert found["refused"] == ["illegal_move", "moves"]
    assert (found["long"], found["many"]) == (3, 300)
    assert found["partials"] >= 3
    assert found["kept"]["finished"] is False
    assert found["cancelled"] == ["cancelled", False]
    assert found["event"] == ["status", "number"]


def test_the_example_runs_as_a_program(daemon: Served) -> None:
    done = run(str(EXAMPLE / "analyze_game.js"), "f5d6c3", "2", DESDAEMON_RUNTIME_DIR=str(daemon.runtime))
    assert (done.returncode, done.stderr) == (0, "")
    first, *plies, total, look = done.stdout.splitlines()
    assert first.endswith("role admin")
    assert sorted(line.split(":")[0] for line in plies) == ["0", "1", "2", "3"]
    assert total.startswith("4 positions in ")
    assert look == "not in the book"


def test_the_example_tells_that_no_daemon_is_there(tmp_path: Path) -> None:
    done = run(str(EXAMPLE / "analyze_game.js"), "f5", "1", f"ipc://{tmp_path}/nothing.sock")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ENOENT" in done.stderr


def test_recorded_messages_are_decoded_the_same() -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))
    exchanges = [found for found in golden["exchanges"] if "largest" not in found["name"]]
    recorded = [part for found in exchanges for part in (found["request"], *found["replies"])]
    wanted = [message["message"] for message in (*recorded, *golden["events"])]
    decoded, again = json.loads(run_module(DECODING, str(GOLDEN)))
    assert decoded == wanted
    assert again == wanted
