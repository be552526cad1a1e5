"""What a session asks of those it shares the process with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from fake_engine import build_fake

from desdaemon.loader import Abandoned, EngineSource, TooLate
from desdaemon.protocol.options import find_option
from desdaemon.session import INTERACTIVE, Session
from desdaemon.settings import Settings


class Turnstile:
    """A scheduler that counts, and can be closed."""

    def __init__(self) -> None:
        self.slots = 4
        self.closed = False
        self.leases: list[tuple[int, object, int]] = []
        self.inside = 0

    @contextmanager
    def lease(
        self, lane: int, *, client: object, slots: int = 1, abandoned: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        while self.closed:
            if abandoned():
                raise Abandoned
        self.leases.append((lane, client, slots))
        self.inside += 1
        yield
        self.inside -= 1


def session(turnstile: Turnstile, **options: str) -> Session:
    made = Session(Settings(), EngineSource(build_fake), scheduler=turnstile)
    for name, value in options.items():
        option = find_option(name.replace("_", "-"))
        assert option
        made.set_option(option, value)
    return made


@pytest.mark.parametrize(("tasks", "slots"), [("1", 1), ("3", 3), ("200", 4)])
def test_a_search_takes_a_slot_for_each_thread_and_gives_them_back(tasks: str, slots: int) -> None:
    turnstile = Turnstile()
    asking = session(turnstile, n_tasks=tasks)
    asking.choose()
    assert turnstile.leases == [(INTERACTIVE, asking, slots)]
    assert turnstile.inside == 0


def test_moves_that_need_no_search_take_no_slot() -> None:
    turnstile = Turnstile()
    asking = session(turnstile)
    asking.force("f5")
    assert asking.choose()[1] is None
    assert turnstile.leases == []


def test_a_clock_does_not_wait_for_a_slot() -> None:
    turnstile = Turnstile()
    turnstile.closed = True
    asking = session(turnstile, move_time="0.1")
    move, result = asking.choose()
    assert result is None
    assert asking.game.position.moves >> move & 1
    with pytest.raises(TooLate):
        asking.search(asking.game.position, asking.limits(asking.game.position), patient=False)
