"""Edax's text form, Egaroucid's files, conversions, and telling formats apart."""

import lzma
import os
import threading
from pathlib import Path

import pytest
import referee
from toys import contents, create_store, dat_file, dat_record, game_positions, small_book, spread, toy

from desdaemon.book.book import Book
from desdaemon.book.editing.add import add_positions, enumerate_book
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.errors import BookError, Unreadable
from desdaemon.book.formats import registry, text
from desdaemon.book.options import BookOptions
from desdaemon.book.progress import WorkCancelled
from desdaemon.book.record import START, PositionEntry
from desdaemon.book.storage.store import open_store
from desdaemon.protocol.othello.notation import discs_text
from desdaemon.protocol.othello.rules import INVERSE_SYMMETRY, transform_move
from desdaemon.protocol.system import platform

TEXTS = {"A3.txt": "A3_deviate_0_0.dat", "E1.txt": "E1_pass.dat", "F1.txt": "F1_passleaf.dat"}


@pytest.mark.posix
def test_a_pipe_is_no_book(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (registry.load, registry.open_any, registry.content):
        with pytest.raises(Unreadable, match="expected a regular file"):
            read(tmp_path / "pipe")


def test_packed_text_is_read_like_plain_text(tmp_path: Path) -> None:
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


@pytest.mark.needs("book.edax")
def test_edaxs_text_is_imported_and_exported(edax_books: Path, tmp_path: Path) -> None:
    for name, binary in TEXTS.items():
        book = registry.load(edax_books / binary).book
        imported = text.read(edax_books / name)
        assert imported.duplicates == 0
        assert contents(imported.book) == contents(book)
        text.write(tmp_path / name, book)
        assert (tmp_path / name).read_bytes() == (edax_books / name).read_bytes()


def test_own_text_is_read_as_it_was_written(tmp_path: Path) -> None:
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


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
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
