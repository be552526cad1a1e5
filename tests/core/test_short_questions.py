"""Short questions that share turns of search threads: the queue as a state machine, and the threads around it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from desdaemon.core.search.loader import EngineConfig, EngineFailure, LoadedEngine
from desdaemon.core.search.scheduler import Lease, Purpose, Scheduler
from desdaemon.core.search.short_questions import QuestionQueue, QuestionTurns
from desdaemon.core.search.workers import EnginePool, Owner, SearchThreads
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Result
from desdaemon.protocol.othello.notation import Position

LONGEST_TURN_US = 3000
MOST_IN_TURN = 128

OWNER = Owner(Purpose.ANALYSIS, "key", "client")
PATIENCE_S = 60


@given(
    st.integers(1, 8),
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.integers(1, 2 * LONGEST_TURN_US)),
            st.tuples(st.sampled_from(["begin", "remove", "interrupt"]), st.integers(0, 50)),
        ),
        max_size=200,
    ),
)
def test_every_question_gets_its_turn(slots: int, events: list[tuple[str, int]]) -> None:
    queue: QuestionQueue[int] = QuestionQueue(slots)
    costs: dict[int, int] = {}
    waiting: list[int] = []
    asked = 0
    begun: list[int] = []

    def begin() -> None:
        nonlocal asked, begun
        asked -= 1
        rows, more = queue.begin_turn()
        begun = [number for number, _ in rows]
        assert rows == [(number, costs[number]) for number in begun]
        asked += more
        # Oldest first, within the bounds, and never nothing where something waits.
        assert begun == waiting[: len(begun)]
        assert bool(begun) == bool(waiting)
        assert len(begun) <= MOST_IN_TURN
        assert sum(costs[each] for each in begun) <= LONGEST_TURN_US or len(begun) == 1
        del waiting[: len(begun)]

    for event, value in events:
        if event == "put":
            costs[len(costs)] = value
            waiting.append(len(costs) - 1)
            asked += queue.put([(len(costs) - 1, value)])
        elif event == "begin" and asked:
            begin()
        elif event == "remove":
            queue.remove(lambda number, value=value: number % 51 == value)  # type: ignore[misc]
            waiting = [number for number in waiting if number % 51 != value]
        elif event == "interrupt" and begun:
            asked += queue.put_back([(each, costs[each]) for each in begun])
            waiting[:0] = begun
            begun = []
        # At most one turn is asked for, and one is where anything waits.
        assert asked == queue.turn_waiting
        assert asked or not waiting
        assert [number for number, _ in queue.waiting] == waiting
    while asked:
        begin()
    assert not waiting
    assert not queue.waiting


class Question(NamedTuple):
    """A question whose number is its player's discs."""

    position: Position
    limits: Limits = Limits(5)
    short_us: int = 150


def questions(*numbers: int) -> list[Question]:
    return [Question(Position(number, 0, True)) for number in numbers]


class PretendedSearches:
    """Answers with the number of a position; ``stopped`` leaves the second half unfinished, once."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.stopped = False
        self.broken = False

    def search(self, questions: Sequence[tuple[int, int, Limits]]) -> list[Result | None]:
        if self.broken:
            raise RuntimeError
        self.rows.append(len(questions))
        found: list[Result | None] = [Result((), player, 0.0, True) for player, _, _ in questions]
        if self.stopped and len(found) > 1:
            self.stopped = False
            found[len(found) // 2 :] = [None] * (len(found) - len(found) // 2)
        return found

    def stop(self) -> None: ...


class Asked:
    """Turns over pretended searches, and what was answered."""

    def __init__(self) -> None:
        self.searches = PretendedSearches()
        self.failure: EngineFailure | None = None
        self.answers: list[int] = []
        self.failures: list[str] = []
        self.mistakes = 0
        self.scheduler = Scheduler(1)
        self.turns = QuestionTurns(SearchThreads(self.scheduler, EnginePool(self._build, 1, 16)), self._mistake)
        self._news = threading.Condition()

    def _build(self, config: EngineConfig) -> LoadedEngine:
        if self.failure is not None:
            raise self.failure
        nothing: Any = None
        return LoadedEngine(nothing, nothing, self.searches)  # type: ignore[arg-type]

    def _mistake(self) -> None:
        self.mistakes += 1

    def submit(self, *numbers: int) -> None:
        self.turns.submit(OWNER, self, questions(*numbers))

    def short_answered(self, results: Sequence[tuple[Question, Result]]) -> None:
        with self._news:
            assert all(result.nodes == question.position.player for question, result in results)
            self.answers += [result.nodes for _, result in results]
            self._news.notify_all()

    def short_failed(self, error: Exception) -> None:
        with self._news:
            self.failures.append(str(error))
            self._news.notify_all()

    def wait(self, number: int) -> None:
        with self._news:
            assert self._news.wait_for(lambda: len(self.answers) + len(self.failures) >= number, PATIENCE_S)


def test_questions_that_came_while_the_thread_was_busy_share_a_turn() -> None:
    asked = Asked()
    with asked.scheduler.turn_of(Lease(Purpose.ANALYSIS, "key", "other")):
        gone = Asked()
        for receiver, numbers in ((asked, (0, 1, 2)), (gone, (3, 7)), (asked, (4, 5, 6, 8)), (asked, (9,))):
            asked.turns.submit(OWNER, receiver, questions(*numbers))
        asked.turns.cancel(OWNER, gone)
    asked.wait(8)
    assert not gone.answers
    assert asked.answers == [0, 1, 2, 4, 5, 6, 8, 9]
    assert asked.searches.rows == [8]
    assert asked.scheduler.accounts.listed()[0][1].nodes == sum(asked.answers)


def test_an_interrupted_turn_goes_on() -> None:
    asked = Asked()
    asked.searches.stopped = True
    with asked.scheduler.turn_of(Lease(Purpose.ANALYSIS, "key", "other")):
        for number in range(8):
            asked.submit(number)
    asked.wait(8)
    assert asked.answers == list(range(8))
    assert asked.searches.rows == [8, 4]


def test_every_question_is_told_that_no_engine_is_there() -> None:
    asked = Asked()
    asked.failure = EngineFailure("no weights")
    with asked.scheduler.turn_of(Lease(Purpose.ANALYSIS, "key", "other")):
        for number in range(3):
            asked.submit(number)
    asked.wait(3)
    assert asked.failures == ["no weights"] * 3
    asked.failure = None
    asked.submit(7)
    asked.wait(4)
    assert asked.answers == [7]


def test_a_mistake_ends_the_questions_of_its_turn_only() -> None:
    asked = Asked()
    asked.searches.broken = True
    asked.submit(1)
    asked.wait(1)
    assert len(asked.failures) == asked.mistakes == 1
    asked.searches.broken = False
    asked.submit(2)
    asked.wait(2)
    assert asked.answers == [2]
