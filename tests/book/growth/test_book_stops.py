"""Every long command, stopped at any point of its progress: nothing is half done, and it ends the same if repeated."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import referee
from book_dialogue import BookDialogue
from toys import contents

from desdaemon.book import book
from desdaemon.book.check import verify
from desdaemon.book.formats.registry import load
from desdaemon.core.books.jobs import BookJob
from desdaemon.core.books.running import DUE
from desdaemon.protocol.commands.book import BOOK_COMMANDS

STOPS = (1, 2, 7)

GROWING = (
    "store",
    "add {games}",
    "add {games} --unsearched",
    "answer {games} --level 1 --plies 3",
    "deviate 2 6",
    "enhance 3 5",
    "fill 2",
    "play",
    "extend",
    "deepen 2",
    "correct",
    "learn 7 2 4 2 1",
    "recalculate-leaves 7 4 8 2",
    "schedule {schedule}",
    "fix",
    "negamax",
    "merge {other}",
    "edit f5 9",
    "prune",
    "subtree",
    "cut 3",
    "reduce 6 1 2",
    "delete f5",
    "verify --repair",
    "rule egaroucid",
)
REPLACING = ("new 1 6", "load {other}", "import {other}", "salvage {native}", "enumerate 4")
WRITING = (
    "save",
    "save {out}.dat",
    "save {out}.egbk3",
    "save {out}.txt",
    "save {out}.book",
    "export {out}.txt",
    "backup {out}.book",
    "extract {out}.txt",
)
LOOKING = (
    "show",
    "edits",
    "info",
    "stats",
    "lines 2",
    "umigame",
    "grade",
    "check {games}",
    "problem 56",
    "diff {other}",
    "feed-hash",
)


NAMES = {"native": "native", "other": "other.dat", "games": "games.txt", "schedule": "schedule", "out": "out"}


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a grown book of our own, another one, games and a schedule."""
    folder = tmp_path_factory.mktemp("grown")
    squares = [referee.name(move).lower() for move in referee.random_moves(3, 12)]
    (folder / NAMES["games"]).write_text(f"{''.join(squares)}\nf5d6c3d3c4\n", encoding="utf-8")
    (folder / NAMES["schedule"]).write_text("learn 6 1 2 1 1\nlearn 7 2 2 1 2\n", encoding="utf-8")
    dialogue = BookDialogue()
    dialogue.say("book new 2 7")
    dialogue.say("book deviate 0 4")
    dialogue.say(f"book save {folder / NAMES['other']}")
    dialogue.say("book new 1 7")
    dialogue.say("book deviate 1 4")
    dialogue.say(f"book add {folder / NAMES['games']}")
    dialogue.say(f"book save {folder / NAMES['native']}")
    dialogue.close()
    return folder


@pytest.fixture
def files(tmp_path: Path, grown: Path, dialogue: BookDialogue) -> dict[str, str]:
    """Copies of them in a folder of the test's own; the native book is in use."""
    shutil.copytree(grown, tmp_path, dirs_exist_ok=True)
    dialogue.say(f"book load {tmp_path / NAMES['native']}")
    return {name: str(tmp_path / file) for name, file in NAMES.items()}


class Stopper:
    """Cancels jobs that begin from now on at their ``after``-th report.

    Jobs of daemons that other modules keep open in this process report too: they are left alone.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.after = 0
        self.stopped = False
        report, run = BookJob.report, BookJob.run
        begun: list[BookJob] = []

        def noted(job: BookJob) -> None:
            begun.append(job)
            run(job)

        def counted(job: BookJob, phase: str, done: int, total: int, positions: int) -> bool:
            ours = any(job is each for each in begun)
            self.after -= ours
            if ours and self.after == 0:
                job.cancel()
                self.stopped = True
            return report(job, phase, done, total, positions)

        monkeypatch.setattr(BookJob, "run", noted)
        monkeypatch.setattr(BookJob, "report", counted)


def everything(dialogue: BookDialogue) -> object:
    """What is in the book, with the results of games."""
    table = dialogue.book.table
    results = {table.entry(row)[:2]: table.results(row) for row in range(len(table))}
    return contents(dialogue.book), results, dialogue.book.options


def opened(dialogue: BookDialogue, files: dict[str, str]) -> None:
    """The native book as it was, and a game on the board."""
    dialogue.say("book enumerate 1")
    for name in ("", ".journal"):
        shutil.copy(f"{files['native']}.kept{name}", files["native"] + name)
    dialogue.say(f"book load {files['native']}")
    dialogue.say("init")


def kept(dialogue: BookDialogue, files: dict[str, str]) -> None:
    dialogue.say("book enumerate 1")
    for name in ("", ".journal"):
        shutil.copy(files["native"] + name, f"{files['native']}.kept{name}")


@pytest.mark.parametrize("line", GROWING)
def test_a_stopped_command_goes_on_to_the_same_book(
    line: str, dialogue: BookDialogue, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(dialogue, files)
    line = f"book {line.format(**files)}"
    opened(dialogue, files)
    dialogue.both(line)
    whole = everything(dialogue)
    stopper = Stopper(monkeypatch)
    for after in STOPS:
        opened(dialogue, files)
        before = everything(dialogue)
        stopper.after, stopper.stopped = after, False
        answer = dialogue.both(line)[0]
        stopper.after = 0
        if stopper.stopped and "delete" not in line:
            assert "...stopped" in answer or everything(dialogue) in (whole, before), answer
        assert verify(dialogue.book).clean
        assert not dialogue.book.stale
        if everything(dialogue) != whole or "delete" not in line:
            dialogue.both(line)
        assert everything(dialogue) == whole, (after, answer)
        assert verify(dialogue.book).clean
        # So does a start after a crash.
        dialogue.say("book enumerate 1")
        dialogue.say(f"book load {files['native']}")
        assert everything(dialogue) == whole


@pytest.mark.parametrize("line", REPLACING)
def test_a_stopped_opening_leaves_the_book_in_use(
    line: str, dialogue: BookDialogue, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(dialogue, files)
    line = f"book {line.format(**files)}"
    stopper = Stopper(monkeypatch)
    for after in STOPS:
        opened(dialogue, files)
        book, before = dialogue.book, everything(dialogue)
        stopper.after, stopper.stopped = after, False
        answer = dialogue.both(line)[0]
        if dialogue.book is book:
            assert stopper.stopped
            assert "...stopped" in answer
            assert everything(dialogue) == before
        else:
            assert verify(dialogue.book).clean


@pytest.mark.parametrize("line", WRITING)
def test_a_stopped_writing_leaves_the_old_file(
    line: str, dialogue: BookDialogue, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(dialogue, files)
    line = f"book {line.format(**files)}"
    target = Path(line.split()[-1] if " " in line.removeprefix("book ") else files["native"])
    stopper = Stopper(monkeypatch)
    opened(dialogue, files)
    stopped = 0
    for after in STOPS:
        if target != Path(files["native"]):
            target.write_bytes(b"old")
        old = target.read_bytes()
        around = sorted(target.parent.iterdir())
        stopper.after, stopper.stopped = after, False
        answer = dialogue.both(line)[0]
        if "...stopped" in answer:
            stopped += 1
            assert target.read_bytes() == old
            assert sorted(target.parent.iterdir()) == around
        elif target.suffix in (".dat", ".egbk3"):
            assert len(load(target).book)
    assert stopped or "extract" in line


@pytest.mark.parametrize("line", LOOKING)
def test_a_stopped_look_says_so_and_changes_nothing(
    line: str, dialogue: BookDialogue, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(dialogue, files)
    opened(dialogue, files)
    before = everything(dialogue)
    stopper = Stopper(monkeypatch)
    for after in STOPS:
        stopper.after, stopper.stopped = after, False
        answer = dialogue.both(f"book {line.format(**files)}")[0]
        assert not stopper.stopped or "...stopped" in answer
    assert everything(dialogue) == before


def test_every_long_command_is_tested_here() -> None:
    tried = {line.split()[0] for line in (*GROWING, *REPLACING, *WRITING, *LOOKING)}
    # Their stops are tried where they are; what is undone once is not undone again.
    tried |= {"verify", "self-play", "unedit", "reopen", "undo", "uncount"}
    assert {command.name for command in BOOK_COMMANDS if command.long} <= tried


def test_a_negamax_that_takes_too_long_is_due_and_done_by_the_next_command(
    dialogue: BookDialogue, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = everything(dialogue)
    monkeypatch.setattr("desdaemon.book.book.SETTLE_S", -1.0)
    elsewhere = BookJob(0, "book.negamax", "another's", lambda job: {})
    stopper = Stopper(monkeypatch)
    stopper.after = 1
    elsewhere.report("order", 1, 2, 0)
    answer = dialogue.lines("book negamax")
    assert answer == ["Book negamax...stopped", DUE]
    assert DUE in dialogue.lines("book show")
    assert dialogue.book.stale
    # Neither is the file said to be up to date.
    dialogue.reopen(Path(files["native"]))
    assert not dialogue.book.stale
    assert everything(dialogue) == whole
    stopper.after = 1
    dialogue.say("book negamax")
    assert DUE not in dialogue.lines("book info")
    assert not dialogue.book.stale
    assert DUE not in dialogue.lines("book show")
    assert everything(dialogue) == whole


@pytest.mark.parametrize(
    "line", ["deviate 2 6", "merge {other}", "prune", "subtree", "cut 3", "reduce 6 1 2", "delete f5"]
)
def test_looking_at_what_changed_or_at_everything_comes_to_the_same(
    line: str, dialogue: BookDialogue, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And removing in place or into a new table."""
    kept(dialogue, files)
    found = []
    for in_place, whole in ((1 << 17, 1), (0, 10**9)):
        monkeypatch.setattr(book, "_IN_PLACE", in_place)
        monkeypatch.setattr(book, "_WHOLE", whole)
        opened(dialogue, files)
        dialogue.say("book negamax")
        dialogue.both(f"book {line.format(**files)}")
        found.append(everything(dialogue))
        assert verify(dialogue.book).clean
        dialogue.say("book enumerate 1")
        dialogue.say(f"book load {files['native']}")
        found.append(everything(dialogue))
    assert all(each == found[0] for each in found)
