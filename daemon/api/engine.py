"""The engine in this process: evaluations, analyses of one board or many, look-ups in a book."""

from __future__ import annotations

import math
import operator
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from desdaemon.core.paths import named
from desdaemon.protocol import satellites
from desdaemon.protocol.commands.options import BUILTIN_BOOK
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.judgement import JudgedMove, SearchedMove, as_played
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import move_text, parse_move, parse_moves
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import MAX_LEVEL, SELECTIVITIES, Selectivity
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.interpreter import SIGNALS_S, WITHOUT_LOCK, awaited, has_global_lock
from desdaemon.protocol.system.processors import processors
from desdaemon.protocol.system.terminal import ProgressLine

from .board import Board
from .results import Analysis, BookEntry, BookMove, MoveLine, Score

if TYPE_CHECKING:
    from pathlib import Path

    from desdaemon.book.front import Book
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Line as FoundLine
    from desdaemon.engine.search import Control, Searcher

T = TypeVar("T")
R = TypeVar("R")

_MOST_THREADS, _MOST_NODES, _MOST_S = 1024, 10**15, 10**6
_MANY = 10**9
"""Most plies or lines to ask for; there are no more than the board has."""

_MANY_HASH_BITS = 18
_AHEAD = 4
"""Boards that `Engine.analyze_many` reads ahead for each of its threads."""


class Engine:
    """A search with its tables. Close it, or use it in a ``with`` statement, to end its searches.

    ``level`` (0 to 60) applies to searches that give no other. ``threads`` (default: all processors) search together,
    or in `analyze_many` a board each. The table has 2**``hash_bits`` entries of 16 bytes. ``eval_file`` names other
    weights, ``book`` a file of any book format, or ``builtin`` for the book that ships. The book is only read. With a
    ``strength``, a rating that the option `strength` takes, `best_move` errs as people of that rating do. The first
    engine on a machine compiles its kernels, which takes about a minute and is reported on standard error.

    A board may be given as the text that `Board` reads. Any thread may call the methods; searches of one engine take
    turns, except in `analyze_many`. Raises `BadInput` (a `ValueError`) for arguments that cannot be used.
    """

    def __init__(
        self,
        *,
        level: int = 16,
        threads: int | None = None,
        hash_bits: int = 20,
        eval_file: str | Path | None = None,
        book: str | Path | None = None,
        strength: int = 0,
    ) -> None:
        from desdaemon.engine.compiler import library
        from desdaemon.engine.evaluation.weights import Weights, WeightsError
        from desdaemon.engine.exports import SPEC
        from desdaemon.engine.limits import MAX_HASH_BITS, MIN_HASH_BITS
        from desdaemon.engine.search import Searcher

        if not has_global_lock():
            raise BadInput(WITHOUT_LOCK)
        self.level = _whole("level", level, 0, MAX_LEVEL)
        self.threads = _whole("threads", threads or 0, 0, _MOST_THREADS) or processors()
        hash_bits = _whole("hash_bits", hash_bits, MIN_HASH_BITS, MAX_HASH_BITS)
        library.load(SPEC, _compiler_progress())
        try:
            self._weights = Weights.load(str(named(eval_file)) if eval_file is not None else None)
        except (WeightsError, OSError) as error:
            raise BadInput(str(error)) from None
        try:
            self._searcher = Searcher(threads=self.threads, hash_bits=hash_bits, weights=self._weights)
        except (OSError, MemoryError) as error:
            raise BadInput(f"hash_bits {hash_bits}, threads {self.threads}: {error}") from None
        if strength:
            _rating("strength", strength)
        self.strength = strength
        self._book = _opened(book) if book is not None else None
        self._turn = threading.Lock()
        self._running: set[_Call] = set()
        self._closed = False

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all searches, which return their results so far. Later searches raise `BadInput`; evaluations and
        look-ups still work. A signal handler may call this.
        """
        self._closed = True
        self.stop()

    def stop(self) -> None:
        """End the running searches, which return their results so far. A signal handler may call this."""
        # Without a lock, which a signal handler could not get from the thread that it interrupts.
        for call in tuple(self._running):
            call.stop()

    # One board

    def evaluate(self, board: Board | str) -> Score:
        """Return the static evaluation, without a search: discs, with fractions, for the side to move. A finished game
        has its result.
        """
        board = Board.of(board)
        position = board.position
        if position.over:
            return Score(rules.final_score(position.player, position.opponent), board.side)
        self._expect_turn()
        with self._turn:
            return Score(self._searcher.evaluate(position.player, position.opponent), board.side)

    def analyze(
        self,
        board: Board | str,
        *,
        level: int | None = None,
        depth: int | None = None,
        selectivity: int | None = None,
        nodes: int = 0,
        time_s: float = 0.0,
        multipv: int = 1,
        allow: Iterable[str] | None = None,
    ) -> Analysis:
        """Search a board and return its best moves, ``multipv`` at most.

        The goal is a ``level``, or a ``depth`` (plies) with a ``selectivity`` (73, 87, 95, 98, 99 or 100 percent);
        ``nodes`` and ``time_s`` (seconds) limit the search, with a goal or alone. Without any of them the engine's
        level is the goal. ``allow`` lists the moves to search, by default all.
        """
        board = Board.of(board)
        how = {"level": level, "depth": depth, "selectivity": selectivity, "nodes": nodes, "time_s": time_s}
        limits, multipv, mask = self._asked(board, {**how, "multipv": multipv, "allow": allow})
        self._expect_turn()
        with self._call() as call, self._turn:
            return self._search(self._searcher, board, limits, multipv, mask, None, call)

    async def analyze_async(self, board: Board | str, **how: Any) -> Analysis:
        """Do as `analyze`, with arguments ``how``, without blocking the event loop; cancelling the task ends the
        search.
        """
        import asyncio

        board = Board.of(board)
        limits, multipv, allow = self._asked(board, how)
        self._expect_turn()
        with self._call() as call:

            def search() -> Analysis:
                with self._turn:
                    return self._search(self._searcher, board, limits, multipv, allow, None, call)

            return await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, search))

    def iterate(self, board: Board | str, **how: Any) -> Iterator[Analysis]:
        """Yield the results of a search as it goes on: one for each move and depth that is finished, with the nodes and
        time of that iteration, and at last the result of `analyze`. ``how`` are arguments of `analyze`. Leaving the
        loop ends the search; inside the loop `BadInput` is raised for another search or evaluation by this engine,
        which would wait for that end, unless it is of `analyze_many` or `judge_game`.
        """
        self._expect_turn()
        board = Board.of(board)
        limits, multipv, allow = self._asked(board, how)
        results: queue.SimpleQueue[tuple[bool, Analysis | BaseException]] = queue.SimpleQueue()
        lines: dict[int, FoundLine] = {}

        def progress(rank: int, line: FoundLine) -> None:
            lines[rank] = line
            by_score = sorted((lines[rank] for rank in sorted(lines)), key=lambda line: -line.score)
            moves = {line.move: line for line in reversed(by_score)}
            shown = sorted(moves.values(), key=lambda line: -line.score)
            results.put((False, _analysis(board, shown, line.nodes, line.time_ms, False)))

        def search(call: _Call) -> None:
            try:
                with self._turn:
                    results.put((True, self._search(self._searcher, board, limits, multipv, allow, progress, call)))
            except BaseException as error:
                results.put((True, error))

        with self._call() as call:
            _iterating.set(call)
            thread = threading.Thread(target=search, args=(call,), name="desdaemon search", daemon=True)
            thread.start()
            try:
                while True:
                    try:
                        last, result = results.get(timeout=SIGNALS_S)
                    except queue.Empty:
                        continue
                    if isinstance(result, BaseException):
                        raise result
                    yield result
                    if last:
                        return
            finally:
                call.stop()
                thread.join()

    def best_move(self, board: Board | str, **how: Any) -> str | None:
        """Return the best move by `analyze`, with arguments ``how``; ``"pa"`` for a forced pass, None if the game is
        over. With a `strength` the move is what the option `strength` plays.
        """
        board = Board.of(board)
        position = board.position
        if self.strength and position.moves:
            human_move = satellites.loaded("engine.people.moves:human_move")
            return _name(human_move(position.player, position.opponent, self.strength, 0, parse_moves(board.line)))
        best = self.analyze(board, **how).best
        return best.move if best else None

    def people(self, board: Board | str, rating: int) -> dict[str, float]:
        """Return how likely people of a rating are to choose each legal move, the likeliest first. They answer the last
        move of the board's line, if it has one. The ratings are those of the option `strength`.
        """
        chances = satellites.loaded("engine.people.moves:chances")
        board, rating = Board.of(board), _rating("rating", rating)
        position = board.position
        if not position.moves:
            return dict.fromkeys(board.legal, 1.0)
        found = chances(position.player, position.opponent, rating, parse_moves(board.line))
        return {_name(move): chance for move, chance in sorted(found.items(), key=lambda item: -item[1])}

    # Many boards

    def analyze_many(self, boards: Iterable[Board | str], **how: Any) -> Iterator[Analysis]:
        """Yield the analyses of many boards, in order; `threads` boards are searched at a time, on one thread each with
        a table of 2**18 entries. ``how`` are arguments of `analyze`.

        ``boards`` may be endless: only a few are read ahead. Leaving the loop ends the searches.
        """

        def search(searcher: Searcher, board: Board, call: _Call) -> Analysis:
            limits, multipv, allow = self._asked(board, how)
            return self._search(searcher, board, limits, multipv, allow, None, call)

        return self._spread(map(Board.of, boards), search)

    def judge_game(self, board: Board | str, *, book: bool = False, **how: Any) -> Iterator[JudgedMove]:
        """Yield a judgement of each move of a board's line, in order, without passes; `threads` searches run at a time.

        ``how`` are arguments of `analyze`, except ``allow``, for the best and the played move. With ``book`` the
        engine's book answers for the positions that it knows at the level in ``how`` or above, or at any level if
        ``how`` has none. Leaving the loop ends the searches; after `stop` no more moves come.
        """
        board = Board.of(board)
        history, moves = board.history, parse_moves(board.line)

        def judge(searcher: Searcher, ply: int, call: _Call) -> JudgedMove | None:
            board_before, move = history[ply], moves[ply]

            def searched(allow: list[str] | None) -> SearchedMove:
                of_book = self._book_move(board_before, move if allow else None, how.get("level")) if book else None
                if of_book is not None:
                    return of_book
                limits, multipv, mask = self._asked(board_before, {**how, "allow": allow})
                analysis = self._search(searcher, board_before, limits, multipv, mask, None, call)
                return searched_move(board_before, analysis.lines[0])

            best = searched(None)
            same = as_played(board_before.position, best, move)
            played = same or searched([_name(move)])
            # Scores of stopped searches cannot be compared.
            return None if call.stopped else JudgedMove(ply + 1, board_before.position, played, None if same else best)

        plies = [ply for ply, move in enumerate(moves) if move != rules.PASS]
        with self._call() as game, closing(self._spread(plies, judge)) as moves_judged:
            for judged in moves_judged:
                if judged is None or game.stopped:
                    return
                yield judged

    def _spread(self, items: Iterable[T], work: Callable[[Searcher, T, _Call], R]) -> Generator[R]:
        """Yield the result of ``work(searcher, item, call)`` for each item, in order. Up to `threads` calls run at a
        time, each with a searcher of its own.
        """
        from concurrent.futures import Future, ThreadPoolExecutor

        from desdaemon.engine.search import Searcher

        idle: queue.SimpleQueue[Searcher] = queue.SimpleQueue()
        for _ in range(self.threads):
            idle.put(Searcher(threads=1, hash_bits=_MANY_HASH_BITS, weights=self._weights))
        calls: set[_Call] = set()

        def run(item: T, call: _Call) -> R:
            searcher = idle.get()
            try:
                return work(searcher, item, call)
            finally:
                idle.put(searcher)
                calls.discard(call)
                self._running.discard(call)

        pool = ThreadPoolExecutor(self.threads, "desdaemon search")
        waiting: list[Future[R]] = []
        try:
            for item in items:
                call = self._begun()
                calls.add(call)
                waiting.append(pool.submit(run, item, call))
                if len(waiting) >= _AHEAD * self.threads:
                    yield awaited(waiting.pop(0))
            while waiting:
                yield awaited(waiting.pop(0))
        finally:
            for future in waiting:
                future.cancel()
            for call in tuple(calls):
                call.stop()
                self._running.discard(call)
            pool.shutdown()

    def analyze_game(self, board: Board | str, **how: Any) -> list[Analysis]:
        """Return analyses of all positions of a board's line, the first board's first; ``how`` is for `analyze`."""
        with closing(self.analyze_many(Board.of(board).history, **how)) as analyses:  # type: ignore[type-var]
            return list(analyses)

    # The book

    def look_up(self, board: Board | str) -> BookEntry | None:
        """Return the book's entry of a board; None if the book has none, or the engine no book."""
        board, book = Board.of(board), self._book
        if book is None:
            return None
        player, opponent, _ = board.position
        with book.table.lock:
            entry = book.view(player, opponent)
            if entry is None or not -64 <= entry.score <= 64:
                return None
            moves = [move for move in book.moves_on(player, opponent) if -64 <= move.score <= 64]
        book_moves = tuple(BookMove(_name(move.move), Score(move.score, board.side), move.linked) for move in moves)
        score = Score(entry.score, board.side)
        return BookEntry(board, score, entry.lower, entry.upper, entry.level, entry.lines, book_moves)

    def umigame(self, board: Board | str, depth: int = 60) -> tuple[int, int] | None:
        """Return how few lines of the book Black and White must know to keep the book's score of a board against every
        best reply, lines being at most ``depth`` moves long; None if the book has no move here, or the engine no book.

        Raises `BadInput` if best moves lead to more than a million positions.
        """
        board, book, depth = Board.of(board), self._book, _whole("depth", depth, 1, _MANY)
        player, opponent, black = board.position
        if book is None or not book.moves_on(player, opponent):
            return None
        numbers = satellites.loaded("book.umigame.numbers:UmigameNumbers")(book, board.position.empties - depth)
        found: tuple[int, int] = numbers.of(player, opponent).by_colour(black=black)
        return found

    def _book_move(self, board: Board, move: int | None, level: int | None) -> SearchedMove | None:
        """Return the book's ``move`` on a board, or its best move if that is None, with the score in discs for the side
        to move and the book's line. Returns None if the book lacks the board or the move, or its level is below
        ``level``.
        """
        entry = self.look_up(board)
        if self._book is None or entry is None or (level is not None and entry.level < level):
            return None
        book_move = next((one for one in entry.moves if move in (None, parse_move(one.move))), None)
        if book_move is None:
            return None
        from desdaemon.book.front import line

        played = parse_move(book_move.move)
        after = board.position.after(played)
        with self._book.table.lock:
            moves = (played, *line(self._book, after.player, after.opponent))
        score = MoverScore(int(book_move.score.discs))
        return SearchedMove(played, score, 0, Selectivity.FULL, line=moves, of_book=True)

    # Searching

    def _asked(self, board: Board, how: dict[str, Any]) -> tuple[Limits, int, int]:
        """Return the limits, the number of moves to report and the mask of moves to search, from ``how``, arguments of
        `analyze` by name. Raises `TypeError` for other names.
        """
        asked = dict(how)
        allow, multipv = asked.pop("allow", None), asked.pop("multipv", 1)
        names = ("level", "depth", "selectivity", "nodes", "time_s")
        unknown = next((name for name in asked if name not in names), None)
        if unknown is not None:
            raise TypeError(f"{unknown!r} is not an argument of analyze: expected {', '.join(names)}, multipv, allow")
        defaults = {"level": None, "depth": None, "selectivity": None, "nodes": 0, "time_s": 0.0}
        limits = self._limits(board, **{**defaults, **asked})
        return limits, _whole("multipv", multipv, 1, _MANY), _mask(board, allow)

    def _limits(
        self,
        board: Board,
        level: int | None,
        depth: int | None,
        selectivity: int | None,
        nodes: int,
        time_s: float,
    ) -> Limits:
        from desdaemon.engine.limits import Limits, level_limits

        if level is not None and depth is not None:
            raise BadInput("level and depth exclude each other")
        if selectivity is not None and selectivity not in SELECTIVITIES:
            raise BadInput(f"selectivity {selectivity}: expected one of {' '.join(map(str, SELECTIVITIES))}")
        nodes = _whole("nodes", nodes, 0, _MOST_NODES)
        if not 0 <= time_s <= _MOST_S:
            raise BadInput(f"time_s {time_s}: expected 0 to {_MOST_S}")
        if depth is not None:
            limits = Limits(min(_whole("depth", depth, 0, _MANY), board.empties))
        elif level is None and (nodes or time_s):
            limits = Limits(board.empties)
        else:
            limits = level_limits(self.level if level is None else _whole("level", level, 0, MAX_LEVEL), board.empties)
        sure = limits.selectivity if selectivity is None else Selectivity(selectivity)
        # A time of less than a millisecond is no leave to search for ever.
        return Limits(limits.depth, sure, nodes, math.ceil(1000 * time_s))

    def _expect_turn(self) -> None:
        """Raise `BadInput` inside a loop of `iterate`, whose search has its turn until the loop is left."""
        if _iterating.get() in self._running:
            raise BadInput("this engine searches for the loop of iterate that asks it: leave the loop, or ask another")

    def _begun(self) -> _Call:
        """Return a new call, which `stop` ends as long as it is in `_running`. Raises `BadInput` after `close`."""
        call = _Call()
        self._running.add(call)
        # Only now: whatever closes the engine after this line finds the call.
        if self._closed:
            self._running.discard(call)
            raise BadInput("the engine is closed")
        return call

    @contextmanager
    def _call(self) -> Iterator[_Call]:
        """Return a context manager for a call: leaving the block ends its searches. Raises `BadInput` after `close`."""
        call = self._begun()
        try:
            yield call
        finally:
            call.stop()
            self._running.discard(call)

    def _search(
        self,
        searcher: Searcher,
        board: Board,
        limits: Limits,
        multipv: int,
        allow: int,
        progress: Any,
        call: _Call,
    ) -> Analysis:
        player, opponent, _ = board.position
        control = call.search()
        try:
            result = searcher.search(
                player, opponent, limits, multipv=multipv, allow=allow, control=control, progress=progress
            )
        except ValueError as error:
            raise BadInput(str(error)) from None
        return _analysis(board, result.lines, result.nodes, result.time_ms, result.complete)


_iterating: ContextVar[_Call | None] = ContextVar("iterating", default=None)
"""The call of the last `Engine.iterate` in this thread or task; it has ended if the engine does not run it."""


class _Call:
    """A call of the engine, whose searches follow each other. `stop` ends the present one and all later ones."""

    def __init__(self) -> None:
        self.stopped = False
        self._control: Control | None = None

    def search(self) -> Control:
        """Return the control of the call's next search: its time limit ends that search alone."""
        from desdaemon.engine.search import Control

        self._control = control = Control()
        # Only now: a `stop` after this line finds the control.
        if self.stopped:
            control.stop()
        return control

    def stop(self) -> None:
        self.stopped = True
        if self._control is not None:
            self._control.stop()


def _analysis(board: Board, lines: Iterable[FoundLine], nodes: int, ms: float, complete: bool) -> Analysis:
    move_lines = []
    for line in lines:
        move_lines.append(
            MoveLine(
                _name(line.move),
                Score(line.score, board.side),
                line.lower,
                line.upper,
                line.depth,
                line.selectivity,
                line.exact,
                tuple(map(_name, line.pv)),
                line.nodes,
                line.time_ms / 1000,
            )
        )
    return Analysis(board, tuple(move_lines), nodes, ms / 1000, complete)


def searched_move(board: Board, line: MoveLine) -> SearchedMove:
    """Return ``line``, from an analysis of ``board``, in the form that a `JudgedMove` has."""
    moves = tuple(map(parse_move, line.pv))
    full = line.depth >= board.empties
    score = MoverScore(int(line.score.discs))
    return SearchedMove(parse_move(line.move), score, line.depth, line.selectivity, line.exact, full, moves)


def _whole(name: str, number: Any, low: int, high: int) -> int:
    """Return an argument that is a whole number from ``low`` to ``high``. Raises `BadInput`."""
    if hasattr(number, "__index__") and low <= operator.index(number) <= high:
        return operator.index(number)
    raise BadInput(f"{name} {number}: expected a whole number from {low} to {high}")


def _rating(name: str, rating: int) -> int:
    strength = satellites.loaded("engine.people.rows:STRENGTH")
    return _whole(name, rating, strength.low, strength.high)


def _name(move: int) -> str:
    return move_text(move).lower()


def _mask(board: Board, allow: Iterable[str] | None) -> int:
    """Return the squares of the moves in ``allow`` as a mask; all squares if ``allow`` is None or names no move but a
    pass. Raises `BadInput` for an illegal move, and for no move where there is one.
    """
    if allow is None:
        return rules.FULL
    mask, names = 0, [allow] if isinstance(allow, str) else list(allow)
    if not names and board.legal:
        raise BadInput(f"allow names no move: expected some of {' '.join(board.legal)}")
    for name in names:
        if _name(parse_move(name)) not in board.legal:
            raise BadInput(f"{name} is not legal: expected some of {' '.join(board.legal)}")
        mask |= 1 << parse_move(name) & rules.FULL
    return mask or rules.FULL


def _opened(path: str | Path) -> Book:
    """Open a book for reading. Raises `BadInput` if it cannot be read."""
    from desdaemon.book.front import BookError, read, shipped

    try:
        return read(shipped() if path == BUILTIN_BOOK else named(path)).book
    except BookError as error:
        raise BadInput(str(error)) from None


def _compiler_progress() -> Any:
    """Return the callback that shows a first compilation's progress on standard error."""
    line = ProgressLine()

    def on_progress(progress: str) -> None:
        place = progress.partition(" ")[0]
        done, _, total = place.partition("/")
        if done == total:
            line.clear()
        elif line.live:
            line.show(f"compiling the engine for this machine: {place}")
        elif done == "1":
            logs.message("compiling the engine for this machine, which takes about a minute")

    return on_progress
