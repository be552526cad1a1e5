"""Counts of the game tree: lines of play (perft) and distinct positions of the opening."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from desdaemon.engine.compiler.library import load
from desdaemon.engine.exports import SPEC
from desdaemon.engine.memory import Block
from desdaemon.protocol.othello.rules import MOST_MOVES, START
from desdaemon.protocol.system import platform

from .exports import kernels

_SLOT_BYTES = 16
_SLOTS_AT_ONCE = 1 << 16
_LEAST_SLOTS = 1 << 17


def perft(player: int, opponent: int, depth: int, mode: int = 1, threads: int = 1) -> int:
    """Return the number of lines of play of ``depth`` plies from (player, opponent), words with A1 = bit 0.

    In mode 1 a pass is a ply, in mode 2 not. A game that ends earlier counts as one line; lines that lead to the same
    position are all counted. ``threads`` is the number of threads that count at once, without the GIL. Raises
    ValueError for a negative depth, another mode, or boards that share a square or exceed 64 bits.
    """
    if player & opponent or not 0 <= player | opponent < 1 << 64:
        raise ValueError(f"{player:#x}, {opponent:#x}: expected two 64-bit words that share no square")
    if depth < 0:
        raise ValueError(f"depth {depth}: expected 0 or more plies")
    if mode not in (1, 2):
        raise ValueError(f"perft mode {mode}: expected 1 (a pass is a ply) or 2 (it is not)")
    if depth == 0:
        return 1
    library = load(SPEC)
    # Short calls, so that several run at once and a signal is noticed between two of them.
    parts = _parts(library, player, opponent, depth, mode, max(8, depth - 6))
    pool = ThreadPoolExecutor(max(1, threads))
    try:
        return sum(pool.map(lambda part: int(kernels().perft(*part, mode)), parts))
    finally:
        pool.shutdown(cancel_futures=True)


def _parts(
    library: Any, player: int, opponent: int, depth: int, mode: int, short: int
) -> Iterator[tuple[int, int, int]]:
    """Yield positions (player, opponent, plies left) that together have all the lines, each with at most ``short``
    plies left unless its game is over.
    """
    moves = library.board_moves(player, opponent)
    if depth <= short or not (moves or library.board_moves(opponent, player)):
        yield player, opponent, depth
    elif not moves:
        yield from _parts(library, opponent, player, depth - 1 if mode == 1 else depth, mode, short)
    while moves and depth > short:
        square = (moves & -moves).bit_length() - 1
        moves &= moves - 1
        flips = library.board_flip(square, player, opponent)
        after = (opponent ^ flips, player | flips | 1 << square)
        yield from _parts(library, *after, depth - 1, mode, short)


class _Set:
    """A set of canonical boards: a hash table in memory of ``slots`` slots, a power of two, as
    `desdaemon.engine.counting.kernels.positions` describes it.

    Raises MemoryError if it would take more than half of the machine's memory.
    """

    def __init__(self, library: Any, slots: int) -> None:
        size = slots * _SLOT_BYTES
        if size > (platform.physical_bytes() or size * 2) // 2:
            raise MemoryError(f"a set of {slots} positions needs {size >> 20} MiB, more than half of this machine's")
        self._library = library
        self._block = Block(size)
        self.address = self._block.address
        self.slots = slots
        self.boards = 0

    def add(self, player: int, opponent: int) -> None:
        self.boards += self._library.positions_add(player, opponent, self.address, self.slots - 1)

    def doubled(self) -> _Set:
        """Return a set with twice as many slots and the same boards."""
        bigger = _Set(self._library, 2 * self.slots)
        self._library.positions_copy(self.address, self.slots, bigger.address, bigger.slots - 1)
        bigger.boards = self.boards
        return bigger

    def successors(self, definition: int, stopped: Callable[[], bool]) -> _Set:
        """Return the set of boards after one more move, a part of them if ``stopped`` returns true; for ``definition``
        see `count_positions`.
        """
        # Eleven slots for each board suffice for each of the first twelve plies.
        later = _Set(self._library, max(_LEAST_SLOTS, 1 << (11 * self.boards).bit_length()))
        first = 0
        while first < self.slots and not stopped():
            # No call may fill the table, whatever the boards are.
            sources = (3 * later.slots // 4 - later.boards) // MOST_MOVES
            last = min(self.slots, first + _SLOTS_AT_ONCE)
            if sources < min(1024, last - first):
                later = later.doubled()
                continue
            last = min(last, first + sources)
            later.boards += self._library.positions_expand(
                self.address, first, last, later.address, later.slots - 1, definition
            )
            first = last
        return later


def count_positions(depth: int, definition: int = 1, stopped: Callable[[], bool] = lambda: False) -> int:
    """Return the number of positions after ``depth`` moves from the opening position, symmetric ones counted once; a
    number without meaning once ``stopped`` has returned true.

    Definition 1: positions right after the move, forced passes not yet made. Definition 2: with forced passes made.
    Definition 3: as 2, without games that are over. No game is continued after its end.

    The hash tables take 0.5 GiB at depth 11, 4 GiB at 12. Raises ValueError for a negative depth or another definition,
    MemoryError if half of the machine's memory is not enough.
    """
    if depth < 0:
        raise ValueError(f"depth {depth}: expected 0 or more plies")
    if definition not in (1, 2, 3):
        raise ValueError(f"definition {definition}: expected 1 (as moved), 2 (passes made) or 3 (unfinished games)")
    level = _Set(kernels(), _LEAST_SLOTS)
    # The opening board is its own smallest image.
    level.add(*START)
    for _ in range(depth):
        level = level.successors(definition, stopped)
    return level.boards
