"""The operation `analyze`: questions about positions, answered from the book, from the cache of analyses, or by
searches.

Each position is a search of one thread; the daemon's scheduler shares the search threads among all requests. Idle
threads join the search of a single position (`desdaemon.core.search.helpers`).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from desdaemon.core.metrics import ServerMetrics
from desdaemon.core.search.helpers import HelperPool
from desdaemon.core.search.scheduler import Purpose, Scheduler
from desdaemon.core.search.short_questions import PendingQuestion, QuestionTurns, TurnOwner
from desdaemon.core.search.workers import SearchThreads
from desdaemon.core.threads import ThreadPool, begin
from desdaemon.protocol.othello import rules
from desdaemon.protocol.wire.messages import RequestError

from .analysis_cache import AnalysisCache
from .answers import answer, line_data
from .book_answers import NOTHING, BookAnswer, book_answer
from .questions import Question, check_list, read_questions
from .searches import Budget, ResumableSearch, SearchServices, SharedTurnSearches, short_search_us

if TYPE_CHECKING:
    from desdaemon.core.books.service import Books
    from desdaemon.engine.short_searches import LineFollower

    from .request import Data, PendingRequest


SHORTEST_PARTIAL_MS = 10
"""Partials come no closer together, whatever is asked for."""

_PULSE_S = 0.02
_FEW = 4
"""Positions of a request that the thread of the sockets reads itself."""
_BEGUN_AT_ONCE = 50
"""Questions that are begun without a pause."""


class AnalysisReceiver(Protocol):
    """The receiver of an analysis's replies: a request, or an item of a batch. Called from any thread."""

    def partial(self, data: Data) -> bool:
        """Take an intermediate result. Returns False when no more are wanted."""

    def final(self, data: Data) -> bool:
        """The result."""

    def fail(self, error: RequestError) -> bool:
        """Take the error that ended the analysis."""


class AnalysisService:
    """The operation `analyze`: starts analyses and sends their partials. Every method may be called from any thread."""

    def __init__(
        self,
        scheduler: Scheduler,
        workers: SearchThreads,
        books: Books,
        cache: AnalysisCache,
        health: ServerMetrics,
        level: int,
        *,
        share_turns: bool,
        deterministic: bool = False,
    ) -> None:
        """``level`` and ``deterministic`` are used for requests that do not say otherwise.

        ``share_turns``: the engines have ``short_searches``, so that one turn of a search thread answers many
        questions.
        """
        self.scheduler = scheduler
        self.books = books
        self.cache = cache
        self.health = health
        turns = QuestionTurns(scheduler, workers, lambda: health.mistake("analyze")) if share_turns else None
        self.tools = SearchServices(scheduler, workers, cache, health, turns, HelperPool(scheduler, workers))
        self.level = level
        self.deterministic = deterministic
        self._preparer = ThreadPool(1, "questions")
        self._followers = threading.local()
        """Each thread's `LineFollower`."""
        self._with_partials: set[QuestionSet] = set()
        self._pulsing = False
        self._lock = threading.Lock()

    def ask(self, request: PendingRequest, admit: Callable[[], None]) -> None:
        """Start an analysis after ``admit`` has admitted it. Raises `RequestError`."""
        values = request.values
        items = values.get("positions")
        if items is not None:
            check_list(values)
        if max(len(values.get("plies") or ()), len(items or ())) <= _FEW:
            self._begin(request, admit)
            return
        admit()
        self._preparer.submit(partial(self._prepare, request))

    def _prepare(self, request: PendingRequest) -> None:
        """Read the questions of a request that takes milliseconds to parse, and start it. Runs beside the loop."""
        self.health.give_way()
        try:
            if not request.over:
                self._begin(request, lambda: None)
        except RequestError as error:
            self.health.refused(error.code)
            request.fail(error)
        except Exception:
            self.health.mistake("analyze")
            request.fail(RequestError("internal", "an internal error; its log has more"))

    def _begin(self, request: PendingRequest, admit: Callable[[], None]) -> None:
        values = request.values
        questions = read_questions(
            values,
            self.level,
            self.line_follower(),
            deterministic=self.deterministic,
            pause=self.health.give_way,
        )
        admit()
        client = request.client
        owner = TurnOwner(Purpose.ANALYSIS, client.account, client.number, values.get("priority", 0))
        analysis = QuestionSet(self, request, values, questions, owner)
        if not request.attach(analysis.cancel, analysis.found):
            return
        request.endless = not all(question.limits.bounded for question in questions)
        if values.get("partial_ms"):
            self._begin_partials(analysis)
        analysis.begin()

    def line_follower(self) -> LineFollower | None:
        """The compiled reader of lines of play of this thread once a search has loaded the library; None before.


        Loading the library here would block the loop.
        """
        if self.tools.turns is None or not self.health.searches:
            return None
        follower: LineFollower | None = getattr(self._followers, "own", None)
        if follower is None:
            from desdaemon.engine.short_searches import LineFollower

            follower = self._followers.own = LineFollower()
        return follower

    # Partials

    def _begin_partials(self, analysis: QuestionSet) -> None:
        with self._lock:
            self._with_partials.add(analysis)
            if self._pulsing:
                return
            self._pulsing = True
        begin(self._send_partials, "partials")

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
        """Start no more analyses and release the thread that reads large requests. At the end of the daemon."""
        self._preparer.close()

    def ended(self, analysis: QuestionSet) -> None:
        """Remove a finished analysis from those that get partials."""
        with self._lock:
            self._with_partials.discard(analysis)

    # Answers without a search

    def known(self, question: Question, book: BookAnswer) -> Data | None:
        """The answer from book and cache; None when a search is needed."""
        position = question.position
        if question.facts.over:
            score = rules.final_score(position.player, position.opponent)
            return answer(question, [], 0, 0.0, over=True, score=score)
        if question.book == "only":
            return answer(question, book.moves[: question.multipv], 0, 0.0)
        if book.sufficient:
            if len(book.moves) < min(question.multipv, max(1, (question.facts.moves & question.allow).bit_count())):
                return None
            return answer(question, book.moves[: question.multipv], 0, 0.0)
        # What is kept may be of several threads, or of one whose table knew something.
        if question.allow != rules.FULL or question.deterministic:
            return None
        # A search that is also bounded by nodes or time is answered by what was read out to the depth all the same.
        limits = question.limits
        kept = self.cache.get(
            position.player,
            position.opponent,
            question.multipv,
            limits.depth,
            limits.selectivity,
            question.facts.canonical,
        )
        if kept is None:
            return None
        return answer(question, [line_data(line) for line in kept], 0, 0.0, cached=True)


class QuestionSet:
    """The questions of one request, each answered once.

    Short ones share turns of search threads. Of the others of a list twice as many as can be searched at a time wait
    for a thread, so that a cancel has little to undo.
    """

    def __init__(
        self,
        analyses: AnalysisService,
        receiver: AnalysisReceiver,
        values: Data,
        questions: list[Question],
        owner: TurnOwner,
    ) -> None:
        """``values`` are the checked arguments of the request; ``owner`` is charged for its searches."""
        self.cancelled = False
        self._analyses = analyses
        self._receiver = receiver
        self._values = values
        self._questions = questions
        self._owner = owner
        self._answers: list[Data | None] = [None] * len(questions)
        self._short: list[PendingQuestion] = []
        """Questions that wait for a shared turn, or had one; emptied at the end, because they refer to this."""
        self._waiting: deque[tuple[int, BookAnswer]] = deque()
        """Questions without a search as yet."""
        self._searches: dict[int, ResumableSearch] = {}
        listed = values.get("positions") is not None
        self._most_searches = 2 * analyses.scheduler.slots if listed else len(questions)
        self._budget: Budget | None = None
        self._left = len(questions)
        self._lock = threading.Lock()
        self._begun = time.perf_counter()
        wanted = values.get("partial_ms", 0)
        self._interval = max(SHORTEST_PARTIAL_MS, wanted) / 1000 if wanted else 0.0
        self._tells_done = bool(self._interval) if listed else values.get("plies") is not None
        """Whether a partial says that a question is done."""
        self._tells_book = bool(self._interval) or not listed
        """Whether a partial says what the book knows of a question that is then searched."""
        self._standing_in: dict[int, list[Data]] = {}
        """What the book knows of such questions."""

    def begin(self) -> None:
        """Answer what book and cache know, and start searches for the rest."""
        if not self._questions:
            self._finish()
            return
        nodes = self._values.get("game_nodes")
        # A shared turn tells nothing on the way, and counts no budget.
        shares = not (nodes or self._interval)
        rest: deque[tuple[int, BookAnswer]] = deque()
        for first in range(0, len(self._questions), _BEGUN_AT_ONCE):
            if first:
                self._analyses.health.give_way()
            if self.cancelled:
                return
            self._begin_some(range(first, min(first + _BEGUN_AT_ONCE, len(self._questions))), rest, shares=shares)
        deterministic = any(question.deterministic for question in self._questions)
        self._budget = Budget(nodes, len(rest), deterministic=deterministic) if nodes else None
        with self._lock:
            self._waiting = rest
        self._search_more()

    def _begin_some(self, numbers: range, rest: deque[tuple[int, BookAnswer]], *, shares: bool) -> None:
        """Begin the questions of these numbers, but for those that are added to ``rest``."""
        analyses = self._analyses
        short: list[tuple[int, int]] = []
        for number in numbers:
            question = self._questions[number]
            book = NOTHING if question.facts.over else book_answer(analyses.books, question)
            known = analyses.known(question, book)
            if known is not None:
                self.answered(number, known)
                continue
            if book.moves and self._tells_book:
                self._standing_in[number] = book.moves[: question.multipv]
                self._receiver.partial({**self._stand_in(number), "done": False})
            short_us = short_search_us(question, analyses.tools) if shares else 0
            if short_us:
                short.append((number, short_us))
            else:
                rest.append((number, book))
        if short:
            searches = SharedTurnSearches(self, self._questions, analyses.tools, self._owner)
            searches.submit(short, self._short)
            if self.cancelled:
                self._cancel_short()

    def _stand_in(self, number: int) -> Data:
        return answer(self._questions[number], self._standing_in[number], 0, 0.0)

    def _search_more(self) -> None:
        """Start searches up to the most that there may be."""
        begun = []
        with self._lock:
            while self._waiting and len(self._searches) < self._most_searches:
                number, book = self._waiting.popleft()
                search = ResumableSearch(
                    self, number, self._questions[number], book, self._analyses.tools, self._owner, self._budget
                )
                self._searches[number] = search
                begun.append(search)
        for search in begun:
            if not self.cancelled:
                search.submit()

    def cancel(self) -> None:
        """Cancel all searches; no reply is sent any more."""
        self.cancelled = True
        self._analyses.ended(self)
        with self._lock:
            self._waiting.clear()
            searches = list(self._searches.values())
            self._searches.clear()
        for search in searches:
            search.cancel()
        self._cancel_short()

    def _cancel_short(self) -> None:
        turns = self._analyses.tools.turns
        waiting = list(self._short)
        self._short.clear()
        if waiting and turns is not None:
            turns.cancel(self._owner, waiting)

    def answered(self, number: int, data: Data) -> None:
        """See `searches.SearchListener`."""
        with self._lock:
            # Under the lock, so that nothing preliminary follows.
            if self._tells_done:
                self._receiver.partial({**data, "done": True})
            self._answers[number] = data
            self._searches.pop(number, None)
            self._left -= 1
            last = self._left == 0
        if last:
            self._finish()
        elif self._waiting:
            self._search_more()

    def failed(self, error: RequestError) -> None:
        """See `searches.SearchListener`."""
        if not self.cancelled:
            self._analyses.health.refused(error.code)
            self._receiver.fail(error)
            self.cancel()

    def _finish(self) -> None:
        self._analyses.ended(self)
        self._short.clear()
        self._receiver.final(self._result([found for found in self._answers if found is not None]))

    def _result(self, answers: list[Data]) -> Data:
        """The data of a final with these answers."""
        listed = self._values.get("positions") is not None
        if not listed and self._values.get("plies") is None:
            return answers[0]
        spent = round((time.perf_counter() - self._begun) * 1000, 3)
        nodes = sum(found["nodes"] for found in answers)
        return {"results" if listed else "plies": answers, "nodes": nodes, "time_ms": spent}

    def found(self) -> Data | None:
        """The results so far as the data of a final with ``finished`` false; None without any."""
        with self._lock:
            answers, searches = list(self._answers), dict(self._searches)
        for number, search in searches.items():
            known = search.so_far()
            answers[number] = {**known, "finished": False} if known is not None else None
        for number in list(self._standing_in):
            if answers[number] is None:
                answers[number] = {**self._stand_in(number), "finished": False}
        known_answers = [found for found in answers if found is not None]
        return {**self._result(known_answers), "finished": False} if known_answers else None

    def progressed(self) -> None:
        """See `searches.SearchListener`. Sends a partial for each question in progress whose interval has passed."""
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
