"""A week's work in small: schedules with a budget, kills and restarts, backups, and the owner's hook."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from book_dialogue import BookDialogue
from served import Peer, Served, serving
from waits import until

from desdaemon.core.books.job_journal import JobJournal
from desdaemon.core.books.jobs import Effort
from desdaemon.core.books.running import run_command
from desdaemon.core.books.service import Caller
from desdaemon.core.metrics import ServerMetrics
from desdaemon.protocol.commands.book import BY_NAME, complete
from desdaemon.protocol.system.logs import Log
from desdaemon.server.backups import RETRY_S, BackupPlan, Backups

SCHEDULE = "learn {depth} 4 8 4 1\nlearn {depth} 2 4 2 2\n"
HOUR_S = 3600.0


def backups_of(dialogue: BookDialogue, folder: Path, plan: BackupPlan) -> tuple[Backups, ServerMetrics]:
    health = ServerMetrics(Log("error"))
    return Backups(dialogue.books, dialogue.session.settings, folder, plan, health), health


def content(peer: Peer, data: Path) -> str:
    """The positions of the book as Edax's text, in order."""
    peer.final("book.export", {"file": "content.txt"})
    return "\n".join(sorted((data / "content.txt").read_text().splitlines()))


def begun(folder: Path, depth: int, *arguments: str) -> Served:
    """A daemon with a book of the initial position and a schedule."""
    served = Served(folder, "-book-file", str(folder / "data" / "week.book"), *arguments)
    with Peer(served.ipc) as owner:
        owner.final("book.new", {"level": 1, "depth": depth})
        owner.final("book.save", {"file": "week.book"})
    (served.data / "steps.txt").write_text(SCHEDULE.format(depth=depth))
    return served


def week(folder: Path, depth: int, budget: int, kills: int, backups: int) -> None:
    told = folder / "told"
    writes = f"import sys; open({str(told)!r}, 'a').write(sys.stdin.read())"
    hook = shlex.join([sys.executable, "-c", writes])
    hours = str(0.5 / HOUR_S)
    served = begun(folder / "week", depth, "--on-job-end", hook, "--backup-every", hours, "--backup-keep", str(backups))

    def job(owner: Peer) -> dict[str, Any]:
        """The schedule that runs, or ran last."""
        found = [job for job in owner.final("jobs")["jobs"] if job["op"] == "book.schedule"]
        return found[-1] if found else {}

    def ends() -> list[dict[str, Any]]:
        """What the hook was told of each job: of one that ends as the daemon is killed perhaps twice."""
        lines = told.read_text().splitlines() if told.exists() else []
        return list({end["job"]: end for end in map(json.loads, lines)}.values())

    commands = 0

    def over() -> bool:
        return len(ends()) == commands

    try:
        while True:
            commands += 1
            with Peer(served.ipc) as owner:
                owner.request("book.schedule", {"file": "steps.txt", "positions": budget})
                until(lambda: job(owner).get("added", 0) > 0 or over())
            while kills and not over():
                with Peer(served.ipc) as owner:
                    before = job(owner)
                served.kill()
                kept = [json.loads(path.read_text()) for path in (served.data / "jobs").glob("*.json")]
                kills -= 1
                served.start()
                with Peer(served.ipc) as owner:
                    until(lambda: "added" in job(owner) or over())
                    now = job(owner)
                if now and "added" in before:
                    assert (now["job"], now["started"]) == (before["job"], before["started"])
                    # What it has added is written once a second only.
                    assert now["added"] >= Effort(*kept[0]["effort"]).positions
            until(over, 600)
            end = ends()[-1]
            assert (end["op"], end["state"]) == ("book.schedule", "done")
            if end["finished"]:
                break
            assert "its budget is spent" in end["text"][-1]
        assert not kills
        assert commands > 1
        until(lambda: not list((served.data / "jobs").glob("*.json")))
        made = served.data / "backups"
        until(lambda: len(list(made.glob("week-*.book"))) == backups)
        with Peer(served.ipc) as owner:
            assert owner.final("book.verify")["clean"]
            # Grown in parts it may have other positions than grown at once.
            expected = content(owner, served.data)
        # A copy that was begun in a later second, by its name.
        now = f"week-{time.strftime('%Y%m%d-%H%M%S')}.book"
        until(lambda: max(path.name for path in made.glob("week-*.book")) > now)
    finally:
        served.end()
    # Of a daemon that makes copies the newest may be gone before it is loaded.
    newest = max(path.name for path in made.glob("week-*.book"))
    with serving(folder / "week") as later, Peer(later.ipc) as owner:
        owner.final("book.load", {"file": f"backups/{newest}"})
        assert content(owner, later.data) == expected


@pytest.mark.needs("book.growth")
def test_a_simulated_day_of_kills_loses_no_job(tmp_path: Path) -> None:
    week(tmp_path, 8, 60, 1, 2)


@pytest.mark.needs("book.growth")
@pytest.mark.slow
def test_a_simulated_week_of_kills_loses_no_job(tmp_path: Path) -> None:
    week(tmp_path, 14, 300, 5, 3)


@pytest.mark.needs("book.growth")
def test_a_clean_end_lets_jobs_go_on_and_a_cancel_does_not(tmp_path: Path) -> None:
    served = begun(tmp_path, 30)
    try:
        jobs = served.data / "jobs"
        with Peer(served.ipc) as owner:
            owner.request("book.learn", {"depth": 30, "per-move": 64, "cumulative": 64, "leaf": 64, "level": 8})
            until(lambda: list(jobs.glob("*.json")))
        served.end()
        assert list(jobs.glob("*.json"))
        served.start()

        def running(owner: Peer) -> list[int]:
            found = owner.final("jobs")["jobs"]
            return [job["job"] for job in found if job["op"] == "book.learn" and job["state"] == "running"]

        with Peer(served.ipc) as owner:
            until(lambda: running(owner))
            assert owner.final("cancel", {"job": running(owner)[0]})["cancelled"]
            until(lambda: not list(jobs.glob("*.json")))
    finally:
        served.end()


@pytest.mark.needs("book.growth")
def test_jobs_that_ended_stay_listed_after_a_restart(tmp_path: Path) -> None:
    served = begun(tmp_path, 4)
    try:
        with Peer(served.ipc) as owner:
            owner.final("book.deviate", {"relative": 2, "absolute": 6})
            number = owner.final("book.fix")["job"]
            before = [job for job in owner.final("jobs")["jobs"] if job["op"] in ("book.deviate", "book.fix")]
        until(lambda: not list((served.data / "jobs").glob("*.json")))
        served.end()
        (served.data / "jobs" / "ended" / "99.json").write_text('{"values": {}, "ended": {"op": 3}}')
        served.start()
        with Peer(served.ipc) as owner:
            after = [job for job in owner.final("jobs")["jobs"] if job["op"] in ("book.deviate", "book.fix")]
            assert owner.final("book.fix")["job"] > number
        names = ("job", "op", "client", "state", "started", "over", "added", "result")
        assert [{name: job.get(name) or 0 for name in names} for job in after] == [
            {name: job.get(name) or 0 for name in names} for job in before
        ]
        assert len(after) == 2
        assert "99.json: no ended job can be read there" in served.log.read_text()
    finally:
        served.end()


def test_files_that_are_no_jobs_are_reported_and_passed_over(tmp_path: Path) -> None:
    (tmp_path / "ended").mkdir()
    deep, endless, folder, good = (tmp_path / f"{number}.json" for number in range(1, 5))
    deep.write_text("[" * 100_000)
    with endless.open("wb") as file:
        file.truncate(17 << 20)
    folder.mkdir()
    good.write_text('{"values": {}}')
    (tmp_path / "ended" / "5.json").write_text('{"values": {}, "ended": {"started": 1, "positions": 1e999}}')
    complaints: list[str] = []
    journal = JobJournal(tmp_path, (), complaints.append)
    assert [number for number, _ in journal.entries()] == [4]
    assert [line.partition(": ")[0] for line in complaints] == [str(deep), str(endless), str(folder)]
    assert list(journal.ended()) == []


@pytest.mark.needs("book.growth")
def test_daemons_that_share_a_data_folder_keep_their_jobs_apart(tmp_path: Path) -> None:
    dialogues = [BookDialogue(), BookDialogue()]
    try:
        for number, dialogue in enumerate(dialogues):
            dialogue.books.journal = JobJournal(tmp_path / "jobs", (), lambda line: None)
            dialogue.say("book new 1 4")
            dialogue.say(f"book save {tmp_path / f'{number}.book'}")
        # The second one ends first, so that both are kept at the same time.
        first, second = (
            run_command(
                dialogue.books,
                BY_NAME["learn"],
                complete(BY_NAME["learn"], {"depth": depth, "per-move": 64, "cumulative": 64, "leaf": 64, "level": 1}),
                Caller("", dialogue.session.settings),
            )
            for dialogue, depth in zip(dialogues, (30, 4), strict=True)
        )
        assert first.id != second.id
        assert second.wait(60)
        kept = [json.loads(path.read_text())["book"] for path in (tmp_path / "jobs").glob("*.json")]
        assert kept == [str(tmp_path / "0.book")]
        first.cancel()
        assert first.wait(60)
        until(lambda: len(list((tmp_path / "jobs" / "ended").glob("*.json"))) == 2)
    finally:
        for dialogue in dialogues:
            dialogue.close()


@pytest.mark.needs("book.growth")
def test_a_job_whose_book_is_opened_no_more_is_forgotten_in_the_end(tmp_path: Path) -> None:
    served = begun(tmp_path, 4)
    try:
        served.end()
        jobs = served.data / "jobs"
        jobs.mkdir(exist_ok=True)
        data = {"book": "/elsewhere/b.book", "command": "fix", "values": {}, "client": "somebody"}
        for number, days in ((5, 31), (6, 29)):
            path = jobs / f"{number}.json"
            path.write_text(json.dumps(data))
            written = time.time() - 86400 * days
            os.utime(path, (written, written))
        served.start()
        until(lambda: not (jobs / "5.json").exists())
        until(lambda: "5.json: this job is dropped: its book was not opened for 30 days" in served.log.read_text())
        assert (jobs / "6.json").exists()
    finally:
        served.end()


@pytest.mark.needs("book.growth")
@pytest.mark.parametrize(("copies_that_fit", "kept"), [(0.5, 1), (2.5, 2), (9.0, 4)])
def test_backups_take_no_more_bytes_than_they_may(copies_that_fit: float, kept: int, tmp_path: Path) -> None:
    dialogue = BookDialogue()
    try:
        dialogue.say("book new 1 8")
        dialogue.say("book deviate 2 4")
        dialogue.say(f"book save {tmp_path / 'b.book'}")
        books, folder = dialogue.books, tmp_path / "copies"
        limit = int(copies_that_fit * (tmp_path / "b.book").stat().st_size)
        backups, _ = backups_of(dialogue, folder, BackupPlan(1, 7, limit))
        names: list[str] = []
        for hours in range(4):
            backups.look(time.time() + 2 * HOUR_S * hours)
            assert books.jobs.listed()[-1].wait(60)
            names.append(max(path.name for path in folder.iterdir()))
        assert len(set(names)) == 4
        assert sorted(path.name for path in folder.iterdir()) == names[-kept:]
    finally:
        dialogue.close()


def test_a_backup_that_cannot_be_removed_stays_and_the_oldest_of_the_others_go(tmp_path: Path) -> None:
    dialogue = BookDialogue()
    try:
        dialogue.say("book new 1 4")
        dialogue.say(f"book save {tmp_path / 'b.book'}")
        # No file: as one that another program holds, it cannot be removed.
        held = tmp_path / "copies" / "b-20200101-000000.book"
        held.mkdir(parents=True)
        os.utime(held, (0, 0))
        backups, _ = backups_of(dialogue, held.parent, BackupPlan(1, 1))
        for hours in range(3):
            backups.look(time.time() + 2 * HOUR_S * hours)
            assert dialogue.books.jobs.listed()[-1].wait(60)
        names = sorted(path.name for path in held.parent.iterdir())
        assert names[0] == held.name
        assert len(names) == 2
    finally:
        dialogue.close()


def test_copies_that_a_wrong_clock_dated_ahead_neither_end_copying_nor_outlive_newer_ones(tmp_path: Path) -> None:
    dialogue = BookDialogue()
    try:
        dialogue.say("book new 1 4")
        dialogue.say(f"book save {tmp_path / 'b.book'}")
        folder, now = tmp_path / "copies", time.time()
        backups, _ = backups_of(dialogue, folder, BackupPlan(1, 2))
        made = []
        for time_of_day in (now + 1000 * HOUR_S, now, now + 0.5 * HOUR_S, now + 2 * HOUR_S):
            backups.look(time_of_day)
            assert dialogue.books.jobs.listed()[-1].wait(60)
            newest = max(folder.iterdir(), key=lambda path: path.stat().st_ctime_ns)
            os.utime(newest, (time_of_day, time_of_day))
            made.append(newest.name)
        assert len(set(made)) == 3
        assert sorted(path.name for path in folder.iterdir()) == [made[1], made[3]]
    finally:
        dialogue.close()


def test_a_failed_backup_is_a_problem_until_one_succeeds(tmp_path: Path) -> None:
    dialogue = BookDialogue()
    try:
        dialogue.say("book new 1 4")
        dialogue.say(f"book save {tmp_path / 'b.book'}")
        folder, now = tmp_path / "copies", time.time()
        folder.touch()
        backups, health = backups_of(dialogue, folder, BackupPlan(24))
        backups.look(now)
        assert health.problems == ["the book is not copied to backups: File exists"]
        folder.unlink()
        backups.look(now + RETRY_S)
        assert dialogue.books.jobs.listed()[-1].wait(60)
        assert health.problems == []
        assert len(list(folder.iterdir())) == 1
    finally:
        dialogue.close()


def test_a_hook_that_fails_is_one_line_of_the_log(tmp_path: Path) -> None:
    failing = shlex.join([sys.executable, "-c", "raise SystemExit('no such luck')"])
    with serving(tmp_path, "-book-file", str(tmp_path / "data" / "b.book"), "--on-job-end", failing) as served:
        with Peer(served.ipc) as owner:
            owner.final("book.new", {"level": 1, "depth": 4})
            owner.final("book.save", {"file": "b.book"})
            owner.final("book.fix")
        until(lambda: "--on-job-end" in served.log.read_text())
        lines = [line for line in served.log.read_text().splitlines() if "--on-job-end" in line]
        assert len(lines) == 1
        assert "status 1: no such luck" in lines[0]
