"""Growing a book: games and positions added, and Edax's deviate, enhance, fill, play, extend, deepen and correct.

Every command repeats one round: search the open leaves; negamax; choose the positions to add, by the scores alone;
add them. A round's searches are independent of each other and of how they are spread over threads. A stop between
any two searches leaves a negamaxed book with some leaves open, and the next run of the command searches them first:
so it ends with the same book.

Edax expands one position after the other, and lets scores that are out of date choose the second half of a
deviation; the positions chosen in a round here are those that Edax chooses in its first.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.engine.limits import level_limits

from .book import Book, Evaluate, final_score
from .errors import NotInBook, within
from .links import Order, margins_of
from .native import kernels
from .options import Options
from .record import HUMAN, MAX_LEVEL, NO_LEVEL, NO_MOVE, NO_SCORE, PASS, RECORD, START, Entry
from .table import address

Position = tuple[int, int]

_SLICE = 1 << 15
_EXPAND = 64
_ADDED = 1 << 14
_GAMES = 1 << 12


class Report(NamedTuple):
    """How far a long command is: in this round's ``stage``, ``done`` of ``total``; ``added`` positions since it began.

    The stages: ``scan`` (positions looked at for open leaves), ``search`` (searches), ``add`` (positions given).
    """

    command: str
    stage: str
    round: int
    done: int
    total: int
    added: int
    positions: int


Tell = Callable[[Report], bool]
"""Told after every search, and between parts of the other stages; answers whether to go on."""


class Outcome(NamedTuple):
    """How a command ended: ``finished`` is False after a stop. ``searches`` were done, ``added`` positions are new."""

    finished: bool
    rounds: int
    searches: int
    added: int


class Task(NamedTuple):
    """A search to be done for the position in ``row``; ``passed`` when the board is seen from after a forced pass."""

    row: int
    player: int
    opponent: int
    level: int
    excluded: int
    passed: bool


class Worker:
    """Runs searches in parallel, one thread for each, and hands out the results in the order of the tasks."""

    def __init__(
        self,
        evaluate: Evaluate,
        *,
        threads: int = 1,
        tell: Tell | None = None,
        halt: Callable[[], None] | None = None,
    ) -> None:
        """``halt`` is called once ``tell`` has stopped a command: it should end the searches under way."""
        self.evaluate = evaluate
        self.threads = within("threads", threads, 1, 1024)
        self.tell = tell or (lambda report: True)
        self.halt = halt or (lambda: None)

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, tuple[int, int] | None]]:
        """Each task with its (move, score), None when the search was stopped."""

        def search(task: Task) -> tuple[int, int] | None:
            return self.evaluate(task.player, task.opponent, task.level, task.excluded)

        if self.threads == 1:
            for task in tasks:
                yield task, search(task)
            return
        waiting = iter(tasks)
        with ThreadPoolExecutor(self.threads) as pool:
            running: list[tuple[Task, Future[tuple[int, int] | None]]] = []
            try:
                for task in itertools.islice(waiting, 2 * self.threads):
                    running.append((task, pool.submit(search, task)))
                while running:
                    task, future = running.pop(0)
                    answer = future.result()
                    for following in itertools.islice(waiting, 1):
                        running.append((following, pool.submit(search, following)))
                    yield task, answer
            finally:
                if running:
                    self.halt()
                for _, future in running:
                    future.cancel()


class _Stopped(Exception):
    """The command was asked to stop."""


class Job:
    """One long command on one book."""

    def __init__(self, book: Book, worker: Worker, command: str) -> None:
        self.book = book
        self.worker = worker
        self.command = command
        self.rounds = 0
        self.searches = 0
        self.added = 0

    def tell(self, done: int, total: int, stage: str = "search") -> None:
        """Report, and leave when told to stop."""
        report = Report(self.command, stage, self.rounds, done, total, self.added, len(self.book))
        if not self.worker.tell(report):
            raise _Stopped

    def leaf_task(self, row: int, level: int | None = None) -> Task | None:
        """What to search for the leaf of a position; None when no search is needed: its leaf is then set."""
        book = self.book
        entry = book.table.entry(row)
        if level is None:
            level = book.options.level if entry.flags & HUMAN or entry.level < 0 else entry.level
        links = book.table.links(entry.player, entry.opponent)
        if not links:
            score = final_score(entry.player, entry.opponent)
            self._set_leaf(row, NO_MOVE, score, max(entry.level, 0))
            return None
        if links[0][0] == PASS:
            if links[0][1] >= 0:
                self._set_leaf(row, NO_MOVE, NO_SCORE, -1)
                return None
            return Task(row, entry.opponent, entry.player, level, 0, True)
        excluded = sum(1 << move for move, child in links if child >= 0)
        if excluded.bit_count() == len(links):
            self._set_leaf(row, NO_MOVE, NO_SCORE, -1)
            return None
        return Task(row, entry.player, entry.opponent, level, excluded, False)

    def _set_leaf(self, row: int, move: int, score: int, level: int, *, raise_level: bool = False) -> None:
        entry = self.book.table.entry(row)
        changed = entry._replace(leaf_move=move, leaf_score=score, leaf_level=level)
        if raise_level and not entry.human:
            changed = changed._replace(level=level)
        if not entry.human and (entry.score == NO_SCORE or score > entry.score):
            # Good enough until the next negamax.
            changed = changed._replace(score=score)
        if changed != entry:
            self.book.put(changed)

    def search(self, tasks: Iterable[Task], total: int, *, raise_level: bool = False) -> None:
        """Do the tasks (at most ``total``) and store the leaves; ``raise_level``: the position gets their level."""
        for done, (task, answer) in enumerate(self.worker.run(tasks), 1):
            if answer is None:
                raise _Stopped
            move, score = answer
            if task.passed:
                move, score = PASS, -score
            self._set_leaf(task.row, move, score, task.level, raise_level=raise_level)
            self.searches += 1
            self.tell(done, total)

    def complete(self) -> None:
        """Search every open leaf; leaves that are links or illegal are dropped first."""
        rows: list[int] = []
        suspects = self.book.suspects()
        if suspects is not None and len(suspects) < len(self.book) // 4:
            rows += (fault.row for fault in self.book.faults_among(suspects))
        else:
            for done, faults in self.book.scan_faults():
                rows += (fault.row for fault in faults)
                if done < len(self.book):
                    self.tell(done, len(self.book), "scan")
        # What is to be searched depends on which positions there are, and none comes or goes meanwhile.
        self.search((task for row in rows if (task := self._open_task(row)) is not None), len(rows))
        self.book.checked()

    def _open_task(self, row: int) -> Task | None:
        entry = self.book.table.entry(row)
        if entry.leaf_move != NO_MOVE or entry.leaf_score != NO_SCORE:
            self.book.put(entry.without_leaf())
        return self.leaf_task(row)

    def negamax(self) -> None:
        """Bring all scores up to date."""
        self.book.negamax(threads=self.worker.threads)

    def add(self, positions: Iterable[tuple[Position, int]]) -> int:
        """Add canonical positions with a provisional score (`NO_SCORE` if there is none); answers how many are new."""
        new = 0
        level = self.book.options.level
        for number, ((player, opponent), score) in enumerate(positions, 1):
            if self.book.table.find_canonical(player, opponent) < 0:
                self.book.put(Entry(player, opponent, level=level, score=score, lower=score, upper=score))
                new += 1
                self.added += 1
            if number % _ADDED == 0:
                self.tell(number, number, "add")
        return new

    def run(self, choose: Callable[[], Iterable[tuple[Position, int]]], *, rounds: int = 0) -> Outcome:
        """Rounds of completing, negamaxing, and adding what ``choose`` gives, until it gives nothing new.

        At most ``rounds`` rounds add something (0: any number).
        """
        finished = False
        try:
            while True:
                self.rounds += 1
                self.complete()
                self.negamax()
                if (rounds and self.rounds > rounds) or not self.add(choose()):
                    finished = True
                    break
        except _Stopped:
            self.negamax()
        return Outcome(finished, self.rounds, self.searches, self.added)


# ---------------------------------------------------------------------------------------------------- adding


def _canonical(book: Book, positions: Iterable[Position]) -> Iterator[Position]:
    """The canonical forms of positions that are not deeper than the book goes."""
    least = book.options.min_empties - 1
    for player, opponent in positions:
        if 64 - (player | opponent).bit_count() >= least:
            yield book.table.canonical(player, opponent)[:2]


def add_positions(book: Book, positions: Iterable[Position], worker: Worker, command: str = "store") -> Outcome:
    """Add positions, in any orientation, down to the book's depth; search what is open; negamax.

    This is Edax's ``store`` and ``add`` without their gaps: every position is linked and the scores are right
    afterwards. Positions once added stay after a stop.
    """
    job = Job(book, worker, command)
    try:
        job.add((position, NO_SCORE) for position in _canonical(book, positions))
    except _Stopped:
        job.negamax()
        return Outcome(False, 0, 0, job.added)
    return job.run(lambda: ())


class Game(NamedTuple):
    """A game from the initial position: its moves (squares 0..63; passes may be left out), and the final score in discs
    for the first mover where it is known."""

    moves: bytes
    score: int | None = None


def add_games(
    book: Book, games: Iterable[Game], worker: Worker, *, keep_results: bool = False
) -> tuple[Outcome, list[str]]:
    """Add the positions of many games down to the book's depth, then search what is open and negamax.

    With ``keep_results`` the games' results are counted for their positions. The second answer names the games with
    an illegal move, which are used up to it.
    """
    job = Job(book, worker, "add")
    problems: list[str] = []
    waiting = iter(games)
    first = 1
    try:
        while batch := list(itertools.islice(waiting, _GAMES)):
            _add_batch(job, batch, first, problems, keep_results)
            first += len(batch)
            job.tell(first - 1, first - 1, "add")
    except _Stopped:
        job.negamax()
        return Outcome(False, 0, 0, job.added), problems
    return job.run(lambda: ()), problems


def _add_batch(job: Job, batch: list[Game], first: int, problems: list[str], keep_results: bool) -> None:
    book = job.book
    least = max(0, book.options.min_empties - 1)
    replayed = []
    for number, game in enumerate(batch, first):
        positions, illegal = book.table.replay(*START, game.moves, least)
        if illegal is not None:
            problems.append(f"game {number}: move {illegal + 1} is not legal")
        replayed.append(positions)
    keys = np.concatenate(replayed)
    unique = np.unique(keys, axis=0)
    missing = unique[book.table.find_many(unique) < 0]
    records = np.zeros(len(missing), RECORD)
    records["player"], records["opponent"] = missing.T
    records["level"] = book.options.level
    records["score"] = records["lower"] = records["leaf_score"] = NO_SCORE
    records["upper"] = -NO_SCORE
    records["leaf_move"], records["leaf_level"] = NO_MOVE, NO_LEVEL
    book.put_new(records)
    job.added += len(missing)
    if not keep_results:
        return
    # A position's side to move is the first mover's after an even number of plies.
    signs = [
        np.resize([score, -score], len(positions)) if score is not None else np.full(len(positions), 65)
        for positions, score in zip(replayed, (game.score for game in batch), strict=True)
    ]
    own = np.concatenate(signs)
    counted = own <= 64
    rows = book.table.find_many(keys)[counted]
    own = own[counted]
    book.add_results(rows, (own > 0).astype(float), (own == 0).astype(float), (own < 0).astype(float))


def fix(book: Book, worker: Worker) -> Outcome:
    """Drop leaves that are links or illegal, search what is open, and bring all scores up to date."""
    return Job(book, worker, "fix").run(lambda: ())


def enumerate_book(plies: int, options: Options) -> Book:
    """A new book of every position up to ``plies`` moves (a forced pass is one) after the initial one.

    Nothing is searched: the positions have no score and an open leaf. Raises OutOfRange above 12 plies; each ply has
    some seven times the positions of the one before.
    """
    within("plies", plies, 0, 12)
    book = Book(options)
    book.table.insert(*START)
    first = 0
    for _ in range(plies):
        last = len(book)
        book.table.insert_children(first, last)
        first = last
    return book


def game_positions(book: Book, moves: Sequence[int], start: Position | None = None) -> list[Position]:
    """The positions of a game after each of its moves (squares 0..63; forced passes are put in), with the start.

    Raises ValueError at an illegal move, naming its number.
    """
    table = book.table
    player, opponent = start or START
    positions = [(player, opponent)]
    for number, move in enumerate(moves, 1):
        if move == PASS and not table.moves(player, opponent):
            player, opponent = opponent, player
            positions.append((player, opponent))
            continue
        legal = table.moves(player, opponent)
        if not legal and table.moves(opponent, player):
            player, opponent = opponent, player
            positions.append((player, opponent))
            legal = table.moves(player, opponent)
        if not (0 <= move < PASS and legal >> move & 1):
            raise ValueError(f"move {number} is not legal")
        player, opponent = table.play(player, opponent, move)
        positions.append((player, opponent))
    return positions


# ---------------------------------------------------------------------------------------------------- choosing


class Mode(enum.IntEnum):
    """What `select` follows and chooses; see the kernel."""

    DEVIATE = 0
    ENHANCE = 1
    PLAY = 2
    EXTEND = 3


def _root(book: Book, position: Position) -> int:
    row = book.table.find(*position)
    if row < 0:
        raise NotInBook("the position is not in the book")
    return row


def select(
    book: Book, root: Position, mode: Mode, tolerance: tuple[int, int] = (0, 0), window: tuple[int, int] = (-129, 129)
) -> npt.NDArray[np.int64]:
    """The rows whose leaf is to be added, ascending; nothing is changed.

    ``tolerance`` is what the side to move at ``root`` and the other side may lose with a move against the position's
    score; ``window`` the lowest and highest score, seen by the side to move at ``root``. Raises NotInBook.
    """
    row = _root(book, root)
    order = Order(book.table)
    marks: npt.NDArray[np.uint8] = np.zeros(len(book), np.uint8)
    marks[row] = 1
    margins = margins_of(book.options)
    low, high = window
    rules = np.array(
        [mode, *tolerance, low, -high, high, -low, book.options.min_empties, address(margins)],
        np.int64,
    )
    for end in range(len(order), 0, -_SLICE):
        with book.table.lock:
            kernels().select_rows(
                book.table.context, address(order.rows), address(marks), max(0, end - _SLICE), end, address(rules)
            )
    return np.flatnonzero(marks & _EXPAND)


def _leaf_children(book: Book, rows: Iterable[int]) -> list[tuple[Position, int]]:
    """Where the leaves of rows lead, with the leaf's score seen from there."""
    found = []
    for row in rows:
        entry = book.table.entry(row)
        child = book.table.play(entry.player, entry.opponent, entry.leaf_move)
        found.append((book.table.canonical(*child)[:2], -entry.leaf_score))
    return found


def _grow(job: Job, choose: Callable[[], Iterable[int]], *, rounds: int = 0) -> Outcome:
    return job.run(lambda: _leaf_children(job.book, choose()), rounds=rounds)


def deviate_rows(book: Book, root: Position, relative: int, absolute: int) -> tuple[list[int], list[int]]:
    """What ``deviate`` chooses in its next round: with the side to move at ``root`` deviating, and the other."""
    score = book.table.entry(_root(book, root)).score
    window = (score - absolute, score + absolute)
    first = select(book, root, Mode.DEVIATE, (relative, 0), window)
    second = select(book, root, Mode.DEVIATE, (0, relative), window)
    return first.tolist(), second.tolist()


def deviate(book: Book, root: Position, worker: Worker, relative: int = 2, absolute: int = 4) -> Outcome:
    """Edax's main growth: one side may lose up to ``relative`` discs a move while the other plays its best, in
    either way round, within ``absolute`` discs of the root's score. Raises NotInBook and OutOfRange."""
    within("relative error", relative, -129, 129)
    within("absolute error", absolute, 0, 65)
    _root(book, root)

    def choose() -> list[int]:
        first, second = deviate_rows(book, root, relative, absolute)
        return sorted({*first, *second})

    return _grow(Job(book, worker, f"deviate {relative} {absolute}"), choose)


def enhance(book: Book, root: Position, worker: Worker, midgame_error: int = 2, endcut_error: int = 4) -> Outcome:
    """Add, until there is none, every leaf that could be best within the error margins, which become the book's.

    Raises NotInBook and OutOfRange.
    """
    within("midgame error", midgame_error, 0, 129)
    within("endcut error", endcut_error, 0, 129)
    _root(book, root)
    book.options = book.options._replace(midgame_error=midgame_error, endcut_error=endcut_error)
    job = Job(book, worker, f"enhance {midgame_error} {endcut_error}")
    return _grow(job, lambda: select(book, root, Mode.ENHANCE).tolist())


def play_out(book: Book, root: Position, worker: Worker) -> Outcome:
    """Go on with the best move, down to the book's depth, wherever a line below ``root`` ends. Raises NotInBook."""
    _root(book, root)
    return _grow(Job(book, worker, "play"), lambda: select(book, root, Mode.PLAY).tolist())


def extend(book: Book, root: Position, worker: Worker) -> Outcome:
    """Add leaves until a best move of every position below ``root`` is in the book. Raises NotInBook."""
    _root(book, root)
    return _grow(Job(book, worker, "extend"), lambda: select(book, root, Mode.EXTEND).tolist())


def _bridges(book: Book, player: int, opponent: int, plies: int) -> set[Position]:
    """The positions on the ways of ``plies`` plies from a position to positions of the book, both ends left out."""
    table = book.table
    found: set[Position] = set()
    for move, row in table.links(player, opponent):
        if plies == 1:
            continue
        child = table.play(player, opponent, move)
        beyond = _bridges(book, *child, plies - 1)
        ends = plies == 2 and any(last >= 0 for _, last in table.links(*child))
        if beyond or ends:
            found |= beyond
            if row < 0:
                found.add(table.canonical(*child)[:2])
    return found


def fill_positions(book: Book, depth: int) -> list[Position]:
    """What ``fill`` adds in its next round: all positions between two positions of the book ``depth`` plies apart."""
    found: dict[Position, None] = {}
    for row in range(len(book)):
        entry = book.table.entry(row)
        if entry.empties >= book.options.min_empties:
            found.update(dict.fromkeys(sorted(_bridges(book, entry.player, entry.opponent, depth))))
    return [
        position for position in found if 64 - (position[0] | position[1]).bit_count() >= book.options.min_empties - 1
    ]


def fill(book: Book, worker: Worker, depth: int = 1) -> Outcome:
    """Add the positions between any two positions of the book ``depth`` plies apart, until there are none.

    With 1 nothing is added: links are always found. Raises OutOfRange.
    """
    within("fill depth", depth, 1, 61)
    job = Job(book, worker, f"fill {depth}")
    return job.run(lambda: [(position, NO_SCORE) for position in fill_positions(book, depth)])


# ---------------------------------------------------------------------------------------------------- searching again


def deepen(book: Book, worker: Worker, level: int) -> Outcome:
    """Search again, at ``level``, every leaf that would be searched deeper or surer so, and raise its position's
    level. Human scores stay. Raises OutOfRange."""
    within("level", level, 0, MAX_LEVEL)
    job = Job(book, worker, f"deepen {level}")

    def tasks() -> Iterator[Task]:
        for row in range(len(book)):
            entry = book.table.entry(row)
            if not entry.has_leaf or entry.leaf_level >= level:
                continue
            if level_limits(level, entry.empties) != level_limits(max(entry.leaf_level, 0), entry.empties):
                task = job.leaf_task(row, level)
                if task is not None:
                    yield task

    try:
        job.rounds = 1
        job.complete()
        found = list(tasks())
        job.search(found, len(found), raise_level=True)
        finished = True
    except _Stopped:
        finished = False
    job.negamax()
    return Outcome(finished, job.rounds, job.searches, job.added)


class Correction(NamedTuple):
    """A solved leaf that a new search sees otherwise."""

    entry: Entry
    move: int
    score: int


def correct(book: Book, worker: Worker) -> tuple[Outcome, list[Correction]]:
    """Solve every exactly solved leaf again; answers which scores were wrong, as they were before."""
    job = Job(book, worker, "correct")
    wrong: list[Correction] = []
    tasks = []
    for row in range(len(book)):
        entry = book.table.entry(row)
        if entry.has_leaf:
            limits = level_limits(min(max(entry.leaf_level, 0), MAX_LEVEL), entry.empties)
            if limits.depth == entry.empties and limits.selectivity == 100:
                task = job.leaf_task(row, min(max(entry.leaf_level, 0), MAX_LEVEL))
                if task is not None:
                    tasks.append((task, entry))
    try:
        job.rounds = 1
        before = {task.row: entry for task, entry in tasks}
        for done, (task, answer) in enumerate(worker.run([task for task, _ in tasks])):
            if answer is None:
                raise _Stopped
            move, score = answer
            if task.passed:
                move, score = PASS, -score
            entry = before[task.row]
            if score != entry.leaf_score:
                wrong.append(Correction(entry, move, score))
                book.put(entry._replace(leaf_move=move, leaf_score=score))
            job.searches += 1
            job.tell(done + 1, len(tasks))
        finished = True
    except _Stopped:
        finished = False
    job.negamax()
    return Outcome(finished, job.rounds, job.searches, 0), wrong
