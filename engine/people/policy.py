"""How likely people of a rating are to choose each move of a position, and a move drawn by these chances.

A move's chance is the softmax over the legal moves of the output of a small network with one hidden layer, whose
inputs are looked up: each index of a move, one of each of `GROUPS`, names a row of numbers, and the rows are summed.
The indices are those of

- the square, the opponent's moves and open corners after the move, the discs that it turns and their empty neighbours,
  the size of the empty region that it is played in, whether the opponent could move there too;
- how much less it is worth than the best move, by the static evaluation and by searches of `DEPTHS` plies;
- how far from the opponent's last move it is, and whether it turns that disc, if that move is known;
- how often people chose it, in openings that were played often.

One more input is the sum of the weights of the configurations of `PATTERNS` sets of squares around the move, the board
turned so that the move's square lies in the triangle A1-D1-D4. Each number of a row has a slope by the rating.

`desdaemon train policy` makes the file of weights (docs/training.md); its layout is that of `write`.
"""

from __future__ import annotations

import itertools
import json
import lzma
import math
import os
import sys
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from desdaemon.engine.evaluation.weights_file import WeightsError
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.system import files

SHIPPED = Path(__file__).parent / "data" / "policy.xz"

MEAN_RATING, RATING_UNIT = 1500, 400
"""The rating at which the slopes of weights count nothing, and how much more counts them once."""

DEPTHS = (1, 3, 5)
"""Plies of the searches after each move."""
_SELECTIVITY = Selectivity.PERCENT_87
_SOLVED_EMPTIES = 10
"""Most empty squares after a move from which the last search goes to the end."""

PHASES, PHASE_PLIES = 10, 6
MOST = 15
"""Largest count that has a row of its own; more count as many."""
LOSSES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 17.0, 22.0, 30.0)
"""Upper ends, in discs, of the steps in which what a move loses is looked up."""
RANKS = 8
"""Steps of how many moves are better, or of how much larger a count is than the least one of all moves."""
RELATIONS = 14
"""Steps of a move's distance from the opponent's last move, 1 to 7, with or without turning that disc."""
OFTEN = (5, 20, 50, 200, 1000)
"""Least numbers of games of a known opening position, in the steps in which shares are looked up."""
SHARES = 12
"""Steps of a move's share of the games: 0 for none, then by its logarithm."""

VALUES = ("static", *(f"depth {depth}" for depth in DEPTHS))
"""The groups in which what a move loses is looked up."""
GROUPS = {
    "square": PHASES * 9,
    "mobility": PHASES * (MOST + 1),
    "turned": PHASES * (MOST + 1),
    "openness": PHASES * (MOST + 1),
    "region": PHASES * (MOST + 1),
    "corners": PHASES * 3,
    "shared": PHASES * 2,
    "more mobility": PHASES * RANKS,
    "more openness": PHASES * RANKS,
    "moves": MOST + 1,
    "last": PHASES * RELATIONS,
    "known": len(OFTEN) * SHARES,
    **dict.fromkeys(VALUES, PHASES * (len(LOSSES) + 1)),
    "rank": PHASES * RANKS,
}
"""What is looked up for a move: the size of each group. A move has one index of each."""
FIRST = {name: 1 + sum(list(GROUPS.values())[:k]) for k, name in enumerate(GROUPS)}
"""The first index of each group. The index 0, whose row is all 0, is that of what is not known."""
ROWS = 1 + sum(GROUPS.values()) + 1
"""Number of rows; the last is multiplied by the sum of the patterns' weights."""
HIDDEN = 16
"""Numbers of a row. The first sum of a move's rows counts as it is, of each other one what is above 0."""

WIDTH = 9
"""Most squares of a pattern."""
CONFIGURATIONS = 3**WIDTH
PATTERNS = 11
"""Patterns of a square."""
UNIT = 40
"""Stored units of a pattern's weight of 1."""

_OCTANT = [8 * rank + file for rank in range(4) for file in range(rank, 4)][:9]


def _nearest(square: int) -> list[list[int]]:
    """Return the patterns of a square of the triangle, one from each of eleven regions of the board: the nearest
    squares of the region, at most `WIDTH`, without the square itself, nearest first.
    """
    x, y = square & 7, square >> 3

    def part(holds: Any) -> list[int]:
        chosen = [other for other in range(64) if other != square and holds(other & 7, other >> 3)]
        return sorted(chosen, key=lambda other: ((other & 7) - x) ** 2 + ((other >> 3) - y) ** 2)[:WIDTH]

    return [
        part(lambda f, r: r == y or (f == x and abs(r - y) == 1)),
        part(lambda f, r: f == x or (r == y and abs(f - x) == 1)),
        part(lambda f, r: abs(f - x) == abs(r - y)),
        part(lambda f, r: True),
        part(lambda f, r: max(abs(f - x), abs(r - y)) == 2),
        part(lambda f, r: 2 <= f <= 5 and 2 <= r <= 5),
        part(lambda f, r: r == 0 or (r == 1 and f in (1, 6))),
        part(lambda f, r: f == 0 or (f == 1 and r in (1, 6))),
        part(lambda f, r: f <= 2 and r <= 2),
        part(lambda f, r: f >= 5 and r <= 2),
        part(lambda f, r: f <= 2 and r >= 5),
    ]


class SquarePatterns(NamedTuple):
    """What is looked up for a move on a square: its place in the triangle, from 0, and its patterns on the board."""

    place: int
    patterns: tuple[tuple[int, ...], ...]


@cache
def square_patterns() -> tuple[SquarePatterns, ...]:
    """Return the patterns of all squares; those of the four in the middle, which are never empty, are of no use."""
    found = []
    for square in range(64):
        turns = (turn for turn in range(8) if rules.transform_move(square, turn) in _OCTANT)
        turn = next(turns, 0)
        image = rules.transform_move(square, turn)
        place = _OCTANT.index(image) if image in _OCTANT else 0
        back = rules.move_images(rules.INVERSE_SYMMETRY[turn])
        found.append(SquarePatterns(place, tuple(tuple(back[other] for other in each) for each in _nearest(image))))
    return tuple(found)


def board_key(player: int, opponent: int) -> int:
    """Return 32 bits that stand for a position as it lies, not for its mirror images."""
    mixed = (player * 0x9E3779B97F4A7C15 + opponent * 0xBF58476D1CE4E5B9) & rules.FULL
    mixed = ((mixed ^ mixed >> 29) * 0x94D049BB133111EB) & rules.FULL
    return mixed >> 32


def share_step(count: int, total: int) -> int:
    """Return the step of a move chosen in ``count`` of ``total`` games: 0 for none, else 1 to `SHARES` - 1, larger for
    smaller shares.
    """
    return min(SHARES - 1, 1 + int(1.5 * math.log2(total / count))) if count > 0 else 0


class KnownOpenings(NamedTuple):
    """Opening positions that people played often.

    ``keys`` are the positions' `board_key`, ascending, each board as it lies after the first move F5. For position k
    ``moves[starts[k] : starts[k + 1]]`` has the index in `OFTEN` of its number of games, then the square and the
    `share_step` of each chosen move.
    """

    keys: array[int]
    starts: array[int]
    moves: bytes

    def steps(self, player: int, opponent: int) -> dict[int, int]:
        """Return for each move that people chose in this position its index within the group "known" of `GROUPS`; the
        index for PASS is that of all other moves. {} for an unknown position.
        """
        for turn in range(8):
            key = board_key(rules.transform(player, turn), rules.transform(opponent, turn))
            place = bisect_left(self.keys, key)
            if place < len(self.keys) and self.keys[place] == key:
                content = self.moves[self.starts[place] : self.starts[place + 1]]
                images = rules.move_images(rules.INVERSE_SYMMETRY[turn])
                first = SHARES * content[0]
                return {
                    rules.PASS: first,
                    **{images[content[k]]: first + content[k + 1] for k in range(1, len(content), 2)},
                }
        return {}


class PolicyWeights(NamedTuple):
    """The weights of a policy.

    ``rows`` has for each of `ROWS` indices `HIDDEN` numbers, those at `MEAN_RATING`, then what `RATING_UNIT` more adds
    to them. ``outputs`` are the weights of the sums of rows above 0; the first sum has none, so that its weight is 0.
    ``patterns`` has a signed byte, in units of 1/`UNIT`, by the square's place in the triangle, pattern and
    configuration. A configuration is a number in base 3, the first square its lowest digit: 0 for empty, 1 for the
    mover's disc, 2 for the opponent's.
    """

    rows: array[float]
    outputs: array[float]
    patterns: array[int]
    known: KnownOpenings
    record: dict[str, Any]


_MOST_BYTES = 1 << 23
"""Most bytes of an unpacked file."""
_UNPACKING_BYTES = 1 << 24
"""Memory limit for unpacking a file. Files made by `write` need half of it."""
_LARGEST = 1e6
"""Largest weight that is accepted; those of training are below 100."""
_PARTS = ("f", "f", "b", "I", "I", "B")


def write(path: Path, weights: PolicyWeights) -> None:
    """Write weights to a file, which is replaced as a whole: an xz stream of a line of JSON, the record with the
    lengths of the parts, then the parts: rows, outputs, patterns, keys, starts, moves, each little endian.
    """
    known = weights.known
    parts: list[array[Any]] = [weights.rows, weights.outputs, weights.patterns, known.keys, known.starts]
    parts = [part[:] for part in (*parts, array("B", known.moves))]
    if sys.byteorder == "big":
        for part in parts:
            part.byteswap()
    line = json.dumps({**weights.record, "lengths": [len(part) for part in parts]}) + "\n"
    content = line.encode() + b"".join(part.tobytes() for part in parts)
    files.replace(path, lzma.compress(content, preset=6 | lzma.PRESET_EXTREME))


def read(path: str | os.PathLike[str]) -> PolicyWeights:
    """Read a file that `write` wrote; raises `WeightsError`."""
    try:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, _UNPACKING_BYTES)
        with files.open_regular(path) as file:
            content = unpacker.decompress(file.read(_MOST_BYTES), _MOST_BYTES)
        if not unpacker.eof:
            raise ValueError(f"cut off, or more than {_MOST_BYTES} bytes")
        line, _, content = content.partition(b"\n")
        record = json.loads(line)
        parts: list[array[Any]] = []
        for code, length in zip(_PARTS, record.pop("lengths"), strict=True):
            part = array(code)
            size = part.itemsize * length
            part.frombytes(content[:size])
            content = content[size:]
            if sys.byteorder == "big":
                part.byteswap()
            parts.append(part)
        if content or unpacker.unused_data:
            raise ValueError("more than the parts whose lengths it tells")
    except OSError as error:
        raise WeightsError(f"{os.fspath(path)}: can't be read: {error.strerror or error}") from error
    except (lzma.LZMAError, EOFError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WeightsError(f"{os.fspath(path)}: no intact file of desdaemon train policy: {error}") from error
    rows, outputs, patterns, keys, starts, moves = parts
    sizes = 2 * HIDDEN * ROWS, HIDDEN, 9 * PATTERNS * CONFIGURATIONS, len(starts) - 1
    if (len(rows), len(outputs), len(patterns), len(keys)) != sizes:
        raise WeightsError(f"{os.fspath(path)}: a policy of another version")
    wrong = _wrong_numbers([*rows, *outputs]) or _wrong_openings(keys, starts, moves.tobytes())
    if wrong:
        raise WeightsError(f"{os.fspath(path)}: no intact file of desdaemon train policy: {wrong}")
    return PolicyWeights(rows, outputs, patterns, KnownOpenings(keys, starts, moves.tobytes()), record)


def _wrong_numbers(numbers: list[float]) -> str:
    """Return what is wrong with weights, "" if nothing is."""
    # Sums of larger ones could end as no number.
    return "" if all(abs(number) <= _LARGEST for number in numbers) else f"a weight that is not within {_LARGEST:g}"


def _wrong_openings(keys: array[int], starts: array[int], moves: bytes) -> str:
    """Return what is wrong with the parts of `KnownOpenings`, "" if nothing is."""
    if any(above <= below for below, above in itertools.pairwise(keys)):
        return "keys that do not ascend"
    if starts[0] != 0 or starts[-1] != len(moves):
        return "starts that do not lead from the first move to the last"
    # A class, then pairs of a square and a share.
    if any(end <= start or (end - start) % 2 == 0 for start, end in itertools.pairwise(starts)):
        return "starts out of order"
    contents = [moves[start:end] for start, end in itertools.pairwise(starts)]
    if any(content[0] >= len(OFTEN) for content in contents):
        return f"a class of openings that is not within 0 and {len(OFTEN) - 1}"
    if any(content and max(content) > 63 for content in (each[1::2] for each in contents)):
        return "a square that is not on the board"
    if any(content and max(content) >= SHARES for content in (each[2::2] for each in contents)):
        return f"a share that is not within 0 and {SHARES - 1}"
    return ""


class MoveValues:
    """Values of all moves of a position by short searches, always the same for a position. For one thread."""

    def __init__(self) -> None:
        self._searcher = Searcher(hash_bits=14)

    def of(self, children: Sequence[tuple[int, int]]) -> list[list[float]]:
        """Return the values, in discs for the side that has moved, of the positions after a position's moves: by the
        static evaluation, and by searches of each of `DEPTHS`. The boards have the side to move first.
        """
        values = [[-score / 128 for score in self._searcher.scores(children, Limits(0))]]
        empties = rules.empties(*children[0])
        self._searcher.clear()
        for depth in DEPTHS:
            plies = empties if depth == DEPTHS[-1] and empties <= _SOLVED_EMPTIES else depth
            values.append([-float(score) for score in self._searcher.scores(children, Limits(plies, _SELECTIVITY))])
        return values


def _around(bits: int) -> int:
    """Return a mask of the squares in ``bits`` and of their neighbours."""
    row = bits | bits << 1 & rules.NOT_A | bits >> 1 & rules.NOT_H
    return (row | row << 8 | row >> 8) & rules.FULL


def _region(empty: int, square: int) -> int:
    """Return a mask of the empty squares that are connected with ``square``, itself included, diagonals too."""
    region, before = 1 << square, 0
    while region != before:
        before, region = region, _around(region) & empty
    return region


def _openness(turned: int, empty: int) -> int:
    """Return the sum over the discs in ``turned`` of the number of neighbours in ``empty``."""
    left, right = turned << 1 & rules.NOT_A, turned >> 1 & rules.NOT_H
    beside = left & empty, right & empty
    above = (each >> 8 & empty for each in (left, turned, right))
    below = (each << 8 & empty for each in (left, turned, right))
    return sum(each.bit_count() for each in (*beside, *above, *below))


def _relation(move: int, turned: int, last: int) -> int:
    """Return the index within the group "last" of `GROUPS` of a move that turns the discs in ``turned``, after the
    opponent's move ``last``.
    """
    distance = max(abs((move & 7) - (last & 7)), abs((move >> 3) - (last >> 3)))
    return 2 * (distance - 1) + (turned >> last & 1)


class HumanPolicy:
    """Moves as people of a rating choose them. For one thread at a time."""

    def __init__(self, weights: PolicyWeights, values: MoveValues | None = None) -> None:
        self._weights = weights
        self._values = values or MoveValues()

    @classmethod
    @cache
    def load(cls) -> HumanPolicy:
        """Return the shipped policy, read once in a process; raises `WeightsError`, and what `Searcher` raises."""
        return cls(read(SHIPPED))

    def probabilities(self, player: int, opponent: int, rating: float, last: int = rules.PASS) -> dict[int, float]:
        """Return for each legal move how likely a person of ``rating`` is to choose it, from 0 to 1. ``player``, the
        side to move, must have a move. ``last`` is the square of the opponent's last move, PASS if that is not known.
        """
        moves = rules.squares(rules.legal_moves(player, opponent))
        if len(moves) == 1:
            return {moves[0]: 1.0}
        above = (rating - MEAN_RATING) / RATING_UNIT
        sums = [
            self._sum(player, opponent, move, indices, above)
            for move, indices in zip(moves, self._indices(player, opponent, moves, last), strict=True)
        ]
        most = max(sums)
        chances = [math.exp(each - most) for each in sums]
        total = sum(chances)
        return {move: chance / total for move, chance in zip(moves, chances, strict=True)}

    def _indices(self, player: int, opponent: int, moves: list[int], last: int) -> list[list[int]]:
        """Return for each of ``moves`` the indices of its rows, one for each of `GROUPS`."""
        children = [rules.play(player, opponent, move) for move in moves]
        values = self._values.of(children)
        best = [max(each) for each in values]
        deepest = sorted(values[-1], reverse=True)
        phase = min(PHASES - 1, (60 - rules.empties(player, opponent)) // PHASE_PLIES)
        known = self._weights.known.steps(player, opponent)
        empty = ~(player | opponent) & rules.FULL
        shared = rules.legal_moves(opponent, player)
        described = []
        for k, move in enumerate(moves):
            replies = rules.legal_moves(*children[k])
            turned = children[k][1] & ~player & ~(1 << move)
            index = {
                "square": 9 * phase + square_patterns()[move].place,
                "mobility": (MOST + 1) * phase + min(MOST, replies.bit_count()),
                "turned": (MOST + 1) * phase + min(MOST, turned.bit_count()),
                "openness": (MOST + 1) * phase + min(MOST, _openness(turned, empty & ~(1 << move))),
                "region": (MOST + 1) * phase + min(MOST, _region(empty, move).bit_count()),
                "corners": 3 * phase + min(2, (replies & rules.CORNERS).bit_count()),
                "shared": 2 * phase + (shared >> move & 1),
                "moves": min(MOST, len(moves)),
                "rank": RANKS * phase + min(RANKS - 1, deepest.index(values[-1][k])),
            }
            for name, each, most in zip(VALUES, values, best, strict=True):
                index[name] = (len(LOSSES) + 1) * phase + bisect_left(LOSSES, most - each[k])
            if known:
                index["known"] = known.get(move, known[rules.PASS])
            if opponent >> last & 1:
                index["last"] = RELATIONS * phase + _relation(move, turned, last)
            described.append(index)
        least = [min(each[name] for each in described) for name in ("mobility", "openness")]
        for index in described:
            index["more mobility"] = RANKS * phase + min(RANKS - 1, index["mobility"] - least[0])
            index["more openness"] = RANKS * phase + min(RANKS - 1, index["openness"] - least[1])
        return [[FIRST[name] + each for name, each in index.items()] for index in described]

    def _sum(self, player: int, opponent: int, move: int, indices: list[int], above: float) -> float:
        """Return the network's output for a move. ``above`` is the rating's difference from `MEAN_RATING`, in units of
        `RATING_UNIT`.
        """
        patterns = self._weights.patterns
        place, squares = square_patterns()[move]
        first = CONFIGURATIONS * PATTERNS * place
        units = 0
        for pattern in squares:
            number, power = first, 1
            for square in pattern:
                number += power * ((player >> square & 1) + 2 * (opponent >> square & 1))
                power *= 3
            units += patterns[number]
            first += CONFIGURATIONS
        rows = [self._row(index, above) for index in indices]
        rows.append([units / UNIT * each for each in self._row(ROWS - 1, above)])
        sums = list(map(sum, zip(*rows, strict=True)))
        return sums[0] + sum(
            weight * each for weight, each in zip(self._weights.outputs, sums, strict=True) if each > 0
        )

    def _row(self, index: int, above: float) -> list[float]:
        start = 2 * HIDDEN * index
        row = self._weights.rows[start : start + 2 * HIDDEN]
        return [row[k] + above * row[HIDDEN + k] for k in range(HIDDEN)]


def drawn(chances: dict[int, float], player: int, opponent: int, seed: int) -> int:
    """Return a move drawn by its chance, from 0 to 1; the same for the same chances, position and seed."""
    left = board_key(player ^ seed * 0xD6E8FEB86659FD93 & rules.FULL, opponent) / 2**32
    for move, chance in chances.items():
        left -= chance
        if left < 0:
            return move
    return max(chances, key=lambda move: chances[move])
