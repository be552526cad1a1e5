"""`python tests/lab page`: the time until the page is loaded, until a move has its hints, and the cost of many tabs.

It starts a daemon and a gateway of its own. Pages are measured in a headless Chromium; without one those figures are
left out. Further tabs are sockets that send a page's requests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from desdaemon.clients.arguments import Parser
from desdaemon.clients.bench.daemon import PROGRAM, BenchDaemon, random_line
from desdaemon.clients.bench.server import MeasuredFigure, percentile, table
from desdaemon.clients.errors import DaemonError, NoDaemon
from desdaemon.protocol.othello.notation import START, board_text, parse_moves
from desdaemon.protocol.othello.rules import squares
from desdaemon.protocol.system import logs, platform

_MOVES = 40
_TABS = 30
_ROUNDS = 6
_PAUSE_S = 3.0
_RECONNECTS = 1_000
_LOADS = 10
_LEVEL = 16


def command_line() -> Parser:
    """The command line."""
    parser = Parser("lab page", description="Measure the board in the browser and its gateway.")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="search threads of the daemon")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, to see whether it works")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    return parser


def main(arguments: list[str]) -> int:
    """Measure and print a table; returns 0, 1 when an aim was missed or something could not be started."""
    named = command_line().parse_args(arguments)
    try:
        figures = _measure(named)
    except ImportError:
        from desdaemon.clients.web.web import WITHOUT_TORNADO

        logs.echo(WITHOUT_TORNADO)
        return 1
    except DaemonError as error:
        logs.message(str(error), "lab page", level="error")
        return 1
    if named.json:
        sys.stdout.write(json.dumps({"figures": [figure._asdict() for figure in figures]}) + "\n")
    else:
        sys.stdout.write(table(figures, "the page and its gateway"))
    return int(not all(figure.reached for figure in figures))


def _measure(named: argparse.Namespace) -> list[MeasuredFigure]:
    from desdaemon.clients.web.page_files import page_weight

    plain, packed = page_weight()
    figures = [
        MeasuredFigure("page, all files", plain / 1000, "kB", 200),
        MeasuredFigure("page, all files as sent (gzip)", packed / 1000, "kB"),
    ]
    divisor = 10 if named.quick else 1
    with (
        tempfile.TemporaryDirectory() as folder,
        BenchDaemon(Path(folder), named.threads) as daemon,
        _GatewayProcess(Path(folder), daemon.ipc) as gateway,
    ):
        figures += asyncio.run(_in_browser(gateway, divisor))
        figures += asyncio.run(_many_tabs(gateway, divisor))
        figures += asyncio.run(_reconnects(gateway, divisor))
    return figures


class _GatewayProcess:
    """`desdaemon web` as a process before a daemon."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self._environment = {**os.environ, "DESDAEMON_RUNTIME_DIR": str(folder / "web")}
        self._endpoint = endpoint

    def __enter__(self) -> _GatewayProcess:
        self._process = subprocess.Popen(
            [*PROGRAM, "web", self._endpoint, "--no-browser", "--listen", ":0"],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        self.address = self._process.stdout.readline().strip()
        if not self.address:
            raise NoDaemon("the gateway to be measured did not start")
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()

    @property
    def memory_mb(self) -> float:
        """Resident memory of its own."""
        return platform.own_bytes(self._process.pid) / (1 << 20)


# In a browser

_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_HINTED = """new Promise(resolve => {
    const { game, board } = desdaemon, began = performance.now();
    game.play(%s);
    const legal = [...document.querySelectorAll(".square.playable")].length;
    (function look() {
        const shown = [...document.querySelectorAll(".playable .hint b")].filter(e => e.textContent).length;
        shown >= legal ? resolve(performance.now() - began) : setTimeout(look, 1);
    })();
})"""

_READ = """new Promise(resolve => {
    const { game, preferences, teacher } = desdaemon;
    for (const side of ["black", "white"]) preferences.set(side, "human");
    game.open({ moves: %s }, true);
    const began = performance.now();
    preferences.set(game.now.side === "X" ? "white" : "black", "engine");
    (function look() { teacher.running ? setTimeout(look, 1) : resolve(performance.now() - began); })();
})"""


async def _in_browser(gateway: _GatewayProcess, divisor: int) -> list[MeasuredFigure]:
    from browser import Browser, find_chromium

    program = find_chromium()
    if not program:
        logs.message("no Chromium here: first paint and hints in the page are not measured", "lab page")
        return []
    async with Browser(program) as browser:
        tab = await browser.tab(gateway.address)
        ready = "window.desdaemon && desdaemon.socket.connected"
        await tab.until(ready)
        paints = []
        for _ in range(max(2, _LOADS // divisor)):
            await tab.call("Page.reload", ignoreCache=True)
            await tab.until(f"{ready} && {_PAINT}")
            paints.append(float(await tab.evaluate(_PAINT)))
        await tab.evaluate(f"desdaemon.preferences.set('level', {_LEVEL})")
        waits = []
        for seed in range(max(2, _MOVES // divisor)):
            line = random_line(random.Random(seed), 8 + seed % 40)
            await tab.evaluate(f"desdaemon.game.open({{moves: {line[:-2]!r}}}, true)")
            await tab.until("desdaemon.hints.running || desdaemon.hints.settled")
            waits.append(float(await tab.evaluate(_HINTED % json.dumps(line[-2:]))))
        await tab.evaluate("desdaemon.preferences.set('warn', 4)")
        reads = []
        for seed in range(max(2, _MOVES // divisor)):
            line = random_line(random.Random(seed), 8 + seed % 40)
            reads.append(float(await tab.evaluate(_READ % json.dumps(line))))
        await tab.close()
    return [
        MeasuredFigure("first paint, without the browser's cache, median", percentile(paints, 50), "ms", 300),
        MeasuredFigure("first paint, longest", max(paints), "ms"),
        MeasuredFigure("a move to hints on all squares, p50", percentile(waits, 50), "ms"),
        MeasuredFigure("a move to hints on all squares, p95", percentile(waits, 95), "ms", 100),
        MeasuredFigure("the user's turn to a judgement of all moves (Learn), p50", percentile(reads, 50), "ms"),
        MeasuredFigure("the user's turn to a judgement of all moves (Learn), longest", max(reads), "ms", 500),
    ]


# As pages ask


class _Page:
    """A socket that requests hints as a page does."""

    def __init__(self, connection: Any, dice: random.Random) -> None:
        self._connection = connection
        self.dice = dice
        self._number = 0

    async def hints(self) -> float:
        """The seconds from a move to a score for every legal move; the analysis before it is cancelled."""
        position = START
        for move in parse_moves(random_line(self.dice, 10 + self.dice.randrange(30))):
            position = position.after(move) if not position.must_pass else position
        count = len(squares(position.moves))
        if not count:
            return 0.0
        if self._number:
            self._send("cancel", {"target": self._number})
        began = time.perf_counter()
        asked = self._send(
            "analyze",
            {"board": board_text(position), "multipv": count, "partial_ms": 40, "book": "use", "level": _LEVEL},
        )
        while True:
            message = json.loads(await self._connection.read_message())
            if message.get("id") == asked and len(message.get("data", {}).get("moves", ())) == count:
                return time.perf_counter() - began

    def close(self) -> None:
        """Close the tab."""
        self._connection.close()

    def _send(self, op: str, args: dict[str, Any]) -> int:
        self._number += 1
        self._connection.write_message(json.dumps({"v": 1, "id": self._number, "op": op, "args": args}))
        return self._number


async def _connected(gateway: _GatewayProcess, cookie: str) -> Any:
    from tornado.httpclient import AsyncHTTPClient, HTTPRequest
    from tornado.websocket import websocket_connect

    origin = gateway.address.partition("/?")[0]
    headers = {"Origin": origin, "Cookie": cookie}
    board = await AsyncHTTPClient().fetch(f"{origin}/", headers=headers)
    (token,) = re.findall('<meta name="page" content="([^"]+)">', board.body.decode())
    address = f"{origin.replace('http', 'ws', 1)}/socket?page={token}"
    connection = await websocket_connect(HTTPRequest(address, headers=headers))
    # The gateway says when the daemon is there.
    await connection.read_message()
    return connection


async def _cookie(gateway: _GatewayProcess) -> str:
    from tornado.httpclient import AsyncHTTPClient

    answer = await AsyncHTTPClient().fetch(gateway.address)
    return str(answer.headers["Set-Cookie"]).partition(";")[0]


async def _many_tabs(gateway: _GatewayProcess, divisor: int) -> list[MeasuredFigure]:
    cookie = await _cookie(gateway)
    pages = [_Page(await _connected(gateway, cookie), random.Random(seed)) for seed in range(_TABS)]
    rounds = max(1, _ROUNDS // divisor)
    apart = await asyncio.gather(*(_moves(page, rounds) for page in pages))
    together = []
    for _ in range(rounds):
        await asyncio.sleep(_PAUSE_S)
        together.append(await asyncio.gather(*(page.hints() for page in pages)))
    for page in pages:
        page.close()
    return [
        _longest(f"{_TABS} tabs, a move of each every {_PAUSE_S:g} s, longest wait", apart, 1.0),
        _longest(f"{_TABS} tabs, all move at once every {_PAUSE_S:g} s, longest wait", together, 1.0),
    ]


def _longest(name: str, waited: list[list[float]], aim: float) -> MeasuredFigure:
    waits = [wait for some in waited for wait in some]
    note = f"p50 {percentile(waits, 50):.2f} s, p95 {percentile(waits, 95):.2f} s"
    return MeasuredFigure(name, max(waits), "s", aim, note=note)


async def _moves(page: _Page, rounds: int) -> list[float]:
    """Seconds that each move waited for its hints; moves come at moments of the page's own."""
    waits = []
    for _ in range(rounds):
        await asyncio.sleep(page.dice.uniform(0.0, 2 * _PAUSE_S))
        waits.append(await page.hints())
    return waits


async def _reconnects(gateway: _GatewayProcess, divisor: int) -> list[MeasuredFigure]:
    cookie = await _cookie(gateway)
    count = _RECONNECTS // divisor

    async def one() -> None:
        connection = await _connected(gateway, cookie)
        connection.write_message('{"v":1,"id":1,"op":"web.names"}')
        await connection.read_message()
        connection.close()
        while await connection.read_message() is not None:
            pass

    # Within the first thousand the C library's heap reaches the size that it keeps.
    for _ in range(count):
        await one()
    before = gateway.memory_mb
    for _ in range(count):
        await one()
    growth = gateway.memory_mb - before
    return [
        MeasuredFigure(f"gateway's memory over {count} reconnects", growth, "MB", 2, note=f"{before:.0f} MB before")
    ]
