"""Overlays: changes in a file of their own, over a book that is never changed."""

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from book_dialogue import BookDialogue
from checkout import SUPPORT
from test_book_undo import BEFORE, COMMANDS, LINE, State, state

from desdaemon.book.check import verify
from desdaemon.book.formats import registry
from desdaemon.book.formats.registry import load
from desdaemon.book.storage.store import open_store
from desdaemon.protocol.commands.book import BOOK_COMMANDS

pytestmark = pytest.mark.needs("book.growth")

LOOKS = (
    *("on", "off", "randomness 1", "show", "edits", "info", "stats", "analyze", "grade", "lines 2", "umigame 4"),
    *("check {games}", "problem 50", "feed-hash", "diff {other}", "save", "export {folder}/copy.dat"),
    *("extract {folder}/lines.txt", "backup {folder}/backup.book", "save {folder}/copy.egbk3", "undo", "reopen"),
    *("new 1 7", "enumerate 2", "load {other}", "import {other}", "salvage {base}", "merge {folder}/into.book --into"),
)
"""The commands that `COMMANDS` lacks."""


class Overlaid(BookDialogue):
    """A dialogue with a book in ``below``, and its overlay in another folder."""

    def __init__(self, folder: Path, kind: str = "book") -> None:
        super().__init__()
        self.folder, self.below = folder / "above", folder / "below"
        self.folder.mkdir()
        self.below.mkdir()
        self.base, self.overlay = self.below / f"base.{kind}", self.folder / "mine"
        for name, line in {
            "games": f"{LINE[:24]}\nf5d6c3d3c4\n",
            "steps": "learn 7 9 9 9 1\n",
            "whole": f"{LINE}\n",
        }.items():
            (self.folder / f"{name}.txt").write_text(line, encoding="utf-8")
        self.say("book new 2 7")
        self.say("book deviate 0 4")
        self.say(f"book save {self.folder / 'other.dat'}")
        self.say("book new 1 7 --discard")
        self.say("book deviate 1 3")
        self.say(f"book save {self.base}")
        self.say("book new 1 7 --discard")
        (self.below / "base.book.lock").unlink(missing_ok=True)
        (self.below / "base.book.journal").unlink(missing_ok=True)
        self.files = self.found()
        self.load()

    def found(self) -> dict[str, bytes]:
        """The files in the base's folder, with their content."""
        return {path.name: path.read_bytes() for path in self.below.iterdir()}

    def load(self) -> None:
        """Open the base with the overlay."""
        self.both(f"book load {self.base} --overlay {self.overlay}")

    def again(self) -> None:
        """Open the overlay by itself, as another process would."""
        self.say("book new 1 7")
        self.say(f"book load {self.overlay}")

    def named(self, line: str) -> str:
        """A line with the names of the files."""
        names = {name: str(self.folder / f"{name}.txt") for name in ("games", "steps", "whole")}
        names |= {"other": str(self.folder / "other.dat"), "base": str(self.base), "folder": str(self.folder)}
        return line.format(**names, native="", line=LINE[:8])


@pytest.mark.needs("book.umigame")
@pytest.mark.parametrize("kind", ["book", pytest.param("dat", marks=pytest.mark.slow)])
@pytest.mark.needs("book.reports")
def test_no_command_changes_the_base(kind: str, tmp_path: Path) -> None:
    dialogue = Overlaid(tmp_path, kind)
    lines = (*COMMANDS, *LOOKS)
    assert {command.name for command in BOOK_COMMANDS} == {line.split()[0] for line in lines}
    for line in lines:
        dialogue.say("book new 1 7 --discard")
        dialogue.say("new")
        dialogue.overlay.unlink()
        dialogue.load()
        for earlier in (*BEFORE.get(line.split()[0], ()), "book edit f5 9" if line in ("undo", "save") else "book off"):
            if not earlier.startswith("book save"):
                dialogue.say(dialogue.named(earlier))
        out, err = dialogue.both(dialogue.named(f"book {line}"))
        # The table of this dialogue is nobody's, and only books of our own are salvaged.
        assert not err or line == "feed-hash" or (kind, line) == ("dat", "salvage {base}"), (out, err)
        assert dialogue.found() == dialogue.files, line
    dialogue.close()
    assert dialogue.found() == dialogue.files


SAME = [
    line
    for line in COMMANDS
    if line.split()[0] not in ("self-play", "store", "merge", "schedule", "correct", "uncount")
]
"""Commands that do the same to two equal books."""


def plain(dialogue: Overlaid, lines: list[str]) -> State:
    """What the commands make of a copy of the base with a journal of its own."""
    other = BookDialogue()
    copy = dialogue.folder / "plain.book"
    shutil.copy(dialogue.base, copy)
    other.say(f"book load {copy}")
    for line in lines:
        other.both(dialogue.named(line))
    found = state(other.book)
    other.close()
    return found


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
@pytest.mark.needs("book.reports")
def test_an_overlay_is_as_the_merge_of_both(seed: int, tmp_path: Path) -> None:
    dialogue = Overlaid(tmp_path)
    rng = random.Random(seed)
    lines = []
    for line in rng.sample(SAME, 7):
        lines += [early for early in BEFORE.get(line.split()[0], ()) if not early.startswith("book save")]
        lines.append(f"book {line}")
    lines = [line for line in lines if "save" not in line]
    for line in lines:
        dialogue.both(dialogue.named(line))
    expected = plain(dialogue, lines)
    assert state(dialogue.book) == expected
    dialogue.again()
    assert state(dialogue.book) == expected
    dialogue.say("book save")
    assert state(dialogue.book) == expected
    dialogue.again()
    assert state(dialogue.book) == expected
    assert verify(dialogue.book).clean
    dialogue.say(f"book merge {dialogue.folder / 'into.book'} --into")
    assert state(load(dialogue.folder / "into.book").book) == expected
    assert dialogue.found() == dialogue.files
    dialogue.close()


def test_a_correction_above_changes_the_choice_at_the_root(tmp_path: Path) -> None:
    dialogue = Overlaid(tmp_path)
    dialogue.say("play f5")
    for move in ("d6", "f4", "f6"):
        dialogue.say(f"book edit {move} -20")
        dialogue.say(f"book edit {move} {40 if move == 'f4' else -20}")
    dialogue.say("book negamax")
    dialogue.again()
    dialogue.say("new")
    best = dialogue.book.moves_on(0x0000000810000000, 0x0000001008000000)
    assert best[0].score == -40
    dialogue.close()


def test_later_changes_of_the_base_show_through_the_overlay(tmp_path: Path) -> None:
    dialogue = Overlaid(tmp_path)
    dialogue.say("play f5")
    dialogue.say("book edit d6 33")
    dialogue.say("book delete f4")
    dialogue.say("book new 1 7")
    owner = BookDialogue()
    owner.say(f"book load {dialogue.base}")
    before = len(owner.book)
    owner.say(dialogue.named("book add {games}"))
    grown = len(owner.book)
    assert grown > before
    owner.say("play f5")
    assert "+33" not in owner.say("book show")
    text = dialogue.both(f"book load {dialogue.base} --overlay {dialogue.overlay}")[1]
    assert "base.book: has changed since mine was opened over it: what mine has stays" in text
    assert len(dialogue.book) == grown - 1
    assert "+33" in dialogue.say("book show")
    # While both have it open the owner goes on, and the other takes that when it wants.
    owner.say("book deviate 9 9")
    grown = len(owner.book)
    owner.close()
    assert "book reopen reads it again" in dialogue.say("book info")
    dialogue.both("book reopen")
    assert len(dialogue.book) > grown - 3
    assert "book reopen" not in dialogue.say("book info")
    dialogue.close()


def test_commands_over_a_base_are_undone(tmp_path: Path) -> None:
    dialogue = Overlaid(tmp_path)
    before = state(dialogue.book)
    dialogue.say("book edit f5 9")
    between = state(dialogue.book)
    dialogue.say("book prune")
    dialogue.say("book undo")
    assert state(dialogue.book) == between
    dialogue.again()
    dialogue.say("book undo")
    assert state(dialogue.book) == before
    assert "nothing to take back" in dialogue.refused("book undo")
    dialogue.close()


def test_the_option_opens_the_base_with_its_overlay(tmp_path: Path) -> None:
    dialogue = BookDialogue()
    dialogue.session.settings.book_overlay = str(tmp_path / "mine")
    dialogue.session.settings.book_file = "builtin"
    dialogue.text.open_book()
    assert dialogue.books.ready() is not None
    dialogue.say("book edit f5 9")
    known = len(dialogue.book)
    assert dialogue.books.lasting
    dialogue.session.settings.book_overlay = ""
    dialogue.reopen(tmp_path / "mine")
    assert len(dialogue.book) == known
    assert "+9" in dialogue.say("book show")
    dialogue.close()


@pytest.mark.needs("book.reports")
def test_a_wrong_overlay_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    dialogue = Overlaid(tmp_path)
    text = dialogue.folder / "games.txt"
    before = text.read_bytes()
    assert "games.txt" in dialogue.refused(f"book load {dialogue.base} --overlay {text}")
    assert text.read_bytes() == before
    own = dialogue.folder / "own.book"
    shutil.copy(dialogue.base, own)
    open_store(own).close()
    journal = own.with_name("own.book.journal")
    assert "not an overlay" in dialogue.refused(f"book load {own} --overlay {journal}")
    assert "an overlay itself" in dialogue.refused(f"book load {dialogue.overlay} --overlay {dialogue.folder / 'two'}")
    assert not (dialogue.folder / "two").exists()
    assert "is a file of the book in use" in dialogue.refused(f"book export {dialogue.base}")
    assert "is a file of the book in use" in dialogue.refused(f"book merge {dialogue.base} --into")
    assert "is a file of the book in use" in dialogue.refused(f"book backup {dialogue.overlay}")
    dialogue.say(f"book load {own}")
    assert "is no overlay" in dialogue.refused("book merge copy.book --into")
    assert dialogue.found() == dialogue.files
    dialogue.close()


def test_an_overlay_that_another_holds_is_read(tmp_path: Path) -> None:
    dialogue = Overlaid(tmp_path)
    dialogue.say("book edit f5 9")
    other = BookDialogue()
    assert "opened for reading" in other.both(f"book load {dialogue.overlay}")[1]
    assert state(other.book) == state(dialogue.book)
    assert "opened for reading" in other.refused("book edit f5 7")
    other.close()
    dialogue.close()


GROWER = """
import sys, time
sys.path.insert(0, sys.argv[2])
import checkout
from pathlib import Path
from desdaemon.book.formats.registry import open_any
from desdaemon.book.growth.grow import deviate
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.record import START
from toys import toy

def slow(*question):
    time.sleep(0.002)
    return toy(*question)

def on_progress(report):
    store.commit()
    print(report.positions, flush=True)
    return True

store = open_any(Path(sys.argv[1])).store
print("open", flush=True)
deviate(store.book, START, Worker(slow, threads=2, on_progress=on_progress), 5, 12)
store.save()
store.close()
print("done", flush=True)
"""


def grow(path: Path, reports: int | None) -> tuple[bool, int]:
    """Grow the overlay in a process; after ``reports`` reports of progress kill it. Returns whether it was done, and
    the positions that it told last."""
    command = [sys.executable, "-c", GROWER, str(path), str(SUPPORT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip()]
        assert lines == ["open"]
        while lines[-1] != "done" and (reports is None or len(lines) <= reports):
            lines.append(process.stdout.readline().strip())
        if lines[-1] != "done":
            time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
        process.stdout.read()
    told = [int(line) for line in lines if line.isdigit()]
    return lines[-1] == "done", max(told, default=0)


@pytest.mark.posix
@pytest.mark.slow
@pytest.mark.compiled
def test_ten_kills_leave_the_same_bytes(tmp_path: Path) -> None:
    dialogue = Overlaid(tmp_path)
    dialogue.say("book depth 9")
    dialogue.say("book new 1 7")
    whole = dialogue.folder / "whole-run"
    shutil.copy(dialogue.overlay, whole)
    assert grow(whole, None)[0]
    for kill in range(10):
        done, told = grow(dialogue.overlay, 2 + 3 * kill)
        assert not done, kill
        opened = registry.open_any(dialogue.overlay)
        assert verify(opened.book).clean
        assert len(opened.book) >= told
        assert opened.store is not None
        opened.store.close()
    assert grow(dialogue.overlay, None)[0]
    assert dialogue.overlay.read_bytes() == whole.read_bytes()
    assert dialogue.found() == dialogue.files
    dialogue.close()


@pytest.mark.parametrize("command", ["reopen", "undo"])
def test_no_change_is_lost_where_the_base_is_gone(command: str, tmp_path: Path) -> None:
    dialogue = Overlaid(tmp_path)
    dialogue.say("book edit f5 2")
    dialogue.say("book edit f5 9")
    aside = dialogue.base.rename(tmp_path / "aside")
    before = state(dialogue.book)
    assert dialogue.refused(f"book {command}")
    dialogue.both("book edit f5 33")
    written = state(dialogue.book)
    assert (written == before) is (command == "reopen")
    aside.rename(dialogue.base)
    if command == "reopen":
        assert f"{dialogue.overlay}: opened for reading only: it is closed" in dialogue.refused("book edit f5 33")
        dialogue.say("book reopen")
        assert state(dialogue.book) == before
        dialogue.say("book edit f5 33")
        written = state(dialogue.book)
    dialogue.again()
    assert state(dialogue.book) == written
    assert "edit f5 33 is taken back" in dialogue.say("book undo")
    assert state(dialogue.book) == before
    dialogue.close()
