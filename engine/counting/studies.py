"""Counts about the game (`desdaemon count`): discs turned by a move, shortest drawn games, shortest Stoner.

Numba compiles them at each run, which takes some seconds. Lines of play are lists of squares, with 64 for a pass; all
begin with f5, because the other first moves are mirror images of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from desdaemon.engine.kernels.bits import ctz, flip, moves, popc
from desdaemon.engine.training.compiled import compiled, inlined
from desdaemon.engine.training.labelling.boards import pick, scramble
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, play_moves

Progress = Callable[[str, int, int], None]
"""Called with the name of a count, the number done, and the total."""
SILENT: Progress = lambda what, done, total: None  # noqa: E731

F5, PASS = 37, 64
_ROOM = 1 << 18
"""Number of rows in the buffers for lines (hundreds are needed) and for shapes (25,000 at most)."""
_U = np.uint64


@inlined
def _bit(square: int) -> Any:
    return _U(1) << _U(square)


# Flips

_GAMES_AT_ONCE = 5_000
_BLACK, _WHITE = map(_U, rules.START)


class PlyFlips(NamedTuple):
    """Figures of a ply: ``mean`` and standard ``deviation`` of the discs that its legal moves turn, and ``played``, the
    mean of the discs that the moves played turned.

    ``games`` is the number of games that reached the ply; if it is 0, all these figures are 0.
    """

    ply: int
    games: int
    mean: float
    deviation: float
    played: float


def count_flips(games: int, seed: int = 1, progress: Progress = SILENT) -> list[PlyFlips]:
    """Return the figures of each of 60 plies in ``games`` random games from the opening position.

    Every legal move is equally likely to be played, and every legal move of every position of a ply has the same
    weight; passes are no plies. The same seed and number of games give the same figures.
    """
    sums = np.zeros((60, 5), np.int64)
    for first in range(0, games, _GAMES_AT_ONCE):
        # Starts far apart, so that no two parts use the same random numbers.
        state = ((seed << 32) + first) * 0xD1B54A32D192ED03 % (1 << 64)
        _random_games(_U(state), min(_GAMES_AT_ONCE, games - first), sums)
        progress("games", first, games)
    plies = []
    for ply, (legal, turned, squares, reached, played) in enumerate(sums.tolist(), 1):
        mean, square = turned / max(1, legal), squares / max(1, legal)
        plies.append(PlyFlips(ply, reached, mean, max(0.0, square - mean * mean) ** 0.5, played / max(1, reached)))
    return plies


@compiled
def _random_games(state: Any, games: int, sums: Any) -> None:
    """Play ``games`` games with random numbers from ``state`` and add to the row of each ply in ``sums`` ((60, 5)
    int64): legal moves, discs that they turn, the squares of these numbers, moves played, discs that these turn.
    """
    for _ in range(games):
        player, opponent, ply = _BLACK, _WHITE, 0
        while True:
            legal = moves(player, opponent)
            if legal == _U(0):
                if moves(opponent, player) == _U(0):
                    break
                player, opponent = opponent, player
                continue
            state += _U(0x9E3779B97F4A7C15)
            chosen = pick(legal, scramble(state))
            turned = flip(chosen, player, opponent)
            sums[ply, 0] += popc(legal)
            sums[ply, 3] += 1
            sums[ply, 4] += popc(turned)
            while legal != _U(0):
                discs = popc(flip(ctz(legal), player, opponent))
                legal &= legal - _U(1)
                sums[ply, 1] += discs
                sums[ply, 2] += discs * discs
            player, opponent = opponent ^ turned, player | turned | _bit(chosen)
            ply += 1


def mean_of_plies(plies: list[PlyFlips]) -> tuple[float, float]:
    """Return the mean discs turned by all legal moves and by the moves played. Both are averages over the plies that a
    game reached, each with the same weight; at least one ply must have been reached.
    """
    reached = [ply for ply in plies if ply.games]
    return sum(ply.mean for ply in reached) / len(reached), sum(ply.played for ply in reached) / len(reached)


# Stoner: a move to a square diagonally next to an empty corner that the opponent cannot take. On an edge from that
# corner the next square is empty, the third is the mover's, the last but one the opponent's and the other corner empty;
# of the squares from the third to the last but one just one is empty. The mover can play there next and then attacks
# the other corner; the opponent can take neither corner, and after any answer the mover takes one of them.

_PREFIX = 6
_X_SQUARES = _U(0x0042000000004200)
_CORNERS = np.zeros((64, 3), np.int64)
"""For each X-square, its corner and the steps from the corner along the two edges."""
_CORNERS[[9, 14, 49, 54]] = (0, 1, 8), (7, -1, 8), (56, 1, -8), (63, -1, -8)


def _after(line: list[int]) -> tuple[int, int]:
    return play_moves(START, line).last[:2]


def shortest_stoners(most: int = 13, progress: Progress = SILENT) -> list[list[int]]:
    """Return all shortest lines that end in a Stoner, sorted; none if the shortest have more than ``most`` plies.

    13 plies take half a minute.
    """
    lines: list[list[int]] = []
    for plies in range(2, most + 1):
        # No game passes or ends so early.
        begun = [[F5]]
        for _ in range(min(_PREFIX, plies - 1) - 1):
            begun = [[*line, move] for line in begun for move in rules.squares(rules.legal_moves(*_after(line)))]
        buffer = np.zeros((_ROOM, plies), np.int64)
        for done, line in enumerate(begun):
            progress(f"{plies} plies", done, len(begun))
            player, opponent = _after(line)
            whole = np.array([*line, *[PASS] * (plies - len(line))])
            number = _note_stoners(_U(player), _U(opponent), len(line), whole, buffer, 0)
            lines += buffer[:number].tolist()
        if lines:
            break
    return sorted(lines)


@compiled
def _note_stoners(player: Any, opponent: Any, played: int, line: Any, lines: Any, number: int) -> int:
    """Append to ``lines`` every line of ``len(line)`` plies that ends in a Stoner and begins with the first ``played``
    moves of ``line``; the rest of ``line`` is overwritten.

    ``lines`` has ``number`` lines; returns the new number.
    """
    if played == len(line):
        if _is_stoner(opponent, player, line[-1]):
            lines[number] = line
            number += 1
        return number
    legal = moves(player, opponent)
    if legal == _U(0):
        player, opponent = opponent, player
        legal = moves(player, opponent)
    if played == len(line) - 1:
        legal &= _X_SQUARES
    while legal != _U(0):
        square = ctz(legal)
        legal &= legal - _U(1)
        flipped = flip(square, player, opponent)
        line[played] = square
        mover = player | flipped | _bit(square)
        number = _note_stoners(opponent ^ flipped, mover, played + 1, line, lines, number)
    return number


@compiled
def _is_stoner(mover: Any, other: Any, square: int) -> bool:
    """Return whether the last move, on ``square``, was a Stoner; ``other`` is to move."""
    corner, both, replies = _CORNERS[square, 0], mover | other, moves(other, mover)
    if _bit(square) & _X_SQUARES == _U(0) or (both | replies) & _bit(corner) != _U(0):
        return False
    for step in _CORNERS[square, 1:]:
        far, gaps, gap = _bit(corner + 7 * step), 0, 0
        for k in range(3, 6):
            if both & _bit(corner + k * step) == _U(0):
                gaps, gap = gaps + 1, corner + k * step
        ready = both & (far | _bit(corner + step)) == _U(0) and mover & _bit(corner + 2 * step) != _U(0)
        if ready and other & _bit(corner + 6 * step) != _U(0) and gaps == 1 and replies & far == _U(0):
            threats = moves(mover, other)
            if threats & _bit(gap) != _U(0) and threats & far == _U(0):
                flipped = flip(gap, mover, other)
                if _wins_a_corner(mover | flipped | _bit(gap), other & ~flipped, far, _bit(corner)):
                    return True
    return False


@compiled
def _wins_a_corner(mover: Any, other: Any, far: Any, near: Any) -> bool:
    """Return whether ``mover`` attacks the corner ``far`` and can take it or the corner ``near`` after every answer.

    ``other`` is to move; if it can take either corner itself the result is False.
    """
    answers = moves(other, mover)
    if moves(mover, other) & far == _U(0) or answers & (far | near) != _U(0):
        return False
    while answers != _U(0):
        square = ctz(answers)
        answers &= answers - _U(1)
        flipped = flip(square, other, mover)
        if moves(mover & ~flipped, other | flipped | _bit(square)) & (far | near) == _U(0):
            return False
    return True


# Draws. A game is over if no row of adjacent discs with an empty square at an end has both colours. So at the end the
# colours meet only on lines that are full from edge to edge. A shape is the set of squares occupied at the end. Its
# cells are squares joined by neighbours on lines that are not full, so a cell has one colour. `joined` are, by axis,
# the squares whose line is not full. First all shapes are found, then the games that end on them.

_CENTRE = _U(rules.CENTRE)
_STEPS = np.array([1, 8, 9, 7], np.uint64)
"""Bits of a step along each axis: rank, file, towards H8, towards A8."""
_FORWARD = np.array([rules.NOT_A, rules.FULL, rules.NOT_A, rules.NOT_H], np.uint64)
_BACK = np.array([rules.NOT_H, rules.FULL, rules.NOT_H, rules.NOT_A], np.uint64)

_LINES: list[tuple[int, int]] = []
"""The squares and the axis of every line of at least two squares, from edge to edge."""
for _axis, (_x, _y) in enumerate(((0, 1), (1, 0), (-1, 1), (1, 1))):
    _squares: dict[int, int] = defaultdict(int)
    for _square in range(64):
        _squares[_x * (_square & 7) + _y * (_square >> 3)] |= 1 << _square
    _LINES += [(squares, _axis) for squares in _squares.values() if squares.bit_count() > 1]

_LONG = [squares for squares, _ in _LINES if squares.bit_count() > 2]
"""The lines of at least three squares; a line of two never joins its discs."""


def _joined(full: list[int]) -> Any:
    """Return four masks, one for each axis: the squares that must have the colour of their neighbours along that axis
    at the end. These are all squares but those whose line along the axis is full or has only two squares. ``full`` is
    the list of the full lines, as masks.
    """
    joined = np.full(4, ~_U(0))
    for squares, axis in _LINES:
        if squares in full or squares not in _LONG:
            joined[axis] &= ~_U(squares)
    return joined


def _full_line_sets(discs: int) -> Iterator[tuple[int, list[int]]]:
    """Yield each set of one or more lines, of at least three squares each, that have room to be full in a shape of
    ``discs`` discs; of mirror images only one is yielded.

    A set is given as a pair: a mask of the centre and the squares of its lines, and the list of these lines as masks.
    """
    images = [[_LONG.index(rules.transform(squares, symmetry)) for squares in _LONG] for symmetry in range(8)]

    def extend(chosen: list[int], squares: int, first: int) -> Iterator[tuple[int, list[int]]]:
        if chosen and all(
            sum(1 << image[number] for number in chosen) >= sum(1 << number for number in chosen) for image in images
        ):
            yield squares, [_LONG[number] for number in chosen]
        for number in range(first, len(_LONG)):
            more = squares | _LONG[number]
            if more.bit_count() <= discs:
                yield from extend([*chosen, number], more, number + 1)

    return extend([], rules.CENTRE, 0)


def final_shapes(discs: int, progress: Progress = SILENT) -> list[int]:
    """Return the sets of ``discs`` squares on which a drawn game may end, as masks; one for all mirror images.

    Every drawn game with that many discs ends on one of these shapes or a mirror image of it; some shapes end no game.
    """
    sets, smallest, shapes = list(_full_line_sets(discs)), set[int](), np.zeros(_ROOM, np.uint64)
    for done, (wanted, full) in enumerate(sets):
        progress(f"shapes of {discs} discs", done, len(sets))
        number = _grow(_CENTRE, _U(0), _U(wanted), discs, _joined(full), shapes, 0)
        smallest.update(map(canonical, shapes[:number].tolist()))
    return sorted(smallest)


def canonical(shape: int) -> int:
    """Return the smallest of the eight mirror images of a mask of squares."""
    return min(rules.transform(shape, symmetry) for symmetry in range(8))


def shortest_draws(most: int = 20, progress: Progress = SILENT) -> list[list[int]]:
    """Return all shortest games that end in a draw, sorted; none if the shortest have more than ``most`` plies.

    20 plies take less than a minute.
    """
    for plies in range(2, most + 1, 2):
        games = drawn_games(final_shapes(plies + 4, progress), progress, f"games of {plies} plies")
        if games:
            return sorted(games)
    return []


def drawn_games(shapes: list[int], progress: Progress = SILENT, what: str = "games") -> list[list[int]]:
    """Return the drawn games that begin with f5 and end on one of ``shapes`` or a mirror image; ``what`` is the name
    that ``progress`` is called with.
    """
    player, opponent = map(_U, rules.play(*rules.START, F5))
    line, games, number = np.full(64, F5), np.full((_ROOM, 64), -1), 0
    for done, shape in enumerate(shapes):
        progress(what, done, len(shapes))
        for image in {rules.transform(shape, symmetry) for symmetry in range(8)}:
            if image >> F5 & 1:
                cells = _cells(_U(image), _joined([squares for squares in _LONG if image & squares == squares]))
                number = _fill(player, opponent, _U(image), cells, line, 1, games, number)
    return [[move for move in game if move >= 0] for game in games[:number].tolist()]


@inlined
def _forward(b: Any, axis: int) -> Any:
    return b << _STEPS[axis] & _FORWARD[axis]


@inlined
def _back(b: Any, axis: int) -> Any:
    return b >> _STEPS[axis] & _BACK[axis]


@compiled
def _reachable(b: Any) -> Any:
    """Return the squares outside ``b`` where a move may turn a disc of ``b``: next to two of its discs in a row."""
    squares = _U(0)
    for axis in range(4):
        squares |= _forward(b & _forward(b, axis), axis) | _back(b & _back(b, axis), axis)
    return squares & ~b


@compiled
def _cell_of(seed: Any, shape: Any, joined: Any) -> Any:
    """Return a mask of the cell of ``shape`` to which the squares ``seed`` belong: all squares that must have the same
    colour as these at the end. ``joined`` is what `_joined` returns for the shape's full lines.
    """
    cell, more = _U(0), seed
    while more != cell:
        cell = more
        for axis in range(4):
            more |= (_forward(cell & joined[axis], axis) | _back(cell & joined[axis], axis)) & shape
    return cell


@compiled
def _cells(shape: Any, joined: Any) -> Any:
    cells = np.zeros(64, np.uint64)
    number, left = 0, shape
    while left != _U(0):
        cells[number] = _cell_of(_bit(ctz(left)), shape, joined)
        left &= ~cells[number]
        number += 1
    return cells[:number]


@compiled
def _grow(reached: Any, excluded: Any, wanted: Any, discs: int, joined: Any, shapes: Any, number: int) -> int:
    """Append to ``shapes`` every shape of ``discs`` discs that contains ``reached`` and ``wanted``, grows from
    ``reached`` and may hold a draw.

    Squares are added where a move could put a disc. Each is first taken, then excluded; none of ``excluded`` is taken.
    ``joined`` is what `_joined` returns for the full lines. ``shapes`` has ``number`` shapes; returns the new number.
    """
    while _reachable(reached) & wanted != _U(0):
        reached |= _reachable(reached) & wanted
    shape = reached | wanted
    if popc(shape) == discs:
        if shape == reached and not _is_lost(_U(0), _U(0), shape, _cells(shape, joined)):
            shapes[number] = shape
            number += 1
        return number
    more = _reachable(reached) & ~(shape | excluded)
    while more != _U(0):
        square = _bit(ctz(more))
        if popc(_cell_of(square, shape | square, joined)) <= discs >> 1:
            number = _grow(reached | square, excluded, wanted, discs, joined, shapes, number)
        excluded |= square
        more &= ~square
    return number


@compiled
def _is_lost(player: Any, opponent: Any, shape: Any, cells: Any) -> Any:
    """Return whether no draw is possible any more that fills ``shape``. ``player`` and ``opponent`` are masks of the
    discs placed so far, ``cells`` masks of the shape's cells, which must have one colour each at the end.

    A draw is impossible if a cell has discs of both colours that cannot be turned any more, or if no choice of colours
    for the cells without such discs gives both sides half of the shape. A disc cannot be turned any more if on each of
    its lines it stands at an end of its row of the shape's squares, or that row is fully occupied.
    """
    empty, loose = shape & ~(player | opponent), _U(0)
    for axis in range(4):
        run = empty
        for _ in range(6):
            run |= (_forward(run, axis) | _back(run, axis)) & shape
        loose |= run & _forward(shape, axis) & _back(shape, axis)
    sums, mine, half = _U(1), 0, popc(shape) >> 1
    for cell in cells:
        own, other = player & ~loose & cell, opponent & ~loose & cell
        if own != _U(0) and other != _U(0):
            return True
        if own != _U(0):
            mine += popc(cell)
        elif other == _U(0):
            sums |= sums << _U(popc(cell))
    return mine > half or sums >> _U(half - mine) & _U(1) == _U(0)


@compiled
def _fill(player: Any, opponent: Any, shape: Any, cells: Any, line: Any, played: int, games: Any, number: int) -> int:
    """Append to ``games`` every game that goes on from the position, fills the shape and ends drawn.

    The first ``played`` moves of ``line`` lead to the position; the rest of ``line`` is overwritten. ``games`` has
    ``number`` games; returns the new number.
    """
    if player | opponent == shape:
        over = moves(player, opponent) | moves(opponent, player) == _U(0)
        if over and popc(player) == popc(opponent):
            games[number, :played] = line[:played]
            number += 1
        return number
    if _is_lost(player, opponent, shape, cells):
        return number
    legal = moves(player, opponent) & shape
    if moves(player, opponent) == _U(0) and moves(opponent, player) != _U(0):
        line[played] = PASS
        number = _fill(opponent, player, shape, cells, line, played + 1, games, number)
    while legal != _U(0):
        square = ctz(legal)
        legal &= legal - _U(1)
        flipped = flip(square, player, opponent)
        line[played] = square
        mover = player | flipped | _bit(square)
        number = _fill(opponent ^ flipped, mover, shape, cells, line, played + 1, games, number)
    return number
