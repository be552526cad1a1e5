"""Threads of a machine with weak order (`weak_memory`) at what the engine and the book share without a lock.

``DESDAEMON_KERNELS=python python tests/lab weak_memory SCENARIO SEEDS [WEAKENED]`` prints what was counted over all
seeds as JSON. A scenario raises AssertionError where a kernel believes what it must not.
"""

from __future__ import annotations

import json
import random
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import judge
from interpreted import U64, load, store

from desdaemon.book import layout as book_layout
from desdaemon.book.kernels import blocks
from desdaemon.book.memory.blocks import crc_tables
from desdaemon.engine import layout
from desdaemon.engine.kernels import context as kernels
from desdaemon.engine.kernels import interface
from desdaemon.engine.memory import Block
from desdaemon.engine.team import Context

from .weak_memory import Machine

BOARDS = 5
"""Boards that want one bucket of four entries."""

STEPS = 25
DEPTHS = (8, 10)
"""A result of the lower depth goes to a board's second place where it has one of the higher."""


def contexts(number: int) -> list[Context]:
    """Of threads that share nothing yet."""
    made = [Context() for _ in range(number)]
    for thread, context in enumerate(made):
        context[layout.THREAD] = thread
        context[layout.SPINS] = 1 << 60
        context[layout.DATE] = 1
        context[layout.SALT] = 0xA5A5A5 << 32
    return made


def table(seed: int, counted: Counter[str]) -> None:
    """Three threads store results in one bucket and look them up: what they find was stored, for this board."""
    machine, dice = Machine(seed), random.Random(seed)
    bucket = Block(4096)
    machine.watch(bucket.address, layout.BUCKET_BYTES)
    threads = contexts(3)
    boards = judge.strewn(seed, BOARDS, [20])
    keys = [kernels.key_of(U64(threads[0].address), U64(p), U64(o)) for p, o in boards]
    truth = {key: dice.randint(-63, 63) for key in keys}
    drafts = [kernels.make_draft(depth, layout.EXACT) for depth in DEPTHS]
    at = U64(bucket.address)
    stored: set[tuple[int, int]] = set()
    put = kernels.put

    def noted(bucket: U64, key: U64, data: U64) -> None:
        stored.add((int(key), int(data)))
        put(bucket, key, data)

    def body(context: Context) -> Callable[[], None]:
        mine = random.Random(f"{seed} {context[layout.THREAD]}")

        def live() -> None:
            for _ in range(STEPS):
                key = mine.choice(keys)
                alpha, draft = mine.randint(-64, 63), mine.choice(drafts)
                known = kernels.probe(at, key)
                assert known == 0 or (int(key), int(known)) in stored, "a result that nobody stored for this board"
                counted["found"] += known != 0
                score = kernels.table_answer(at, key, draft, alpha, alpha + 1)
                if score != layout.INFINITE:
                    assert score <= truth[key] if score > alpha else score >= truth[key], "a bound that is not true"
                    counted["answered"] += 1
                if mine.random() < 0.5:
                    above = truth[key] > alpha
                    best = mine.randint(alpha + 1, truth[key]) if above else mine.randint(truth[key], alpha)
                    nodes, move = U64(mine.randint(1, 9999)), U64(mine.randint(0, 63))
                    kernels.remember(U64(context.address), at, key, alpha, alpha + 1, best, move, nodes, draft, known)

        return live

    kernels.put = noted
    kernels.remember.__wrapped__.__globals__["put"] = noted
    try:
        machine.run(*map(body, threads))
    finally:
        kernels.put = put
        kernels.remember.__wrapped__.__globals__["put"] = put
    # What remains in the bucket may be torn for good.
    known_words = {int(key) ^ data for key, data in stored}
    for entry in range(layout.BUCKET_ENTRIES):
        first, data = (load(bucket.address + layout.ENTRY_BYTES * entry + word, 8, signed=False) for word in (0, 8))
        counted["torn for good"] += first in known_words and all((first ^ data, data) != pair for pair in stored)
    counted["stale loads"] += machine.stale


def team(seed: int, counted: Counter[str]) -> None:
    """A leader and two helpers: each search is entered with its own arguments, left by all when it is closed, and has
    the answer of one thread.
    """
    machine = Machine(seed)
    words = Block(layout.TEAM_BYTES)
    machine.watch(words.address, layout.TEAM_BUSY)
    threads = contexts(3)
    for context in threads:
        context[layout.TEAM] = words.address
    lost: list[int] = []

    def search(ctx: U64, *root: int) -> int:
        """In the place of a search: looks at the team as nodes do, and ends by itself when it is ready or tired."""
        thread = load(int(ctx) + layout.THREAD, 8, signed=False)
        number = int(root[0])
        assert [int(word) for word in root] == [number] * 8, "arguments of different searches"
        store(int(ctx) + layout.UNWIND, 8, 0)
        store(int(ctx) + layout.PATH_LENGTH, 8, 0)
        patience = machine.dice.choice((2, 8)) if thread == 0 or machine.dice.random() < 0.5 else 60
        for _ in range(patience):
            kernels.check_team(ctx)
            if load(int(ctx) + layout.UNWIND, 8, signed=False):
                counted["called back"] += 1
                break
        else:
            if patience == 60:
                lost.append(thread)
        store(int(ctx) + layout.BEST, 8, 10 * number + thread)
        return 10 * number + thread

    def lead() -> None:
        address = threads[0].address
        try:
            for number in range(1, 5):
                score = interface.lead_root(U64(address), *[kind(number) for kind in (U64, U64, *[int] * 4, U64, U64)])
                assert score == load(address + layout.BEST, 8, signed=False), "score and move of different threads"
                assert score // 10 == number, "the answer of another search"
                counted["by helpers"] += score % 10 != 0
        finally:
            for context in threads[1:]:
                context[layout.LEAVE] = 1

    replaced = interface.lead_root.__wrapped__.__globals__
    before = replaced["search_root"]
    replaced["search_root"] = search
    try:
        machine.run(
            lead, *[lambda address=context.address: interface.help_team(U64(address)) for context in threads[1:]]
        )
    finally:
        replaced["search_root"] = before
    counted["closings missed"] += len(lost)
    counted["stale loads"] += machine.stale


def guarded(seed: int, counted: Counter[str], sound: bool) -> None:
    """Three threads use a block of a book's file under its guard; where it is ``sound``, the first writes to it."""
    machine = Machine(seed)
    memory, guard = Block(4096), Block(4096)
    tables = crc_tables()
    content = bytes(range(1, 33))
    for place, byte in enumerate(content):
        store(memory.address + place, 1, byte)
    states, sums = memory.address + 1024, memory.address + 2048
    words = guard.words()
    for field, value in (
        (book_layout.GUARD_FIRST, memory.address),
        (book_layout.GUARD_END, memory.address + len(content)),
        (book_layout.GUARD_SHIFT, 5),
        (book_layout.GUARD_STATES, states),
        (book_layout.GUARD_SUMS, sums),
        (book_layout.GUARD_TABLES, tables.ctypes.data),
    ):
        words[field // layout.WORD] = value
    store(sums, 4, zlib.crc32(content) ^ (not sound))
    machine.watch(memory.address, len(content))
    machine.watch(states, layout.WORD)
    machine.watch(guard.address, book_layout.GUARD_WORDS * layout.WORD)

    def use(writes: bool) -> None:
        for place in range(0, len(content), layout.WORD):
            at = memory.address + place
            blocks.check_range(U64(guard.address), U64(at), U64(layout.WORD))
            word = machine.load(at, layout.WORD, signed=False)
            assert (word != 0) == sound, "bytes of a damaged block" if word else "a block cleared that was sound"
            if writes:
                machine.store(at, layout.WORD, 77)
            counted["read"] += 1

    machine.run(*[lambda writes=writes: use(writes) for writes in (sound, False, False)])
    counted["stale loads"] += machine.stale


def damaged_block(seed: int, counted: Counter[str]) -> None:
    """It does not match its checksum: it is zeros for all of them."""
    guarded(seed, counted, sound=False)


def sound_block(seed: int, counted: Counter[str]) -> None:
    """It matched before the first write: nobody compares it afterwards, and clears it for what was written."""
    guarded(seed, counted, sound=True)


SCENARIOS: dict[str, Callable[[int, Counter[str]], None]] = {
    "table": table,
    "team": team,
    "damaged block": damaged_block,
    "sound block": sound_block,
}


def counts(scenario: str, seeds: str, weakened: str = "") -> dict[str, Any]:
    """Counts over so many seeds; ``failures`` are the seeds at which a kernel believed what it must not."""
    Machine.weakened = frozenset(filter(None, weakened.split(",")))
    counted: Counter[str] = Counter()
    failures = []
    for seed in range(int(seeds)):
        try:
            SCENARIOS[scenario](seed, counted)
        except AssertionError as failure:
            failures.append(f"{seed}: {failure}")
    return {**counted, "failures": failures}


def main(arguments: list[str]) -> int:
    """Print the counts; returns 0."""
    sys.stdout.write(json.dumps(counts(*arguments)) + "\n")
    return 0
