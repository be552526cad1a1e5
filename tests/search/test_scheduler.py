"""The queue of all work: what it decides, whatever comes in whatever order."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from desdaemon.search.loader import Abandoned
from desdaemon.search.scheduler import AGEING_S, SLICE_S, Item, Lane, Queue, Scheduler


def item(lane: int, client: object = "a", slots: int = 1, priority: int = 0, preemptible: bool = False) -> Item:
    return Item(lane, client, slots, priority, lambda: None, (lambda: None) if preemptible else None)


def started(queue: Queue, now: float = 0.0) -> list[Item]:
    return queue.decide(now).start


def test_better_lanes_go_first() -> None:
    queue = Queue(1)
    items = [item(lane) for lane in (Lane.BACKGROUND, Lane.BATCH, Lane.INTERACTIVE)]
    for work in items:
        queue.add(work, 0)
    order = []
    while queue.waiting:
        (work,) = started(queue)
        order.append(work.lane)
        queue.release(work)
    assert order == [Lane.INTERACTIVE, Lane.BATCH, Lane.BACKGROUND]


def test_clients_take_turns_and_their_own_work_goes_by_priority_then_age() -> None:
    queue = Queue(1)
    greedy = [item(1, "greedy", priority=priority) for priority in (0, 0, 5)]
    others = [item(1, name) for name in ("b", "c")]
    for work in [*greedy, *others]:
        queue.add(work, 0)
    order = []
    while queue.waiting:
        (work,) = started(queue)
        order.append(work)
        queue.release(work)
    assert order == [greedy[2], others[0], others[1], greedy[0], greedy[1]]


def test_who_waits_long_rises_a_lane() -> None:
    queue = Queue(1)
    running = item(Lane.INTERACTIVE)
    queue.add(running, 0)
    started(queue)
    old = item(Lane.BACKGROUND, "old")
    queue.add(old, 1)
    started(queue, 1 + AGEING_S)
    assert old.lane == Lane.BATCH
    started(queue, 1 + 2 * AGEING_S)
    assert old.lane == Lane.INTERACTIVE
    young = item(Lane.BATCH, "young")
    queue.add(young, 2 + 2 * AGEING_S)
    queue.release(running)
    assert started(queue, 2 + 2 * AGEING_S) == [old]


def test_worse_work_is_interrupted_for_better_and_only_as_much_as_needed() -> None:
    queue = Queue(3)
    background = [item(Lane.BACKGROUND, n, preemptible=True) for n in range(2)]
    batch = item(Lane.BATCH, preemptible=True)
    for work in [*background, batch]:
        queue.add(work, 0)
    assert set(started(queue)) == {*background, batch}
    queue.add(item(Lane.INTERACTIVE, slots=2), 1)
    decision = queue.decide(1)
    assert decision.start == []
    assert set(decision.preempt) == set(background)
    assert queue.decide(1).preempt == []
    for work in background:
        queue.release(work)
    assert [work.lane for work in started(queue, 1)] == [Lane.INTERACTIVE]


def test_what_cannot_be_interrupted_is_waited_for() -> None:
    queue = Queue(1)
    stubborn = item(Lane.BACKGROUND)
    queue.add(stubborn, 0)
    started(queue)
    queue.add(item(Lane.INTERACTIVE), 0)
    assert queue.decide(0) == ([], [])


WORK = st.tuples(
    st.sampled_from(Lane), st.integers(0, 3), st.integers(1, 4), st.integers(-2, 2), st.booleans(), st.floats(0, 40)
)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 3), st.lists(st.one_of(WORK, st.sampled_from(["release", "remove", "wait"])), max_size=40))
def test_nothing_is_lost_and_the_slots_are_never_exceeded(slots: int, steps: list[object]) -> None:
    queue = Queue(slots)
    now = 0.0
    waiting: list[Item] = []
    running: list[Item] = []
    interrupted: set[Item] = set()

    def decide() -> None:
        decision = queue.decide(now)
        for work in decision.start:
            waiting.remove(work)
            running.append(work)
        for work in decision.preempt:
            assert work in running
            assert work not in interrupted
            assert work.preempt is not None
            interrupted.add(work)

    for step in steps:
        if isinstance(step, tuple):
            lane, client, wanted, priority, preemptible, later = step
            now += later
            work = item(lane, client, wanted, priority, preemptible)
            waiting.append(work)
            queue.add(work, now)
        elif step == "release" and running:
            work = running.pop(0)
            interrupted.discard(work)
            queue.release(work)
            queue.release(work)
        elif step == "remove" and waiting:
            work = waiting.pop(0)
            assert queue.remove(work)
            assert not queue.remove(work)
        elif step == "wait":
            now += AGEING_S
        decide()
        assert sum(work.slots for work in running) == slots - queue.free <= slots
        assert queue.waiting == len(waiting)
        assert set(queue.running) == set(running)
        if not running:
            assert not waiting
    while running:
        queue.release(running.pop())
        decide()
    assert not waiting


def test_a_lease_waits_for_its_turn_and_is_given_up() -> None:
    scheduler = Scheduler(1)
    order: list[str] = []
    ready = threading.Event()

    def second() -> None:
        ready.set()
        with scheduler.lease(Lane.BATCH, client="b"):
            order.append("second")

    with scheduler.lease(Lane.BATCH, client="a"):
        thread = threading.Thread(target=second)
        thread.start()
        ready.wait()
        with pytest.raises(Abandoned), scheduler.lease(Lane.INTERACTIVE, client="c", abandoned=lambda: True):
            order.append("never")
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
    assert (scheduler.queued, scheduler.running) == (0, 0)


def test_a_better_lease_asks_a_worse_one_to_leave() -> None:
    scheduler = Scheduler(1)
    asked = threading.Event()
    left = threading.Event()

    def worse() -> None:
        with scheduler.lease(Lane.BACKGROUND, client="job", preempt=asked.set):
            left.set()
            assert asked.wait(10)

    thread = threading.Thread(target=worse)
    thread.start()
    assert left.wait(10)
    with scheduler.lease(Lane.INTERACTIVE, client="player"):
        assert asked.is_set()
    thread.join(10)


def test_many_threads_share_the_slots() -> None:
    scheduler = Scheduler(2)
    inside: list[int] = []
    most: list[int] = []
    lock = threading.Lock()

    def work(number: int) -> None:
        for _ in range(20):
            with scheduler.lease(Lane(number % 3), client=number):
                with lock:
                    inside.append(number)
                    most.append(len(inside))
                time.sleep(0)
                with lock:
                    inside.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(most) == 120
    assert max(most) <= 2


def test_divisible_work_makes_room_for_clients_with_less() -> None:
    queue = Queue(2)
    greedy = [Item(1, "greedy", 1, 0, lambda: None, lambda: None, divisible=True) for _ in range(3)]
    for work in greedy:
        queue.add(work, 0)
    started(queue)
    modest = Item(1, "modest", 1, 0, lambda: None, lambda: None, divisible=True)
    queue.add(modest, 0.1)
    assert queue.decide(0.2).preempt == []
    (victim,) = queue.decide(SLICE_S + 0.1).preempt
    assert victim in greedy
    assert victim.slice_s == 2 * SLICE_S
    queue.release(victim)
    assert started(queue, SLICE_S + 0.2) == [modest]
    queue.add(victim, SLICE_S + 0.2)
    # Each of the two has one slot now: the third and fourth of the greedy one wait for their own kind.
    assert queue.decide(20) == ([], [])


def test_every_client_gets_slices_where_there_are_more_clients_than_slots() -> None:
    queue = Queue(2)
    work = [Item(1, name, 1, 0, lambda: None, lambda: None, divisible=True) for name in range(5)]
    for item_ in work:
        queue.add(item_, 0)
    spent = dict.fromkeys(range(5), 0)
    now = 0.0
    while now < 600:
        while interrupted := queue.decide(now).preempt:
            for item_ in interrupted:
                queue.release(item_)
                queue.add(item_, now)
        for item_ in queue.running:
            spent[int(str(item_.client))] += 1
        now += 0.5
    assert min(spent.values()) > max(spent.values()) / 2


def test_a_waiting_equal_gets_its_turn_by_time_alone() -> None:
    scheduler = Scheduler(1)
    stop = threading.Event()
    begun = threading.Event()

    def endless() -> None:
        with scheduler.lease(Lane.BATCH, client="a", preempt=stop.set, divisible=True):
            begun.set()
            assert stop.wait(20)

    thread = threading.Thread(target=endless)
    thread.start()
    assert begun.wait(10)
    with scheduler.lease(Lane.BATCH, client="b"):
        assert stop.is_set()
    thread.join(10)
