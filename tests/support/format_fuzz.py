"""Structured mutations of every file format, with their checksums computed again.

    python tests/support/format_fuzz.py [CASES] [FORMAT ...]

Each case is a good file in which some numbers, records or lines were changed, and whose checksums fit again, so that
the reader's own checks alone are between it and the kernels. What was read is used, too. `run` has them read in child
processes with a limit of memory and of time; a case that ends its process, never ends, or raises what is no refusal is
reported by format and number, which repeat it.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import random
import re
import select
import struct
import subprocess
import sys
import tempfile
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from toys import create_store, set_results

from desdaemon.book import summary
from desdaemon.book.book import Book
from desdaemon.book.check import repair, verify
from desdaemon.book.choose import Choice, MoveChoice, choose
from desdaemon.book.editing.add import enumerate_book
from desdaemon.book.editing.game_results import live_game
from desdaemon.book.errors import BookError
from desdaemon.book.formats import registry
from desdaemon.book.options import BookOptions
from desdaemon.book.record import START
from desdaemon.book.storage import snapshot, store
from desdaemon.book.storage.store import journal_path, open_store
from desdaemon.engine.evaluation import weights_file
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games import bases, formats
from desdaemon.protocol.othello import obf

MEMORY_BYTES = 192 << 20
"""What a child may take beyond what it has after its first good file, and twice the size of the case's."""
CASE_SECONDS = 60
"""On a machine that does something else, too; a case takes some milliseconds."""

REFUSALS = (BookError, BadInput, weights_file.WeightsError)
GAME = "f5d6c3d3c4f4f6g5e3f3g6e2h5c5"
WIDE = (
    0,
    1,
    2,
    15,
    16,
    64,
    65,
    127,
    128,
    255,
    1 << 14,
    1 << 16,
    1 << 26,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
)
WIDE += (1 << 40, (1 << 60) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 8, (1 << 64) - 1)


class Format(NamedTuple):
    """A good file, a way to spoil it, and a way to use what comes of it, which raises one of `REFUSALS` or nothing."""

    name: str
    sample: bytes
    spoil: Callable[[random.Random, bytearray], bytes]
    use: Callable[[Path], None]


def number(rng: random.Random, size: int, old: int) -> int:
    """Another number for a field of ``size`` bytes: an extreme one, a neighbour of the old one, any."""
    chosen = rng.choice([rng.choice(WIDE), old + rng.choice((-8, -1, 1, 8)), old ^ 1 << rng.randrange(8 * size)])
    return chosen % (1 << 8 * size)


def set_field(rng: random.Random, data: bytearray, at: int, size: int) -> None:
    """Change the number of ``size`` bytes at byte ``at``."""
    if at + size <= len(data):
        old = int.from_bytes(data[at : at + size], "little")
        data[at : at + size] = number(rng, size, old).to_bytes(size, "little")


def spoil_fields(rng: random.Random, data: bytearray, fields: list[tuple[int, int]]) -> None:
    """Change one to three of the numbers at ``fields`` (byte, size)."""
    for _ in range(rng.randint(1, 3)):
        set_field(rng, data, *rng.choice(fields))


def record_fields(first: int, step: int, count: int, sizes: list[int]) -> list[tuple[int, int]]:
    """Where the numbers of these sizes lie in ``count`` records of ``step`` bytes."""
    places = [sum(sizes[:k]) for k in range(len(sizes))]
    return [(first + row * step + at, size) for row in range(count) for at, size in zip(places, sizes, strict=True)]


def spoil_records(rng: random.Random, data: bytearray, first: int, step: int) -> None:
    """Repeat, drop or exchange records, or cut the file."""
    count = max(1, (len(data) - first) // step)
    a, b = (first + step * rng.randrange(count) for _ in range(2))
    kind = rng.randrange(4)
    if kind == 0:
        data[a:a] = data[b : b + step]
    elif kind == 1:
        del data[a : a + step]
    elif kind == 2:
        data[a : a + step], data[b : b + step] = data[b : b + step], data[a : a + step]
    else:
        del data[rng.randrange(len(data)) :]


def binary(fields: list[tuple[int, int]], first: int, step: int) -> Callable[[random.Random, bytearray], bytes]:
    """Changes of a file of records without checksums."""

    def spoil(rng: random.Random, data: bytearray) -> bytes:
        if rng.random() < 0.2:
            spoil_records(rng, data, first, step)
        else:
            spoil_fields(rng, data, fields)
        return bytes(data)

    return spoil


def text(rng: random.Random, data: bytearray) -> bytes:
    """Changes of a file of lines: numbers, brackets, letters, lines, lengths."""
    content = data.decode()
    for _ in range(rng.randint(1, 3)):
        lines = content.splitlines(keepends=True) or [""]
        line = rng.randrange(len(lines))
        kind = rng.randrange(6)
        numbers = list(re.finditer(r"\d+", content))
        if kind == 0 and numbers:
            found = rng.choice(numbers)
            made = rng.choice(
                [str(number(rng, 8, int(found[0][:18]))), "-" + found[0], found[0] * 9, "\u0661", "9" * 5000]
            )
            content = content[: found.start()] + made + content[found.end() :]
        elif kind == 1:
            at = rng.randrange(len(content) + 1)
            token = rng.choice("[](){};,.:\\\"'%#\0\n\r\u2028 -+XO")
            content = content[:at] + token * rng.choice((1, 1, 2, 3000)) + content[at:]
        elif kind == 2:
            at = rng.randrange(len(content) + 1)
            content = content[:at] + content[at + rng.randint(1, 9) :]
        elif kind == 3:
            lines[line] *= rng.choice((0, 2, 300))
            content = "".join(lines)
        elif kind == 4:
            lines[line] = lines[line][: rng.randrange(len(lines[line]) + 1)]
            content = "".join(lines)
        else:
            letter = rng.choice(content or "a")
            content = content.replace(letter, rng.choice((letter.swapcase(), "", "é", letter + letter)), 1)
    return content.encode("utf-8", "surrogatepass")


def use_book(book: Book) -> None:
    """Do with a book what commands do, except search."""
    table = book.table
    rng = random.Random(1)
    for row in range(min(len(book), 50)):
        entry = table.entry(row)
        table.find(*entry[:2])
        book.known_moves(entry)
        summary.entry_text(book, entry)
        for choice in Choice:
            choose(book, *entry[:2], MoveChoice(choice, 100), rng)
    summary.show_lines(book, *START, black=True)
    summary.info_lines(summary.summary(book))
    verify(book)
    book.negamax()
    for rule in (1, 0):
        book.options = book.options._replace(rule=type(book.options.rule)(rule))
        book.negamax()
    from desdaemon.book.reports.report import problems

    list(problems(book, 50, 3))
    marks = np.zeros(len(book), bool)
    marks[::3] = True
    book.remove(marks)
    repair(book)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("b.dat", "b.egbk3", "b.txt", "b.book"):
            try:
                registry.save(Path(folder) / name, book)
            except BookError as error:
                if "no score" not in str(error):
                    raise


def use_file(path: Path) -> None:
    """Read a book of another program's format and use it."""
    use_book(registry.load(path).book)


def use_store(path: Path) -> None:
    """Open a book of our own, compared when opened or by and by, and use it; or salvage what can be."""
    # A case is as large as a large one.
    store.CHECKED_AT_OPEN = (path.stat().st_size + sum(path.read_bytes()[:4200])) % 2 << 26
    try:
        with open_store(path) as opened:
            for row in range(min(len(opened.book), 50)):
                opened.book.table.find(*opened.book.table.entry(row)[:2])
            opened.book.table.insert(1, 2)
            use_book(opened.book)
            opened.save()
    except BookError:
        from desdaemon.book.reports.salvage import salvage

        use_book(salvage(path).book)
        raise


def use_weights(path: Path) -> None:
    """Read a file of weights."""
    weights_file.read(path)


def use_games(path: Path) -> None:
    """Read the games of a file; one that cannot be read is passed over with a line."""
    remarks: list[str] = []
    list(bases.read_games(str(path), remarks.append))
    assert all(line.startswith(f'"{path.parent}') and "\n" not in line for line in remarks), remarks


def use_problems(path: Path) -> None:
    """Read the problems of a file."""
    for line in path.read_text("utf-8", "replace").splitlines():
        obf.parse_problem(line)


def sealed_book(data: bytearray) -> bytes:
    """A native file whose checksums fit its content."""
    fields = list(snapshot._HEADER.unpack_from(data))
    end = fields[10] if snapshot.PAGE <= fields[10] <= len(data) else len(data)
    body = bytes(data[snapshot.PAGE : end])
    blocks = (body[at : at + snapshot.BLOCK] for at in range(0, len(body), snapshot.BLOCK))
    sums = b"".join(zlib.crc32(block).to_bytes(4, "little") for block in blocks)
    head = bytearray(data[: snapshot.PAGE])
    struct.pack_into("<I", head, 92, zlib.crc32(sums))
    struct.pack_into("<I", head, 12, 0)
    struct.pack_into("<I", head, 12, zlib.crc32(head))
    return bytes(head) + body + sums


def fill_segment(data: bytearray, segments_at: int, number: int) -> None:
    """Leave a segment of the index no free slot."""
    at, capacity, _ = struct.unpack_from("<3Q", data, segments_at + 24 * number)
    data[at : at + capacity] = data[at : at + capacity].replace(b"\0", b"\1")


def spoil_book(rng: random.Random, data: bytearray) -> bytes:
    """Changes of the header, the records, the table of segments, the index and the counts of a native file."""
    header = snapshot.read_header(Path("sample"), bytes(data), None)
    sizes = [8, 4, 4, *[8] * 9, *[4] * 10, 8, 4, 4, *[8] * 3]
    head = record_fields(0, snapshot.PAGE, 1, sizes)[1:]
    rows = record_fields(snapshot.PAGE, 40, header.rows, [8, 8, 4, 4, 4, 4, *[1] * 8])
    table = record_fields(header.segments_at, 24, 1024, [8, 8, 8])
    index = [(at, rng.choice((1, 4))) for at in range(header.segments_at + 24576, header.wide_at)]
    rest = [(at, 8) for at in range(header.wide_at, header.checksums_at, 8)]
    parts = [head, rows, table, index, rest]
    if rng.random() < 0.1:
        for segment in range(1024):
            fill_segment(data, header.segments_at, segment)
    for _ in range(rng.randint(1, 3)):
        spoil_fields(rng, data, rng.choice(parts))
    if rng.random() < 0.2:
        at = rng.choice(rng.choice(parts))[0]
        data[at : at + rng.choice((16, 5000))] = b"\xff" * len(data[at : at + rng.choice((16, 5000))])
    return sealed_book(data)


def spoil_journal(rng: random.Random, data: bytearray) -> bytes:
    """Changes of a journal's header and entries, chained again."""
    head = bytearray(data[:32])
    entries, at = [], 32
    while at < len(data):
        length, kind = struct.unpack_from("<II", data, at)
        entries.append((kind, data[at + 24 : at + 24 + length]))
        at += 24 + length
    if rng.random() < 0.2:
        spoil_fields(rng, head, [(8, 4), (24, 8)])
    for _ in range(rng.randint(1, 3)):
        which = rng.randrange(len(entries))
        kind, payload = entries[which]
        payload = bytearray(payload)
        if payload and rng.random() < 0.8:
            spoil_fields(rng, payload, [(at, size) for size in (1, 4, 8) for at in range(0, len(payload), size)])
        elif rng.random() < 0.5:
            kind = number(rng, 4, kind) if rng.random() < 0.5 else rng.randint(1, 11)
        else:
            payload = payload[: rng.randrange(len(payload) + 1)]
        entries[which] = kind, payload
    if rng.random() < 0.3:
        rng.shuffle(entries)
    struct.pack_into("<I", head, 12, 0)
    struct.pack_into("<I", head, 12, zlib.crc32(head))
    made, crc = bytes(head), zlib.crc32(head)
    base = struct.unpack_from("<Q", head, 24)[0]
    for place, (kind, payload) in enumerate(entries, base + 1):
        front = struct.pack("<IIQ", len(payload), kind, place % (1 << 64))
        crc = zlib.crc32(payload, zlib.crc32(front, crc))
        made += front + struct.pack("<II", crc, 0) + payload
    return made


def spoil_weights(rng: random.Random, data: bytearray) -> bytes:
    """Changes of the header, the record and the heads of a network, with its digest."""
    length = struct.unpack_from("<I", data, 16)[0]
    record = json.loads(data[64 : 64 + length])
    body = bytearray(data[64 + length :])
    if rng.random() < 0.4:
        record[rng.choice(("curve", "probcut"))] = rng.choice(
            [1e308, -1, "x", [], {"size": 1e300}, {"gap": -9e9}, True, None]
        )
    spoil_fields(rng, body, [(at, size) for size in (1, 2, 4) for at in range(0, 8000, size)])
    text_ = json.dumps(record).encode()
    head = bytearray(data[:64])
    struct.pack_into("<I", head, 16, len(text_))
    if rng.random() < 0.2:
        spoil_fields(rng, head, [(8, 2), (10, 2), (12, 4), (16, 4), (20, 1)])
    head[32:64] = hashlib.blake2b(text_ + body, digest_size=32).digest()
    return bytes(head) + text_ + bytes(body)


def packed(spoil: Callable[[random.Random, bytearray], bytes]) -> Callable[[random.Random, bytearray], bytes]:
    """The same changes inside an xz stream, and some of the stream."""

    def spoil_packed(rng: random.Random, data: bytearray) -> bytes:
        made = lzma.compress(spoil(rng, bytearray(lzma.decompress(data))), preset=0)
        if rng.random() < 0.2:
            made += made[: rng.randrange(len(made) + 1)]
        if rng.random() < 0.2:
            # The size of the dictionary, with the checksum of the block's header.
            head = bytearray(made[12 : 12 + 4 * (made[12] + 1)])
            head[4] = rng.randrange(64)
            head[-4:] = zlib.crc32(head[:-4]).to_bytes(4, "little")
            made = made[:12] + bytes(head) + made[12 + len(head) :]
        return made

    return spoil_packed


def samples(folder: Path) -> Iterator[Format]:
    """All formats; the good files are made in ``folder``."""
    snapshot.INDEXED_FROM = 0
    book = enumerate_book(3, BookOptions(level=2, min_empties=57))
    for chunk in book.table.chunks():
        chunk["level"], chunk["score"], chunk["leaf_move"] = 2, 1, 65
    book.table.write(2, book.table.entry(2)._replace(wins=1 << 40, lines=1 << 41))
    set_results(book, 1, (1.0, 2.0, 3.0))
    line = [(entry[0], entry[1]) for entry in map(book.table.entry, (0, 1))]
    counted = [live_game(line, score, "store", learned=score < 0) for score in (-2, 0, 7)]
    book.list_games(np.concatenate(counted))
    book.forget_state()
    book.negamax()
    native = folder / "native.book"
    create_store(native, book).close()
    yield Format("native book", native.read_bytes(), spoil_book, use_store)
    with open_store(native) as opened:
        for row in range(len(book)):
            opened.book.put(book.table.entry(row)._replace(leaf_move=65))
        opened.book.options = opened.book.options.at_level(9)
        opened.book.remember((*START, 3, 0), (19, -6))
        opened.book.step(7, 2)
        set_results(opened.book, 2, (1.0, 0.0, 2.5))
        opened.book.list_games(live_game(line, 1, "store", learned=False))
        opened.book.unlist_games(counted[1])
        opened.book.remove(np.arange(len(book)) % 5 == 4)
        opened.commit()
        log = journal_path(native).read_bytes()
    good = native.read_bytes()

    def use_journal(path: Path) -> None:
        own = path.with_name("j.book")
        own.write_bytes(good)
        path.replace(journal_path(own))
        use_store(own)

    yield Format("journal", log, spoil_journal, use_journal)
    for name in ("b.dat", "b.egbk3", "b.txt", "b.txt.xz"):
        registry.save(folder / name, book)
    content = {name: (folder / name).read_bytes() for name in ("b.dat", "b.egbk3", "b.txt", "b.txt.xz")}
    head = record_fields(0, 42, 1, [8, 1, 1, 2, *[1] * 6, *[4] * 6])
    dat = [*head, *((at, size) for size in (1, 2, 4, 8) for at in range(42, len(content["b.dat"]), 2))]
    yield Format("Edax book.dat", content["b.dat"], binary(dat, 42, 44), use_file)
    count = (len(content["b.egbk3"]) - 14) // 25
    third = [*record_fields(0, 14, 1, [9, 1, 4]), *record_fields(14, 25, count, [8, 8, 1, 1, 4, 1, 1, 1])]
    yield Format(".egbk3", content["b.egbk3"], binary(third, 14, 25), use_file)
    entries = [book.table.entry(row) for row in range(len(book))]
    second = b"DICUORAGE\x02" + struct.pack("<i", len(entries))
    second += b"".join(struct.pack("<QQbbB", *e[:2], 1, 2, 1) + b"\x01\x13" for e in entries)
    fields = [*record_fields(0, 14, 1, [9, 1, 4]), *record_fields(14, 21, len(entries), [8, 8, 1, 1, 1, 1, 1])]
    yield Format(".egbk2", second, binary(fields, 14, 21), use_file)
    first = struct.pack("<i", len(entries)) + b"".join(struct.pack("<QQB", *e[:2], 63) for e in entries)
    fields = [(0, 4), *record_fields(4, 17, len(entries), [8, 8, 1])]
    yield Format(".egbk", first, binary(fields, 4, 17), use_file)
    yield Format("text book", content["b.txt"], text, use_file)
    yield Format("text book, packed", content["b.txt.xz"], packed(text), use_file)
    yield from games(folder)
    yield from weights(folder)


def games(folder: Path) -> Iterator[Format]:
    """The formats of games and of problems."""
    # Tests of the core use what stands above.
    from desdaemon.clients.gamefiles import wthor

    for extension in formats.BASE_FORMATS:
        path = folder / f"g.{extension}"
        plain = folder / "games.txt"
        plain.write_text(f"{GAME}\n{GAME[:20]}\n")
        found = [game._replace(event="cup", date="2026") for game in bases.read_games(str(plain))]
        bases.write_games(str(path), found)
        spoil = text
        if extension == "wtb":
            spoil = binary(
                [*record_fields(0, 16, 1, [1, 1, 1, 1, 4, 2, 2, 1, 1, 1, 1]), *((at, 1) for at in range(16, 152))],
                16,
                68,
            )
        elif extension == "edx":
            spoil = binary([*((at, size) for size in (1, 2, 8) for at in range(0, 320, size))], 0, 160)
        yield Format(f"games .{extension}", path.read_bytes(), spoil, use_games)
    site = {"variant": "flipello", "players": {"p1": {"user": {"name": "Ann"}}}, "createdAt": 1514505150384}
    moves = " ".join(GAME[at : at + 2] for at in range(0, len(GAME), 2))
    lines = [json.dumps({**site, "moves": moves[:size]}) for size in (99, 20)]
    yield Format("games .ndjson", "\n".join(lines).encode(), text, use_games)
    names = wthor.names_to_bytes(["a", "b"], (2026, 1, 2), wthor.PLAYER_BYTES)
    base = (folder / "g.wtb").read_bytes()

    def use_names(path: Path) -> None:
        beside = path.with_name("n.wtb")
        beside.write_bytes(base)
        path.replace(path.with_name("n.jou"))
        use_games(beside)

    spoil = binary(
        [*record_fields(0, 16, 1, [1, 1, 1, 1, 4, 2, 2, 1, 1, 1, 1]), *((at, 1) for at in range(16, 56))], 16, 20
    )
    yield Format("WTHOR names", names, spoil, use_names)
    line = "-" * 27 + "OX------XO" + "-" * 27 + " X; F5:+18; D3:-2; C4:+0;\n"
    yield Format("problems .obf", 3 * line.encode(), text, use_problems)


def weights(folder: Path) -> Iterator[Format]:
    """The files of weights: Edax's, and our own with a network."""
    head = struct.pack("<8sIIId", b"XADELAVE", 3, 2, 5, 0.0)
    body = bytes(2 * 61 * weights_file.EDAX_WEIGHTS_PER_PLY)
    fields = record_fields(0, 28, 1, [8, 4, 4, 4, 8])
    yield Format("eval.dat", head + body, binary(fields, 28, 2 * weights_file.EDAX_WEIGHTS_PER_PLY), use_weights)
    own = lzma.decompress((Path(weights_file.__file__).parents[1] / "data" / "weights.xz").read_bytes())
    yield Format("weights", own, spoil_weights, use_weights)


def tell(name: str, case: int, result: str) -> None:
    """A line to the parent."""
    sys.stdout.write(f"{name}\t{case}\t{result}\n")
    sys.stdout.flush()


def work(names: list[str], first: int, cases: int) -> None:
    """Read and use cases ``first`` to ``cases`` of some formats; a line for each before it begins, and what came of
    it."""
    # Others take books from this module where there is no such module.
    import resource

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for format in samples(folder):
            if format.name not in names:
                continue
            path = folder / f"case.{format.name.rpartition('.')[2].replace(' ', '')[-5:]}"
            if "packed" in format.name:
                path = folder / "case.txt.xz"
            path.write_bytes(format.sample)
            format.use(path)
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            for case in range(first, cases):
                rng = random.Random(f"{format.name} {case}")
                content = format.spoil(rng, bytearray(format.sample))
                for old in folder.glob("case.*"):
                    old.unlink()
                journal_path(path).unlink(missing_ok=True)
                path.write_bytes(content)
                tell(format.name, case, "begins")
                limit = used + MEMORY_BYTES + 2 * len(content)
                resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
                try:
                    format.use(path)
                    result = "read"
                except REFUSALS as refusal:
                    result = "refused" if "\n" not in str(refusal) else f"refused in lines: {str(refusal)!r}"
                except BaseException:
                    result = traceback.format_exc().replace("\n", " | ").replace("\t", " ")
                resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                tell(format.name, case, result)
            first = 0


def run(cases: int, names: list[str]) -> tuple[dict[str, Counter[str]], list[str]]:
    """How many of ``cases`` cases of each format were read and refused, and a line for each that was neither."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    faults = []
    waiting = list(names)
    first = 0
    environment = os.environ | {"MALLOC_ARENA_MAX": "1"}
    while waiting:
        command = [sys.executable, __file__, "--child", str(first), str(cases), *waiting]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0, env=environment)
        assert child.stdout is not None
        at = result = ""
        while select.select([child.stdout], [], [], CASE_SECONDS)[0]:
            line = child.stdout.readline().decode()
            if not line:
                child.wait(CASE_SECONDS)
                break
            at, number_, result = line.rstrip("\n").split("\t")
            first = int(number_) + 1
            if result in ("read", "refused"):
                counts[at][result] += 1
            elif result != "begins":
                faults.append(f"{at} {number_}: {result}")
        child.kill()
        status = child.wait()
        child.stdout.close()
        if status == 0:
            break
        if result != "begins":
            raise RuntimeError(f"the child ended by itself with {status} after {at} {first - 1}")
        faults.append(f"{at} {first - 1}: ended by {-status}, or killed after {CASE_SECONDS} s")
        waiting = waiting[waiting.index(at) :]
        if first >= cases:
            waiting, first = waiting[1:], 0
    return counts, faults


NAMES = [
    "native book", "journal", "Edax book.dat", ".egbk3", ".egbk2", ".egbk", "text book", "text book, packed",
    *(f"games .{name}" for name in formats.READ_FORMATS), "WTHOR names", "problems .obf", "eval.dat", "weights",
]  # fmt: skip


def main() -> None:
    """See the module."""
    if sys.argv[1:2] == ["--child"]:
        work(sys.argv[4:], int(sys.argv[2]), int(sys.argv[3]))
        return
    cases = int(sys.argv[1]) if sys.argv[1:] else 2000
    counts, faults = run(cases, sys.argv[2:] or NAMES)
    rows = [f"| {name} | {cases} | {found['read']} | {found['refused']} |" for name, found in counts.items()]
    lines = ["| format | mutations | read | refused |", "| --- | --- | --- | --- |", *rows, *faults]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
