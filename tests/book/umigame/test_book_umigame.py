"""Umigame numbers against the counts of all strategies, of random books and of one made by hand."""

from __future__ import annotations

import random
from functools import cache, reduce

import pytest
import referee
from toys import canonical, contents, new_book, small_book, spread, toy

from desdaemon.book.book import Book
from desdaemon.book.layout import NO_MOVE, NO_SCORE, PASS
from desdaemon.book.options import BookOptions, Rule
from desdaemon.book.progress import WorkCancelled
from desdaemon.book.record import START, PositionEntry
from desdaemon.book.umigame import numbers as umigame
from desdaemon.book.umigame.numbers import Umigame, UmigameNumbers
from desdaemon.protocol.errors import BadInput


class Counted:
    """A book read once, and by its entries alone the numbers of lines of every strategy that a side may choose."""

    def __init__(self, book: Book, least: int = 0) -> None:
        self.entries = {entry[:2]: PositionEntry(*entry) for entry in contents(book)}
        self.links_first = book.options.rule is Rule.EGAROUCID
        self.least = least
        self.strategies = cache(self._strategies)

    def best(self, board: tuple[int, int]) -> tuple[set[tuple[int, int]], bool]:
        """The positions that best moves lead to, and whether the leaf is a best move."""
        entry = self.entries.get(board)
        if entry is None or entry.empties <= self.least:
            return set(), False
        cells = referee.from_bits(*board)
        if referee.game_over(cells):
            return set(), False
        scores, leaf = {}, entry.leaf_score if entry.has_leaf else None
        for move in referee.legal_moves(cells) or [PASS]:
            after = canonical(*referee.to_bits(referee.passed(cells) if move == PASS else referee.play(cells, move)))
            if after in self.entries:
                leaf = None if move == entry.leaf_move else leaf
                if self.entries[after].score != NO_SCORE:
                    scores[after] = -self.entries[after].score
        if scores and self.links_first:
            leaf = None
        top = max([*scores.values(), *([leaf] if leaf is not None else [])], default=None)
        return {after for after, score in scores.items() if score == top}, leaf is not None and leaf == top

    def _strategies(self, board: tuple[int, int], own: bool) -> frozenset[int]:
        """The numbers of lines of all strategies of the side to move (``own``) or of the other one."""
        after, leaf = self.best(board)
        if not after:
            return frozenset({1})
        below = [self.strategies(one, not own) for one in after]
        if own:
            return frozenset().union(*below)
        return frozenset(reduce(lambda sums, counts: {a + b for a in sums for b in counts}, below, {int(leaf)}))

    def numbers(self, board: tuple[int, int]) -> Umigame:
        return Umigame(min(self.strategies(board, True)), min(self.strategies(board, False)))


def late_book(seed: int, rule: Rule) -> Book:
    """A random part of the game below a random position, to its end, with few different scores."""
    dice = random.Random(seed)
    book = Book(BookOptions(level=1, min_empties=0, rule=rule))
    waiting = [referee.random_position(seed, 53)]
    while waiting:
        cells = waiting.pop()
        key = canonical(*referee.to_bits(cells))
        if book.entry(*key) is not None:
            continue
        moves = [] if referee.game_over(cells) else referee.legal_moves(referee.from_bits(*key))
        leaf = dice.choice(moves) if moves and dice.random() < 0.5 else NO_MOVE
        score = dice.choice((-2, 0, 2)) if dice.random() < 0.95 else NO_SCORE
        book.put(PositionEntry(*key, score=score, leaf_move=leaf, leaf_score=dice.choice((-2, 0, 2)), leaf_level=1))
        if not referee.game_over(cells):
            after = [referee.play(cells, move) for move in referee.legal_moves(cells)] or [referee.passed(cells)]
            waiting += [child for child in after if dice.random() < 0.8]
    return book


def agree(book: Book, least: int) -> set[Umigame]:
    """Compare the numbers of all positions. Returns them."""
    counted, numbers = Counted(book, least), UmigameNumbers(book, least)
    found = set()
    for entry in contents(book):
        expected = counted.numbers(entry[:2])
        for image in referee.symmetries(referee.from_bits(*entry[:2])):
            assert numbers.of(*referee.to_bits(image)) == expected
        found.add(expected)
    return found


@pytest.mark.parametrize("rule", list(Rule))
def test_numbers_are_the_least_of_all_strategies(rule: Rule) -> None:
    found, passes = set(), 0
    for seed in range(2):
        book = late_book(seed, rule)
        for least in (0, 3):
            found |= agree(book, least)
        passes += sum(not book.table.moves(p, o) and bool(book.table.moves(o, p)) for p, o, *_ in contents(book))
    assert passes > 10
    assert len({max(numbers) for numbers in found}) > 3
    book = small_book(depth=5)
    spread(book, 4)
    book.options = BookOptions(level=2, min_empties=56, rule=rule)
    agree(book, 0)


def test_an_example_made_by_hand_has_its_numbers() -> None:
    """The first move's four images are one; of White's replies d6 and f6 are best; Black answers f6 with one line, and
    d6 with c3, after which White has two replies, or with c4, after which White has three: the example of docs/book.md.
    """
    book = Book(BookOptions(level=1, min_empties=50))
    for line, score in (
        ("", 0),
        ("f5", 0),
        ("f5d6", 0),
        ("f5f6", 0),
        ("f5f4", 6),
        ("f5f6e6", 0),
        ("f5d6c3", 0),
        ("f5d6c3d3", 0),
        ("f5d6c3f4", 0),
        ("f5d6c3g5", 4),
        ("f5d6c4", 0),
        ("f5d6c4d3", 0),
        ("f5d6c4f4", 0),
        ("f5d6c4b3", 0),
    ):
        cells = referee.start()
        for at in range(0, len(line), 2):
            cells = referee.play(cells, referee.square(line[at : at + 2]))
        book.put(PositionEntry(*canonical(*referee.to_bits(cells)), score=score))
    numbers = UmigameNumbers(book)

    def of(line: str) -> tuple[int, int]:
        board = START
        for at in range(0, len(line), 2):
            board = book.table.play(*board, referee.square(line[at : at + 2]))
        return numbers.of(*board).by_colour(black=len(line) % 4 == 0)

    assert of("f5d6c3") == (2, 1)
    assert of("f5d6c4") == (3, 1)
    assert of("f5d6") == (2, 2)
    assert of("f5f6") == (1, 1)
    assert of("f5") == of("c4") == of("") == (3, 1)
    assert UmigameNumbers(book, 60 - 3).of(*START) == (2, 1)


def test_a_transposition_is_computed_once() -> None:
    """A book of all positions to some depth, all even: each is visited once, however many lines lead to it."""
    book = new_book(BookOptions(level=2, min_empties=57), toy)
    boards = {START}
    for _ in range(4):
        after = {board for one in boards for board in children(one)}
        for board in after - {entry[:2] for entry in contents(book)}:
            book.put(PositionEntry(*board))
        boards = after
    for entry in contents(book):
        book.put(PositionEntry(*entry[:2], score=0))
    visits = []
    looked = book.moves_that_count
    book.moves_that_count = lambda *board: visits.append(board) or looked(*board)  # type: ignore[method-assign]
    numbers = UmigameNumbers(book)
    found = numbers.of(*START)
    assert len(visits) == len(set(visits)) == len(book)
    assert found == Counted(book).numbers(START)


def children(board: tuple[int, int]) -> set[tuple[int, int]]:
    cells = referee.from_bits(*board)
    return {canonical(*referee.to_bits(referee.play(cells, move))) for move in referee.legal_moves(cells)}


def test_a_computation_can_be_stopped_and_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    book = late_book(3, Rule.EDAX)
    board = max((entry[:2] for entry in contents(book)), key=lambda one: 64 - (one[0] | one[1]).bit_count())

    def stop(*_: object) -> None:
        raise WorkCancelled

    monkeypatch.setattr(umigame, "_STEP", 2)
    with pytest.raises(WorkCancelled):
        UmigameNumbers(book).of(*board, stop)
    monkeypatch.setattr(umigame, "MOST_POSITIONS", 2)
    with pytest.raises(BadInput, match="smaller depth"):
        UmigameNumbers(book).of(*board)
    assert UmigameNumbers(book).of(*START) == (1, 1)
