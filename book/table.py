"""The positions in memory: records in chunks, an index of segments, 64-bit path counts, and, if any, game results.

A look-up reads one or two cache lines of the index and of the record. Growing adds a chunk or rebuilds one of 1,024
index segments, so it never copies a record and never blocks look-ups for long. Without game results a position takes at
most 47.5 bytes, 7.5 of them in the index. The unused part of the last chunk takes at most 0.6 MiB.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from desdaemon.book.memory.table_memory import MIN_SLOTS, ROW_CAPACITY, SEGMENTS, WIDE_COUNT, TableMemory

from . import passes
from .chunks import CHUNK_ROWS, Bytes, Records, Rows, Words, address, by_chunk, without_counts
from .layout import (
    CHUNK_BITS,
    DENSE_LAYER,
    FILTER_BITS,
    FILTER_BITS_PER_ROW,
    FILTER_BYTES,
    HUMAN,
    INSERTED_KNOWN,
    INSERTED_REASON,
    INSERTED_WORDS,
    MOST_FILTERED,
    NO_SCORE,
    SQUARES,
    WIDE,
    WORD,
)
from .progress import ProgressCallback, no_progress, slices
from .record import COUNTS, RECORD, RESULT, STATE, PositionEntry, Results

_STEP = 1 << 10
"""Most positions that are found, added or removed while the lock is held: of a large table that takes a millisecond, in
which no client looks up.
"""


class Filters:
    """Filters by number of empty squares, with which a pass over a table skips most look-ups of positions outside it.

    If the table has no position with a number of empty squares, all look-ups with this number are skipped. If it has
    few (at most `MOST_FILTERED`, and fewer than `DENSE_LAYER` times those with one empty square more), a look-up is
    skipped when the bit of its hash is unset. Otherwise, and in a new object, none is skipped. `layout` describes the
    words (`FILTER_BITS`, `FILTER_MASK`).
    """

    def __init__(self) -> None:
        self.words: Words = np.zeros((SQUARES, FILTER_BYTES // WORD), np.uint64)
        self.words[:, FILTER_BITS // WORD] = 1
        self.bits: list[Bytes] = []

    @classmethod
    def of_counts(cls, counts: Words) -> Filters:
        """Return filters for these numbers of positions with 0 to 64 empty squares.

        All bits are unset. The caller must set those of all positions (kernels `fill_filters`, `place_rows`) before
        use: without its bit a position in the table is taken for missing.
        """
        filters = cls()
        rows = counts.tolist()
        for empties, (count, parents) in enumerate(itertools.zip_longest(rows, rows[1:], fillvalue=0)):
            if count == 0:
                filters.words[empties] = 0
            elif count <= MOST_FILTERED and count < DENSE_LAYER * parents:
                bits = np.zeros(max(8, 1 << (FILTER_BITS_PER_ROW * count - 1).bit_length()) // 8, np.uint8)
                filters.bits.append(bits)
                filters.words[empties] = address(bits), 8 * len(bits) - 1
        return filters

    @property
    def at(self) -> int:
        """The address of the words, for the kernels."""
        return address(self.words)


class BookTable(TableMemory):
    """A set of canonical positions, each with its record; rows are numbered from 0 without holes.

    One thread at a time may change it or go over all of it; meanwhile any thread may look up (`find`, `entry`,
    `links`). `lock` makes insertions and removals atomic for look-ups, and is held for milliseconds at most. A reader
    must hold it from a look-up that returns a row to the last use of that row. Single fields of records change without
    it. Removals renumber rows; ``removals`` grows by 1 before a removal and by 1 after it.
    """

    whole = True
    """Whether all positions have rows; not so over a packed file."""

    @property
    def positions(self) -> int:
        """Number of positions."""
        return len(self)

    def gathered(self, progress: ProgressCallback = no_progress) -> BookTable:
        """Return a table in memory with all positions and game results, this one if it is `whole`; another one has no
        path counts. Raises `Unreadable`.
        """
        return self

    def context_for(self, rows: npt.NDArray[Any]) -> int:
        """The `context` for a kernel that reads or changes ``rows``, and reads those that they lead to."""
        return self.context

    def held(self, rows: Rows) -> Rows:
        """The rows, ascending, that kernels may be given for the same positions."""
        return rows

    def without(self, marked: npt.NDArray[np.bool_], progress: ProgressCallback = no_progress) -> BookTable:
        """Return a new table of the rows that are not ``marked``, in order, with game results but no path counts."""
        self.need_all()
        made = BookTable()
        made.reserve(len(marked) - int(np.count_nonzero(marked)))
        for start, end in slices(len(self), CHUNK_ROWS, "remove", progress):
            staying = ~marked[start:end]
            length = len(made)
            made.insert_records(without_counts(self.chunk(start >> CHUNK_BITS)[staying]))
            if self._results:
                rows = np.arange(length, len(made), dtype=np.int64)
                made.set_results_of(rows, self._results_in(start >> CHUNK_BITS)[: end - start][staying])
        return made

    # ------------------------------------------------------------------------------------------------ positions

    def _pair(self) -> tuple[Any, int]:
        """Return two words for a kernel's results, which only the calling thread uses, and their address."""
        try:
            made: tuple[Any, int] = self._local.pair
        except AttributeError:
            words = (ctypes.c_uint64 * 2)()
            made = self._local.pair = (words, ctypes.addressof(words))
        return made

    def canonical(self, player: int, opponent: int) -> tuple[int, int, int]:
        """Return the canonical form of a position and the symmetry 0..7 that leads to it (`rules.transform`)."""
        words, place = self._pair()
        symmetry = self._kernels.canonical_of(player, opponent, place)
        return words[0], words[1], symmetry

    def find(self, player: int, opponent: int) -> int:
        """Return the row of a position in any orientation; -1 if it is not in the table. Hold `lock` while you use the
        row, unless yours is the thread that changes the table.
        """
        words, place = self._pair()
        self._kernels.canonical_of(player, opponent, place)
        with self.lock:
            return int(self._kernels.find_row(self._context_at, words[0], words[1]))

    def find_canonical(self, player: int, opponent: int) -> int:
        """Return the row of a canonical position; -1 if it is not in the table. Hold `lock` as `find` says."""
        with self.lock:
            return int(self._kernels.find_row(self._context_at, player, opponent))

    def find_many(self, keys: Words) -> Rows:
        """Return the rows of canonical positions, uint64 (n, 2); -1 for those not in the table."""
        keys = np.ascontiguousarray(keys, np.uint64)
        rows: Rows = np.empty(len(keys), np.int64)
        for start, end in self._turns(len(keys), _STEP):
            places = address(keys) + 16 * start, end - start, address(rows) + 8 * start
            self._kernels.find_rows(self._context_at, *places)
        return rows

    def rows_of(self, records: Records) -> Rows:
        """Return the rows of the canonical positions in ``records``; -1 for those not in the table."""
        keys: Words = np.empty((len(records), 2), np.uint64)
        keys[:, 0], keys[:, 1] = records["player"], records["opponent"]
        return self.find_many(keys)

    def insert(self, player: int, opponent: int) -> tuple[int, bool]:
        """Add a canonical position if it is missing. Returns its row, and whether it is new.

        A new position has no score, level or leaf. Raises `Damaged` in a damaged file.
        """
        with self.lock:
            while True:
                answer = int(self._kernels.insert_row(self._context_at, player, opponent))
                self.sound()
                if answer >= 0:
                    return answer >> 1, bool(answer & 1)
                self.grow(answer)

    def insert_records(self, records: Records, *, overwrite: bool = False) -> int:
        """Add canonical `RECORD`s; none may have the flag `WIDE`. Returns how many positions were in the table already.

        Positions that were in the table keep their data unless ``overwrite``. Raises `Damaged` in a damaged file.
        """
        records = np.ascontiguousarray(records, RECORD)
        out = np.zeros(INSERTED_WORDS, np.int64)
        for start, end in self._turns(len(records), _STEP):
            done = start
            while done < end:
                done = int(
                    self._kernels.insert_records(
                        self._context_at, address(records), done, end, int(overwrite), address(out)
                    )
                )
                self.sound()
                reason = int(out[INSERTED_REASON // WORD])
                if reason:
                    self.grow(reason)
        return int(out[INSERTED_KNOWN // WORD])

    def remove(self, marked: Bytes) -> int:
        """Remove the rows whose byte in ``marked`` is not 0; return their number. Other rows get new numbers.

        Raises `Damaged` in a damaged file, and ValueError if ``marked`` has not a byte for each row.
        """
        if len(marked) != len(self):
            raise ValueError(f"{len(marked)} marks for {len(self)} rows")
        self.check_all()
        marked = np.ascontiguousarray(marked, np.uint8)
        gone = 0
        self.removals += 1
        for start, end in self._turns(len(marked), _STEP, backwards=True):
            gone += int(self._kernels.remove_rows(self._context_at, address(marked), start, end))
        with self.lock:
            needed = -(-len(self) // CHUNK_ROWS)
            del self._chunks[needed:]
            self._drop_results(needed, len(marked))
            self._context[ROW_CAPACITY] = len(self._chunks) * CHUNK_ROWS
        for number, _ in self._turns(SEGMENTS, 1):
            capacity, used = (int(value) for value in self._descriptors[number, 2:])
            if capacity > max(MIN_SLOTS, 2 * used):
                self._resize_segment(number, max(MIN_SLOTS, used * 4 // 3 + 1))
        self.removals += 1
        return gone

    # ------------------------------------------------------------------------------------------------ records

    def chunk(self, number: int) -> Records:
        """Return a chunk's `RECORD`s in use, from row ``number * CHUNK_ROWS`` on; they share the table's memory. Raises
        `Damaged` in a damaged file.
        """
        self.need_all()
        return self._chunk_of(number)[: max(0, len(self) - number * CHUNK_ROWS)]

    def chunks(self) -> Iterator[Records]:
        """Yield all records in order of rows, a chunk at a time."""
        self.need_all()
        for number in range(-(-len(self) // CHUNK_ROWS)):
            yield self.chunk(number)

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return a copy of the records' field ``name`` in order of rows."""
        parts = [chunk[name] for chunk in self.chunks()]
        return np.concatenate(parts) if parts else np.zeros(0, RECORD[name])

    def keys(self) -> Words:
        """Return all positions, uint64 (n, 2), in order of rows."""
        return np.stack([self.column("player"), self.column("opponent")], axis=1)

    def entry(self, row: int) -> PositionEntry:
        """Return the position in a row. Raises IndexError if there is no such row."""
        if not 0 <= row < len(self):
            raise IndexError(f"no row {row} among {len(self)}")
        chunk, place = self._chunks[row >> CHUNK_BITS], row & CHUNK_ROWS - 1
        self._compare(chunk[place : place + 1])
        values = chunk[place].item()
        if values[-1] & WIDE:
            counts = self._wide[values[2]].tolist() if values[2] < len(self._wide) else [0, 0, 0, 0]
            return PositionEntry._make((*values[:2], *counts, *values[6:-1], values[-1] & ~WIDE))
        return PositionEntry(*values)

    def records(self, rows: Rows) -> Records:
        """Return copies of the `RECORD`s of ``rows``, in that order. Raises `Damaged` in a damaged file."""
        copied = np.zeros(len(rows), RECORD)
        for number, here, places in by_chunk(rows):
            copied[here] = self._chunk_of(number)[places]
        return copied

    def set_leaves(self, rows: Rows, moves: Bytes, scores: npt.NDArray[np.int8], levels: npt.NDArray[np.int8]) -> None:
        """Give distinct ``rows`` new leaves, with scores for the side to move; the positions' own scores stay."""
        for number, here, places in by_chunk(rows):
            chunk = self._chunk_of(number)
            for name, values in (("leaf_move", moves), ("leaf_score", scores), ("leaf_level", levels)):
                chunk[name][places] = values[here]

    def forget_scores(self, rows: Rows) -> None:
        """Set scores and bounds of ``rows`` to unknown, except scores set by hand."""
        for number, _, places in by_chunk(rows):
            chunk = self._chunk_of(number)
            places = places[chunk["flags"][places] & HUMAN == 0]
            for name, value in (("score", NO_SCORE), ("lower", NO_SCORE), ("upper", -NO_SCORE)):
                chunk[name][places] = value

    def path_counts(self, number: int, name: str) -> Words:
        """Return the path counts ``name`` ("wins", "draws", "losses", "lines") of the rows of chunk ``number``."""
        chunk = self.chunk(number)
        counts: Words = chunk[name].astype(np.uint64)
        large = np.flatnonzero(chunk["flags"] & WIDE)
        if len(large):
            places = chunk["wins"][large]
            wide = places < len(self._wide)
            counts[large] = 0
            counts[large[wide]] = self._wide[places[wide], COUNTS.index(name)]
        return counts

    def states(self, rows: Rows) -> Records:
        """Return `STATE` records of ``rows``, in that order."""
        copied = np.zeros(len(rows), STATE)
        for number, here, places in by_chunk(rows):
            sources = [self._chunks[number][places]]
            if self._results:
                sources.append(self._results[number][places])
            for source in sources:
                for name in source.dtype.names or ():
                    copied[name][here] = source[name]
        for index in np.flatnonzero(copied["flags"] & WIDE).tolist():
            entry = self.entry(int(rows[index]))
            for name in (*COUNTS, "flags"):
                copied[name][index] = getattr(entry, name)
        return copied

    def write(self, row: int, entry: PositionEntry) -> None:
        """Replace everything but the board in a row's record by the data of ``entry``; its game results stay."""
        with self.lock:
            chunk = self._chunks[row >> CHUNK_BITS]
            place = row & CHUNK_ROWS - 1
            self._ensure(chunk[place : place + 1])
            if max(entry[2:6]) < 1 << 32:
                chunk[place] = (int(chunk[place]["player"]), int(chunk[place]["opponent"]), *entry[2:])
                return
            old = chunk[place]
            if int(old["flags"]) & WIDE:
                slot = int(old["wins"])
            else:
                slot = int(self._context[WIDE_COUNT])
                if slot == len(self._wide):
                    self.grow_wide()
                self._context[WIDE_COUNT] = slot + 1
            self._wide[slot] = entry[2:6]
            keys = (int(old["player"]), int(old["opponent"]))
            chunk[place] = (*keys, slot, 0, 0, 0, *entry[6:13], entry.flags | WIDE)

    def links(self, player: int, opponent: int) -> list[tuple[int, int]]:
        """Return the legal moves on the board, ascending, or the forced pass; each with the row of the position after
        it, -1 if that is not in the table. Hold `lock` while you use the rows (see `find`).
        """
        with self.lock:
            out = self._scratch
            count = self._kernels.list_links(self._context_at, player, opponent, address(out))
            flat = out[: 2 * count].view(np.int64).tolist()
        return list(zip(flat[::2], flat[1::2], strict=True))

    def parents(self, row: int) -> list[int] | None:
        """Return the rows from which a move, or a forced pass, leads to ``row``; None if they are too many to list."""
        out = np.empty(4096, np.int64)
        with self.lock:
            count = int(self._kernels.list_parents(self._context_at, row, address(out), len(out)))
        return sorted(set(out[:count].tolist())) if count >= 0 else None

    def kinds(self, progress: ProgressCallback = no_progress) -> Bytes:
        """Return a byte for each row: `MUST_PASS`, `FINISHED`, `OTHER_PASSES`, or 0 if both sides have moves."""
        self.need_all()
        passes.await_kernels(progress)
        kinds = np.empty(len(self), np.uint8)
        for start, end in slices(len(self), CHUNK_ROWS, "passes", progress):
            passes.kernels().list_kinds(self.context, start, end, address(kinds) + start)
        return kinds

    def by_empties(self, progress: ProgressCallback = no_progress) -> Words:
        """Return the numbers of positions with 0..64 empty squares."""
        self.need_all()
        passes.await_kernels(progress)
        counts: Words = np.zeros(SQUARES, np.uint64)
        for start, end in slices(len(self), CHUNK_ROWS, "count", progress):
            passes.kernels().count_empties(self.context, start, end, address(counts))
        return counts

    def bare_filters(self, counts: Words, progress: ProgressCallback = no_progress) -> Filters:
        """Return filters with all bits unset: before use the caller must set those of all positions
        (`Filters.of_counts`).

        ``counts`` are what `by_empties` returns. Verifies a mapped file and gathers the index (`gather_index`); raises
        `Damaged` in a damaged file.
        """
        self.check_all(progress)
        self.gather_index()
        return Filters.of_counts(counts)

    def filters(self, progress: ProgressCallback = no_progress) -> Filters:
        """Return filters for passes over the whole table, valid until a position is added or removed.

        Verifies a mapped file; raises `Damaged` if it is damaged.
        """
        self.check_all(progress)
        filled = self.bare_filters(self.by_empties(progress), progress)
        if filled.bits:
            for start, end in slices(len(self), CHUNK_ROWS, "filter", progress):
                passes.kernels().fill_filters(self.context, start, end, filled.at)
        return filled

    def insert_children(self, start: int, end: int, progress: ProgressCallback = no_progress) -> None:
        """Add the positions after every legal move, or the forced pass, of the rows from ``start`` to ``end`` - 1."""
        reason = np.zeros(1, np.int64)
        for first, last in self._turns(end - start, _STEP):
            row = start + first
            while row < start + last:
                row = int(self._kernels.insert_children(self.context, row, start + last, address(reason)))
                if reason[0]:
                    self.grow(int(reason[0]))
            progress("add", row, end)

    # ------------------------------------------------------------------------------------------------ rules

    def moves(self, player: int, opponent: int) -> int:
        """Return a mask of the legal moves of ``player``."""
        return int(self._kernels.board_moves_of(player, opponent))

    def play(self, player: int, opponent: int, move: int) -> tuple[int, int]:
        """Return the position after a legal move or a pass, seen from the other side, in the same orientation."""
        if move > 63:
            return opponent, player
        flips = self._kernels.board_flips_of(move, player, opponent)
        return opponent ^ flips, player | flips | 1 << move

    # ------------------------------------------------------------------------------------------------ results

    def results(self, row: int) -> Results:
        """Return the games won, drawn and lost by the side to move in a row's position, as weights
        (`desdaemon.book.editing.game_results`); zeros if the table has no results, and for row -1.
        """
        if not self._results or row < 0:
            return Results()
        place = row & CHUNK_ROWS - 1
        result = self._results[row >> CHUNK_BITS][place : place + 1]
        self._compare(result)
        return Results(*result[0].item())

    def results_of(self, rows: Rows) -> Records:
        """Return copies of the `RESULT` records of ``rows``, in that order."""
        results = np.zeros(len(rows), RESULT)
        if self._results:
            for number, here, places in by_chunk(rows):
                self._compare(self._results[number])
                results[here] = self._results[number][places]
        return results

    def set_results_of(self, rows: Rows, results: Records) -> None:
        """Store `RESULT` records for ``rows``, which are distinct."""
        self._keep_results()
        for number, here, places in by_chunk(rows):
            self._results_in(number)[places] = results[here]

    def replay(
        self, player: int, opponent: int, moves: bytes, least_empties: int = 0
    ) -> tuple[npt.NDArray[np.uint64], int | None]:
        """Return the canonical positions of a game, uint64 (n, 2), and the number (from 0) of an illegal move or None.

        ``moves`` are squares 0..63, or 64 for a pass, which may be left out. The positions are those with at least
        ``least_empties`` empties, the start and those of forced passes included. The game ends before an illegal move.
        """
        out = np.empty((len(moves) * 2 + 2, 2), np.uint64)
        played = np.frombuffer(moves, np.uint8)
        written = np.zeros(1, np.int64)
        illegal = int(
            self._kernels.replay_game(
                player, opponent, address(played), len(moves), address(out), least_empties, address(written)
            )
        )
        return out[: int(written[0])], illegal if illegal >= 0 else None
