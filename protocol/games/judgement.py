"""The loss of each move of a game against the best alternative, and a summary for each player.

`desdaemon analyze`, ``analyze`` and ``book analyze`` of the text protocol and the board in the browser use it. Scores
may come from a search or a book.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position
from desdaemon.protocol.othello.scores import BlackScore, MoverScore, seen_by_black
from desdaemon.protocol.othello.selectivity import Selectivity, depth_text

GRADES = ((10, "blunder"), (4, "mistake"), (2, "inaccuracy"))
"""The least loss of each grade in discs, the worst grade first."""

HALF_ACCURACY = 4
"""Discs lost by a move of 50 % accuracy; twice as many make 25 %."""


class SearchedMove(NamedTuple):
    """A move with its score in discs for the side that plays it, and the depth of the search in plies, -1 if unknown.

    ``exact`` says that the score is proved, ``full`` that the search reached the end of the game, ``of_book`` that the
    score is a book's. ``line`` begins with the move.
    """

    move: int
    score: MoverScore
    depth: int
    selectivity: Selectivity
    exact: bool = False
    full: bool = False
    line: tuple[int, ...] = ()
    of_book: bool = False


class JudgedMove(NamedTuple):
    """A move that was played in ``position``, and the best move to compare it with.

    ``ply`` counts from 1, passes included. ``other`` is the best of the other moves or, if these were not searched, of
    all moves; None if there is no move to compare with.
    """

    ply: int
    position: Position
    played: SearchedMove
    other: SearchedMove | None

    @property
    def move(self) -> int:
        """The move that was played."""
        return self.played.move

    @property
    def best(self) -> SearchedMove:
        """The move to compare with; the played one if there is no other."""
        return self.other or self.played

    @property
    def loss(self) -> int:
        """How many discs less the played move scored than `best`; 0 if it scored no less."""
        return max(0, self.best.score - self.played.score)

    @property
    def choices(self) -> int:
        """The number of legal moves."""
        return self.position.moves.bit_count()

    @property
    def exact(self) -> bool:
        """Whether the scores of the played move and of `best` are proved."""
        return self.played.exact and self.best.exact

    @property
    def grade(self) -> str:
        """The grade of the loss, a name of `GRADES`; "" for a smaller loss."""
        return next((name for least, name in GRADES if self.loss >= least), "")

    @property
    def accuracy(self) -> float:
        """Percent: 100 for a best move, halved for every `HALF_ACCURACY` discs lost."""
        return 100 * math.exp2(-self.loss / HALF_ACCURACY)

    @property
    def turned(self) -> str:
        """The proved result that the move gave away: ``the win``, ``the draw`` or ""."""
        if not self.exact:
            return ""
        if self.best.score > 0 >= self.played.score:
            return "the win"
        return "the draw" if self.best.score == 0 > self.played.score else ""

    @property
    def sure(self) -> str:
        """How sure the loss is: ``exact`` if the scores of the played move and of `best` are proved, ``book`` if one is
        a book's, else the depth of the shallower of their searches, such as ``16`` or ``21@73%``; "" if unknown.
        """
        if self.exact:
            return "exact"
        if self.played.of_book or self.best.of_book:
            return "book"
        depth, selectivity = min((move.depth, move.selectivity) for move in (self.played, self.best))
        return depth_text(depth, selectivity) if depth >= 0 else ""

    @property
    def black_score(self) -> BlackScore:
        """Black's score, in discs, of the position before the move."""
        return seen_by_black(max(self.best.score, self.played.score), self.position.black_to_move)


def equivalents(position: Position, move: int) -> int:
    """Return a mask of the legal moves that lead to the same position as ``move``, itself included. Mirror images count
    as the same position. ``move`` must be legal and no pass.
    """
    return sum(1 << other for other in _group(position, move))


def as_played(position: Position, best: SearchedMove, move: int) -> SearchedMove | None:
    """Return ``best`` turned so that it begins with ``move``; None if ``move`` leads to another position."""
    if best.move == move:
        return best
    group = _group(position, move)
    if best.move not in group:
        return None
    line = rules.mirrored_line(best.line[1:], group[best.move], group[move])
    return best._replace(move=move, line=(move, *line))


def _group(position: Position, move: int) -> dict[int, int]:
    groups = rules.mirror_equal_moves(position.player, position.opponent, position.moves)
    return next(group for group in groups if move in group)


class PlayerSummary(NamedTuple):
    """One player's moves, forced ones left out.

    ``choices`` counts the moves, ``best`` those that lost nothing; ``lost`` is the sum of discs lost. ``accuracy`` is
    the moves' mean in percent, 100 without moves. ``grades`` counts blunders, mistakes and inaccuracies; ``worst`` is
    the ply of the worst move, 0 if none lost discs.
    """

    choices: int
    best: int
    lost: int
    accuracy: float
    grades: dict[str, int]
    worst: int

    @property
    def mean(self) -> float:
        """Discs lost by a move on average; 0 without moves."""
        return self.lost / self.choices if self.choices else 0.0


def summary(moves: Iterable[JudgedMove]) -> PlayerSummary:
    """Return the summary of one player's moves."""
    chosen = [move for move in moves if move.choices > 1]
    worst = max(chosen, key=lambda move: (move.loss, -move.ply), default=None)
    return PlayerSummary(
        len(chosen),
        sum(move.loss == 0 for move in chosen),
        sum(move.loss for move in chosen),
        sum(move.accuracy for move in chosen) / len(chosen) if chosen else 100.0,
        {name: sum(move.grade == name for move in chosen) for _, name in GRADES},
        worst.ply if worst and worst.loss else 0,
    )
