"""How likely people of a rating are to choose each move of a position, and a move drawn by these chances.

A move's chance is the softmax over the legal moves of a sum of looked-up weights, a conditional logit. What is looked
up for a move are

- the configurations of `PATTERNS` sets of squares around it, the board turned so that its square lies in the triangle
  A1-D1-D4;
- in each of ten phases of the game: the square, the opponent's moves and open corners after it, the discs that it
  turns, how much less it is worth than the best move, by the static evaluation and by a search of `DEPTH` plies;
- in openings that were played often: how often people chose it.

The weights of the last two depend on the rating, in a straight line; those of configurations do not. `desdaemon train
policy` makes the file of weights (docs/training.md); its layout is that of `write`.
"""

from __future__ import annotations

import json
import lzma
import math
import os
import sys
from array import array
from bisect import bisect_left
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.evaluation.weights_file import WeightsError
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.system import files

SHIPPED = Path(__file__).parent / "data" / "policy.xz"

MEAN_RATING, RATING_UNIT = 1500, 400
"""The rating at which the slopes of weights count nothing, and how much more counts them once."""

DEPTH = 3
"""Plies of the searches after each move."""
SOLVED_EMPTIES = 8
"""Most empty squares after a move from which it is searched to the end."""

PHASES, PHASE_PLIES = 10, 6
MOST = 15
"""Largest number of moves or turned discs that has a weight of its own; more count as many."""
LOSSES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 17.0, 22.0, 30.0)
"""Upper ends, in discs, of the steps in which what a move loses is looked up."""
OFTEN = (20, 50, 200, 1000)
"""Least numbers of games of a known opening position, in the steps in which shares are looked up."""
SHARES = 12
"""Steps of a move's share of the games: 0 for none, then by its logarithm."""

GROUPS = {
    "square": PHASES * 9,
    "mobility": PHASES * (MOST + 1),
    "turned": PHASES * (MOST + 1),
    "corners": PHASES * 3,
    "static": PHASES * (len(LOSSES) + 1),
    "searched": PHASES * (len(LOSSES) + 1),
    "known": len(OFTEN) * SHARES,
}
"""Weights that depend on the rating: the size of each group. A move has one index of each."""
FIRST = {name: 1 + sum(list(GROUPS.values())[:k]) for k, name in enumerate(GROUPS)}
"""The first index of each group. The index 0, which is common to the moves of a position, is that of what is not known
there.
"""
RATED = 1 + sum(GROUPS.values())
"""Number of weights that depend on the rating."""

WIDTH = 9
"""Most squares of a pattern."""
CONFIGURATIONS = 3**WIDTH
PATTERNS = 11
"""Patterns of a square."""
UNIT = 40
"""Stored units of a pattern's weight of 1."""
_LARGEST = 127

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

    ``rated`` has two numbers for each of the `RATED` indices: the weight at `MEAN_RATING`, and what `RATING_UNIT` more
    adds to it. ``patterns`` has a signed byte, in units of 1/`UNIT`, by the square's place in the triangle, pattern and
    configuration. A configuration is a number in base 3, the first square its lowest digit: 0 for empty, 1 for the
    mover's disc, 2 for the opponent's.
    """

    rated: array[float]
    patterns: array[int]
    known: KnownOpenings
    record: dict[str, Any]


_PARTS = ("f", "b", "I", "I", "B")


def write(path: Path, weights: PolicyWeights) -> None:
    """Write weights to a file, which is replaced as a whole: an xz stream of a line of JSON, the record with the
    lengths of the parts, then the parts: rated, patterns, keys, starts, moves, each little endian.
    """
    known = weights.known
    parts: list[array[Any]] = [weights.rated, weights.patterns, known.keys, known.starts, array("B", known.moves)]
    parts = [part[:] for part in parts]
    if sys.byteorder == "big":
        for part in parts:
            part.byteswap()
    line = json.dumps({**weights.record, "lengths": [len(part) for part in parts]}) + "\n"
    content = line.encode() + b"".join(part.tobytes() for part in parts)
    files.replace(path, lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


def read(path: str | os.PathLike[str]) -> PolicyWeights:
    """Read a file that `write` wrote; raises `WeightsError`."""
    try:
        line, _, content = lzma.decompress(Path(path).read_bytes()).partition(b"\n")
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
    except OSError as error:
        raise WeightsError(f"{os.fspath(path)}: can't be read: {error.strerror or error}") from error
    except (lzma.LZMAError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise WeightsError(f"{os.fspath(path)}: no intact file of desdaemon train policy: {error}") from error
    rated, patterns, keys, starts, moves = parts
    if len(rated) != 2 * RATED or len(patterns) != 9 * PATTERNS * CONFIGURATIONS or len(starts) != len(keys) + 1:
        raise WeightsError(f"{os.fspath(path)}: a policy of another version")
    return PolicyWeights(rated, patterns, KnownOpenings(keys, starts, moves.tobytes()), record)


class MoveValues:
    """Values of all moves of a position by short searches, always the same for a position. For one thread."""

    def __init__(self, weights: Weights | None = None) -> None:
        self._searcher = Searcher(hash_bits=12, weights=weights)

    def of(self, players: array[int], opponents: array[int]) -> tuple[list[float], list[float]]:
        """Return the values, in discs for the side that has moved, of the positions after a position's moves: by the
        static evaluation, and by searches. The boards have the side to move first.
        """
        scores = array("q", bytes(8 * len(players)))
        own, other, found = (each.buffer_info()[0] for each in (players, opponents, scores))
        self._searcher.score_many(own, other, found, len(players), Limits(0))
        static = [-score / 128 for score in scores]
        empties = rules.empties(players[0], opponents[0])
        self._searcher.clear()
        depth = empties if empties <= SOLVED_EMPTIES else DEPTH
        self._searcher.score_many(own, other, found, len(players), Limits(depth, Selectivity.FULL))
        return static, [-float(score) for score in scores]


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

    def probabilities(self, player: int, opponent: int, rating: float) -> dict[int, float]:
        """Return for each legal move how likely a person of ``rating`` is to choose it, from 0 to 1. ``player``, the
        side to move, must have a move.
        """
        moves = rules.squares(rules.legal_moves(player, opponent))
        if len(moves) == 1:
            return {moves[0]: 1.0}
        above = (rating - MEAN_RATING) / RATING_UNIT
        sums = [
            self._sum(player, opponent, move, small, above)
            for move, small in zip(moves, self._small(player, opponent, moves), strict=True)
        ]
        most = max(sums)
        chances = [math.exp(each - most) for each in sums]
        total = sum(chances)
        return {move: chance / total for move, chance in zip(moves, chances, strict=True)}

    def _small(self, player: int, opponent: int, moves: list[int]) -> list[list[int]]:
        """Return for each of ``moves`` the indices of its weights in ``rated``, one for each of `GROUPS`."""
        children = [rules.play(player, opponent, move) for move in moves]
        static, searched = self._values.of(
            array("Q", [own for own, _ in children]), array("Q", [other for _, other in children])
        )
        phase = min(PHASES - 1, (60 - rules.empties(player, opponent)) // PHASE_PLIES)
        known = self._weights.known.steps(player, opponent)
        rows = []
        for k, move in enumerate(moves):
            replies = rules.legal_moves(*children[k])
            turned = children[k][1].bit_count() - player.bit_count() - 1
            rows.append(
                [
                    FIRST["square"] + 9 * phase + square_patterns()[move].place,
                    FIRST["mobility"] + (MOST + 1) * phase + min(MOST, replies.bit_count()),
                    FIRST["turned"] + (MOST + 1) * phase + min(MOST, turned),
                    FIRST["corners"] + 3 * phase + min(2, (replies & rules.CORNERS).bit_count()),
                    FIRST["static"] + (len(LOSSES) + 1) * phase + bisect_left(LOSSES, max(static) - static[k]),
                    FIRST["searched"] + (len(LOSSES) + 1) * phase + bisect_left(LOSSES, max(searched) - searched[k]),
                    FIRST["known"] + known.get(move, known[rules.PASS]) if known else 0,
                ]
            )
        return rows

    def _sum(self, player: int, opponent: int, move: int, small: list[int], above: float) -> float:
        rated, patterns = self._weights.rated, self._weights.patterns
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
        return units / UNIT + sum(rated[2 * k] + above * rated[2 * k + 1] for k in small)


def drawn(chances: dict[int, float], player: int, opponent: int, seed: int) -> int:
    """Return a move drawn by its chance, from 0 to 1; the same for the same chances, position and seed."""
    left = board_key(player ^ seed * 0xD6E8FEB86659FD93 & rules.FULL, opponent) / 2**32
    for move, chance in chances.items():
        left -= chance
        if left < 0:
            return move
    return max(chances, key=lambda move: chances[move])
