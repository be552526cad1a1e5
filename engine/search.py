"""The engine's interface to Python: `Searcher` takes a position and limits and returns lines.

A search works on the canonical image of the position, so that mirrored boards get the same results, and deepens step by
step. Each iteration calls the compiled search at least once.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.protocol.othello.rules import (
    INVERSE_SYMMETRY,
    PASS,
    mirror_equal_moves,
    mirrored_line,
    move_images,
)
from desdaemon.protocol.othello.scores import MoverScore, opposite
from desdaemon.protocol.othello.selectivity import SELECTIVITIES, Selectivity

from . import probcut
from .compiler import library
from .evaluation import curve
from .exports import SPEC
from .layout import (
    BEST,
    BUCKET_BYTES,
    CHECK_AT,
    CURVE,
    DATE,
    EDGES,
    ENTRY_BYTES,
    INFINITE,
    LAST_DATE,
    NETWORK,
    NO_MOVE,
    NODE_LIMIT,
    NODES,
    PROBCUT_TABLE,
    PV_TABLE,
    PV_TABLE_BUCKETS,
    PV_TABLE_MASK,
    SALT,
    SAMPLES,
    STOP,
    TABLE,
    TABLE_MASK,
    TEAM,
    WEIGHTS,
)
from .limits import MAX_HASH_BITS, MIN_HASH_BITS, Limits
from .memory import Block, HeapWords
from .result import Line, Result
from .team import Context, Team, Waiting

__all__ = ["Control", "KnownScore", "Searcher"]

ALL_MOVES = (1 << 64) - 1
_NO_LIMIT = (1 << 64) - 1
_UNLIMITED = Limits(0)
_LOWEST, _HIGHEST = MoverScore(-64), MoverScore(64)
_SHALLOW = 3
"""Most plies of an iteration that keeps the GIL, because it ends sooner than the GIL is released and got back."""

_TOGETHER_FROM = 10
"""Least plies of an iteration that threads share; shallower ones end before all threads have joined."""

_OLD = 200
"""The number of dates after which `clear` zeroes the tables, because after `LAST_DATE` old entries look new again."""

_PASS_FROM = {Selectivity.PERCENT_73: 15, Selectivity.PERCENT_87: 24, Selectivity.PERCENT_95: 20}
"""Least empties at which a selective pass prepares a search to the end (docs/notes/constants-of-the-search.md)."""

_SELECTIVE_LATER = 3
"""Added to `_PASS_FROM` of the 87 % and 95 % passes if the search is selective: there they pay off later."""

_STOP_WORDS = 16
"""Words of a `Control`: the first is the stop word; the others fill its cache line, so that Python writes nothing else
there.
"""

Progress = Callable[[int, Line], None]


class Control:
    """The stop word and the node counter of a search. Any thread may use them while the search runs."""

    def __init__(self) -> None:
        self._memory = HeapWords(_STOP_WORDS)
        self._word = self._memory.words
        self._stopped = False
        self._contexts: list[Context] = []

    @property
    def address(self) -> int:
        """Address of the stop word, which the kernels poll."""
        return self._memory.address

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped

    @property
    def nodes(self) -> int:
        """Number of nodes visited so far by all threads of the search; 0 before it begins."""
        return sum(context.nodes for context in self._contexts)

    def stop(self) -> None:
        """Stop the search, which then returns its results so far. A later search with this object is stopped too."""
        self._stopped = True
        self._word[0] = 1

    @property
    def raised(self) -> bool:
        """Whether the stop word is set, by a stop or a limit."""
        return self._word[0] != 0

    def watch(self, contexts: list[Context]) -> None:
        """Let `nodes` count the nodes of ``contexts``, the threads of the search that begins."""
        self._contexts = contexts


class _Iteration(NamedTuple):
    """An iteration of a search: its plies and their selectivity."""

    depth: int
    selectivity: Selectivity


class _SearchState:
    """The state of one call of `Searcher.search`. ``player`` and ``opponent`` are the canonical image of the position,
    after a pass if it is forced.

    ``attempt`` is called with each line whose score is only a bound, and passes it on to the caller's ``attempts``.
    ``welcome`` is the caller's argument of that name. Both may be None. ``begun`` is in seconds of `time.perf_counter`.
    """

    def __init__(self, player: int, opponent: int, limits: Limits, control: Control) -> None:
        self.player = player
        self.opponent = opponent
        self.empties = 64 - (player | opponent).bit_count()
        self.limits = limits
        self.control = control
        self.attempt: Callable[[Line], None] | None = None
        self.welcome: Callable[[], None] | None = None
        self.begun = time.perf_counter()

    def milliseconds(self) -> float:
        return 1e3 * (time.perf_counter() - self.begun)


class KnownScore(NamedTuple):
    """A score from elsewhere, in discs for ``player``, who is to move. It counts as the score of a search with the
    depth and selectivity of ``limits``.

    ``move`` is the best move, 64 for none.
    """

    player: int
    opponent: int
    move: int
    score: MoverScore
    limits: Limits


@cache
def edge_table() -> Block:
    """Return the table of stable discs of all edges (`kernels.stability.fill_edge_table`), made once in a process."""
    table = Block(1 << 16)
    library.load(SPEC).fill_edge_table(table.address)
    return table


class Searcher:
    """The compiled search with its tables, for one search at a time; any thread may call `Control.stop`.

    ``threads`` is the number of threads that share a search; up to ``guests`` other threads may join it
    (`team.Team.join`). The transposition table has 2**hash_bits entries of 16 bytes each. If ``weights`` is None, the
    shipped weights are used. ``waiting`` makes threads, real or virtual, wait for each other; `team.Waiting` if None.

    Raises ValueError for settings out of range, `LibraryError` if the kernels cannot be compiled, `WeightsError` if the
    shipped weights cannot be read, OSError or MemoryError if the system refuses memory for the table.
    """

    def __init__(
        self,
        *,
        threads: int = 1,
        guests: int = 0,
        hash_bits: int = 21,
        weights: Weights | None = None,
        waiting: Waiting | None = None,
    ) -> None:
        if not MIN_HASH_BITS <= hash_bits <= MAX_HASH_BITS:
            raise ValueError(f"a table of 2^{hash_bits} entries is outside 2^{MIN_HASH_BITS}..2^{MAX_HASH_BITS}")
        if threads < 1:
            raise ValueError(f"{threads} threads: at least 1")
        self._engine = library.load(SPEC)
        self._weights = weights if weights is not None else Weights.load()
        self._table = Block((1 << hash_bits) * ENTRY_BYTES)
        self._pv_table = Block(PV_TABLE_BUCKETS * BUCKET_BYTES)
        self._edges = edge_table()
        self._curve = curve.table(self._weights.metadata.curve)
        self._probcut = probcut.table(self._weights.metadata.probcut or probcut.DEFAULT)
        self._dates = 0
        """Number of dates that entries have had since the tables were last zeroed."""
        self._clearings = 0
        self._control = Control()
        self._threads = threads
        self._contexts = [self._context() for _ in range(threads + guests)]
        self.team = Team(self._engine, self._contexts, threads - 1, waiting) if threads + guests > 1 else None
        """The threads that search together; None for a searcher with one thread and no guests."""

    def _context(self) -> Context:
        context = Context()
        context[TABLE] = self._table.address
        context[TABLE_MASK] = self._table.size // BUCKET_BYTES - 1
        context[EDGES] = self._edges.address
        context[NETWORK if self._weights.network else WEIGHTS] = self._weights.address
        context[PROBCUT_TABLE] = self._probcut.buffer_info()[0]
        context[CURVE] = self._curve.buffer_info()[0]
        context[PV_TABLE] = self._pv_table.address
        context[PV_TABLE_MASK] = PV_TABLE_BUCKETS - 1
        return context

    @property
    def threads(self) -> int:
        """The number of threads that share a search, guests not counted."""
        return self._threads

    @property
    def shares(self) -> list[int]:
        """The number of nodes that each thread visited in the last search: leader, own helpers, guests' seats."""
        return [context.nodes for context in self._contexts]

    def clear(self) -> None:
        """Forget all results in the tables, so that the next search runs as the first did. No search may be running."""
        if self._dates == 0:
            return
        self._clearings += 1
        # With other keys, old entries match no board, and are replaced first because they are older.
        if self._dates > _OLD or self._clearings == 1:
            self._table.clear()
            self._pv_table.clear()
            for context in self._contexts:
                context.local_table.clear()
            self._dates = 0
        for context in self._contexts:
            context[SALT] = self._clearings % (1 << 32) << 32

    def sample(self, address: int) -> None:
        """Keep a sample of the leader's ProbCut nodes at ``address``, in memory of zeros laid out as
        `kernels.midgame.sample` says.

        The memory must stay until sampling ends: call this again with the address 0.
        """
        self._contexts[0][SAMPLES] = address

    def feed(self, player: int, opponent: int, known: Iterable[KnownScore]) -> None:
        """Store known scores in the table, for searches from (``player``, ``opponent``).

        The boards and moves in ``known`` must be as they arise in play from this position, not mirror images. No search
        may be running.
        """
        image, symmetry = self._engine.board_symmetric, self._canonical(player, opponent)[2]
        self._dates = max(1, self._dates)
        context = self._contexts[0]
        context[DATE] = self._date
        for own, other, move, score, limits in known:
            square = image(1 << move, symmetry).bit_length() - 1 if move < NO_MOVE else NO_MOVE
            boards = image(own, symmetry), image(other, symmetry)
            self._engine.feed_score(context.address, *boards, score, limits.depth, limits.selectivity.index, square)

    def evaluate(self, player: int, opponent: int) -> float:
        """Return the static evaluation in discs for ``player``, who is to move."""
        player, opponent, _ = self._canonical(player, opponent)
        return int(self._engine.static_score(self._contexts[0].address, player, opponent)) / 128

    def score_many(
        self,
        players: int,
        opponents: int,
        scores: int,
        number: int,
        limits: Limits,
        control: Control | None = None,
    ) -> None:
        """Score many positions one after the other, without the GIL, on this thread, for labelling.

        ``players`` and ``opponents`` are addresses of ``number`` uint64 boards each. ``scores`` is the address of
        ``number`` int64 results: discs for the mover, or, at depth 0, unrounded static evaluations in 128ths of a disc.
        The time of ``limits`` is ignored; its node limit is for all positions together. After a stop, or at the node
        limit, the remaining scores are left as they were. A call at depth 0 heeds neither a stop nor the limit.
        """
        if limits.depth == 0:
            self._engine.static_many(self._contexts[0].address, players, opponents, scores, number)
            return
        self._prepare(limits, control or Control())
        index = limits.selectivity.index
        self._engine.score_many(self._contexts[0].address, players, opponents, scores, number, limits.depth, index)

    def scores(self, boards: Sequence[tuple[int, int]], limits: Limits) -> list[int]:
        """Return what `score_many` finds for ``boards``, each the mover's and the opponent's discs."""
        players, opponents = (array("Q", part) for part in zip(*boards, strict=True))
        found = array("q", bytes(8 * len(boards)))
        own, other, results = (part.buffer_info()[0] for part in (players, opponents, found))
        self.score_many(own, other, results, len(boards), limits)
        return found.tolist()

    def search_records(self, address: int, number: int, control: Control) -> None:
        """Search ``number`` records (`desdaemon.engine.short_searches`) at ``address`` on this thread, without the GIL.

        Before the call set the length of the line in each record to 0: after a stop it still is 0 in unfinished
        records.
        """
        self._prepare(_UNLIMITED, control)
        self._engine.search_records(self._contexts[0].address, address, number)
        # The kernel counts on in its context, from the second record on.
        self._dates += max(0, number - 1)

    def time_evaluations(self, player: int, opponent: int, number: int) -> int:
        """Make and evaluate ``number`` single moves from the position, its legal moves in turn; return the sum of the
        scores. For benchmarks. At least one move must be legal.
        """
        return int(self._engine.evaluate_often(self._contexts[0].address, player, opponent, number))

    @property
    def _date(self) -> int:
        """The date of new entries, 1 to `LAST_DATE`; 1 follows the last."""
        return (self._dates - 1) % LAST_DATE + 1

    def _prepare(self, limits: Limits, control: Control) -> None:
        control.watch(self._contexts)
        self._dates += 1
        for context in self._contexts:
            context[NODES] = 0
            context[STOP] = control.address
            context[NODE_LIMIT] = context[CHECK_AT] = limits.nodes or _NO_LIMIT
            context[DATE] = self._date
            context[TEAM] = 0
        if self.team is not None:
            self.team.prepare(limits.nodes)
        self._control = control

    def search(
        self,
        player: int,
        opponent: int,
        limits: Limits,
        *,
        multipv: int = 1,
        allow: int = ALL_MOVES,
        alpha: int = -64,
        beta: int = 64,
        control: Control | None = None,
        progress: Progress | None = None,
        attempts: Progress | None = None,
        welcome: Callable[[], None] | None = None,
    ) -> Result:
        """Search a position and return its ``multipv`` best moves among the squares ``allow``, a mask, best first.

        ``player`` has the move; scores, ``alpha`` and ``beta`` are discs for it. A score outside (``alpha``, ``beta``)
        is only a bound. Without a legal move the result is the line of the forced pass, whatever ``allow`` is, or no
        line if the game is over.

        Whenever an iteration has finished a line, ``progress`` is called with the line's rank, from 0, and the line.
        ``attempts`` is called in the same way when the search of a part of the window gave only a bound; the nodes and
        time of its line are those of the whole search so far. ``welcome`` is called at most once, when the iterations
        are long enough to be shared; from then on guests may join. Without ``welcome`` guests may join only a searcher
        with several threads.

        A limit or `Control.stop` ends the search with the lines so far; if there is none yet, with an allowed move that
        has score 0. At the time limit ``control`` is stopped for good, so give each search a new one.

        Raises ValueError for an impossible board or if no legal move is allowed.
        """
        if player & opponent or (player | opponent) >> 64:
            raise ValueError("the sides' discs overlap or are outside the board")
        control = control or Control()
        shape, other, symmetry = self._canonical(player, opponent)
        job = _SearchState(shape, other, limits, control)
        job.welcome = welcome
        self._prepare(limits, control)
        timer = None
        if limits.time_ms:
            timer = threading.Timer(limits.time_ms / 1e3, control.stop)
            timer.daemon = True
            timer.start()
        try:
            return self._search(job, symmetry, multipv, allow, (alpha, beta), progress, attempts)
        finally:
            if timer is not None:
                timer.cancel()
            if self.team is not None:
                self.team.end()

    def _search(
        self,
        job: _SearchState,
        symmetry: int,
        multipv: int,
        allow: int,
        window: tuple[int, int],
        progress: Progress | None,
        attempts: Progress | None,
    ) -> Result:
        legal = self._engine.board_moves(job.player, job.opponent)
        passed = False
        if not legal:
            if not self._engine.board_moves(job.opponent, job.player):
                return Result((), 0, 0.0, True)
            passed = True
            job.player, job.opponent = job.opponent, job.player
            legal = self._engine.board_moves(job.player, job.opponent)
            window = (-window[1], -window[0])
            multipv = 1
        else:
            legal &= self._engine.board_symmetric(allow, symmetry)
            if not legal:
                raise ValueError("none of the moves allowed is legal")
        number = min(multipv, legal.bit_count())
        # If several moves lead to mirror images of one position, only the first is searched. A position without a
        # symmetry hardly ever has such moves, and looking for them took half as long as a search of level 5.
        groups: dict[int, dict[int, int]] = {}
        if self._engine.board_has_symmetry(job.player, job.opponent):
            alike = mirror_equal_moves(job.player, job.opponent, legal, self._play, self._canonical)
            groups = {next(iter(group)): group for group in alike}
            legal = sum(1 << move for move in groups)
        back = move_images(INVERSE_SYMMETRY[symmetry])

        def turned(line: Line) -> Iterator[Line]:
            """Yield the line on the caller's board, once for each of the moves that lead to mirror images of one
            position; these moves share its cost. After a forced pass yield one line, which begins with the pass.
            """
            group = groups.get(line.move, {line.move: 0})
            share, left = divmod(line.nodes, len(group))
            for move, other in group.items():
                moves = move, *mirrored_line(line.pv[1:], group[line.move], other)
                moves = tuple(bytes(moves).translate(back))
                if passed:
                    yield line._replace(
                        move=PASS,
                        score=opposite(line.score),
                        lower=opposite(line.upper),
                        upper=opposite(line.lower),
                        pv=(PASS, *moves),
                    )
                    return
                nodes, ms = share + left, line.time_ms / len(group)
                yield line._replace(move=moves[0], pv=moves, nodes=nodes, time_ms=ms)
                left = 0

        lines: list[Line] = []
        finished = True
        for step in _steps(job.limits, job.empties):
            if job.control.stopped and lines:
                finished = False
                break
            found: list[Line] = []
            rest, answered = legal, 0
            while answered < number:
                guess = lines[len(found)] if len(found) < len(lines) else None
                if attempts is not None:
                    job.attempt = lambda line, index=answered: attempts(index, next(turned(line)))
                line, done = self._line(job, step, rest, guess, window)
                if line is not None:
                    found.append(line)
                    rest &= ~(1 << line.move)
                    if progress is not None and done:
                        for rank, shown in enumerate(islice(turned(line), number - answered), answered):
                            progress(rank, shown)
                    answered += len(groups.get(line.move, (line.move,)))
                if not done:
                    finished = False
                    break
            found.sort(key=lambda line: -line.score)
            searched = {line.move for line in found}
            lines = found + [line for line in lines if line.move not in searched]
            if not finished:
                break
        if not lines:
            lines = [self._any_line(job, legal)]
        nodes = sum(context.nodes for context in self._contexts)
        threads = self.team.size if self.team is not None else 1
        answers = islice((shown for line in lines for shown in turned(line)), number)
        return Result(tuple(answers), nodes, job.milliseconds(), finished, threads)

    def _any_line(self, job: _SearchState, legal: int) -> Line:
        """Return the line of the lowest square in the mask ``legal``, with score 0 and no bounds, for a search stopped
        within its first iteration.
        """
        move = (legal & -legal).bit_length() - 1
        return Line(
            move, MoverScore(0), _LOWEST, _HIGHEST, 0, Selectivity.FULL, (move,), 0, job.milliseconds(), job.empties
        )

    def _line(
        self, job: _SearchState, step: _Iteration, allowed: int, guess: Line | None, window: tuple[int, int]
    ) -> tuple[Line | None, bool]:
        """Search the moves in the mask ``allowed`` in this iteration. Return the line of the best move, or None, and
        whether the iteration was finished.

        ``guess`` is the line of the iteration before, None for none; ``window`` is (alpha, beta). An unfinished
        iteration has a line only if its best score so far lies inside the window that was being searched.
        """
        nodes_before = sum(context.nodes for context in self._contexts)
        begun = time.perf_counter()
        lowest, highest = window
        width = 2 if step.depth >= job.empties else 3
        low, high = lowest, highest
        if guess is not None and step.depth > 2:
            low, high = max(lowest, guess.score - width), min(highest, guess.score + width)
            if low >= high:
                low, high = lowest, highest
        hint = guess.move if guess is not None and allowed >> guess.move & 1 else NO_MOVE
        failed = 0
        while True:
            score, move = self._root(job, low, high, step, allowed, hint)
            if job.control.raised:
                break
            if lowest < low >= score:
                failed |= 1
                self._bound(job, step, move, score, _LOWEST, score)
                low, high = max(lowest, score - width), score + 1
            elif highest > high <= score:
                failed |= 2
                self._bound(job, step, move, score, score, _HIGHEST)
                low, high = score - 1, min(highest, score + width)
            else:
                break
            # A selective search may contradict itself: after failing on both sides only the whole window ends it.
            if failed == 3:
                low, high = lowest, highest
            hint = move
            width *= 2
        done = not job.control.raised
        if not done and (move == NO_MOVE or score == -INFINITE or not low < score < high):
            return None, False
        if step.depth == 0:
            move = (allowed & -allowed).bit_length() - 1
        nodes = sum(context.nodes for context in self._contexts) - nodes_before
        lower = score if score > lowest else _LOWEST
        upper = score if score < highest else _HIGHEST
        if not done:
            upper = _HIGHEST
        pv = self._variation(job, move, step, score, complete=done)
        elapsed = 1e3 * (time.perf_counter() - begun)
        return Line(move, score, lower, upper, step.depth, step.selectivity, pv, nodes, elapsed, job.empties), done

    def _bound(
        self, job: _SearchState, step: _Iteration, move: int, score: MoverScore, lower: MoverScore, upper: MoverScore
    ) -> None:
        """Report to the caller's ``attempts``, if given, a line whose score is outside the searched part of the window.
        Does nothing without a move.
        """
        if job.attempt is not None and move != NO_MOVE:
            nodes = sum(context.nodes for context in self._contexts)
            ms = job.milliseconds()
            job.attempt(Line(move, score, lower, upper, step.depth, step.selectivity, (move,), nodes, ms, job.empties))

    def _root(
        self, job: _SearchState, low: int, high: int, step: _Iteration, allowed: int, hint: int
    ) -> tuple[MoverScore, int]:
        """Call the compiled search once; return the score and the move or NO_MOVE.

        In iterations of at least `_TOGETHER_FROM` plies the whole team searches, if it has own helpers or ``welcome``
        is given. The first of these calls begins the team and calls ``welcome``.
        """
        main = self._contexts[0]
        root = (job.player, job.opponent, low, high, step.depth, step.selectivity.index, allowed, hint)
        together = self._threads > 1 or job.welcome is not None
        if self.team is not None and together and step.depth >= _TOGETHER_FROM:
            if self.team.begin() and job.welcome is not None:
                job.welcome()
            return MoverScore(self.team.lead(*root)), main[BEST]
        search = self._engine.search_shallow if step.depth <= _SHALLOW else self._engine.search_root
        return MoverScore(search(main.address, *root)), main[BEST]

    def _variation(
        self, job: _SearchState, move: int, step: _Iteration, score: int, *, complete: bool
    ) -> tuple[int, ...]:
        """Return the principal variation, which begins with ``move``, from the tables, as deep as the search was.

        A move that the tables lack is found by another search. But the line ends before it if the iteration is not
        ``complete``, if the search is stopped, or if ``score`` is 64 or -64 and not from a search to the end.
        """
        engine = self._engine
        context = self._contexts[0]
        player, opponent, value = job.player, job.opponent, score
        line: list[int] = []
        left, index = step.depth, step.selectivity.index
        read_on = (complete and -64 < score < 64) or (step.depth >= job.empties and complete)
        while True:
            line.append(move)
            if move == PASS:
                player, opponent = opponent, player
            else:
                player, opponent = self._play(player, opponent, move)
                left -= 1
            value = -value
            legal = engine.board_moves(player, opponent)
            if left <= 0 and step.depth < job.empties:
                break
            if not legal:
                if not engine.board_moves(opponent, player):
                    break
                move = PASS
                continue
            move = engine.known_move(context.address, player, opponent, left, index)
            if not legal >> move & 1:
                if not read_on or job.control.raised:
                    break
                low, high = max(-64, value - 1), min(64, value + 1)
                engine.search_root(context.address, player, opponent, low, high, left, index, ALL_MOVES, NO_MOVE)
                move = context[BEST]
                if job.control.raised or not legal >> move & 1:
                    break
        return tuple(line)

    def _play(self, player: int, opponent: int, move: int) -> tuple[int, int]:
        flips = self._engine.board_flip(move, player, opponent)
        return opponent ^ flips, player | flips | 1 << move

    def _canonical(self, player: int, opponent: int) -> tuple[int, int, int]:
        symmetry = self._engine.board_canonical_symmetry(player, opponent)
        image = self._engine.board_symmetric
        return image(player, symmetry), image(opponent, symmetry), symmetry


def _steps(limits: Limits, empties: int) -> Iterator[_Iteration]:
    """Yield the iterations of a search. One that ends before the game has depths of the limit's parity, up to the
    limit. A search to the end has shallow depths at 73 %, then searches to the end at lower selectivities than the one
    requested, then the search at that one. Depth 0 is one evaluation.
    """
    selectivity = limits.selectivity
    if limits.depth <= 0:
        yield _Iteration(0, Selectivity.FULL)
        return
    if limits.depth < empties:
        for depth in range(2 - limits.depth % 2, limits.depth, 2):
            yield _Iteration(depth, selectivity)
        yield _Iteration(limits.depth, selectivity)
        return
    for depth in range(2 - empties % 2, empties - 8, 2):
        yield _Iteration(depth, SELECTIVITIES[0])
    # Selective passes to the end give a guess and good first moves; the longer the search, the better it repays them.
    for passing, fewest in _PASS_FROM.items():
        late = 0 if passing is SELECTIVITIES[0] or selectivity == Selectivity.FULL else _SELECTIVE_LATER
        if empties >= fewest + late and passing < selectivity:
            yield _Iteration(empties, passing)
    yield _Iteration(empties, selectivity)
