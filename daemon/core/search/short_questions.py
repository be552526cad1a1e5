"""Short questions share turns of search threads, because a turn costs more than a search of level 5.

Each turn takes questions of one client for one purpose, about `LONGEST_TURN_US` of work, and searches them in one
compiled call. `QuestionQueue` decides, a state machine without threads; `QuestionTurns` carries out. Turns are bounded
by estimates, so that others wait a few milliseconds at most; they can be interrupted, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from .loader import EngineFailure
from .workers import Owner, SearchThreads, Work

if TYPE_CHECKING:
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Result
    from desdaemon.engine.short_searches import ShortSearches

    from .loader import LoadedEngine

LONGEST_TURN_US = 3000
"""Estimated µs of work in one turn, unless a single question takes more."""

SHORTEST_TURN_US = 500
"""Estimated µs of work that is not divided among search threads."""

MOST_IN_TURN = 128
"""Most questions in one turn."""


class QuestionReceiver(Protocol):
    """Who gets the results, by the numbers of its questions. Called from search threads."""

    def short_answered(self, number: int, result: Result) -> None:
        """Take the result of the question ``number``."""

    def short_failed(self, number: int, error: Exception) -> None:
        """Take the error of the question ``number``, which cannot be searched."""


class ShortQuestion(NamedTuple):
    """A position to search: the question ``number`` of ``receiver``, estimated to take ``estimated_us``."""

    receiver: QuestionReceiver
    number: int
    player: int
    opponent: int
    limits: Limits
    estimated_us: int


_Question = TypeVar("_Question", bound=Hashable)


class QuestionQueue(Generic[_Question]):
    """The waiting questions of one owner and the state of its turns. For one thread at a time.

    At most one turn waits at the scheduler (``turn_waiting``); any number may run.
    """

    def __init__(self, slots: int) -> None:
        """``slots`` is the number of search threads: a turn leaves work for the others."""
        self._slots = slots
        self._costs: dict[_Question, int] = {}
        self._total_us = 0
        self.turn_waiting = False

    def __len__(self) -> int:
        return len(self._costs)

    def put(self, question: _Question, estimated_us: int) -> bool:
        """Add a question. Returns whether to add a turn to the scheduler."""
        self._costs[question] = estimated_us
        self._total_us += estimated_us
        return self._ask()

    def remove(self, unwanted: Callable[[_Question], bool]) -> None:
        """Remove the questions for which ``unwanted`` returns true."""
        for question in [question for question in self._costs if unwanted(question)]:
            self._total_us -= self._costs.pop(question)

    def begin_turn(self) -> tuple[list[_Question], bool]:
        """Begin the turn that waited at the scheduler. Returns its questions, oldest first, and whether to add one
        more.
        """
        self.turn_waiting = False
        bound = min(LONGEST_TURN_US, max(SHORTEST_TURN_US, -(-self._total_us // self._slots)))
        taken: list[_Question] = []
        work_us = 0
        for question, estimated_us in self._costs.items():
            if taken and (work_us + estimated_us > bound or len(taken) == MOST_IN_TURN):
                break
            taken.append(question)
            work_us += estimated_us
        for question in taken:
            del self._costs[question]
        self._total_us -= work_us
        return taken, self._ask()

    def put_back(self, questions: dict[_Question, int]) -> bool:
        """Queue the questions of an interrupted turn before all others. Returns whether to ask for another turn."""
        self._costs = {**questions, **self._costs}
        self._total_us += sum(questions.values())
        return self._ask()

    def drain(self) -> list[_Question]:
        """Remove and return all questions; their turn has failed."""
        self.turn_waiting = False
        drained = list(self._costs)
        self._costs.clear()
        self._total_us = 0
        return drained

    def _ask(self) -> bool:
        if self.turn_waiting or not self._costs:
            return False
        self.turn_waiting = True
        return True


class QuestionTurns:
    """The queues of all owners, on the search threads. Any thread may call the methods."""

    def __init__(self, workers: SearchThreads, mistake: Callable[[], None]) -> None:
        """``mistake`` is called in the handler of an unexpected exception."""
        self.workers = workers
        self.mistake = mistake
        self._lock = threading.Lock()
        self._queues: dict[Owner, QuestionQueue[ShortQuestion]] = {}

    def submit(self, owner: Owner, questions: Iterable[ShortQuestion]) -> None:
        """Queue questions of an owner, in this order."""
        wanted = False
        with self._lock:
            queue = self._queue(owner)
            for question in questions:
                wanted |= queue.put(question, question.estimated_us)
        self._request(owner, wanted=wanted)

    def cancel(self, owner: Owner, receiver: QuestionReceiver) -> None:
        """Remove the waiting questions of a receiver; those in a running turn are answered all the same."""
        with self._lock:
            if owner in self._queues:
                self._queues[owner].remove(lambda question: question.receiver is receiver)

    def begin(self, owner: Owner) -> list[ShortQuestion]:
        """Begin a turn for an owner. Returns its questions."""
        with self._lock:
            queue = self._queue(owner)
            questions, wanted = queue.begin_turn()
            if not len(queue) and not wanted:
                del self._queues[owner]
        self._request(owner, wanted=wanted)
        return questions

    def put_back(self, owner: Owner, questions: list[ShortQuestion]) -> None:
        """Queue the questions that an interrupted turn did not reach, for the next turn."""
        with self._lock:
            wanted = self._queue(owner).put_back({question: question.estimated_us for question in questions})
        self._request(owner, wanted=wanted)

    def fail(self, owner: Owner, error: Exception) -> None:
        """Fail the waiting questions of an owner: there is no engine for their turn."""
        with self._lock:
            queue = self._queues.pop(owner, None)
        for question in queue.drain() if queue is not None else ():
            question.receiver.short_failed(question.number, error)

    def _queue(self, owner: Owner) -> QuestionQueue[ShortQuestion]:
        queue = self._queues.get(owner)
        if queue is None:
            queue = self._queues[owner] = QuestionQueue(self.workers.scheduler.slots)
        return queue

    def _request(self, owner: Owner, *, wanted: bool) -> None:
        if wanted:
            self.workers.scheduler.add(_SharedTurn(self, owner))


class _SharedTurn(Work):
    """A turn that short questions of one owner share."""

    def __init__(self, turns: QuestionTurns, owner: Owner) -> None:
        super().__init__(turns.workers, owner)
        self._turns = turns
        self._owner = owner
        self._searches: ShortSearches | None = None
        """The searches of the turn; None unless it runs."""

    def interrupt(self) -> None:
        searches = self._searches
        if searches is not None:
            searches.stop()

    def fail(self, error: Exception) -> None:
        self._turns.fail(self._owner, error)

    def run(self, engine: LoadedEngine) -> bool:
        questions = self._turns.begin(self._owner)
        if not questions:
            return False
        assert engine.short_searches is not None
        self._searches = engine.short_searches
        try:
            results = self._searches.search([(each.player, each.opponent, each.limits) for each in questions])
        except Exception:
            self._turns.mistake()
            for question in questions:
                question.receiver.short_failed(question.number, EngineFailure("an internal error; its log has more"))
            return False
        finally:
            self._searches = None
        nodes = 0
        for question, result in zip(questions, results, strict=True):
            if result is not None:
                nodes += result.nodes
                try:
                    question.receiver.short_answered(question.number, result)
                except Exception:
                    self._turns.mistake()
        self.workers.scheduler.accounts.searched(self.key, nodes)
        unfinished = [question for question, result in zip(questions, results, strict=True) if result is None]
        if unfinished:
            self._turns.put_back(self._owner, unfinished)
        return False
