"""The search for one question of an analysis, on the daemon's search threads.

`ResumableSearch` waits for a lease, runs, and waits again after it was preempted; it can search any question.
`SharedTurnSearches` are for short questions: a search thread answers many of them in one turn.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from desdaemon.core.search.engine_leases import what_is_left
from desdaemon.core.search.helpers import HelpedSearch, HelperPool
from desdaemon.core.search.scheduler import Purpose, Scheduler, Task
from desdaemon.core.search.short_questions import PendingQuestion, QuestionTurns, TurnOwner
from desdaemon.core.search.workers import SearchThreads, SearchWork
from desdaemon.protocol.othello import rules
from desdaemon.protocol.wire.messages import RequestError

from .answers import answer, line_data, move_name

if TYPE_CHECKING:
    from desdaemon.core.metrics import ServerMetrics
    from desdaemon.core.search.loader import EngineFailure, LoadedEngine, Stoppable
    from desdaemon.engine.result import Line, Result

    from .analysis_cache import AnalysisCache
    from .book_answers import BookAnswer
    from .questions import Question
    from .request import Data


class Budget:
    """The node limit that all searches of a request share. Any thread.

    Each starting search may use an equal part of the rest; nodes that it does not use are left for the others. With
    ``deterministic`` all have equal parts, because the rest depends on which search is first.
    """

    def __init__(self, nodes: int, questions: int, *, deterministic: bool = False) -> None:
        self._left = nodes
        self._without_share = questions
        self._fixed = max(1, nodes // max(1, questions)) if deterministic else 0
        self._lock = threading.Lock()

    def take(self) -> int:
        """Reserve nodes for a starting search, at least 1."""
        if self._fixed:
            return self._fixed
        with self._lock:
            share = max(1, self._left // max(1, self._without_share))
            self._without_share -= 1
            self._left -= share
            return share

    def settle(self, share: int, used: int, *, goes_on: bool) -> None:
        """Account a turn that had reserved ``share`` and visited ``used`` nodes; ``goes_on``: it will reserve again."""
        with self._lock:
            self._left += share - used
            self._without_share += goes_on


class SearchServices(NamedTuple):
    """The services that searches use. ``turns`` is None where engines cannot take many short searches in one call."""

    scheduler: Scheduler
    workers: SearchThreads
    cache: AnalysisCache
    health: ServerMetrics
    turns: QuestionTurns | None
    helpers: HelperPool


class SearchListener(Protocol):
    """The receiver of results: `analysis.QuestionSet`. Called from search threads."""

    cancelled: bool

    def answered(self, number: int, data: Data) -> None:
        """Take the answer to the question ``number``."""

    def failed(self, error: RequestError) -> None:
        """Take the error of a search that cannot be finished."""

    def progressed(self) -> None:
        """Called after each finished iteration."""


class FoundLines:
    """The ``count`` best lines of a search that deepens: each iteration tells them by rank from 0, whatever the order
    before. Not thread-safe.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._latest: list[Line] = []
        self._before: list[Line] = []

    def add(self, rank: int, line: Line) -> None:
        """A line of the iteration at hand; rank 0 begins one."""
        if rank == 0:
            self._before, self._latest = self.known(), []
        self._latest.append(line)

    def known(self) -> list[Line]:
        """As far as the last iteration has come, its lines; moves that it has not come to are as they were before."""
        moves = {line.move for line in self._latest}
        return [*self._latest, *(line for line in self._before if line.move not in moves)][: self._count]

    @property
    def complete(self) -> bool:
        """Whether all lines are known that there will be."""
        return len(self._latest) == self._count or len(self._before) == self._count


class ResumableSearch(Task):
    """A search of one or more turns. ``book`` is the book's answer: its sufficient moves are not searched again."""

    def __init__(
        self,
        asker: SearchListener,
        number: int,
        question: Question,
        book: BookAnswer,
        tools: SearchServices,
        owner: TurnOwner,
        budget: Budget | None = None,
    ) -> None:
        super().__init__(
            owner.purpose, owner.key, owner.client, priority=owner.priority, restarts=question.deterministic
        )
        self.number = number
        self.question = question
        self.reported_at = 0.0
        """When a partial was sent the last time, by the asker's clock."""
        self._asker = asker
        self._tools = tools
        self._limits = question.limits
        self._budget = budget
        self._settled = book.moves if book.sufficient else []
        self._threads = question.threads if owner.purpose is Purpose.ANALYSIS else 1
        self._engine = 0
        """The engine of the last turn, whose table still knows this search."""
        self._lock = threading.Lock()
        self._control: Stoppable | None = None
        self._again = False
        self._interrupted = False
        """Whether this turn has been interrupted; late calls for the last one count for this."""
        self._lines = FoundLines(self._line_count())
        self._nodes = 0
        self._ms = 0.0
        self._turn_begun = 0.0

    @property
    def searching(self) -> bool:
        """Whether an engine searches for it now."""
        return self._control is not None

    def submit(self) -> None:
        """Wait for a search thread."""
        self._tools.scheduler.add(self)

    def cancel(self) -> None:
        """End it; its answer is not wanted."""
        self._tools.scheduler.remove(self)
        self.interrupt()

    def interrupt(self) -> None:
        """See `Task.interrupt`."""
        with self._lock:
            self._interrupted = True
            control = self._control
        if control is not None:
            control.stop()

    def start(self) -> None:
        """See `Task.start`."""
        self._tools.workers.put(SearchWork(self._run, self._done, self._no_engine, self._engine))

    def _no_engine(self, error: EngineFailure) -> None:
        self._asker.failed(RequestError("internal", str(error)))

    def _run(self, engine: LoadedEngine) -> None:
        try:
            self._again = not self._asker.cancelled and self._search(engine)
        except Exception:
            self._tools.health.mistake("analyze")
            self._asker.failed(RequestError("internal", "an internal error; its log has more"))

    def _done(self) -> None:
        again, self._again = self._again, False
        self._tools.scheduler.release(self, again=again)

    def _search(self, engine: LoadedEngine) -> bool:
        """Search, and answer unless the search was interrupted for something better; then True."""
        self._engine = id(engine.searcher)
        question = self.question
        share = self._budget.take() if self._budget is not None else 0
        limits = self._limits
        if share:
            limits = limits._replace(nodes=min(share, limits.nodes or share))
        control = engine.new_control()
        with self._lock:
            self._control = control
            self._turn_begun = time.monotonic()
            self._interrupted = self.interrupted
        used, goes_on = 0, False
        helped = self._helped(engine)
        try:
            if self._asker.cancelled or self._interrupted:
                goes_on = not self._asker.cancelled
                return goes_on
            if question.deterministic:
                engine.searcher.clear()
            result = engine.searcher.search(
                question.position.player,
                question.position.opponent,
                limits,
                multipv=self._lines_wanted(),
                allow=self._open_moves(),
                control=control,
                progress=self._progress,
                welcome=helped.begin if helped is not None else None,
            )
            used = result.nodes
            with self._lock:
                self._nodes += used
                self._ms += result.time_ms
                self._control = None
            self._tools.health.searched(used)
            self._tools.scheduler.accounts.searched(self.key, used)
            if self._asker.cancelled:
                return False
            if self._interrupted and not result.complete:
                # What starts over has all that it may have once more.
                left = self._limits if question.deterministic else what_is_left(self._limits, result)
                if left:
                    self._limits = left
                    goes_on = True
                    return True
        finally:
            if helped is not None:
                helped.end()
            with self._lock:
                self._control = None
            if self._budget is not None:
                self._budget.settle(share, used, goes_on=goes_on)
        if question.allow == rules.FULL and not self._settled and result.lines:
            self._tools.cache.put(question.position.player, question.position.opponent, result.lines)
        found = [line_data(line) for line in result.lines]
        extra: dict[str, Any] = {} if result.complete else {"stopped": True}
        if result.threads > 1:
            extra["threads"] = result.threads
        self._asker.answered(self.number, self._answer(found, **extra))
        return False

    def _helped(self, engine: LoadedEngine) -> HelpedSearch | None:
        """The context in which idle threads may join the search on that engine; None where they may not."""
        most = self._tools.helpers.most(self._threads)
        team = getattr(engine.searcher, "team", None)
        return HelpedSearch(self._tools.helpers, team, most, self.key) if most and team is not None else None

    def _open_moves(self) -> int:
        """The moves to be searched."""
        allow = self.question.allow
        if not self._settled:
            return allow
        settled = {found["move"] for found in self._settled}
        return allow & ~sum(1 << move for move in rules.squares(allow) if move_name(move) in settled)

    def _lines_wanted(self) -> int:
        return max(1, self.question.multipv - len(self._settled))

    def _line_count(self) -> int:
        """The lines that the engine will find: a pass is one."""
        moves = (self.question.facts.moves & self._open_moves()).bit_count()
        return max(1, min(self._lines_wanted(), moves))

    def _progress(self, rank: int, line: Line) -> None:
        with self._lock:
            self._lines.add(rank, line)
            complete = self._lines.complete
        # Before the first iteration has come to all moves, which takes it no time, a partial would tell one of them
        # and keep the others waiting for its interval; should it take long, `AnalysisService` asks.
        if complete:
            self.reported = True
            self._asker.progressed()

    def so_far(self) -> Data | None:
        """The lines found so far, earlier turns included; None without any. Any thread."""
        with self._lock:
            lines = self._lines.known()
        if not lines:
            return None
        data = self._answer([line_data(line) for line in lines])
        with self._lock:
            if self._control is not None:
                data["nodes"] += getattr(self._control, "nodes", 0)
                data["time_ms"] = round(data["time_ms"] + (time.monotonic() - self._turn_begun) * 1000, 3)
        return data

    def _answer(self, found: list[Data], **extra: Any) -> Data:
        moves = sorted([*self._settled, *found], key=lambda move: -int(move["score"]))
        return answer(self.question, moves[: self.question.multipv], self._nodes, self._ms, **extra)


class SharedTurnSearches:
    """The short searches of one request, which share turns with others: one line, all moves allowed.

    Those that are interrupted begin again. It keeps none of its questions, which refer to it as their receiver.
    """

    def __init__(self, asker: SearchListener, questions: list[Question], tools: SearchServices, owner: TurnOwner):
        self._asker = asker
        self._questions = questions
        self._tools = tools
        self._owner = owner

    def submit(self, wanted: list[tuple[int, int]], waiting: list[PendingQuestion]) -> None:
        """Search the questions of these numbers, with an estimate of the microseconds that each takes.

        They are added to ``waiting`` before any of them can be answered.
        """
        questions = self._questions
        pending = []
        for number, estimated_us in wanted:
            question = questions[number]
            board = question.position
            pending.append(PendingQuestion(board.player, board.opponent, question.limits, estimated_us, self, number))
        waiting += pending
        assert self._tools.turns is not None
        self._tools.turns.submit(self._owner, pending)

    def answered(self, number: int, result: Result) -> None:
        """See `QuestionReceiver`."""
        question = self._questions[number]
        self._tools.health.searched(result.nodes)
        if not self._asker.cancelled:
            self._tools.cache.put(
                question.position.player, question.position.opponent, result.lines, question.facts.canonical
            )
            found = [line_data(line) for line in result.lines]
            self._asker.answered(number, answer(question, found, result.nodes, result.time_ms))

    def failed(self, number: int, error: EngineFailure) -> None:
        """See `QuestionReceiver`."""
        self._asker.failed(RequestError("internal", str(error)))


def short_search_us(question: Question, tools: SearchServices) -> int:
    """The estimated microseconds of a question for `SharedTurnSearches`; 0 for one that takes a `ResumableSearch`."""
    if tools.turns is None or question.multipv > 1 or question.allow != rules.FULL or question.deterministic:
        return 0
    from desdaemon.engine.limits import estimated_us

    return estimated_us(question.limits, question.position.empties)
