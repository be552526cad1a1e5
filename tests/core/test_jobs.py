"""Jobs: turns, progress, cancelling, the end."""

import threading

import pytest

from desdaemon.core.books.jobs import FAILED, BookJob, BookJobs, Result
from desdaemon.protocol.system import threads

KEPT = 100


def test_a_job_ends_with_its_result() -> None:
    jobs = BookJobs()
    job = jobs.submit("book.fix", lambda job: {"added": 3}, "me", writes=True)
    assert job.wait(10)
    assert (job.state, job.result["added"], job.result["job"], job.op, job.client) == (
        "done",
        3,
        job.id,
        "book.fix",
        "me",
    )
    assert job.result["time_s"] >= 0
    assert jobs.find(job.id) is job
    assert jobs.listed() == [job]
    assert not jobs.cancel(job.id)
    assert jobs.find(99) is None
    assert jobs.close()


def test_what_work_raises_fails_the_job() -> None:
    def work(job: BookJob) -> Result:
        raise ValueError("no such thing")

    job = BookJobs().submit("book.fix", work, "me", writes=False)
    assert job.wait(10)
    assert (job.state, job.error) == ("failed", "no such thing")
    assert isinstance(job.failure, ValueError)


def test_a_failed_job_keeps_no_stack() -> None:
    def work(job: BookJob) -> Result:
        try:
            raise KeyError(1)
        except KeyError as error:
            raise ValueError("no such thing") from error

    job = BookJobs().submit("book.fix", work, "me", writes=False)
    assert job.wait(10)
    assert job.failure is not None
    assert job.failure.__traceback__ is None
    assert job.failure.__cause__ is not None
    assert job.failure.__cause__.__traceback__ is None


def test_writers_take_turns_and_readers_do_not_wait() -> None:
    jobs = BookJobs()
    may_end = threading.Event()
    order: list[int] = []

    def work(number: int) -> BookJob:
        def write(job: BookJob) -> Result:
            assert may_end.wait(10)
            order.append(number)
            return {}

        return jobs.submit("book.fix", write, "me", writes=True)

    first, second, third = work(1), work(2), work(3)
    reader = jobs.submit("book.info", lambda job: {}, "me", writes=False)
    assert reader.wait(10)
    assert jobs.at_once("book.show", lambda job: {}, "me").state == "done"
    assert second.state == third.state == "queued"
    assert jobs.cancel(second.id)
    may_end.set()
    assert all(job.wait(10) for job in (first, second, third))
    assert order == [1, 3]
    assert [job.state for job in (first, second, third)] == ["done", "cancelled", "done"]


@pytest.mark.needs("book.growth")
def test_a_cancelled_job_is_told_and_keeps_its_result() -> None:
    jobs = BookJobs()
    begun, halted = threading.Event(), threading.Event()

    def work(job: BookJob) -> Result:
        job.on_cancel(halted.set)
        begun.set()
        assert halted.wait(10)
        assert not job.report("search", 1, 2, 30)
        return {"finished": False, "added": 1}

    job = jobs.submit("book.deviate", work, "me", writes=True)
    assert begun.wait(10)
    job.cancel()
    assert job.wait(10)
    assert (job.state, job.result["added"]) == ("cancelled", 1)
    assert (job.progress.done, job.progress.total, job.progress.positions) == (1, 2, 30)
    late = threading.Event()
    job.on_cancel(late.set)
    assert late.is_set()


@pytest.mark.needs("book.growth")
def test_watchers_hear_of_progress_after_it_lasts_and_of_the_end() -> None:
    jobs = BookJobs()
    heard: list[tuple[str, int, bool]] = []
    watched, lasting = threading.Event(), threading.Event()

    def work(job: BookJob) -> Result:
        assert watched.wait(10)
        job.before_notice = lasting.set
        assert job.report("search", 5, 10, 7)
        return {}

    job = jobs.submit("book.deviate", work, "me", writes=True)
    job.watch(lambda job: heard.append((job.state, job.progress.done, lasting.is_set())))
    watched.set()
    assert job.wait(10)
    jobs.close()
    assert heard == [("running", 5, True), ("done", 5, True)]
    again: list[BookJob] = []
    job.watch(again.append)
    assert again == [job]


def test_the_end_cancels_what_runs_and_what_comes() -> None:
    jobs = BookJobs()
    begun = threading.Event()

    def work(job: BookJob) -> Result:
        halt = threading.Event()
        job.on_cancel(halt.set)
        begun.set()
        assert halt.wait(10)
        return {}

    running = jobs.submit("book.fix", work, "me", writes=True)
    waiting = jobs.submit("book.fix", work, "me", writes=True)
    assert begun.wait(10)
    assert jobs.close(10)
    late = jobs.submit("book.fix", work, "me", writes=True)
    assert [job.state for job in (running, waiting, late)] == ["cancelled"] * 3


def test_the_list_forgets_what_is_long_over() -> None:
    jobs = BookJobs()
    for _ in range(KEPT + 20):
        assert jobs.submit("book.info", lambda job: {}, "me", writes=False).wait(10)
    assert len(jobs.listed()) <= KEPT + 1


def test_an_error_in_a_watcher_is_reported_and_ends_no_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = BookJobs()
    errors: list[type[BaseException] | None] = []
    monkeypatch.setattr(threading, "excepthook", lambda report: errors.append(report.exc_type))
    began, watched = threading.Event(), threading.Event()

    def work(job: BookJob) -> Result:
        began.set()
        assert watched.wait(10)
        return {}

    def watcher(job: BookJob) -> None:
        raise ZeroDivisionError

    first = jobs.submit("book.fix", work, "me", writes=True)
    assert began.wait(10)
    second = jobs.submit("book.fix", lambda job: {}, "me", writes=True)
    first.watch(watcher)
    watched.set()
    assert first.wait(10)
    assert second.wait(10)
    assert errors == [ZeroDivisionError]
    assert (first.state, second.state) == ("done", "done")


def test_jobs_for_which_there_is_no_thread_fail_and_hold_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = BookJobs()

    def refuse(work: object, name: str) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as without_memory:
        without_memory.setattr(threads, "begin", refuse)
        failed = jobs.submit("book.fix", lambda job: {}, "a", writes=True)
    assert (failed.state, failed.error) == (FAILED, "Cannot allocate memory: try later")
    job = jobs.submit("book.fix", lambda job: {"n": 1}, "a", writes=True)
    assert job.wait(60)
    assert job.result["n"] == 1
