"""Which search a stop ends."""

from __future__ import annotations

import time

import pytest
from waits import until

import desdaemon.dialogue.interrupt as module
from desdaemon.dialogue.interrupt import Interrupt


def test_searches_inside_a_search_share_its_stop() -> None:
    interrupt = Interrupt()
    with interrupt.searching(bounded=True) as outer:
        with interrupt.searching(bounded=False) as inner:
            assert inner is outer
        interrupt.stop(5)
        with interrupt.searching(bounded=True) as inner:
            assert inner.stopped


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


@pytest.mark.parametrize("absent", [True, False])
def test_only_where_the_other_end_is_a_gui_does_a_bounded_search_end_early(
    absent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ABSENT_GRACE_S", 0.01)
    interrupt = Interrupt()
    with interrupt.searching(bounded=True) as search:
        interrupt.close(leaving=False, absent=absent)
        if absent:
            until(lambda: search.stopped)
        else:
            time.sleep(0.05)
            assert not search.stopped
    assert interrupt.expired == absent
