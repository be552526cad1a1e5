"""Threads that search together: the helpers of a search, and how they wait.

They communicate by the words ``TEAM_...`` of `desdaemon.engine.layout`, which `desdaemon.engine.kernels.context`
handles. A helper enters the compiled code once in a search and stays in it through all iterations. Without work it
polls a few thousand times and then sleeps.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import time
from collections.abc import Sequence
from typing import Any

from desdaemon.protocol.system.threads import begin

from .layout import (
    CHECK_AT,
    CONTEXT_BYTES,
    HOOK,
    HOOK_SLEEP,
    HOOK_WAIT,
    HOOK_WAKE,
    JOB,
    LEAVE,
    LOCAL_TABLE,
    LOCAL_TABLE_BUCKETS,
    LOCAL_TABLE_BYTES,
    LOCAL_TABLE_MASK,
    NEVER_SHARED,
    NODE_LIMIT,
    NODES,
    SHARE_FROM,
    SPINS,
    STOP,
    TEAM,
    TEAM_BYTES,
    TEAM_NODE_LIMIT,
    TEAM_NODES,
    TEAM_OPEN,
    TEAM_PORTION,
    TEAM_SHARE_FROM,
    THREAD,
    WORD,
)
from .memory import Block

_LOOKS = 4000
"""Number of polls for the next search before a helper sleeps: some ten microseconds."""

_PORTIONS = 16
"""Number of portions in which each thread draws its share of a node limit."""

_NO_LIMIT = (1 << 64) - 1

HookFunction = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class Context:
    """The memory of a search thread: its own table and its words (`desdaemon.engine.layout`). A word is read and set by
    its offset in bytes, as in ``context[NODES]``.
    """

    def __init__(self) -> None:
        self._memory = Block(CONTEXT_BYTES)
        self._words = self._memory.words()
        self.address = self._memory.address
        self.local_table = Block(LOCAL_TABLE_BYTES)
        self[LOCAL_TABLE] = self.local_table.address
        self[LOCAL_TABLE_MASK] = LOCAL_TABLE_BUCKETS - 1
        self[SHARE_FROM] = NEVER_SHARED

    def __getitem__(self, field: int) -> int:
        return int(self._words[field // WORD])

    def __setitem__(self, field: int, value: int) -> None:
        self._words[field // WORD] = value

    @property
    def nodes(self) -> int:
        """Number of nodes visited since the search began."""
        return self[NODES]


class Waiting:
    """How a team's threads wait: a helper without a search sleeps, a leader waiting for helpers yields its processor.

    The leader's thread calls `begin`; any thread may call `wait` and `end`.
    """

    spins = _LOOKS
    """Number of polls of a thread before it waits; 0 makes the threads virtual: `wait` then also ends their turns."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._team: Team | None = None

    def begin(self, team: Team) -> None:
        """Take note that ``team`` begins a search on this thread, the leader's; its own helpers have been started."""
        self._team = team

    def wait(self, reason: int, thread: int) -> None:
        """Wait, or wake other threads, as ``reason`` says, a ``HOOK_...`` of `layout`. ``thread`` is the caller's
        number in the team. The kernels call this method as their hook, so it must not raise.
        """
        team = self._team
        if reason == HOOK_WAIT or team is None:
            time.sleep(0)
        elif reason == HOOK_WAKE:
            with self._condition:
                self._condition.notify_all()
        elif reason == HOOK_SLEEP:
            with self._condition:
                while team.nothing_to_do(thread):
                    self._condition.wait()

    def end(self) -> None:
        """Wake all sleeping helpers, so that they look whether they must leave."""
        with self._condition:
            self._condition.notify_all()


class Team:
    """The threads of one `Searcher`: the leader, which is the caller's thread, the searcher's own helpers, and guests.

    Own helpers live as long as a search. A guest is any other thread: it takes a seat (`join`), helps until the search
    is over or it is dismissed (`dismiss`), and may come back. The leader's thread calls `prepare`, `begin`, `lead` and
    `end`; any thread may call the rest.
    """

    share_from = 5
    """Least depth of nodes that are shared."""

    def __init__(self, engine: Any, contexts: Sequence[Context], own: int, waiting: Waiting | None = None) -> None:
        """``contexts`` belong to the leader, to ``own`` helpers and to all possible guests, in this order."""
        self.contexts = contexts
        self.waiting = waiting or Waiting()
        self._engine = engine
        self._own = own
        self._memory = Block(TEAM_BYTES)
        self._stopped = Block(WORD)
        """A stop word that is always set, for dismissed threads."""
        self._stopped.words()[0] = 1
        self._words = self._memory.words()
        self._hook = HookFunction(self._wait)
        self._seats = threading.Condition()
        self._free: list[int] = []
        """Seats for `join`, which takes the last. Between `begin` and `end` each seat is here or in `_taken`."""
        self._taken: set[int] = set()
        self._open = False
        """Whether guests may come: between `begin` and `end`."""
        self._came: set[int] = set()
        """Seats that were taken since `prepare`."""
        address = ctypes.cast(self._hook, ctypes.c_void_p).value
        for number, context in enumerate(contexts):
            context[THREAD] = number
            context[HOOK] = address or 0
            context[SPINS] = self.waiting.spins

    def _wait(self, reason: int, thread: int) -> int:
        self.waiting.wait(reason, thread)
        return 0

    def __getitem__(self, field: int) -> int:
        return int(self._words[field // WORD])

    def nothing_to_do(self, thread: int) -> bool:
        """Return whether the helper with the number ``thread`` has no search to enter and need not leave."""
        context = self.contexts[thread]
        return self[TEAM_OPEN] in (0, context[JOB]) and not context[LEAVE]

    @property
    def size(self) -> int:
        """The number of threads that have taken part since `prepare`, with the leader."""
        return 1 + len(self._came)

    def prepare(self, nodes: int) -> None:
        """Reset the team for a search of at most ``nodes`` nodes (0: no limit), which the threads draw in portions."""
        words = self._words
        words[TEAM_NODES // WORD] = 0
        words[TEAM_NODE_LIMIT // WORD] = nodes or _NO_LIMIT
        words[TEAM_PORTION // WORD] = max(1, nodes // (_PORTIONS * len(self.contexts)))
        words[TEAM_SHARE_FROM // WORD] = self.share_from
        for context in self.contexts:
            context[TEAM] = self._memory.address
            context[NODE_LIMIT] = context[CHECK_AT] = 0 if nodes else _NO_LIMIT
        self._came.clear()

    def begin(self) -> bool:
        """Start the searcher's own helpers and admit guests. Only the first call in a search does this and returns
        True. Leader's thread only.

        If the system refuses more threads, the search goes on with those it has.
        """
        if self._open:
            return False
        with self._seats:
            self._open = True
            self._free = list(range(len(self.contexts) - 1, 0, -1))
        for _ in range(self._own):
            seat = self.join()
            try:
                begin(functools.partial(self.help, seat), "search helper")
            except RuntimeError:
                self._leave(seat)
                break
        self.waiting.begin(self)
        return True

    def lead(self, *root: int) -> int:
        """Search one root with all threads and return its score, as `kernels.interface.lead_root` does; ``root`` are
        that kernel's arguments after the context. Leader's thread only.
        """
        return int(self._engine.lead_root(self.contexts[0].address, *root))

    def end(self) -> None:
        """Dismiss all helpers, let no more join, and return when they have left. Does nothing without `begin`. Leader's
        thread only.
        """
        if not self._open:
            return
        with self._seats:
            self._open = False
            for seat in self._taken:
                self.contexts[seat][LEAVE] = 1
        self.waiting.end()
        with self._seats:
            while self._taken:
                self._seats.wait()

    def join(self) -> int:
        """Take a free seat and return its number. The calling thread must then call `help` with it, since `end` waits
        for every taken seat. Returns 0 if no seat is free or the team is not between `begin` and `end`.
        """
        with self._seats:
            if not self._open or not self._free:
                return 0
            seat = self._free.pop()
            self._taken.add(seat)
            self._came.add(seat)
            self.contexts[seat][LEAVE] = 0
            self.contexts[seat][STOP] = self.contexts[0][STOP]
            return seat

    def help(self, seat: int) -> None:
        """Search in ``seat``, from `join`, on the calling thread until the search is over or `dismiss` is called."""
        try:
            self._engine.help_team(self.contexts[seat].address)
        finally:
            self._leave(seat)

    def _leave(self, seat: int) -> None:
        with self._seats:
            self._taken.discard(seat)
            self._free.append(seat)
            self._seats.notify_all()

    def dismiss(self, seat: int) -> None:
        """Tell the helper in ``seat``, if any, to leave, and return at once. The helper leaves within a millisecond or
        two if it has a processor.
        """
        with self._seats:
            if seat in self._taken:
                # LEAVE keeps the helper from entering another iteration. Its search polls the stop word far more
                # often, in the last plies too.
                self.contexts[seat][LEAVE] = 1
                self.contexts[seat][STOP] = self._stopped.address
        self.waiting.end()
