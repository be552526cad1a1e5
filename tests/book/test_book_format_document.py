"""FORMAT.md is true: a reader written from it, in plain Python, reads the files."""

import struct
import zlib
from pathlib import Path

import referee
from toys import contents, small_book, toy

from desdaemon.book.grow import deviate
from desdaemon.book.jobs import Worker
from desdaemon.book.record import START, Entry
from desdaemon.book.store import create_store

WORD = (1 << 64) - 1


def hashed(player: int, opponent: int) -> int:
    h = (player * 0x9E3779B97F4A7C15 & WORD) ^ (opponent * 0xC2B2AE3D27D4EB4F & WORD)
    h = (h ^ h >> 32) * 0xD6E8FEB86659FD93 & WORD
    return h ^ h >> 29


def test_the_file(tmp_path: Path) -> None:
    book = small_book()
    deviate(book, START, Worker(toy), 2, 6)
    wide = Entry(*START, 1 << 40, 2, 3, 1 << 63, 5, 4, 6, 7, 19, -9, 10, 1)
    book.put(wide)
    book.set_results(1, (1.5, 2.0, 3.0))
    path = tmp_path / "b.book"
    create_store(path, book).close()
    data = path.read_bytes()

    magic, version, crc, _, sequence, rows = struct.unpack_from("<8sIIQQQ", data)
    assert (magic, version, sequence, rows) == (b"DESBOOK\n", 1, 0, len(book))
    assert crc == zlib.crc32(data[:12] + bytes(4) + data[16:4096])
    segments, wide_at, wides, results, checksums, size, chunks, checksums_crc = struct.unpack_from("<6QII", data, 40)
    assert size == len(data)
    assert checksums_crc == zlib.crc32(data[checksums:])
    blocks = [data[at : min(at + (1 << 20), checksums)] for at in range(4096, checksums, 1 << 20)]
    assert list(struct.unpack_from(f"<{len(blocks)}I", data, checksums)) == [zlib.crc32(block) for block in blocks]
    assert struct.unpack_from("<6i", data, 96) == tuple(book.options)
    assert struct.unpack_from("<I", data, 120) == (16384,)
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


def test_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    with create_store(path, small_book()) as store:
        store.book.put(Entry(5, 1 << 40, score=-3, lower=-4, upper=-2, level=70, flags=1))
        store.commit()
        store.book.options = store.book.options.at_level(9)
        store.book.remember((1, 2, 3, 4), (5, -6))
        store.book.forget()
        options = tuple(store.book.options)
        identity = path.read_bytes()[16:24]
    data = path.with_name("b.book.journal").read_bytes()
    assert data[:12] == b"DESJRNL\n\x01\0\0\0"
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
        payloads[kind] = payload
        at += 24 + length
    assert kinds == [(1, 1), (2, 4), (3, 5), (4, 6)]
    assert struct.unpack("<6Q4bB2bB3d", payloads[1]) == (
        5,
        1 << 40,
        0,
        0,
        0,
        0,
        -3,
        -4,
        -2,
        70,
        65,
        -127,
        -1,
        1,
        0,
        0,
        0,
    )
    assert struct.unpack("<6i", payloads[4]) == options
    assert payloads[5] == struct.pack("<QQQbbb5x", 1, 2, 4, 3, 5, -6)


def test_the_document_names_what_the_test_reads() -> None:
    text = (Path(__file__).resolve().parents[2] / "book" / "FORMAT.md").read_text(encoding="utf-8")
    for word in ("DESBOOK", "DESJRNL", "0x9E3779B97F4A7C15", "0xC2B2AE3D27D4EB4F", "0xD6E8FEB86659FD93"):
        assert word in text
    assert referee.start()
