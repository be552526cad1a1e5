"""Books of Egaroucid: every field of .egbk3, the older forms, forced passes, and what becomes of Edax's books."""

import struct
from pathlib import Path

import pytest
import referee
from test_book_formats import scores, whole_games
from test_book_imports import with_games
from toys import canonical, contents, create_store, small_book, spread, toy

from desdaemon.book.editing.add import fix
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.egaroucid import file as egaroucid
from desdaemon.book.errors import Unreadable
from desdaemon.book.formats import registry
from desdaemon.book.layout import EGAROUCID_LEVELS, HUMAN, HUMAN_LEVEL, NO_MOVE
from desdaemon.book.options import BookOptions, Rule, default_depth
from desdaemon.book.record import START

pytestmark = pytest.mark.needs("book.egaroucid")

NO_LEAF = b"\x82\x7d\xff"


def record3(
    player: int, opponent: int, score: int = 3, level: int = 21, lines: int = 1, leaf: bytes = b"\x01\x13\x15"
) -> bytes:
    return struct.pack("<QQbbI", player, opponent, score, level, lines) + leaf


def egbk3(path: Path, *records: bytes, count: int | None = None) -> Path:
    path.write_bytes(b"DICUORAGE\x03" + struct.pack("<i", len(records) if count is None else count) + b"".join(records))
    return path


def test_the_empty_book_of_edaxs_distribution_is_read(shared_data: Path, tmp_path: Path) -> None:
    sample = shared_data / "egaroucid-empty.egbk3"
    if not sample.exists():
        pytest.skip("the optional sample is not here")
    loaded = egaroucid.read(sample)
    assert len(loaded.book) == 1
    egaroucid.write(tmp_path / "b.egbk3", loaded.book)
    assert (tmp_path / "b.egbk3").read_bytes() == sample.read_bytes()


def test_every_field_comes_back(tmp_path: Path) -> None:
    after = canonical(*referee.to_bits(referee.play(referee.start(), 19)))
    path = egbk3(
        tmp_path / "a.egbk3",
        record3(*START, level=70, lines=4_000_000_000, leaf=b"\x82\x41\xff"),
        record3(*after, score=-64, level=-1, leaf=b"\x82\x7d\xff"),
    )
    book = egaroucid.read(path).book
    entry = book.entry(*START)
    assert (entry.score, entry.level, entry.lines, entry.human) == (3, 70, 4_000_000_000, True)
    assert not entry.has_leaf
    assert book.options.rule is Rule.EGAROUCID
    egaroucid.write(tmp_path / "b.egbk3", book)
    assert (tmp_path / "b.egbk3").read_bytes() == path.read_bytes()
    store = create_store(tmp_path / "b.book", book)
    assert store.book.entry(*START).flags == HUMAN | EGAROUCID_LEVELS
    store.close()


@pytest.mark.needs("book.edax")
def test_edax_to_egaroucid_and_back_keeps_every_value(tmp_path: Path) -> None:
    book = whole_games()
    kinds = {int(kind) for kind in book.table.kinds()}
    assert {1, 2} <= kinds
    first, second, third = (tmp_path / name for name in ("a.egbk3", "b.dat", "c.egbk3"))
    egaroucid.write(first, book)
    loaded = egaroucid.read(first)
    assert loaded.passes > 0
    assert scores(loaded.book) == scores(book)
    registry.save(second, loaded.book)
    again = registry.load(second).book
    assert scores(again) == scores(book)
    egaroucid.write(third, again)
    assert third.read_bytes() == first.read_bytes()


@pytest.mark.needs("book.edax")
def test_finished_games_from_egaroucid_have_their_leaf_in_edaxs_file(edax_books: Path, tmp_path: Path) -> None:
    edaxs = registry.load(edax_books / "E1_pass.dat").book
    registry.save(tmp_path / "a.egbk3", edaxs)
    assert registry.save(tmp_path / "b.dat", registry.load(tmp_path / "a.egbk3").book).notes == []
    back = registry.load(tmp_path / "b.dat").book
    finished = [entry for entry in contents(edaxs) if entry.leaf_move == NO_MOVE and entry.leaf_score >= -64]
    assert len(finished) == 3
    for entry in contents(edaxs):
        found = back.entry(*entry[:2])
        assert (found.score, found.leaf_move, found.leaf_score) == (entry.score, entry.leaf_move, entry.leaf_score)


@pytest.mark.needs("book.edax")
def test_a_pass_leaf_becomes_the_position_after_it(edax_books: Path, tmp_path: Path) -> None:
    book = registry.load(edax_books / "F1_passleaf.dat").book
    egaroucid.write(tmp_path / "a.egbk3", book)
    loaded = egaroucid.read(tmp_path / "a.egbk3")
    assert (len(loaded.book), loaded.passes) == (len(book) + 1, 1)
    known = scores(book)
    assert {key: score for key, score in scores(loaded.book).items() if key in known} == known


def test_line_counts_are_positions_by_path() -> None:
    book = small_book(depth=3)
    spread(book, 60)
    counts = egaroucid.line_counts(book)

    def count(player: int, opponent: int) -> int:
        return 1 + sum(count(*book.table.entry(row)[:2]) for _, row in book.table.links(player, opponent) if row >= 0)

    for row, found in enumerate(counts.tolist()):
        assert found == count(*book.table.entry(row)[:2])


@pytest.mark.parametrize(
    ("record", "byte", "problem"),
    [
        (record3(START[0], START[0]), 0, "both sides"),
        (record3(1, 2), 0, "centre"),
        (record3(*START, score=65), 16, "value"),
        (record3(*START, level=61), 17, "level"),
        (record3(*START, leaf=b"\x01\x42\x15"), 23, "move"),
        (record3(*START, leaf=b"\x45\x13\x15"), 22, "value"),
        (record3(*START, leaf=b"\x01\x13\x3e"), 24, "level"),
    ],
)
def test_bad_egbk3_records_are_refused(record: bytes, byte: int, problem: str, tmp_path: Path) -> None:
    path = egbk3(tmp_path / "b.egbk3", record3(*START), record)
    with pytest.raises(Unreadable, match=problem) as caught:
        egaroucid.read(path)
    assert caught.value.offset == 14 + 25 + byte


def test_bad_egaroucid_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.egbk3"
    whole = egbk3(path, record3(*START), record3(*START)).read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(Unreadable):
            egaroucid.read(path)
    with pytest.raises(Unreadable, match="2147483647"):
        egaroucid.read(egbk3(path, record3(*START), count=(1 << 31) - 1))
    with pytest.raises(Unreadable, match="-1"):
        egaroucid.read(egbk3(path, record3(*START), count=-1))
    path.write_bytes(b"DICUORAGE\x04" + bytes(4))
    with pytest.raises(Unreadable, match="version 4"):
        egaroucid.read(path)


def test_repeated_positions_take_the_higher_level(tmp_path: Path) -> None:
    path = egbk3(
        tmp_path / "b.egbk3",
        record3(*START, score=1, level=20, leaf=b"\x01\x13\x05"),
        record3(*START, score=2, level=10, leaf=b"\x02\x1a\x06"),
    )
    loaded = egaroucid.read(path)
    assert loaded.duplicates == 1
    entry = loaded.book.entry(*START)
    assert (entry.score, entry.level, entry.leaf_move, entry.leaf_score) == (1, 20, 0x1A, 2)


@pytest.mark.parametrize("image", range(8))
def test_boards_in_any_image_are_the_same_book(image: int, tmp_path: Path) -> None:
    board = referee.play(referee.play(referee.start(), 19), 18)
    turned = referee.to_bits(referee.symmetries(board)[image])
    book = egaroucid.read(egbk3(tmp_path / "b.egbk3", record3(*turned, score=-4, lines=7))).book
    entry = book.entry(*canonical(*turned))
    assert (entry.score, entry.level, entry.lines) == (-4, 21, 7)
    # As in Egaroucid, a leaf is not turned with its board.
    assert (entry.leaf_move, entry.leaf_score, entry.leaf_level) == (0x13, 1, 0x15)


@pytest.mark.parametrize(("level", "lower", "upper"), [(21, 1, 5), (20, 2, 6), (60, 3, 3), (70, 3, 3), (-1, 2, 6)])
def test_bounds_follow_from_the_level_as_soon_as_the_file_is_read(
    level: int, lower: int, upper: int, tmp_path: Path
) -> None:
    after = canonical(*referee.to_bits(referee.play(referee.start(), 19)))
    path = egbk3(tmp_path / "b.egbk3", record3(*after, level=level, leaf=b"\x82\x7d\xff"))
    entry = egaroucid.read(path).book.entry(*after)
    book = egaroucid.read(path).book
    book.negamax()
    assert entry[6:9] == book.entry(*after)[6:9]
    assert (entry.score, entry.lower, entry.upper) == (3, lower, upper)


@pytest.mark.parametrize("width", [1, 4])
def test_egbk2_is_read_with_either_width_of_the_link_count(width: int, tmp_path: Path) -> None:
    after = canonical(*referee.to_bits(referee.play(referee.start(), 19)))
    body = struct.pack("<QQbb", *START, 2, 15) + (4).to_bytes(width, "little") + bytes(8)
    body += struct.pack("<QQbb", after[0], after[1], -2, 16) + (0).to_bytes(width, "little")
    path = tmp_path / "b.egbk2"
    path.write_bytes(b"DICUORAGE\x02" + struct.pack("<i", 2) + body)
    book = egaroucid.read(path).book
    assert scores(book) == {START: 2, after: -2}
    assert book.options.level == 16
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Unreadable, match="do not fit"):
        egaroucid.read(path)


def test_egbk_stores_the_other_sides_value(tmp_path: Path) -> None:
    path = tmp_path / "b.egbk"
    mirrored = START[1], START[0]
    path.write_bytes(struct.pack("<i", 1) + struct.pack("<QQB", *mirrored, 64 + 5))
    book = registry.load(path, level=7).book
    assert scores(book) == {START: -5}
    assert book.entry(*START).level == 7
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(Unreadable, match="17 bytes"):
        egaroucid.read(path)


@pytest.mark.needs("book.edax")
def test_a_book_with_open_leaves_is_completed_for_edax(tmp_path: Path) -> None:
    path = egbk3(tmp_path / "a.egbk3", record3(*START, leaf=b"\x82\x7d\xff"))
    book = registry.load(path).book
    assert "1 position without a leaf" in registry.save(tmp_path / "a.dat", book).notes[0]
    book.options = book.options._replace(rule=Rule.EDAX)
    fix(book, Worker(toy))
    assert registry.save(tmp_path / "a.dat", book).notes == []
    assert not len(registry.load(tmp_path / "a.dat").book.faults())


def test_of_several_levels_the_most_frequent_counts_and_of_two_the_higher(tmp_path: Path) -> None:
    book = small_book()
    spread(book, 3)
    keys = [entry[:2] for entry in contents(book)]

    def read(levels: list[int]) -> int:
        records = [record3(*key, 0, level, leaf=NO_LEAF) for key, level in zip(keys, levels, strict=False)]
        return egaroucid.read(egbk3(tmp_path / "b.egbk3", *records)).book.options.level

    assert read([7, 7, 12]) == 7
    assert read([7, 12, 7, 12, 30]) == 12
    assert read([HUMAN_LEVEL, HUMAN_LEVEL, -1, 9]) == 9
    assert read([HUMAN_LEVEL, -1]) == BookOptions().level


def test_an_empty_book_has_a_depth_to_grow_to(tmp_path: Path, shared_data: Path) -> None:
    path = egbk3(tmp_path / "empty.egbk3", record3(*START, 0, -1, leaf=NO_LEAF))
    book = egaroucid.read(path).book
    assert (book.options.level, book.options.depth) == (BookOptions().level, default_depth(BookOptions().level))
    assert book.options.rule is Rule.EGAROUCID
    sample = shared_data / "egaroucid-empty.egbk3"
    if sample.exists():
        assert egaroucid.read(sample).book.options == book.options


def test_every_forced_pass_between_two_positions_is_made_and_no_other(tmp_path: Path) -> None:
    book = with_games(20)
    egaroucid.write(tmp_path / "b.egbk3", book)
    loaded = egaroucid.read(tmp_path / "b.egbk3")
    written = {entry[:2] for entry in contents(loaded.book)}
    expected = set()
    for key in written:
        cells = referee.from_bits(*key)
        for move in referee.legal_moves(cells):
            after = referee.play(cells, move)
            if not referee.legal_moves(after) and not referee.game_over(after):
                passed = canonical(*referee.to_bits(after))
                if canonical(*reversed(passed)) in written:
                    expected.add(passed)
    kinds = loaded.book.table.kinds()
    passes = {loaded.book.table.entry(row)[:2] for row in range(len(loaded.book)) if kinds[row] == 1}
    assert passes == expected
    assert loaded.passes == len(expected) > 1
    for passed in passes:
        after = loaded.book.entry(passed[1], passed[0])
        assert loaded.book.entry(*passed).score == -after.score
