"""A book: its table and options, and the elementary operations on positions.

Whoever has to know about changes (the store that writes them down) sets `Book.recorder`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from .edax import Links
from .errors import within
from .links import Progress, negamax, negamax_from
from .native import kernels
from .options import Options
from .record import FLAGS_KEPT, HUMAN, HUMAN_LEVEL, PASS, Entry, mirror_move, unmirror_move
from .table import Floats, Records, Table, Words, address

Evaluate = Callable[[int, int, int, int], "tuple[int, int] | None"]
"""A search: (player, opponent, level, mask of moves not to be tried) -> (move, score in discs seen from the side to
move), or None when it was stopped before its end. It is asked only for positions with a move outside the mask, must
give the same answer for the same question, and is called from several threads at once."""

Question = tuple[int, int, int, int]
"""What a search was asked: (player, opponent, level, excluded)."""

_SLICE = 1 << 15
_WHOLE = 50
"""A negamax goes over the whole book when more than one in so many positions was changed."""


class Fault(NamedTuple):
    """A row whose leaf is not what it should be."""

    row: int
    kind: int


OPEN = 1
"""There is no leaf though a legal move leads out of the book, or a finished game has no score."""

LINKED = 2
"""The leaf's move leads into the book."""

ILLEGAL = 3
"""The leaf is not a legal move."""

SURPLUS = 4
"""A score without a move in a position that is not finished."""


class Recorder(Protocol):
    """Asked before every change of a book, and told of it."""

    def allow(self) -> None:
        """Raise ReadOnly when the book must not change."""

    def changed(self, row: int) -> None:
        """The position in ``row`` is new or different."""

    def removed(self, keys: Words) -> None:
        """These positions, of shape (n, 2), are about to go; rows will be renumbered."""

    def remembered(self, question: Question, answer: tuple[int, int]) -> None:
        """A search was done whose result is not in any position yet."""

    def forgotten(self) -> None:
        """The remembered searches are of no use any more."""

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """While it is held, changes are not written: afterwards they are, all or none."""

    def fixed(self) -> None:
        """Scores, bounds and counts of all positions were recomputed from the leaves."""

    def options_changed(self, options: Options) -> None:
        """The options are now these."""


class Move(NamedTuple):
    """A move that the book knows in some position, with its score seen from the side to move there.

    ``row`` is the position it leads to, -1 for the leaf.
    """

    move: int
    score: int
    row: int

    @property
    def linked(self) -> bool:
        """Whether the move leads into the book."""
        return self.row >= 0


def final_score(player: int, opponent: int) -> int:
    """The score of a finished game for ``player``; the empties go to the winner."""
    own, other = player.bit_count(), opponent.bit_count()
    empties = 64 - own - other
    return own - other + (empties if own > other else -empties if own < other else 0)


class Book:
    """Positions and options, with no file. One thread at a time may change it; look-ups may run beside."""

    def __init__(self, options: Options | None = None, table: Table | None = None, links: Links | None = None) -> None:
        self.table = table or Table()
        self._options = options or Options()
        self.file_links = links
        self.recorder: Recorder | None = None
        self._touched: set[int] | None = None
        self._unchecked: set[int] | None = None
        self.memo: dict[Question, tuple[int, int]] = {}
        """Searches done for a command that was stopped before it could use them."""

    def __len__(self) -> int:
        return len(self.table)

    @property
    def options(self) -> Options:
        """The options; set them as a whole."""
        return self._options

    @options.setter
    def options(self, options: Options) -> None:
        if options != self._options:
            self._begin_change()
            if options[2:] != self._options[2:]:
                self.forget_state()
            self._options = options
            if self.recorder is not None:
                self.recorder.options_changed(options)

    # ------------------------------------------------------------------------------------------------ looking

    def entry(self, player: int, opponent: int) -> Entry | None:
        """The entry of a position in any orientation; its moves are those of the canonical board."""
        with self.table.lock:
            row = self.table.find(player, opponent)
            return self.table.entry(row) if row >= 0 else None

    def known_moves(self, entry: Entry) -> list[Move]:
        """The links and the leaf of an entry, best first, then by move; scores of links are the children's."""
        table = self.table
        with table.lock:
            found = [
                Move(move, -table.entry(row).score, row)
                for move, row in table.links(entry.player, entry.opponent)
                if row >= 0
            ]
        linked = {known.move for known in found}
        if entry.has_leaf and entry.leaf_move not in linked:
            found.append(Move(entry.leaf_move, entry.leaf_score, -1))
        return sorted(found, key=lambda known: (-known.score, known.move))

    def moves_on(self, player: int, opponent: int) -> list[Move]:
        """What `known_moves` says of a position in any orientation, in that orientation; empty outside the book."""
        p, o, symmetry = self.table.canonical(player, opponent)
        with self.table.lock:
            row = self.table.find_canonical(p, o)
            if row < 0:
                return []
            known_moves = self.known_moves(self.table.entry(row))
        moves = [known._replace(move=unmirror_move(known.move, symmetry)) for known in known_moves]
        return sorted(moves, key=lambda known: (-known.score, known.move))

    def scan_faults(self) -> Iterator[tuple[int, list[Fault]]]:
        """What `faults` gives, some thousand rows at a time, with the number of rows looked at so far."""
        notes = np.empty((4096, 2), np.int64)
        noted = np.zeros(1, np.uint64)
        at = 0
        while at < len(self):
            end = min(len(self), at + _SLICE)
            at = int(kernels().list_faults(self.table.context, at, end, address(notes), len(notes), address(noted)))
            yield at, [Fault(row, kind) for row, kind in notes[: int(noted[0])].tolist()]

    def faults(self) -> list[Fault]:
        """Every position whose leaf is missing, illegal, superfluous or a link."""
        return [fault for _, found in self.scan_faults() for fault in found]

    def suspects(self) -> list[int] | None:
        """The rows that alone may have a `Fault`, as far as that is known: None, all of them may."""
        if self._unchecked is None:
            return None
        found = set(self._unchecked)
        for row in self._unchecked:
            parents = self.table.parents(row)
            if parents is None:
                return None
            found.update(parents)
        return sorted(found)

    def faults_among(self, rows: Iterable[int]) -> list[Fault]:
        """The faults of some rows, in their order."""
        note = np.empty((1, 2), np.int64)
        noted = np.zeros(1, np.uint64)
        found = []
        for row in rows:
            kernels().list_faults(self.table.context, row, row + 1, address(note), 1, address(noted))
            if noted[0]:
                found.append(Fault(row, int(note[0, 1])))
        return found

    def checked(self) -> None:
        """No position has a fault now."""
        self._unchecked = set()

    # ------------------------------------------------------------------------------------------------ changing

    def _begin_change(self) -> None:
        if self.recorder is not None:
            self.recorder.allow()

    def _touch(self, row: int) -> None:
        for rows in (self._touched, self._unchecked):
            if rows is not None:
                rows.add(row)

    def forget_state(self) -> None:
        """What was changed is no longer known."""
        self._touched = self._unchecked = None

    def put(self, entry: Entry) -> int:
        """Add or replace a position, given in canonical form; answers its row."""
        self._begin_change()
        with self.table.lock:
            row, _ = self.table.insert(entry.player, entry.opponent)
            self.table.write(row, entry)
        self.file_links = None
        self._touch(row)
        if self.recorder is not None:
            self.recorder.changed(row)
        return row

    def put_new(self, records: Records) -> None:
        """Add positions that are not there, given as canonical `RECORD`s, without their path counts; of several of
        one position the first counts."""
        self._begin_change()
        records = records.copy()
        for name in ("wins", "draws", "losses", "lines"):
            records[name] = 0
        records["flags"] &= FLAGS_KEPT
        before = len(self)
        self.table.insert_records(records)
        self.file_links = None
        self.forget_state()
        if self.recorder is not None:
            for row in range(before, len(self)):
                self.recorder.changed(row)

    def remember(self, question: Question, answer: tuple[int, int]) -> None:
        """Keep the result of a search until `forget`, through a restart too."""
        self._begin_change()
        self.memo[question] = answer
        if self.recorder is not None:
            self.recorder.remembered(question, answer)

    def forget(self) -> None:
        """Drop the remembered searches."""
        if self.memo:
            self.memo.clear()
            if self.recorder is not None:
                self.recorder.forgotten()

    def together(self) -> contextlib.AbstractContextManager[None]:
        """Changes in this block reach the disk all or none."""
        return self.recorder.hold() if self.recorder is not None else contextlib.nullcontext()

    def set_results(self, row: int, results: tuple[float, float, float]) -> None:
        """Store the games won, drawn and lost by the side to move in a row's position."""
        self._begin_change()
        self.table.set_results(row, results)
        if self.recorder is not None:
            self.recorder.changed(row)

    def add_results(self, rows: npt.NDArray[np.int64], won: Floats, drawn: Floats, lost: Floats) -> None:
        """Add to the results of rows, which may repeat."""
        self._begin_change()
        self.table.add_results(rows, won, drawn, lost)
        if self.recorder is not None:
            for row in np.unique(rows).tolist():
                self.recorder.changed(row)

    def remove(self, marked: npt.NDArray[np.uint8]) -> int:
        """Remove the rows marked by a byte that is not 0; answers how many. Rows are renumbered."""
        self._begin_change()
        if self.recorder is not None:
            self.recorder.removed(self.table.keys()[marked != 0])
        self.file_links = None
        self.forget_state()
        return self.table.remove(marked)

    def negamax(self, *, threads: int = 1, progress: Progress | None = None) -> int | None:
        """See `links.negamax`; leaves that have become links are dropped.

        Where little was changed since the last time, only what depends on it is looked at (`links.negamax_from`).
        """
        self._begin_change()
        changed = None
        if self._touched is not None and len(self._touched) * _WHOLE < len(self):
            changed = negamax_from(self.table, self._options, self._touched)
        if changed is None:
            changed = negamax(self.table, self._options, threads=threads, progress=progress)
        self._touched = set() if changed is not None else None
        if self.recorder is not None:
            self.recorder.fixed()
        if changed != 0:
            self.file_links = None
        return changed

    def edit(self, player: int, opponent: int, move: int | None, score: int) -> None:
        """Set by hand what a position (``move`` None) or the position after ``move`` is worth to ``player``.

        The position is added when it is not there. A human's score outranks every level and survives everything but
        `remove`. Raises OutOfRange and ValueError (an illegal move).
        """
        within("score", score, -64, 64)
        if move is not None:
            legal = self.table.moves(player, opponent)
            if not (move < PASS and legal >> move & 1):
                raise ValueError("that move is not legal there")
            player, opponent = self.table.play(player, opponent, move)
            score = -score
        p, o, _ = self.table.canonical(player, opponent)
        row = self.table.find_canonical(p, o)
        entry = self.table.entry(row) if row >= 0 else Entry(p, o)
        self.put(entry._replace(score=score, lower=score, upper=score, level=HUMAN_LEVEL, flags=entry.flags | HUMAN))

    def canonical_move(self, player: int, opponent: int, move: int) -> int:
        """``move`` on the canonical board of a position."""
        return mirror_move(move, self.table.canonical(player, opponent)[2])
