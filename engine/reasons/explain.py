"""Why a move is worse than the best one: the differences of their lines, in sentences, that which counts most first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, move_text
from desdaemon.protocol.spelling import plural

from .measures import BESIDE, Line, Measure, compared, free_moves, frees, measured, mobilities, rooms, taken, walls
from .weights import STAGES, WEIGHTS

LEAST = 0.3
"""Discs that a difference must explain to be told."""
THIN = {"room": 1.5, "wall": 1.5, "quiet": 2, "free": 0.4, "early": 6, "turns": 3}
"""Differences below these are too small for anybody to see a reason in them, whatever they explain."""
MOST = 5
"""Most reasons of a move."""


REGION = 6
"""Most squares of a region that are named."""
ROW = 3
"""Least discs of a row, a column or a diagonal that are named together."""
ROWS = tuple(
    sum(1 << start + step * k for k in range(length))
    for starts in (
        [(8 * k, 1, 8) for k in range(8)],
        [(k, 8, 8) for k in range(8)],
        [(k, 9, 8 - k) for k in range(6)] + [(8 * k, 9, 8 - k) for k in range(1, 6)],
        [(k, 7, k + 1) for k in range(2, 8)] + [(8 * k + 7, 7, 8 - k) for k in range(1, 6)],
    )
    for start, step, length in starts
)
"""Masks of the rows, the columns, and the diagonals of three squares and more."""


class Reason(NamedTuple):
    """A reason why a move loses discs.

    ``kind`` is a key of `measures.MEASURES`; ``discs`` is how many discs of a loss such a difference explains on
    average; ``text`` is a sentence, in which "you" are the side that moves. ``played`` and ``best`` are what was
    counted for this side and for the other one, after the move that was played and after the best one. ``squares`` are
    those that it is about: ``a1``.
    """

    kind: str
    discs: float
    text: str
    played: tuple[float, float]
    best: tuple[float, float]
    squares: tuple[str, ...]


class Told(NamedTuple):
    """A difference that a sentence tells: both lines, and what was counted there."""

    they: str
    """The name of the other side."""
    played: Line
    best: Line
    here: Measure
    """What was counted in the line that was played."""
    there: Measure
    """What was counted in the best line."""

    @property
    def move(self) -> str:
        """The move that was played."""
        return _name(self.played.steps[0].move)

    @property
    def instead(self) -> str:
        """The best move."""
        return _name(self.best.steps[0].move)


def stage_of(empties: int) -> int:
    """Return the stage of the game, a place in `STAGES`, of a position with ``empties`` empty squares."""
    return next(stage for stage, least in enumerate(STAGES) if empties > least or stage == len(STAGES) - 1)


def reasons(position: Position, played: Sequence[int], best: Sequence[int]) -> list[Reason]:
    """Return the reasons why the first move of the line ``played`` is worse than that of ``best``, those that explain
    the most first. Both lines begin in ``position``, and are best play after their first moves. Raises `BadInput` for
    an illegal move and an empty line.
    """
    if not played or not best:
        raise BadInput("a line is empty: expected moves such as e6f4")
    line, best_line = compared(position, played, best)
    if line.steps[0].move == best_line.steps[0].move:
        return []
    here, there = measured(line), measured(best_line)
    they = "White" if position.black_to_move else "Black"
    weights = WEIGHTS[stage_of(position.empties)]
    found = []
    for kind, sentence in SENTENCES.items():
        own, other = here[kind], there[kind]
        more = other.balance - own.balance
        discs = weights[kind] * more
        if discs >= LEAST and abs(more) >= THIN.get(kind, 0):
            told = Told(they, line, best_line, own, other)
            text = sentence(told)
            if text:
                named = SQUARES[kind](told) if kind in SQUARES else own.squares or other.squares
                squares = tuple(map(_name, named))
                text = f"{text[0].upper()}{text[1:]}."
                found.append(Reason(kind, round(discs, 2), text, own[:2], other[:2], squares))
    return sorted(found, key=lambda reason: -reason.discs)[:MOST]


# Sentences. Each returns "" where the difference is none that a player would understand.


def _name(move: int) -> str:
    return move_text(move).lower()


def _names(squares: Sequence[int], none: str = "none") -> str:
    names = [_name(square) for square in squares]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else none


def _way(line: Line, ply: int) -> str:
    """Return the moves of a line up to ply ``ply``."""
    return " ".join(_name(step.move) for step in line.steps[:ply])


def _corner(told: Told) -> str:
    def takes(line: Line) -> str:
        sides = ((told.they, "takes", taken(line, False)), ("you", "take", taken(line, True)))
        corners = [f"{side} {verb} {_names(squares)}" for side, verb, squares in sides if squares]
        return f" {' and '.join(corners)};" if corners else ""

    here, there = told.here, told.there
    return (
        f"after {told.move}{takes(told.played)} {told.they} has {plural(int(here.other), 'edge disc')} held from a "
        f"corner and you {here.own:g} ({_way(told.played, here.ply)}); after {told.instead} instead{takes(told.best)} "
        f"{told.they} would have {there.other:g} and you {there.own:g}"
    )


def _beside(kind: str) -> Callable[[Told], str]:
    def sentence(told: Told) -> str:
        here, there = told.here, told.there
        if here.own > there.own:
            square, corner = _name(here.squares[0]), _name(BESIDE[here.squares[0]])
            where = f"the {kind} beside the empty corner {corner}"
            first = f"{square} is {where}"
            if here.ply > 1:
                first = f"after {told.move} you come to play on {square}, {where} ({_way(told.played, here.ply)})"
            return f"{first}; after {told.instead} instead, you would play on {_squares(there.own)}"
        return (
            f"after {told.instead} {told.they} would come to play on {plural(int(there.other), kind)} beside an empty "
            f"corner, after {told.move} on {_squares(here.other)}"
        )

    return sentence


def _squares(count: float) -> str:
    return f"{count:g} such square{'s' * (count > 1)}" if count else "none"


class Widest(NamedTuple):
    """Where the lines differ the most in what is counted after each step: up to there, and the counts."""

    ply: int
    way: str
    own: int
    other: int
    best_way: str
    best_own: int
    best_other: int


def _widest(told: Told, counted: Callable[[Line], list[tuple[int, int]]], *, less: bool = False) -> Widest:
    """Return where the mover's balance falls behind that of the best line the most; with ``less`` it should be low."""
    here, there = counted(told.played), counted(told.best)
    gaps = [(best[0] - best[1]) - (own[0] - own[1]) for own, best in zip(here, there, strict=True)]
    ply = (min if less else max)(range(len(gaps)), key=gaps.__getitem__)
    return Widest(ply + 1, _way(told.played, ply + 1), *here[ply], _way(told.best, ply + 1), *there[ply])


def _moves(told: Told) -> str:
    at = _widest(told, mobilities)
    return (
        f"after {at.way} {told.they} has {plural(at.other, 'move')} and you {at.own}; after {at.best_way} instead, "
        f"{told.they} would have {at.best_other} and you {at.best_own}"
    )


def _room(told: Told) -> str:
    at = _widest(told, rooms)
    return (
        f"room: after {at.way} {told.they} has {plural(at.other, 'empty square')} beside your discs and you {at.own} "
        f"beside {told.they}'s; after {at.best_way} instead, {told.they} would have {at.best_other} and you "
        f"{at.best_own}. Such squares become moves"
    )


def _opens(told: Told) -> str:
    answer = told.played.steps[1].move if len(told.played.steps) > 1 else rules.PASS
    best = f"; {told.they}'s best answer is there, {_name(answer)}" if answer in told.here.squares else ""
    return (
        f"{told.move} lets {told.they} move to {_names(told.here.squares)}, where {told.they} could not move before"
        f"{best}; {told.instead} instead would open {_names(told.there.squares)}"
    )


def _wall(told: Told) -> str:
    at = _widest(told, walls, less=True)
    if at.own <= at.best_own:
        return ""
    return (
        f"a wall: after {at.way} {at.own} of your discs border on empty squares and {at.other} of {told.they}'s; after "
        f"{at.best_way} instead, {at.best_own} and {at.best_other}. There {told.they} finds moves"
    )


def _taken(told: Told) -> str:
    return f"after {told.move} {told.they} answers {told.instead}: the best move is taken from you"


def _quiet(told: Told) -> str:
    neighbours = plural(int(told.there.own), "empty neighbour")
    turned = f"those that {told.move} turns have {told.here.own:g}"
    return f"{told.instead} is quieter: the discs that it turns have {neighbours}, {turned}"


def _wedge(told: Told) -> str:
    here, there = told.here, told.there
    if here.other > there.other:
        return (
            f"after {told.move} {told.they} wedges in at {_name(here.squares[0])}, between your discs on the edge "
            f"({_way(told.played, here.ply)}); after {told.instead} instead, {told.they} would have "
            f"{int(there.other) or 'none'}"
        )
    return (
        f"after {told.instead} you could wedge in between {told.they}'s discs on an edge, {_times(there.own)}; after "
        f"{told.move} {_times(here.own)}"
    )


def _times(count: float) -> str:
    return {0: "not at all", 1: "once", 2: "twice"}.get(int(count), f"{count:g} times")


def _free(told: Told) -> str:
    at = _widest(told, frees)
    played, best = (_free_at(line, at.ply) for line in (told.played, told.best))
    return (
        f"after {at.way} {told.they} has {plural(at.other, 'free move')}{_among(played[1])} and you {at.own}"
        f"{_among(played[0])}; after {at.best_way} instead, {told.they} would have {at.best_other}{_among(best[1])} "
        f"and you {at.best_own}{_among(best[0])}. A free move opens nothing, and spares a worse one"
    )


def _free_at(line: Line, ply: int) -> tuple[list[int], list[int]]:
    """Return the free moves of the mover and of the other side after a ply of a line."""
    step = line.steps[ply - 1]
    return list(rules.squares(free_moves(step.own, step.other))), list(rules.squares(free_moves(step.other, step.own)))


def _among(squares: Sequence[int]) -> str:
    """Return the squares in brackets, of many the first."""
    names = ", ".join(map(_name, squares[:MOST]))
    return f" ({names}{', ...' if len(squares) > MOST else ''})" if names else ""


def _free_squares(told: Told) -> list[int]:
    """Return the free moves that the other side has, without any those that the mover would have."""
    ply = _widest(told, frees).ply
    return _free_at(told.played, ply)[1] or _free_at(told.best, ply)[0]


def _pass(told: Told) -> str:
    here, there = told.here, told.there
    if here.own > there.own:
        return (
            f"after {told.move} you have to pass {_times(here.own)} ({_way(told.played, here.ply)}), after "
            f"{told.instead} {_times(there.own)}"
        )
    return (
        f"after {told.instead} {told.they} would have to pass {_times(there.other)} ({_way(told.best, there.ply)}), "
        f"after {told.move} {_times(here.other)}"
    )


def _early(told: Told) -> str:
    here, there = told.here, told.there
    if here.own <= there.own:
        return ""
    return (
        f"discs too early: after {_way(told.played, 2)} you have {here.own:g} and {told.they} {here.other:g}; after "
        f"{_way(told.best, 2)} instead, you would have {there.own:g} and {told.they} {there.other:g}. Who has many "
        "discs finds few moves"
    )


def _last(told: Told) -> str:
    here, there = told.here, told.there
    where = f", one of them {_names(here.squares)}," if 0 < len(here.squares) <= REGION else ""
    return (
        f"after {told.move} {told.they} moves last in {plural(int(here.other), 'region')} of empty squares{where} and "
        f"you in {here.own:g}; after {told.instead} instead, {told.they} would in {there.other:g} and you in "
        f"{there.own:g}"
    )


def _turns(told: Told) -> str:
    here, there = told.here, told.there
    exchanged = "; ".join(_exchanged(told))
    begun = (
        f"after {told.move} {exchanged}; counted to the end," if exchanged else f"counted to the end, after {told.move}"
    )
    return (
        f"{begun} {told.they} turns {here.other:g} discs and you {here.own:g}; after {told.instead} instead, "
        f"{told.they} would turn {there.other:g} and you {there.own:g}"
    )


def _exchanged(told: Told) -> Iterator[str]:
    """Yield which squares the other side gets that the mover would get after the best move, the passes it costs, and
    where the discs are that change hands.
    """
    lost, row = _lost(told), _lost_row(told)
    if lost:
        yield f"{told.they} gets {_names(lost)}, where you would play instead"
    passes, fewer = (sum(s.mine and s.move == rules.PASS for s in line.steps) for line in (told.played, told.best))
    if passes > fewer:
        yield f"you pass {_times(passes)}, after {told.instead} {_times(fewer)}"
    if row:
        yield f"{told.they} ends with {_names(row)}, which would be yours"


def _lost(told: Told) -> list[int]:
    """Return the squares where the other side plays, and the mover would in the best line."""
    ours = {step.move for step in told.best.steps if step.mine}
    return [step.move for step in told.played.steps if not step.mine and step.move in ours - {rules.PASS}]


def _lost_row(told: Told) -> list[int]:
    """Return the discs of a row, a column or a diagonal that are the other side's at the end, and would be the mover's
    after the best move: the most that lie in one, or all of them if they are few.
    """
    lost = told.played.steps[-1].other & told.best.steps[-1].own
    row = max((lost & row for row in ROWS), key=int.bit_count)
    return list(rules.squares(row if row.bit_count() >= ROW else lost if lost.bit_count() <= ROW + 1 else 0))


def _turns_squares(told: Told) -> list[int]:
    return list(dict.fromkeys([*_lost(told), *_lost_row(told)]))


SENTENCES: dict[str, Callable[[Told], str]] = {
    "corner": _corner,
    "x-square": _beside("X-square"),
    "c-square": _beside("C-square"),
    "moves": _moves,
    "room": _room,
    "opens": _opens,
    "wall": _wall,
    "taken": _taken,
    "quiet": _quiet,
    "wedge": _wedge,
    "free": _free,
    "pass": _pass,
    "early": _early,
    "last": _last,
    "turns": _turns,
}
"""The sentence of each kind."""
SQUARES: dict[str, Callable[[Told], list[int]]] = {"free": _free_squares, "turns": _turns_squares}
"""The squares that a sentence is about, where it takes both lines to find them."""
