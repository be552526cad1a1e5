"""Egaroucid's book files: .egbk3 byte for byte, .egbk2 and .egbk to read.

Both programs' canonical boards are the same pair of integers (their numberings of the squares differ by half a turn,
one of the symmetries), so boards and moves are copied as they are. Egaroucid has no positions with a forced pass:
the position after the pass stands for them. In memory they are there, as in Edax: `read` adds those that a position of
the book leads to, `write` leaves them out.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .book import OPEN, Book
from .errors import Unreadable, WriteFailed
from .files import replacing
from .links import Order, reach
from .native import kernels
from .options import Options, Rule
from .record import HUMAN, HUMAN_LEVEL, MAX_LEVEL, NO_LEVEL, NO_MOVE, NO_SCORE, PASS, RECORD, WIDE, Entry
from .table import CHUNK_ROWS, FINISHED, MUST_PASS, OTHER_PASSES, Records, Table, address

MAGIC = b"DICUORAGE"
UNDEFINED_SCORE = -126
UNDEFINED_MOVE = 125
MAX_LINES = 4_000_000_000

_HEADER = struct.Struct("<9sBi")
_RECORD3 = np.dtype(
    [
        ("player", "<u8"),
        ("opponent", "<u8"),
        ("score", "i1"),
        ("level", "i1"),
        ("lines", "<u4"),
        ("leaf_score", "i1"),
        ("leaf_move", "u1"),
        ("leaf_level", "i1"),
    ]
)
_RECORD1 = np.dtype([("player", "<u8"), ("opponent", "<u8"), ("raw", "u1")])
_SLICE = 1 << 16


class Loaded(NamedTuple):
    """A book from Egaroucid's file; ``passes`` positions with a forced pass were added, ``duplicates`` merged."""

    book: Book
    passes: int
    duplicates: int


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(path, None, error.strerror or str(error)) from None


def _first(path: Path, bad: npt.NDArray[np.bool_], start: int, size: int, field: int, problem: str) -> None:
    """Raise Unreadable for the first record that is bad; ``field`` is the byte in it."""
    found = np.flatnonzero(bad)
    if len(found):
        number = int(found[0])
        raise Unreadable(path, start + number * size + field, f"position {number + 1}: {problem}")


def _check_boards(path: Path, records: npt.NDArray[Any], start: int, *, canonical: bool) -> Records:
    """The records' boards as `RECORD`s, canonical. Raises Unreadable."""
    size = records.dtype.itemsize
    player, opponent = records["player"], records["opponent"]
    _first(path, (player & opponent) != 0, start, size, 0, "a square holds discs of both sides")
    centre = np.uint64(0x0000001818000000)
    _first(path, ((player | opponent) & centre) != centre, start, size, 0, "a centre square is empty")
    made = np.zeros(len(records), RECORD)
    made["player"], made["opponent"] = player, opponent
    if len(made):
        kernels().canonicalise(address(made), len(made), RECORD.itemsize)
    if canonical:
        moved = (made["player"] != player) | (made["opponent"] != opponent)
        _first(path, moved, start, size, 0, "the board is not the representative one of its eight images")
    made["lower"], made["upper"] = made["score"], made["score"]
    made["leaf_move"], made["leaf_score"], made["leaf_level"] = NO_MOVE, NO_SCORE, NO_LEVEL
    return made


def _check_scores(path: Path, records: npt.NDArray[Any], start: int) -> None:
    size = records.dtype.itemsize
    score, level = records["score"], records["level"]
    _first(path, (score < -64) | (score > 64), start, size, 16, "the value is not -64..64")
    bad = ((level < NO_LEVEL) | (level > MAX_LEVEL)) & (level != HUMAN_LEVEL)
    _first(path, bad, start, size, 17, f"the level is not -1..{MAX_LEVEL} or {HUMAN_LEVEL}")


def _merge_twins(table: Table, made: Records) -> int:
    """Give repeated positions the value of the higher level, and the leaf of the higher, the later one if equal."""
    rows = table.find_many(np.stack([made["player"], made["opponent"]], axis=1))
    first = np.zeros(len(table), bool)
    twins = 0
    for number in range(len(made)):
        row = int(rows[number])
        if not first[row]:
            first[row] = True
            continue
        twins += 1
        old, new = table.entry(row), Entry(*made[number].item())
        if new.level >= old.level:
            old = old._replace(score=new.score, lower=new.lower, upper=new.upper, level=new.level, lines=new.lines)
        if new.leaf_level >= old.leaf_level:
            old = old._replace(leaf_move=new.leaf_move, leaf_score=new.leaf_score, leaf_level=new.leaf_level)
        table.write(row, old)
    return twins


def _add_passes(table: Table) -> int:
    """Add the forced passes between two positions; answers how many."""
    before = len(table)
    for row in np.flatnonzero(table.kinds() == OTHER_PASSES).tolist():
        entry = table.entry(row)
        p, o, _ = table.canonical(entry.opponent, entry.player)
        place, new = table.insert(p, o)
        if new:
            score = -entry.score
            flags = entry.flags & HUMAN
            passing = Entry(p, o, 0, 0, 0, entry.lines, score, score, score, entry.level, flags=flags)
            table.write(place, passing)
    if len(table) == before:
        return 0
    marks = reach(table, dict.fromkeys(range(before), 1))
    unreached = marks == 0
    table.remove(unreached.astype(np.uint8))
    return len(table) - before


def _finish(path: Path, made: Records, level: int | None = None) -> Loaded:
    table = Table()
    table.reserve(len(made))
    made["flags"] = np.where(made["level"] == HUMAN_LEVEL, HUMAN, 0)
    duplicates = table.insert_records(made)
    if duplicates:
        duplicates = _merge_twins(table, made)
    passes = _add_passes(table)
    levels = made["level"][(made["level"] >= 0) & (made["level"] <= MAX_LEVEL)]
    empties = 64 - np.bitwise_count(made["player"] | made["opponent"])
    options = Options(
        level=level if level is not None else int(levels.max()) if len(levels) else Options().level,
        min_empties=int(empties.min()) if len(empties) else Options().min_empties,
        rule=Rule.EGAROUCID,
    )
    return Loaded(Book(options, table), passes, duplicates)


def _read3(path: Path, data: bytes, count: int) -> Loaded:
    expected = _HEADER.size + count * _RECORD3.itemsize
    if len(data) != expected:
        raise Unreadable(
            path,
            min(len(data), expected),
            f"the header says {count} positions, which take {expected} bytes; the file has {len(data)}",
        )
    records = np.frombuffer(data, _RECORD3, count, _HEADER.size)
    made = _check_boards(path, records, _HEADER.size, canonical=True)
    _check_scores(path, records, _HEADER.size)
    size = _RECORD3.itemsize
    score, move, level = records["leaf_score"], records["leaf_move"], records["leaf_level"]
    _first(path, (move > NO_MOVE) & (move != UNDEFINED_MOVE), _HEADER.size, size, 23, "the leaf's move is not a move")
    bad = (score < -64) & (score != UNDEFINED_SCORE) | (score > 64)
    _first(path, bad, _HEADER.size, size, 22, "the leaf's value is not -64..64")
    bad = ((level < NO_LEVEL) | (level > MAX_LEVEL)) & (level != HUMAN_LEVEL)
    _first(path, bad, _HEADER.size, size, 24, "the leaf's level is out of range")
    for name in ("score", "level", "lines", "leaf_score", "leaf_move", "leaf_level"):
        made[name] = records[name]
    made["lower"], made["upper"] = records["score"], records["score"]
    return _finish(path, made)


def _walk2(data: bytes, count: int, width: int) -> list[int] | None:
    """Where each record begins when the number of links has ``width`` bytes; None when that does not fit."""
    at, places = _HEADER.size, []
    for _ in range(count):
        if at + 18 + width > len(data):
            return None
        places.append(at)
        at += 18 + width + 2 * int.from_bytes(data[at + 18 : at + 18 + width], "little")
    return places if at == len(data) else None


def _read2(path: Path, data: bytes, count: int) -> Loaded:
    places = _walk2(data, count, 1) or _walk2(data, count, 4)
    if places is None:
        if count == 0 and len(data) == _HEADER.size:
            places = []
        else:
            raise Unreadable(path, len(data), f"the records do not fit {count} positions in {len(data)} bytes")
    fixed = np.dtype([("player", "<u8"), ("opponent", "<u8"), ("score", "i1"), ("level", "i1")])
    records = np.frombuffer(b"".join(data[at : at + 18] for at in places), fixed)
    try:
        made = _check_boards(path, records, 0, canonical=False)
        _check_scores(path, records, 0)
    except Unreadable as error:
        number, field = divmod(error.offset or 0, 18)
        raise Unreadable(path, places[number] + field, error.problem) from None
    for name in ("score", "level"):
        made[name] = records[name]
    made["lower"], made["upper"] = records["score"], records["score"]
    return _finish(path, made)


def _read1(path: Path, data: bytes, level: int) -> Loaded:
    count = struct.unpack_from("<i", data)[0] if len(data) >= 4 else -1
    if count < 0 or len(data) != 4 + count * _RECORD1.itemsize:
        raise Unreadable(path, 0, "not a book of Egaroucid: no magic, and not a count with 17 bytes for each position")
    records = np.frombuffer(data, _RECORD1, count, 4)
    made = _check_boards(path, records, 4, canonical=False)
    _first(path, records["raw"] > 128, 4, _RECORD1.itemsize, 16, "the value is not 0..128")
    # The stored value is that of the side that has just moved.
    made["score"] = 64 - records["raw"].astype(np.int16)
    made["lower"], made["upper"] = made["score"], made["score"]
    made["level"] = level
    return _finish(path, made, level)


def read(path: Path, *, level: int = 1) -> Loaded:
    """Read a book of any of Egaroucid's formats; ``level`` is given to the positions of the oldest, which has none.

    The book gets Egaroucid's `Rule`. Raises Unreadable.
    """
    data = _content(path)
    if not data.startswith(MAGIC):
        return _read1(path, data, level)
    if len(data) < _HEADER.size:
        raise Unreadable(path, len(data), f"the file ends inside the header of {_HEADER.size} bytes")
    _, version, count = _HEADER.unpack_from(data)
    if count < 0:
        raise Unreadable(path, 10, f"the number of positions is {count}")
    if version == 3:
        return _read3(path, data, count)
    if version == 2:
        return _read2(path, data, count)
    raise Unreadable(path, 9, f"an Egaroucid book of version {version}; 2 and 3 can be read")


def line_counts(book: Book) -> npt.NDArray[np.uint64]:
    """Egaroucid's line count of every row: 1 + the sum over the links, at most 4,000,000,000."""
    order = Order(book.table)
    counts = np.zeros(len(book), np.uint64)
    for first, last in order.layers():
        for start in range(first, last, _SLICE):
            kernels().count_positions(
                book.table.context, address(order.rows), start, min(last, start + _SLICE), address(counts)
            )
    return np.minimum(counts, MAX_LINES)


def _after_passes(table: Table, rows: list[int]) -> Iterator[tuple[int, ...]]:
    """Records for the positions after forced passes that are not in the book themselves."""
    for row in rows:
        entry = table.entry(row)
        p, o, _ = table.canonical(entry.opponent, entry.player)
        if table.find_canonical(p, o) < 0:
            yield p, o, -entry.score, entry.level, 1, UNDEFINED_SCORE, UNDEFINED_MOVE, NO_LEVEL


def write(path: Path, book: Book) -> int:
    """Write a .egbk3; answers the number of positions.

    Positions with a forced pass are left out; where the one after the pass is missing it takes their place, with the
    sign changed. Finished games get level 60. Leaves and line counts of a book with Egaroucid's `Rule` are written
    as they are, others' in Egaroucid's sense. Raises WriteFailed when a position has no score.
    """
    table = book.table
    own = book.options.rule is Rule.EGAROUCID
    kinds = table.kinds()
    counts = None if own else line_counts(book)
    made = np.zeros(len(book), _RECORD3)
    for number, chunk in enumerate(table.chunks()):
        part = made[number * CHUNK_ROWS :][: len(chunk)]
        for name in ("player", "opponent", "score", "level", "leaf_score", "leaf_move", "leaf_level"):
            part[name] = chunk[name]
        part["lines"] = np.minimum(chunk["lines"], MAX_LINES)
        for row in np.flatnonzero(chunk["flags"] & WIDE).tolist():
            part["lines"][row] = min(table.entry(number * CHUNK_ROWS + row).lines, MAX_LINES)
    if ((made["score"] < -64) | (made["score"] > 64)).any():
        raise WriteFailed(f"{path}: a position has no score; complete the book first")
    unset = made["leaf_score"] == NO_SCORE
    if counts is not None:
        made["lines"] = counts
        unset |= (made["leaf_move"] >= PASS) | (made["leaf_score"] < -64)
        made["level"] = np.where(kinds == FINISHED, np.maximum(made["level"], MAX_LEVEL), made["level"])
    unset &= kinds != MUST_PASS
    # A position without a leaf has a move outside the book, unless all of them are links or the game is over.
    exits = np.zeros(len(book), bool)
    exits[[fault.row for fault in book.faults() if fault.kind == OPEN]] = True
    made["leaf_score"][unset] = UNDEFINED_SCORE
    made["leaf_move"][unset] = np.where(exits & (kinds != FINISHED), UNDEFINED_MOVE, NO_MOVE)[unset]
    made["leaf_level"][unset] = NO_LEVEL
    passing = np.flatnonzero(kinds == MUST_PASS)
    records = np.concatenate(
        [made[kinds != MUST_PASS], np.array(list(_after_passes(table, passing.tolist())), _RECORD3)]
    )
    with replacing(path) as stream:
        stream.write(_HEADER.pack(MAGIC, 3, len(records)))
        stream.write(records.data)
    return len(records)
