"""Lines of play as text, many in one call of the compiled code (`kernels.lines`), which takes a tenth of the time of
`desdaemon.protocol.wire.positions.read_line`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from .compiler import library
from .exports import SPEC
from .layout import PLAYED_BYTES, PLAYED_TEXT
from .memory import Block

MOST_AT_ONCE = 128
"""Most lines in one call."""

_LONGEST = PLAYED_BYTES - PLAYED_TEXT
_IN = struct.Struct(f"<QQq32x{_LONGEST}s")
_OUT = struct.Struct(f"<QQ8xqQQq{_LONGEST}x")
assert _IN.size == _OUT.size == PLAYED_BYTES


class PlayedBoard(NamedTuple):
    """The board after a line: the discs of the side to move and of the other side, whether the game is over, and what
    `rules.canonical_with_symmetry` returns of them.
    """

    player: int
    opponent: int
    over: bool
    canonical: tuple[int, int, int]


class LineReader:
    """Plays lines. One thread at a time may use it. Loads the compiled library; raises `library.LibraryError`."""

    def __init__(self) -> None:
        self._play = library.load(SPEC).play_lines
        self._memory = Block(MOST_AT_ONCE * PLAYED_BYTES)
        self._records = memoryview(self._memory.words()).cast("B")

    def play(self, lines: Sequence[tuple[int, int, str]]) -> list[PlayedBoard | None]:
        """Play at most `MOST_AT_ONCE` lines: discs of the side to move, discs of the other side, moves.

        Returns the boards after them, in order. The result is None for a line with an illegal move, for a line within
        which a side must pass, even if the pass is given, and for one in another form than `notation.moves_text` has.
        """
        records = self._records
        offset = 0
        for player, opponent, moves in lines:
            text = moves.encode("ascii", "replace")
            number = len(text) >> 1 if len(text) <= _LONGEST and not len(text) & 1 else -1
            _IN.pack_into(records, offset, player, opponent, number, text)
            offset += PLAYED_BYTES
        self._play(self._memory.address, len(lines))
        return [
            PlayedBoard(player, opponent, over == 1, (*canonical,)) if over >= 0 else None
            for player, opponent, over, *canonical in _OUT.iter_unpack(records[:offset])
        ]
