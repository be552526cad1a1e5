"""Which search a stop ends."""

from __future__ import annotations

import pytest

import desdaemon.dialogue.interrupt as module
from desdaemon.dialogue.interrupt import Interrupt


class Control:
    """Counts the stops it was told."""

    def __init__(self) -> None:
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1


def test_a_stop_ends_the_search_that_runs_and_no_other() -> None:
    interrupt = Interrupt()
    interrupt.begin(1)
    control = Control()
    with interrupt.searching(bounded=True) as search:
        with search.control(control):
            interrupt.stop(3)
            assert control.stops == 1
        with search.control(Control()) as again:
            assert again.stops == 1
    interrupt.begin(2)
    with interrupt.searching(bounded=True) as search:
        assert not search.stopped
    assert control.stops == 1


def test_searches_inside_a_search_share_its_stop() -> None:
    interrupt = Interrupt()
    with interrupt.searching(bounded=True) as outer:
        with interrupt.searching(bounded=False) as inner:
            assert inner is outer
        interrupt.stop(5)
        with interrupt.searching(bounded=True) as inner:
            assert inner.stopped


def test_a_quit_leaves_a_young_bounded_search_alone() -> None:
    interrupt = Interrupt()
    with interrupt.searching(bounded=True) as search:
        interrupt.close(leaving=True)
        assert not search.stopped


@pytest.mark.parametrize("bounded", [True, False])
def test_a_quit_ends_a_search_that_ran_for_a_while(bounded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INTERACTIVE_AFTER_S", -1.0)
    interrupt = Interrupt()
    with interrupt.searching(bounded) as search:
        interrupt.close(leaving=True)
        assert search.stopped
        assert search.abandoned


def test_the_end_of_the_input_lets_a_bounded_search_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INTERACTIVE_AFTER_S", -1.0)
    interrupt = Interrupt()
    with interrupt.searching(bounded=True) as search:
        interrupt.close(leaving=False)
        assert not search.stopped


@pytest.mark.parametrize("closed_first", [True, False])
def test_a_search_without_bounds_ends_some_time_after_the_input(
    closed_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNBOUNDED_GRACE_S", 0.05)
    interrupt = Interrupt()
    if closed_first:
        interrupt.close(leaving=False)
    with interrupt.searching(bounded=False) as search:
        if not closed_first:
            interrupt.close(leaving=False)
        assert interrupt._timer is not None
        interrupt._timer.join(30)
        assert search.stopped
        assert not search.abandoned
    assert interrupt._timer is None


def test_leaving_ends_everything() -> None:
    interrupt = Interrupt()
    interrupt.stop_all()
    with interrupt.searching(bounded=True) as search:
        interrupt.stop_all()
        assert search.abandoned


def test_a_stop_can_abandon_a_search_that_has_not_begun() -> None:
    interrupt = Interrupt()
    interrupt.begin(1)
    interrupt.stop(2, abandon=True)
    with interrupt.searching(bounded=True) as search:
        assert search.stopped
        assert search.abandoned
