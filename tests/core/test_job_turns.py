"""Turns of jobs: one at a time has the book for itself, all have their turn, progress is reported now and then."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from desdaemon.core.books.job_turns import JobTurns, PhaseProgress, Turn

NOTICE_S = 0.2

EVENTS = st.lists(st.one_of(st.sampled_from(["exclusive", "beside", "close"]), st.integers(0, 9)), max_size=60)


@settings(max_examples=300)
@given(EVENTS)
def test_jobs_take_turns_with_the_book_one_at_a_time(events: list[str | int]) -> None:
    turns = JobTurns()
    exclusive: list[int] = []
    begun: list[int] = []
    running: set[int] = set()
    refused: set[int] = set()
    closed = False

    def begin(job: int | None) -> None:
        if job is not None:
            assert job not in begun
            begun.append(job)
            running.add(job)

    def end(job: int) -> None:
        running.remove(job)
        begin(turns.ended(job))

    for number, event in enumerate(events, 1):
        if event == "close":
            assert turns.close() == sorted({*running, *(set(exclusive) - set(begun))})
            closed = True
        elif isinstance(event, int):
            if running:
                end(sorted(running)[event % len(running)])
        else:
            turn = turns.submit(number, exclusive=event == "exclusive")
            assert (turn is Turn.REFUSE) == closed
            if closed:
                refused.add(number)
                continue
            if event == "exclusive":
                exclusive.append(number)
                assert (turn is Turn.BEGIN) == (not running & set(exclusive))
            else:
                assert turn is Turn.BEGIN
            if turn is Turn.BEGIN:
                begin(number)
        assert len(running & set(exclusive)) <= 1
        assert turns.running == running
        assert turns.exclusive in {None, *running}
    while running:
        end(min(running))
    # All of them, the exclusive ones in the order in which they came; after a close too.
    assert set(begun) == {n for n, event in enumerate(events, 1) if event in ("exclusive", "beside")} - refused
    assert [job for job in begun if job in exclusive] == exclusive
    assert not turns.waiting


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 50), st.integers(0, 50), st.floats(0, 0.3)),
        min_size=1,
        max_size=40,
    )
)
def test_progress_is_reported_at_once_and_then_at_most_so_often(steps: list[tuple[str, int, int, float]]) -> None:
    now, last = 100.0, None
    progress = PhaseProgress(now)
    since, first = now, 0
    before = ("", 0)
    for phase, done, total, later in steps:
        now += later
        if phase != before[0] or done < before[1]:
            since, first = now, done
        before = (phase, done)
        reported = progress.step(phase, done, total, now)
        assert reported == (last is None or now - last >= NOTICE_S)
        last = now if reported else last
        assert progress.rate == ((done - first) / (now - since) if now > since else 0.0)
        assert (progress.eta_s is not None) == (progress.rate > 0 and total >= done)
        assert progress.eta_s is None or progress.eta_s >= 0
