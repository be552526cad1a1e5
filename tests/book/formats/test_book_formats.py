"""Edax's text form, Egaroucid's files, conversions, and telling formats apart."""

import lzma
import struct
import threading
from pathlib import Path

import pytest
import referee
from toys import canonical, contents, create_store, dat_file, dat_record, game_positions, small_book, spread, toy

from desdaemon.book.book import Book
from desdaemon.book.editing.add import add_positions, enumerate_book, fix
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.errors import BookError, Unreadable
from desdaemon.book.formats import edax, egaroucid, registry, text
from desdaemon.book.layout import EGAROUCID_LEVELS, HUMAN, NO_MOVE
from desdaemon.book.options import BookOptions, Rule
from desdaemon.book.progress import WorkCancelled
from desdaemon.book.record import START, PositionEntry
from desdaemon.book.storage.store import open_store
from desdaemon.protocol.othello.notation import discs_text
from desdaemon.protocol.othello.rules import INVERSE_SYMMETRY, transform_move
from desdaemon.protocol.system import platform

TEXTS = {"A3.txt": "A3_deviate_0_0.dat", "E1.txt": "E1_pass.dat", "F1.txt": "F1_passleaf.dat"}


def read_dat(path: Path) -> Book:
    return edax.read(path).book


def test_packed_text_is_the_text(tmp_path: Path) -> None:
    book = whole_games(1)
    plain, packed = tmp_path / "a.txt", tmp_path / "a.TXT.xz"
    for path in (plain, packed):
        assert registry.save(path, book).format == registry.TEXT
    assert lzma.decompress(packed.read_bytes()) == plain.read_bytes()
    assert packed.stat().st_size < plain.stat().st_size / 4
    renamed = packed.rename(tmp_path / "b")
    assert contents(registry.load(renamed).book) == contents(registry.load(plain).book)


def test_a_byte_order_mark_is_no_part_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    text.write(path, small_book())
    data = path.read_bytes()
    book = registry.load(path).book
    path.write_bytes(b"\xef\xbb\xbf" + data)
    assert len(registry.load(path).book) == len(book)
    path.write_bytes(data.decode().encode("utf-16"))
    with pytest.raises(Unreadable, match="this is UTF-16: save it as UTF-8"):
        registry.load(path)


def scores(book: Book) -> dict[tuple[int, ...], int]:
    return {entry[:2]: book.entry(*entry[:2]).score for entry in contents(book)}


def whole_games(count: int = 3) -> Book:
    """A book of whole random games, with passes and finished positions."""
    book = Book(BookOptions(level=1, min_empties=0))
    positions = []
    for seed in range(40):
        moves = referee.random_moves(seed, 60)
        game = game_positions(book, moves)
        passes = any(referee.legal_moves(referee.from_bits(*position)) == [] for position in game[:-1])
        if passes and count:
            positions += game
            count -= 1
    assert not count
    add_positions(book, positions, Worker(toy))
    return book


def test_import_and_export_of_edaxs_text(edax_books: Path, tmp_path: Path) -> None:
    for name, binary in TEXTS.items():
        book = read_dat(edax_books / binary)
        imported = text.read(edax_books / name)
        assert imported.duplicates == 0
        assert contents(imported.book) == contents(book)
        assert text.write(tmp_path / name, book) == len(book)
        assert (tmp_path / name).read_bytes() == (edax_books / name).read_bytes()


def test_own_text_comes_back(tmp_path: Path) -> None:
    book = whole_games()
    text.write(tmp_path / "b.txt", book)
    imported = text.read(tmp_path / "b.txt").book
    assert contents(imported) == contents(book)
    assert imported.options.level == 1
    assert imported.options.depth == 60 - min(entry.empties for entry in contents(book))


@pytest.mark.parametrize("image", range(8))
def test_mirrored_boards_are_understood(image: int, tmp_path: Path) -> None:
    book = small_book()
    spread(book, 2)
    written = []
    for entry in contents(book):
        cells = referee.symmetries(referee.from_bits(entry.player, entry.opponent))[image]
        player, opponent = referee.to_bits(cells)
        move = transform_move(entry.leaf_move, INVERSE_SYMMETRY[book.table.canonical(player, opponent)[2]])
        side = "X" if image % 2 else "O"
        board = discs_text(player, opponent)
        if side == "O":
            board = board.translate(str.maketrans("XO", "OX"))
        written.append(f"{board} {side},{entry.level},{text.move_name(move).lower()},{entry.leaf_score}\n")
    (tmp_path / "b.txt").write_text("".join(written))
    assert contents(text.read(tmp_path / "b.txt").book) == contents(book)


LINE = "---------------------------OX------XO--------------------------- X,6,D3,2\n"
BAD_LINES = {
    LINE[1:]: "neither a disc nor an empty square",
    LINE.replace("O", "Q", 1): "'Q' on D4",
    LINE.replace(" X,", " Z,"): "'Z' is not a side",
    LINE.replace(",6,", ",61,"): "level 61 is not 0..60",
    LINE.replace(",6,", ",-127,"): "level -127 is not 0..60",
    LINE.replace(",6,", ",-1,"): "level -1",
    LINE.replace(",6,", ",six,"): "not a number",
    LINE.replace("D3", "A1"): "A1 is not a legal move",
    LINE.replace("D3", "PA"): "PA is not a legal move",
    LINE.replace("D3", "I9"): "not a move",
    LINE.replace("D3", "--"): "a score without a move",
    LINE.replace(",2\n", ",-127\n"): "a move without a score",
    LINE.replace(",2\n", ",65\n"): "score 65",
    LINE.replace(",2\n", "\n"): "fields",
    "\xff\n": "not text",
}


@pytest.mark.parametrize("line", BAD_LINES, ids=range(len(BAD_LINES)))
def test_bad_lines_are_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    path.write_bytes(LINE.encode() + line.encode("latin-1"))
    with pytest.raises(Unreadable, match=BAD_LINES[line]) as caught:
        text.read(path)
    assert "line 2" in str(caught.value)
    assert caught.value.offset == len(LINE)


def test_an_empty_text_is_no_book(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("")
    with pytest.raises(Unreadable, match="no positions"):
        text.read(tmp_path / "b.txt")


# ---------------------------------------------------------------------------------------------------- Egaroucid


def record3(
    player: int, opponent: int, score: int = 3, level: int = 21, lines: int = 1, leaf: bytes = b"\x01\x13\x15"
) -> bytes:
    return struct.pack("<QQbbI", player, opponent, score, level, lines) + leaf


def egbk3(path: Path, *records: bytes, count: int | None = None) -> Path:
    path.write_bytes(b"DICUORAGE\x03" + struct.pack("<i", len(records) if count is None else count) + b"".join(records))
    return path


def test_the_empty_book_of_the_distribution(shared_data: Path, tmp_path: Path) -> None:
    sample = shared_data / "egaroucid-empty.egbk3"
    if not sample.exists():
        pytest.skip("the optional sample is not here")
    loaded = egaroucid.read(sample)
    assert len(loaded.book) == 1
    assert egaroucid.write(tmp_path / "b.egbk3", loaded.book) == 1
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
    again = read_dat(second)
    assert scores(again) == scores(book)
    egaroucid.write(third, again)
    assert third.read_bytes() == first.read_bytes()


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


def test_a_pass_leaf_becomes_the_position_after_it(edax_books: Path, tmp_path: Path) -> None:
    book = read_dat(edax_books / "F1_passleaf.dat")
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
def test_bad_egbk3_records(record: bytes, byte: int, problem: str, tmp_path: Path) -> None:
    path = egbk3(tmp_path / "b.egbk3", record3(*START), record)
    with pytest.raises(Unreadable, match=problem) as caught:
        egaroucid.read(path)
    assert caught.value.offset == 14 + 25 + byte


def test_bad_egaroucid_files(tmp_path: Path) -> None:
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
def test_bounds_are_those_of_the_level_before_any_negamax(level: int, lower: int, upper: int, tmp_path: Path) -> None:
    after = canonical(*referee.to_bits(referee.play(referee.start(), 19)))
    path = egbk3(tmp_path / "b.egbk3", record3(*after, level=level, leaf=b"\x82\x7d\xff"))
    entry = egaroucid.read(path).book.entry(*after)
    book = egaroucid.read(path).book
    book.negamax()
    assert entry[6:9] == book.entry(*after)[6:9]
    assert (entry.score, entry.lower, entry.upper) == (3, lower, upper)


@pytest.mark.parametrize("width", [1, 4])
def test_egbk2_with_either_width_of_the_link_count(width: int, tmp_path: Path) -> None:
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


def test_formats_are_told_apart_by_content_and_written_by_name(tmp_path: Path) -> None:
    book = small_book()
    spread(book, 2)
    for name, kind in (("a.dat", "edax"), ("a.egbk3", "egaroucid"), ("a.txt", "text"), ("a.book", "native")):
        path = tmp_path / name
        assert registry.save(path, book)[:2] == (kind, [])
        elsewhere = tmp_path / f"{kind}.any"
        elsewhere.write_bytes(path.read_bytes())
        loaded = registry.load(elsewhere)
        assert loaded.format == kind
        assert scores(loaded.book) == scores(book)
    (tmp_path / "x").write_bytes(b"hello")
    with pytest.raises(Unreadable, match="not a book"):
        registry.load(tmp_path / "x")
    with pytest.raises(Unreadable, match="No such file"):
        registry.load(tmp_path / "y")
    loaded = registry.load(dat_file(tmp_path / "d.dat", 2 * dat_record(*START), 2))
    assert loaded.notes
    with create_store(tmp_path / "s.book", book), pytest.raises(BookError, match="locked"):
        registry.save(tmp_path / "s.book", book)


def test_a_book_with_open_leaves_is_completed_for_edax(tmp_path: Path) -> None:
    path = egbk3(tmp_path / "a.egbk3", record3(*START, leaf=b"\x82\x7d\xff"))
    book = registry.load(path).book
    assert "1 position without a leaf" in registry.save(tmp_path / "a.dat", book).notes[0]
    book.options = book.options._replace(rule=Rule.EDAX)
    fix(book, Worker(toy))
    assert registry.save(tmp_path / "a.dat", book).notes == []
    assert not len(read_dat(tmp_path / "a.dat").faults())


def test_an_unfixed_book_saved_as_our_own_says_which_leaves_are_links(tmp_path: Path) -> None:
    book = small_book()
    entry = book.table.entry(0)
    child = book.table.canonical(*book.table.play(entry.player, entry.opponent, entry.leaf_move))[:2]
    book.put(PositionEntry(*child, score=3, lower=3, upper=3, level=2))
    saved = registry.save(tmp_path / "b.book", book)
    assert any("1 leaves lead into the book, such as " in note for note in saved.notes)
    # Neither the file nor opening it drops anything without a word.
    with open_store(tmp_path / "b.book") as store:
        assert contents(store.book) == contents(book)
    with open_store(tmp_path / "b.book") as store:
        assert contents(store.book) == contents(book)
    book.negamax()
    assert registry.save(tmp_path / "c.book", book).notes == []


def test_a_packed_text_is_made_of_streams_by_all_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = enumerate_book(5, BookOptions(min_empties=40))
    plain, packed = tmp_path / "b.txt", tmp_path / "b.txt.xz"
    text.write(plain, book)
    monkeypatch.setattr(text, "_STREAM_ROWS", 300)
    told: list[tuple[int, int]] = []
    text.write(packed, book, lambda stage, done, total: told.append((done, total)))
    assert lzma.decompress(packed.read_bytes()) == plain.read_bytes()
    assert told == sorted(told)
    assert {total for _, total in told} == {len(book)}
    assert contents(text.read(packed).book) == contents(text.read(plain).book)


def test_packing_is_stopped_between_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = enumerate_book(5, BookOptions(min_empties=40))
    fed: list[int] = []
    halted = threading.Event()

    class Packer:
        """Packs nothing until it is told to stop."""

        def __init__(self, **_: object) -> None:
            pass

        def compress(self, data: bytes) -> bytes:
            fed.append(len(data))
            assert halted.wait(60)
            return b""

        def flush(self) -> bytes:
            raise AssertionError

    def progress(stage: str, done: int, total: int) -> None:
        if fed:
            # The pieces that are being packed end after the cancellation.
            threading.Timer(0.1, halted.set).start()
            raise WorkCancelled

    monkeypatch.setattr(text.lzma, "LZMACompressor", Packer)
    path = tmp_path / "b.txt.xz"
    path.write_bytes(b"old")
    with pytest.raises(WorkCancelled):
        text.write(path, book, progress)
    assert len(fed) <= platform.processors() + 1
    assert path.read_bytes() == b"old"


def test_the_limit_of_memory_holds_for_every_stream_of_xz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = b"---------------------------OX------XO--------------------------- X,1,d3,0\n"

    def packed(dictionary: int) -> bytes:
        return lzma.compress(line, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": dictionary}])

    path = tmp_path / "b.txt.xz"
    monkeypatch.setattr(text, "UNPACKING_BYTES", 1 << 21)
    path.write_bytes(packed(1 << 16) + bytes(8) + packed(1 << 16))
    assert len(text.read(path).book) == 1
    path.write_bytes(packed(1 << 16) + packed(1 << 22))
    with pytest.raises(Unreadable, match="cannot be unpacked: Memory usage limit exceeded"):
        text.read(path)
    path.write_bytes(packed(1 << 16)[:-4])
    with pytest.raises(Unreadable, match="ends within a stream of xz"):
        text.read(path)
