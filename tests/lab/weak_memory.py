"""A memory that shows threads what a processor with weak order may show them, for kernels that run as Python.

Every write of a word stays in the word's history, with what its writer had seen where the write is ordered. A relaxed
load takes any write of the history that is not older than what its thread has seen of this word: halves of an entry
come from different writes, and a later write may be seen before an earlier one of another word. An ordered access takes
over what the writer had seen; a change in one step (`add`, `exchange`) takes the newest write. That is the model of
C11's views: release, acquire and a common view of the sequentially consistent accesses. It allows more than any ARM
processor does, but for loads that see a write made after a later write of their own thread, which no kernel waits for.

The machine's threads are real ones of which one runs at a time; who that is, and which write a load takes, is drawn by
a seed. Used by `weak_scenarios`, in processes with ``DESDAEMON_KERNELS=python`` alone.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import NamedTuple

import interpreted

WORD = 8
_SWITCH = 0.5
"""How likely another thread goes on after an access."""

_NEWEST = 0.5
"""How likely a relaxed load takes the newest write at once."""

View = dict[int, int]
"""By address of a word: the place in its history that is known to be there."""


class Write(NamedTuple):
    """A value in the history of a word, and what a thread that reads it in order has seen with it."""

    value: int
    view: View


def joined(one: View, other: View) -> View:
    """The later place of each word."""
    return {address: max(one.get(address, 0), other.get(address, 0)) for address in one.keys() | other.keys()}


class AbandonedError(Exception):
    """Another thread of the machine has failed: what this one waits for may never come."""


class Thread:
    """A thread of the machine, and what it has seen."""

    def __init__(self, body: Callable[[], None]) -> None:
        self.body = body
        self.seen: View = {}
        self.turn = threading.Event()
        self.failure: BaseException | None = None


class Machine:
    """Watched words, and the threads that use them; other memory stays as it is. One is used at a time."""

    weakened: frozenset[str] = frozenset()
    """Names of ordered accesses (``agreed``) that are made relaxed: what would happen without the order."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.stale = 0
        """Loads that took another than the newest write."""
        self._ranges: list[tuple[int, int]] = []
        self._words: dict[int, list[Write]] = {}
        self._ordered: View = {}
        self._mine = threading.local()
        self._running: list[Thread] = []
        self._done = threading.Event()
        self._failed = False
        self._plain = {name: getattr(interpreted, name) for name in _ACCESSES}

    def watch(self, address: int, size: int) -> None:
        """Make weak what is at ``address``, whole words. What is there now, all threads have seen."""
        self._ranges.append((address, address + size))

    def run(self, *bodies: Callable[[], None]) -> None:
        """Run these as threads, to their ends. Raises what one of them raised."""
        threads = [Thread(body) for body in bodies]
        self._running = list(threads)
        self._done.clear()
        for name in _ACCESSES:
            setattr(interpreted, name, getattr(self, name))
        try:
            real = [threading.Thread(target=self._live, args=(thread,), daemon=True) for thread in threads]
            for each in real:
                each.start()
            self._running[0].turn.set()
            self._done.wait()
        finally:
            for name, plain in self._plain.items():
                setattr(interpreted, name, plain)
        failures = [thread.failure for thread in threads if thread.failure is not None]
        for failure in sorted(failures, key=lambda failure: isinstance(failure, AbandonedError)):
            raise failure
        for address, history in self._words.items():
            interpreted.store(address, WORD, history[-1].value)
        self._words.clear()
        self._ordered.clear()

    def _live(self, thread: Thread) -> None:
        self._mine.thread = thread
        thread.turn.wait()
        try:
            thread.body()
        except BaseException as failure:
            thread.failure = failure
            self._failed = True
        self._running.remove(thread)
        if self._running:
            self.dice.choice(self._running).turn.set()
        else:
            self._done.set()

    def pause(self) -> None:
        """Let another thread go on, perhaps; called by threads of the machine."""
        thread = self._mine.thread
        other = self.dice.choice(self._running)
        if other is not thread and self.dice.random() < _SWITCH:
            thread.turn.clear()
            other.turn.set()
            thread.turn.wait()
        if self._failed:
            raise AbandonedError

    def _history(self, address: int) -> list[Write] | None:
        """Of the word that holds ``address``; None where it is not watched, or for threads of others."""
        if not hasattr(self._mine, "thread"):
            return None
        word = address & ~(WORD - 1)
        if word not in self._words:
            if not any(start <= word < end for start, end in self._ranges):
                return None
            self._words[word] = [Write(self._plain["load"](word, WORD, signed=False), {})]
        return self._words[word]

    # What takes the places of the functions of `interpreted`.

    def load(self, address: int, size: int, signed: bool) -> int:
        history = self._history(address)
        if history is None:
            return int(self._plain["load"](address, size, signed))
        value = self._look(address & ~(WORD - 1), history) >> (8 * (address & (WORD - 1))) & ((1 << (8 * size)) - 1)
        return value - (1 << (8 * size)) if signed and value >> (8 * size - 1) else value

    def store(self, address: int, size: int, value: int) -> None:
        history = self._history(address)
        if history is None:
            self._plain["store"](address, size, value)
            return
        self.pause()
        word, shift = address & ~(WORD - 1), 8 * (address & (WORD - 1))
        mask = ((1 << (8 * size)) - 1) << shift
        self._append(word, history, (history[-1].value & ~mask) | (int(value) << shift & mask), {})

    def poll(self, address: int) -> int:
        return self.load(address, WORD, signed=False)

    def post(self, address: int, value: int) -> None:
        self.store(address, WORD, value)

    def agreed(self, address: int) -> int:
        history = self._history(address)
        if history is None or "agreed" in self.weakened:
            return self.load(address, WORD, signed=False)
        thread = self._mine.thread
        thread.seen[address] = max(thread.seen.get(address, 0), self._ordered.get(address, 0))
        value = self._look(address, history)
        place = thread.seen[address]
        thread.seen = joined(thread.seen, history[place].view)
        self._ordered[address] = max(self._ordered.get(address, 0), place)
        return value

    def add(self, address: int, value: int) -> int:
        return self._change(address, value, "add")

    def exchange(self, address: int, value: int) -> int:
        return self._change(address, value, "exchange")

    def _change(self, address: int, value: int, kind: str) -> int:
        history = self._history(address)
        if history is None:
            return int(self._plain[kind](address, value))
        self.pause()
        thread = self._mine.thread
        before = history[-1]
        thread.seen = joined(thread.seen, before.view)
        after = int(value) + (before.value if kind == "add" else 0)
        self._append(address, history, after & interpreted.MASK, joined(thread.seen, before.view))
        self._ordered[address] = len(history) - 1
        return before.value

    def _look(self, word: int, history: list[Write]) -> int:
        self.pause()
        thread = self._mine.thread
        place = newest = len(history) - 1
        if self.dice.random() >= _NEWEST:
            place = self.dice.randint(thread.seen.get(word, 0), newest)
        self.stale += place < newest
        thread.seen[word] = place
        return history[place].value

    def _append(self, word: int, history: list[Write], value: int, view: View) -> None:
        thread = self._mine.thread
        thread.seen[word] = len(history)
        history.append(Write(value, {**view, word: len(history)}))


_ACCESSES = ("load", "store", "poll", "post", "agreed", "add", "exchange")
