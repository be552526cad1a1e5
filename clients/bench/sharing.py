"""Measurements of a daemon with contended search threads: waits, shares by key, rates, the longest turn of the loop."""

from __future__ import annotations

import json
import random
import threading
import time

from .daemon import BenchDaemon, BenchPeer, random_line
from .figures import MeasuredFigure, percentile

_BUSY = 50
_CONNECTIONS = 40
_SHARING_S = 40
_BATCH = 100
_LISTS = 8
"""Lists in flight."""
_HOLDS_PLIES = 10
_LONE = 2
_HASH_BITS = 21
"""Of the daemon's tables."""


def waits(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    """Fifty clients search without end; new ones ask a question of level 3 each."""
    with BenchPeer(daemon.ipc) as admin:
        busy = [BenchPeer(daemon.ipc, admin.context) for _ in range(_BUSY)]
        for seed, peer in enumerate(busy):
            peer.send("analyze", {"moves": random_line(random.Random(-1 - seed), 10), "level": 60, "book": "ignore"})
        daemon.until_running(admin, daemon.threads)
        daemon.settle(5 / divisor)
        times = []
        for seed in range(400 // divisor):
            with BenchPeer(daemon.ipc) as new:
                args = {"moves": random_line(random.Random(10**7 + seed), 14), "level": 3, "book": "ignore"}
                times.append(1000 * new.timed("analyze", args))
        for peer in busy:
            peer.close()
    name = f"{_BUSY} endless searches, a new client's level 3"
    return [
        MeasuredFigure(f"{name}, p50", percentile(times, 50), "ms"),
        MeasuredFigure(f"{name}, p95", percentile(times, 95), "ms", 100),
        MeasuredFigure(f"{name}, max", max(times), "ms"),
    ]


def lone(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    """One client analyses and nobody else wants anything, so that all threads search for it; then others ask."""
    level = 27 if divisor == 1 else 16
    threads = ["-n", str(daemon.threads), "-hash-table-size", str(_HASH_BITS)]

    def dialogue(line: str, level: int) -> float:
        began = time.perf_counter()
        daemon.beside("-level", str(level), *threads, lines=f"play {line}\nhint 1\nquit\n")
        return time.perf_counter() - began

    served = alone = 0.0
    times = []
    with BenchPeer(daemon.ipc) as peer:
        for seed in range(_LONE):
            line = random_line(random.Random(20 + seed), 14)
            alone += dialogue(line, level) - dialogue(line, 1)
            served += peer.timed("analyze", {"moves": line, "level": level, "book": "ignore"})
        peer.send("analyze", {"moves": random_line(random.Random(1), 10), "level": 60, "book": "ignore"})
        daemon.settle(5 / divisor)
        for seed in range(400 // divisor):
            with BenchPeer(daemon.ipc) as new:
                args = {"moves": random_line(random.Random(10**7 + seed), 14), "level": 3, "book": "ignore"}
                times.append(1000 * new.timed("analyze", args))
    name = f"{daemon.threads} threads at one search, a new client's level 3"
    note = f"{served:.1f} s and {alone:.1f} s, {_LONE} positions"
    return [
        MeasuredFigure(
            f"analyze of level {level}, a dialogue with -n {daemon.threads}", served / alone, "times", 1.1, note=note
        ),
        MeasuredFigure(f"{name}, p50", percentile(times, 50), "ms"),
        MeasuredFigure(f"{name}, p95", percentile(times, 95), "ms", 10),
        MeasuredFigure(f"{name}, max", max(times), "ms"),
    ]


def shares(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    """One connection over ipc and forty over TCP, which are two keys, ask as much as they may."""
    with BenchPeer(daemon.ipc) as one:
        many = [BenchPeer(daemon.tcp, one.context) for _ in range(_CONNECTIONS)]
        dice = random.Random(5)
        for peer in [one, *many]:
            for _ in range(daemon.in_flight - 2):
                peer.send("analyze", {"moves": random_line(dice, 12), "level": 40, "book": "ignore"})
        daemon.settle(2)
        before = _seconds(one)
        daemon.settle(_SHARING_S / divisor)
        after = _seconds(one)
        for peer in many:
            peer.close()
    had = [after[key] - before[key] for key in ("ipc", "tcp")]
    mean = sum(had) / 2
    note = f"{had[0]:.1f} s and {had[1]:.1f} s of threads"
    apart = 100 * abs(had[0] - had[1]) / 2 / mean
    return [MeasuredFigure(f"keys with 1 and {_CONNECTIONS} connections, off the mean by", apart, "%", 10, note=note)]


def _seconds(admin: BenchPeer) -> dict[str, float]:
    return {found["key"]: found["seconds"] for found in admin.ask("status")["accounts"]}


def rates(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    """Analyses of level 5 of distinct positions, in lists and one a request, beside what the engine does alone."""
    (row,) = json.loads(daemon.beside("bench", "short", "--json"))["rows"]
    alone = int(row["note"].split()[0]) / float(row["seconds"])
    dice = random.Random(7)
    positions = sorted({random_line(dice, dice.randrange(8, 20)) for _ in range(60_000 // divisor)})
    limits = {"level": 5, "book": "ignore"}
    # Distinct lines may lead to one position, or its mirror image: few do.
    singles, listed = positions[::3], [line for number, line in enumerate(positions) if number % 3]
    lists = [
        {"positions": [{"moves": line} for line in listed[at : at + _BATCH]], **limits}
        for at in range(0, len(listed), _BATCH)
    ]
    with BenchPeer(daemon.ipc) as peer:
        together = peer.throughput("analyze", lists, len(lists), _LISTS) * len(listed) / len(lists)
        rate = peer.throughput(
            "analyze", [{"moves": line, **limits} for line in singles], len(singles), daemon.in_flight - 2
        )
    name = "analyze of level 5"
    both = alone * daemon.threads
    return [
        MeasuredFigure(f"{name}, lists of {_BATCH} distinct positions", together, "/s"),
        MeasuredFigure(f"{name}, a position a request", rate, "/s"),
        MeasuredFigure(f"{name}, the engine alone on a thread", alone, "/s"),
        MeasuredFigure(
            f"{name}, lists, part of engine x {daemon.threads} threads", 100 * together / both, "%", 80, at_least=True
        ),
        MeasuredFigure(f"{name}, requests, part of the same", 100 * rate / both, "%"),
    ]


def many(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    """Four clients look positions up in batches."""
    with BenchPeer(daemon.ipc) as admin:
        lines = [random_line(random.Random(seed), 12) for seed in range(1500)]
        for line in lines[:40]:
            admin.ask("book.store", {"moves": line})
        items = [{"moves": line[:cut]} for line in lines for cut in range(2, len(line) + 1, 2)]
        batches = [{"positions": items[at : at + _BATCH]} for at in range(0, len(items), _BATCH)]
        admin.throughput("book.get", batches, len(batches), 8)
        rates: list[float] = []

        def ask() -> None:
            with BenchPeer(daemon.ipc) as peer:
                rates.append(_BATCH * peer.throughput("book.get", batches, 4_000 // divisor, 8))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return [
        MeasuredFigure("book.get, 4 clients, batches of 100", sum(rates), "/s", 60_000, True, f"{len(items)} positions")
    ]


def holds(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    """Requests that are large in every way, and how long the loop that owns the sockets was busy with one of them.

    The book holds all positions to ply 10, 3.47 million, and a job works on all of it meanwhile.
    """
    line = random_line(random.Random(1), 50)
    with BenchPeer(daemon.ipc) as peer, BenchPeer(daemon.ipc) as editor:
        positions = editor.ask("book.enumerate", {"plies": _HOLDS_PLIES - 2 * (divisor > 1)})["positions"]
        editor.send("book.stats")
        for op, args in (
            ("analyze", {f"unknown {number}": 0 for number in range(4096)}),
            ("analyze", {"moves": line, "plies": list(range(51)), "level": 1}),
            ("analyze", {"positions": [{"moves": line[: 2 * (number % 51)]} for number in range(1000)], "level": 3}),
            ("analyze.batch", {"items": [{"moves": line}] * 4096, "level": 0}),
            ("book.get", {"positions": [{"moves": line[: 2 * (number % 51)]} for number in range(1000)]}),
            ("book.info", {}),
            ("text", {"line": "#" * 65_000}),
            ("metrics", {}),
        ):
            for _ in range(10 // divisor + 1):
                peer.timed(op, args)
        loop = peer.ask("status")["loop"]
    note = f"longest request: {loop['longest_request']} {loop['longest_request_ms']:.1f} ms; {positions} positions"
    return [MeasuredFigure("longest hold of the loop", loop["longest_turn_ms"], "ms", 20, note=note)]
