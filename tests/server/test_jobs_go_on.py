"""A week's work in small: schedules with a budget, kills and restarts, backups, and the owner's hook."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from served import Peer, Served, serving, until

SCHEDULE = "learn {depth} 4 8 4 1\nlearn {depth} 2 4 2 2\n"
HOUR_S = 3600.0


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


def undisturbed(folder: Path, depth: int) -> str:
    served = begun(folder, depth)
    try:
        with Peer(served.ipc) as owner:
            assert owner.final("book.schedule", {"file": "steps.txt"})["finished"]
            return content(owner, served.data)
    finally:
        served.end()


def week(folder: Path, depth: int, budget: int, kills: int, backups: int) -> None:
    expected = undisturbed(folder / "still", depth)
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
        return [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []

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
                kills -= 1
                served.start()
                with Peer(served.ipc) as owner:
                    until(lambda: "added" in job(owner) or over())
                    now = job(owner)
                if now and "added" in before:
                    assert (now["job"], now["started"]) == (before["job"], before["started"])
                    assert now["added"] >= before["added"]
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
            assert content(owner, served.data) == expected
            last = time.time()
            until(lambda: max(path.stat().st_mtime for path in made.glob("week-*.book")) > last)
            newest = max(made.glob("week-*.book"))
            owner.final("book.load", {"file": f"backups/{newest.name}"})
            assert content(owner, served.data) == expected
    finally:
        served.end()


def test_a_day_in_small(tmp_path: Path) -> None:
    week(tmp_path, 8, 60, 1, 2)


@pytest.mark.slow
def test_a_week_in_small(tmp_path: Path) -> None:
    week(tmp_path, 14, 300, 5, 3)


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
