"""Processes that die while they search a book's leaves or grow it."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from checkout import SUPPORT
from toys import create_store, small_book, toy

from desdaemon.book.check import verify
from desdaemon.book.editing.add import enumerate_book, fix
from desdaemon.book.editing.rounds import CommandProgress, Worker
from desdaemon.book.options import BookOptions
from desdaemon.book.record import START
from desdaemon.book.storage import journal, snapshot
from desdaemon.book.storage.store import journal_path, open_store

# The programs that are killed would take minutes with kernels run as Python, and no budget counts their time.
pytestmark = pytest.mark.compiled

GROWTH = pytest.mark.needs("book.growth")

GROWER = """
import sys, time
sys.path.insert(0, sys.argv[2])
import checkout
from pathlib import Path
from desdaemon.book.editing.add import fix
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.record import START
from desdaemon.book.storage.store import open_store
from toys import toy

def slow(*question):
    time.sleep(0.002)
    return toy(*question)

def on_progress(report):
    # What has been told is on the disk.
    store.commit()
    print(report.positions, flush=True)
    # As long as somebody is there, it goes on when it is told to.
    sys.stdin.readline()
    return True

store = open_store(Path(sys.argv[1]))
print("open", flush=True)
worker = Worker(slow, threads=2, on_progress=on_progress)
if sys.argv[3] == "fix":
    fix(store.book, worker)
elif sys.argv[3] == "deviate":
    from desdaemon.book.growth.grow import deviate
    deviate(store.book, START, worker, 5, 12)
else:
    from desdaemon.book.growth.learn import Window, learn
    learn(store.book, START, worker, Window(6, 6, 14), 8, 3)
store.close()
print("done", flush=True)
"""


def start(script: str, path: Path, *more: str) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", script, str(path), str(SUPPORT), *more]
    pipe = subprocess.PIPE
    return subprocess.Popen(arguments, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def kill_until_done(path: Path, command: str, kills: int, reports: int) -> int:
    """Run a command again and again, and kill it ``kills`` times, each after some of its about ``reports`` reports of
    progress and before the next one is over. Returns how often that was inside a round: leaves of positions were still
    to be searched."""
    rng = random.Random(7)
    killed = inside = 0
    while True:
        process = start(GROWER, path, command)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "open\n"
        lines = []
        if killed < kills:
            for _ in range(rng.randrange(reports // kills)):
                lines.append(process.stdout.readline().strip())
                process.stdin.write("\n")
                process.stdin.flush()
            time.sleep(rng.uniform(0, 0.01))
            process.send_signal(signal.SIGKILL)
        process.stdin.close()
        lines += process.stdout.read().split("\n")[:-1]
        errors = process.stderr.read()
        process.wait()
        process.stdout.close()
        process.stderr.close()
        finished = "done" in lines
        if not finished:
            assert process.returncode == -signal.SIGKILL, errors
            killed += 1
        told = [int(line) for line in lines if line.isdigit()]
        with open_store(path) as store:
            verdict = verify(store.book)
            assert verdict.clean, verdict
            inside += verdict.open > 0
            if told:
                assert len(store.book) >= told[-1]
        if finished:
            assert killed == kills
            return inside


def saved(path: Path) -> bytes:
    """All of a book's file but the header, which has its identity and the time."""
    with open_store(path) as store:
        store.save()
    return path.read_bytes()[snapshot.PAGE :]


def begin(path: Path, command: str, depth: int) -> None:
    """Save the book that a command begins with: for `fix` one of all positions of some moves without scores."""
    options = BookOptions(level=2, min_empties=61 - depth)
    create_store(path, enumerate_book(4, options) if command == "fix" else small_book(depth=depth)).close()


@pytest.mark.posix
@pytest.mark.parametrize("command", ["fix", *(pytest.param(name, marks=GROWTH) for name in ("deviate", "learn"))])
@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_a_killed_command_goes_on_to_the_same_bytes(command: str, kills: int, tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed.book", tmp_path / "whole.book"
    for path in (killed, whole):
        begin(path, command, 8 if kills > 3 else 6)
    reports = 0

    def on_progress(report: CommandProgress) -> bool:
        nonlocal reports
        reports += 1
        return True

    with open_store(whole) as store:
        worker = Worker(toy, on_progress=on_progress)
        if command == "fix":
            fix(store.book, worker)
        elif command == "deviate":
            from desdaemon.book.growth.grow import deviate

            deviate(store.book, START, worker, 5, 12)
        else:
            from desdaemon.book.growth.learn import Window, learn

            learn(store.book, START, worker, Window(6, 6, 14), 8, 3)
    assert kill_until_done(killed, command, kills, reports) >= kills // 3
    assert saved(killed) == saved(whole)


@pytest.mark.parametrize("cuts", [6, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "command", ["fix", *(pytest.param(name, marks=GROWTH) for name in ("deviate", "enhance", "extend", "learn"))]
)
def test_a_command_cut_anywhere_in_its_journal_goes_on_to_the_same_bytes(
    command: str, cuts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also inside a round, where what was added so far is written after each position."""
    monkeypatch.setattr("desdaemon.book.editing.rounds._ADDED", 1)
    whole, cut = tmp_path / "whole.book", tmp_path / "cut.book"
    begin(whole, command, 5)
    if command == "extend":
        from desdaemon.book.growth.grow import deviate

        with open_store(whole) as store:
            deviate(store.book, START, Worker(toy), 0, 2)
            store.save(backups=0)
    before = whole.read_bytes()

    def run(path: Path) -> bytes:
        with open_store(path) as store:

            def on_progress(report: CommandProgress) -> bool:
                store.commit()
                return True

            worker = Worker(toy, threads=2, on_progress=on_progress)
            if command == "fix":
                fix(store.book, worker)
            elif command == "learn":
                from desdaemon.book.growth.learn import Window, learn

                learn(store.book, START, worker, Window(4, 3, 6), 3, 3)
            else:
                from desdaemon.book.growth import grow

                more = {"deviate": (2, 6), "enhance": (1, 1), "extend": ()}[command]
                getattr(grow, command)(store.book, START, worker, *more)
        return journal_path(path).read_bytes()

    entries = run(whole)
    wanted = saved(whole)
    rng = random.Random(1)
    for end in sorted(rng.sample(range(journal.HEADER.size, len(entries)), cuts)):
        cut.write_bytes(before)
        journal_path(cut).write_bytes(entries[:end])
        run(cut)
        assert saved(cut) == wanted, (end, len(entries))
