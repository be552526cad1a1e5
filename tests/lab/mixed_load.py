"""`python tests/lab mixed_load`: analyses, look-ups, book jobs and short-lived clients, and the daemon's memory
meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from desdaemon.clients.arguments import Parser
from desdaemon.clients.asynchronous import AsyncClient
from desdaemon.clients.bench.daemon import BenchDaemon, ended_by_signals, random_line
from desdaemon.clients.bench.server import MeasuredFigure, table
from desdaemon.clients.errors import DaemonError
from desdaemon.protocol.system import logs

_SAMPLES = 40
# What a daemon fills once, tables and caches, is full after this part of the time.
_WARM = 0.25


class BenchLoad(NamedTuple):
    """The memory (seconds since the start, MB), its growth after the warm-up, and the latencies of ping meanwhile."""

    samples: list[tuple[float, float]]
    growth_mb: float
    ping_p99_ms: float
    summary: str


class _Crowd:
    """Tasks that run until the time is over; ``counts`` is the number of times each was carried out."""

    def __init__(self, daemon: BenchDaemon, seconds: float) -> None:
        self.daemon = daemon
        self.end = time.monotonic() + seconds
        self.counts: Counter[str] = Counter()
        self.pings: list[float] = []

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.end

    async def analyse(self, seed: int) -> None:
        """Analyses of positions and games, some of them cancelled."""
        dice = random.Random(seed)
        async with await AsyncClient.connect(self.daemon.ipc) as client:
            while not self.over:
                line = random_line(dice, dice.randrange(4, 30))
                if dice.random() < 0.2:
                    await client.analyze_game(line, level=4)
                    self.counts["games"] += 1
                elif dice.random() < 0.2:
                    analysis = client.analyze(moves=line, level=60, partial_ms=20)
                    await asyncio.sleep(dice.random() / 5)
                    await analysis.cancel()
                    self.counts["cancelled analyses"] += 1
                else:
                    await client.analyze(moves=line, level=dice.randrange(2, 10), multipv=dice.choice((1, 3)))
                    self.counts["analyses"] += 1

    async def look_up(self, seed: int) -> None:
        """Bursts of book look-ups and legal moves."""
        dice = random.Random(seed)
        async with await AsyncClient.connect(self.daemon.tcp) as client:
            while not self.over:
                await client.look_up(random_line(dice, dice.randrange(1, 12)) for _ in range(100))
                await client.legal(moves=random_line(dice, 20))
                self.counts["look-ups"] += 100
                await asyncio.sleep(0.05)

    async def grow(self, seed: int) -> None:
        """Lines stored in the book, and learning that is cancelled."""
        dice = random.Random(seed)
        async with await AsyncClient.connect(self.daemon.ipc) as client:
            while not self.over:
                await client.book("store", moves=random_line(dice, 8))
                window = {"depth": 20, "per_move": 2, "cumulative": 4, "leaf": 2, "level": 1}
                job = client.book("learn", moves=random_line(dice, 6), **window)
                await job.wait(2)
                await job.cancel()
                self.counts["book jobs"] += 2

    async def play(self, seed: int) -> None:
        """Clients that come, play a few moves by text, and go."""
        dice = random.Random(seed)
        while not self.over:
            async with await AsyncClient.connect(self.daemon.ipc) as client:
                for line in ("level 2", f"play {random_line(dice, 6)}", "hint 2", "undo", "moves"):
                    await client.text(line)
            self.counts["short-lived clients"] += 1

    async def ping(self) -> None:
        """A client that pings the daemon."""
        async with await AsyncClient.connect(self.daemon.ipc) as client:
            while not self.over:
                self.pings.append(await client.ping())
                await asyncio.sleep(0.05)


async def mixed_load(daemon: BenchDaemon, seconds: float) -> BenchLoad:
    """Load a daemon for ``seconds``; raises `DaemonError` where a request fails unexpectedly."""
    crowd = _Crowd(daemon, seconds)
    began = time.monotonic()
    tasks = [crowd.analyse(1), crowd.analyse(2), crowd.analyse(3), crowd.look_up(4), crowd.play(5), crowd.play(6)]
    running = [asyncio.ensure_future(task) for task in [*tasks, crowd.grow(7), crowd.ping()]]
    samples = [(0.0, daemon.memory_mb)]
    while not crowd.over:
        await asyncio.sleep(min(seconds / _SAMPLES, max(0.1, crowd.end - time.monotonic())))
        if daemon.process.poll() is not None:
            raise DaemonError("internal", "the daemon ended under the load")
        samples.append((time.monotonic() - began, daemon.memory_mb))
    await asyncio.gather(*running)
    warm = [mb for at, mb in samples if at >= _WARM * seconds]
    pings = sorted(crowd.pings)
    summary = ", ".join(f"{count} {name}" for name, count in sorted(crowd.counts.items()))
    return BenchLoad(samples, warm[-1] - warm[0], pings[int(0.99 * (len(pings) - 1))], summary)


def main(arguments: list[str]) -> int:
    """Print the figures and the memory; the exit status is 1 where it grew by more than 32 MB or the daemon failed."""
    parser = Parser("lab mixed_load", description="Load a daemon in every way and watch its memory.")
    parser.add_argument("--minutes", type=float, default=20.0, help="how long; 20 unless given")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="search threads of the daemon")
    named = parser.parse_args(arguments)
    try:
        with (
            ended_by_signals(),
            tempfile.TemporaryDirectory() as folder,
            BenchDaemon(Path(folder), named.threads) as daemon,
        ):
            load = asyncio.run(mixed_load(daemon, 60 * named.minutes))
    except DaemonError as error:
        logs.message(str(error), "lab mixed_load", level="error")
        return 1
    growth = MeasuredFigure("growth of memory", load.growth_mb, "MB", 32, note=load.summary)
    sys.stdout.write(table([growth, MeasuredFigure("ping p99", load.ping_p99_ms, "ms")], "under a mixed load"))
    sys.stdout.write("\nminutes   memory MB\n")
    sys.stdout.writelines(f"{seconds / 60:7.1f}   {mb:11.1f}\n" for seconds, mb in load.samples)
    return int(not growth.reached)
