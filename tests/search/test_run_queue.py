"""Which task runs next: what the state machine decides, whatever comes in whatever order."""

from __future__ import annotations

import gc
import weakref

from hypothesis import given, settings
from hypothesis import strategies as st

from desdaemon.core.search.run_queue import LEAST_RUN_S, RunQueue
from desdaemon.core.search.shares import AGEING_S, SHORT_S, SLICE_S, Purpose, QueuedTask

PURPOSES = st.sampled_from(Purpose)


def task(client: str = "a", purpose: Purpose = Purpose.ANALYSIS, *, key: str = "k", **more: int | bool) -> QueuedTask:
    return QueuedTask(purpose, key, client, **more)  # type: ignore[arg-type]


def long(client: str = "a", purpose: Purpose = Purpose.ANALYSIS, **more: str | int | bool) -> QueuedTask:
    """A task that is short no more."""
    found = task(client, purpose, **more)  # type: ignore[arg-type]
    found.used_s = SHORT_S
    return found


def quick(client: str) -> QueuedTask:
    """A task that tells a first result at once."""
    found = task(client)
    found.reported = True
    return found


def added(queue: RunQueue, *tasks: QueuedTask, now: float = 0.0) -> None:
    for found in tasks:
        queue.add(found, now)


def test_clients_take_turns_and_their_own_tasks_go_by_priority_then_age() -> None:
    queue = RunQueue(1)
    greedy = [task("greedy", priority=priority) for priority in (0, 0, 5)]
    others = [task(name) for name in ("b", "c")]
    added(queue, *greedy, *others)
    order, now = [], 0.0
    while queue.waiting:
        (started,) = queue.decide(now).start
        order.append(started)
        now += 0.05
        queue.release(started, now)
    assert order == [greedy[2], *others, greedy[0], greedy[1]]


def test_the_story_tells_of_tasks_by_their_order() -> None:
    queue = RunQueue(1)
    running, waiting = long("a"), task("b")
    queue.add(running, 0.0)
    queue.decide(0.0)
    queue.add(waiting, 0.2)
    assert queue.decide(0.2).interrupt == [running]
    queue.release(running, 0.25)
    assert queue.decide(0.25).start == [waiting]
    assert queue.story.text() == (
        "run queue: 1 add 1 a 0.000; 2 start 1 1 0.000; 3 add 2 b 0.200; 4 interrupt 1; 5 release 1 0.250; "
        "6 start 2 1 0.250"
    )


def test_keys_come_before_clients() -> None:
    queue = RunQueue(1)
    many = [task(f"client {number}", key="many") for number in range(8)]
    one = [task("only", key="one") for _ in range(8)]
    added(queue, *many, *one)
    order, now = [], 0.0
    while len(order) < 8:
        (started,) = queue.decide(now).start
        order.append(started.key)
        now += 0.02
        queue.release(started, now)
    assert order.count("one") == 4


def test_a_short_task_interrupts_long_ones_which_then_go_on() -> None:
    queue = RunQueue(2)
    running = [long("a"), long("b")]
    added(queue, *running, long("c"))
    assert queue.decide(0).start == running
    queue.decide(0.2)
    short = task("new")
    queue.add(short, 0.3)
    (victim,) = queue.decide(0.3).interrupt
    assert victim in running
    queue.release(victim, 0.301)
    queue.add(victim, 0.301)
    assert queue.decide(0.301).start == [short]
    queue.release(short, 0.31)
    # Its turn was not over, so that it goes on before the one that waits for a turn.
    assert queue.decide(0.31).start == [victim]


def test_nothing_is_interrupted_right_after_its_start() -> None:
    queue = RunQueue(1)
    first = long("a")
    queue.add(first, 0)
    queue.decide(0)
    queue.add(task("b"), 0)
    decision = queue.decide(0)
    assert decision.interrupt == []
    assert decision.again <= LEAST_RUN_S
    assert queue.decide(LEAST_RUN_S).interrupt == [first]


def handed_on(queue: RunQueue, now: float) -> list[QueuedTask]:
    """The tasks that are started in the place of what the decision for ``now`` interrupts."""
    started = []
    for interrupted in queue.decide(now).interrupt:
        queue.release(interrupted, now + 0.001, again=True)
        started += queue.decide(now + 0.001).start
    return started


def test_the_only_question_of_a_client_does_not_wait_until_another_is_short_no_more() -> None:
    queue = RunQueue(1)
    first, second, third = quick("a"), quick("b"), quick("c")
    added(queue, first, second, third)
    assert queue.decide(0).start == [first]
    assert handed_on(queue, LEAST_RUN_S - 0.001) == []
    assert queue.decide(LEAST_RUN_S - 0.001).again <= LEAST_RUN_S
    assert handed_on(queue, LEAST_RUN_S) == [second]
    assert queue.decide(LEAST_RUN_S + 0.002).again <= 2 * LEAST_RUN_S + 0.001
    assert handed_on(queue, 2 * LEAST_RUN_S + 0.001) == [third]
    # All of them have begun: the next to go on has what is left of its 0.1 s.
    assert handed_on(queue, 3 * LEAST_RUN_S + 0.002) == []
    now = 0.05
    queue.release(third, now)
    (again,) = queue.decide(now).start
    assert again in (first, second)
    assert handed_on(queue, now + 0.08) == []
    # Nor is it interrupted once more for another that comes now.
    queue.add(quick("d"), now + 0.08)
    assert handed_on(queue, now + 0.08) == []
    assert handed_on(queue, now + 0.092) != []


def test_who_has_more_questions_waiting_waits_for_the_others() -> None:
    """An exchange costs work: a stream of questions is better served one after the other."""
    for more in (long("b"), task("b")):
        queue = RunQueue(1)
        first, second = quick("a"), quick("b")
        added(queue, first, more, second)
        queue.decide(0)
        queue.remove(more, 0)
        assert handed_on(queue, LEAST_RUN_S) == []
    queue = RunQueue(1)
    added(queue, quick("a"), quick("a"))
    queue.decide(0)
    assert handed_on(queue, LEAST_RUN_S) == []


def test_a_first_turn_does_not_end_before_there_is_a_result() -> None:
    """On a machine that other programs use the thread may not have run at all by then."""
    queue = RunQueue(1)
    first, second = task("a"), quick("b")
    added(queue, first, second)
    queue.decide(0)
    assert handed_on(queue, LEAST_RUN_S) == []
    first.reported = True
    assert handed_on(queue, 2 * LEAST_RUN_S) == [second]


def test_the_place_beside_a_host_is_handed_on_too() -> None:
    queue = RunQueue(1)
    job = task("job", Purpose.BOOK, restarts=True)
    first, second = quick("a"), quick("b")
    added(queue, job)
    assert queue.decide(0).start == [job]
    added(queue, first, second)
    assert queue.decide(0).start == [first]
    assert handed_on(queue, LEAST_RUN_S) == [second]
    assert second.host is job
    assert queue.free == 0


def test_who_asks_much_that_is_short_waits_like_others_after_a_while() -> None:
    queue = RunQueue(1)
    others = [long(f"other {number}") for number in range(9)]
    added(queue, *others)
    (running,) = queue.decide(0).start
    now, had = 0.0, 0.0
    while now < 10:
        stream = task("stream")
        queue.add(stream, now)
        while not stream.running:
            decision = queue.decide(now)
            for interrupted in decision.interrupt:
                queue.release(interrupted, now)
                queue.add(interrupted, now)
            now += 0.005
        now += 0.02
        had += queue.release(stream, now)
        queue.decide(now)
    assert running.used_s < 5
    # A tenth is its share; a quarter of a second more is allowed it at the beginning.
    assert 0.7 < had < 1.6


def test_a_turn_ends_where_others_were_charged_less() -> None:
    queue = RunQueue(1)
    first, second = long("a"), long("b")
    added(queue, first, second)
    assert queue.decide(0).start == [first]
    assert queue.decide(SLICE_S / 2).interrupt == []
    assert queue.decide(SLICE_S + 0.01).interrupt == [first]


def test_turns_grow_with_what_a_task_has_had() -> None:
    queue = RunQueue(1)
    first, second = long("a"), long("b")
    first.used_s = 80.0
    added(queue, first, second)
    assert queue.decide(0).start == [first]
    assert queue.decide(9).interrupt == []
    assert queue.decide(10.1).interrupt == [first]


def test_a_client_does_not_interrupt_itself_for_half_a_minute() -> None:
    queue = RunQueue(1)
    first = long("a")
    added(queue, first, long("a"))
    queue.decide(0)
    assert queue.decide(AGEING_S - 1).interrupt == []
    assert queue.decide(AGEING_S + 1).interrupt == [first]


def test_a_higher_priority_ends_a_turn_of_the_same_client() -> None:
    queue = RunQueue(1)
    first = long("a")
    added(queue, first)
    queue.decide(0)
    queue.add(long("a", priority=1), 0.1)
    assert queue.decide(SLICE_S + 0.01).interrupt == [first]


def test_old_tasks_get_every_fourth_turn() -> None:
    queue = RunQueue(1)
    old = task(priority=-5)
    queue.add(old, 0)
    now = AGEING_S + 1
    started: list[QueuedTask] = []
    while old not in started:
        queue.add(task(priority=5), now)
        (running,) = queue.decide(now).start
        started.append(running)
        queue.release(running, now + 0.001)
        now += 0.001
    assert len(started) == 4


def test_what_begins_anew_gets_a_guest_instead_of_an_interruption() -> None:
    queue = RunQueue(1)
    book = task("job", Purpose.BOOK, restarts=True)
    queue.add(book, 0)
    queue.decide(0)
    first, second = task("b"), task("c")
    queue.add(first, 0.001)
    assert queue.decide(0.001) == ([first], [], 0.001 + SHORT_S + 0.001)
    queue.add(second, 0.002)
    assert queue.decide(0.002)[:2] == ([], [])
    assert queue.decide(0.2).interrupt == [first]
    queue.release(first, 0.201)
    queue.add(first, 0.201)
    assert queue.decide(0.201).start == [second]
    assert book.running
    assert not book.interrupted


def test_a_guest_takes_the_thread_over() -> None:
    queue = RunQueue(1)
    book = task("job", Purpose.BOOK, restarts=True)
    queue.add(book, 0)
    queue.decide(0)
    guest = task("b")
    queue.add(guest, 0.001)
    queue.decide(0.001)
    queue.release(book, 0.002)
    assert queue.free == 0
    queue.release(guest, 0.003)
    assert queue.free == 1


def test_idle_tasks_take_threads_that_nobody_wants() -> None:
    queue = RunQueue(1)
    idle, other = task("idle", Purpose.IDLE), task("a", Purpose.BATCH)
    added(queue, idle, other)
    assert queue.decide(0).start == [other]
    queue.release(other, 1)
    assert queue.decide(1).start == [idle]
    added(queue, task("b"), now=1)
    assert queue.decide(1).interrupt == [idle]


def test_idle_threads_are_taken_at_once_by_all_that_can_use_them() -> None:
    queue = RunQueue(4)
    idle = [task("idle", Purpose.IDLE) for _ in range(3)]
    added(queue, long("a"), *idle)
    queue.decide(0)
    # Nothing of these is short, and none of them waits for the end of a turn.
    waiting = [long("b"), task("job", Purpose.BOOK, restarts=True)]
    for later, found in enumerate(waiting, 1):
        added(queue, found, now=later / 1000)
        assert queue.decide(later / 1000).interrupt == [idle[later - 1]]
    for left, found in zip(idle, waiting, strict=False):
        queue.release(left, 0.003)
        assert queue.decide(0.003).start == [found]
    assert idle[2].running
    assert (queue.idle_running, queue.idle_waiting) == (1, 0)


def test_a_task_of_several_threads_gets_the_idle_ones() -> None:
    for free in (0, 1):
        queue = RunQueue(4)
        idle = [task("idle", Purpose.IDLE) for _ in range(3 - free)]
        added(queue, long("a"), *idle)
        queue.decide(0)
        wide = task("b", Purpose.INTERACTIVE, threads=4)
        added(queue, wide, now=0.1)
        decision = queue.decide(0.1)
        assert (decision.start, decision.interrupt) == ([], idle)
        for left in idle:
            assert not wide.running
            queue.release(left, 0.101)
            queue.decide(0.101)
        assert wide.running
        assert wide.granted == 3


def test_idle_threads_are_not_taken_for_what_a_quota_keeps_from_running() -> None:
    queue = RunQueue(4, key_share=50)
    idle = [task("idle", Purpose.IDLE) for _ in range(2)]
    added(queue, long("a"), long("b"), *idle)
    queue.decide(0)
    added(queue, task("c"), now=0.001)
    assert queue.decide(0.001).interrupt == []
    added(queue, task(key="other"), now=0.002)
    assert queue.decide(0.002).interrupt == idle[:1]


def test_a_task_takes_the_threads_that_are_free_but_never_less_than_it_needs() -> None:
    queue = RunQueue(3)
    one, wide, gang = task("a"), task("b", threads=3), task("c", threads=2, least=2)
    added(queue, one)
    queue.decide(0)
    added(queue, wide)
    assert queue.decide(0).start == [wide]
    assert wide.granted == 2
    queue.release(one, 0)
    added(queue, gang)
    assert queue.decide(0).start == []
    assert queue.decide(LEAST_RUN_S).interrupt == [wide]
    queue.release(wide, LEAST_RUN_S)
    assert queue.decide(LEAST_RUN_S).start == [gang]


def test_a_key_has_no_more_threads_than_its_quota() -> None:
    queue = RunQueue(4, key_share=50)
    mine = [task(f"client {number}") for number in range(4)]
    added(queue, *mine)
    assert len(queue.decide(0).start) == 2
    other = task(key="other")
    added(queue, other)
    assert queue.decide(0).start == [other]
    queue.release(mine[0], 1)
    assert queue.decide(1).start == [mine[2]]


WORK = st.tuples(
    PURPOSES,
    st.integers(0, 3),
    st.integers(1, 4),
    st.integers(-2, 2),
    st.booleans(),
    st.booleans(),
    st.floats(0, 40),
)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 3),
    st.sampled_from([50, 100]),
    st.lists(st.one_of(WORK, st.sampled_from(["release", "remove", "wait", "give way"])), max_size=40),
)
def test_nothing_is_lost_and_the_slots_are_never_exceeded(slots: int, key_share: int, steps: list[object]) -> None:
    queue = RunQueue(slots, key_share)
    now = 0.0
    waiting: list[QueuedTask] = []
    running: list[QueuedTask] = []
    interrupted: list[QueuedTask] = []

    def decide() -> None:
        decision = queue.decide(now)
        for work in decision.start:
            waiting.remove(work)
            running.append(work)
        for work in decision.interrupt:
            assert work in running
            assert work not in interrupted
            assert work.interruptible
            interrupted.append(work)

    def released() -> QueuedTask:
        work = running.pop(0)
        if work in interrupted:
            interrupted.remove(work)
        queue.release(work, now)
        assert queue.release(work, now) == 0
        return work

    for step in steps:
        if isinstance(step, tuple):
            purpose, client, threads, priority, interruptible, restarts, later = step
            now += later
            work = QueuedTask(
                purpose,
                client % 2,
                client,
                threads=threads,
                priority=priority,
                interruptible=interruptible,
                restarts=restarts,
            )
            waiting.append(work)
            queue.add(work, now)
        elif step == "release" and running:
            released()
        elif step == "give way" and running:
            work = released()
            waiting.append(work)
            queue.add(work, now)
        elif step == "remove" and waiting:
            work = waiting.pop(0)
            assert queue.remove(work, now)
            assert not queue.remove(work, now)
        elif step == "wait":
            now += 0.4
        decide()
        guests = [work for work in running if work.host is not None]
        assert sum(work.granted for work in running if work.host is None) == slots - queue.free <= slots
        assert len(guests) <= slots
        assert queue.waiting == len(waiting)
        assert set(queue.running) == set(running)
        if not running:
            assert not waiting
    while running:
        released()
        decide()
    assert not waiting
    assert queue.free == slots


def test_clients_that_come_and_go_are_forgotten() -> None:
    """Whatever they were charged: short tasks of ever new clients never bring the average up to what each has had."""
    queue = RunQueue(2)
    added(queue, long("endless", key="other"))
    queue.decide(0.0)
    now = 0.0
    for number in range(3000):
        found = task(f"client {number}")
        queue.add(found, now)
        assert queue.decide(now).start == [found]
        now += 0.004
        queue.release(found, now)
    assert len(queue._root.children["k"].children) <= 300


def test_tasks_that_have_left_are_let_go() -> None:
    """What was cancelled would else be kept, with all that its request holds, until its client's next turn."""
    queue = RunQueue(1)
    running = long("running", interruptible=False)
    waiting = long("waiting")
    added(queue, running, waiting)
    queue.decide(0.0)
    gone = []
    for client in ("gone", "waiting"):
        for _ in range(200):
            found = long(client)
            queue.add(found, 0.0)
            gone.append(weakref.ref(found))
        for number in range(len(gone) - 200, len(gone)):
            left = gone[number]()
            assert left is not None
            queue.remove(left, 1.0)
    del found, left
    for _ in range(17):
        queue.add(long("waiting"), 1.0)
    alive = [reference for reference in gone if reference() is not None]
    assert not any(reference in alive for reference in gone[:200])
    assert len(alive) < 60
    assert queue.waiting == 18


def test_the_shares_of_clients_that_have_left_are_freed_at_once() -> None:
    queue = RunQueue(1)
    lanes = []
    gc.disable()
    try:
        for number in range(2_000):
            found = quick(f"client {number}")
            queue.add(found, number)
            queue.decide(number)
            assert found.lane is not None
            lanes.append(weakref.ref(found.lane))
            queue.release(found, number + 0.01)
            del found
        alive = sum(lane() is not None for lane in lanes)
    finally:
        gc.enable()
    assert 0 < alive < 600
