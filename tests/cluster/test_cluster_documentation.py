"""docs/cluster.md as a new user follows it, in an empty folder on one machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from checkout import ROOT
from cluster_processes import TIMEOUT

pytest.importorskip("distributed")

TEXT = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
PORT = "18786"


def blocks() -> list[str]:
    """The indented blocks of the document, as one would copy them."""
    found = re.findall(r"(?:^    .*\n|^\n(?=    ))+", TEXT, re.MULTILINE)
    return [re.sub(r"^ {4}", "", block, flags=re.MULTILINE).strip() + "\n" for block in found]


def block(piece: str) -> str:
    """The block with a piece in it."""
    (found,) = [each for each in blocks() if piece in each]
    return found


def commands(piece: str) -> list[str]:
    """The commands of a block, for this machine and a port that is free."""
    lines = block(piece).replace("10.0.0.1", "127.0.0.1").replace("8786", PORT).replace("\\\n", " ").splitlines()
    return [line.partition(" # ")[0].strip() for line in lines if line]


def scheduler_first(piece: str) -> tuple[str, str, str]:
    scheduler, worker, owner = commands(piece)
    assert "cluster scheduler" in scheduler
    assert "cluster worker" in worker
    return scheduler, worker, owner


class Folder:
    """An empty folder, and programs in it that go on until the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._running: list[subprocess.Popen[str]] = []
        programs = path / "programs"
        programs.mkdir()
        # As installed: the name, and nothing of this checkout's environment.
        program = programs / "desdaemon"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m desdaemon "$@"\n')
        program.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": str(path)}

    def go_on(self, command: str, until: str, **environment: str) -> None:
        """Begin a command, and wait for a piece of what it tells."""
        process = subprocess.Popen(
            ["sh", "-c", f"exec {command}"],
            cwd=self.path,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._running.append(process)
        assert process.stderr
        told = []
        for line in process.stderr:
            told.append(line)
            if until in line:
                return
        raise AssertionError("".join(told))

    def run(self, command: str, given: str = "") -> str:
        done = subprocess.run(
            ["sh", "-e", "-c", command],
            cwd=self.path,
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def close(self) -> None:
        for process in reversed(self._running):
            process.kill()
            process.wait()
            assert process.stderr
            process.stderr.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with closing(Folder(tmp_path)) as found:
        yield found


BOOK = "book new 4 10\nbook save my.book\nbook deviate 2 4\nquit\n"


def test_the_book_of_the_document_is_begun_by_commands_there_are() -> None:
    given = block("book save my.book")
    assert [line.split()[:2] for line in given.splitlines()] == [line.split()[:2] for line in BOOK.splitlines()[:-1]]


@pytest.mark.posix
@pytest.mark.slow
def test_the_commands_for_one_machine_work(folder: Folder) -> None:
    scheduler, worker, owner = scheduler_first("cluster worker tcp://127.0.0.1:8786 --threads 4")
    folder.go_on(scheduler.replace("scheduler", f"scheduler --listen tcp://127.0.0.1:{PORT}"), "scheduler at")
    folder.go_on(worker, "has joined")
    folder.go_on(worker, "has joined")
    said = folder.run(owner, BOOK)
    assert "my.book: No such file or directory" in said
    assert "Book deviate 2 4...finished" in said
    again = folder.run(owner, "book deviate 2 4\nquit\n")
    assert "No such file" not in again
    assert "finished: 0 positions added, 0 searches" in again
    status = folder.run(f"desdaemon cluster status tcp://127.0.0.1:{PORT}")
    assert status.count("same program") == 2


@pytest.mark.posix
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the keys")
def test_the_commands_with_keys_and_a_bounded_job_work(folder: Folder) -> None:
    folder.run(block("desdaemon cluster keys"))
    scheduler, worker, owner = scheduler_first("--nice 10")
    (folder.path / "shared").mkdir()
    folder.go_on(f"{scheduler} --scheduler-file shared/scheduler.json", "scheduler at")
    folder.go_on(worker, "has joined")
    (job,) = commands("--lifetime")
    folder.go_on(job.removeprefix("exec "), "has joined")
    assert "finished" in folder.run(owner, BOOK)
    status = folder.run(f"desdaemon cluster status tls://127.0.0.1:{PORT} --tls certificates")
    assert status.count("same program") == 2
