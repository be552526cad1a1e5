"""`python tests/lab scheduler`: simulated loads on the schedule, in figures that are the same on every machine.

An interruption takes `INTERRUPT_S` until the threads are free, and costs `RESUME_S` of the work done.
`tests/core/test_simulation.py` states what the figures must reach.
"""

from __future__ import annotations

import heapq
import json
import random
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from typing import NamedTuple

from desdaemon.core.search.schedule import Purpose, Task, ThreadSchedule
from desdaemon.protocol.command_line import Parser

INTERRUPT_S = 0.001
RESUME_S = 0.005
ENDLESS_S = 1e9


class Simulation:
    """A machine with ``slots`` search threads; `now` is its time in seconds. For one thread."""

    def __init__(self, slots: int) -> None:
        self.now = 0.0
        self.schedule = ThreadSchedule(slots)
        self.busy_s = 0.0
        """Thread time that was given out."""
        self.lost_s = 0.0
        """Thread time for work that had been done before."""
        self.interruptions = 0
        self.decisions = 0
        self.by_key: defaultdict[Hashable, float] = defaultdict(float)
        self.by_client: defaultdict[Hashable, float] = defaultdict(float)
        self.by_purpose: defaultdict[Purpose, float] = defaultdict(float)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0
        self._left: dict[Task, float] = {}
        self._done: dict[Task, Callable[[], None]] = {}
        self._begun: dict[Task, Callable[[], None]] = {}
        """Of tasks that have not run."""
        self._turn: Counter[Task] = Counter()
        self._from: dict[Task, float] = {}
        self._again = float("inf")

    def at(self, time: float, event: Callable[[], None]) -> None:
        """Call ``event`` at a time."""
        self._number += 1
        heapq.heappush(self._events, (time, self._number, event))

    def submit(
        self,
        task: Task,
        work_s: float,
        done: Callable[[], None] = lambda: None,
        begun: Callable[[], None] = lambda: None,
    ) -> None:
        """Add a task of ``work_s`` seconds of thread time; ``done`` is called at its end, ``begun`` when it starts."""
        self._left[task] = work_s
        self._done[task] = done
        self._begun[task] = begun
        self.schedule.add(task, self.now)
        self._decide()

    def remove(self, task: Task) -> None:
        """Remove a task that waits or runs."""
        if not task.running and not self.schedule.remove(task):
            return
        if task.running:
            self._release(task)
        self._forget(task)
        self._decide()

    def _forget(self, task: Task) -> None:
        self._begun.pop(task, None)
        self._turn.pop(task, None)
        self._from.pop(task, None)
        del self._left[task], self._done[task]

    def run(self, until: float) -> None:
        """Advance the time; ``busy_s`` and ``by_...`` then hold the thread time used so far."""
        while self._events and self._events[0][0] <= until:
            self.now, _, event = heapq.heappop(self._events)
            event()
        self.now = until
        for task in self.schedule.running:
            self._count(task)

    def _decide(self) -> None:
        self.decisions += 1
        decision = self.schedule.decide(self.now)
        for task in decision.start:
            self._turn[task] += 1
            turn = self._turn[task]
            self._from[task] = self.now
            self._begun.pop(task, lambda: None)()
            # A first result takes no time.
            task.reported = True
            self.at(self.now + self._left[task] / task.granted, lambda task=task, turn=turn: self._end(task, turn))  # type: ignore[misc]
        for task in decision.interrupt:
            self.interruptions += 1
            turn = self._turn[task]
            self.at(self.now + INTERRUPT_S, lambda task=task, turn=turn: self._interrupted(task, turn))  # type: ignore[misc]
        if decision.again < self._again:
            self._again = decision.again
            self.at(decision.again, self._look_again)

    def _look_again(self) -> None:
        if self.now >= self._again:
            self._again = float("inf")
            self._decide()

    def _count(self, task: Task) -> None:
        """Charge a running task the time since the last call."""
        spent = (self.now - self._from[task]) * task.granted
        self._from[task] = self.now
        self.busy_s += spent
        self.by_key[task.key] += spent
        self.by_client[task.client] += spent
        self.by_purpose[task.purpose] += spent

    def _release(self, task: Task, *, again: bool = False) -> float:
        self._count(task)
        ran = (self.now - task.began) * task.granted
        self.schedule.release(task, self.now, again=again)
        return ran

    def _end(self, task: Task, turn: int) -> None:
        if task.running and self._turn[task] == turn:
            self._release(task)
            done = self._done[task]
            self._forget(task)
            done()
            self._decide()

    def _interrupted(self, task: Task, turn: int) -> None:
        if task.running and self._turn[task] == turn:
            ran = self._release(task, again=True)
            lost = ran if task.restarts else min(ran, RESUME_S)
            self.lost_s += lost
            self._left[task] -= ran - lost
            self._decide()


class SimulatedLoad:
    """Clients of a simulated machine; ``waits`` has the waiting times of each kind of question, seconds."""

    def __init__(self, slots: int, seed: int = 1) -> None:
        self.machine = Simulation(slots)
        self.dice = random.Random(seed)
        self.waits: defaultdict[str, list[float]] = defaultdict(list)

    def endless(self, key: str, client: str, number: int = 1, purpose: Purpose = Purpose.ANALYSIS) -> None:
        """Add searches that end by a cancel only."""
        for _ in range(number):
            self.machine.submit(Task(purpose, key, client), ENDLESS_S)

    def stream(
        self,
        kind: str,
        key: str,
        client: str,
        work_s: Callable[[], float],
        *,
        in_flight: int = 1,
        pause_s: float = 0.0,
        purpose: Purpose = Purpose.ANALYSIS,
        start_s: float = 0.0,
    ) -> None:
        """Keep ``in_flight`` questions in flight; each answer is followed, after a pause, by the next question."""

        def ask() -> None:
            began = self.machine.now

            def answered() -> None:
                self.waits[kind].append(self.machine.now - began)
                self.machine.at(self.machine.now + pause_s * self.dice.uniform(0.5, 1.5), ask)

            self.machine.submit(Task(purpose, key, client, restarts=purpose is Purpose.BOOK), work_s(), answered)

        for _ in range(in_flight):
            self.machine.at(start_s + pause_s * self.dice.random(), ask)


class SimulatedFigure(NamedTuple):
    """A result: name, value, unit. `tests/core/test_simulation.py` states the aims."""

    name: str
    value: float
    unit: str


def percentile(values: list[float], percent: float) -> float:
    """The smallest value that is not less than so many percent of them."""
    return sorted(values)[min(len(values) - 1, int(len(values) * percent / 100))]


def _spread(shares: list[float]) -> float:
    """By how many percent the share farthest from the mean differs from it."""
    mean = statistics.mean(shares)
    return 100 * max(abs(share - mean) for share in shares) / mean


def short_questions(slots: int = 2, clients: int = 50, seconds: float = 120) -> list[SimulatedFigure]:
    """All threads search for others, without end; new clients ask a short question now and then."""
    load = SimulatedLoad(slots)
    for number in range(clients):
        load.endless("k", f"busy {number}")
    for newcomer in range(20):
        load.stream("short", "k", f"new {newcomer}", lambda: 0.005, pause_s=20.0, start_s=10.0)
    load.machine.run(seconds)
    waits = [1000 * wait for wait in load.waits["short"]]
    name = f"{slots} threads, {clients} endless searches of others"
    return [
        SimulatedFigure(f"{name}: question of 5 ms, p95", percentile(waits, 95), "ms"),
        SimulatedFigure(f"{name}: question of 5 ms, longest", max(waits), "ms"),
        SimulatedFigure(f"{name}: work lost", 100 * load.machine.lost_s / load.machine.busy_s, "%"),
    ]


def connections(slots: int = 2, seconds: float = 300) -> list[SimulatedFigure]:
    """Three keys with 1, 8 and 40 connections that ask as much as they may, of all lengths."""
    load = SimulatedLoad(slots)
    for key, number in (("one", 1), ("few", 8), ("many", 40)):
        for client in range(number):
            load.stream(key, key, f"{key} {client}", lambda: load.dice.uniform(0.002, 0.4), in_flight=20)
    load.machine.run(seconds)
    shares = [load.machine.by_key[key] for key in ("one", "few", "many")]
    return [SimulatedFigure(f"{slots} threads, keys with 1, 8, 40 connections: shares differ by", _spread(shares), "%")]


def endless_connections(slots: int = 2, seconds: float = 120) -> list[SimulatedFigure]:
    """Two keys with 1 and 40 connections, each with 62 searches in flight that only a cancel would end.

    Longer than all of them together are short.
    """
    load = SimulatedLoad(slots)
    for key, number in (("one", 1), ("many", 40)):
        for client in range(number):
            load.endless(key, f"{key} {client}", 62)
    load.machine.run(seconds)
    shares = [load.machine.by_key[key] for key in ("one", "many")]
    name = f"{slots} threads, keys with 1, 40 connections, endless searches: shares differ by"
    return [SimulatedFigure(name, _spread(shares), "%")]


def moves_together(slots: int = 2, tabs: int = 30, seconds: float = 120) -> list[SimulatedFigure]:
    """Boards in browsers, all of which move at the same moment every few seconds; a search ends with the next move.

    Some have had much before: they have waited while others searched, or the other way about.
    """
    load = SimulatedLoad(slots)
    machine = load.machine
    running: dict[int, Task] = {}

    def move(tab: int) -> None:
        task = Task(Purpose.ANALYSIS, "k", f"tab {tab}", priority=1)
        if tab in running:
            machine.remove(running[tab])
        running[tab] = task
        asked = machine.now
        work_s = load.dice.choice((0.02, 0.5, ENDLESS_S))

        def ended() -> None:
            del running[tab]

        machine.submit(task, work_s, ended, lambda: load.waits["begun"].append(machine.now - asked))

    for moment in range(3, int(seconds), 3):
        for tab in range(tabs):
            machine.at(moment, lambda tab=tab: move(tab))  # type: ignore[misc]
    machine.run(seconds)
    waits = [1000 * wait for wait in load.waits["begun"]]
    name = f"{slots} threads, {tabs} clients ask at the same moment"
    return [
        SimulatedFigure(f"{name}: until the last is searched", max(waits), "ms"),
        SimulatedFigure(f"{name}: work lost", 100 * machine.lost_s / machine.busy_s, "%"),
    ]


def text_swarm(slots: int = 2, seconds: float = 120) -> list[SimulatedFigure]:
    """Six text sessions search without end on all threads; another client analyses positions one after the other."""
    load = SimulatedLoad(slots)
    for number in range(6):
        load.machine.submit(Task(Purpose.INTERACTIVE, "k", f"text {number}", threads=slots), ENDLESS_S)
    load.stream("analysis", "k", "other", lambda: 0.005, pause_s=0.5, start_s=2)
    load.machine.run(seconds)
    waits = [1000 * wait for wait in load.waits["analysis"]]
    name = f"{slots} threads, 6 endless searches by text"
    return [
        SimulatedFigure(f"{name}: analysis of 5 ms, p95", percentile(waits, 95), "ms"),
        SimulatedFigure(f"{name}: analysis of 5 ms, longest", max(waits), "ms"),
    ]


def throttled(slots: int = 2, seconds: float = 120) -> list[SimulatedFigure]:
    """Nine clients search without end; a tenth asks short questions all the time, and gets a tenth of the time and no
    more.
    """
    load = SimulatedLoad(slots)
    for number in range(9):
        load.endless("k", f"busy {number}")
    load.stream("flood", "k", "flood", lambda: 0.005, in_flight=60)
    load.machine.run(seconds)
    share = 100 * load.machine.by_client["flood"] / load.machine.busy_s
    return [
        SimulatedFigure(f"{slots} threads, 9 endless searches, 60 short questions in flight: these get", share, "%")
    ]


def book_job(slots: int = 2, seconds: float = 120) -> list[SimulatedFigure]:
    """A book job searches on all threads; a client asks ten short questions a second, a longer one once a minute."""
    load = SimulatedLoad(slots)
    for number in range(slots):
        load.stream("book", "b", f"job {number}", lambda: load.dice.uniform(0.1, 3), purpose=Purpose.BOOK)
    load.stream("short", "a", "a", lambda: 0.005, pause_s=0.1)
    load.stream("long", "a", "a", lambda: 2.0, pause_s=10)
    load.machine.run(seconds)
    machine = load.machine
    waits = [1000 * wait for wait in load.waits["short"]]
    name = f"{slots} threads, a book job on all"
    return [
        SimulatedFigure(f"{name}: short question, p95", percentile(waits, 95), "ms"),
        SimulatedFigure(f"{name}: short question, longest", max(waits), "ms"),
        SimulatedFigure(f"{name}: analysis of 2 s, longest", max(load.waits["long"]), "s"),
        SimulatedFigure(f"{name}: work lost", 100 * machine.lost_s / machine.busy_s, "%"),
    ]


def idle_threads(slots: int = 8, seconds: float = 120) -> list[SimulatedFigure]:
    """One client searches without end, helped by all threads that are idle; others ask now and then, or run a job."""
    load = SimulatedLoad(slots)
    load.endless("a", "a")
    load.endless("a", "a", slots - 1, Purpose.IDLE)
    load.stream("short", "b", "b", lambda: 0.005, pause_s=0.5)
    load.stream("book", "c", "c", lambda: 0.5, pause_s=1.0, purpose=Purpose.BOOK)
    load.machine.run(seconds)
    machine = load.machine
    name = f"{slots} threads, all at one search"
    return [
        SimulatedFigure(f"{name}: question of 5 ms, longest", 1000 * max(load.waits["short"]), "ms"),
        SimulatedFigure(f"{name}: search of 500 ms for a book, longest", 1000 * max(load.waits["book"]), "ms"),
        SimulatedFigure(f"{name}: threads in use", 100 * machine.busy_s / (slots * seconds), "%"),
    ]


def purposes(slots: int = 2, seconds: float = 600) -> list[SimulatedFigure]:
    """One key with four clients that use all they get: a game, analyses, a book job and a batch."""
    load = SimulatedLoad(slots)
    names = {Purpose.INTERACTIVE: "text", Purpose.ANALYSIS: "analyze", Purpose.BOOK: "book", Purpose.BATCH: "batch"}
    for purpose, name in names.items():
        load.stream(name, "k", name, lambda: load.dice.uniform(0.1, 2), in_flight=4, purpose=purpose)
    load.machine.run(seconds)
    machine = load.machine
    return [
        SimulatedFigure(
            f"{slots} threads, one key, all at once: {name}", 100 * machine.by_purpose[purpose] / machine.busy_s, "%"
        )
        for purpose, name in names.items()
    ]


def crowd(slots: int = 64, clients: int = 1000, keys: int = 20, seconds: float = 120) -> list[SimulatedFigure]:
    """A large machine: a third of the clients search without end, a third ask all the time, a third now and then."""
    load = SimulatedLoad(slots)
    for number in range(clients):
        key, client = f"key {number % keys}", f"client {number}"
        if number // keys % 3 == 0:
            load.endless(key, client)
        elif number // keys % 3 == 1:
            load.stream("long", key, client, lambda: load.dice.uniform(0.05, 5), in_flight=4)
        else:
            load.stream("short", key, client, lambda: load.dice.uniform(0.001, 0.02), pause_s=5, start_s=10)
    load.machine.run(seconds)
    machine = load.machine
    waits = [1000 * wait for wait in load.waits["short"]]
    name = f"{slots} threads, {clients} clients, {keys} keys"
    return [
        SimulatedFigure(f"{name}: shares of keys differ by", _spread(list(machine.by_key.values())), "%"),
        SimulatedFigure(f"{name}: short question, p50", percentile(waits, 50), "ms"),
        SimulatedFigure(f"{name}: short question, p95", percentile(waits, 95), "ms"),
        SimulatedFigure(f"{name}: short question, longest", max(waits), "ms"),
        SimulatedFigure(f"{name}: threads in use", 100 * machine.busy_s / (slots * seconds), "%"),
        SimulatedFigure(f"{name}: work lost", 100 * machine.lost_s / machine.busy_s, "%"),
    ]


SCENARIOS: tuple[Callable[[], list[SimulatedFigure]], ...] = (
    short_questions,
    connections,
    endless_connections,
    moves_together,
    text_swarm,
    throttled,
    book_job,
    idle_threads,
    purposes,
    crowd,
)


def main(arguments: list[str]) -> int:
    """Print the figures of all scenarios. Returns the exit status, 0."""
    parser = Parser("python tests/lab scheduler", description="Simulate how searches share the threads.")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    named = parser.parse_args(arguments)
    figures = [figure for scenario in SCENARIOS for figure in scenario()]
    if named.json:
        sys.stdout.write(json.dumps({"figures": [figure._asdict() for figure in figures]}) + "\n")
    else:
        sys.stdout.writelines(f"{figure.name:<86}{figure.value:>7.1f} {figure.unit}\n" for figure in figures)
    return 0
