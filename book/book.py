"""A book: its table and options, and the elementary operations on positions.

`Book.recorder` observes changes: the store sets it to write them to the journal.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from desdaemon.protocol.othello.rules import INVERSE_SYMMETRY, transform_move
from desdaemon.protocol.othello.scores import MoverScore

from .changes import ChangeObserver, GivenCommand, Question
from .chunks import CHUNK_ROWS, Records, Rows, Words, address, without_counts
from .counts import Counts, counted, parents_of
from .games import NO_GAMES, Games, played, without
from .layout import GONE, GONE_BY_HAND, HUMAN, HUMAN_LEVEL, KEEPS_LEAF, KEPT, NO_SCORE
from .negamax import FaultyRows, negamax, negamax_from
from .options import BookOptions, Rule
from .passes import kernels
from .progress import ProgressCallback, WorkCancelled, no_progress, slices
from .record import PositionEntry
from .table import BookTable, Filters

Evaluate = Callable[[int, int, int, int], "tuple[int, int] | None"]
"""A search: (player, opponent, level, mask of excluded moves) -> (move, score in discs for the side to move), or None
if it was stopped.

It is asked only for positions with a move outside the mask, must give the same answer to the same question, and is
called from several threads at once.
"""

_SLICE = 1 << 15
_WHOLE = 400
"""If more than one position in this number has changed, the whole book is processed, not only the changed part."""

MOST_GAMES = 1e12
"""The most games that a result may count: lost games multiply results, which must stay finite."""

SETTLE_S = 0.5
"""Most seconds that updating the scores may take after a cancellation."""

_FEW = 1 << 12
_NOTES = 4096

_MOST_REPLIES = 1 << 17
"""Some 40 MB of them."""
_IN_PLACE = 1 << 17
"""Most positions that are removed in place. If more are removed, the others are copied, which can be cancelled."""


class Removed(NamedTuple):
    """The result of a removal: the number of ``positions`` removed, and the number of lost links that became
    ``leaves``.

    ``rows`` are the rows that lost a link, with their numbers after the removal.
    """

    positions: int
    leaves: int
    rows: Rows


class Edit(NamedTuple):
    """A score set by hand: the canonical position and its entry before the edit.

    ``before`` is None if the position was not in the book. Then ``above`` has the entries of its parents, because the
    position may have been their leaf. ``linked`` says whether a move of the position led into the book at that time.
    """

    key: tuple[int, int]
    before: PositionEntry | None
    above: tuple[PositionEntry, ...] = ()
    linked: bool = False


class ByHand(NamedTuple):
    """What was done by hand since the book was opened: the scores that were set, in order, and the games for which
    lines were made less attractive.
    """

    edits: tuple[Edit, ...] = ()
    adjusted: tuple[bytes, ...] = ()


class MoveInBook(NamedTuple):
    """A link or the leaf of a position, with its score in discs for the side that plays it.

    ``row`` is the row of the position that the move leads to, -1 for the leaf.
    """

    move: int
    score: MoverScore
    row: int

    @property
    def linked(self) -> bool:
        """Whether the move leads into the book."""
        return self.row >= 0

    @property
    def scored(self) -> bool:
        """False while the position after the move still waits for its search."""
        return -64 <= self.score <= 64


def best_first(moves: Iterable[MoveInBook]) -> list[MoveInBook]:
    """Return moves by falling score, then by square; moves without a score come last."""
    return sorted(moves, key=lambda known: (not known.scored, -known.score, known.move))


class StoredLinks(Protocol):
    """Links as a file stores them that differ from those that follow from the positions."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory that they take."""

    def true_to(self, table: BookTable) -> StoredLinks | None:
        """Return those that differ only in their order from the links of ``table``; None if there are none."""


RowNumbers: TypeAlias = npt.NDArray[np.uint32]


def _numbers(rows: set[int] | None) -> RowNumbers | None:
    """Return row numbers in four bytes each: a hundred states of a book may be kept, with thousands of rows each."""
    return np.fromiter(rows, np.uint32, len(rows)) if rows is not None else None


class BesideTable(NamedTuple):
    """What a `Book` has beside its table, copied where a change would change it."""

    options: BookOptions
    links: StoredLinks | None
    games: Games
    stale: bool
    touched: RowNumbers | None
    unverified: RowNumbers | None
    memo: dict[Question, tuple[int, int]]
    by_hand: ByHand
    steps: dict[int, int]


class Book:
    """Positions and options, without a file. One thread at a time may change it; look-ups may run in parallel.

    Changes raise `ReadOnly` if the recorder refuses them, and `Damaged` in a damaged file.
    """

    def __init__(
        self,
        options: BookOptions | None = None,
        table: BookTable | None = None,
        links: StoredLinks | None = None,
        *,
        settled: bool = False,
        complete: bool = False,
        counts: Counts | None = None,
        games: Games = NO_GAMES,
    ) -> None:
        """``links`` are those of the book's file, ``games`` the games whose results are already counted.

        For a ``table`` from a file, ``settled`` says that all scores follow from the leaves, ``complete`` that no leaf
        is faulty, and ``counts`` are its counts, None if unknown.
        """
        self.table = table if table is not None else BookTable()
        self._options = options or BookOptions()
        self.file_links = links
        """Links that the file of another program stores; None as soon as a position changes."""
        self.recorder = ChangeObserver()
        self._counts = counts
        """None while the table is not counted."""
        self.games = games
        self._touched: set[int] | None = set() if settled else None
        """The only rows whose changes other scores do not follow yet; None if any score may be stale."""
        self._unverified: set[int] | None = set() if complete else None
        """The only rows whose leaf, or whose parents' leaves, may be faulty; None if any leaf may be."""
        self.stale = False
        """Whether positions, or options that scores depend on, have changed since the last complete `negamax`; False
        in a new object, in one from a file of our own what it was when that was written.
        """
        self.memo: dict[Question, tuple[int, int]] = {}
        """Results of searches, by question, for a command that was stopped before it could use them."""
        self.replies: dict[Question, tuple[int, int]] = {}
        """Results of searches that no position holds, kept by `keep_replies` in this process alone."""
        self.by_hand = ByHand()
        """Assigned as a whole, after the change of the book that it tells of: what is kept for an undo is as before."""
        self.by_hand_before: list[tuple[GivenCommand, ByHand]] = []
        """What it was before each command that changed it, in a book with a journal."""
        self.steps: dict[int, int] = {}
        """Number of finished steps of each schedule that was stopped, by the schedule's number."""

    def __len__(self) -> int:
        return self.table.positions

    def in_memory(self, progress: ProgressCallback = no_progress) -> Book:
        """Return a book of which every position is in memory: this one, or of one over a packed file a new one, which
        has neither journal nor remembered searches. Raises `Unreadable`.
        """
        if self.table.whole:
            return self
        book = Book(self._options, self.table.gathered(progress), games=self.games)
        book.negamax(progress=progress)
        return book

    def given(self, command: GivenCommand, *, resumes: bool) -> GivenCommand:
        """Return ``command`` with how many positions and games the book has now; if it ``resumes``, the one in the
        journal that is the same and was ended by a kill.
        """
        before = self.recorder.unfinished
        if resumes and before is not None and (*before[:2], before.root) == (*command[:2], command.root):
            return before
        return command._replace(positions=len(self), games=len(played(self.games)))

    def beside_table(self) -> BesideTable:
        """Return all that the book has beside its table, as it is now."""
        return BesideTable(
            self._options,
            self.file_links,
            self.games,
            self.stale,
            _numbers(self._touched),
            _numbers(self._unverified),
            {**self.memo},
            self.by_hand,
            {**self.steps},
        )

    @staticmethod
    def of(table: BookTable, beside: BesideTable) -> Book:
        """Return a book of a table and what `beside_table` returned with it; its recorder notes nothing."""
        made = Book(beside.options, table, beside.links, games=beside.games)
        made._touched = set(beside.touched.tolist()) if beside.touched is not None else None
        made._unverified = set(beside.unverified.tolist()) if beside.unverified is not None else None
        made.stale = beside.stale
        made.memo, made.by_hand, made.steps = {**beside.memo}, beside.by_hand, {**beside.steps}
        return made

    @property
    def options(self) -> BookOptions:
        """The options, assigned as a whole. All scores become stale if an option that they depend on changes."""
        return self._options

    @options.setter
    def options(self, options: BookOptions) -> None:
        if options != self._options:
            self._begin_change()
            if options.scoring != self._options.scoring:
                self.forget_state()
            self._options = options
            self.recorder.options_changed(options)

    # ------------------------------------------------------------------------------------------------ looking

    def entry(self, player: int, opponent: int) -> PositionEntry | None:
        """Return the entry of a position in any orientation; None if it is not in the book.

        The entry, its leaf's move included, is on the canonical board.
        """
        with self.table.lock:
            row = self.table.find(player, opponent)
            return self.table.entry(row) if row >= 0 else None

    def view(self, player: int, opponent: int) -> PositionEntry | None:
        """Return the entry of a position in any orientation, on the canonical board; None if it is not in the book.

        Under Egaroucid's rule there is also an entry for a position outside the book if one of its moves leads into the
        book. Its score follows from these moves (`NO_SCORE` if none of them has a score). It has no leaf and the level
        `NO_LEVEL`.
        """
        with self.table.lock:
            entry = self.entry(player, opponent)
            if entry is not None or self._options.rule is Rule.EDAX:
                return entry
            p, o, _ = self.table.canonical(player, opponent)
            children = [self.table.entry(row) for _, row in self.table.links(p, o) if row >= 0]
        if not children:
            return None
        outside = PositionEntry(
            p,
            o,
            sum(child.losses for child in children),
            sum(child.draws for child in children),
            sum(child.wins for child in children),
            sum(child.lines for child in children),
        )
        scored = [child for child in children if child.score > NO_SCORE]
        if not scored:
            return outside
        return outside._replace(
            score=max(-child.score for child in scored),
            lower=max(-child.upper for child in scored),
            upper=max(-child.lower for child in scored),
        )

    def known_moves(self, entry: PositionEntry) -> list[MoveInBook]:
        """Return the links of an entry, and its leaf unless that is a link, as moves on the canonical board.

        They are sorted by falling score, then by square; moves without a score come last.
        """
        table = self.table
        with table.lock:
            listed = [
                MoveInBook(move, MoverScore(-table.entry(row).score), row)
                for move, row in table.links(entry.player, entry.opponent)
                if row >= 0
            ]
        linked = {link.move for link in listed}
        if entry.has_leaf and entry.leaf_move not in linked:
            listed.append(MoveInBook(entry.leaf_move, MoverScore(entry.leaf_score), -1))
        return best_first(listed)

    def moves_on(self, player: int, opponent: int) -> list[MoveInBook]:
        """Return the `known_moves` of a position in any orientation, as moves on that board; [] if `view` is None."""
        _, _, symmetry = self.table.canonical(player, opponent)
        with self.table.lock:
            entry = self.view(player, opponent)
            if entry is None:
                return []
            known_moves = self.known_moves(entry)
        back = INVERSE_SYMMETRY[symmetry]
        return best_first(move._replace(move=transform_move(move.move, back)) for move in known_moves)

    def moves_that_count(self, player: int, opponent: int) -> list[MoveInBook]:
        """Return the moves from which the score of a position follows, in the form and order of `moves_on`.

        Under Egaroucid's rule the leaf is left out if there are links.
        """
        moves = self.moves_on(player, opponent)
        links = [move for move in moves if move.linked]
        return links if links and self.options.links_first else moves

    def scan_faults(self, progress: ProgressCallback = no_progress) -> Iterator[Rows]:
        """Yield the faults of all leaves in order of rows, as arrays int64 (n, 2) of row and kind (`layout.OPEN` ...);
        n is at most `_NOTES` and may be 0.
        """
        notes = np.empty((_NOTES, 2), np.int64)
        number = np.zeros(1, np.uint64)
        filters = self.table.filters(progress)
        row = 0
        while row < len(self):
            end = min(len(self), row + _SLICE)
            places = address(notes), _NOTES, address(number), filters.at
            row = int(kernels().list_faults(self.table.context, row, end, *places))
            yield notes[: int(number[0])].copy()
            progress("leaves", row, len(self))

    def faults(self, progress: ProgressCallback = no_progress) -> Rows:
        """Return all faults of leaves, int64 (n, 2), by row: the row and the kind (`layout.OPEN` ...)."""
        return np.concatenate([np.empty((0, 2), np.int64), *self.scan_faults(progress)])

    def unverified_rows(self) -> Rows | None:
        """Return the rows whose leaf may be faulty, ascending.

        Returns None if the leaf of any row may be faulty, or if a changed row has too many parents to list.
        """
        if self._unverified is None:
            return None
        rows = np.array(sorted(self._unverified), np.int64)
        above = parents_of(self.table, rows)
        return np.union1d(rows, above[0]) if above is not None else None

    def faults_among(self, rows: Rows, progress: ProgressCallback = no_progress) -> Rows:
        """Return the faults of the leaves of ``rows``, in the order of ``rows``: int64 (n, 2), row and kind
        (`layout.OPEN` ...).
        """
        note = np.empty((1, 2), np.int64)
        number = np.zeros(1, np.uint64)
        filters = Filters()
        places = address(note), 1, address(number), filters.at
        faults = [np.empty((0, 2), np.int64)]
        for done, row in enumerate(rows.tolist()):
            kernels().list_faults(self.table.context_for(rows[done : done + 1]), row, row + 1, *places)
            if number[0]:
                faults.append(note.copy())
            if done % _FEW == 0:
                progress("leaves", done, len(rows))
        return np.concatenate(faults)

    def checked(self) -> None:
        """Take note that no leaf is faulty, because the caller has checked or replaced all of them."""
        self._unverified = set()

    @property
    def settled(self) -> bool:
        """Whether all scores, bounds and counts are known to follow from the leaves."""
        return self._touched is not None and not self._touched

    @property
    def changed_little(self) -> bool:
        """Whether so few positions have changed that `negamax` needs no pass over the book."""
        few = self._touched is not None and len(self._touched) * _WHOLE < len(self)
        return few or not self.table.whole

    @property
    def state_unknown(self) -> bool:
        """Whether nothing is known: any score may be stale, and any leaf faulty."""
        return self._touched is None and self._unverified is None

    @property
    def complete(self) -> bool:
        """Whether all leaves are known to have no fault."""
        return self._unverified is not None and not self._unverified

    # ------------------------------------------------------------------------------------------------ changing

    def _begin_change(self) -> None:
        self.recorder.allow()
        self.table.sound()

    def touch(self, rows: Iterable[int]) -> None:
        """Mark rows as new or changed: their leaves are unverified, and all scores that depend on them are stale.

        If too many are marked, all leaves count as unverified and all scores as stale.
        """
        self.stale = True
        for marked in (self._touched, self._unverified):
            if marked is not None:
                marked.update(rows)
        if not self.table.whole:
            return
        if self._touched is not None and len(self._touched) > self._most_visited:
            self._touched = None
        if self._unverified is not None and len(self._unverified) > self._most_visited:
            self._unverified = None

    @property
    def _most_visited(self) -> int:
        """Number of changed rows above which a pass over the book is faster than visits to them and their ancestors."""
        return max(_FEW, len(self) // _WHOLE)

    def forget_state(self) -> None:
        """Treat every score as stale and every leaf as unverified."""
        self.table.need_all()
        self.stale = True
        self._touched = self._unverified = None

    def put(self, entry: PositionEntry) -> int:
        """Add or replace a position, in canonical form, and record the change; return its row."""
        self._begin_change()
        with self.table.lock:
            row, _ = self.table.insert(entry.player, entry.opponent)
            counts = self._counts
            if counts is not None and row < counts.rows:
                counts.replaced_one(self.table.entry(row), entry)
            self.table.write(row, entry)
        self.file_links = None
        self.touch((row,))
        self.recorder.changed(row)
        return row

    @contextlib.contextmanager
    def _replacing(self, rows: Rows) -> Iterator[None]:
        """Return a context manager that keeps the counts correct while its block changes the records in ``rows``."""
        counts = self._counts
        if counts is None:
            yield
            return
        old = self.table.records(rows)
        yield
        counts.replaced(rows, old, self.table.records(rows))

    def overwrite(self, records: Records) -> Rows:
        """Write canonical ``records`` (`RECORD`) over those of the same positions, or add them; return their rows.

        The recorder gets no call, so the journal lacks the change. The path counts of ``records`` are cleared, also in
        the argument.
        """
        rows = self.table.rows_of(records)
        with self._replacing(np.unique(rows[rows >= 0])):
            self.table.insert_records(without_counts(records), overwrite=True)
        rows = self.table.rows_of(records)
        self.touch(rows.tolist())
        return rows

    def counts(self, progress: ProgressCallback = no_progress) -> Counts:
        """Return the book's counts, new positions included; if they are unknown, a pass over the table makes them."""
        if self._counts is None or not self._counts.catch_up(self.table):
            self._counts = counted(self.table, progress)
        return self._counts

    def known_counts(self) -> Counts | None:
        """Return the `counts`, new positions included; None if they need a pass over the table."""
        return self._counts if self._counts is not None and self._counts.catch_up(self.table) else None

    def put_new(self, records: Records) -> None:
        """Add canonical ``records`` (`RECORD`) without their path counts. Their positions must not be in the book.

        Of equal positions the first is used.
        """
        self._begin_change()
        first = len(self.table)
        self.table.insert_records(without_counts(records.copy()))
        self.file_links = None
        added = np.arange(first, len(self.table), dtype=np.int64)
        self.touch(added.tolist())
        self.recorder.changed_many(added)

    def remember(self, question: Question, answer: tuple[int, int]) -> None:
        """Keep ``answer``, the move that a search of ``question`` has found and its score for the mover, until
        `forget`.

        A book with a journal keeps it over restarts.
        """
        self._begin_change()
        self.memo[question] = answer
        self.recorder.remembered(question, answer)

    def forget(self) -> None:
        """Drop the results that `remember` has kept."""
        if self.memo:
            self.memo.clear()
            self.recorder.forgotten()

    def keep_replies(self, level: int) -> None:
        """Keep the remembered searches of ``level`` in `replies`, at most `_MOST_REPLIES` in all, beyond `forget`."""
        found = ((question, answer) for question, answer in self.memo.items() if question[2] == level)
        self.replies.update(itertools.islice(found, max(0, _MOST_REPLIES - len(self.replies))))

    def step(self, schedule: int, done: int) -> None:
        """Store ``done``, the number of finished steps of the schedule numbered ``schedule``; 0 removes the number.

        A book with a journal keeps it over restarts.
        """
        self._begin_change()
        if done:
            self.steps[schedule] = done
        else:
            self.steps.pop(schedule, None)
        self.recorder.stepped(schedule, done)

    def together(self) -> contextlib.AbstractContextManager[None]:
        """Return a context manager: the changes made in its block are written together. A crash leaves all or none.

        If the block raises, the changes made until then are written too. Within the block a failed write is not
        repeated. Raises `ReadOnly`, at once, if the book must not change.
        """
        self.recorder.allow()
        return self.recorder.hold()

    def list_games(self, games: Games) -> None:
        """Take note that the results of ``games`` are counted. None of them may have been counted before.

        This stores no results: the caller does (`store_results`).
        """
        if not len(games):
            return
        self._begin_change()
        self.games = np.concatenate([self.games, games])
        self.recorder.counted(games)

    def unlist_games(self, games: Games) -> None:
        """Take note that the results of ``games`` no longer count; the caller removes them (`store_results`)."""
        self._begin_change()
        self.games = without(self.games, games["identity"].tolist())
        self.recorder.taken_back(games)

    def store_results(self, rows: Rows, results: Records) -> None:
        """Store ``results``, a `RESULT` record for each of the distinct ``rows``. Numbers above `MOST_GAMES` are
        lowered to it, also in the argument.
        """
        self._begin_change()
        for name in results.dtype.names or ():
            results[name].clip(max=MOST_GAMES, out=results[name])
        self.table.set_results_of(rows, results)
        self.recorder.changed_many(rows)

    def _lost_links(self, marked: npt.NDArray[np.bool_], progress: ProgressCallback) -> Rows:
        """Return, for each unmarked row with a link to a marked row, the best link that it would lose.

        The int64 array (n, 5) has row, move, score for the row's mover, level (the lower of row and child) and number
        of links left. The move is `KEEPS_LEAF` if the leaf is at least as good, or if no lost link has a usable score.
        If no lost link has one, the score is `NO_SCORE`.
        """
        states = np.where(marked, GONE, KEPT).astype(np.uint8)
        resting = self._resting_on_hand(progress)
        states[resting] = np.where(marked[resting], GONE_BY_HAND, KEPT)
        few = np.count_nonzero(marked) * _WHOLE <= len(self)
        above = parents_of(self.table, np.flatnonzero(marked)) if few else None
        if above is None:
            ranges, filters = slices(len(self), _NOTES, "links", progress), self.table.filters(progress)
        else:
            ranges, filters = ((row, row + 1) for row in above[0].tolist()), Filters()
        notes = np.empty((_NOTES, 5), np.int64)
        places = address(states), address(notes), filters.at
        lost = [notes[:0]]
        for start, end in ranges:
            number = kernels().list_lost(self.table.context, start, end, *places)
            lost.append(notes[:number].copy())
        return np.concatenate(lost)

    def _resting_on_hand(self, progress: ProgressCallback) -> Rows:
        """Return the rows whose score was set by hand, and the rows whose score may rest on it.

        A score may rest on a child's if the two are equal, seen from the same side. The parents of a row that has too
        many to list are left out.
        """
        counts = self.known_counts()
        if counts is not None and HUMAN_LEVEL not in counts.levels:
            return np.empty(0, np.int64)
        waiting = [self.table.find_canonical(*entry[:2]) for entry in self.edited(progress)]
        rows = set(waiting)
        while waiting:
            row = waiting.pop()
            score = self.table.entry(row).score
            for parent in self.table.parents(row) or ():
                if parent not in rows and self.table.entry(parent).score == -score:
                    rows.add(parent)
                    waiting.append(parent)
        return np.array(sorted(rows), np.int64)

    def remove(
        self, marked: npt.NDArray[np.bool_], progress: ProgressCallback = no_progress, *, leaves: bool = True
    ) -> Removed:
        """Remove the marked rows; ``marked`` has a bool for each row. Other rows get new numbers.

        With ``leaves``, the best link that a position loses becomes its leaf if it is better than the present leaf;
        links whose scores rest on one set by hand are passed over. Scores are `stale` afterwards: none is recomputed,
        but a position that loses its last link has no score then, unless it was set by hand. If ``leaves`` is False and
        more than 1/`_WHOLE` of the book is removed, positions keep their scores, all count as stale, and the result's
        ``rows`` are empty. A cancellation leaves the book unchanged.
        """
        self._begin_change()
        table = self.table
        table.need_all()
        marked = np.asarray(marked, bool)
        count = int(np.count_nonzero(marked))
        if not count:
            return Removed(0, 0, np.empty(0, np.int64))
        if not leaves and count * _WHOLE > len(self):
            self.forget_state()
            lost = np.empty((0, 5), np.int64)
        else:
            lost = self._lost_links(marked, progress)
        fresh = table.without(marked, progress) if count > _IN_PLACE else None
        above = None
        if self._counts is not None and (
            fresh is not None or (above := self._counts.before_removal(table, np.flatnonzero(marked))) is None
        ):
            self._counts = None
        losers = table.records(lost[:, 0])
        # The new table has no path counts, so all have to be computed.
        touched = self._positions(self._touched) if fresh is None else None
        unchecked = self._positions(self._unverified)
        with self.together():
            self.recorder.removed(self._keys(marked))
            if fresh is not None:
                table.become(fresh)
            else:
                table.remove(marked.view(np.uint8))
            rows = table.rows_of(losers)
            new = (lost[:, 1] != KEEPS_LEAF) & leaves
            moves, scores, levels, _ = lost[new, 1:].T
            # These positions have no link left.
            bare = rows[lost[:, 4] == 0]
            table.set_leaves(rows[new], moves.astype(np.uint8), scores.astype(np.int8), levels.astype(np.int8))
            if self._counts is not None and above is not None:
                self._counts.after_removal(table, above)
            with self._replacing(bare):
                table.forget_scores(bare)
            self.recorder.changed_many(np.union1d(rows[new], bare))
        self.file_links = None
        self._touched, self._unverified = self._still(touched), self._still(unchecked)
        self.touch(rows.tolist())
        return Removed(count, int(np.count_nonzero(new)), rows)

    def rebuild(self, marked: npt.NDArray[np.bool_], progress: ProgressCallback = no_progress) -> None:
        """Remove the marked rows and build a new index, for a table whose index is damaged. No links become leaves;
        all scores are stale afterwards.
        """
        self._begin_change()
        fresh = self.table.without(marked, progress)
        self.recorder.removed(self._keys(marked))
        self.table.become(fresh)
        self._counts = None
        self.file_links = None
        self.forget_state()

    def _keys(self, marked: npt.NDArray[np.bool_]) -> Iterator[Words]:
        for number, chunk in enumerate(self.table.chunks()):
            gone = chunk[marked[number * CHUNK_ROWS :][: len(chunk)]]
            yield np.stack([gone["player"], gone["opponent"]], axis=1)

    def _positions(self, rows: set[int] | None) -> Records | None:
        return self.table.records(np.fromiter(rows, np.int64, len(rows))) if rows is not None else None

    def _still(self, records: Records | None) -> set[int] | None:
        return set(self.table.rows_of(records).tolist()) - {-1} if records is not None else None

    def catch_up(self, *, threads: int = 1, progress: ProgressCallback = no_progress) -> None:
        """Run `negamax` if scores are `stale`.

        It changes only values that follow from the leaves, so it also updates, in memory, a book that is read-only or
        whose changes cannot be written.
        """
        if self.stale:
            self._negamax(threads, progress)

    def settle(self, threads: int) -> None:
        """Run `negamax`, but cancel it after `SETTLE_S`; scores may be stale afterwards."""
        until = time.monotonic() + SETTLE_S

        def progress(stage: str, done: int, total: int) -> None:
            if time.monotonic() > until:
                raise WorkCancelled

        with contextlib.suppress(WorkCancelled):
            self.negamax(threads=threads, progress=progress)

    def negamax(self, *, threads: int = 1, progress: ProgressCallback = no_progress) -> int:
        """Bring scores, bounds and counts up to date; drop leaves whose moves have become links. Returns the number of
        rows whose score or bounds changed.

        After small changes only positions that depend on them are visited (`negamax.negamax_from`), in a `settled`
        book none. After a cancellation the scores stay `stale`.
        """
        self._begin_change()
        return self._negamax(threads, progress)

    def _negamax(self, threads: int, progress: ProgressCallback) -> int:
        if self.settled:
            self.stale = False
            return 0
        changed = None
        if self._touched is not None and self.changed_little:
            replaced = self._counts.replaced if self._counts is not None else None
            changed = negamax_from(self.table, self._options, self._touched, progress, replaced)
        if changed is None:
            self._touched = None
            self.table.check_all(progress)
            self.table.change_all(progress)
            old_counts, self._counts = self._counts, None
            counts, faulty = Counts(), FaultyRows(self._most_visited)
            changed = negamax(
                self.table, self._options, threads=threads, progress=progress, tally=counts.tally, faulty=faulty
            )
            self._unverified = faulty.rows
            counts.rows = len(self)
            if old_counts is not None and old_counts.rows == len(self):
                counts.unreachable = old_counts.unreachable
            self._counts = counts
        self._touched = set()
        self.stale = False
        self.recorder.fixed(changed)
        if self.file_links is not None:
            self.file_links = None if changed else self.file_links.true_to(self.table)
        return changed

    def edited(self, progress: ProgressCallback = no_progress) -> Iterator[PositionEntry]:
        """Yield the positions whose score was set by hand, in order of rows."""
        for number, chunk in enumerate(self.table.chunks()):
            first = number * CHUNK_ROWS
            progress("scan", first, len(self))
            for place in np.flatnonzero(chunk["flags"] & HUMAN).tolist():
                yield self.table.entry(first + place)

    def canonical_move(self, player: int, opponent: int, move: int) -> int:
        """Return ``move``, a move of the given board, as a move on the position's canonical board."""
        return transform_move(move, self.table.canonical(player, opponent)[2])
