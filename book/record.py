"""A position of a book: its record in memory, its Python form, and the rules common to both.

A record is 40 bytes. Scores are discs for the side to move, the empties of a finished game counted for the winner.
Links to other positions are not stored: they are the legal moves whose child is in the book.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.protocol.othello import rules

from . import layout
from .layout import EGAROUCID_LEVELS, HUMAN, NO_LEVEL, NO_MOVE, NO_SCORE, PASS

FLAGS_KEPT = HUMAN | EGAROUCID_LEVELS
"""The flags that are written to files."""

START = rules.START
"""The initial position, which is canonical."""

COUNTS = ("wins", "draws", "losses", "lines")
_BYTES = [
    ("score", "i1"),
    ("lower", "i1"),
    ("upper", "i1"),
    ("level", "i1"),
    ("leaf_move", "u1"),
    ("leaf_score", "i1"),
    ("leaf_level", "i1"),
    ("flags", "u1"),
]

_BOARD = [("player", "<u8"), ("opponent", "<u8")]
_PLACES = [layout.PLAYER, layout.OPPONENT, *(layout.COUNTS + 4 * k for k in range(len(COUNTS)))]
_PLACES += [getattr(layout, name.upper()) for name, _ in _BYTES]

RECORD = np.dtype(
    {
        "names": ["player", "opponent", *COUNTS, *(name for name, _ in _BYTES)],
        "formats": ["<u8", "<u8", *("<u4" for _ in COUNTS), *(kind for _, kind in _BYTES)],
        "offsets": _PLACES,
        "itemsize": layout.RECORD_BYTES,
    }
)
"""A position in memory and in our own file; `layout` describes the fields."""

RESULT = np.dtype([("won", "<f8"), ("drawn", "<f8"), ("lost", "<f8")])
"""Games won, drawn and lost by the side to move, as weights (`desdaemon.book.editing.game_results`)."""


def empty_squares(records: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the number of empty squares of each position in ``records``."""
    player: npt.NDArray[np.uint64] = records["player"]
    opponent: npt.NDArray[np.uint64] = records["opponent"]
    discs: npt.NDArray[np.int64] = np.bitwise_count(player | opponent).astype(np.int64)
    return 64 - discs


def have_leaf(records: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which of the positions in ``records`` have a leaf with a score."""
    moves: npt.NDArray[np.uint8] = records["leaf_move"]
    scores: npt.NDArray[np.int8] = records["leaf_score"]
    return (moves <= PASS) & (scores >= -64)


class Results(NamedTuple):
    """Games won, drawn and lost by one side, as weights (`desdaemon.book.editing.game_results`)."""

    won: float = 0.0
    drawn: float = 0.0
    lost: float = 0.0

    @property
    def games(self) -> float:
        """Number of games, a sum of weights."""
        return self.won + self.drawn + self.lost

    def __str__(self) -> str:
        return f"{weight_text(self.won)} won, {weight_text(self.drawn)} drawn, {weight_text(self.lost)} lost"


def weight_text(weight: float) -> str:
    """Return a weight as text: ``12``, ``5.2``."""
    return f"{weight:.1f}".removesuffix(".0")


STATE = np.dtype(
    [
        *_BOARD,
        *((name, "<u8") for name in COUNTS),
        *_BYTES,
        *((name, "<f8") for name in ("won", "drawn", "lost")),
    ]
)
"""All data of a position in a record of fixed size, as the journal has it."""


class PositionEntry(NamedTuple):
    """A position of the book: the discs of the side to move and of the other side, in canonical form, and its data.

    ``wins``, ``draws`` and ``losses`` count the paths to exactly solved ends, by the result for the side to move.
    ``lines`` counts the paths that leave the book; under Egaroucid's `Rule` it is 1 + the sum over the links. A
    position on several paths counts once for each path. ``lower`` and ``upper`` bound ``score`` by the error margins.
    The leaf is the best move that does not lead into the book, `NO_MOVE` if there is none; a finished game has
    `NO_MOVE` with its final score. ``level`` and ``leaf_level`` are Edax levels unless a flag says otherwise.

    In a book from Egaroucid's file the leaf is copied unchanged: a move above `PASS` or a score below -64 is no leaf.
    """

    player: int
    opponent: int
    wins: int = 0
    draws: int = 0
    losses: int = 0
    lines: int = 0
    score: int = NO_SCORE
    lower: int = NO_SCORE
    upper: int = -NO_SCORE
    level: int = NO_LEVEL
    leaf_move: int = NO_MOVE
    leaf_score: int = NO_SCORE
    leaf_level: int = NO_LEVEL
    flags: int = 0

    @property
    def empties(self) -> int:
        """Number of empty squares."""
        return 64 - (self.player | self.opponent).bit_count()

    @property
    def human(self) -> bool:
        """Whether the score was set by hand."""
        return bool(self.flags & HUMAN)

    @property
    def has_leaf(self) -> bool:
        """Whether there is a leaf to play: a square or the pass, with a score."""
        return self.leaf_move <= PASS and self.leaf_score >= -64

    def without_leaf(self) -> PositionEntry:
        return self._replace(leaf_move=NO_MOVE, leaf_score=NO_SCORE, leaf_level=NO_LEVEL)


def unsearched(
    keys: npt.NDArray[np.uint64], level: int, scores: Sequence[int] | int = NO_SCORE
) -> npt.NDArray[np.void]:
    """Return `RECORD`s of the canonical positions ``keys``, uint64 (n, 2), with ``level`` and without leaves.

    ``scores`` are provisional, in discs for the side to move: one for all positions, or one for each. They also become
    the bounds; with `NO_SCORE` the bounds are the widest.
    """
    records = np.zeros(len(keys), RECORD)
    records["player"], records["opponent"] = keys.T
    records["level"] = level
    records["score"] = records["lower"] = records["upper"] = scores
    records["upper"][records["score"] == NO_SCORE] = -NO_SCORE
    records["leaf_move"], records["leaf_score"], records["leaf_level"] = NO_MOVE, NO_SCORE, NO_LEVEL
    return records
