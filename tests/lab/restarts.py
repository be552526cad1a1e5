"""`python tests/lab restarts`: clients at work while the daemon is killed every few seconds under its supervisor.

Repeatable requests must be answered, with no more than a delay; others must either be done or raise `ConnectionLost`.
Everything acknowledged must be in the book at the end.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import psutil

from desdaemon.clients.arguments import Parser
from desdaemon.clients.asynchronous import AsyncClient
from desdaemon.clients.bench.daemon import PROGRAM, random_line
from desdaemon.clients.errors import ConnectionLost, DaemonError
from desdaemon.protocol.system import logs

from .signals import ended_by_signals

_CLIENTS = 10
_START_S = 120.0
_PATIENCE_S = 120.0
_PAUSE_S = 0.01
_END_S = 30.0


class RestartOutcome(NamedTuple):
    """The result of a run: requests done, by kind, those reported as lost, failures, and seconds without a daemon."""

    done: Counter[str]
    lost: Counter[str]
    problems: list[str]
    gaps: list[float]


class _Supervised:
    """`desdaemon serve --supervise` as a process, with a book that has a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "run" / "connection.json"

    async def __aenter__(self) -> _Supervised:
        data = self.folder / "data"
        data.mkdir()
        arguments = ["serve", "--supervise", "--data", str(data), "-book-file", str(data / "kept.book"), "-l", "4"]
        environment = {**os.environ, "DESDAEMON_RUNTIME_DIR": str(self.folder / "run")}
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [*PROGRAM, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            await self._prepare()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def _prepare(self) -> None:
        until = time.monotonic() + _START_S
        while not self._file.exists():
            if self.process.poll() is not None or time.monotonic() > until:
                raise DaemonError("no_daemon", f"the daemon did not start: {self.log[-500:]}")
            await asyncio.sleep(0.02)
        self.endpoint: str = json.loads(self._file.read_text())["endpoints"][0]
        async with await AsyncClient.connect(self.endpoint) as admin:
            await admin.request("book.new", {"level": 1, "depth": 20})
            await admin.request("book.save", {"file": "kept.book"})
            await admin.analyze(level=1)

    async def __aexit__(self, *error: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @property
    def log(self) -> str:
        """The messages of the daemons and the supervisor."""
        return (self.folder / "log").read_text(errors="replace")

    def kill(self) -> None:
        """Kill the daemon, not the supervisor."""
        psutil.Process(int(json.loads(self._file.read_text())["pid"])).kill()


class _BackgroundWork:
    """The clients' work during a run."""

    def __init__(self, supervised: _Supervised, seconds: float, interval: float) -> None:
        self.outcome = RestartOutcome(Counter(), Counter(), [], [])
        self._supervised = supervised
        self._end = time.monotonic() + seconds
        self._interval = interval
        self._stored: list[str] = []

    async def run(self) -> RestartOutcome:
        """Work until the time is over, then check that everything acknowledged is in the book."""
        clients = [asyncio.ensure_future(self._client(number)) for number in range(_CLIENTS)]
        while time.monotonic() + self._interval < self._end:
            await asyncio.sleep(self._interval)
            self._supervised.kill()
            self.outcome.done["kills"] += 1
            began = time.monotonic()
            # Asked by a client of its own, as by somebody who comes just now.
            async with await AsyncClient.connect(self._supervised.endpoint, timeout_s=_PATIENCE_S) as client:
                await client.request("ping")
            self.outcome.gaps.append(time.monotonic() - began)
        await asyncio.gather(*clients)
        async with await AsyncClient.connect(self._supervised.endpoint, timeout_s=_PATIENCE_S) as client:
            for line in self._stored:
                if not (await client.book_get(moves=line)).found:
                    self.outcome.problems.append("a stored line is not in the book")
        return self.outcome

    async def _client(self, number: int) -> None:
        dice = random.Random(number)
        async with await AsyncClient.connect(self._supervised.endpoint, patience_s=_PATIENCE_S) as client:
            while time.monotonic() < self._end:
                kind = dice.choice(("analyse", "game", "look", "legal", "ping", "text", "store"))
                try:
                    await asyncio.wait_for(self._do(client, kind, dice), _PATIENCE_S)
                    self.outcome.done[kind] += 1
                except ConnectionLost as error:
                    self.outcome.lost[kind] += 1
                    if kind not in ("text", "store"):
                        self.outcome.problems.append(f"{kind}: {error}")
                except TimeoutError:
                    self.outcome.problems.append(f"{kind}: no answer within {_PATIENCE_S:.0f} s")
                except DaemonError as error:
                    self.outcome.problems.append(f"{kind}: {error}")
                await asyncio.sleep(_PAUSE_S)

    async def _do(self, client: AsyncClient, kind: str, dice: random.Random) -> None:
        line = random_line(dice, dice.randrange(4, 30))
        if kind == "analyse":
            await client.analyze(moves=line, level=dice.randrange(3, 12), book="ignore")
        elif kind == "game":
            await client.analyze_game(line, level=3)
        elif kind == "look":
            await client.book_get(moves=line)
        elif kind == "legal":
            await client.legal(moves=line)
        elif kind == "ping":
            await client.request("ping")
        elif kind == "text":
            await client.text("version")
        else:
            stored = random_line(dice, 6)
            await client.book("store", moves=stored)
            self._stored.append(stored)


async def _measure(seconds: float, interval: float) -> tuple[RestartOutcome, str]:
    with tempfile.TemporaryDirectory() as folder:
        async with _Supervised(Path(folder)) as supervised:
            outcome = await _BackgroundWork(supervised, seconds, interval).run()
        return outcome, supervised.log


def command_line() -> Parser:
    """The command line."""
    parser = Parser("lab restarts", description="Clients at work while the daemon is killed and restarted.")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long; 10 unless given")
    parser.add_argument("--interval", type=float, default=20.0, help="seconds between two kills; 20 unless given")
    return parser


def main(arguments: list[str]) -> int:
    """Kill and work; the exit status is 1 where a client saw an error that it should not have seen."""
    named = command_line().parse_args(arguments)
    try:
        with ended_by_signals():
            outcome, log = asyncio.run(_measure(60 * named.minutes, named.interval))
    except DaemonError as error:
        logs.message(str(error), "lab restarts", level="error")
        return 1
    gaps = sorted(outcome.gaps)
    for title, counts in (("done", outcome.done), ("lost, and said so", outcome.lost)):
        sys.stdout.write(f"{title}: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) + "\n")
    if gaps:
        sys.stdout.write(
            f"from a kill to the first answer to a new client: median {gaps[len(gaps) // 2]:.2f} s, "
            f"longest {gaps[-1]:.2f} s\n"
        )
    for problem in sorted(set(outcome.problems)):
        sys.stdout.write(f"failed: {problem}\n")
    if "mistake" in log or len(gaps) > log.count("daemon died"):
        sys.stdout.write("failed: the daemon's log does not tell of kills alone\n")
        logs.echo(log[-4000:])
        return 1
    return int(bool(outcome.problems))
