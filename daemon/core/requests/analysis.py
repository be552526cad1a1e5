"""The operation `analyze`: each question about a position is answered by the book, the cache of analyses, or a search.

`AnalysisService.ask` takes a request and makes a `PendingAnalysis` of its questions. Short questions are answered many
to a turn of a search thread; every other question has a `QuestionSearch` on one thread. If a request has a single
position, idle threads join its search.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from desdaemon.core.metrics import ServerMetrics
from desdaemon.core.search.loader import EngineFailure, LoadedEngine
from desdaemon.core.search.scheduler import Purpose
from desdaemon.core.search.short_questions import QuestionTurns
from desdaemon.core.search.workers import HelperPool, Owner, ResumableSearch, SearchThreads
from desdaemon.core.threads import ThreadPool
from desdaemon.engine.limits import level_limits
from desdaemon.protocol.errors import lacking
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, moves_text, parse_move
from desdaemon.protocol.othello.selectivity import MAX_LEVEL, Selectivity
from desdaemon.protocol.system.threads import begin
from desdaemon.protocol.wire.messages import RequestError

from .analysis_cache import AnalysisCache
from .questions import Question, Terms, line_data, read_questions
from .request import MISTAKE

if TYPE_CHECKING:
    from desdaemon.core.books.service import Books
    from desdaemon.engine.lines import LineReader
    from desdaemon.engine.result import Line, Result

    from .request import Data, PendingRequest


SHORTEST_PARTIAL_MS = 10
"""Least ms between two partials of a question, even if the client asks for less."""

_PULSE_S = 0.02
_FEW = 4
"""Positions up to which the thread of the sockets reads a request itself."""
_BEGUN_AT_ONCE = 50
"""Questions that are answered or started between two pauses for the loop of the sockets."""


class AnalysisReceiver(Protocol):
    """Gets the replies of an analysis: a client's request, or an item of a batch. Any thread may call the methods."""

    def partial(self, data: Data) -> bool:
        """Receive an intermediate result. Returns False if the receiver has ended and wants no more."""

    def final(self, data: Data) -> bool:
        """Receive the result and end. Returns False if the receiver had ended before."""

    def fail(self, error: RequestError) -> bool:
        """Receive the error that ended the analysis, and end. Returns False if the receiver had ended before."""


class AnalysisService:
    """The operation `analyze`: starts analyses and times their partials. Any thread may call the methods."""

    def __init__(
        self,
        workers: SearchThreads,
        books: Books,
        cache: AnalysisCache,
        health: ServerMetrics,
        level: int,
        *,
        share_turns: bool,
        deterministic: bool = False,
    ) -> None:
        """``level`` is the default for requests without a limit, ``deterministic`` the default of that argument.

        With ``share_turns`` one turn of a search thread answers many short questions; the engines must have
        ``short_searches``.
        """
        self.scheduler = workers.scheduler
        self.helpers = HelperPool(workers)
        self.turns = QuestionTurns(workers, lambda: health.mistake("analyze")) if share_turns else None
        self.books = books
        self.cache = cache
        self.health = health
        self.level = level
        self.deterministic = deterministic
        self._preparer = ThreadPool(1, "questions", begun=True)
        self._reader: LineReader | None = None
        """The compiled reader of lists, for the preparer's thread."""
        self._with_partials: set[PendingAnalysis] = set()
        self._pulsing = False
        self._lock = threading.Lock()

    def ask(self, request: PendingRequest) -> None:
        """Start the analysis of a request. A request with more than `_FEW` positions is read on another thread; what is
        wrong in it becomes its reply. Raises `RequestError` if any other request is wrong.
        """
        values = request.values
        if max(len(values.get("plies") or ()), len(values.get("positions") or ())) <= _FEW:
            self._begin(request, None)
        else:
            self._preparer.submit(partial(request.answer, partial(self._prepare, request)))

    def _prepare(self, request: PendingRequest) -> None:
        """Read a request that takes milliseconds to parse, and start its analysis. Not for the thread of the sockets,
        which must never be held up.
        """
        self.health.give_way()
        if self._reader is None and self.turns is not None and self.health.searches:
            # After a search the library is loaded. Loading it may take a minute, and may fail.
            from desdaemon.engine.lines import LineReader

            self._reader = LineReader()
        self._begin(request, self._reader)

    def _begin(self, request: PendingRequest, reader: LineReader | None) -> None:
        values, client = request.values, request.client
        terms = Terms(values, self.level, deterministic=self.deterministic)
        questions = read_questions(terms, values, self.health.give_way, reader)
        owner = Owner(Purpose.ANALYSIS, client.account, client.number, values.get("priority", 0))
        analysis = PendingAnalysis(self, request, terms, questions, owner, values.get("partial_ms", 0))
        if not request.attach(analysis.cancel, analysis.found):
            return
        request.endless = not all(question.limits.bounded for question in questions)
        if values.get("partial_ms"):
            self._begin_partials(analysis)
        analysis.begin()

    def _begin_partials(self, analysis: PendingAnalysis) -> None:
        with self._lock:
            self._with_partials.add(analysis)
            if self._pulsing:
                return
            try:
                begin(self._send_partials, "partials")
            except RuntimeError:
                self._with_partials.discard(analysis)
                raise
            self._pulsing = True

    def _send_partials(self) -> None:
        while True:
            time.sleep(_PULSE_S)
            with self._lock:
                analyses = list(self._with_partials)
                self._pulsing = bool(analyses)
            if not analyses:
                return
            for analysis in analyses:
                analysis.progressed()

    def close(self) -> None:
        """End the thread that reads large requests. Requests that wait for it are dropped without a reply; running
        analyses go on.
        """
        self._preparer.close()

    def ended(self, analysis: PendingAnalysis) -> None:
        """Send no more partials for an analysis, which has ended."""
        with self._lock:
            self._with_partials.discard(analysis)


class PendingAnalysis:
    """The questions of one request, each answered once. Any thread may call the methods.

    For a list of positions, at most two searches for each search thread wait or run at a time, so that a cancel has few
    to end.
    """

    def __init__(
        self,
        service: AnalysisService,
        receiver: AnalysisReceiver,
        terms: Terms,
        questions: list[Question],
        owner: Owner,
        partial_ms: int = 0,
    ) -> None:
        """``owner`` is charged for the searches. Intermediate results of a question's search are sent at least
        ``partial_ms`` and `SHORTEST_PARTIAL_MS` ms apart; none are sent if ``partial_ms`` is 0.
        """
        self.service = service
        self.owner = owner
        self.budget: Budget | None = None
        self.cancelled = False
        self._receiver = receiver
        self._terms = terms
        self._questions = questions
        self._answers: list[Data | None] = [None] * len(questions)
        self._waiting: deque[tuple[Question, list[Data]]] = deque()
        """Questions whose search was not handed to the scheduler, each with the book's moves that need no search."""
        self._searches: dict[int, QuestionSearch] = {}
        """Searches handed to the scheduler and not answered, by number of the question."""
        self._most_searches = 2 * service.scheduler.slots if terms.listed else len(questions)
        self._left = len(questions)
        """Questions without an answer."""
        self._lock = threading.Lock()
        self._begun = time.perf_counter()
        self._interval = max(SHORTEST_PARTIAL_MS, partial_ms) / 1000 if partial_ms else 0.0
        self._tells_done = bool(self._interval) if terms.listed else terms.plies is not None
        """Whether a partial is sent for each answered question."""
        self._tells_book = bool(self._interval) or not terms.listed
        """Whether a partial tells the book's score of a question that goes on to a search."""
        self._preliminary: dict[int, Data] = {}
        """The book's answers to questions that go on to a search, by number of the question."""

    def begin(self) -> None:
        """Answer what book and cache can answer, and start searches for the other questions. The final is sent at once
        if no question is left.
        """
        if not self._questions:
            self._finish()
            return
        rest: deque[tuple[Question, list[Data]]] = deque()
        for first in range(0, len(self._questions), _BEGUN_AT_ONCE):
            if first:
                self.service.health.give_way()
            if self.cancelled:
                return
            self._begin_some(self._questions[first : first + _BEGUN_AT_ONCE], rest)
        terms = self._terms
        if terms.game_nodes:
            self.budget = Budget(terms.game_nodes, len(rest), deterministic=terms.deterministic)
        with self._lock:
            self._waiting = rest
        self._search_more()

    def _begin_some(self, questions: list[Question], rest: deque[tuple[Question, list[Data]]]) -> None:
        """Answer questions by the rules, the book or the cache, and queue those that can share a turn. The others are
        appended to ``rest``, each with the book's moves that need no search. Preliminary answers are sent as partials.
        """
        short: list[Question] = []
        turns = self.service.turns
        for question in questions:
            moves, sufficient = book_answer(self.service.books, question)
            answer = self._known(question, moves, sufficient=sufficient)
            if answer is not None:
                self.answered([(question.number, answer)])
                continue
            if moves and self._tells_book:
                preliminary = question.answer(moves[: self._terms.multipv])
                self._preliminary[question.number] = preliminary
                self._receiver.partial({**preliminary, "done": False})
            if question.short_us and turns is not None:
                short.append(question)
            else:
                rest.append((question, moves if sufficient else []))
        if short and turns is not None:
            turns.submit(self.owner, self, short)
            if self.cancelled:
                turns.cancel(self.owner, self)

    def _known(self, question: Question, book: list[Data], *, sufficient: bool) -> Data | None:
        """Return an answer without a search: by the rules, the book or the cache; None if a search is needed.

        ``book`` and ``sufficient`` are the two results of `book_answer`.
        """
        terms, position, limits = self._terms, question.position, question.limits
        if question.over:
            score = rules.final_score(position.player, position.opponent)
            return question.answer([], over=True, score=score)
        if terms.book == "only":
            return question.answer(book[: terms.multipv])
        if sufficient:
            moves = book[: terms.multipv]
            complete = len(moves) == terms.multipv or len(moves) >= question.lines(question.allow)
            return question.answer(moves) if complete else None
        # A deterministic answer cannot come from the cache: several threads, or a table with other results, may have
        # made it.
        if terms.restricted or terms.deterministic:
            return None
        # A cached result of sufficient depth also answers a search with limits on nodes or time.
        lines = self.service.cache.get(question.canonical, terms.multipv, limits.depth, limits.selectivity)
        return question.answer([line_data(line) for line in lines], cached=True) if lines is not None else None

    def _search_more(self) -> None:
        """Pass waiting questions to the scheduler, as long as it has fewer than ``_most_searches`` of this analysis."""
        begun = []
        with self._lock:
            while self._waiting and len(self._searches) < self._most_searches:
                question, settled = self._waiting.popleft()
                search = self._searches[question.number] = QuestionSearch(self, question, settled)
                begun.append(search)
        for search in begun:
            if not self.cancelled:
                self.service.scheduler.add(search)

    def cancel(self) -> None:
        """Cancel all searches and send no more replies."""
        self.cancelled = True
        self.service.ended(self)
        with self._lock:
            self._waiting.clear()
            searches = list(self._searches.values())
            self._searches.clear()
        for search in searches:
            search.stop()
        if self.service.turns is not None:
            self.service.turns.cancel(self.owner, self)

    def short_answered(self, results: Sequence[tuple[Question, Result]]) -> None:
        answers = []
        for question, result in results:
            self.service.health.searched(result.nodes)
            if not self.cancelled:
                self.service.cache.put(question.canonical, result.lines)
                moves = [line_data(line) for line in result.lines]
                answers.append((question.number, question.answer(moves, result.nodes, result.time_ms)))
        if answers:
            self.answered(answers)

    def short_failed(self, error: Exception) -> None:
        self.failed(RequestError("internal", str(error)))

    def answered(self, answers: list[tuple[int, Data]]) -> None:
        """Store answers, each with the number of its question, and send the final or start searches that wait. The
        answers are sent as partials too: always for a game, for a list if the request wants partials.
        """
        with self._lock:
            for number, data in answers:
                # The partial is sent under the lock, so that no partial of the unfinished search follows it.
                if self._tells_done:
                    self._receiver.partial({**data, "done": True})
                self._answers[number] = data
                self._searches.pop(number, None)
            self._left -= len(answers)
            last = self._left == 0
        if last:
            self._finish()
        elif self._waiting:
            self._search_more()

    def failed(self, error: RequestError) -> None:
        """End the analysis with the error of a search, and cancel the other searches. Does nothing after a cancel."""
        if not self.cancelled:
            self._receiver.fail(error)
            self.cancel()

    def _finish(self) -> None:
        self.service.ended(self)
        self._receiver.final(self._result([answer for answer in self._answers if answer is not None]))

    def _result(self, answers: list[Data]) -> Data:
        """Return the data of a final with these answers. For a request about one position it is the answer itself."""
        if self._terms.single:
            return answers[0]
        spent = round((time.perf_counter() - self._begun) * 1000, 3)
        nodes = sum(answer["nodes"] for answer in answers)
        return {"results" if self._terms.listed else "plies": answers, "nodes": nodes, "time_ms": spent}

    def found(self) -> Data | None:
        """Return the results so far as the data of a final, with ``finished`` false; None if there are none."""
        with self._lock:
            answers, searches = list(self._answers), dict(self._searches)
        for number, answer in enumerate(answers):
            if answer is None:
                interim = searches[number].so_far() if number in searches else None
                preliminary = interim or self._preliminary.get(number)
                answers[number] = {**preliminary, "finished": False} if preliminary is not None else None
        told = [answer for answer in answers if answer is not None]
        return {**self._result(told), "finished": False} if told else None

    def progressed(self) -> None:
        """Send a partial for each running search that has found a line and has sent none for ``partial_ms``. Does
        nothing if the request wants no partials.
        """
        if not self._interval:
            return
        with self._lock:
            now = time.perf_counter()
            for search in self._searches.values():
                wanted = now - search.reported_at >= self._interval
                data = search.so_far() if wanted and search.searching else None
                if data is not None:
                    search.reported_at = now
                    self._receiver.partial({**data, "done": False})


class QuestionSearch(ResumableSearch):
    """The search for one question. The moves ``settled`` are not searched: their scores in the book are good enough."""

    def __init__(self, analysis: PendingAnalysis, question: Question, settled: list[Data]) -> None:
        terms = question.terms
        self.reported_at = 0.0
        """`time.perf_counter` of the last partial."""
        self._analysis = analysis
        self._question = question
        self._settled = settled
        allow = question.allow
        for move in settled:
            allow &= ~(1 << parse_move(move["move"]))
        wanted = max(1, terms.multipv - len(settled))
        self._lines = FoundLines(min(wanted, question.lines(allow)))
        super().__init__(
            analysis.service.helpers,
            analysis.owner,
            question.position.player,
            question.position.opponent,
            question.limits,
            most_threads=terms.threads if analysis.owner.purpose is Purpose.ANALYSIS else 1,
            restarts=terms.deterministic,
            multipv=wanted,
            allow=allow,
        )

    def search(self, engine: LoadedEngine, most_nodes: int = 0, **options: Any) -> bool:
        """Search for one turn, as `ResumableSearch.search` does, and return whether another turn is needed.

        If the request has a node budget, a share of it takes the place of ``most_nodes``.
        """
        budget = self._analysis.budget
        share, nodes, again = budget.take() if budget is not None else most_nodes, self.nodes, False
        try:
            # Passed here: a search that kept its own bound method would be freed only by the garbage collector.
            again = super().search(engine, share, progress=self._progress, **options)
        finally:
            if budget is not None:
                budget.settle(share, self.nodes - nodes, goes_on=again)
        return again

    def ended(self) -> None:
        service, result, question = self._analysis.service, self.result, self._question
        if result is not None:
            service.health.searched(self.nodes)
        if self.stopped or result is None:
            return
        if question.allow == rules.FULL and not self._settled and result.lines:
            service.cache.put(question.canonical, result.lines)
        data = self._answer([line_data(line) for line in result.lines], self.nodes, self.ms)
        if not result.complete:
            data["stopped"] = True
        if result.threads > 1:
            data["threads"] = result.threads
        self._analysis.answered([(question.number, data)])

    def fail(self, error: Exception) -> None:
        reason = str(error) if isinstance(error, EngineFailure) else lacking(error)
        if not reason:
            self._analysis.service.health.mistake("analyze")
        self._analysis.failed(RequestError("internal", reason or MISTAKE))

    def _progress(self, rank: int, line: Line) -> None:
        with self._lock:
            self._lines.add(rank, line)
            complete = self._lines.complete
        # Before every move has a line of the first iteration, at once as a rule, a partial would tell one move and make
        # the others wait for the next interval. If that takes long, the clock of `AnalysisService` sends one.
        if complete:
            self.reported = True
            self._analysis.progressed()

    def so_far(self) -> Data | None:
        """Return an answer made of the lines found in all turns so far; None without any. Any thread may call it."""
        with self._lock:
            lines = self._lines.known()
        return self._answer([line_data(line) for line in lines], *self.spent()) if lines else None

    def _answer(self, searched: list[Data], nodes: int, ms: float) -> Data:
        # The book's best move stays first: it was compared with all others, so a higher score is that of a shallower
        # search.
        moves = sorted([*self._settled[1:], *searched], key=lambda move: -int(move["score"]))
        return self._question.answer([*self._settled[:1], *moves][: self._question.terms.multipv], nodes, ms)


class FoundLines:
    """The ``count`` best lines of a running search. For one thread at a time.

    An iteration reports its lines with the ranks 0, 1, 2 ...; the next may report the moves in another order.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._latest: list[Line] = []
        self._before: list[Line] = []

    def add(self, rank: int, line: Line) -> None:
        """Add a line of the running iteration; rank 0 begins a new iteration."""
        if rank == 0:
            self._before, self._latest = self.known(), []
        self._latest.append(line)

    def known(self) -> list[Line]:
        """Return the lines of the running iteration, then those of the iteration before for moves not reached yet; at
        most ``count`` in all.
        """
        moves = {line.move for line in self._latest}
        return [*self._latest, *(line for line in self._before if line.move not in moves)][: self._count]

    @property
    def complete(self) -> bool:
        """Whether all ``count`` lines are known."""
        return len(self._latest) == self._count or len(self._before) == self._count


class Budget:
    """The node limit that the searches of a request share. Any thread may call the methods.

    A search may use an equal part of the nodes left when it starts; what it leaves goes to the others. With
    ``deterministic`` all get the same part, because the nodes left depend on the order of the searches.
    """

    def __init__(self, nodes: int, questions: int, *, deterministic: bool = False) -> None:
        self._left = nodes
        self._without_share = questions
        self._fixed = max(1, nodes // max(1, questions)) if deterministic else 0
        self._lock = threading.Lock()

    def take(self) -> int:
        """Reserve nodes for a turn of a search and return their number, at least 1. Call `settle` after the turn."""
        if self._fixed:
            return self._fixed
        with self._lock:
            share = max(1, self._left // max(1, self._without_share))
            self._without_share -= 1
            self._left -= share
            return share

    def settle(self, share: int, used: int, *, goes_on: bool) -> None:
        """Give back what a turn left of its nodes: ``share``, which `take` returned, less ``used``. ``goes_on`` says
        that the search will call `take` again.
        """
        with self._lock:
            self._left += share - used
            self._without_share += goes_on


def book_answer(books: Books, question: Question) -> tuple[list[Data], bool]:
    """Return the book's moves that a question allows as items of ``moves``, best first, and whether they answer it.

    They do if the position is in the book with such a move, and the best ``multipv`` of them and the leaf are exact or
    were searched as well as asked; if only nodes or time limit the question, any search is good enough. Moves that do
    not answer the question are preliminary. Any thread may call it; it takes microseconds for each move in the book.
    """
    terms, position = question.terms, question.position
    look = books.look_up(position.player, position.opponent) if terms.book != "ignore" else None
    if look is None:
        return [], False
    moves: list[Data] = []
    leaving: list[Data] = []
    for scored in look.moves_on(position):
        leaf = scored not in look.links
        if scored.move == rules.PASS or question.allow >> scored.move & 1:
            moves.append(_book_move(books, position, scored.move, scored.score, look.leaf_level if leaf else None))
            leaving += moves[-1:] if leaf else []
    # Moves that leave the book are compared by the best of them alone, so its score decides as well.
    decisive = moves[: terms.multipv] + leaving
    return moves, look.inside and bool(moves) and all(_is_enough(move, question) for move in decisive)


def _is_enough(move: Data, question: Question) -> bool:
    terms, limits = question.terms, question.limits
    if move["exact"] or terms.any_depth:
        return True
    if terms.endless:
        return False
    if terms.level is not None:
        return int(move["level"]) >= terms.level
    return bool(move["depth"] >= limits.depth and move["selectivity"] >= limits.selectivity)


def _book_move(books: Books, position: Position, move: int, score: int, level: int | None) -> Data:
    """Return a move of the book as an item of ``moves``; ``level`` is that of the leaf's search, None for other moves.

    ``score`` is in discs for the side that plays it.
    """
    after = position.after(move)
    lower, upper = score, score
    leaf = level is not None
    if level is None:
        child = books.look_up(after.player, after.opponent)
        level = child.level if child else 0
        if child:
            # A job may have changed it since its score was read: bounds still hold the score that is told.
            lower, upper = min(score, -child.upper), max(score, -child.lower)
    level = max(0, min(level, MAX_LEVEL))
    # A leaf was searched in this position, other moves in the position after them.
    limits = level_limits(level, position.empties if leaf else after.empties)
    depth = limits.depth + (move != rules.PASS and not leaf)
    return {
        "move": moves_text((move,)),
        "score": score,
        "lower": lower,
        "upper": upper,
        "depth": depth,
        "selectivity": limits.selectivity,
        "exact": depth >= position.empties and limits.selectivity == Selectivity.FULL and lower == upper,
        "source": "book",
        "level": level,
        "pv": moves_text((move, *books.line(after.player, after.opponent))),
        "nodes": 0,
    }
