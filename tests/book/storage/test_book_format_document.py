"""FORMAT.md is true: a reader written from it, in plain Python, reads the files."""

import struct
import zlib
from pathlib import Path

import pytest
import referee
from toys import contents, create_store, set_results, small_book, spread, toy

from desdaemon.book.book import Book
from desdaemon.book.check import verify
from desdaemon.book.editing.add import fix
from desdaemon.book.editing.by_hand import edit
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.record import START, PositionEntry
from desdaemon.book.storage import snapshot
from desdaemon.book.storage.store import open_store

WORD = (1 << 64) - 1


def hashed(player: int, opponent: int) -> int:
    h = (player * 0x9E3779B97F4A7C15 & WORD) ^ (opponent * 0xC2B2AE3D27D4EB4F & WORD)
    h = (h ^ h >> 32) * 0xD6E8FEB86659FD93 & WORD
    return h ^ h >> 29


@pytest.mark.parametrize("indexed_from", [0, 1 << 16])
def test_a_file_has_the_documented_layout(indexed_from: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "INDEXED_FROM", indexed_from)
    book = small_book()
    spread(book, 2)
    wide = PositionEntry(*START, 1 << 40, 2, 3, 1 << 63, 5, 4, 6, 7, 19, -9, 10, 1)
    book.put(wide)
    assert not book.settled
    set_results(book, 1, (1.5, 2.0, 3.0))
    path = tmp_path / "b.book"
    create_store(path, book).close()
    data = path.read_bytes()

    magic, version, crc, _, sequence, rows = struct.unpack_from("<8sIIQQQ", data)
    assert (magic, version, sequence, rows) == (b"DESBOOK\n", 3, 0, len(book))
    assert crc == zlib.crc32(data[:12] + bytes(4) + data[16:4096])
    segments, wide_at, wides, results, checksums, size, chunks, checksums_crc = struct.unpack_from("<6QII", data, 40)
    assert size == len(data)
    assert checksums_crc == zlib.crc32(data[checksums:])
    blocks = [data[at : min(at + 65536, checksums)] for at in range(4096, checksums, 65536)]
    assert list(struct.unpack_from(f"<{len(blocks)}I", data, checksums)) == [zlib.crc32(block) for block in blocks]
    assert struct.unpack_from("<6i", data, 96) == tuple(book.options)
    assert struct.unpack_from("<II", data, 120) == (16384, 8)
    assert struct.unpack_from("<II", data, 136) == (65536, 0)
    (counts_at,) = struct.unpack_from("<Q", data, 144)
    assert not any(data[152:4096])
    if segments:
        assert counts_at + 8 * 774 == checksums
        kept = struct.unpack_from("<774q", data, counts_at)
        empties = [64 - (player | opponent).bit_count() for player, opponent, *_ in contents(book)]
        assert list(kept[:65]) == [empties.count(number) for number in range(65)]
        assert kept[260 + 128 + 70] == sum(entry.level == 70 for entry in contents(book))
        assert sum(kept[516:772]) == kept[772] == rows
        assert kept[773] == -1
    else:
        assert counts_at == 0
    assert (counts_at or checksums) == results + 24 * rows
    assert bool(segments) is (indexed_from == 0)
    assert wide_at == 4096 + 40 * rows or segments == 4096 + 40 * rows
    assert chunks == 1
    assert wides == 1
    assert struct.unpack_from("<3d", data, results + 24) == (1.5, 2.0, 3.0)

    found = []
    for row in range(rows):
        values = list(struct.unpack_from("<QQ4I4bB2bB", data, 4096 + 40 * row))
        if values[13] & 2:
            values[2:6] = struct.unpack_from("<4Q", data, wide_at + 32 * values[2])
            values[13] ^= 2
        found.append(tuple(values))
        if not segments:
            continue
        h = hashed(values[0], values[1])
        at, capacity, used = struct.unpack_from("<3Q", data, segments + 24 * (h >> 54))
        assert used <= 0.8 * capacity
        tag = (h >> 32) % 256 or 1
        place = (h % (1 << 32)) * capacity >> 32
        while True:
            here = data[at + place]
            assert here
            entry = struct.unpack_from("<I", data, at + (capacity + 7) // 8 * 8 + 4 * place)[0]
            if here == tag and entry == row:
                break
            place = (place + 1) % capacity
    assert sorted(found) == [tuple(entry) for entry in contents(book)]
    assert tuple(wide) in found


def first_version(book: Book) -> bytes:
    """A file of version 1: the last chunk filled up, and always an index."""
    entries = contents(book)
    records = b"".join(struct.pack("<QQ4I4bB2bB", *entry) for entry in entries)
    segments = [[bytearray(16), [0] * 16, 0] for _ in range(1024)]
    for row, entry in enumerate(entries):
        h = hashed(*entry[:2])
        segment = segments[h >> 54]
        place = h % (1 << 32) * 16 >> 32
        while segment[0][place]:
            place = (place + 1) % 16
        segment[0][place], segment[1][place] = (h >> 32) % 256 or 1, row
        segment[2] += 1
    at = 4096 + 16384 * 40
    table = b"".join(struct.pack("<3Q", at + 24576 + 80 * k, 16, used) for k, (_, _, used) in enumerate(segments))
    index = b"".join(bytes(tags) + struct.pack("<16I", *rows) for tags, rows, _ in segments)
    body = records.ljust(16384 * 40, b"\0") + table + index
    sums = b"".join(struct.pack("<I", zlib.crc32(body[k : k + (1 << 20)])) for k in range(0, len(body), 1 << 20))
    end = 4096 + len(body)

    def page(crc: int) -> bytes:
        places = at, end, 0, 0, end, end + len(sums), 1, zlib.crc32(sums)
        numbers = *book.options, 16384, 0, 1_700_000_000
        head = struct.pack("<8sII3Q6QII6iIIq", b"DESBOOK\n", 1, crc, 5, 0, len(entries), *places, *numbers)
        return head.ljust(4096, b"\0")

    return page(zlib.crc32(page(0))) + body + sums


def test_a_file_of_the_first_version_is_read_and_saved_as_one_of_the_third(tmp_path: Path) -> None:
    book = small_book()
    spread(book, 2)
    path = tmp_path / "b.book"
    path.write_bytes(first_version(book))
    with open_store(path) as store:
        assert contents(store.book) == contents(book)
        assert store.book.options == book.options
        assert not store.book.settled
        assert verify(store.book).clean
        store.save()
    assert struct.unpack_from("<I", path.read_bytes(), 8) == (3,)
    assert struct.unpack_from("<I", path.read_bytes(), 124) == (0,)
    with open_store(path) as store:
        assert contents(store.book) == contents(book)
        fix(store.book, Worker(toy))
        store.save()
        assert struct.unpack_from("<I", path.read_bytes(), 124) == (3,)
    with open_store(path) as store:
        assert (store.book.settled, store.book.complete) == (True, True)
        edit(store.book, *START, None, 9)
    with open_store(path) as store:
        assert store.book.settled
        assert store.book.unverified_rows() is not None
        assert verify(store.book).clean


def test_a_small_book_is_a_small_file(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    create_store(path, small_book()).close()
    assert path.stat().st_size == 4096 + 40 + 4


def test_a_journal_has_the_documented_layout(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    with create_store(path, small_book()) as store:
        store.book.put(PositionEntry(5, 1 << 40, score=-3, lower=-4, upper=-2, level=70, flags=1))
        store.commit()
        store.book.options = store.book.options.at_level(9)
        store.book.remember((1, 2, 3, 4), (5, -6))
        store.book.forget()
        store.book.step(7, 2)
        with store.book.together():
            store.book.step(8, 3)
            store.book.forget()
            store.book.step(8, 0)
        options = tuple(store.book.options)
        identity = path.read_bytes()[16:24]
    data = path.with_name("b.book.journal").read_bytes()
    assert data[:12] == b"DESJRNL\n\x03\0\0\0"
    assert struct.unpack_from("<I", data, 12)[0] == zlib.crc32(data[:12] + bytes(4) + data[16:32])
    assert data[16:32] == identity + bytes(8)
    at, crc, kinds = 32, zlib.crc32(data[:32]), []
    payloads = {}
    while at < len(data):
        length, kind, number, found, zero = struct.unpack_from("<IIQII", data, at)
        payload = data[at + 24 : at + 24 + length]
        crc = zlib.crc32(payload, zlib.crc32(data[at : at + 16], crc))
        assert (found, zero) == (crc, 0)
        kinds.append((number, kind))
        payloads.setdefault(kind, payload)
        at += 24 + length
    assert kinds == [(1, 1), (2, 4), (3, 5), (4, 6), (5, 7), (6, 8), (7, 7), (8, 7)]
    first = (5, 1 << 40, *[0] * 4, -3, -4, -2, 70, 65, -127, -1, 1, *[0] * 3)
    assert struct.unpack("<6Q4bB2bB3d", payloads[1]) == first
    assert struct.unpack("<6i", payloads[4]) == options
    assert payloads[8] == struct.pack("<Q", 2)
    assert payloads[7] == struct.pack("<QQ", 7, 2)
    assert payloads[5] == struct.pack("<QQQbbb5x", 1, 2, 4, 3, 5, -6)


def test_the_document_names_what_the_test_reads() -> None:
    text = (Path(__file__).resolve().parents[3] / "book" / "FORMAT.md").read_text(encoding="utf-8")
    for word in ("DESBOOK", "DESJRNL", "0x9E3779B97F4A7C15", "0xC2B2AE3D27D4EB4F", "0xD6E8FEB86659FD93"):
        assert word in text
    assert referee.start()
