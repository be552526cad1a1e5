"""Results of the Python API, as named tuples. Each score names the side that it is for."""

from __future__ import annotations

from typing import NamedTuple

from desdaemon.protocol.othello.selectivity import Selectivity, depth_text

from .board import BLACK, WHITE, Board


class Score(NamedTuple):
    """A score: the difference of ``discs`` at the end of the game, empty squares given to the winner, for ``side``.

    Searches give whole numbers, static evaluations fractions. Convert scores of different sides by `black`, `white` or
    `seen_by` before comparing them.
    """

    discs: float
    side: str

    @property
    def black(self) -> float:
        """The difference in discs for Black."""
        return self.seen_by(BLACK)

    @property
    def white(self) -> float:
        """The difference in discs for White."""
        return self.seen_by(WHITE)

    def seen_by(self, side: str) -> float:
        """Return the difference in discs for a side, `BLACK` or `WHITE`. Raises `ValueError` for other names."""
        if side not in (BLACK, WHITE):
            raise ValueError(f"{side!r} is not a side: expected {BLACK!r} or {WHITE!r}")
        return self.discs if side == self.side else 0 - self.discs

    def __str__(self) -> str:
        return f"{self.discs:+g} for {self.side}"


class MoveLine(NamedTuple):
    """A move with its score, for the side that plays it, and the line of best play.

    ``lower`` and ``upper`` bound the score. ``depth`` (plies) and ``selectivity`` (percent) are those of the search; a
    depth of all empty squares at 100 % is a search to the end of the game. ``exact`` says that the score is proved.
    ``pv`` begins with the move; ``nodes`` and ``time_s`` are the cost.
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
    """The best moves of a board, best first. A forced pass counts as a move; there are none if the game is over.

    ``complete`` is False for intermediate iterations, and if a limit or a stop ended the search. If it ended within the
    first iteration, the move is arbitrary, with score 0 and depth 0.
    """

    board: Board
    lines: tuple[MoveLine, ...]
    nodes: int
    time_s: float
    complete: bool

    @property
    def best(self) -> MoveLine | None:
        """The best move; None if the game is over."""
        return self.lines[0] if self.lines else None

    @property
    def score(self) -> Score:
        """The score of the best move, for the side to move; if there is none, that of the finished game, for Black."""
        if self.lines:
            return self.lines[0].score
        return Score(self.board.result or 0, BLACK)

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines)) or f"over: {self.score}"


class BookMove(NamedTuple):
    """A book move: its score for the side that plays it, and whether it leads to a position in the book."""

    move: str
    score: Score
    linked: bool


class BookEntry(NamedTuple):
    """The book's entry of a board: score and bounds (discs) for the side to move, level, moves, best first.

    ``lines`` counts the paths from here that leave the book.
    """

    board: Board
    score: Score
    lower: int
    upper: int
    level: int
    lines: int
    moves: tuple[BookMove, ...]
