"""Who searches when: what the schedule decides, whatever comes in whatever order."""

from __future__ import annotations

import gc
import math
import weakref
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from desdaemon.core.search.schedule import Purpose, Task, ThreadSchedule

SHORT_S = 0.1
LEAST_RUN_S = 0.01
SLICE_S = 0.5
OLDEST_EVERY = 32
PURPOSES = st.sampled_from(Purpose)


def task(client: str = "a", purpose: Purpose = Purpose.ANALYSIS, *, key: str = "k", **more: int | bool) -> Task:
    return Task(purpose, key, client, **more)  # type: ignore[arg-type]


def long(client: str = "a", purpose: Purpose = Purpose.ANALYSIS, **more: str | int | bool) -> Task:
    """A task that is short no more."""
    old = task(client, purpose, **more)  # type: ignore[arg-type]
    old.used_s = SHORT_S
    return old


def quick(client: str) -> Task:
    """A task that tells a first result at once."""
    new = task(client)
    new.reported = True
    return new


def added(schedule: ThreadSchedule, *tasks: Task, now: float = 0.0) -> None:
    for new in tasks:
        schedule.add(new, now)


def handed_on(schedule: ThreadSchedule, now: float) -> list[Task]:
    """The tasks that are started in the place of what the decision for ``now`` interrupts."""
    started = []
    for interrupted in schedule.decide(now).interrupt:
        schedule.release(interrupted, now + 0.001, again=True)
        started += schedule.decide(now + 0.001).start
    return started


def in_turn(schedule: ThreadSchedule, each_s: float) -> list[Task]:
    """All waiting tasks in the order of their starts on one thread, when each runs for ``each_s`` seconds."""
    order, now = [], 0.0
    while schedule.waiting:
        (started,) = schedule.decide(now).start
        order.append(started)
        now += each_s
        schedule.release(started, now)
    return order


# Shares


def test_higher_priority_runs_first_then_the_older_task() -> None:
    for kind in (task, long):
        schedule = ThreadSchedule(1)
        tasks = [kind(priority=priority) for priority in (0, 0, 5, -1, 5)]
        added(schedule, *tasks)
        assert in_turn(schedule, 0.01) == [tasks[number] for number in (2, 4, 0, 1, 3)]


def test_clients_take_turns_however_many_tasks_they_have() -> None:
    schedule = ThreadSchedule(1)
    greedy = [long("greedy") for _ in range(4)]
    others = [long(name) for name in ("b", "c")]
    added(schedule, *greedy, *others)
    assert in_turn(schedule, 0.05) == [greedy[0], *others, *greedy[1:]]


def test_keys_take_turns_however_many_clients_they_have() -> None:
    schedule = ThreadSchedule(1)
    added(schedule, *(long(f"client {number}", key="many") for number in range(8)))
    added(schedule, *(long("only", key="one") for _ in range(8)))
    assert Counter(each.key for each in in_turn(schedule, 0.02)[:8]) == {"many": 4, "one": 4}


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3), st.lists(st.integers(1, 4), min_size=2, max_size=4), st.integers(3, 30))
def test_keys_that_want_everything_differ_by_a_turn_at_most(slots: int, keys: list[int], turns: int) -> None:
    schedule = ThreadSchedule(slots)
    for key, clients in enumerate(keys):
        for client in range(clients):
            added(schedule, *(long(f"{key} {client}", key=f"{key}") for _ in range(slots)))
    seconds: Counter[str] = Counter()
    longest = 0.0
    step_s = 0.02
    for step in range(round(turns * SLICE_S * len(keys) / step_s)):
        now = step * step_s
        for interrupted in schedule.decide(now).interrupt:
            longest = max(longest, now - interrupted.began)
            schedule.release(interrupted, now, again=True)
            schedule.decide(now)
        assert len(schedule.running) == slots
        for running in schedule.running:
            longest = max(longest, now - running.began)
            seconds[str(running.key)] += step_s  # type: ignore[assignment]
    assert max(seconds.values()) - min(seconds[f"{key}"] for key in range(len(keys))) <= slots * (longest + SLICE_S)


def test_a_client_that_comes_back_has_saved_nothing_up() -> None:
    schedule = ThreadSchedule(1)
    early, busy = long("early"), long("busy")
    added(schedule, early)
    schedule.decide(0)
    schedule.release(early, 0.1)
    added(schedule, busy, now=0.1)
    schedule.decide(0.1)
    schedule.release(busy, 100)
    added(schedule, long("early"), long("busy"), long("new"), now=100)
    turns: Counter[object] = Counter()
    for turn in range(30):
        now = 100 + turn * SLICE_S
        (started,) = schedule.decide(now).start
        turns[started.client] += 1
        schedule.release(started, now + SLICE_S)
        added(schedule, long(str(started.client)), now=now + SLICE_S)
    assert all(9 <= turns[client] <= 11 for client in ("early", "busy", "new"))


# Short tasks


def test_a_short_task_interrupts_a_long_one_which_then_finishes_its_turn() -> None:
    schedule = ThreadSchedule(2)
    running = [long("a"), long("b")]
    added(schedule, *running, long("c"))
    assert schedule.decide(0).start == running
    schedule.decide(0.2)
    short = task("new")
    schedule.add(short, 0.3)
    (victim,) = schedule.decide(0.3).interrupt
    assert victim in running
    schedule.release(victim, 0.301, again=True)
    assert schedule.decide(0.301).start == [short]
    schedule.release(short, 0.31)
    assert schedule.decide(0.31).start == [victim]
    assert victim not in schedule.decide(0.31 + SLICE_S - 0.301 - 0.01).interrupt
    assert schedule.decide(0.31 + SLICE_S + 0.06).interrupt


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.lists(st.floats(0.02, 0.2), max_size=12))
@example(1, [0.19999999999999998, 0.05, 0.05, 0.19999999999999998])
def test_an_interrupted_turn_is_as_long_as_others(slots: int, pauses: list[float]) -> None:
    """Of the tasks that wait for a turn none begins before one is over."""
    schedule = ThreadSchedule(slots)
    first = [long(f"first {number}") for number in range(slots)]
    later = [long(f"later {number}") for number in range(3)]
    added(schedule, *first, *later)
    schedule.decide(0)
    now = 0.0
    had = dict.fromkeys(first, 0.0)
    for number, pause in enumerate(pauses):
        began = {running: running.began for running in schedule.running}
        now += pause
        if max(had[each] + now - began[each] for each in first) > SLICE_S - 1e-9:
            # The sums here and there are rounded in another order.
            break
        short = task(f"short {number}")
        schedule.add(short, now)
        (victim,) = schedule.decide(now).interrupt
        assert victim in first
        had[victim] += now - began[victim]
        schedule.release(victim, now, again=True)
        assert schedule.decide(now).start == [short]
        now += 0.005
        schedule.release(short, now)
        assert schedule.decide(now).start == [victim]
    assert not any(each.running for each in later)


def test_nothing_is_interrupted_right_after_its_start() -> None:
    schedule = ThreadSchedule(1)
    first = long("a")
    schedule.add(first, 0)
    schedule.decide(0)
    schedule.add(task("b"), 0)
    decision = schedule.decide(0)
    assert decision.interrupt == []
    assert decision.again <= LEAST_RUN_S
    assert schedule.decide(LEAST_RUN_S).interrupt == [first]


def test_many_short_tasks_lose_their_precedence() -> None:
    schedule = ThreadSchedule(1)
    added(schedule, *(long(f"other {number}") for number in range(9)))
    schedule.decide(0)
    now, had = 0.0, 0.0
    while now < 10:
        stream = task("stream")
        schedule.add(stream, now)
        while not stream.running:
            for interrupted in schedule.decide(now).interrupt:
                schedule.release(interrupted, now, again=True)
                schedule.decide(now)
            now += 0.005
        now += 0.02
        had += schedule.release(stream, now)
        schedule.decide(now)
    # A tenth is its share; a quarter of a second more is allowed it at the beginning.
    assert 0.7 < had < 1.6


# First turns


def test_a_single_question_does_not_wait_for_another_to_grow_long() -> None:
    schedule = ThreadSchedule(1)
    first, second, third = quick("a"), quick("b"), quick("c")
    added(schedule, first, second, third)
    assert schedule.decide(0).start == [first]
    assert handed_on(schedule, LEAST_RUN_S - 0.001) == []
    assert schedule.decide(LEAST_RUN_S - 0.001).again <= LEAST_RUN_S + 1e-9
    assert handed_on(schedule, LEAST_RUN_S) == [second]
    assert schedule.decide(LEAST_RUN_S + 0.002).again <= 2 * LEAST_RUN_S + 0.002
    assert handed_on(schedule, 2 * LEAST_RUN_S + 0.001) == [third]
    # All of them have begun: the next to go on has what is left of its 0.1 s.
    assert handed_on(schedule, 3 * LEAST_RUN_S + 0.002) == []
    schedule.release(third, 0.05)
    assert schedule.decide(0.05).start == [first]
    assert handed_on(schedule, 0.05 + 0.08) == []
    # Nor is it interrupted once more for another that comes now.
    schedule.add(quick("d"), 0.05 + 0.08)
    assert handed_on(schedule, 0.05 + 0.08) == []
    assert handed_on(schedule, 0.05 + 0.092) != []


def test_a_first_turn_does_not_end_before_there_is_a_result() -> None:
    """On a machine that other programs use the thread may not have run at all by then."""
    schedule = ThreadSchedule(1)
    first, second = task("a"), quick("b")
    added(schedule, first, second)
    schedule.decide(0)
    assert handed_on(schedule, LEAST_RUN_S) == []
    first.reported = True
    assert handed_on(schedule, 2 * LEAST_RUN_S) == [second]


# Turns


def test_a_turn_ends_when_others_were_charged_less() -> None:
    schedule = ThreadSchedule(1)
    first = long("a")
    added(schedule, first, long("b"))
    assert schedule.decide(0).start == [first]
    assert schedule.decide(SLICE_S / 2).interrupt == []
    assert schedule.decide(SLICE_S + 0.01).interrupt == [first]


def test_turns_grow_with_what_a_task_has_had() -> None:
    schedule = ThreadSchedule(1)
    first = long("a")
    first.used_s = 80.0
    added(schedule, first, long("b"))
    assert schedule.decide(0).start == [first]
    assert schedule.decide(9).interrupt == []
    assert schedule.decide(10.1).interrupt == [first]
    schedule.release(first, 10.1, again=True)
    # It has longer turns now, but this one is over.
    (second,) = schedule.decide(10.1).start
    assert second.client == "b"


def test_equals_of_a_client_exchange_after_a_minute() -> None:
    schedule = ThreadSchedule(1)
    first, second = long("a"), long("a")
    added(schedule, first, second)
    schedule.decide(0)
    assert schedule.decide(59).interrupt == []
    assert schedule.decide(61).interrupt == [first]
    schedule.release(first, 61, again=True)
    assert schedule.decide(61).start == [second]


def test_a_higher_priority_ends_a_turn_of_the_same_client() -> None:
    schedule = ThreadSchedule(1)
    first = long("a")
    added(schedule, first)
    schedule.decide(0)
    schedule.add(long("a", priority=1), 0.1)
    assert schedule.decide(SLICE_S + 0.01).interrupt == [first]
    low = ThreadSchedule(1)
    added(low, long("a"), long("a", priority=-1))
    low.decide(0)
    assert low.decide(1000).interrupt == []


def test_a_task_that_starts_over_ends_at_last() -> None:
    """However long it takes: each turn is as long as all before."""
    schedule = ThreadSchedule(1)
    job = task("job", Purpose.BATCH, restarts=True)
    added(schedule, job, long("other", Purpose.BATCH))
    now, longest = 0.0, 0.0
    while now < 10_000:
        for interrupted in schedule.decide(now).interrupt:
            if interrupted is job:
                longest = max(longest, now - job.began)
            schedule.release(interrupted, now, again=True)
            schedule.decide(now)
        now += 0.5
    assert longest > 1000


# Guests


def test_a_task_that_would_start_over_gets_a_guest_thread() -> None:
    schedule = ThreadSchedule(1)
    book = task("job", Purpose.BOOK, restarts=True)
    schedule.add(book, 0)
    schedule.decide(0)
    first, second = task("b"), task("c")
    schedule.add(first, 0.001)
    decision = schedule.decide(0.001)
    assert decision[:2] == ([first], [])
    assert decision.again <= 0.001 + SHORT_S + 0.001
    schedule.add(second, 0.002)
    assert schedule.decide(0.002)[:2] == ([], [])
    assert schedule.decide(0.2).interrupt == [first]
    schedule.release(first, 0.201, again=True)
    assert schedule.decide(0.201).start == [second]
    assert book.running
    assert not book.interrupted


# Idle threads, and several


def test_a_search_of_a_job_is_a_guest_of_an_analysis_that_was_charged_more() -> None:
    """Otherwise each search of a job would wait for a turn, which is a minute long at last."""
    schedule = ThreadSchedule(2)
    old, move = long("old"), long("move", Purpose.INTERACTIVE)
    old.used_s = 1000.0
    added(schedule, old, move)
    schedule.decide(0)
    searches = [task("job", Purpose.BOOK, restarts=True) for _ in range(2)]
    added(schedule, *searches, now=1.0)
    assert schedule.decide(1.0)[:2] == ([searches[0]], [])
    assert searches[0].host is old
    # Nothing is a guest of a move, or of an analysis that has one.
    assert schedule.decide(1.003)[:2] == ([], [])
    schedule.release(searches[0], 1.003)
    assert schedule.decide(1.02)[:2] == ([searches[1]], [])


@pytest.mark.parametrize("clients", [2, 8])
def test_a_job_does_not_starve_behind_a_key_that_was_charged_less(clients: int) -> None:
    schedule = ThreadSchedule(2)
    added(schedule, *(long(f"{key} {client}", key=key) for key in "ab" for client in range(clients)))
    job = long("job", Purpose.BOOK, key="b", restarts=True)
    waiting_since, longest = 0.0, 0.0
    for step in range(6000):
        now = step / 20
        if not (job.waiting or job.running):
            job.used_s = SHORT_S
            schedule.add(job, now)
            waiting_since = now
        for interrupted in schedule.decide(now).interrupt:
            schedule.release(interrupted, now, again=True)
            schedule.decide(now)
        if job.running:
            longest = max(longest, now - waiting_since)
            schedule.release(job, now + 0.01)
    assert max(longest, now - waiting_since) < 60


def test_idle_tasks_take_threads_that_no_other_task_wants() -> None:
    schedule = ThreadSchedule(1)
    idle, other = task("idle", Purpose.IDLE), task("a", Purpose.BATCH)
    added(schedule, idle, other)
    assert schedule.decide(0).start == [other]
    schedule.release(other, 1)
    assert schedule.decide(1).start == [idle]
    added(schedule, task("b"), now=1)
    assert schedule.decide(1).interrupt == [idle]


def test_idle_threads_are_taken_at_once_by_all_that_can_use_them() -> None:
    schedule = ThreadSchedule(4)
    idle = [task("idle", Purpose.IDLE) for _ in range(3)]
    added(schedule, long("a"), *idle)
    schedule.decide(0)
    schedule.decide(0)
    # Nothing of these is short, and none of them waits for the end of a turn.
    waiting = [long("b"), long("job", Purpose.BOOK, restarts=True)]
    for later, new in enumerate(waiting, 1):
        added(schedule, new, now=later / 1000)
        assert schedule.decide(later / 1000).interrupt == [idle[later - 1]]
    for left, new in zip(idle, waiting, strict=False):
        schedule.release(left, 0.003)
        assert schedule.decide(0.003).start == [new]
    assert idle[2].running


def test_a_task_of_several_threads_takes_the_free_and_the_idle_ones() -> None:
    for free in (0, 1):
        schedule = ThreadSchedule(4)
        idle = [task("idle", Purpose.IDLE) for _ in range(3 - free)]
        added(schedule, long("a"), *idle)
        schedule.decide(0)
        wide = task("b", Purpose.INTERACTIVE, threads=9)
        added(schedule, wide, now=0.1)
        decision = schedule.decide(0.1)
        assert (decision.start, decision.interrupt) == ([], idle)
        for left in idle:
            assert not wide.running
            schedule.release(left, 0.101)
            schedule.decide(0.101)
        assert wide.running
        assert wide.granted == 3
        assert wide.threads == 4


# Whatever comes


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 2),
    st.lists(st.lists(st.tuples(PURPOSES, st.integers(0, 2), st.integers(0, 5)), max_size=4), min_size=1, max_size=6),
)
def test_no_task_starves(slots: int, arrivals: list[list[tuple[Purpose, int, int]]]) -> None:
    """A task with every disadvantage is started, though others come again and again, each time as new clients."""
    schedule = ThreadSchedule(slots)
    charged = long("last", Purpose.BATCH, key="greedy")
    added(schedule, charged)
    schedule.decide(0)
    schedule.release(charged, 50)
    last = long("last", Purpose.BATCH, key="greedy", priority=-9)
    older = [long(f"older {number}") for number in range(3)]
    now = 50.0
    added(schedule, *older, last, now=now)
    started: list[Task] = []
    number = 0
    while last not in started:
        for purpose, key, priority in [*arrivals[number % len(arrivals)], *[(Purpose.ANALYSIS, 0, 0)] * slots]:
            number += 1
            schedule.add(Task(purpose, key, f"new {number}", priority=priority), now)
        started += schedule.decide(now).start
        now += 0.002
        for running in list(schedule.running):
            schedule.release(running, now)
        assert len(started) <= OLDEST_EVERY**2 * (len(older) + 1) + slots


WORK = st.tuples(
    PURPOSES,
    st.integers(0, 3),
    st.integers(1, 4),
    st.integers(-2, 2),
    st.booleans(),
    st.booleans(),
    st.floats(0, 40),
)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 3),
    st.lists(st.one_of(WORK, st.sampled_from(["release", "remove", "wait", "give way", "tell"])), max_size=40),
)
def test_nothing_is_lost_or_given_out_twice_and_the_slots_are_never_exceeded(slots: int, steps: list[object]) -> None:
    schedule = ThreadSchedule(slots)
    now = 0.0
    waiting: list[Task] = []
    running: list[Task] = []
    interrupted: list[Task] = []

    def decide() -> None:
        decision = schedule.decide(now)
        for work in decision.start:
            waiting.remove(work)
            running.append(work)
            assert 1 <= work.granted <= work.threads
        for work in decision.interrupt:
            assert work in running
            assert work not in interrupted
            assert work.interruptible
            interrupted.append(work)
        assert decision.again > now

    def release(again: bool) -> Task:
        work = running.pop(0)
        if work in interrupted:
            interrupted.remove(work)
        schedule.release(work, now, again=again)
        assert work.waiting == again
        if again:
            waiting.append(work)
        else:
            assert schedule.release(work, now) == 0
        return work

    for step in steps:
        if isinstance(step, tuple):
            purpose, client, threads, priority, interruptible, restarts, later = step
            now += later
            work = Task(
                purpose,
                client % 2,
                client,
                threads=threads,
                priority=priority,
                interruptible=interruptible,
                restarts=restarts,
            )
            waiting.append(work)
            schedule.add(work, now)
        elif step in ("release", "give way") and running:
            release(again=step == "give way")
        elif step == "tell" and running:
            running[-1].reported = True
        elif step == "remove" and waiting:
            work = waiting.pop(0)
            assert schedule.remove(work)
            assert not schedule.remove(work)
        elif step == "wait":
            now += 0.4
        decide()
        guests = [work for work in running if work.host is not None]
        assert sum(work.granted for work in running if work.host is None) == slots - schedule.free <= slots
        assert len({id(work.host) for work in guests}) == len(guests) <= slots
        assert set(schedule.running) == set(running)
        assert set(schedule.waiting) == {work for work in waiting if work.purpose is not Purpose.IDLE}
        # A thread stays free for what is promised more of them in a moment, and for nothing else.
        assert not (waiting and schedule.free) or any(work.purpose is Purpose.IDLE for work in interrupted)
    while running:
        release(again=False)
        decide()
    assert not waiting
    assert schedule.free == slots
    assert schedule.decide(now).again == math.inf


# Memory


def test_clients_that_come_and_go_are_forgotten() -> None:
    """Their tasks and meters are freed without the garbage collector, whatever waits or runs beside them."""
    schedule = ThreadSchedule(2)
    added(schedule, long("endless", key="other"), long("waiting", key="other"), long("waiting", key="other"))
    schedule.decide(0.0)
    tasks, meters = [], []
    gc.disable()
    try:
        for number in range(3000):
            now = 1 + number / 100
            came = [task(f"client {number}"), task(f"client {number}")]
            added(schedule, *came, now=now)
            for interrupted in schedule.decide(now).interrupt:
                schedule.release(interrupted, now, again=True)
            schedule.decide(now)
            for each in came:
                tasks.append(weakref.ref(each))
                meters += [weakref.ref(meter) for meter in each.meters[1:]]
                schedule.remove(each)
                schedule.release(each, now + 0.004)
            schedule.decide(now + 0.004)
            del came, each
        assert sum(reference() is not None for reference in tasks) == 0
        assert 0 < sum(reference() is not None for reference in meters) < 3000
    finally:
        gc.enable()
