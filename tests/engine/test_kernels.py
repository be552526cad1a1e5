"""The compiled rules, stability, features and solvers, one by one, against the referees."""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Iterable, Iterator
from typing import Any

import judge
import numpy as np
import pytest
import referee

from desdaemon.engine.compiler import INTERPRETED
from desdaemon.engine.compiler.library import Library
from desdaemon.engine.evaluation import patterns
from desdaemon.engine.evaluation.network import Network
from desdaemon.engine.layout import UNWIND
from desdaemon.engine.memory import Block
from desdaemon.engine.search import Searcher

ALL = (1 << 64) - 1
FEATURES = sum(len(table.instances) for table in patterns.TABLES)


def games(seed: int, number: int) -> Iterator[judge.Board]:
    """All positions of ``number`` random games."""
    rng = random.Random(seed)
    for _ in range(number):
        yield from judge.walk(rng)


def scattered(seed: int, number: int) -> Iterator[judge.Board]:
    """Discs thrown at random, from almost none to a full board: more flips at once than games have."""
    rng = random.Random(seed)
    for _ in range(number):
        taken = rng.getrandbits(64)
        for _ in range(rng.randrange(4)):
            taken |= rng.getrandbits(64)
        player = taken & rng.getrandbits(64)
        yield player, taken & ~player


@pytest.fixture(scope="module")
def edges(engine: Library) -> Block:
    """The table of stable edges."""
    table = Block(1 << 16)
    engine.fill_edge_table(table.address)
    return table


def test_moves_and_flips_are_the_referees(engine: Library) -> None:
    for player, opponent in [*games(1, 20), *scattered(2, 1000), (0, 0), (ALL, 0), (0, ALL)]:
        assert engine.board_moves(player, opponent) == judge.moves(player, opponent)
        for square in range(64):
            assert engine.board_flip(square, player, opponent) == judge.flips(player, opponent, square)


def test_the_last_flips_are_counted(inner: Library) -> None:
    rng = random.Random(5)
    for _ in range(300):
        square = rng.randrange(64)
        others = ALL & ~(1 << square)
        player = others & (rng.getrandbits(64) | rng.choice([0, rng.getrandbits(64)]))
        turned = judge.flips(player, others & ~player, square)
        assert inner.probe_last(square, player) == 2 * turned.bit_count()


def test_final_scores_are_the_referees(inner: Library) -> None:
    for player, opponent in [*scattered(6, 300), (0, ALL), (ALL, 0), (0, 1), (1, 0), (0xF, 0xF0)]:
        empties = judge.empties((player, opponent))
        assert inner.probe_final(player, empties) == referee.final_score(referee.from_bits(player, opponent))


def test_symmetries_of_a_board_are_the_eight(engine: Library) -> None:
    # Where all images of the mover's discs are equal, the opponent's decide; a corner at H8 is the sign of a word.
    corners = 0x8100000000000081
    alike = [(corners, 1 << square) for square in range(1, 63) if square not in (7, 56)]
    for player, opponent in [*list(games(7, 3))[::4], *scattered(8, 50), *alike, (0, 1 << 63), (0, corners)]:
        expected = {referee.to_bits(cells) for cells in referee.symmetries(referee.from_bits(player, opponent))}
        images = [(engine.board_symmetric(player, k), engine.board_symmetric(opponent, k)) for k in range(8)]
        assert images[0] == (player, opponent)
        assert set(images) == expected
        assert images[engine.board_canonical_symmetry(player, opponent)] == min(expected)
        assert engine.board_has_symmetry(player, opponent) == (images.count(images[0]) > 1)


def test_stable_discs_are_never_turned(inner: Library, edges: Block) -> None:
    rng = random.Random(9)
    some = 0
    for start in judge.positions(10, 60, range(2, 30)):
        player, opponent = start
        stable = [
            inner.probe_stable(player, opponent, edges.address),
            inner.probe_stable(opponent, player, edges.address),
        ]
        assert stable[0] & ~player == 0
        assert stable[1] & ~opponent == 0
        some += stable[0].bit_count() + stable[1].bit_count()
        for _ in range(12):
            for board in judge.walk(rng, start):
                # Whose turn it is, is told by who has the discs that cannot change.
                mine = (stable[0] & ~board[0], stable[1] & ~board[1])
                theirs = (stable[0] & ~board[1], stable[1] & ~board[0])
                assert (0, 0) in (mine, theirs)
    assert some > (100 if INTERPRETED else 300)


def test_known_boards_have_their_stable_discs(inner: Library, edges: Block) -> None:
    def stable(player: int, opponent: int) -> int:
        return int(inner.probe_stable(player, opponent, edges.address))

    assert stable(ALL, 0) == ALL
    assert stable(*judge.OPENING) == 0
    assert stable(1, 0) == 1
    assert stable(0b0111, 0b1000) == 0b0111
    assert stable(0b0110, 0b1001) == 0
    # A full edge without corners of one's own is stable along the edge.
    assert stable(0x7E, 0x81) == 0x7E
    # A corner of four rows: a staircase leans on its corner.
    assert stable(0x0103070F, 0) == 0x0103070F
    # A hole beside a corner: what comes after it can be turned.
    assert stable(0b1101, 0) == 0b0001


def test_edge_table_is_a_lower_bound_of_play_on_the_edge(engine: Library, edges: Block) -> None:
    """A row of its own, any side to play any empty square: what the table calls stable is never turned."""
    rng = random.Random(11)
    table = bytes((ctypes.c_char * (1 << 16)).from_address(edges.address))
    for _ in range(2000):
        taken = rng.getrandbits(8) | rng.getrandbits(8)
        own = taken & rng.getrandbits(8)
        other = taken & ~own
        stable = table[own * 256 + other]
        assert stable & ~own == 0
        while (own | other) != 255:
            square = rng.choice([k for k in range(8) if not (own | other) >> k & 1])
            if rng.random() < 0.5:
                turned = judge.flips(own, other, square)
                own, other = own | turned | 1 << square, other & ~turned
            else:
                turned = judge.flips(other, own, square)
                own, other = own & ~turned, other | turned | 1 << square
            assert stable & ~own == 0


def test_stability_bound_holds(inner: Library, searcher: Searcher) -> None:
    context = searcher._contexts[0].address
    useful = 0
    for player, opponent in [*judge.positions(12, 400, range(9)), *judge.strewn(20, 200, range(9))]:
        bound = inner.probe_bound(context, player, opponent)
        assert judge.solve(player, opponent) <= bound
        useful += bound < 64
    assert useful > (10 if INTERPRETED else 200)


def test_null_windows_to_the_end_are_right(inner: Library, searcher: Searcher) -> None:
    """Fail-soft: a score above alpha is a lower bound, any other an upper bound."""
    rng = random.Random(13)
    context = prepared(searcher)
    for board in [*judge.positions(14, 200, range(12)), *judge.strewn(19, 200, range(12))]:
        exact = judge.solve(*board)
        for alpha in (rng.randint(-64, 63), exact - 1, exact):
            if not -64 <= alpha <= 63:
                continue
            score = inner.probe_solve(context, *board, alpha)
            assert -64 <= score <= 64
            if score > alpha:
                assert exact >= score
            else:
                assert exact <= score


def prepared(searcher: Searcher) -> int:
    """The address of a context that kernels may search with."""
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.search import Control

    searcher._prepare(Limits(60), Control())
    # What an entry of the engine does first: the last search of these contexts may have been stopped.
    searcher._contexts[0][UNWIND] = 0
    return searcher._contexts[0].address


class Slow:
    """The evaluation written out: patterns, their numbers and the packing of mirror images, one at a time."""

    def __init__(self, packed: Any) -> None:
        self.packed = packed
        self.places = [self._places(pattern) for pattern in patterns.CLASSES]

    @staticmethod
    def _places(pattern: patterns.PatternClass) -> list[int]:
        """Of each configuration among the class's weights: in order of first appearance, mirror images together."""
        places: list[int] = []
        known: dict[tuple[int, ...], int] = {}
        for number in range(pattern.table_size):
            digits = tuple(number // 3**k % 3 for k in reversed(range(pattern.length)))
            mirrored = tuple(digits[k] for k in pattern.mirror)
            place = known.setdefault(min(digits, mirrored), len(known))
            places.append(place)
        return places

    @staticmethod
    def number(squares: Iterable[int], player: int, opponent: int) -> int:
        number = 0
        for square in squares:
            number = 3 * number + (0 if player >> square & 1 else 1 if opponent >> square & 1 else 2)
        return number

    def score(self, player: int, opponent: int) -> int:
        row = self.packed[60 - judge.empties((player, opponent))]
        total = int(row[patterns.CONSTANT])
        for table in patterns.TABLES:
            for squares in table.instances:
                found = 0
                for which, digits in table.parts:
                    place = self.places[which][self.number((squares[k] for k in digits), player, opponent)]
                    found += int(row[patterns.CLASSES[which].packed_offset + place])
                # Eighths of a disc, halves away from 0.
                eighths = min(127, (abs(found) + 8) // 16)
                total += 16 * (eighths if found > 0 else -eighths)
        return total

    def features(self, first: int, second: int) -> list[int]:
        """The numbers of the tables' patterns, the squares nearest to the board's centre last: a 3 for each square in
        the number system whose digits are 1, 0 and -1 for a disc of the first side, none, one of the second."""
        found = []
        for table in patterns.TABLES:
            away = [max(3.5 - s % 8, s % 8 - 3.5) + max(3.5 - s // 8, s // 8 - 3.5) for s in table.instances[0]]
            order = sorted(range(table.length), key=lambda k: -away[k])
            for squares in table.instances:
                number = 0
                for k in order:
                    number = 3 * number + (first >> squares[k] & 1) - (second >> squares[k] & 1)
                found.append(number)
        return found


class SlowNetwork(Slow):
    """A network written out in floating point: every lane a sum of numbers of configurations."""

    def __init__(self, network: Network) -> None:
        self.places = [self._places(pattern) for pattern in patterns.CLASSES]
        self.network = network
        self.lanes = np.frombuffer(network.lanes, np.int8).reshape(len(network.bands), 32, -1)

    def score(self, player: int, opponent: int) -> int:
        """In 128ths of a disc, rounded down."""
        ply = max(60 - judge.empties((player, opponent)), 0)
        band = max(k for k, first in enumerate(self.network.bands) if first <= ply)
        head = self.network.heads[ply]
        lanes = list(head.bias)
        for table in patterns.TABLES:
            which, _ = max(table.parts, key=lambda part: len(part[1]))
            for squares in patterns.CLASSES[which].instances:
                place = self.places[which][self.number(squares, player, opponent)]
                own = self.lanes[band, :, patterns.CLASSES[which].packed_offset + place]
                lanes = [lane + int(number) for lane, number in zip(lanes, own, strict=True)]
        # Two lanes are eighths of a disc at a factor of 8192, up to 511 of them; the others are of 128 to a whole.
        linear = [max(-511, min(511, lane)) / 512 for lane in lanes[:2]]
        hidden = [(max(0, min(128, lane)) / 128) ** 2 for lane in lanes[2:]]
        result = sum(f * lane for f, lane in zip(head.factors, [2 * x for x in linear] + hidden, strict=True)) / 2
        return math.floor(result + head.constant / 32768)


@pytest.fixture(scope="module")
def slow(packed_by_lot: Any) -> Slow:
    """The slow evaluation with weights drawn by lot."""
    return Slow(packed_by_lot)


def test_mirrors_are_symmetries_of_the_patterns() -> None:
    for pattern in patterns.CLASSES:
        for squares in pattern.instances:
            turned = tuple(squares[k] for k in pattern.mirror)
            assert any(all(places[s] == t for s, t in zip(squares, turned, strict=True)) for places in judge.images())


def test_instances_of_a_class_are_images_of_each_other() -> None:
    assert [len(p.instances) for p in patterns.CLASSES] == [4, 4, 4, 4, 4, 4, 4, 2, 4, 4, 4, 4, *[4] * 4]
    for pattern in patterns.CLASSES:
        seen = {tuple(places[s] for s in pattern.instances[0]) for places in judge.images()}
        for squares in pattern.instances:
            assert squares in seen


def test_the_evaluation_equals_one_from_scratch(searcher_by_lot: Searcher, slow: Slow) -> None:
    for player, opponent in [*games(15, 2), *scattered(16, 40)]:
        if judge.empties((player, opponent)) <= 60:
            assert searcher_by_lot.evaluate(player, opponent) * 128 == slow.score(player, opponent)


def test_an_evaluation_needs_no_canonical_image(inner: Library, searcher_by_lot: Searcher) -> None:
    context = searcher_by_lot._contexts[0].address
    for board in list(games(17, 2))[::3]:
        images = [judge.image(board, places) for places in judge.images()]
        assert len({inner.probe_static(context, *image) for image in images}) == 1


def test_the_network_equals_one_from_scratch(searcher_of_network: Searcher, network_by_lot: Network) -> None:
    slow = SlowNetwork(network_by_lot)
    seen = set()
    for player, opponent in [*games(15, 2), *scattered(16, 20)]:
        found = searcher_of_network.evaluate(player, opponent) * 128
        assert found == slow.score(player, opponent)
        seen.add(found)
    assert len(seen) > 100


def test_the_network_is_right_for_both_sides(
    inner: Library, searcher_of_network: Searcher, network_by_lot: Network
) -> None:
    """The features are of the first side, whoever is to move."""
    slow = SlowNetwork(network_by_lot)
    context = searcher_of_network._contexts[0].address
    memory = Block(4096)
    for board in list(games(19, 2))[::7]:
        for side, (black, white) in enumerate((board, board[::-1])):
            inner.probe_features(black, white, memory.address)
            discs = inner.probe_evaluate(context, memory.address, side, judge.empties(board))
            assert discs == rounded(slow.score(*board))


def test_features_follow_each_move(inner: Library, searcher_by_lot: Searcher, slow: Slow) -> None:
    memory = Block(4096)
    features = memory.address
    words = (ctypes.c_int16 * FEATURES).from_address(features)
    context = searcher_by_lot._contexts[0].address
    rng = random.Random(18)
    for _ in range(4):
        black, white = judge.OPENING
        side = 0
        inner.probe_features(black, white, features)
        assert list(words) == slow.features(black, white)
        while not judge.over((black, white)):
            mover, other = (black, white) if side == 0 else (white, black)
            legal = judge.squares(judge.moves(mover, other))
            if legal:
                square = rng.choice(legal)
                turned = judge.flips(mover, other, square)
                target = memory.address + 128 * rng.randrange(8)
                inner.probe_update(features, target, square, turned, side)
                features = target
                mover, other = mover | turned | 1 << square, other & ~turned
                black, white = (mover, other) if side == 0 else (other, mover)
            side ^= 1
            words = (ctypes.c_int16 * FEATURES).from_address(features)
            assert list(words) == slow.features(black, white)
            mover, other = (black, white) if side == 0 else (white, black)
            empties = judge.empties((black, white))
            discs = inner.probe_evaluate(context, features, side, empties)
            assert discs == rounded(slow.score(mover, other))


def rounded(score: int) -> int:
    """128ths of a disc to discs: to the nearest, halves away from zero, within 63."""
    discs = (abs(score) + 64) // 128
    return max(-63, min(63, discs if score > 0 else -discs))
