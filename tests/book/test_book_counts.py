"""The counts that a book keeps are what a walk over it finds, whatever was done to it."""

import random
from pathlib import Path

import numpy as np
import pytest
from toys import create_store, small_book, spread, toy

from desdaemon.book import counts
from desdaemon.book.book import Book
from desdaemon.book.counts import counted
from desdaemon.book.editing.add import enumerate_book, fix
from desdaemon.book.editing.by_hand import edit
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.editing.shrink import cut
from desdaemon.book.options import BookOptions
from desdaemon.book.record import START, PositionEntry
from desdaemon.book.storage import snapshot
from desdaemon.book.storage.store import journal_path, open_store
from desdaemon.book.summary import summary, unreachable


def same(book: Book) -> None:
    """The kept counts against a walk, and the walk against the records one by one."""
    kept, walked = book.known_counts(), counted(book.table)
    assert kept is not None
    assert kept.rows == walked.rows == len(book)
    assert kept.tally.tolist() == walked.tally.tolist()
    entries = [book.table.entry(row) for row in range(len(book))]
    assert kept.kinds[0].sum() == len(entries)
    assert kept.kinds[2].sum() == sum(entry.has_leaf for entry in entries)
    assert kept.kinds[1].sum() == sum(
        row >= 0 for entry in entries for _, row in book.table.links(entry.player, entry.opponent)
    )
    assert sum(kept.levels.values()) == sum(kept.scores.values()) == len(entries)
    assert kept.unreachable in (-1, unreachable(book))


def grown() -> Book:
    book = small_book(depth=7)
    spread(book, 2)
    return book


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(2))
def test_counts_stay_right_after_any_command(seed: int) -> None:
    rng = random.Random(seed)
    book = grown()
    book.counts()
    summary(book)
    same(book)
    for _ in range(20):
        action = rng.randrange(7)
        row = rng.randrange(len(book))
        entry = book.table.entry(row)
        if action == 0:
            book.put(entry._replace(leaf_score=rng.randint(-64, 64), level=rng.randint(0, 60)))
        elif action == 1:
            edit(book, *rng.choice([START, entry[:2]]), None, rng.randint(-64, 64))
        elif action == 2:
            moves = [move for move, child in book.table.links(entry.player, entry.opponent) if child < 0]
            if moves and moves[0] < 64:
                child = book.table.canonical(*book.table.play(entry.player, entry.opponent, moves[0]))
                book.put(PositionEntry(*child[:2], level=3))
        elif action == 3:
            book.negamax()
        elif action == 4:
            marked = np.zeros(len(book), bool)
            marked[row] = len(book) > 5
            book.remove(marked)
        elif action == 5:
            fix(book, Worker(toy))
        else:
            # The position is no one's child: something is not reached.
            book.put(PositionEntry(1 << rng.randrange(20), 1 << 40, score=1, lower=1, upper=1, level=70, flags=1))
        same(book)


def test_large_changes_are_counted_by_the_next_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "FEW", 3)
    book = grown()
    assert book.known_counts() is not None
    cut(book, 5)
    book.forget_state()
    book.negamax(threads=2)
    same(book)
    fix(book, Worker(toy))
    assert len(book) > 12
    book.remove(np.arange(len(book)) % 3 == 2)
    assert book.known_counts() is None
    book.counts()
    same(book)


@pytest.mark.compiled
def test_negamax_keeps_the_counts_of_a_book_right_beyond_32_bits_too() -> None:
    book = enumerate_book(6, BookOptions(min_empties=54))
    for row in range(len(book)):
        entry = book.table.entry(row)
        book.put(entry._replace(leaf_score=3, leaf_move=65, leaf_level=60, lines=1 << 40))
    book.forget_state()
    book.negamax()
    same(book)


def test_counts_are_in_the_file_and_follow_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "INDEXED_FROM", 0)
    path = tmp_path / "b.book"
    book = grown()
    summary(book)
    create_store(path, book).close()
    assert snapshot.read(path)[1].counts_at
    with open_store(path) as store:
        monkeypatch.setattr("desdaemon.book.book.counted", None)
        found = summary(store.book, reached=False)
        assert (found.positions, found.unreachable) == (len(book), 0)
        spread(store.book, 4)
        store.book.remove(np.arange(len(store.book)) == 7)
        store.book.negamax()
        same(store.book)
        store.commit()
    assert journal_path(path).stat().st_size > 1000
    with open_store(path) as store:
        same(store.book)
        store.save()
    with open_store(path, read_only=True) as store:
        same(store.book)
