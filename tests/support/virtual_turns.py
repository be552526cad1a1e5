"""Virtual threads: real threads of which one runs at a time, so that a search by many can be measured on any machine.

A thread runs until it is ahead of the others by a quantum of nodes; then the one furthest behind continues. Time is
counted in nodes: those that a thread has visited, and those that the others visited while it waited. The same search
gives the same counts each time, on any machine.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from desdaemon.engine.layout import CHECK_AT, HOOK_SLEEP, HOOK_TURN, HOOK_WAKE, NODE_LIMIT
from desdaemon.engine.search import Control
from desdaemon.engine.team import Context, Team, Waiting

TURN = 2000
"""Nodes of a turn where nothing else is said."""

_LEADER = 0
_NO_LIMIT = (1 << 64) - 1


class Turns(Waiting):
    """The waiting of a team of ``threads`` virtual threads; ``quantum`` in nodes.

    The thread whose turn it is makes all calls; the others wait on their semaphores.
    """

    spins = 0

    def __init__(self, threads: int, quantum: int = TURN) -> None:
        self.quantum = quantum
        self.idle = [0] * threads
        """Nodes that others visited while each thread had nothing to do, in the last search."""
        self._turns = [threading.Semaphore(0) for _ in range(threads)]
        self._arrived = threading.Semaphore(0)
        self._begun = False
        self._ready: set[int] = set()
        self._contexts: Sequence[Context] = ()
        self._most = _NO_LIMIT
        self._control: Control | None = None

    def limit(self, nodes: int, control: Control) -> None:
        """Stop the search that ``control`` belongs to when a thread's clock shows ``nodes``."""
        self._most, self._control = nodes, control

    def begin(self, team: Team) -> None:
        self._contexts = team.contexts
        self.idle = [0] * len(self._turns)
        for _ in self._turns[1:]:
            self._arrived.acquire()
        self._ready = {_LEADER}
        self._begun = True

    def wait(self, reason: int, thread: int) -> None:
        if not self._begun:
            # The leader alone has no turns; a helper has come.
            if reason == HOOK_SLEEP:
                self._arrived.release()
                self._turns[thread].acquire()
        elif reason == HOOK_WAKE:
            now = self._clock(_LEADER)
            for helper in range(1, len(self._turns)):
                self.idle[helper] = now - self._contexts[helper].nodes
                self._ready.add(helper)
        else:
            if self._control is not None and self._clock(thread) >= self._most:
                self._control.stop()
            if reason != HOOK_TURN:
                self._ready.discard(thread)
            following = self._next()
            if following != thread:
                self._turns[following].release()
                self._turns[thread].acquire()
        if self._begun:
            self._allow(thread)

    def end(self) -> None:
        self._begun = False
        for turn in self._turns[1:]:
            turn.release()

    def _clock(self, thread: int) -> int:
        return self._contexts[thread].nodes + self.idle[thread]

    def _next(self) -> int:
        """The thread furthest behind; the leader when all helpers sleep, for it has waited for the last of them."""
        if not self._ready:
            latest = max(self._clock(thread) for thread in range(len(self._turns)))
            self.idle[_LEADER] = latest - self._contexts[_LEADER].nodes
            self._ready.add(_LEADER)
        return min(self._ready, key=lambda thread: (self._clock(thread), thread))

    def _allow(self, thread: int) -> None:
        """Let ``thread`` run until it is a quantum ahead of the others."""
        context = self._contexts[thread]
        others = [self._clock(other) for other in self._ready if other != thread]
        last = min(context[NODE_LIMIT], max(0, self._most - self.idle[thread]))
        if others:
            last = min(last, max(context.nodes, min(others) - self.idle[thread]) + self.quantum)
        context[CHECK_AT] = last
