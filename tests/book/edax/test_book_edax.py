"""Edax's book.dat: byte for byte, and every kind of bad file."""

import struct
from pathlib import Path

import pytest
import referee
from toys import canonical, contents, dat_file, dat_record, small_book, spread, undated

from desdaemon.book.edax import file as edax
from desdaemon.book.errors import Unreadable, WriteFailed
from desdaemon.book.layout import NO_MOVE, NO_SCORE
from desdaemon.book.progress import WorkCancelled
from desdaemon.book.record import START, PositionEntry

# Positions of the first moves: the start, and after its one distinct move.
AFTER_ONE = canonical(*referee.to_bits(referee.play(referee.start(), 19)))


def test_every_sample_book_is_written_back_to_the_same_bytes(edax_books: Path, tmp_path: Path) -> None:
    samples = sorted(edax_books.glob("*.dat"))
    assert samples
    for sample in samples:
        loaded = edax.read(sample)
        copy = tmp_path / sample.name
        assert not edax.write(copy, loaded.book)
        assert undated(copy.read_bytes()) == undated(sample.read_bytes()), sample.name


def test_own_books_come_back_whole(tmp_path: Path) -> None:
    book = small_book()
    spread(book, 4)
    assert len(book) > 10
    edax.write(tmp_path / "b.dat", book)
    loaded = edax.read(tmp_path / "b.dat")
    assert contents(loaded.book) == contents(book)
    assert loaded.book.options == book.options
    assert len(loaded.book.file_links.rows) == 0
    edax.write(tmp_path / "c.dat", loaded.book)
    assert undated((tmp_path / "c.dat").read_bytes()) == undated((tmp_path / "b.dat").read_bytes())


def test_a_score_without_a_leaf_is_written_as_no_leaf(tmp_path: Path) -> None:
    """Books merged by 0.13.0 may have one; a file that no reader takes would lose the whole book."""
    book = small_book()
    book.put(book.table.entry(0)._replace(leaf_move=NO_MOVE, leaf_score=3))
    edax.write(tmp_path / "b.dat", book)
    (entry,) = contents(edax.read(tmp_path / "b.dat").book)
    assert (entry.leaf_move, entry.leaf_score) == (NO_MOVE, NO_SCORE)


def test_the_example_of_the_reference_is_read(tmp_path: Path) -> None:
    record = bytes.fromhex("000000100800000000000008100000001" + "".ljust(31, "0"))
    assert len(record) == 32
    path = dat_file(tmp_path / "b.dat", dat_record(*START, leaf=b"\x01\x13"), 1)
    assert path.stat().st_size == 84
    entry = edax.read(path).book.table.entry(0)
    assert entry == PositionEntry(*START, 0, 0, 0, 0, 0, -1, 1, 1, 19, 1, 1)


def test_links_of_another_order_and_stale_scores_are_kept_until_the_book_changes(tmp_path: Path) -> None:
    links = b"\x05\x2c\x05\x13\x05\x25\x05\x1a"
    records = dat_record(*START, links=links) + dat_record(*AFTER_ONE, leaf=b"\x01\x2b")
    path = dat_file(tmp_path / "b.dat", records, 2)
    loaded = edax.read(path)
    edax.write(tmp_path / "c.dat", loaded.book)
    assert undated((tmp_path / "c.dat").read_bytes()) == undated(path.read_bytes())
    book = loaded.book
    book.negamax()
    assert book.file_links is None
    edax.write(tmp_path / "d.dat", book)
    content = (tmp_path / "d.dat").read_bytes()
    assert content[42 + 40 : 42 + 48] == b"\xff\x13\xff\x1a\xff\x25\xff\x2c"


def test_stale_links_are_gone_after_a_negamax_that_changed_counts_alone(tmp_path: Path) -> None:
    """The scores are right, but two links to a position that is there are missing."""
    records = dat_record(*START, links=b"\xff\x2c\xff\x13", leaf=b"\x81\x41") + dat_record(*AFTER_ONE, leaf=b"\x01\x2b")
    loaded = edax.read(dat_file(tmp_path / "b.dat", records, 2))
    book = loaded.book
    root, after = (book.entry(*key) for key in (START, AFTER_ONE))
    book.table.write(book.table.find(*AFTER_ONE), after._replace(score=1, lower=-1, upper=3, lines=1))
    book.table.write(book.table.find(*START), root._replace(score=-1, lower=-3, upper=1, lines=2))
    assert book.negamax() == 0
    assert book.entry(*START).lines == 4
    edax.write(tmp_path / "c.dat", book)
    content = (tmp_path / "c.dat").read_bytes()
    assert content[42 + 38] == 4
    assert content[42 + 40 : 42 + 48] == b"\xff\x13\xff\x1a\xff\x25\xff\x2c"


def test_links_of_another_order_alone_outlive_a_negamax(tmp_path: Path) -> None:
    links = b"\xff\x2c\xff\x13\xff\x25\xff\x1a"
    records = dat_record(*START, links=links) + dat_record(*AFTER_ONE, leaf=b"\x01\x2b")
    loaded = edax.read(dat_file(tmp_path / "b.dat", records, 2))
    book = loaded.book
    kept = book.file_links
    book.negamax()
    book.file_links = kept
    assert book.negamax() == 0
    book.forget_state()
    assert book.negamax() == 0
    edax.write(tmp_path / "c.dat", book)
    assert (tmp_path / "c.dat").read_bytes()[42 + 40 : 42 + 48] == links


def test_duplicates_are_dropped(tmp_path: Path) -> None:
    record = dat_record(*START, leaf=b"\x01\x13")
    loaded = edax.read(dat_file(tmp_path / "b.dat", record + record[:39] + b"\x02" + record[40:], 2))
    assert (len(loaded.book.table), loaded.duplicates) == (1, 1)
    assert loaded.book.table.entry(0).level == 1


GOOD = dat_record(*START, leaf=b"\x01\x13")
BAD_RECORDS = {
    "overlapping discs": (GOOD[:8] + GOOD[:8] + GOOD[16:], 42, "both sides"),
    "no centre": (dat_record(1, 2), 42, "centre"),
    "not canonical": (dat_record(START[1], START[0]), 42, "canonical"),
    "value": (GOOD[:32] + struct.pack("<h", 200) + GOOD[34:], 42 + 32, "range"),
    "bound": (GOOD[:34] + struct.pack("<h", -600) + GOOD[36:], 42 + 34, "range"),
    "level": (GOOD[:39] + b"\x3d" + GOOD[40:], 42 + 39, "level"),
    "five links": (dat_record(*START, links=b"\x01\x13" * 5), 42 + 38, "more links"),
    "illegal link": (dat_record(*START, links=b"\x01\x00"), 42 + 40, "link is not a legal"),
    "pass link": (dat_record(*START, links=b"\x01\x40"), 42 + 40, "link is not a legal"),
    "link twice": (dat_record(*START, links=b"\x01\x13\x01\x13"), 42 + 42, "same move"),
    "link score": (dat_record(*START, links=b"\x80\x13"), 42 + 40, "link's score"),
    "illegal leaf": (dat_record(*START, leaf=b"\x01\x00"), 42 + 40, "leaf is not a legal"),
    "leaf move 66": (dat_record(*START, leaf=b"\x01\x42"), 42 + 40, "leaf is not a legal"),
    "pass leaf": (dat_record(*START, leaf=b"\x01\x40"), 42 + 40, "leaf is not a legal"),
    "score without a move": (dat_record(*START, leaf=b"\x01\x41"), 42 + 40, "leaf is not a legal"),
    "leaf score": (dat_record(*START, leaf=b"\x41\x13"), 42 + 40, "leaf's score"),
    "leaf is a link": (dat_record(*START, links=b"\x01\x13", leaf=b"\x01\x13"), 42 + 42, "also a link"),
}


@pytest.mark.parametrize("kind", sorted(BAD_RECORDS))
def test_bad_records_are_named_with_file_and_byte(kind: str, tmp_path: Path) -> None:
    record, offset, problem = BAD_RECORDS[kind]
    path = dat_file(tmp_path / "b.dat", record, 1)
    with pytest.raises(Unreadable, match=problem) as caught:
        edax.read(path)
    assert caught.value.offset == offset
    assert str(path) in str(caught.value)


def test_a_book_that_egaroucid_exported_is_read(tmp_path: Path) -> None:
    """A position without a leaf has Egaroucid's undefined score there, and no move."""
    links = b"\xff\x13\xff\x1a\xff\x25\xff\x2c"
    records = dat_record(*START, links=links, leaf=b"\x82\x41") + dat_record(*AFTER_ONE, leaf=b"\x01\x2b")
    loaded = edax.read(dat_file(tmp_path / "b.dat", records, 2))
    book = loaded.book
    assert book.entry(*START).without_leaf() == book.entry(*START)
    assert not len(book.faults())


def test_bytes_after_the_last_position_are_reported(tmp_path: Path) -> None:
    path = dat_file(tmp_path / "b.dat", GOOD + b"the end of a mail" * 9, 1)
    with pytest.raises(Unreadable, match="153 bytes that belong to no position follow the book's 1") as caught:
        edax.read(path)
    assert caught.value.offset == 84


def test_bad_headers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="not an Edax book"):
        edax.read(dat_file(tmp_path / "b.dat", GOOD, 1, magic=b"EDAXBOOK"))
    with pytest.raises(Unreadable, match="version 3"):
        edax.read(dat_file(tmp_path / "b.dat", GOOD, 1, version=3))
    with pytest.raises(Unreadable, match="number of positions is -2147483648"):
        edax.read(dat_file(tmp_path / "b.dat", GOOD, -(1 << 31)))
    with pytest.raises(Unreadable, match="says 2147483647 positions"):
        edax.read(dat_file(tmp_path / "b.dat", GOOD, (1 << 31) - 1))
    with pytest.raises(Unreadable, match="No such file"):
        edax.read(tmp_path / "none.dat")
    with pytest.raises(Unreadable, match="Is a directory"):
        edax.read(tmp_path)


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    book = small_book()
    spread(book, 2)
    whole = tmp_path / "whole.dat"
    edax.write(whole, book)
    content = whole.read_bytes()
    cut = tmp_path / "cut.dat"
    for size in range(len(content)):
        cut.write_bytes(content[:size])
        with pytest.raises(Unreadable) as caught:
            edax.read(cut)
        assert caught.value.offset is not None
        assert caught.value.offset <= size


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "b.dat"
    path.write_bytes(b"old")
    book = small_book()

    def stop(stage: str, done: int, total: int) -> None:
        raise WorkCancelled

    with pytest.raises(WorkCancelled):
        edax.write(path, book, progress=stop)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(WriteFailed, match="nowhere"):
        edax.write(tmp_path / "nowhere" / "b.dat", book)
