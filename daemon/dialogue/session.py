"""One player's session: game, options, clocks, engine and book. Each protocol is a thin layer over it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.core.search.loader import (
    Abandoned,
    EngineConfig,
    EngineFailure,
    Engines,
    LoadedEngine,
    Progress,
    TooLate,
)
from desdaemon.core.settings import SessionSettings
from desdaemon.protocol import satellites
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import (
    START,
    Position,
    board_doubts,
    illegal_move,
    parse_board,
    play_moves,
    square_text,
)
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.rows import ADMIN, Chooser, Option, load

from .clock import Clock, MoveOverhead, move_limits
from .game import PlayedGame
from .interrupt import Interrupt, StoppableSearch
from .streams import DialogueOutput

if TYPE_CHECKING:
    from desdaemon.core.books.service import Books, BookView
    from desdaemon.core.search.scheduler import Scheduler
    from desdaemon.core.search.workers import HelperPool
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Result
    from desdaemon.protocol.games.records import GameRecord

    from .log_files import SearchLog


_NEVER = float("inf")  # `math` would be one more library to load before the first prompt.

FAST_MS = 1000
"""Ms for a move below which a game counts as fast."""


class KnownMove(NamedTuple):
    """A book move; ``score`` is in discs for the side to move."""

    move: int
    score: MoverScore
    line: tuple[int, ...]
    """The move and the best play after it."""
    level: int
    """Search level of the position before the move."""
    lines: int
    """Number of lines of play behind the move in the book."""


class Session:
    """The state behind a dialogue. For one thread at a time, except ``interrupt``, which any thread may use."""

    def __init__(
        self,
        settings: SessionSettings,
        engines: Engines,
        *,
        books: Books | None = None,
        scheduler: Scheduler | None = None,
    ) -> None:
        """``books`` and ``scheduler`` are shared with other sessions. Without a scheduler a search begins at once."""
        self.settings = settings
        self.engines = engines
        self.name = "text"
        """Name of the client in lists of jobs."""
        self.role = ADMIN
        self.remote = False
        """Whether the client is remote: file names that it gives are resolved in the data folder."""
        self.books = books
        self.scheduler = scheduler
        self.helpers: HelperPool | None = None
        """Idle threads that may join this session's searches; with None no thread may."""
        self.game = PlayedGame()
        self.interrupt = Interrupt()
        self.engine_ready = False
        """Whether an engine was loaded at least once."""
        self.on_game_over: Callable[[], None] = lambda: None
        """Called when a move has ended the game."""
        self.search_log: SearchLog | None = None
        self.clocks: dict[bool, Clock] = {}
        """Clocks that the other end keeps, Black's under True, White's under False; a side without one has no limit."""
        self.overhead = MoveOverhead()
        self._opening: list[tuple[Position, int]] = []
        """The opening line to follow: positions, each with the move there."""
        self._clock_from = (0.0, 0.0)
        """Thinking time of Black and White, ms, when the game clock was set."""
        self._expected: tuple[Position, int | None] | None = None
        """The position after the engine's last move, and the reply that its search expects."""

    # The game

    def init(self) -> None:
        """Set up the standard start and forget the opening line."""
        self.start(START)

    def new(self) -> None:
        """Return to this game's initial position, with full game clocks; the opening line stays."""
        self.game.restart()
        self._clock_from = (0.0, 0.0)

    def set_board(self, text: str) -> list[str]:
        """Start a game from the board that ``text`` spells. Returns warnings about it. Raises `BadInput` if it is no
        board.
        """
        position = parse_board(text)
        self.start(position)
        return board_doubts(position)

    def load(self, record: GameRecord) -> None:
        """Replace the game by a record, whose moves must be legal, and forget the opening line."""
        self.start(record.initial)
        for played in record.moves:
            self.game.play(played.move)

    def start(self, position: Position) -> None:
        """Start a game from a position and forget the opening line."""
        self.game.start(position)
        self._opening = []
        self._clock_from = (0.0, 0.0)

    def play_move(self, move: int) -> None:
        """Play a move; a pass must be forced. Calls ``on_game_over`` if that ends the game. Raises `BadInput` if the
        move is illegal.
        """
        try:
            self.game.play(move)
        except rules.IllegalMove:
            raise BadInput(illegal_move(self.game.position, move)) from None
        if self.game.position.over:
            self.on_game_over()

    def undo(self, times: int = 1) -> bool:
        """Take back ``times`` moves, or twice as many plies in modes 0 and 1. Returns False, changing nothing, if there
        are fewer.
        """
        return self._repeat(self.game.undo, times, len(self.game.moves))

    def redo(self, times: int = 1) -> bool:
        """Play again ``times`` moves that were taken back, as `undo` counts them. Returns False, changing nothing, if
        there are fewer.
        """
        return self._repeat(self.game.redo, times, self.game.taken_back)

    def _repeat(self, step: Callable[[], bool], times: int, there: int) -> bool:
        each = 2 if self.settings.mode in (0, 1) else 1
        # The last of the moves may be a single ply: the first of the game.
        if there <= (times - 1) * each:
            return False
        for _ in range(min(times * each, there)):
            step()
        return True

    def transform(self, symmetry: int, swap_colours: bool = False) -> None:
        """Turn the game by a symmetry of `rules.transform`; with ``swap_colours`` exchange the colours, and the times
        left on the game clocks. The opening line need not be turned: it is compared in all orientations.
        """
        self.game.transform(symmetry, swap_colours)
        if swap_colours:
            self._clock_from = self._clock_from[::-1]

    @property
    def own_turn(self) -> bool:
        """Whether the engine plays the side to move, by the option `mode`; False when the game is over."""
        mode, position = self.settings.mode, self.game.position
        return (mode == 2 or mode == (0 if not position.black_to_move else 1)) and not position.over

    # Opening line

    def force(self, moves: list[int]) -> None:
        """Set the opening line, which `go` follows from the game's initial position, to ``moves``; [] ends it. Raises
        `BadInput`, changing nothing, for an illegal move.
        """
        position = self.game.initial
        line = []
        for move in play_moves(position, moves).moves:
            line.append((position, move))
            position = position.after(move)
        self._opening = line

    def opening_move(self) -> int | None:
        """Return the opening line's move on this board, which may be a mirror image of the line's; None if the line has
        no move here.
        """
        here = self.game.position
        player, opponent, symmetry = rules.canonical_with_symmetry(here.player, here.opponent)
        for position, move in self._opening:
            line_player, line_opponent, line_symmetry = rules.canonical_with_symmetry(
                position.player, position.opponent
            )
            if (line_player, line_opponent) == (player, opponent) and position.black_to_move == here.black_to_move:
                canonical_move = rules.transform_move(move, line_symmetry)
                return rules.transform_move(canonical_move, rules.INVERSE_SYMMETRY[symmetry])
        return None

    # Options and clocks

    def set_option(self, option: Option, text: str) -> None:
        """Set an option. The option `game-time` fills both sides' game clocks, and `book-seed` restarts the choices
        among book moves. Raises `BadInput`, changing nothing, if ``text`` is no valid value.
        """
        self.settings.set(option, text)
        if option.name == "game-time":
            self._clock_from = (self.game.black_ms, self.game.white_ms)
        if option.name == "book-seed" and self.books is not None:
            self.books.restart_choices()

    def remaining_ms(self, black: bool) -> float:
        """Return how much is left of the option `game-time` for Black (``black``) or White, ms; below 0 if
        overdrawn.
        """
        used = self.game.black_ms - self._clock_from[0] if black else self.game.white_ms - self._clock_from[1]
        return self.settings.game_time - used

    # The engine

    @property
    def config(self) -> EngineConfig:
        """The configuration of the engine that the options ask for. If ``helpers`` is set, it has one thread, and idle
        threads may join.
        """
        threads, guests = self.settings.threads, 0
        if self.helpers is not None:
            threads, guests = 1, self.helpers.most(0)
        return EngineConfig(threads, self.settings.hash_table_size, self.settings.eval_file, guests)

    def open_book(self, on_note: Callable[[str], None]) -> None:
        """Start to open the book that the options name, if any; ``on_note`` is called with each warning."""
        if self.books is not None and self.settings.book_file:
            from desdaemon.core.books.running import begin_opening

            begin_opening(self.books, self.settings.book_file, self.settings, on_note)

    def prepare(self, on_failure: Callable[[str], None] | None = None) -> None:
        """Start to load the engine; ``on_failure`` is called with the reason if that fails."""
        self.engines.prepare(self.config, on_failure)

    def engine(self, search: StoppableSearch | None = None, until: float = _NEVER) -> LoadedEngine:
        """Wait until the engine is loaded and return it.

        Raises `EngineFailure`, `Abandoned` if ``search`` is abandoned, `TooLate` at the time ``until``
        (`time.perf_counter`).
        """
        with _given_up_at(search, until) as given_up:
            engine = self.engines.get(self.config, given_up)
        self.engine_ready = True
        return engine

    @contextmanager
    def _slots(self, search: StoppableSearch, until: float) -> Iterator[None]:
        """Return a context manager: within the block the caller has search threads of the scheduler, if there is one.
        Entering waits for them; it raises `Abandoned` if ``search`` is abandoned before, and `TooLate` at the time
        ``until`` (`time.perf_counter`).
        """
        with ExitStack() as stack:
            if self.scheduler:
                wanted = min(self.config.threads, self.scheduler.slots)
                with _given_up_at(search, until) as given_up:
                    from desdaemon.core.metrics import account_of
                    from desdaemon.core.search.scheduler import Lease, Purpose

                    purpose = Purpose.IDLE if search.idle else Purpose.INTERACTIVE
                    lease = Lease(purpose, account_of(self.name), self.name, search.stop, threads=wanted)
                    stack.enter_context(self.scheduler.turn_of(lease, given_up))
            yield

    def _helped(self, engine: LoadedEngine) -> AbstractContextManager[Callable[[], None] | None]:
        """Return a context manager: within the block idle threads may join a search on ``engine``. Pass the block's
        value to the search as ``welcome``; it is None if no thread may join.
        """
        if self.helpers is None:
            return nullcontext()
        from desdaemon.core.metrics import account_of

        return self.helpers.helped(engine, self.settings.threads, account_of(self.name))

    def limits(self, position: Position, *, clocks: bool = True) -> Limits:
        """Return the limits that the options set for a search and, with ``clocks``, the clock of the side to move."""
        black = position.black_to_move
        clock = self.clocks.get(black) if clocks else None
        return move_limits(self.settings, position.empties, self.remaining_ms(black), self.overhead, clock)

    def search(
        self,
        position: Position,
        limits: Limits,
        *,
        multipv: int = 1,
        allow: int = rules.FULL,
        progress: Progress | None = None,
        attempts: Progress | None = None,
        window: tuple[int, int] | None = None,
        patient: bool = True,
    ) -> Result:
        """Search a position, in ``window`` (discs) or that of the options.

        ``progress`` is called with finished iterations, ``attempts`` with searches that ended with a bound only;
        ``allow`` is a mask of moves. Waiting for the engine and for threads counts as search time.

        Raises `EngineFailure`, `Abandoned`, and, unless ``patient``, `TooLate` if the engine or the threads are not
        there within the time in ``limits``; in a fast game on a clock (`FAST_MS`) the engine is not waited for at all.
        """
        begun = time.perf_counter()
        hurried = bool(limits.time_ms) and not patient
        for_engine = begun + self._patience_ms(position, limits.time_ms) / 1000 if hurried else _NEVER
        for_slots = begun + limits.time_ms / 1000 if hurried else _NEVER
        alpha, beta = window or (self.settings.alpha, self.settings.beta)
        with self.interrupt.searching(limits.bounded) as search:
            if self.interrupt.expired:
                raise Abandoned
            engine = self.engine(search, for_engine)
            with (
                self._slots(search, for_slots),
                search.control(engine.new_control()) as control,
                self._helped(engine) as welcome,
            ):
                limits = _rest(limits, begun)
                entry = self.search_log.begin(position, limits, progress, attempts) if self.search_log else None
                result = engine.searcher.search(
                    position.player,
                    position.opponent,
                    limits,
                    multipv=multipv,
                    allow=allow,
                    alpha=alpha,
                    beta=beta,
                    control=control,
                    progress=entry.progress if entry else progress,
                    attempts=entry.attempt if entry else attempts,
                    welcome=welcome,
                )
                if entry:
                    entry.finish(result)
                return result

    def _patience_ms(self, position: Position, time_ms: int) -> int:
        """Return how many ms a search limited to ``time_ms`` may wait for an engine that is being loaded.

        It is 0 in a fast game with a clock: the engine would hardly be loaded in time, and later moves need the time.
        """
        on_clock = bool(self.settings.game_time) or position.black_to_move in self.clocks
        return 0 if on_clock and time_ms < FAST_MS else time_ms

    # The book

    def look_up(self, position: Position, until: float = _NEVER) -> BookView | None:
        """Wait until the book's file is open, or until a stop, or until ``until`` (`time.perf_counter`). Returns the
        book's data about a position; None if it has none, there is no book, or the option `book-usage` is off.
        """
        if self.books is None or not self.settings.book_usage:
            return None
        if self.books.opening:
            with self.interrupt.searching(bounded=True) as search, suppress(Abandoned):
                self.books.ready(lambda: search.stopped or time.perf_counter() >= until)
        return self.books.look_up(position.player, position.opponent)

    def known_moves(self, position: Position, most: int) -> Iterator[KnownMove]:
        """Yield the best ``most`` moves that the book may play in a position, best first. Waits until the book's file
        is open, or until a stop.
        """
        entry = self.look_up(position)
        if entry is None or self.books is None:
            return
        for move, score in entry.playable_on(position)[:most]:
            after = position.after(move)
            line = (move, *self.books.line(after.player, after.opponent))
            next_entry = self.books.look_up(after.player, after.opponent)
            yield KnownMove(move, score, line, entry.level, next_entry.lines if next_entry else 0)

    def _book_move(self, position: Position, limits: Limits) -> tuple[int, Result | None] | None:
        """Return the book's move and None, or None alone if the book has no move to play. With the option `book-check`
        a search within ``limits`` may find a better move, which is then returned with its result.

        A book that is still being opened is waited for no longer than an engine that is being loaded would be.
        """
        until = time.perf_counter() + self._patience_ms(position, limits.time_ms) / 1000 if limits.time_ms else _NEVER
        entry = self.look_up(position, until)
        if entry is None or self.books is None:
            return None
        chosen = self.books.choose(position.player, position.opponent, self.settings)
        if chosen is None:
            return None
        others = position.moves & ~sum(1 << link.move for link in entry.links)
        if self.settings.book_check and others:
            if entry.leaf is not None and entry.leaf_level >= self.settings.level:
                return max(chosen, entry.leaf, key=lambda move: move.score).move, None
            # Without an engine in time nothing is known against the book's move.
            with suppress(TooLate):
                result = self.search(position, limits, allow=others, patient=False)
                if result.lines and result.lines[0].score > chosen.score:
                    return result.lines[0].move, result
        return chosen.move, None

    def await_book(self) -> None:
        """Wait until the book's file is open, even after a stop; give up once the program at the other end has gone."""
        if self.books is not None:
            with suppress(Abandoned):
                self.books.ready(lambda: self.interrupt.expired)

    # Moves

    def suggest(self, position: Position, limits: Limits, progress: Progress | None = None) -> int:
        """Return the move that the engine would play, as `choose` finds it; game and clocks do not change.

        The position must have a legal move. If the engine is not loaded in time, or the search is stopped within its
        first iteration, the move is `stopgap_move`. Raises `EngineFailure` and `Abandoned`.
        """
        begun = time.perf_counter()
        chosen = self._chosen(position, limits, begun)
        if chosen is not None:
            return chosen
        with self.interrupt.searching(limits.bounded):
            booked = self._book_move(position, limits)
            if booked is not None:
                return booked[0]
            try:
                result = self.search(position, _rest(limits, begun), progress=progress, patient=False)
            except TooLate:
                return stopgap_move(position)
        return stopgap_move(position) if _is_arbitrary(result) else result.lines[0].move

    def choose(
        self,
        progress: Progress | None = None,
        on_search: Callable[[], None] | None = None,
        attempts: Progress | None = None,
    ) -> tuple[int, Result | None]:
        """Return the engine's move on the board, without playing it, and the result of the search that found it, if
        any. The time of the search is taken off the clock of the side to move.

        A pass, the opening line, a `Chooser`'s move and the book need no search; ``on_search`` is called before any
        other move is searched. With a clock or a time for the move, an only move is searched one ply
        deep. If the engine is not loaded in time, or the search is stopped within its first iteration, the move is
        `stopgap_move`, and None is returned for the search. The game must not be over. Raises `EngineFailure` and
        `Abandoned`.
        """
        position = self.game.position
        if position.must_pass:
            return rules.PASS, None
        forced = self.opening_move()
        if forced is not None:
            return forced, None
        begun = time.perf_counter()
        limits = self.limits(position)
        chosen = self._chosen(position, limits, begun)
        if chosen is not None:
            self._charge(position, limits.time_ms, begun)
            return chosen, None
        # In one context, so that one stop ends the wait for the book and the search.
        with self.interrupt.searching(limits.bounded):
            booked = self._book_move(position, limits)
            if booked is not None:
                return booked
            if on_search is not None:
                on_search()
            return self._searched_move(position, limits, begun, progress, attempts)

    def _searched_move(
        self, position: Position, limits: Limits, begun: float, progress: Progress | None, attempts: Progress | None
    ) -> tuple[int, Result | None]:
        planned = limits.time_ms
        timed = self.settings.timed or position.black_to_move in self.clocks
        if timed and position.moves.bit_count() == 1:
            limits = limits._replace(depth=min(1, limits.depth))
        try:
            left = _rest(limits, begun)
            result = self.search(position, left, progress=progress, attempts=attempts, patient=False)
        except TooLate:
            return stopgap_move(position), None
        finally:
            self._charge(position, planned, begun)
        line = result.lines[0]
        if _is_arbitrary(result):
            return stopgap_move(position), None
        self._expected = position.after(line.move), line.pv[1] if len(line.pv) > 1 else None
        return line.move, result

    @property
    def chooser(self) -> Chooser | None:
        """Who chooses the engine's moves instead of book and search; None if they do."""
        rows = (row for satellite in satellites.present("choosers") for row in satellite.choosers)
        return next((row for row in rows if self.settings.value(row.option, object)), None)

    def _chosen(self, position: Position, limits: Limits, begun: float) -> int | None:
        """Return the move of the `Chooser` within what is left of ``limits`` since ``begun``, None if there is none or
        it leaves the choice. If the engine is not loaded in time a chooser that searches leaves it, for another the
        move is `stopgap_move`. Raises `EngineFailure` and `Abandoned`.
        """
        chooser = self.chooser
        if chooser is None:
            return None
        until = begun + self._patience_ms(position, limits.time_ms) / 1000 if limits.time_ms else _NEVER
        # The first engine of all is compiled for a minute: a stop ends that wait.
        with self.interrupt.searching(bounded=True) as search:
            try:
                self.engine(search, until)
            except TooLate:
                return None if chooser.searches else stopgap_move(position)
        move: int | None = load(chooser.function)(self, position, _rest(limits, begun))
        return move

    def _charge(self, position: Position, planned: int, begun: float) -> None:
        """Add the ms since ``begun`` (`time.perf_counter`) to the thinking time of the side to move, take them off its
        clock if it has one, and note how late the move is that should have taken ``planned`` ms, if that is not 0.
        """
        spent = (time.perf_counter() - begun) * 1000
        if planned:
            self.overhead.note(spent - planned)
        self.game.charge(position.black_to_move, spent)
        if position.black_to_move in self.clocks:
            self.clocks[position.black_to_move].spend(spent)

    def ponder(self) -> None:
        """With the option `ponder`, search the position after the expected reply until a line arrives. Does nothing if
        the engine's last move was not searched or the board has changed since; failures are ignored.

        The results stay in the transposition table.
        """
        if not self.settings.ponder or self._expected is None or self._expected[0] != self.game.position:
            return
        after, reply = self._expected
        position = after if reply is None else after.after(reply)
        if not position.over:
            with suppress(Abandoned, EngineFailure, MemoryError):
                self.search_idly(position)

    def search_idly(self, position: Position, progress: Progress | None = None) -> Result:
        """Search a position to the end of the game, or until a line arrives or the input ends. Returns the result as
        far as it came; raises `EngineFailure` and `Abandoned`.
        """
        limits = unlimited(position)
        with self.interrupt.searching(limits.bounded, idle=True):
            return self.search(position, limits, window=(-64, 64), progress=progress)


@contextmanager
def _given_up_at(search: StoppableSearch | None, until: float) -> Iterator[Callable[[], bool]]:
    """Return a context manager for a wait that ends once ``search`` is abandoned, and at the time ``until``
    (`time.perf_counter`) at the latest. The block's value is a function that returns whether to give up: pass it to the
    wait. If the wait raises `Abandoned` although ``search`` was not abandoned, the block raises `TooLate` instead.
    """

    def given_up() -> bool:
        return (search is not None and search.abandoned) or time.perf_counter() >= until

    try:
        yield given_up
    except Abandoned:
        if search is None or not search.abandoned:
            raise TooLate from None
        raise


def _rest(limits: Limits, begun: float) -> Limits:
    """Return limits without the time that has passed since ``begun`` (`time.perf_counter`)."""
    if not limits.time_ms:
        return limits
    return limits._replace(time_ms=max(1, limits.time_ms - int((time.perf_counter() - begun) * 1000)))


def unlimited(position: Position) -> Limits:
    """Return limits that search to the end of the game, however long it takes."""
    from desdaemon.engine.limits import Limits

    return Limits(position.empties)


def _is_arbitrary(result: Result) -> bool:
    """Return whether the search was stopped before the end of its first iteration, so that its move is arbitrary."""
    return not result.complete and not result.lines[0].depth


def stopgap_move(position: Position) -> int:
    """Return a move chosen without an engine: a corner if possible, else the move that opens the fewest corners to the
    opponent; among equal moves the one that leaves the opponent the fewest moves.

    The position must have a legal move.
    """

    def cost(move: int) -> int:
        after = position.after(move)
        corners = after.moves & rules.CORNERS
        return 64 * corners.bit_count() + after.moves.bit_count() - (1000 if rules.CORNERS >> move & 1 else 0)

    return min(rules.squares(position.moves), key=cost)


class CommandContext:
    """A dialogue as its commands see it: session, output and warnings. For one thread."""

    def __init__(self, session: Session, output: DialogueOutput) -> None:
        self.session = session
        self.settings = session.settings
        self.output = output
        self.leaving: int | None = None
        """The exit status; None until the dialogue shall end."""
        self.moved = False
        """Whether moves were played since the dialogue last checked for the end of the game."""
        self.warned = False
        """Whether any warning was printed."""
        self.shows_boards = False
        """Whether the board, and that the game is over, is shown before each prompt."""
        self.paged: Callable[[str], bool] = lambda text: False
        """Shows a text in a pager; returns False if it has not."""
        self.show_progress: Callable[[str], None] | None = None
        """Rewrites the line of progress, and clears it with ""; None if only a terminal can show the progress."""
        self.typed_pass = ""
        """The pass as the user last typed it: ``PA`` or ``PS``; "" before."""

    def say(self, text: str) -> None:
        """Print text, of one or more lines, at once; a line end is added."""
        self.output.write(text + "\n")
        self.output.flush()

    def announced(self, move: int) -> str:
        """Return a move as this dialogue writes it: a square, or the pass that the option `pass-name` names. With
        `auto` a pass is written as the user last typed it; before that it is ``PS`` with `edax-compatible`, else
        ``PA``.
        """
        if move != rules.PASS:
            return square_text(move)
        # Edax's forks write the pass differently, and many programs expect that of the fork they were made with.
        if self.settings.pass_name == "auto":
            return self.typed_pass or ("PS" if self.settings.edax_compatible else "PA")
        return self.settings.pass_name.upper()

    def warn(self, message: str) -> None:
        """Print a warning, and set ``warned``."""
        self.warned = True
        self.output.error(f"WARNING: {message}")


Handler = Callable[[CommandContext, str], None]
"""Carries out a command; gets the text after its name. Raises `BadInput`, changing nothing, and what searches raise."""
