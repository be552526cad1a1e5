"""The table: keys, look-ups, growth, removal, counts beyond 32 bits, memory."""

import random

import numpy as np
import pytest
import referee
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from toys import canonical

from desdaemon.book.chunks import CHUNK_ROWS
from desdaemon.book.editing.add import enumerate_book
from desdaemon.book.errors import OutOfRange
from desdaemon.book.options import BookOptions
from desdaemon.book.record import RECORD, RESULT, STATE, PositionEntry
from desdaemon.book.table import BookTable
from desdaemon.protocol.othello.rules import INVERSE_SYMMETRY, transform_move

seeds = st.integers(0, 10_000)
plies = st.integers(0, 60)


@pytest.mark.compiled
@given(seeds, plies)
@settings(max_examples=100, deadline=None)
def test_canonical_form_is_the_referees_for_all_images(seed: int, ply: int) -> None:
    table = BookTable()
    cells = referee.random_position(seed, ply)
    expected = referee.canonical_bits(cells)
    for image in referee.symmetries(cells):
        p, o, symmetry = table.canonical(*referee.to_bits(image))
        assert (p, o) == expected
        for move in referee.legal_moves(image):
            moved = transform_move(move, symmetry)
            assert moved in referee.legal_moves(referee.from_bits(p, o))
            assert transform_move(moved, INVERSE_SYMMETRY[symmetry]) == move


@given(seeds, plies)
@settings(max_examples=100, deadline=None)
def test_moves_and_flips_are_those_of_the_referee(seed: int, ply: int) -> None:
    table = BookTable()
    cells = referee.random_position(seed, ply)
    p, o = referee.to_bits(cells)
    legal = referee.legal_moves(cells)
    assert table.moves(p, o) == sum(1 << move for move in legal)
    for move in legal:
        assert table.play(p, o, move) == referee.to_bits(referee.play(cells, move))
    moves = [move for move, _ in table.links(p, o)]
    if legal:
        assert moves == legal
    else:
        assert moves == ([] if referee.game_over(cells) else [64])


def test_links_are_the_children_that_are_there() -> None:
    table = BookTable()
    rng = random.Random(5)
    for seed in range(200):
        cells = referee.random_position(seed, rng.randrange(50))
        p, o = referee.to_bits(cells)
        for move in referee.legal_moves(cells):
            if rng.random() < 0.5:
                table.insert(*canonical(*referee.to_bits(referee.play(cells, move))))
        for move, row in table.links(p, o):
            child = referee.to_bits(referee.passed(cells) if move == 64 else referee.play(cells, move))
            assert (row >= 0) == (table.find(*child) >= 0)
            if row >= 0:
                assert table.entry(row)[:2] == canonical(*child)


def some_keys(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 63, (count, 2), dtype=np.uint64)


@pytest.mark.compiled
def test_growth_keeps_everything_and_costs_at_most_48_bytes_a_position() -> None:
    table = BookTable()
    keys = some_keys(400_000, 1)
    records = np.zeros(len(keys), RECORD)
    records["player"], records["opponent"] = keys.T
    records["score"] = np.arange(len(keys)) % 100
    assert table.insert_records(records[:200_000]) == 0
    assert table.insert_records(records) == 200_000
    assert len(table) == len(keys)
    assert np.array_equal(table.find_many(keys), np.arange(len(keys)))
    assert (table.find_many(some_keys(1000, 2)) == -1).all()
    assert np.array_equal(table.column("score"), records["score"])
    # One chunk may be almost empty.
    assert table.memory - 16384 * 40 <= 48 * len(table)


def test_known_records_keep_what_they_had_unless_told() -> None:
    table = BookTable()
    record = np.zeros(1, RECORD)
    record["player"], record["score"] = 7, 5
    table.insert_records(record)
    record["score"] = 6
    assert table.insert_records(record) == 1
    assert table.entry(0).score == 5
    assert table.insert_records(record, overwrite=True) == 1
    assert table.entry(0).score == 6


def test_counts_go_beyond_32_bits() -> None:
    table = BookTable()
    rows = [table.insert(key, 0)[0] for key in range(1, 201)]
    entries = [
        PositionEntry(key, 0, 1 << 40, key, (1 << 64) - 1, 1 << 32, 3, 2, 4, 5, 6, 7, 8, 1) for key in range(1, 201)
    ]
    for row, entry in zip(rows, entries, strict=True):
        table.write(row, entry)
    assert [table.entry(row) for row in rows] == entries
    small = entries[0]._replace(wins=1, losses=2, lines=3)
    table.write(0, small)
    assert table.entry(0) == small
    assert table.entry(1) == entries[1]


class TableModel(RuleBasedStateMachine):
    """The table against a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.table = BookTable()
        self.model: dict[tuple[int, int], int] = {}
        self.results: dict[tuple[int, int], tuple[float, float, float]] = {}

    @rule(first=st.integers(1, 3000), count=st.integers(1, 400), score=st.integers(-64, 64))
    def put(self, first: int, count: int, score: int) -> None:
        for key in range(first, first + count):
            row, new = self.table.insert(key, key * 3)
            assert new == ((key, key * 3) not in self.model)
            self.table.write(row, PositionEntry(key, key * 3, score=score))
            self.model[key, key * 3] = score

    @rule(modulus=st.integers(1, 7), phase=st.integers(0, 6))
    def remove(self, modulus: int, phase: int) -> None:
        marked = np.array([self.table.entry(row).player % modulus == phase for row in range(len(self.table))], np.uint8)
        self.table.remove(marked)
        self.model = {key: score for key, score in self.model.items() if key[0] % modulus != phase}
        self.results = {key: result for key, result in self.results.items() if key in self.model}

    @rule(row=st.integers(0, 4000), won=st.floats(0, 100))
    def give_results(self, row: int, won: float) -> None:
        if row < len(self.table):
            self.table.set_results_of(np.array([row]), np.array([(won, 1.0, 2.0)], RESULT))
            self.results[self.table.entry(row)[:2]] = (won, 1.0, 2.0)

    @invariant()
    def same(self) -> None:
        assert len(self.table) == len(self.model)
        found = {}
        for row in range(len(self.table)):
            entry = self.table.entry(row)
            found[entry.player, entry.opponent] = entry.score
            assert self.table.find_canonical(entry.player, entry.opponent) == row
            assert self.table.results(row) == self.results.get(entry[:2], (0, 0, 0))
        assert found == self.model


TestTableModel = TableModel.TestCase
TestTableModel.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)


@pytest.mark.parametrize("left", [0, 1, 199])
def test_a_position_in_the_place_of_a_removed_one_has_no_results(left: int) -> None:
    table = BookTable()
    for key in range(1, 201):
        table.insert(key, 0)
    table.set_results_of(np.arange(200), np.ones(200, RESULT))
    table.remove(np.arange(200) >= left)
    for key in range(1, 10):
        table.insert(key, 1 << 40)
    assert table.results_of(np.arange(len(table)))["won"].tolist() == [1.0] * left + [0.0] * 9
    # In an emptied table, too, nothing writes to the places that were.
    table.remove(np.arange(len(table)) == left)
    assert table.results_of(np.arange(len(table)))["won"].tolist() == [1.0] * left + [0.0] * 8


def test_every_position_of_the_first_plies_is_found() -> None:
    book = enumerate_book(6, BookOptions())
    seen = {canonical(*referee.to_bits(referee.start()))}
    front = set(seen)
    for _ in range(6):
        front = {
            canonical(*referee.to_bits(referee.play(referee.from_bits(*key), move)))
            for key in front
            for move in referee.legal_moves(referee.from_bits(*key))
        }
        seen |= front
    assert {book.table.entry(row)[:2] for row in range(len(book))} == seen
    counts = book.table.by_empties().tolist()
    assert counts[54:61] == [1773, 322, 60, 14, 3, 1, 1]
    assert sum(counts) == len(book)
    with pytest.raises(OutOfRange, match="plies 13"):
        enumerate_book(13, BookOptions())


@pytest.mark.compiled
def test_parents_are_the_inverse_of_links() -> None:
    table = BookTable()
    rng = random.Random(11)
    for seed in range(60):
        cells = referee.random_position(seed, rng.randrange(20, 60))
        for _ in range(4):
            table.insert(*canonical(*referee.to_bits(cells)))
            legal = referee.legal_moves(cells)
            if not legal:
                if referee.game_over(cells):
                    break
                cells = referee.passed(cells)
                continue
            for move in legal:
                table.insert(*canonical(*referee.to_bits(referee.play(cells, move))))
            cells = referee.play(cells, rng.choice(legal))
    expected: dict[int, set[int]] = {row: set() for row in range(len(table))}
    passes = 0
    for row in range(len(table)):
        entry = table.entry(row)
        for move, child in table.links(entry.player, entry.opponent):
            if child >= 0:
                expected[child].add(row)
                passes += move == 64
    assert passes > 0
    for row, parents in expected.items():
        assert table.parents(row) == sorted(parents)


def test_states_are_everything_about_rows_in_their_order() -> None:
    table = BookTable()
    for key in range(1, 3 * CHUNK_ROWS):
        table.insert(key, 1 << 40)
    rows = [5, 2 * CHUNK_ROWS + 7, 0, CHUNK_ROWS, CHUNK_ROWS - 1]
    for number, row in enumerate(rows):
        entry = table.entry(row)
        table.write(row, entry._replace(score=number, wins=(1 << 33) * (number % 2), level=number, leaf_move=number))
    for results in (False, True):
        if results:
            table.set_results_of(np.array(rows[1:2]), np.array([(1.5, 2.0, 3.0)], RESULT))
        found = table.states(np.array(rows, np.int64))
        assert found.dtype == STATE
        assert found.tolist() == [(*table.entry(row), *table.results(row)) for row in rows]
    assert len(table.states(np.zeros(0, np.int64))) == 0


class _CountedLock:
    """A lock for one thread that counts how often it is taken."""

    def __init__(self) -> None:
        self.taken = 0

    def __enter__(self) -> None:
        self.taken += 1

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("work", ["find", "add"])
def test_work_on_many_positions_lets_look_ups_in_between(work: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = BookTable()
    records = np.zeros(CHUNK_ROWS, RECORD)
    records["player"], records["opponent"] = np.arange(1, CHUNK_ROWS + 1), 1 << 40
    if work != "add":
        table.insert_records(records)
    keys = np.stack([records["player"], records["opponent"]], axis=1)
    lock = _CountedLock()
    monkeypatch.setattr(table, "lock", lock)
    if work == "find":
        assert table.find_many(keys).tolist() == list(range(CHUNK_ROWS))
    else:
        table.insert_records(records)
    assert len(table) == CHUNK_ROWS
    assert lock.taken >= CHUNK_ROWS // 1024
