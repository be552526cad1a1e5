"""The one book of the process: opened on a thread of its own, read by all dialogues, changed by one job at a time.

numpy, the book library and the commands are imported when a book is first used.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from desdaemon.core.search.loader import Abandoned
from desdaemon.core.settings import SessionSettings
from desdaemon.protocol.errors import BadInput, Unfinished, escaped
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.rows import ADMIN
from desdaemon.protocol.spelling import plural

from .jobs import BookJob, BookJobs

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from desdaemon.book.front import Book, MoveChoice, Opened, ProgressCallback, ReportedMove, Results, Store
    from desdaemon.core.search.loader import LoadedEngine
    from desdaemon.core.search.scheduler import Scheduler
    from desdaemon.engine.evaluation.weights import Weights

    from .allowed_files import Files
    from .job_journal import JobJournal

_POLL_S = 0.01

T = TypeVar("T")


class NoBook(BadInput):
    """A book command needs a book, and none is open."""

    def __init__(self) -> None:
        super().__init__("no book is open: book load FILE opens one, book new begins one")


class Caller(NamedTuple):
    """Who gave a command, with the options that apply to it and the game on the caller's board.

    ``client`` names the caller in the list of jobs; file names of a ``remote`` caller are resolved in the data folder.
    ``engine`` returns the caller's engine; None for callers without one. ``show`` is called, from any thread, with the
    searches that `book verbose` asks for. ``mark`` tells the game of a dialogue from all others; "" without.
    """

    client: str
    settings: SessionSettings
    initial: Position = START
    moves: tuple[int, ...] = ()
    remote: bool = False
    role: str = ADMIN
    engine: Callable[[], LoadedEngine] | None = None
    show: Callable[[str], None] | None = None
    mark: bytes = b""

    @property
    def positions(self) -> list[Position]:
        """The positions of the game in order, the present one last."""
        positions = [self.initial]
        for move in self.moves:
            positions.append(positions[-1].after(move))
        return positions

    @property
    def identity(self) -> bytes:
        """What tells the game, as far as it was played, from all others: 16 bytes, the same however the board is
        turned; "" for callers without a dialogue.
        """
        import hashlib

        images = (bytes(rules.transform_move(move, symmetry) for move in self.moves) for symmetry in range(8))
        return hashlib.blake2b(self.mark + min(images), digest_size=16).digest() if self.mark else b""

    @property
    def position(self) -> tuple[int, int]:
        """The discs of the side to move and of the other side, in the present position."""
        last = self.positions[-1]
        return last.player, last.opponent


class ScoredMove(NamedTuple):
    """A move that the book knows in a position, with its score in discs for the side to move there."""

    move: int
    score: MoverScore


class BookView(NamedTuple):
    """The book's data about a position. Scores are in discs for the side to move; moves are on the board asked about.

    ``level`` is that of the position's searches; ``human`` says that the score was set by hand. ``links`` are the moves
    to positions in the book, best first; ``leaf`` is the best other move by its search of level ``leaf_level``. Moves
    without a score are left out. ``lower`` and ``upper`` bound the score; if ``score`` is None, they mean nothing.

    ``wins``, ``draws`` and ``losses`` count paths through the book to solved results, for the side to move; ``lines``
    counts the paths that leave the book. ``results`` has the wins, draws and losses of games through the position, for
    the side to move. ``inside`` is False if the position itself is not stored but some of its moves lead into the book.
    If ``registered``, the book plays only the moves in ``links``, if there are any.
    """

    level: int
    human: bool
    score: MoverScore | None
    lower: MoverScore
    upper: MoverScore
    wins: int
    draws: int
    losses: int
    lines: int
    links: list[ScoredMove]
    leaf: ScoredMove | None
    leaf_level: int
    results: Results
    inside: bool
    registered: bool

    def playable_on(self, position: Position) -> list[ScoredMove]:
        """Return the moves that the book may play in the position asked about, best first."""
        return self.links if self.registered and self.links else self.moves_on(position)

    def moves_on(self, position: Position) -> list[ScoredMove]:
        """Return all scored moves of the position asked about, best first; the leaf stands for its mirror images."""
        leaf, leaves = self.leaf, list[ScoredMove]()
        if leaf is not None:
            # Imported late: the first prompt needs no games.
            from desdaemon.protocol.games.judgement import equivalents

            images = [leaf.move] if leaf.move == rules.PASS else rules.squares(equivalents(position, leaf.move))
            leaves = [ScoredMove(move, leaf.score) for move in images]
        return sorted([*self.links, *leaves], key=lambda move: (-move.score, move.move))


class Books:
    """The one book of the process. Every method may be called from any thread."""

    def __init__(self, jobs: BookJobs, *, scheduler: Scheduler | None = None, data_folder: str | None = None) -> None:
        """``scheduler`` gives the searches of jobs their turns; without a scheduler they begin at once. Remote clients'
        files are in ``data_folder``; if it is None, they may name no files.
        """
        self.jobs = jobs
        self.scheduler = scheduler
        self.journal: JobJournal | None = None
        """Files of the jobs that outlive the process; None without a server."""
        self._data_folder = data_folder
        self.opened: Opened | None = None
        """The book in use with its store and format; None before the first one."""
        self.path: Path | None = None
        """The file that the book was opened from or saved to; None for a new book."""
        self.opening_job: BookJob | None = None
        """The job that `running.begin_opening` started, if it was called."""
        self.opening_file = ""
        self._lock = threading.Lock()
        self._weights: dict[str, Weights] = {}
        self._rng: tuple[int, Random] | None = None

    @cached_property
    def files(self) -> Files:
        """The resolver of file names; made, and its module imported, when first used."""
        from .allowed_files import Files

        return Files(self._data_folder)

    # The book

    @property
    def book(self) -> Book | None:
        """The book in use; None if there is none yet."""
        opened = self.opened
        return opened.book if opened is not None else None

    @property
    def store(self) -> Store | None:
        """The file of the book in use with its journal; None for a book without a journal, and without a book."""
        opened = self.opened
        return opened.store if opened is not None else None

    @property
    def lasting(self) -> bool:
        """Whether changes of the book in use are written to a journal at once."""
        store = self.store
        return store is not None and not store.read_only

    @property
    def file(self) -> str:
        """The name of the book's file; "" if it has none."""
        return str(self.path) if self.path is not None else ""

    @property
    def holder(self) -> int:
        """The process id of another process that has locked the book's file; 0 if none has."""
        store = self.store
        return store.holder if store is not None else 0

    def needed(self) -> Book:
        """Return the book in use. Raises `NoBook` if there is none."""
        book = self.book
        if book is None:
            raise NoBook
        return book

    @property
    def opening(self) -> bool:
        """Whether `running.begin_opening` has begun and not finished."""
        return self.opening_job is not None and not self.opening_job.over

    def ready(self, abandoned: Callable[[], bool] = lambda: False) -> Book | None:
        """Wait until `running.begin_opening`, if it was called, has ended. Returns the book in use or None.

        ``abandoned`` is called at intervals; once it returns true, raises `Abandoned`.
        """
        job = self.opening_job
        while job is not None and not job.wait(_POLL_S):
            if abandoned():
                raise Abandoned
        return self.book

    def use(self, opened: Opened, path: Path | None) -> None:
        """Use another book from now on. The journal of the book used so far is written into its file, and the file
        closed. Without a journal its unsaved changes are lost: call `check_unsaved` before. ``path`` is the new book's
        file, None if it has none; data beyond the memory limit goes into a file beside it if its folder can be written.

        Raises `WriteFailed` if the journal of the book used so far cannot take its last changes; the new book is in use
        then.
        """
        opened.observe(path)
        replaced, self.opened, self.path = self.opened, opened, path
        if replaced is not None and replaced.store is not None and replaced.store is not opened.store:
            _put_away(replaced.store)

    @property
    def failure(self) -> str:
        """Why changes of a book with a journal are only in memory; "" if there are no such changes, or no journal."""
        store = self.store
        return store.failure if store is not None else ""

    @property
    def reason(self) -> str:
        """Why the book's file takes no changes at present; "" if it takes them or there is no file."""
        opened = self.opened
        if opened is None or opened.store is None:
            return opened.refusal if opened is not None else ""
        store = opened.store
        return store.failure or (store.reason if store.read_only else "")

    @property
    def unsaved(self) -> bool:
        """Whether closing the book in use would lose changes."""
        opened = self.opened
        return opened is not None and opened.unsaved

    def check_unsaved(self, *, discard: bool) -> None:
        """Commit what can be committed, then raise `BadInput` if replacing the book in use would lose changes. With
        ``discard`` give them up instead.
        """
        self.try_commit()
        opened = self.opened
        if opened is None or not self.unsaved:
            return
        if discard:
            if opened.store is not None:
                opened.store.rescued()
        elif opened.store is not None:
            raise BadInput(
                f"{self.file}: its last changes are only in memory: {self.failure}: make room, or keep them by "
                "book save FILE or book export FILE first; --discard drops them"
            )
        else:
            name = self.file or f"the book in use, {plural(len(opened.book), 'position')}"
            wanted = "book save" if self.file else "book save FILE"
            raise BadInput(f"{name}: unsaved changes: {wanted} keeps them, --discard drops them")

    def keep_aside(self, opened: Opened, path: Path | None) -> str:
        """Save ``opened``, a book with unsaved changes that is replaced or closed, in a new file ``NAME.unsaved-N``
        beside ``path``, the book's own file. If ``path`` is None, the new file is ``book.unsaved-N`` in the data
        folder, or without a data folder in the working directory. Returns a line with the file's name or the failure.
        """
        from pathlib import Path

        from desdaemon.book.front import BookError, write_native

        beside = path or Path(self._data_folder or ".") / "book"
        free = (beside.with_name(f"{beside.name}.unsaved-{number}") for number in itertools.count(1))
        target = next(name for name in free if not name.exists())
        name = str(path) if path is not None else "the book without a file"
        try:
            write_native(target, opened.book)
        except BookError as error:
            return escaped(f"{name}: unsaved changes are lost: {error}")
        return escaped(f"{name}: unsaved changes are kept in {target}")

    def target(self, path: Path) -> Path:
        """Return ``path`` if a command may write it. Raises `Forbidden` if it is one of the daemon's files or of a
        book's, see `Files.check_target`.
        """
        store = self.store
        for own in (store.path, store.base or store.path) if store is not None else (None,):
            self.files.check_target(path, own)
        return path

    def close(self, *, discard: bool = False) -> list[str]:
        """Close the book. `BookJobs.close` must be called first: a book's journal is written into its file only if no
        job is active. Unsaved changes of a book without a journal are saved by `keep_aside`, unless ``discard``.

        Returns remarks for the log.
        """
        opened, self.opened = self.opened, None
        if opened is None:
            return []
        if opened.store is None:
            return [self.keep_aside(opened, self.path)] if opened.unsaved and not discard else []
        from desdaemon.book.front import BookError

        try:
            if self.jobs.active:
                opened.store.close()
            else:
                _put_away(opened.store)
        except BookError as error:
            return [str(error)]
        return []

    # Look-ups

    def look_up(self, player: int, opponent: int) -> BookView | None:
        """Return the book's data about a position, with moves of this board; None if there is no book, or it has
        neither the position nor any position after a move.

        Takes microseconds, even while a job changes the book.
        """
        book = self.book
        if book is None:
            return None
        with book.table.lock:
            entry = book.view(player, opponent)
            if entry is None:
                return None
            moves = [move for move in book.moves_on(player, opponent) if move.scored]
            row = book.table.find(player, opponent)
            results = book.table.results(row)
        leaf = [ScoredMove(move.move, move.score) for move in moves if not move.linked]
        return BookView(
            entry.level,
            entry.human,
            MoverScore(entry.score) if -64 <= entry.score <= 64 else None,
            MoverScore(entry.lower),
            MoverScore(entry.upper),
            *entry[2:6],
            [ScoredMove(move.move, move.score) for move in moves if move.linked],
            leaf[0] if leaf else None,
            entry.leaf_level,
            results,
            row >= 0,
            book.options.links_first,
        )

    def grade(self, player: int, opponent: int, progress: ProgressCallback) -> str:
        """Return a position's grade, A to F or AA to AF; "" if there is no book, or the position is outside it. Follows
        the best lines, which may take seconds, and begins again when a job changes the book. Raises what ``progress``
        raises.
        """
        from desdaemon.book.front import Grades

        return self._unchanged(lambda book: Grades(book).grade(player, opponent, progress=progress), "")

    def children(self, player: int, opponent: int, progress: ProgressCallback) -> list[ReportedMove]:
        """Return each legal move with its data and grade in the book; [] if there is no book, or the position is
        outside it. May take seconds, and begins again when a job changes the book. Raises what ``progress`` raises.
        """
        from desdaemon.book.front import Grades

        return self._unchanged(lambda book: Grades(book).children(player, opponent, progress=progress), [])

    def _unchanged(self, look: Callable[[Book], T], without: T) -> T:
        """Return what ``look`` returns of the book, or ``without`` if there is none. If a job adds or removes positions
        meanwhile, ``look`` is called again.
        """
        while (book := self.book) is not None:
            try:
                return look(book)
            except LookupError:
                time.sleep(_POLL_S)
        return without

    def line(self, player: int, opponent: int) -> list[int]:
        """Return the moves of the best line through the book from a position; [] if there is none."""
        book = self.book
        if book is None:
            return []
        from desdaemon.book.front import line

        return line(book, player, opponent)

    def choose(self, player: int, opponent: int, settings: SessionSettings) -> ScoredMove | None:
        """Return a move of the book in a position, chosen as ``settings`` say, perhaps at random. None if there is no
        book, if it has no move here, or if the settings forbid its use.
        """
        book = self.book
        if book is None or not settings.book_usage:
            return None
        # Imported late: a first move without a book would wait a tenth of a second for numpy.
        from desdaemon.book.front import choose

        wanted = choice_settings(settings)
        with book.table.lock:
            chosen = choose(book, player, opponent, wanted, self._generator(settings.book_seed))
        return ScoredMove(chosen.move, chosen.score) if chosen is not None else None

    def restart_choices(self) -> None:
        """Begin the random numbers for choices among book moves again from the seed."""
        with self._lock:
            self._rng = None

    def _generator(self, seed: int) -> Random:
        """Return the generator of random numbers for choices, started anew when ``seed`` changes; seed 0 starts it from
        the system's random numbers.
        """
        from random import Random

        with self._lock:
            if self._rng is None or self._rng[0] != seed:
                self._rng = seed, Random(seed or None)
            return self._rng[1]

    # For commands

    def tidy(self, progress: ProgressCallback) -> None:
        """Write the journal into the book's file if it has grown long, see `Store.bloated`. Raises `BookError` if that
        fails, and what ``progress`` raises.
        """
        store = self.store
        if store is not None and store.bloated:
            store.save(progress=progress)

    def commit(self) -> None:
        """Write changes of a book with a journal to the disk. Raises `BookError` if that fails."""
        store = self.store
        if store is not None:
            store.commit()

    def try_commit(self) -> None:
        """Write changes of a book with a journal to the disk if possible; if not, `failure` says why."""
        from desdaemon.book.front import BookError

        with contextlib.suppress(BookError):
            self.commit()

    def limit_memory(self, settings: SessionSettings) -> None:
        """Limit the memory for the book's data to the option `book-memory`, in MiB; 0: no limit."""
        from desdaemon.book.front import ARENA

        ARENA.limit = settings.book_memory << 20

    def weights_of(self, eval_file: str) -> Weights:
        """Return the weights in ``eval_file`` ("" for the default) for book searches; only the last file asked for
        stays loaded. Raises `Unfinished` if it cannot be loaded.
        """
        from desdaemon.engine.evaluation.weights import Weights, WeightsError

        with self._lock:
            if eval_file not in self._weights:
                try:
                    self._weights = {eval_file: Weights.load(eval_file or None)}
                except WeightsError as error:
                    raise Unfinished(str(error)) from None
            return self._weights[eval_file]


def _put_away(store: Store) -> None:
    """Write a store's journal into its book's file, if possible, and close the file. Raises `WriteFailed` if changes
    are lost.
    """
    from desdaemon.book.front import BookError

    with contextlib.suppress(BookError, OSError):
        store.fold()
    store.close()


def choice_settings(settings: SessionSettings) -> MoveChoice:
    """Return the settings for choosing book moves, from a dialogue's options."""
    from desdaemon.book.front import MoveChoice

    return MoveChoice(
        settings.book_choice,
        settings.book_randomness,
        settings.book_reject / 100,
        settings.book_least_level,
        settings.book_registered_only,
    )
