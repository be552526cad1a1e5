"""The shortest drawn games: first the shapes (sets of occupied squares) at the end, then the games that fill these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from desdaemon.engine.layout import WORD
from desdaemon.engine.memory import Block
from desdaemon.protocol.othello import rules

from .compiled import Progress, in_parallel, kernels, noted_lines, processors, silent, write_moves
from .layout import (
    BOARD_LINES,
    DEAD_SLOT_BYTES,
    DEAD_TABLE,
    DEAD_TABLE_MASK,
    DRAW_CONTEXT_BYTES,
    GAME_MOVES,
    GAME_PLAYED,
    GAMES,
    GAMES_CAPACITY,
    GAMES_FOUND,
    LINE_BYTES,
    SHAPE_DISCS,
    SHAPE_JOINED,
    SHAPE_NUMBER,
    SHAPE_SQUARES,
    SHAPES,
    SHAPES_CAPACITY,
    SHAPES_FOUND,
)
from .stoner import F5

_LEAST_LINE = 3
_MOST_SHAPES = 1 << 20
_GAMES_CAPACITY = 1 << 12
_TABLE_SLOTS = 1 << 16
_SHAPES_AT_ONCE = 64


class BoardLine(NamedTuple):
    """A line of the board from edge to edge: its squares, and its axis (0 rank, 1 file, 2 to H8, 3 to A8)."""

    squares: int
    axis: int


class Draws(NamedTuple):
    """The drawn games of ``plies`` moves that begin with f5, as moves; ``shapes`` sets of squares were looked at."""

    plies: int
    shapes: int
    games: list[list[int]]


def lines_of_the_board() -> list[BoardLine]:
    """Every line of two squares or more."""
    found = []
    for axis, (right, down) in enumerate(((1, 0), (0, 1), (1, 1), (-1, 1))):
        for square in range(64):
            file, rank = square & 7, square >> 3
            if 0 <= file - right < 8 and 0 <= rank - down < 8:
                continue
            mask = 0
            while 0 <= file < 8 and 0 <= rank < 8:
                mask |= 1 << 8 * rank + file
                file, rank = file + right, rank + down
            if mask.bit_count() > 1:
                found.append(BoardLine(mask, axis))
    return found


def full_line_sets(discs: int, lines: list[BoardLine]) -> Iterator[list[BoardLine]]:
    """Sets of lines that may be full in a shape of so many discs, one of each eight mirror images.

    Lines of two squares are no choice: two discs on one are never joined by it.
    """
    long = [line for line in lines if line.squares.bit_count() >= _LEAST_LINE]
    places = {line.squares: at for at, line in enumerate(long)}
    images = [[places[rules.transform(line.squares, symmetry)] for line in long] for symmetry in range(8)]

    def extend(chosen: list[int], squares: int, first: int) -> Iterator[list[BoardLine]]:
        if chosen and all(sum(1 << image[at] for at in chosen) >= sum(1 << at for at in chosen) for image in images):
            yield [long[at] for at in chosen]
        for at in range(first, len(long)):
            more = squares | long[at].squares
            if more.bit_count() <= discs:
                yield from extend([*chosen, at], more, at + 1)

    return extend([], rules.CENTRE, 0)


def final_shapes(discs: int, progress: Progress = silent) -> list[int]:
    """The sets of that many squares on which a drawn game may end, one of each eight mirror images.

    Every drawn game ends on one of them, but not every one of them ends a game.
    """
    library = kernels(progress)
    lines = lines_of_the_board()
    sets = list(full_line_sets(discs, lines))

    def grow(full: list[BoardLine]) -> set[int]:
        joined = [(1 << 64) - 1] * 4
        wanted = rules.CENTRE
        for line in [*full, *(line for line in lines if line.squares.bit_count() < _LEAST_LINE)]:
            joined[line.axis] &= ~line.squares
        for line in full:
            wanted |= line.squares
        memory = Block(DRAW_CONTEXT_BYTES)
        words = memory.words()
        words[SHAPE_SQUARES // WORD], words[SHAPE_DISCS // WORD] = wanted, discs
        for at, mask in enumerate(joined, SHAPE_JOINED // WORD):
            words[at] = mask
        capacity = 1 << 12
        while True:
            shapes = Block(8 * capacity)
            words[SHAPES // WORD], words[SHAPES_CAPACITY // WORD], words[SHAPES_FOUND // WORD] = (
                shapes.address,
                capacity,
                0,
            )
            left = discs - wanted.bit_count()
            number = library.grow_shape(rules.CENTRE, 0, left, memory.address)
            if number <= capacity:
                return {canonical(shape) for shape in shapes.words()[:number]}
            capacity = min(_MOST_SHAPES, 2 * number)

    found: set[int] = set()
    for done, shapes in enumerate(in_parallel(grow, sets, processors()), 1):
        found |= shapes
        progress(f"shapes of {discs} discs", done, len(sets))
    return sorted(found)


def canonical(shape: int) -> int:
    """The smallest of the eight mirror images."""
    return min(rules.transform(shape, symmetry) for symmetry in range(8))


def shortest_draws(most: int = 20, progress: Progress = silent) -> Draws:
    """The shortest games that end in a draw, up to ``most`` plies; no games where none is so short.

    Takes a minute or two on two processor cores for 20 plies.
    """
    for plies in range(2, most + 1, 2):
        shapes = final_shapes(plies + 4, progress)
        games = drawn_games(shapes, progress, f"games of {plies} plies")
        if games:
            return Draws(plies, len(shapes), sorted(games))
    return Draws(most, 0, [])


def drawn_games(shapes: list[int], progress: Progress = silent, what: str = "games") -> list[list[int]]:
    """The drawn games from f5 that end on one of the shapes or a mirror image, as moves with 64 for a pass."""
    library = kernels(progress)
    lines = lines_of_the_board()
    after = rules.play(*rules.START, F5)
    parts = [shapes[at : at + _SHAPES_AT_ONCE] for at in range(0, len(shapes), _SHAPES_AT_ONCE)]

    def fill(part: list[int]) -> list[list[int]]:
        memory, table = Block(DRAW_CONTEXT_BYTES), Block(DEAD_SLOT_BYTES * _TABLE_SLOTS)
        games = Block(LINE_BYTES * _GAMES_CAPACITY)
        words = memory.words()
        words[DEAD_TABLE // WORD], words[DEAD_TABLE_MASK // WORD] = table.address, _TABLE_SLOTS - 1
        words[GAMES // WORD], words[GAMES_CAPACITY // WORD] = games.address, _GAMES_CAPACITY
        words[GAME_PLAYED // WORD] = 1
        for at, line in enumerate(lines):
            place = BOARD_LINES // WORD + 2 * at
            words[place], words[place + 1] = line.squares, line.axis
        write_moves(memory.address + GAME_MOVES, [F5])
        for shape in part:
            for image in sorted({rules.transform(shape, symmetry) for symmetry in range(8)}):
                if image >> F5 & 1:
                    words[SHAPE_NUMBER // WORD] += 1
                    library.draws_of_shape(*after, image, memory.address)
        return noted_lines(games.address, words[GAMES_FOUND // WORD])

    games: list[list[int]] = []
    for done, found in enumerate(in_parallel(fill, parts, processors()), 1):
        games += found
        progress(what, min(len(shapes), done * _SHAPES_AT_ONCE), len(shapes))
    return games
