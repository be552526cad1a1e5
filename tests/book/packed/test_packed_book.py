"""Packed books: what a file keeps, that its document is true, that no file does harm, and changes in front of one."""

from __future__ import annotations

import os
import random
import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import referee
from book_dialogue import BookDialogue
from checkout import ROOT
from full_disk import room_for
from mapped_file import used_after
from synthetic_book import synthetic_book
from toys import contents

from desdaemon.book.book import Book
from desdaemon.book.errors import BookError, ReadOnly, WriteFailed
from desdaemon.book.formats import registry
from desdaemon.book.layout import NO_SCORE
from desdaemon.book.options import BookOptions, Rule
from desdaemon.book.record import START, PositionEntry
from desdaemon.book.reports import compare
from desdaemon.book.table import BookTable

pytestmark = pytest.mark.needs("book.packed")

PAGE = 4096
DOCUMENT = (ROOT / "book" / "packed" / "FORMAT.md").read_text(encoding="utf-8")


def odd_book(seed: int, positions: int = 900) -> Book:
    """A book of random boards with every kind of field, far apart and close together."""
    rng = random.Random(seed)
    book = Book(BookOptions(7, 11, 3, 2, 1, Rule.EGAROUCID), BookTable())
    for _ in range(positions):
        occupied = (
            rng.getrandbits(64) & rng.getrandbits(64) if rng.random() < 0.3 else rng.getrandbits(12) | 0x1818000000
        )
        player = occupied & rng.getrandbits(64)
        player, opponent, _ = book.table.canonical(player, occupied ^ player)
        score = rng.choice((NO_SCORE, rng.randint(-64, 64)))
        leaf = rng.choice(((65, -127, -1), (65, rng.randint(-64, 64), 3), (125, -126, 60), (64, 3, 1), (19, -5, 70)))
        bounds = max(-127, score - rng.randint(0, 9)), min(127, score + rng.randint(0, 9))
        fields = score, *bounds, rng.choice((-1, 0, 21, 60, 70)), *leaf, rng.choice((0, 0, 1, 4, 5))
        book.put(PositionEntry(player, opponent, 0, 0, 0, 0, *fields))
    return book


def without_paths(book: Book) -> list[PositionEntry]:
    found = [PositionEntry(*entry) for entry in contents(book)]
    return sorted(entry._replace(wins=0, draws=0, losses=0, lines=0) for entry in found)


def packed(book: Book, path: Path) -> Path:
    book.stale = False
    assert registry.save(path, book).format == "packed"
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Book, Path]:
    """A book of some pages, and its packed file."""
    book = synthetic_book(4000, 5)
    return book, packed(book, tmp_path_factory.mktemp("packed") / "made.packed")


# ------------------------------------------------------------------------------------------------ content


def test_a_packed_book_keeps_positions_scores_levels_and_leaves(made: tuple[Book, Path]) -> None:
    book, path = made
    read = registry.load(path).book
    assert contents(read) == contents(book)
    assert read.options == book.options
    assert path.stat().st_size < 12 * len(book)


@pytest.mark.parametrize("seed", range(3))
def test_every_field_comes_back(seed: int, tmp_path: Path) -> None:
    book = odd_book(seed)
    opened = registry.open_any(packed(book, tmp_path / "odd.packed")).book
    assert opened.options == book.options
    for entry in without_paths(book):
        assert opened.entry(entry.player, entry.opponent) == entry


def test_the_same_positions_give_the_same_bytes(made: tuple[Book, Path], tmp_path: Path) -> None:
    book, path = made
    shuffled = Book(book.options)
    order = np.random.default_rng(1).permutation(len(book))
    shuffled.table.insert_records(book.table.records(order))
    shuffled.negamax()
    again = packed(shuffled, tmp_path / "again.packed")
    assert again.read_bytes() == path.read_bytes()
    assert packed(registry.load(path).book, tmp_path / "third.packed").read_bytes() == path.read_bytes()


def test_what_is_not_kept_is_said(tmp_path: Path) -> None:
    dialogue = BookDialogue()
    dialogue.say("book new 1 7")
    assert "not kept" not in dialogue.both(f"book export {tmp_path / 'a.packed'}")[0]
    moves = "".join(referee.name(move) for move in referee.random_moves(1, 60))
    (tmp_path / "games.txt").write_text(f"{moves}\n", encoding="utf-8")
    dialogue.both(f"book add {tmp_path / 'games.txt'} --unsearched")
    out, _ = dialogue.both(f"book export {tmp_path / 'a.packed'}")
    assert f"{tmp_path / 'a.packed'}: not kept: results of games; which games were counted (1)\n" in out
    dialogue.close()


def test_an_empty_book_is_packed(tmp_path: Path) -> None:
    path = packed(Book(), tmp_path / "empty.packed")
    opened = registry.open_any(path).book
    assert len(opened) == 0
    assert opened.entry(0x810000000, 0x1008000000) is None
    assert len(registry.load(path).book) == 0


# ------------------------------------------------------------------------------------------------ document


def bits(page: bytes, at: int, count: int) -> int:
    return int.from_bytes(page, "little") >> at & (1 << count) - 1


def read_by_document(path: Path) -> list[tuple[int, ...]]:
    """The positions of a packed file, read as FORMAT.md says: board, then the bytes 32 to 39 of a record."""
    data = path.read_bytes()
    magic, version, _, _, positions, pages, crc, _ = struct.unpack_from("<8sII16sQQII", data)
    assert (magic, version) == (b"DESPACK\n", 1)
    squares = [name for line in re.findall(r"^    (.*)$", DOCUMENT, re.M) for name in line.split()]
    assert len(squares) == 64
    directory = data[(1 + pages) * PAGE :]
    assert zlib.crc32(directory) == crc
    found, keys = [], []
    for number in range(pages):
        page = data[(1 + number) * PAGE :][:PAGE]
        page_crc, count, fields_at, occupied = struct.unpack_from("<IHHQ", page)
        assert zlib.crc32(page[4:]) == page_crc
        least, widths = page[16:24], page[24:32]
        at = 32 * 8
        field = 8 * fields_at
        for index in range(count):
            if index:
                length = bits(page, at, 6)
                at += 6
                rest = 64 if length == 63 else max(length - 1, 0)
                occupied += bits(page, at, rest) + (1 << rest if 0 < length < 63 else 0)
                at += rest
            places = [place for place in range(64) if occupied >> place & 1]
            colours = bits(page, at, len(places))
            at += len(places)
            player = sum(1 << place for k, place in enumerate(places) if colours >> k & 1)
            if not index:
                assert struct.pack("<QQ", occupied, player) == directory[16 * number :][:16]
            keys.append((occupied, player))
            values = []
            for base, width in zip(least, widths, strict=True):
                values.append((base + bits(page, field, width)) % 256)
                field += width
            score, lower, upper, level, move, leaf_score, leaf_level, flags = values
            leaf = (
                (65, 129, 255) if move == 65 else (65 if move == 66 else move, score - leaf_score, level - leaf_level)
            )
            record = [score, score - lower, score + upper, level, *leaf, flags]
            boards = []
            for word in (player, occupied ^ player):
                names = [squares[63 - place] for place in range(64) if word >> place & 1]
                boards.append(sum(1 << ord(name[0]) - 97 + 8 * (int(name[1]) - 1) for name in names))
            signed = [value if k in (4, 7) else (value + 128) % 256 - 128 for k, value in enumerate(record)]
            found.append((*boards, *signed))
    assert keys == sorted(set(keys))
    assert len(found) == positions
    return found


def test_a_reader_made_from_the_document_reads_packed_books(made: tuple[Book, Path], tmp_path: Path) -> None:
    for book, path in (made, (odd := odd_book(9), packed(odd, tmp_path / "odd.packed"))):
        assert sorted(read_by_document(path)) == [(*entry[:2], *entry[6:]) for entry in without_paths(book)]


# ------------------------------------------------------------------------------------------------ bad files


def used(path: Path, keys: list[tuple[int, int]], entries: dict[tuple[int, int], PositionEntry] | None) -> str:
    """Use a file that may be damaged: open it, look up, read all of it. Returns the first error; look-ups that find a
    position tell what ``entries`` say.
    """
    problem = ""
    try:
        book = registry.open_any(path).book
        for key in keys:
            entry = book.entry(*key)
            assert entries is None or entry is None or entry == entries[key]
            book.moves_on(*key)
        if (damage := book.table.damage) is not None:
            problem = str(damage)
            with pytest.raises(BookError):
                book.table.sound()
        registry.load(path)
    except BookError as error:
        problem = problem or str(error)
        assert str(path) in problem
    assert "\n" not in problem
    return problem


def test_every_damaged_byte_is_refused_or_not_used(made: tuple[Book, Path], tmp_path: Path) -> None:
    book, path = made
    data = path.read_bytes()
    entries = {entry[:2]: entry for entry in without_paths(book)}
    keys = random.Random(2).sample(sorted(entries), 40)
    rng = random.Random(3)
    ends = [*range(16), *range(len(data) - 16, len(data)), *range(PAGE, PAGE + 40)]
    for at in (*ends, *(rng.randrange(len(data)) for _ in range(60))):
        changed = bytearray(data)
        changed[at] ^= 1 << rng.randrange(8)
        # Windows lets nobody write over a file that is mapped.
        bad = tmp_path / f"bad{at}.packed"
        bad.write_bytes(changed)
        assert used(bad, keys, entries), at


def test_positions_of_a_damaged_page_are_not_said_to_be_missing_without_a_word(
    made: tuple[Book, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book, path = made
    data = bytearray(path.read_bytes())
    data[PAGE + 100] ^= 1
    bad = tmp_path / "bad.packed"
    bad.write_bytes(data)
    found = registry.open_any(bad).book
    assert capsys.readouterr().err == ""
    lost = [entry[:2] for entry in without_paths(book) if found.entry(*entry[:2]) is None]
    assert lost
    assert capsys.readouterr().err.count("page 0 is damaged: nothing of it is used") == 1


def test_no_content_of_a_page_does_harm(made: tuple[Book, Path], tmp_path: Path) -> None:
    """Pages of any bytes, all checksums right: they are refused, or read as what they say."""
    book, path = made
    data = path.read_bytes()
    pages = struct.unpack_from("<Q", data, 40)[0]
    keys = random.Random(4).sample(sorted(entry[:2] for entry in without_paths(book)), 30)
    refused = 0
    for seed in range(120):
        rng = random.Random(seed)
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 3, 40, 4000))):
            page = PAGE * (1 + rng.randrange(pages))
            at = rng.randrange(4, 40) if rng.random() < 0.5 else rng.randrange(4, PAGE)
            changed[page + at] = rng.choice((0, 0xFF, rng.randrange(256), changed[page + at] ^ 1))
        for number in range(1, pages + 1):
            page = changed[number * PAGE :][:PAGE]
            struct.pack_into("<I", changed, number * PAGE, zlib.crc32(page[4:]))
            if rng.random() < 0.5:
                struct.pack_into(
                    "<Q", changed, (1 + pages) * PAGE + 16 * (number - 1), struct.unpack_from("<Q", page, 8)[0]
                )
        struct.pack_into("<I", changed, 48, zlib.crc32(changed[(1 + pages) * PAGE :]))
        struct.pack_into("<I", changed, 12, 0)
        struct.pack_into("<I", changed, 12, zlib.crc32(changed[:PAGE]))
        bad = tmp_path / f"bad{seed}.packed"
        bad.write_bytes(changed)
        refused += bool(used(bad, keys, None))
    assert 60 < refused < 120


USER = """
import sys
from pathlib import Path
from desdaemon.book.errors import BookError
from desdaemon.book.formats import registry
from desdaemon.book.record import START

book = registry.open_any(Path(sys.argv[1])).book
print(book.entry(*START) is not None, flush=True)
sys.stdin.readline()
for look in (lambda: book.entry(*START), lambda: book.moves_on(*START), lambda: book.known_moves(book.entry(*START)),
             lambda: book.in_memory()):
    try:
        print(look(), flush=True)
    except (BookError, AttributeError) as error:
        print(error, flush=True)
"""


@pytest.mark.posix
@pytest.mark.parametrize("how", ["cut", "written over", "replaced"])
def test_a_file_written_to_while_it_is_mapped_ends_nobody(how: str, tmp_path: Path) -> None:
    path = packed(synthetic_book(900, 1), tmp_path / "mapped.packed")
    changes = {
        "cut": lambda: os.truncate(path, 0),
        "written over": lambda: path.write_bytes(bytes(path.stat().st_size)),
        "replaced": lambda: packed(synthetic_book(500, 1), path),
    }
    out, err = used_after(USER, str(path), change=changes[how])
    if how == "replaced":
        assert "PositionEntry" in out
        assert not err
    else:
        assert "PositionEntry" not in out
        assert err.count("another program wrote to this file since it was opened") == 1
        assert len(err.splitlines()) == 1


@pytest.mark.parametrize("place", [32, 40, 8, 56])
def test_numbers_of_the_header_are_not_believed(place: int, made: tuple[Book, Path], tmp_path: Path) -> None:
    data = bytearray(made[1].read_bytes())
    struct.pack_into("<I", data, place, 1 << 30)
    struct.pack_into("<I", data, 12, 0)
    struct.pack_into("<I", data, 12, zlib.crc32(data[:PAGE]))
    (bad := tmp_path / "bad.packed").write_bytes(data)
    assert used(bad, [], None)


def test_a_file_that_is_cut_short_is_refused(made: tuple[Book, Path], tmp_path: Path) -> None:
    data = made[1].read_bytes()
    bad = tmp_path / "bad.packed"
    for size in (8, 100, PAGE - 1, PAGE, 3 * PAGE, len(data) - 1):
        bad.write_bytes(data[:size])
        assert used(bad, [], None)
    bad.write_bytes(data + b"\0")
    assert used(bad, [], None)


# ------------------------------------------------------------------------------------------------ in use


def test_look_ups_are_those_of_the_book(made: tuple[Book, Path]) -> None:
    book, path = made
    opened = registry.open_any(path).book
    assert len(opened) == len(book)
    for entry in without_paths(book)[::7]:
        assert opened.entry(*entry[:2]) == entry
        known = [(move.move, move.score) for move in book.moves_on(*entry[:2])]
        assert [(move.move, move.score) for move in opened.moves_on(*entry[:2])] == known
        for move in known:
            child = book.table.play(*entry[:2], move[0])
            assert (opened.entry(*child) is None) == (book.entry(*child) is None)


REFUSED = (
    *(
        "fix",
        "negamax",
        "deviate 1 2",
        "enhance",
        "fill 3",
        "prune",
        "subtree",
        "cut 3",
        "delete d6",
        "learn 3 4 4 1 1",
        "verify",
    ),
    *("stats", "grade", "problem 30 2", "correct", "edit d6 3", "rule egaroucid", "store"),
)


@pytest.mark.parametrize("overlay", [False, True])
def test_what_needs_all_positions_is_one_line_and_changes_nothing(
    overlay: bool, made: tuple[Book, Path], tmp_path: Path
) -> None:
    dialogue = BookDialogue()
    above = tmp_path / "above"
    dialogue.say(f"book load {made[1]}" + (f" --overlay {above}" if overlay else ""))
    dialogue.say("play f5")
    before = above.read_bytes() if overlay else b""
    for line in REFUSED:
        if overlay and line.split()[0] in ("edit", "store", "negamax", "learn"):
            continue
        out, err = dialogue.both(f"book {line}")
        assert err.count("\n") <= 1, (line, err)
        assert "book import" in err, (line, out, err)
        assert len(dialogue.book) == len(made[0])
    if overlay:
        dialogue.book.recorder.allow()
        assert above.read_bytes()[:200] == before[:200]
    else:
        with pytest.raises(ReadOnly):
            dialogue.book.recorder.allow()
    dialogue.close()


@pytest.mark.needs("book.growth")
@pytest.mark.parametrize("line", ["deviate 1 2", "enhance", "play", "extend", "deepen 3", "correct", "fix"])
def test_growth_over_a_packed_book_that_has_learned_searches_nothing(
    line: str, made: tuple[Book, Path], tmp_path: Path
) -> None:
    """It is refused before the leaves that wait for a search."""
    dialogue = BookDialogue()
    dialogue.say(f"book load {made[1]} --overlay {tmp_path / 'above'}")
    (tmp_path / "games.txt").write_text("f5d6c3d3c4f4f6g5\n", encoding="utf-8")
    dialogue.say(f"book add {tmp_path / 'games.txt'} --unsearched")
    assert "book import" in dialogue.both(f"book {line}")[1]
    assert dialogue.say("book undo").startswith("book add")
    dialogue.close()


@pytest.mark.parametrize("overlay", [False, True])
def test_info_tells_what_is_known_of_a_packed_book(overlay: bool, made: tuple[Book, Path], tmp_path: Path) -> None:
    book, path = made
    dialogue = BookDialogue()
    dialogue.say(f"book load {path}" + (f" --overlay {tmp_path / 'above'}" if overlay else ""))
    lines = dialogue.lines("book info")
    assert f"Positions: {len(book)} (links and leaves of a packed book are not counted);" in lines
    assert f"Depth: {book.options.depth}" in lines
    assert any(line.startswith(f"Searches: level {book.options.level},") for line in lines)
    assert (f"over {path.name}, which stays as it is" in lines) is overlay
    if overlay:
        dialogue.say("play f5d6c3d3c4f4f6g5e3")
        added = int(dialogue.say("book store").split(": ")[1].split()[0])
        assert any(line.startswith(f"Positions: {len(book) + added} ") for line in dialogue.lines("book info"))
    dialogue.close()


CHANGES = (
    *("play f5d6c3", "book edit d3 -7", "book store", "play d3", "book edit c4 12", "book unedit"),
    *(
        "init",
        "play f5f6e6f4",
        "book store",
        "book lines 3 5",
        "book add {games} --unsearched",
        "book adjust black",
        "book edit g4 -9",
        "book learn 7 3 4 2 1",
        "book recalculate-leaves 6 1 2 2",
        "init",
        "book learn 5 1 2 1 1",
        "book lines 3 5",
    ),
)


@pytest.mark.parametrize("rule", ["edax", "egaroucid"])
def test_an_overlay_over_a_packed_book_is_as_over_the_book_itself(rule: str, tmp_path: Path) -> None:
    book = synthetic_book(3000, 5)
    book.options = book.options._replace(rule=Rule[rule.upper()])
    book.negamax()
    games = tmp_path / "games.txt"
    games.write_text("f5d6c3d3c4f4f6g5\nf5f6e6f4g7c6\n", encoding="utf-8")
    registry.write_native(tmp_path / "base.book", book)
    packed(book, tmp_path / "base.packed")
    results = []
    for base in ("base.book", "base.packed"):
        dialogue = BookDialogue()
        above, before = tmp_path / f"{base}.above", (tmp_path / base).read_bytes()
        dialogue.say(f"book load {tmp_path / base} --overlay {above}")
        shown = [dialogue.both(line.format(games=games)) for line in CHANGES]
        assert dialogue.both("book undo")[0]
        dialogue.say("book new 1 7 --discard")
        dialogue.say(f"book load {above}")
        dialogue.say("book save")
        into = tmp_path / f"{base}.into"
        dialogue.say(f"book merge {into} --into")
        dialogue.close()
        assert (tmp_path / base).read_bytes() == before
        results.append((shown, registry.load(into).book))
    (first_shown, first), (second_shown, second) = results
    assert first_shown == second_shown
    assert contents(first) == contents(second)
    assert len(first) > len(book)
    assert compare.diff(first, book).other_score


@pytest.mark.posix
@pytest.mark.parametrize("kind", ["book", "packed"])
def test_an_overlay_on_a_full_disk_keeps_what_it_could_not_write(
    kind: str, made: tuple[Book, Path], tmp_path: Path
) -> None:
    base, above = tmp_path / f"base.{kind}", tmp_path / "above"
    registry.save(base, made[0])
    before = base.read_bytes()
    opened = registry.open_any(base, overlay=above)
    assert opened.store is not None
    entry = opened.book.entry(*START)
    assert entry is not None
    opened.book.put(entry._replace(leaf_score=7))
    opened.store.commit()
    with room_for(above.stat().st_size):
        opened.book.put(entry._replace(leaf_score=9))
        with pytest.raises(WriteFailed):
            opened.store.commit()
        with pytest.raises(ReadOnly):
            opened.book.put(entry._replace(leaf_score=11))
    opened.store.commit()
    opened.store.close()
    again = registry.open_any(above)
    found = again.book.entry(*START)
    assert found is not None
    assert found.leaf_score == 9
    assert again.store is not None
    again.store.close()
    assert base.read_bytes() == before
