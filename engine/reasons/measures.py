"""What a line of play shows on the board, counted for both sides: for the sentences, and for the fit of their weights.

A line begins with a move of the side that is asked about, the *mover*.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, play_moves

PLIES = 10
"""Plies of a line that are looked at: the later ones are a guess. Only who moves last needs all of it."""
LAST_EMPTIES = 20
"""Most empty squares after the first move with which regions are counted."""
EARLY_EMPTIES = 20
"""Least empty squares with which many discs count as taken too early."""

EDGES = tuple(tuple(start + step * k for k in range(8)) for start, step in ((0, 1), (56, 1), (0, 8), (7, 8)))
"""The squares of the edges: north, south, west, east."""
BESIDE = {
    beside: corner
    for corner, squares in ((0, (1, 8, 9)), (7, (6, 14, 15)), (56, (48, 49, 57)), (63, (54, 55, 62)))
    for beside in squares
}
"""For each X- and C-square its corner."""
DIAGONAL = 0x0042_0000_0000_4200
"""Mask of the X-squares."""


class Measure(NamedTuple):
    """What is counted in a line, for the mover (``own``) and for the other side (``other``).

    ``squares`` are those that a sentence names, ``ply`` is where it happens, 1 after the first move; 0 for nowhere.
    """

    own: float
    other: float
    squares: tuple[int, ...] = ()
    ply: int = 0

    @property
    def balance(self) -> float:
        """How much more the mover has than the other side."""
        return self.own - self.other


class Step(NamedTuple):
    """A move of a line: whether the mover played it, the mover's discs and the others' after it, what it turned."""

    move: int
    mine: bool
    own: int
    other: int
    turned: int

    @property
    def empty(self) -> int:
        """A mask of the empty squares."""
        return ~(self.own | self.other) & rules.FULL


class Line(NamedTuple):
    """A line of play: the board before it, as the mover sees it, its moves, passes included, how many of them are
    looked at, and the first moves of the lines that it is compared with.
    """

    own: int
    other: int
    steps: tuple[Step, ...]
    plies: int = PLIES
    others: frozenset[int] = frozenset()

    @classmethod
    def of(cls, position: Position, moves: Sequence[int]) -> Line:
        """Return the line of ``moves`` from a position; raises `BadInput` for an illegal move."""
        own, other = position.player, position.opponent
        first, mine, found = (own, other), True, list[Step]()
        for move in play_moves(position, list(moves)).moves:
            player, opponent = (own, other) if mine else (other, own)
            after_opponent, after_player = rules.play(player, opponent, move)
            turned = opponent & ~after_opponent
            own, other = (after_player, after_opponent) if mine else (after_opponent, after_player)
            found.append(Step(move, mine, own, other, turned))
            mine = not mine
        return cls(*first, tuple(found))

    @property
    def near(self) -> tuple[Step, ...]:
        """The steps that are looked at."""
        return self.steps[: self.plies]

    @property
    def over(self) -> bool:
        """Whether the line reaches the end of the game."""
        return rules.is_over(self.steps[-1].own, self.steps[-1].other)


def compared(position: Position, *lines: Sequence[int]) -> list[Line]:
    """Return lines of moves from a position, of which equally many plies are looked at. Raises `BadInput` for an
    illegal move.
    """
    found = [Line.of(position, moves) for moves in lines]
    plies = min(PLIES, *(len(line.steps) for line in found))
    firsts = frozenset(line.steps[0].move for line in found)
    return [line._replace(plies=plies, others=firsts - {line.steps[0].move}) for line in found]


def around(bits: int) -> int:
    """Return a mask of the squares in ``bits`` and of their neighbours."""
    row = bits | bits << 1 & rules.NOT_A | bits >> 1 & rules.NOT_H
    return (row | row << 8 | row >> 8) & rules.FULL


def regions(empty: int) -> list[int]:
    """Return masks of the regions of empty squares, which neighbours join, diagonal ones too; the smallest first."""
    found = []
    while empty:
        region, before = empty & -empty, 0
        while region != before:
            before, region = region, around(region) & empty
        found.append(region)
        empty &= ~region
    return sorted(found, key=int.bit_count)


def held(discs: int) -> int:
    """Return a mask of the discs on edges that are held from a corner: nobody can turn them."""
    found = 0
    for edge in EDGES:
        for squares in (edge, edge[::-1]):
            for square in squares:
                if not discs >> square & 1:
                    break
                found |= 1 << square
    return found


def taken(line: Line, mine: bool) -> list[int]:
    """Return the corners that a side takes in a line."""
    return [step.move for step in line.near if step.mine == mine and step.move >= 0 and rules.CORNERS >> step.move & 1]


def _corners(line: Line) -> Measure:
    """Count the discs held from corners at the end of what is looked at, and name the corners that are taken."""
    last = line.near[-1]
    own, other = held(last.own).bit_count(), held(last.other).bit_count()
    return Measure(own, other, (*taken(line, False), *taken(line, True)), len(line.near))


def _beside(line: Line, x_squares: bool) -> Measure:
    """Count the moves on X-squares, or else on C-squares, whose corner is empty."""
    found = [
        (step, ply)
        for ply, step in enumerate(line.near, 1)
        if step.move in BESIDE and step.empty >> BESIDE[step.move] & 1 and bool(DIAGONAL >> step.move & 1) == x_squares
    ]
    mine = [(step.move, ply) for step, ply in found if step.mine]
    return Measure(len(mine), len(found) - len(mine), tuple(move for move, _ in mine), mine[0][1] if mine else 0)


def mobilities(line: Line) -> list[tuple[int, int]]:
    """Return the numbers of legal moves of both sides after each step that is looked at."""
    return [
        (rules.legal_moves(step.own, step.other).bit_count(), rules.legal_moves(step.other, step.own).bit_count())
        for step in line.near
    ]


def rooms(line: Line) -> list[tuple[int, int]]:
    """Return the numbers of empty squares beside discs of the other side, for both sides, after each step that is
    looked at: where moves may come up.
    """
    return [
        ((around(step.other) & step.empty).bit_count(), (around(step.own) & step.empty).bit_count())
        for step in line.near
    ]


def walls(line: Line) -> list[tuple[int, int]]:
    """Return the numbers of both sides' discs that border on empty squares, after each step that is looked at."""
    rims = [around(step.empty) for step in line.near]
    return [
        ((step.own & rim).bit_count(), (step.other & rim).bit_count())
        for step, rim in zip(line.near, rims, strict=True)
    ]


@lru_cache(maxsize=16)
def frees(line: Line) -> list[tuple[int, int]]:
    """Return the numbers of both sides' free moves after each step that is looked at."""
    return [
        (free_moves(step.own, step.other).bit_count(), free_moves(step.other, step.own).bit_count())
        for step in line.near
    ]


def _mean(counts: list[tuple[int, int]]) -> Measure:
    return Measure(sum(own for own, _ in counts) / len(counts), sum(other for _, other in counts) / len(counts))


def _opened(line: Line) -> Measure:
    """Count the squares where the first move lets the other side play, which could not play there before."""
    first = line.steps[0]
    new = rules.legal_moves(first.other, first.own) & ~rules.legal_moves(line.other, line.own)
    return Measure(0, new.bit_count(), tuple(rules.squares(new)), 1)


def _taken_away(line: Line) -> Measure:
    """Count the move that the line is compared with, if the other side answers there."""
    answer = line.near[1].move if len(line.near) > 1 else rules.PASS
    taken = answer in line.others
    return Measure(0, int(taken), (answer,) if taken else (), 2)


def _openness(line: Line) -> Measure:
    """Count the empty neighbours of the discs that the first move turns."""
    first = line.steps[0]
    count = sum((around(1 << square) & first.empty).bit_count() for square in rules.squares(first.turned))
    return Measure(count, 0, ply=1)


def is_wedge(step: Step) -> bool:
    """Whether a step is on an edge, between two discs of the side that did not play it, which it leaves there."""
    enemy = step.other if step.mine else step.own
    return any(
        enemy >> before & 1 and enemy >> after & 1
        for edge in EDGES
        for before, square, after in zip(edge, edge[1:], edge[2:], strict=False)
        if square == step.move
    )


def _wedges(line: Line) -> Measure:
    found = [(step, ply) for ply, step in enumerate(line.near, 1) if is_wedge(step)]
    others = [(step.move, ply) for step, ply in found if not step.mine]
    return Measure(
        len(found) - len(others), len(others), tuple(move for move, _ in others), others[0][1] if others else 0
    )


def free_moves(player: int, opponent: int) -> int:
    """Return a mask of the moves of ``player`` that let the opponent play on no square where he could not before, and
    that are not beside an empty corner.
    """
    before = rules.legal_moves(opponent, player)
    empty = ~(player | opponent)
    found = 0
    for move in rules.squares(rules.legal_moves(player, opponent)):
        if move in BESIDE and empty >> BESIDE[move] & 1:
            continue
        if not rules.can_move(*rules.play(player, opponent, move), ~before):
            found |= 1 << move
    return found


def _passes(line: Line) -> Measure:
    found = [(step.mine, ply) for ply, step in enumerate(line.near, 1) if step.move == rules.PASS]
    own = sum(mine for mine, _ in found)
    return Measure(own, len(found) - own, (), found[0][1] if found else 0)


def _discs(line: Line) -> Measure:
    """Count the discs after the other side's reply, while they count as taken too early."""
    step = line.steps[min(1, len(line.steps) - 1)]
    if step.empty.bit_count() < EARLY_EMPTIES:
        return Measure(0, 0)
    return Measure(step.own.bit_count(), step.other.bit_count(), ply=2)


def _last(line: Line) -> Measure:
    """Count the regions after the first move by who moves last there: in a line to the end of the game who does, else
    who would if both sides moved there in turn, the other side first. Names one where the other side does.
    """
    first = line.steps[0]
    if first.empty.bit_count() > LAST_EMPTIES:
        return Measure(0, 0)
    found, over = regions(first.empty), line.over
    own, others = 0, list[int]()
    for region in found:
        mine = region.bit_count() % 2 == 0
        if over:
            within = [step.mine for step in line.steps[1:] if step.move != rules.PASS and region >> step.move & 1]
            if not within:
                continue
            mine = within[-1]
        own += mine
        others += [] if mine else [region]
    return Measure(own, len(others), tuple(rules.squares(others[0])) if others else (), 1)


def _turned(line: Line) -> Measure:
    """Count the discs that each side turns up to the end of the game, in a line that gets there."""
    if not line.over:
        return Measure(0, 0)
    own = sum(step.turned.bit_count() for step in line.steps if step.mine)
    return Measure(own, sum(step.turned.bit_count() for step in line.steps) - own, ply=len(line.steps))


MEASURES = {
    "corner": _corners,
    "x-square": lambda line: _beside(line, True),
    "c-square": lambda line: _beside(line, False),
    "moves": lambda line: _mean(mobilities(line)),
    "room": lambda line: _mean(rooms(line)),
    "opens": _opened,
    "wall": lambda line: _mean(walls(line)),
    "taken": _taken_away,
    "quiet": _openness,
    "wedge": _wedges,
    "free": lambda line: _mean(frees(line)),
    "pass": _passes,
    "early": _discs,
    "last": _last,
    "turns": _turned,
}
"""The kinds of reasons, each with the function that counts it in a line."""


def measured(line: Line) -> dict[str, Measure]:
    """Return all measures of a line, by kind."""
    return {kind: measure(line) for kind, measure in MEASURES.items()}
