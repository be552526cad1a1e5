"""Every command that searches, on two workers that are killed, frozen, late, or lose their scheduler.

Whatever happens to them, the outcome is byte for byte that of one thread.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import pytest
from checkout import SHARED
from cluster_processes import COMMAND, Cluster, Process, solved_rows
from random_games import random_game

from desdaemon.engine.bench.problems import random_problems
from desdaemon.protocol.othello.notation import board_text, moves_text

pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")

pytestmark = pytest.mark.slow

TIMEOUT = 900
KILL_EVERY_S = 5
SEARCHED_S = 1.0
"""A worker that has used so much of the processor since it joined has begun to search."""

SHORTEST_LIFE_S = 0.2

EMPTIES = (9, 11, 13, 15)
PROBLEMS = 10_000


class Growth:
    """A command on a book: the lines that make the book it begins with, and the command."""

    def __init__(self, begin: str, command: str) -> None:
        self.begin = begin
        self.command = command


GROWTHS = {
    "deviate": Growth("book new 9 13", "book deviate 3 6"),
    "learn": Growth("book new 8 20", "book learn 14 3 6 4"),
    "enhance": Growth("book new 9 18\nbook add --unsearched {games}", "book enhance 2 2"),
    "add": Growth("book new 10 18", "book add {games}"),
    "fix": Growth("book new 10 18\nbook add --unsearched {games}", "book fix"),
}


# What happens to the cluster


def searches(process: subprocess.Popen[str], worker: Process) -> None:
    """Wait until a worker is searching, or the program has ended."""
    found = psutil.Process(worker.process.pid)
    before = sum(found.cpu_times()[:2])
    while process.poll() is None and sum(found.cpu_times()[:2]) < before + SEARCHED_S:
        ended(process, SHORTEST_LIFE_S)


def ended(process: subprocess.Popen[str], seconds: float) -> bool:
    """Wait so long at most; whether the program has ended."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def nothing(cluster: Cluster, process: subprocess.Popen[str]) -> None:
    """The two workers are left alone, and both search."""
    for worker in cluster.workers:
        searches(process, worker)
    assert process.poll() is None


def kills(cluster: Cluster, process: subprocess.Popen[str]) -> None:
    """The worker that joined first is killed every five seconds, and another one is started.

    On a slow machine there is a longer wait: until one has joined that can go on.
    """
    killed = 0
    searches(process, cluster.workers[0])
    while process.poll() is None:
        victim, *others = [worker for worker in cluster.workers if "has joined" in worker.told]
        if not others:
            ended(process, SHORTEST_LIFE_S)
            continue
        cluster.workers.remove(victim)
        victim.close()
        killed += 1
        cluster.start(f"next-{killed}")
        ended(process, KILL_EVERY_S)
    assert killed


def freeze(cluster: Cluster, process: subprocess.Popen[str]) -> None:
    """A worker stands still, without a word, until the end."""
    frozen = cluster.workers[0]
    searches(process, frozen)
    assert process.poll() is None
    frozen.process.send_signal(signal.SIGSTOP)
    try:
        process.wait(TIMEOUT)
    finally:
        frozen.process.send_signal(signal.SIGCONT)


def late(cluster: Cluster, process: subprocess.Popen[str]) -> None:
    """There is one worker at first, and another joins later."""
    searches(process, cluster.workers[0])
    (joined,) = cluster.add("late")
    assert process.poll() is None
    searches(process, joined)


def lost(cluster: Cluster, process: subprocess.Popen[str]) -> None:
    """The scheduler is killed: the command ends, and is given again; its workers wait for another scheduler."""
    searches(process, cluster.workers[0])
    assert process.poll() is None
    cluster.scheduler.close()
    process.wait(TIMEOUT)
    for worker in cluster.workers:
        worker.until("has lost the scheduler")


TROUBLES = [nothing, kills, freeze, late, lost]


# Programs


def program(said: Path, *options: str, given: str = "") -> subprocess.Popen[str]:
    """A program that reads ``given``, and whose output goes to a file."""
    commands = said.with_suffix(".in")
    commands.write_text(given, encoding="utf-8")
    with commands.open() as source, said.open("w") as output:
        return subprocess.Popen([*COMMAND, *options], stdin=source, stdout=output, stderr=subprocess.STDOUT, text=True)


def through(trouble: Callable[[Cluster, subprocess.Popen[str]], None], folder: Path,
            start: Callable[[str], tuple[subprocess.Popen[str], Path]]) -> list[str]:  # fmt: skip
    """Run a program on a cluster while ``trouble`` happens; what it said, and what it said when it was given again."""
    said = []
    for again in (False, True):
        (folder / str(again)).mkdir()
        cluster = Cluster(folder / str(again))
        try:
            cluster.add(*(("one",) if trouble is late else ("one", "two")))
            process, output = start(str(cluster.file))
            try:
                if not again:
                    trouble(cluster, process)
                status = 1 if trouble is lost and not again else 0
                assert process.wait(TIMEOUT) == status, output.read_text()
            finally:
                process.kill()
                process.wait()
            said.append(output.read_text())
        finally:
            cluster.close()
        if trouble is not lost:
            break
    return said


# Books


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Games of Othello players, of random players where those are not here."""
    found = SHARED / "data" / "wthor" / "WTH_1980.wtb"
    if found.is_file():
        return found
    file = tmp_path_factory.mktemp("games") / "games.txt"
    moves = ([each.move for each in random_game(seed, 60).moves] for seed in range(160))
    file.write_text("".join(f"{moves_text(line)}\n" for line in moves), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory, games: Path) -> Callable[[str], tuple[Path, list[bytes]]]:
    """The book that a command begins with, and the exports after it was carried out by one thread."""
    folder = tmp_path_factory.mktemp("reference")

    @cache
    def of(name: str) -> tuple[Path, list[bytes]]:
        growth, book = GROWTHS[name], folder / f"{name}.book"
        begin = f"{growth.begin.format(games=games)}\nbook save {book}\n"
        lines, exports = grown(growth, games, folder / f"{name}-done")
        process = program(folder / f"{name}.begun", "-verbose", "0", given=f"{begin}quit\n")
        assert process.wait(TIMEOUT) == 0
        done = folder / f"{name}-done.book"
        shutil.copy(book, done)
        process = program(
            folder / f"{name}.said", "-verbose", "0", "-book-tasks", "1", given=f"book load {done}\n{lines}"
        )
        assert process.wait(TIMEOUT) == 0
        return book, [export.read_bytes() for export in exports]

    return of


def grown(growth: Growth, games: Path, name: Path) -> tuple[str, list[Path]]:
    """The lines of a dialogue that carries a command out and exports the book, and the files of the exports."""
    exports = [name.with_suffix(suffix) for suffix in (".txt", ".egbk3")]
    lines = [growth.command.format(games=games), *(f"book export {export}" for export in exports), "quit"]
    return "\n".join([*lines, ""]), exports


@pytest.mark.posix
@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.__name__)
@pytest.mark.parametrize("name", GROWTHS)
def test_the_book_equals_that_of_one_thread(
    name: str,
    trouble: Callable[[Cluster, subprocess.Popen[str]], None],
    reference: Callable[[str], tuple[Path, list[bytes]]],
    games: Path,
    tmp_path: Path,
) -> None:
    begun, expected = reference(name)
    book = tmp_path / "own.book"
    shutil.copy(begun, book)
    lines, exports = grown(GROWTHS[name], games, tmp_path / "export")

    def start(cluster: str) -> tuple[subprocess.Popen[str], Path]:
        said = tmp_path / "said"
        return program(said, "-verbose", "0", "-cluster", cluster, given=f"book load {book}\n{lines}"), said

    said = through(trouble, tmp_path, start)
    assert [export.read_bytes() for export in exports] == expected
    if trouble is lost:
        assert "repeat the command once there is one" in said[0]
        assert "stopped" in said[0]
    assert "stopped" not in said[-1]


# Problems


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("problems") / "problems.obf"
    found = [problem for empties in EMPTIES for problem in random_problems(PROBLEMS // len(EMPTIES), empties, empties)]
    Random(1).shuffle(found)
    file.write_text("".join(f"{board_text(problem.position)};\n" for problem in found), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def by_one_thread(problems: Path) -> list[tuple[str, ...]]:
    said = problems.with_name("one")
    process = program(said, "-solve", str(problems), "-level", "60", "-n", "1")
    assert process.wait(TIMEOUT) == 0
    rows = solved_rows(said.read_text())
    assert len(rows) == PROBLEMS
    return rows


@pytest.mark.posix
@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.__name__)
def test_problems_have_the_answers_of_one_thread(
    trouble: Callable[[Cluster, subprocess.Popen[str]], None],
    problems: Path,
    by_one_thread: list[tuple[str, ...]],
    tmp_path: Path,
) -> None:
    def start(cluster: str) -> tuple[subprocess.Popen[str], Path]:
        said = tmp_path / "said"
        return program(said, "-solve", str(problems), "-level", "60", "-n", "1", "-cluster", cluster), said

    said = through(trouble, tmp_path, start)
    assert solved_rows(said[-1]) == by_one_thread
    if trouble is lost:
        before = solved_rows(said[0])
        assert len(before) < PROBLEMS
        assert before == by_one_thread[: len(before)]
        assert "repeat the command once there is one" in said[0]
