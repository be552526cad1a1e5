"""Short questions share turns of search threads, because a turn costs more than a search of level 5.

Each turn takes questions of one client for one purpose, about `LONGEST_TURN_US` of work, and searches them in one
compiled call. `QuestionQueue` decides, as a state machine without threads; `QuestionTurns` carries its decisions out.
Turns are bounded by estimates, so that others wait a few milliseconds at most; they can be interrupted, too.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from desdaemon.protocol.errors import lacking

from .loader import EngineFailure
from .workers import Owner, SearchThreads, Work

if TYPE_CHECKING:
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Result
    from desdaemon.engine.short_searches import ShortSearches
    from desdaemon.protocol.othello.notation import Position

    from .loader import LoadedEngine

LONGEST_TURN_US = 3000
"""Estimated µs of work in one turn, unless a single question takes more."""

SHORTEST_TURN_US = 500
"""Estimated µs of work that is not divided among search threads."""

MOST_IN_TURN = 128
"""Most questions in one turn."""


class ShortQuestion(Protocol):
    """A position to search, in which the game is not over."""

    @property
    def position(self) -> Position:
        """The position to search."""

    @property
    def limits(self) -> Limits:
        """The limits of its search."""

    @property
    def short_us(self) -> int:
        """The estimated time of its search in µs."""


Q = TypeVar("Q", bound=ShortQuestion, contravariant=True)


class QuestionReceiver(Protocol[Q]):
    """Gets the results of its questions, on search threads."""

    def short_answered(self, results: Sequence[tuple[Q, Result]]) -> None:
        """Receive the results of some questions."""

    def short_failed(self, error: Exception) -> None:
        """Receive the error for a question that cannot be searched; called once for each such question."""


_Question = TypeVar("_Question")


class QuestionQueue(Generic[_Question]):
    """Forms turns from the waiting questions of one `Owner`, by their estimated µs. For one thread at a time.

    At most one turn waits at the scheduler (``turn_waiting``); any number may run.
    """

    def __init__(self, slots: int) -> None:
        """``slots`` is the number of search threads, among which turns divide the waiting questions."""
        self._slots = slots
        self.waiting: deque[tuple[_Question, int]] = deque()
        """The waiting questions, each with its estimated µs of work, oldest first."""
        self._total_us = 0
        self.turn_waiting = False

    def put(self, questions: list[tuple[_Question, int]]) -> bool:
        """Add questions, each with its estimated µs of work. Returns whether the caller must add a turn to the
        scheduler.
        """
        self.waiting += questions
        self._total_us += sum(estimated_us for _, estimated_us in questions)
        return self._ask()

    def remove(self, unwanted: Callable[[_Question], bool]) -> None:
        """Remove the questions for which ``unwanted`` returns true."""
        self.waiting = deque(row for row in self.waiting if not unwanted(row[0]))
        self._total_us = sum(estimated_us for _, estimated_us in self.waiting)

    def begin_turn(self) -> tuple[list[tuple[_Question, int]], bool]:
        """Begin the turn that waited at the scheduler.

        Returns its questions, oldest first, each with its estimated µs, and whether to add another turn to the
        scheduler. A turn gets an equal part of all waiting work, but at least `SHORTEST_TURN_US` and at most
        `LONGEST_TURN_US`, in at most `MOST_IN_TURN` questions; a longer question is a turn by itself.
        """
        self.turn_waiting = False
        bound = min(LONGEST_TURN_US, max(SHORTEST_TURN_US, -(-self._total_us // self._slots)))
        taken: list[tuple[_Question, int]] = []
        work_us = 0
        while self.waiting:
            work_us += self.waiting[0][1]
            if taken and (work_us > bound or len(taken) == MOST_IN_TURN):
                break
            taken.append(self.waiting.popleft())
            self._total_us -= taken[-1][1]
        return taken, self._ask()

    def put_back(self, questions: list[tuple[_Question, int]]) -> bool:
        """Queue the questions of an interrupted turn again, before all others. Returns what `put` returns."""
        self.waiting.extendleft(reversed(questions))
        self._total_us += sum(estimated_us for _, estimated_us in questions)
        return self._ask()

    def _ask(self) -> bool:
        if self.turn_waiting or not self.waiting:
            return False
        self.turn_waiting = True
        return True


_Asked = tuple[QuestionReceiver[Any], ShortQuestion]


class QuestionTurns:
    """Answers short questions in turns of the search threads, with a `QuestionQueue` for each `Owner`. Any thread may
    call the methods.
    """

    def __init__(self, workers: SearchThreads, mistake: Callable[[], None]) -> None:
        """``mistake`` is called in the handler of an unexpected exception."""
        self.workers = workers
        self.mistake = mistake
        self._lock = threading.Lock()
        self._queues: dict[Owner, QuestionQueue[_Asked]] = {}

    def submit(self, owner: Owner, receiver: QuestionReceiver[Q], questions: list[Q]) -> None:
        """Queue questions of ``owner``, in this order; ``receiver`` gets the results."""
        rows: list[tuple[_Asked, int]] = [((receiver, question), question.short_us) for question in questions]
        with self._lock:
            wanted = self._queue(owner).put(rows)
        self._request(owner, wanted=wanted)

    def cancel(self, owner: Owner, receiver: QuestionReceiver[Any]) -> None:
        """Remove the waiting questions of a receiver; those in a running turn are answered all the same."""
        with self._lock:
            if owner in self._queues:
                self._queues[owner].remove(lambda asked: asked[0] is receiver)

    def begin(self, owner: Owner) -> list[tuple[_Asked, int]]:
        """Begin a turn for an owner and request another one if questions are left. Returns this turn's questions, each
        with its estimated µs; [] if all were removed meanwhile.
        """
        with self._lock:
            queue = self._queue(owner)
            questions, wanted = queue.begin_turn()
            if not queue.waiting:
                del self._queues[owner]
        self._request(owner, wanted=wanted)
        return questions

    def put_back(self, owner: Owner, questions: list[tuple[_Asked, int]]) -> None:
        """Queue the questions that an interrupted turn did not reach, for the next turn."""
        with self._lock:
            wanted = self._queue(owner).put_back(questions)
        self._request(owner, wanted=wanted)

    def fail(self, owner: Owner, error: Exception) -> None:
        """Remove an owner's waiting questions and pass ``error`` to their receivers: there is no engine for the
        turn.
        """
        with self._lock:
            queue = self._queues.pop(owner, None)
        for (receiver, _), _ in queue.waiting if queue is not None else ():
            receiver.short_failed(error)

    def _queue(self, owner: Owner) -> QuestionQueue[_Asked]:
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
        rows = self._turns.begin(self._owner)
        if not rows:
            return False
        assert engine.short_searches is not None
        self._searches = engine.short_searches
        try:
            results = self._searches.search([(*asked.position[:2], asked.limits) for (_, asked), _ in rows])
        except Exception as error:
            reason = lacking(error)
            if not reason:
                self._turns.mistake()
            for (receiver, _), _ in rows:
                receiver.short_failed(EngineFailure(reason or "an internal error: see the daemon's log"))
            return False
        finally:
            self._searches = None
        nodes = 0
        unfinished = []
        answers: dict[QuestionReceiver[Any], list[tuple[ShortQuestion, Result]]] = {}
        for row, result in zip(rows, results, strict=True):
            if result is None:
                unfinished.append(row)
            else:
                nodes += result.nodes
                receiver, question = row[0]
                answers.setdefault(receiver, []).append((question, result))
        for receiver, answered in answers.items():
            try:
                receiver.short_answered(answered)
            except Exception:
                self._turns.mistake()
        self.workers.scheduler.accounts.searched(self.key, nodes)
        if unfinished:
            self._turns.put_back(self._owner, unfinished)
        return False
