"""Results of the Python API as named tuples. Every score carries the side from which it is seen."""

from __future__ import annotations

from typing import NamedTuple

from desdaemon.protocol.othello.selectivity import Selectivity, depth_text

from .board import BLACK, WHITE, Board


class Score(NamedTuple):
    """A score of ``discs`` difference at the end of the game, empty squares to the winner, seen from ``side``.

    Scores of searches are whole numbers, static evaluations are not. To compare scores of different sides, convert them
    first: `black`, `white` and `seen_by`.
    """

    discs: float
    side: str

    @property
    def black(self) -> float:
        """The score seen from Black."""
        return self.seen_by(BLACK)

    @property
    def white(self) -> float:
        """The score seen from White."""
        return self.seen_by(WHITE)

    def seen_by(self, side: str) -> float:
        """Return the score seen from a side, `BLACK` or `WHITE`; raises ValueError for anything else."""
        if side not in (BLACK, WHITE):
            raise ValueError(f"{side!r} is no side: expected {BLACK!r} or {WHITE!r}")
        return self.discs if side == self.side else 0 - self.discs

    def __str__(self) -> str:
        return f"{self.discs:+g} for {self.side}"


class MoveLine(NamedTuple):
    """A move with its score, seen from the side that plays it, and its principal variation.

    ``lower`` and ``upper`` bound the score. ``depth`` (plies) and ``selectivity`` (percent) are those of the search: a
    depth of all empty squares at 100 % means that it was read to the end. ``exact``: proved. ``pv`` begins with this
    move; ``nodes`` and ``time_s`` are its cost.
    """

    move: str
    score: Score
    lower: int
    upper: int
    depth: int
    selectivity: Selectivity
    exact: bool
    pv: tuple[str, ...]
    nodes: int
    time_s: float

    def __str__(self) -> str:
        sure = "exact" if self.exact else depth_text(self.depth, self.selectivity)
        return f"{self.move} {self.score.discs:+g} {sure} {''.join(self.pv)}"


class Analysis(NamedTuple):
    """The best moves of a board, best first: the pass if it is forced, none if the game is over.

    ``complete`` is False if a limit or a stop ended the search early, and for intermediate iterations.
    """

    board: Board
    lines: tuple[MoveLine, ...]
    nodes: int
    time_s: float
    complete: bool

    @property
    def best(self) -> MoveLine | None:
        """The best move, None if the game is over."""
        return self.lines[0] if self.lines else None

    @property
    def score(self) -> Score:
        """The score of the best move, or of the end of the game; seen from the side to move."""
        if self.lines:
            return self.lines[0].score
        return Score(self.board.result or 0, BLACK)

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines)) or f"over: {self.score}"


class BookMove(NamedTuple):
    """A book move: its score for the side that plays it, and whether it leads to another position of the book."""

    move: str
    score: Score
    linked: bool


class BookEntry(NamedTuple):
    """The book's entry of a board: score and bounds for the side to move, level, moves, best first.

    ``lines`` counts the paths from here that leave the book.
    """

    board: Board
    score: Score
    lower: int
    upper: int
    level: int
    lines: int
    moves: tuple[BookMove, ...]
