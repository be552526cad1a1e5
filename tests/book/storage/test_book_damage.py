"""Flipped bits in a book's own file that is too large to be compared with its checksums when it is opened.

The size from which on that is so is made artificially small. Every block is compared before it is first used or written
to, so whatever was flipped, a look-up gives what was saved, or nothing; and what goes over the whole book, or writes it
anew, refuses.
"""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from book_dialogue import BookDialogue
from format_fuzz import fill_segment, sealed_book
from toys import contents, create_store, set_results

from desdaemon.book import negamax
from desdaemon.book.book import Book
from desdaemon.book.check import verify
from desdaemon.book.editing.add import enumerate_book
from desdaemon.book.errors import BookError, Unreadable
from desdaemon.book.options import BookOptions
from desdaemon.book.record import RECORD, START, PositionEntry
from desdaemon.book.storage import snapshot, store
from desdaemon.book.storage.store import Store, journal_path, open_store

PLIES = 8


def large_book() -> Book:
    """80,068 positions with made-up scores and game results: the smallest that has every section of the file."""
    book = enumerate_book(PLIES, BookOptions(level=10, min_empties=60 - PLIES))
    rng = np.random.default_rng(3)
    for chunk in book.table.chunks():
        chunk["level"] = 10
        ends = np.bitwise_count(chunk["player"] | chunk["opponent"]) == 4 + PLIES
        chunk["leaf_level"][ends] = 10
        chunk["leaf_move"][ends] = 65
        chunk["score"] = rng.integers(-20, 20, len(chunk))
    book.table.write(7, book.table.entry(7)._replace(wins=1 << 40, lines=1 << 41))
    set_results(book, 3, (1.0, 2.0, 3.0))
    book.forget_state()
    return book


class Saved(NamedTuple):
    """A book's file, its header, and what is in it."""

    path: Path
    header: snapshot.SnapshotHeader
    entries: dict[tuple[int, int], PositionEntry]
    keys: list[list[int]]
    content: bytes


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    path = tmp_path_factory.mktemp("damage") / "b.book"
    book = large_book()
    create_store(path, book).close()
    _, header = snapshot.read(path)
    assert header.segments_at
    assert header.results_at
    assert header.wide
    entries = {entry[:2]: entry for entry in map(book.table.entry, range(len(book)))}
    return Saved(path, header, entries, book.table.keys().tolist(), path.read_bytes())


@pytest.fixture(autouse=True)
def no_check_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "CHECKED_AT_OPEN", 0)


@pytest.fixture
def never_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "_check_blocks", lambda store: None)


def regions(header: snapshot.SnapshotHeader) -> dict[str, tuple[int, int]]:
    """Where each section of the file begins and ends."""
    ends = {
        "header": (0, 200),
        "page": (200, snapshot.PAGE),
        "records": (snapshot.PAGE, header.segments_at),
        "segment table": (header.segments_at, header.segments_at + 1024 * 24),
        "segments": (header.segments_at + 1024 * 24, header.wide_at),
        "wide counts": (header.wide_at, header.wide_at + 32 * header.wide),
        "results": (header.results_at, header.checksums_at),
        "checksums": (header.checksums_at, header.size),
    }
    assert all(first < end for first, end in ends.values())
    return ends


def refused(work: Callable[[], object]) -> None:
    with pytest.raises(BookError, match="does not match its checksum"):
        work()


def with_full_segments(saved: Saved, path: Path, segments: range) -> None:
    """A copy of the book whose checksums fit, but whose index has no free slot in some segments."""
    content = bytearray(saved.content)
    for number in segments:
        fill_segment(content, saved.header.segments_at, number)
    path.write_bytes(sealed_book(content))


def put_byte(path: Path, at: int, value: int) -> None:
    with path.open("r+b", buffering=0) as stream:
        stream.seek(at)
        stream.write(bytes([value]))


def flipped(saved: Saved, byte: int, rng: random.Random, *, thorough: bool) -> str:
    """Flip a bit of the file, look, and say how it was found; flip it back."""
    value = saved.content[byte]
    put_byte(saved.path, byte, value ^ 1 << rng.randrange(8))
    before = saved.path.stat()
    try:
        try:
            opened = open_store(saved.path)
        except Unreadable:
            return "opening"
        with opened:
            table = opened.book.table
            seen = "the rest"
            for key in rng.choices(saved.keys, k=20):
                entry = opened.book.entry(*key)
                assert entry in (None, saved.entries[tuple(key)])
                if entry is None:
                    seen = "look-up"
            if seen == "look-up":
                assert table.guard is not None
                assert table.guard.damage is not None
            refused(table.check_all)
            refused(opened.save)
            refused(lambda: opened.book.put(PositionEntry(1, 2)))
            if thorough:
                refused(opened.book.negamax)
                refused(lambda: verify(opened.book))
            assert opened.damage
        after = saved.path.stat()
        assert (after.st_ino, after.st_size, after.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)
        return seen
    finally:
        put_byte(saved.path, byte, value)


@pytest.mark.parametrize("flips", [96, pytest.param(10_000, marks=pytest.mark.slow)])
def test_no_flipped_bit_is_used_or_written_back(flips: int, saved: Saved, never_idle: None) -> None:
    rng = random.Random(5)
    found: dict[str, set[str]] = {}
    for region, (first, end) in regions(saved.header).items():
        for number in range(flips // len(regions(saved.header))):
            seen = flipped(saved, rng.randrange(first, end), rng, thorough=number % 10 == 0)
            found.setdefault(region, set()).add(seen)
    assert saved.path.read_bytes() == saved.content
    for region in ("header", "page", "checksums", "segment table", "wide counts"):
        assert found[region] == {"opening"}, region
    assert found["records"] >= {"the rest", "look-up"} or flips < 1000
    assert "look-up" in found["segments"]
    with open_store(saved.path) as whole:
        whole.book.table.check_all()
        assert verify(whole.book).positions == len(saved.entries)


def test_a_full_segment_of_the_index_is_damage_for_who_looks_for_what_is_not_there(
    saved: Saved, tmp_path: Path, never_idle: None
) -> None:
    path = tmp_path / "b.book"
    with_full_segments(saved, path, range(1024))
    with open_store(path) as opened:
        # What is there is found.
        assert opened.book.entry(*START) == saved.entries[START]
        assert not opened.damage
        assert opened.book.entry(1, 2) is None
        assert "impossible numbers" in opened.damage
        for work in (lambda: opened.book.put(PositionEntry(1, 2)), opened.save, opened.book.negamax):
            refused(work)
    with open_store(path) as opened:
        refused(lambda: opened.book.put(PositionEntry(1, 2)))
    with open_store(path) as opened:
        assert len(opened.book) == len(saved.entries)
    store.CHECKED_AT_OPEN = 1 << 30
    with pytest.raises(Unreadable, match="segment 0 of the index"):
        open_store(path)


def test_blocks_are_compared_when_they_are_used_and_only_then(saved: Saved, never_idle: None) -> None:
    with open_store(saved.path) as opened:
        guard = opened.book.table.guard
        assert guard is not None
        before = guard.left
        assert before > len(guard) // 2
        assert opened.book.entry(*START) is not None
        assert 0 < before - guard.left <= 3
        assert len(opened.book.moves_on(*START)) == 4
        assert before - guard.left <= 9


@pytest.mark.needs("book.reports")
def test_the_rest_is_compared_while_nothing_else_is_done(
    saved: Saved, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with open_store(saved.path) as opened:
        until = time.monotonic() + 60
        while opened.book.table.guard is not None and time.monotonic() < until:
            time.sleep(0.01)
        assert opened.book.table.guard is None
        assert opened.damage == ""
    path = tmp_path / "b.book"
    content = bytearray(saved.path.read_bytes())
    content[saved.header.segments_at - 5] ^= 4
    # The last chunk of records is read at the opening.
    content[snapshot.PAGE + 40 * 1000] ^= 4
    content[saved.header.segments_at - 5] ^= 4
    path.write_bytes(content)
    with open_store(path) as opened:
        until = time.monotonic() + 60
        while not opened.damage and time.monotonic() < until:
            time.sleep(0.01)
        assert "block 0 (64 KiB)" in opened.damage
        refused(opened.save)
    assert "block 0 (64 KiB)" in capsys.readouterr().err
    from desdaemon.book.reports.salvage import salvage

    rescued = salvage(path)
    assert rescued.lost == pytest.approx((1 << 16) / RECORD.itemsize, abs=2)
    assert path.read_bytes() == bytes(content)


def test_changes_before_everything_was_compared_are_no_damage(saved: Saved, tmp_path: Path, never_idle: None) -> None:
    """The same work on a book compared block by block, and on one compared at once."""
    books = []
    for limit in (0, 1 << 30):
        path = tmp_path / f"{limit}.book"
        path.write_bytes(saved.path.read_bytes())
        store.CHECKED_AT_OPEN = limit
        with open_store(path) as opened:
            book = opened.book
            assert (book.table.guard is not None) == (limit == 0)
            rng = random.Random(1)
            for _ in range(300):
                entry = book.table.entry(rng.randrange(len(book)))
                book.put(entry._replace(leaf_score=rng.randrange(-60, 60)))
            for key in range(1, 5000):
                book.put(PositionEntry(key, 1 << 40, score=1, lower=1, upper=1, level=70, flags=1))
            set_results(book, 9, (4.0, 5.0, 6.0))
            opened.commit()
            book.negamax()
            opened.save()
        books.append(path)
    first, second = (contents(snapshot.read(path)[0]) for path in books)
    assert first == second
    with open_store(books[0]) as opened:
        assert opened.book.table.results(9) == (4.0, 5.0, 6.0)


def test_a_journal_is_replayed_on_a_book_compared_by_and_by(saved: Saved, tmp_path: Path, never_idle: None) -> None:
    path = tmp_path / "b.book"
    path.write_bytes(saved.path.read_bytes())
    with open_store(path) as opened:
        entry = opened.book.table.entry(70_000)
        opened.book.put(entry._replace(leaf_score=11, leaf_move=65))
        opened.book.negamax()
        wanted = contents(opened.book)
    assert journal_path(path).stat().st_size > 100
    with open_store(path) as opened:
        assert contents(opened.book) == wanted
        assert negamax.check(opened.book.table, opened.book.options)[0] == 0


@pytest.mark.needs("book.reports")
def test_a_dialogue_says_what_is_damaged_and_goes_on(saved: Saved, tmp_path: Path, dialogue: BookDialogue) -> None:
    path = tmp_path / "b.book"
    content = bytearray(saved.content)
    # The second block of records: the initial position is in the first.
    content[snapshot.PAGE + snapshot.BLOCK + 99] ^= 8
    path.write_bytes(content)
    # The book was saved with scores that no negamax has brought up to date, and says so.
    assert dialogue.both(f"book load {path}")[0].startswith(f"{path}: 80068 positions\nSome scores are not up to date")
    assert "Level: 10" in dialogue.both("book show")[0], dialogue.both("book show")
    for line in ("book verify", f"book export {tmp_path / 'e.dat'}", "book save", "book negamax", "book edit d3 3"):
        out, complaint = dialogue.both(line)
        assert "block 1 (64 KiB) does not match its checksum" in complaint, (line, out, complaint)
    assert not (tmp_path / "e.dat").exists()
    assert "Level: 10" in dialogue.both("book show")[0]
    assert "lost" in dialogue.both(f"book salvage {path}")[0]
    assert "no errors" in dialogue.both("book verify")[0]
    assert path.read_bytes() == bytes(content)
