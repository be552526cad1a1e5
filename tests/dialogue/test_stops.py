"""Which search a stop ends, whatever comes in whatever order: `Stops` against what its words promise."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from desdaemon.dialogue.interrupt import SearchEnd, Stops

ABSENT_GRACE_S = 1.0
UNBOUNDED_GRACE_S = 2.0

NUMBERS = st.integers(1, 6)
EVENTS = st.one_of(
    st.tuples(st.just("begin"), NUMBERS),
    st.tuples(st.just("search"), st.booleans()),
    st.tuples(st.just("over")),
    st.tuples(st.just("stop"), NUMBERS, st.one_of(st.just(0), NUMBERS), st.booleans()),
)


@settings(max_examples=300)
@given(st.lists(EVENTS, max_size=40))
def test_a_stop_ends_one_search_of_an_earlier_command(events: list[tuple[Any, ...]]) -> None:
    """An account beside it: the stops that have ended nothing yet, and which of them may end which search."""
    stops = Stops()
    command, searching, unused = 0, False, list[tuple[int, int, bool]]()
    for event in events:
        if event[0] == "begin" and event[1] > command and not searching:
            command = event[1]
            stops.begin(command)
            # Whatever came before the command can end none of its searches, nor of later ones.
            unused = [stop for stop in unused if stop[0] > command]
        elif event[0] == "search" and not searching:
            searching = True
            found = stops.search_begins(0.0, bounded=event[1])
            fitting = [stop for stop in unused if stop[0] > command and stop[1] in (0, command)]
            assert found == (SearchEnd(fitting[0][2]) if fitting else None)
            if fitting:
                unused.remove(fitting[0])
        elif event[0] == "over" and searching:
            searching = False
            stops.search_ends()
        elif event[0] == "stop":
            _, number, only, abandon = event
            found = stops.stop(number, only=only, abandon=abandon)
            at_once = searching and only in (0, command)
            assert found == (SearchEnd(abandon) if at_once else None)
            if not at_once and not 0 < only < command:
                unused.append((number, only, abandon))
        assert stops.pending == len(unused)
        assert stops.deadline is None


ENDINGS = st.one_of(
    st.tuples(st.just("wait"), st.floats(0.01, 3.0)),
    st.tuples(st.just("search"), st.booleans(), st.booleans()),
    st.tuples(st.just("over")),
    st.tuples(st.just("close"), st.booleans()),
    st.tuples(st.just("quit")),
    st.tuples(st.just("all")),
)


@settings(max_examples=300)
@given(st.lists(ENDINGS, max_size=30))
def test_after_the_end_of_the_input_no_search_goes_on_for_ever(events: list[tuple[Any, ...]]) -> None:
    """Time moves from deadline to deadline: what is unbounded, idle or beyond the grace of the absent ends in time."""
    stops, now = Stops(), 0.0
    searching: tuple[bool, bool] | None = None
    ended, endless_since, gone_at = False, now, None
    for event in [*events, ("wait", 10.0)]:
        found: SearchEnd | None = None
        if event[0] == "wait":
            until = now + event[1]
            while (due := stops.deadline) is not None and due <= until:
                assert stops.elapsed(due - 0.005) is None
                assert stops.deadline == due
                timed = stops.elapsed(due)
                assert timed is None or searching is not None
                ended = ended or timed is not None
                assert stops.deadline is None or stops.deadline >= due
            now = until
        elif event[0] == "search" and searching is None:
            searching, endless_since = event[1:], now
            ended = stops.search_begins(now, bounded=event[1], idle=event[2]) is not None
            assert ended or not stops.expired
            assert ended or not (event[2] and stops.closing)
        elif event[0] == "over" and searching is not None:
            searching = None
            stops.search_ends()
        elif event[0] in ("close", "quit"):
            absent = event[0] == "close" and event[1]
            if absent:
                gone_at = now
            endless_since = max(endless_since, now)
            found = stops.close(now, leaving=event[0] == "quit", absent=absent)
            assert stops.closing
        elif event[0] == "all":
            found = stops.stop_all()
            assert stops.expired
        assert found is None or searching is not None
        ended = ended or found is not None
        if stops.expired:
            assert searching is None or ended
        if searching is not None and stops.closing and not ended:
            bounded, idle = searching
            assert not idle
            assert bounded or now <= endless_since + UNBOUNDED_GRACE_S
        assert stops.deadline is None or searching is not None or gone_at is not None
        assert gone_at is None or stops.expired or now <= gone_at + ABSENT_GRACE_S


def test_ctrl_c_is_for_one_command() -> None:
    stops = Stops()
    stops.begin(1)
    assert stops.stop_command() == (True, None)
    assert stops.stop_command() == (False, None)
    assert stops.search_begins(0.0, bounded=True) == SearchEnd(abandon=True)
    stops.search_ends()
    stops.begin(2)
    assert stops.search_begins(0.0, bounded=True) is None
    assert stops.stop_command() == (True, SearchEnd(abandon=True))
    stops.search_ends()
    stops.rest()
    assert stops.stop_command() == (False, None)


def test_pondering_ends_with_the_next_line() -> None:
    stops = Stops()
    stops.begin(1)
    assert stops.search_begins(0.0, bounded=False, idle=True) is None
    assert stops.heard(1) is None
    assert stops.heard(2) == SearchEnd(abandon=True)
    stops.search_ends()
    assert stops.search_begins(0.0, bounded=False, idle=True) == SearchEnd(abandon=True)
    stops.search_ends()
    stops.begin(2)
    assert stops.search_begins(0.0, bounded=True) is None
    assert stops.heard(3) is None
