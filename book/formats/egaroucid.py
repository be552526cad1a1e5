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

from desdaemon.book.book import OPEN, Book
from desdaemon.book.chunks import CHUNK_ROWS, Bytes, Records, address
from desdaemon.book.compiled import kernels
from desdaemon.book.errors import Unreadable, WriteFailed
from desdaemon.book.negamax import Order
from desdaemon.book.options import Options, Rule
from desdaemon.book.progress import Going, silent, slices
from desdaemon.book.record import HUMAN, HUMAN_LEVEL, MAX_LEVEL, NO_LEVEL, NO_MOVE, NO_SCORE, PASS, RECORD, Entry
from desdaemon.book.storage.files import content, replacing
from desdaemon.book.table import FINISHED, MUST_PASS, OTHER_PASSES, Table

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
_STEP = 1 << 10


class Loaded(NamedTuple):
    """A book from Egaroucid's file; ``passes`` positions with a forced pass were added, ``duplicates`` merged."""

    book: Book
    passes: int
    duplicates: int


class _Part(NamedTuple):
    """Records of a file, ``size`` bytes each, from number ``first`` (0..) on; number 0 is at byte ``start``."""

    path: Path
    records: npt.NDArray[Any]
    start: int
    first: int = 0

    def refuse(self, bad: npt.NDArray[np.bool_], field: int, problem: str) -> None:
        """Raise Unreadable for the first record that is bad; ``field`` is the byte in it."""
        found = np.flatnonzero(bad)
        if len(found):
            number = self.first + int(found[0])
            place = self.start + number * self.records.dtype.itemsize + field
            raise Unreadable(self.path, place, f"position {number + 1}: {problem}")

    def boards(self, *, canonical: bool) -> Records:
        """The records' boards as `RECORD`s, canonical. Raises Unreadable."""
        player, opponent = self.records["player"], self.records["opponent"]
        self.refuse((player & opponent) != 0, 0, "a square holds discs of both sides")
        centre = np.uint64(0x0000001818000000)
        self.refuse(((player | opponent) & centre) != centre, 0, "a centre square is empty")
        made = np.zeros(len(self.records), RECORD)
        made["player"], made["opponent"] = player, opponent
        if len(made):
            kernels().canonicalise(address(made), len(made), RECORD.itemsize)
        if canonical:
            moved = (made["player"] != player) | (made["opponent"] != opponent)
            self.refuse(moved, 0, "the board is not the representative one of its eight images")
        made["leaf_move"], made["leaf_score"], made["leaf_level"] = NO_MOVE, NO_SCORE, NO_LEVEL
        return made

    def scored(self, *, canonical: bool) -> Records:
        """The same with the values and levels that follow the boards. Raises Unreadable."""
        made = self.boards(canonical=canonical)
        score, level = self.records["score"], self.records["level"]
        self.refuse((score < -64) | (score > 64), 16, "the value is not -64..64")
        bad = ((level < NO_LEVEL) | (level > MAX_LEVEL)) & (level != HUMAN_LEVEL)
        self.refuse(bad, 17, f"the level is not -1..{MAX_LEVEL} or {HUMAN_LEVEL}")
        made["score"], made["lower"], made["upper"], made["level"] = score, score, score, level
        return made


def _merge_twins(table: Table, made: Records) -> int:
    """Give repeated positions the value of the higher level, and the leaf of the higher, the later one if equal."""
    rows = table.rows_of(made)
    repeated = np.ones(len(made), bool)
    repeated[np.unique(rows, return_index=True)[1]] = False
    for number in np.flatnonzero(repeated).tolist():
        row = int(rows[number])
        old, new = table.entry(row), Entry(*made[number].item())
        if new.level >= old.level:
            old = old._replace(score=new.score, lower=new.lower, upper=new.upper, level=new.level, lines=new.lines)
        if new.leaf_level >= old.leaf_level:
            old = old._replace(leaf_move=new.leaf_move, leaf_score=new.leaf_score, leaf_level=new.leaf_level)
        table.write(row, old)
    return int(np.count_nonzero(repeated))


def _add_passes(table: Table, going: Going) -> int:
    """Add the forced passes between two positions; answers how many."""
    before = len(table)
    for number, row in enumerate(np.flatnonzero(table.kinds(going) == OTHER_PASSES).tolist()):
        entry = table.entry(row)
        p, o, _ = table.canonical(entry.opponent, entry.player)
        place, new = table.insert(p, o)
        if new:
            score = -entry.score
            flags = entry.flags & HUMAN
            passing = Entry(p, o, 0, 0, 0, entry.lines, score, score, score, entry.level, flags=flags)
            table.write(place, passing)
            if table.parents(place) == []:
                # Nothing leads there; the last row is gone with no other one moving.
                table.remove(np.arange(len(table)) == place)
        if number % _STEP == 0:
            going("passes", number, 0)
    return len(table) - before


def _finish(made: Records, going: Going, level: int | None = None) -> Loaded:
    table = Table()
    table.reserve(len(made))
    made["flags"] = np.where(made["level"] == HUMAN_LEVEL, HUMAN, 0)
    duplicates = 0
    for start, end in slices(len(made), _SLICE, "load", going):
        duplicates += table.insert_records(made[start:end])
    if duplicates:
        duplicates = _merge_twins(table, made)
    passes = _add_passes(table, going)
    levels = made["level"][(made["level"] >= 0) & (made["level"] <= MAX_LEVEL)]
    empties = 64 - np.bitwise_count(made["player"] | made["opponent"])
    options = Options(
        level=level if level is not None else int(levels.max()) if len(levels) else Options().level,
        min_empties=int(empties.min()) if len(empties) else Options().min_empties,
        rule=Rule.EGAROUCID,
    )
    return Loaded(Book(options, table), passes, duplicates)


def _read3(path: Path, data: Bytes, count: int, going: Going) -> Loaded:
    start = _HEADER.size
    expected = start + count * _RECORD3.itemsize
    if len(data) != expected:
        raise Unreadable(
            path,
            min(len(data), expected),
            f"the header says {count} positions, which take {expected} bytes; the file has {len(data)}",
        )
    made = np.empty(count, RECORD)
    for first, last in slices(count, _SLICE, "check", going):
        records = np.frombuffer(data, _RECORD3, last - first, start + first * _RECORD3.itemsize)
        part = _Part(path, records, start, first)
        made[first:last] = part.scored(canonical=True)
        score, move, level = records["leaf_score"], records["leaf_move"], records["leaf_level"]
        part.refuse((move > NO_MOVE) & (move != UNDEFINED_MOVE), 23, "the leaf's move is not a move")
        part.refuse((score < -64) & (score != UNDEFINED_SCORE) | (score > 64), 22, "the leaf's value is not -64..64")
        bad = ((level < NO_LEVEL) | (level > MAX_LEVEL)) & (level != HUMAN_LEVEL)
        part.refuse(bad, 24, "the leaf's level is out of range")
        for name in ("lines", "leaf_score", "leaf_move", "leaf_level"):
            made[name][first:last] = records[name]
    return _finish(made, going)


def _walk2(data: bytes, count: int, width: int) -> list[int] | None:
    """Where each record begins when the number of links has ``width`` bytes; None when that does not fit."""
    at, places = _HEADER.size, []
    for _ in range(count):
        if at + 18 + width > len(data):
            return None
        places.append(at)
        at += 18 + width + 2 * int.from_bytes(data[at + 18 : at + 18 + width], "little")
    return places if at == len(data) else None


def _read2(path: Path, data: bytes, count: int, going: Going) -> Loaded:
    places = _walk2(data, count, 1)
    if places is None:
        places = _walk2(data, count, 4)
    if places is None:
        raise Unreadable(path, len(data), f"the records do not fit {count} positions in {len(data)} bytes")
    fixed = np.dtype([("player", "<u8"), ("opponent", "<u8"), ("score", "i1"), ("level", "i1")])
    records = np.frombuffer(b"".join(data[at : at + 18] for at in places), fixed)
    try:
        made = _Part(path, records, 0).scored(canonical=False)
    except Unreadable as error:
        number, field = divmod(error.offset or 0, 18)
        raise Unreadable(path, places[number] + field, error.problem) from None
    return _finish(made, going)


def _read1(path: Path, data: Bytes, level: int, going: Going) -> Loaded:
    count = struct.unpack_from("<i", data.data)[0] if len(data) >= 4 else -1
    if count < 0 or len(data) != 4 + count * _RECORD1.itemsize:
        raise Unreadable(path, 0, "not a book of Egaroucid: no magic, and not a count with 17 bytes for each position")
    made = np.empty(count, RECORD)
    for first, last in slices(count, _SLICE, "check", going):
        records = np.frombuffer(data, _RECORD1, last - first, 4 + first * _RECORD1.itemsize)
        part = _Part(path, records, 4, first)
        made[first:last] = part.boards(canonical=False)
        part.refuse(records["raw"] > 128, 16, "the value is not 0..128")
        # The stored value is that of the side that has just moved.
        score = 64 - records["raw"].astype(np.int16)
        for name in ("score", "lower", "upper"):
            made[name][first:last] = score
    made["level"] = level
    return _finish(made, going, level)


def read(path: Path, *, level: int = 1, going: Going = silent) -> Loaded:
    """Read a book of any of Egaroucid's formats; ``level`` is given to the positions of the oldest, which has none.

    The book gets Egaroucid's `Rule`. Raises Unreadable.
    """
    data = content(path, going)
    if data[: len(MAGIC)].tobytes() != MAGIC:
        return _read1(path, data, level, going)
    if len(data) < _HEADER.size:
        raise Unreadable(path, len(data), f"the file ends inside the header of {_HEADER.size} bytes")
    _, version, count = _HEADER.unpack_from(data.data)
    if count < 0:
        raise Unreadable(path, 10, f"the number of positions is {count}")
    if version == 3:
        return _read3(path, data, count, going)
    if version == 2:
        return _read2(path, data.tobytes(), count, going)
    raise Unreadable(path, 9, f"an Egaroucid book of version {version}; 2 and 3 can be read")


def line_counts(book: Book, going: Going = silent) -> npt.NDArray[np.uint64]:
    """Egaroucid's line count of every row: 1 + the sum over the links, at most 4,000,000,000."""
    order, empties = Order(book.table, going), book.table.by_empties(going)
    counts = np.zeros(len(book), np.uint64)
    # All children of a position come before it.
    for start, end in slices(len(order), _SLICE, "lines", going):
        kernels().count_positions(
            book.table.context, address(order.rows), start, end, address(counts), address(empties)
        )
    return np.minimum(counts, MAX_LINES)


def _after_passes(table: Table, rows: list[int]) -> Iterator[tuple[int, ...]]:
    """Records for the positions after forced passes that are not in the book themselves."""
    for row in rows:
        entry = table.entry(row)
        p, o, _ = table.canonical(entry.opponent, entry.player)
        if table.find_canonical(p, o) < 0:
            yield p, o, -entry.score, entry.level, 1, UNDEFINED_SCORE, UNDEFINED_MOVE, NO_LEVEL


def write(path: Path, book: Book, going: Going = silent) -> int:
    """Write a .egbk3; answers the number of positions.

    Positions with a forced pass are left out; where the one after the pass is missing it takes their place, with the
    sign changed. Finished games get level 60. Leaves and line counts of a book with Egaroucid's `Rule` are written
    as they are, others' in Egaroucid's sense. Raises WriteFailed when a position has no score.
    """
    table = book.table
    own = book.options.rule is Rule.EGAROUCID
    kinds = table.kinds(going)
    counts = None if own else line_counts(book, going)
    # A position without a leaf has a move outside the book, unless all of them are links or the game is over.
    exits = np.zeros(len(book), bool)
    for faults in book.scan_faults(going):
        exits[faults[faults[:, 1] == OPEN, 0]] = True
    exits &= kinds != FINISHED
    written = 0
    with replacing(path) as stream:
        stream.write(_HEADER.pack(MAGIC, 3, 0))
        for number, chunk in enumerate(table.chunks()):
            here = slice(number * CHUNK_ROWS, number * CHUNK_ROWS + len(chunk))
            if ((chunk["score"] < -64) | (chunk["score"] > 64)).any():
                raise WriteFailed(f"{path}: a position has no score; complete the book first")
            made = np.zeros(len(chunk), _RECORD3)
            for name in ("player", "opponent", "score", "level", "leaf_score", "leaf_move", "leaf_level"):
                made[name] = chunk[name]
            unset = chunk["leaf_score"] == NO_SCORE
            if counts is None:
                made["lines"] = np.minimum(table.path_counts(number, "lines"), MAX_LINES)
            else:
                made["lines"] = counts[here]
                unset |= (chunk["leaf_move"] >= PASS) | (chunk["leaf_score"] < -64)
                made["level"][kinds[here] == FINISHED] = np.maximum(made["level"][kinds[here] == FINISHED], MAX_LEVEL)
            made["leaf_score"][unset] = UNDEFINED_SCORE
            made["leaf_move"][unset] = np.where(exits[here], UNDEFINED_MOVE, NO_MOVE)[unset]
            made["leaf_level"][unset] = NO_LEVEL
            passing = kinds[here] == MUST_PASS
            after = np.array(list(_after_passes(table, (np.flatnonzero(passing) + here.start).tolist())), _RECORD3)
            for records in (made[~passing], after):
                stream.write(records.data)
                written += len(records)
            going("write", here.stop, len(book))
        stream.seek(0)
        stream.write(_HEADER.pack(MAGIC, 3, written))
    return written
