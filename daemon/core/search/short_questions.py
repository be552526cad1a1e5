"""Short questions: many of them share one turn of a search thread.

A turn of a search thread costs more than a search of level 5. The questions of one client for one purpose therefore
share turns: each turn takes about `LONGEST_TURN_US` of work from their queue and searches it in one compiled call.
`QuestionQueue` decides, as a state machine without threads; `QuestionTurns` carries its decisions out on the
scheduler's threads. A turn is bounded by estimates, so that others wait for it a few milliseconds at most; it can be
interrupted as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from .loader import EngineFailure
from .scheduler import Purpose, Scheduler, Task
from .workers import SearchThreads, SearchWork

if TYPE_CHECKING:
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Result

    from .loader import LoadedEngine

LONGEST_TURN_US = 3000
"""Estimated work of one turn in microseconds, unless a single question takes more."""

SHORTEST_TURN_US = 500
"""Estimated work that is not divided between search threads."""

MOST_IN_TURN = 128
"""Questions of one turn."""


MISTAKE = "an internal error; its log has more"
"""The message of the error reply after an unexpected exception."""


class TurnOwner(NamedTuple):
    """The owner of questions that share turns: purpose, key, client, and the priority among that client's questions."""

    purpose: Purpose
    key: Hashable
    client: Hashable
    priority: int = 0


class QuestionReceiver(Protocol):
    """The receiver of results, by the numbers of its questions. Called from search threads; must not raise."""

    def answered(self, number: int, result: Result) -> None:
        """Take the result of a question."""

    def failed(self, number: int, error: EngineFailure) -> None:
        """Take the error of a question that cannot be searched."""


class PendingQuestion:
    """A position to be searched, and the receiver of its result. Compared by identity.

    ``estimated_us`` is the estimated search time; ``number`` is the receiver's for the question.
    """

    __slots__ = ("estimated_us", "limits", "number", "opponent", "player", "receiver")

    def __init__(
        self,
        player: int,
        opponent: int,
        limits: Limits,
        estimated_us: int,
        receiver: QuestionReceiver,
        number: int,
    ) -> None:
        self.player = player
        self.opponent = opponent
        self.limits = limits
        self.estimated_us = estimated_us
        self.receiver = receiver
        self.number = number


_Question = TypeVar("_Question", bound=Hashable)


class QuestionQueue(Generic[_Question]):
    """The waiting questions of one owner and the state of their turns. No threads, no I/O.

    At most one turn waits at the scheduler (``turn_waiting``); any number of them may run. For one thread at a time.
    """

    def __init__(self, slots: int) -> None:
        """``slots`` is the number of search threads; a turn leaves work for the others."""
        self._slots = slots
        self._costs: dict[_Question, int] = {}
        self._total_us = 0
        self.turn_waiting = False

    def __len__(self) -> int:
        return len(self._costs)

    def put(self, question: _Question, estimated_us: int) -> bool:
        """Add a question. Returns whether a turn has to be requested."""
        self._costs[question] = estimated_us
        self._total_us += estimated_us
        return self._ask()

    def remove(self, question: _Question) -> bool:
        """Remove a question. Returns False where it does not wait."""
        estimated_us = self._costs.pop(question, None)
        if estimated_us is None:
            return False
        self._total_us -= estimated_us
        return True

    def begin_turn(self) -> tuple[list[_Question], bool]:
        """Start the requested turn. Returns its questions, oldest first, and whether to request another turn."""
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
        """Queue the questions of an interrupted turn again, before all others. Returns whether a turn has to be
        requested.
        """
        self._costs = {**questions, **self._costs}
        self._total_us += sum(questions.values())
        return self._ask()

    def drain(self) -> list[_Question]:
        """Remove and return all questions, because their turn failed."""
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
    """The queues of all owners, on the scheduler's threads. Every method may be called from any thread."""

    def __init__(self, scheduler: Scheduler, workers: SearchThreads, mistake: Callable[[], None]) -> None:
        """``mistake`` is called inside the handler of an unexpected exception."""
        self._scheduler = scheduler
        self._workers = workers
        self._mistake = mistake
        self._lock = threading.Lock()
        self._queues: dict[TurnOwner, QuestionQueue[PendingQuestion]] = {}

    def submit(self, owner: TurnOwner, questions: Iterable[PendingQuestion]) -> None:
        """Queue questions of an owner, in this order."""
        with self._lock:
            queue = self._queues.get(owner)
            if queue is None:
                queue = self._queues[owner] = QuestionQueue(self._scheduler.slots)
            wanted = False
            for question in questions:
                wanted |= queue.put(question, question.estimated_us)
        if wanted:
            self._ask_for_turn(owner)

    def cancel(self, owner: TurnOwner, questions: Iterable[PendingQuestion]) -> None:
        """Remove questions; those that are being searched are answered nevertheless."""
        with self._lock:
            queue = self._queues.get(owner)
            if queue is not None:
                for question in questions:
                    queue.remove(question)

    def _ask_for_turn(self, owner: TurnOwner) -> None:
        self._scheduler.add(_SearchTurn(self, owner, self._scheduler, self._workers))

    def begin(self, owner: TurnOwner) -> list[PendingQuestion]:
        """The questions of a starting turn."""
        with self._lock:
            queue = self._queues.get(owner)
            if queue is None:
                return []
            questions, wanted = queue.begin_turn()
            self._forget_empty(owner, queue)
        if wanted:
            self._ask_for_turn(owner)
        return questions

    def put_back(self, owner: TurnOwner, questions: list[PendingQuestion]) -> None:
        """Queue questions that an interrupted turn did not reach for the next one."""
        with self._lock:
            queue = self._queues.setdefault(owner, QuestionQueue(self._scheduler.slots))
            wanted = queue.put_back({question: question.estimated_us for question in questions})
        if wanted:
            self._ask_for_turn(owner)

    def fail(self, owner: TurnOwner, error: EngineFailure) -> None:
        """Fail all waiting questions of an owner, because there is no engine for their turn."""
        with self._lock:
            queue = self._queues.pop(owner, None)
            questions = queue.drain() if queue is not None else []
        for question in questions:
            question.receiver.failed(question.number, error)

    def count(self, owner: TurnOwner, nodes: int) -> None:
        """Charge the nodes of a turn to its key."""
        self._scheduler.accounts.searched(owner.key, nodes)

    def note_mistake(self) -> None:
        """See ``mistake``."""
        self._mistake()

    def _forget_empty(self, owner: TurnOwner, queue: QuestionQueue[PendingQuestion]) -> None:
        if not len(queue) and not queue.turn_waiting:
            del self._queues[owner]


class _SearchTurn(Task):
    """One turn: waits in the scheduler, searches its questions in one call, and ends."""

    def __init__(self, turns: QuestionTurns, owner: TurnOwner, scheduler: Scheduler, workers: SearchThreads) -> None:
        super().__init__(owner.purpose, owner.key, owner.client, priority=owner.priority)
        self._turns = turns
        self._owner = owner
        self._scheduler = scheduler
        self._workers = workers
        self._engine: LoadedEngine | None = None

    def start(self) -> None:
        """See `Task.start`."""
        self._workers.put(SearchWork(self._run, self._done, self._failed))

    def interrupt(self) -> None:
        """See `Task.interrupt`."""
        engine = self._engine
        if engine is not None and engine.short_searches is not None:
            engine.short_searches.stop()

    def _failed(self, error: EngineFailure) -> None:
        self._turns.fail(self._owner, error)

    def _done(self) -> None:
        self._scheduler.release(self)

    def _run(self, engine: LoadedEngine) -> None:
        questions = self._turns.begin(self._owner)
        if not questions:
            return
        assert engine.short_searches is not None
        self._engine = engine
        try:
            results = engine.short_searches.search(
                [(question.player, question.opponent, question.limits) for question in questions]
            )
        except Exception:
            self._turns.note_mistake()
            for question in questions:
                question.receiver.failed(question.number, EngineFailure(MISTAKE))
            return
        finally:
            self._engine = None
        nodes = 0
        unfinished = []
        for question, result in zip(questions, results, strict=True):
            if result is None:
                unfinished.append(question)
                continue
            nodes += result.nodes
            try:
                question.receiver.answered(question.number, result)
            except Exception:
                self._turns.note_mistake()
        self._turns.count(self._owner, nodes)
        if unfinished:
            self._turns.put_back(self._owner, unfinished)
