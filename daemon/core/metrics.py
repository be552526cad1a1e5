"""Metrics of the daemon: counters, latencies and present problems, for `status` and OpenMetrics."""

from __future__ import annotations

import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Hashable
from typing import Any

from desdaemon.protocol import satellites
from desdaemon.protocol.system import logs, platform
from desdaemon.protocol.system.logs import Log

GIVEN_WAY_S = 0.005
"""Longest wait of `ServerMetrics.give_way`, seconds."""

_GIVEN_WAY_STEP_S = 0.0005

BUCKETS_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
"""Upper bounds of the latency histogram's buckets, seconds."""


def account_of(client: str) -> str:
    """Return the account to which a client's work is charged: the part of the client's name before ``/``. It is the
    name of its key or, without a key, the way it is connected.
    """
    return client.partition("/")[0]


class Account:
    """Use of the daemon by one key since the process started: requests, nodes, and ``seconds`` of search threads."""

    __slots__ = ("nodes", "requests", "seconds")

    def __init__(self) -> None:
        self.requests = 0
        self.nodes = 0
        self.seconds = 0.0


class Accounts:
    """Accounts by key; clients without a key share one if they connect alike. Any thread may call the methods."""

    def __init__(self) -> None:
        self._accounts: dict[Hashable, Account] = {}
        self._lock = threading.Lock()

    def asked(self, key: Hashable) -> None:
        """Count a request of a key."""
        with self._lock:
            self._account(key).requests += 1

    def searched(self, key: Hashable, nodes: int) -> None:
        """Count nodes that a search or one of its turns visited."""
        with self._lock:
            self._account(key).nodes += nodes

    def ran(self, key: Hashable, seconds: float) -> None:
        """Count seconds that search threads worked for a key."""
        if seconds:
            with self._lock:
                self._account(key).seconds += seconds

    def _account(self, key: Hashable) -> Account:
        account = self._accounts.get(key)
        if account is None:
            account = self._accounts[key] = Account()
        return account

    def listed(self) -> list[tuple[str, Account]]:
        """Return pairs (key, account) of all accounts, ordered by key. The accounts go on counting."""
        with self._lock:
            return sorted((str(key), account) for key, account in self._accounts.items())


class ServerMetrics:
    """Counters, latencies and present problems. Any thread may call the methods. There is no lock, so that a few
    counts may be lost.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        self.nodes = 0
        self.searches = 0
        self.clients = 0
        self.restarts = 0
        """Restarts of the daemon by its supervisor."""
        self.counters: dict[str, int] = {}
        """Counts of events that should not happen often, by name."""
        self._problems: dict[str, str] = {}
        self.longest_turn_s = 0.0
        """Longest time between two reads of the sockets, seconds."""
        self.longest_operation: tuple[float, str] = (0.0, "")
        """The request that kept the loop of the sockets longest: seconds, operation."""
        self.loop_busy: Callable[[], bool] = lambda: False
        """Returns whether the loop of the sockets has anything to do; set by `Sockets`."""
        self._begun = time.perf_counter()
        self._handled: dict[str, int] = {}
        self._refused: dict[str, int] = {}
        self._buckets = [0] * (len(BUCKETS_S) + 1)
        self._seconds = 0.0

    @property
    def uptime_s(self) -> float:
        """Seconds since the process started."""
        return round(time.perf_counter() - self._begun, 3)

    @property
    def memory_mb(self) -> float:
        """Resident memory of the process, MB."""
        return round(platform.resident_bytes() / 1e6, 1)

    def give_way(self) -> None:
        """Wait until the loop of the sockets has nothing to do, `GIVEN_WAY_S` at most.

        Background threads that run much Python call this between pieces of their work. Otherwise the loop, which
        gives up the interpreter at each system call, would have it for only half of the time.
        """
        until = time.perf_counter() + GIVEN_WAY_S
        while self.loop_busy() and time.perf_counter() < until:
            time.sleep(_GIVEN_WAY_STEP_S)

    def handled(self, operation: str, seconds: float) -> None:
        """Count a request for ``operation`` that kept its thread busy for ``seconds``."""
        self._handled[operation] = self._handled.get(operation, 0) + 1
        self._buckets[bisect_left(BUCKETS_S, seconds)] += 1
        if seconds > self.longest_operation[0]:
            self.longest_operation = seconds, operation
        self._seconds += seconds

    def refused(self, code: str) -> None:
        """Count a request that ended with an error of this ``code``."""
        self._refused[code] = self._refused.get(code, 0) + 1

    def problem(self, what: str, text: str = "") -> None:
        """Note that ``what`` does not work at present, and why (``text``, one line); if ``text`` is "", note that it
        works. Changes are logged.
        """
        if text == self._problems.get(what, ""):
            return
        if text:
            self._problems[what] = text
            self.log.error("problem", what=what, reason=text)
        else:
            del self._problems[what]
            self.log.info("problem solved", what=what)

    @property
    def problems(self) -> list[str]:
        """The present problems, a line each."""
        return list(self._problems.values())

    def count(self, what: str, number: int = 1) -> None:
        """Add ``number`` to the counter ``what``."""
        self.counters[what] = self.counters.get(what, 0) + number

    def searched(self, nodes: int) -> None:
        """Count a finished search and its nodes."""
        self.searches += 1
        self.nodes += nodes

    def mistake(self, where: str) -> None:
        """Count the exception that is being handled, and log it with ``where``, a name for the place. Repetitions are
        logged ever more rarely, as `logs.trace` says. Call this in the ``except`` block.
        """
        self.count("mistakes")
        error = sys.exception()
        told = logs.trace(error) if error is not None else "no exception"
        if told:
            self.log.error("mistake", where=where, trace=told)

    def open_metrics(self, status: dict[str, Any]) -> str:
        """Return all metrics as OpenMetrics text; ``status`` is the data of the operation `status`."""
        lines: list[str] = []

        def family(name: str, kind: str, help: str, samples: list[tuple[str, float]]) -> None:
            lines.append(f"# TYPE desdaemon_{name} {kind}")
            lines.append(f"# HELP desdaemon_{name} {help}")
            lines.extend(f"desdaemon_{name}{suffix} {value:g}" for suffix, value in samples)

        family("uptime_seconds", "gauge", "Since the start.", [("", self.uptime_s)])
        family("restarts", "counter", "Restarts by the supervisor.", [("_total", self.restarts)])
        family("memory_bytes", "gauge", "Resident memory.", [("", self.memory_mb * 1e6)])
        family("clients", "gauge", "Clients that are known.", [("", self.clients)])
        family("search_threads", "gauge", "Searches at a time.", [("", status["threads"])])
        family("searches_queued", "gauge", "Searches that wait.", [("", status["queued"])])
        family("searches_running", "gauge", "Searches that run.", [("", status["running"])])
        family("searches", "counter", "Searches that are over.", [("_total", self.searches)])
        family("nodes", "counter", "Nodes of searches that are over.", [("_total", self.nodes)])
        book = status["book"]
        family("problems", "gauge", "What does not work; status says what.", [("", len(status["problems"]))])
        family("book_positions", "gauge", "Positions of the book.", [("", book["positions"])])
        family("book_writable", "gauge", "1 where the book's file takes changes.", [("", book["writable"])])
        for part in (part for satellite in satellites.present("daemon_parts") for part in satellite.daemon_parts):
            numbers = status.get(part.name, {})
            for name, help in part.gauges.items():
                family(f"{part.name}_{name}", "gauge", help, [("", numbers.get(name, 0))])
        samples: list[tuple[str, float]] = [(f'_total{{op="{op}"}}', n) for op, n in sorted(self._handled.items())]
        family("requests", "counter", "Requests taken.", samples)
        samples = [(f'_total{{code="{code}"}}', n) for code, n in sorted(self._refused.items())]
        family("errors", "counter", "Requests that ended with an error.", samples)
        samples = [(f'_total{{what="{what}"}}', n) for what, n in sorted(self.counters.items())]
        family("incidents", "counter", "What should not happen often.", samples)
        samples, total = [], 0
        for end, number in zip((*(f"{s:g}" for s in BUCKETS_S), "+Inf"), self._buckets, strict=True):
            total += number
            samples.append((f'_bucket{{le="{end}"}}', total))
        samples += [("_sum", self._seconds), ("_count", total)]
        family("request_handling_seconds", "histogram", "Time to take a request, its search not included.", samples)
        return "\n".join([*lines, "# EOF"]) + "\n"
