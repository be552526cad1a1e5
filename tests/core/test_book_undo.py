"""Commands taken back, copies of a book in use, and files that are whole once they are closed."""

import gc
import mmap
import random
import shutil
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import referee
import waits
from book_dialogue import BookDialogue
from toys import contents, copied

from desdaemon.book.book import Book
from desdaemon.book.check import verify
from desdaemon.book.formats import registry
from desdaemon.book.formats.registry import load
from desdaemon.book.options import BookOptions
from desdaemon.book.record import START
from desdaemon.book.storage import earlier, snapshot, store
from desdaemon.book.storage.store import REMOVING, open_store
from desdaemon.core.books.running import run_command
from desdaemon.core.books.service import Caller
from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.commands.book import caller_of
from desdaemon.protocol.commands.book import BOOK_COMMANDS, BY_NAME, complete, parse_line, written_line
from desdaemon.protocol.rows import EDITOR

COMMANDS = (
    "add {games}",
    "merge {other}",
    "edit f5 9",
    "prune",
    "subtree",
    "cut 3",
    "reduce 6 1 2",
    "delete f5",
    "rule egaroucid",
    "uncount whole.txt",
    "unedit",
    "adjust black",
    "verify --repair",
    "store",
    "self-play 2 1",
    "answer {games} --level 1 --plies 2",
    "deviate 2 8",
    "enhance 5 5",
    "fill 2",
    "play",
    "extend",
    "deepen 2",
    "correct",
    "learn 7 4 6 4 1",
    "recalculate-leaves 7 9 9 2",
    "schedule {steps}",
    "fix",
    "negamax",
    "depth 9",
    "level 3",
    "verbose 1",
)

BEFORE = {
    "subtree": ["play f5"],
    "uncount": ["book add {whole}", "book save {native}"],
    "unedit": ["book edit f5 9", "book save {native}"],
    "adjust": ["play {line}", "book add {whole}", "book save {native}"],
    "store": ["play {line}"],
    "fill": ["book delete f5", "book fix", "book save {native}"],
    "fix": ["book add {games} --unsearched", "book save {native}"],
}
"""What is done before a command that needs something to remove."""

State = tuple[list[tuple[int, ...]], dict[tuple[int, int], tuple[float, ...]], list[bytes], BookOptions]


def state(book: Book) -> State:
    """All that a book holds: its positions, their results, the games that were counted, its options."""
    table = book.table
    results = {entry[:2]: table.results(table.find(*entry[:2])) for entry in contents(book)}
    return contents(book), results, sorted(game.tobytes() for game in book.games), book.options


LINE = "".join(referee.name(move).lower() for move in referee.random_moves(3, 60))


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a grown book of our own, another one, and games."""
    folder = tmp_path_factory.mktemp("grown")
    (folder / "games.txt").write_text(f"{LINE[:24]}\nf5d6c3d3c4\n", encoding="utf-8")
    (folder / "steps.txt").write_text("learn 7 3 5 3 1\nlearn 8 1 1 1 1\n", encoding="utf-8")
    for seed, name in ((5, "native"), (6, "other")):
        lines = ("".join(map(referee.name, referee.random_moves(100 * seed + k, 4 + k % 5))) for k in range(40))
        (folder / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / "whole.txt").write_text(f"{LINE}\n", encoding="utf-8")
    dialogue = BookDialogue()
    for level, name in ((2, "other"), (1, "native")):
        dialogue.say(f"book new {level} 7")
        dialogue.say(f"book add {folder / f'{name}.txt'}")
        dialogue.say(f"book save {folder / f'{name}.book'}")
    dialogue.close()
    return folder


@pytest.fixture
def files(tmp_path: Path, grown: Path, dialogue: BookDialogue) -> dict[str, str]:
    """Copies of them in a folder of the test's own; the native book is in use."""
    shutil.copytree(grown, tmp_path, dirs_exist_ok=True)
    dialogue.say(f"book load {tmp_path / 'native.book'}")
    names = ("native.book", "other.book", "games.txt", "whole.txt", "steps.txt")
    return {"line": LINE[:12], **{name.split(".")[0]: str(tmp_path / name) for name in names}}


IDLE = {"correct", "negamax"}
"""Commands that change nothing in these books."""


def spoiled(book: Book) -> None:
    """Give the initial position a leaf that verify finds wrong."""
    entry = book.entry(*START)
    assert entry is not None
    book.put(entry._replace(leaf_move=0))


@pytest.mark.parametrize(
    "kind",
    [
        "native",
        pytest.param("dat", marks=pytest.mark.needs("book.edax")),
        pytest.param("egbk3", marks=pytest.mark.needs("book.egaroucid")),
        "unsaved",
    ],
)
@pytest.mark.parametrize("line", [line for line in COMMANDS if line.split()[0] in BY_NAME])
def test_a_command_is_taken_back(line: str, kind: str, dialogue: BookDialogue, files: dict[str, str]) -> None:
    name, line = line.split()[0], line.format(**files)
    for needed in BEFORE.get(name, ()):
        dialogue.say(needed.format(**files))
    if name == "verify":
        spoiled(dialogue.book)
    if kind != "native":
        book = copied(dialogue.book)
        path = Path(files["native"]).with_name(f"copy.{kind}") if kind != "unsaved" else None
        dialogue.books.use(registry.Opened(book, None, kind, []), path)
    before = state(dialogue.book)
    dialogue.say(f"book {line}")
    changed = state(dialogue.book) != before
    assert changed or name in IDLE
    if not changed:
        return
    told = dialogue.say("book undo")
    positions = len(before[0])
    expected = f"book {line} is taken back: {positions} positions; nothing before it, since the book was saved"
    assert told.splitlines()[0] == expected
    assert state(dialogue.book) == before
    assert verify(dialogue.book).clean is (name != "verify")
    assert "nothing to take back" in dialogue.refused("book undo")
    if kind == "native":
        dialogue.reopen(Path(files["native"]))
        assert state(dialogue.book) == before
    else:
        assert not dialogue.books.unsaved


def test_every_command_that_changes_the_book_is_taken_back() -> None:
    others = {"save", "reopen", "undo", "new", "load", "import", "salvage", "enumerate"}
    changing = {command.name for command in BOOK_COMMANDS if command.writes}
    assert {line.split()[0] for line in COMMANDS} & set(BY_NAME) == changing - others


def without_journal(dialogue: BookDialogue, files: dict[str, str]) -> None:
    """Use the book as a file of Edax."""
    path = f"{files['native']}.dat"
    dialogue.say(f"book save {path}")
    dialogue.say(f"book load {path}")


@pytest.mark.parametrize("native", [True, pytest.param(False, marks=pytest.mark.needs("book.edax"))])
def test_commands_are_taken_back_one_after_another(native: bool, dialogue: BookDialogue, files: dict[str, str]) -> None:
    if not native:
        without_journal(dialogue, files)
    states = [state(dialogue.book)]
    for line in ("book cut 5", "play f5", "book delete", "init", f"play {files['line']}", "book store", "init"):
        dialogue.say(line)
        if line.startswith("book"):
            states.append(state(dialogue.book))
    for line, rest in (("store", "delete; cut 5"), ("delete", "cut 5"), ("cut 5", "")):
        states.pop()
        told = dialogue.say("book undo")
        assert f"book {line} is taken back" in told
        assert (f"before it: {rest}\n" if rest else "nothing before it") in told
        assert state(dialogue.book) == states[-1]


@pytest.mark.parametrize("native", [True, pytest.param(False, marks=pytest.mark.needs("book.edax"))])
def test_a_command_that_changed_nothing_is_not_taken_back(
    native: bool, dialogue: BookDialogue, files: dict[str, str]
) -> None:
    if not native:
        without_journal(dialogue, files)
    before = state(dialogue.book)
    dialogue.say("book edit f5 7")
    idle = ("add openings --played 90", "uncount nobody", "reduce 60 129 129", "fix", "negamax", "correct")
    for line in (*idle, "verify --repair", "delete a1", "unedit d6", "store", "negamax"):
        dialogue.both(f"book {line}")
    told = dialogue.say("book undo")
    assert "book edit f5 7 is taken back" in told
    assert "nothing before it" in told
    assert state(dialogue.book) == before


@pytest.mark.needs("book.reports")
@pytest.mark.parametrize("native", [True, pytest.param(False, marks=pytest.mark.needs("book.edax"))])
def test_scores_set_by_hand_are_still_known_after_an_undo(
    native: bool, dialogue: BookDialogue, files: dict[str, str]
) -> None:
    if not native:
        without_journal(dialogue, files)
    before = contents(dialogue.book)
    # The position of f5 had a score, that of d6 then goes: the last score that is still there is taken back.
    for line in ("book edit f5 7", "play f5", "book edit d6 3", "book delete d6", "book cut 4", "book undo"):
        dialogue.say(line)
    assert ", +" in dialogue.say("book edits") or ", -" in dialogue.say("book edits")
    dialogue.say("book unedit")
    assert dialogue.say("book edits").startswith("0 scores")
    dialogue.say("book undo")
    assert "edit f5 7 is taken back" in [dialogue.say("book undo") for _ in range(3)][-1]
    assert contents(dialogue.book) == before
    assert "no score was set by hand" in dialogue.refused("book unedit")


@pytest.mark.parametrize("native", [True, pytest.param(False, marks=pytest.mark.needs("book.edax"))])
def test_what_was_there_before_a_score_is_known_after_the_undo_of_an_unedit(
    native: bool, dialogue: BookDialogue, files: dict[str, str]
) -> None:
    if not native:
        without_journal(dialogue, files)
    before = contents(dialogue.book)
    states = [before]
    for line in ("edit f5 7", "edit f5 9", "edit d3 5"):
        dialogue.say(f"book {line}")
        states.append(contents(dialogue.book))
    for _ in range(2):
        dialogue.say("book unedit f5")
        dialogue.say("book undo")
        assert contents(dialogue.book) == states[-1]
    for state in reversed(states[:-1]):
        dialogue.say("book unedit")
        assert contents(dialogue.book) == state


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["book", pytest.param("dat", marks=pytest.mark.needs("book.edax")), "overlay"])
def test_what_was_done_by_hand_is_as_before_after_each_undo(
    kind: str, seed: int, dialogue: BookDialogue, files: dict[str, str]
) -> None:
    if kind == "dat":
        without_journal(dialogue, files)
    if kind == "overlay":
        dialogue.say(f"book load {files['native']} --overlay {files['native']}.over")
    dice, states = random.Random(seed), [(state(dialogue.book), dialogue.book.by_hand)]
    for line in ("whole", "games"):
        dialogue.say(f"book add {files[line]} --unsearched")
        states.append((state(dialogue.book), dialogue.book.by_hand))
    dialogue.say(f"play {files['line']}")
    moves = [move for move, _ in dialogue.book.table.links(*caller_of(dialogue.session).position) if move < 64]
    for _ in range(40):
        edit = f"edit {referee.name(dice.choice(moves))} {dice.randrange(-64, 65)}"
        lines = (edit, "unedit", "adjust black", "uncount whole.txt", "store", "undo", "undo")
        line = dice.choice(lines)
        told, _ = dialogue.both(f"book {line}")
        now = state(dialogue.book), dialogue.book.by_hand
        if line == "undo" and "is taken back" in told:
            states.pop()
            assert now == states[-1]
        elif now[0] != states[-1][0]:
            states.append(now)
        else:
            assert now == states[-1], line
    while len(states) > 1:
        assert "is taken back" in dialogue.say("book undo")
        states.pop()
        assert (state(dialogue.book), dialogue.book.by_hand) == states[-1]


@pytest.mark.needs("book.growth")
def test_searches_that_added_nothing_are_nothing_to_take_back(dialogue: BookDialogue, files: dict[str, str]) -> None:
    before = state(dialogue.book)
    answer = f"book answer {files['whole']} --level 1 --plies 2"
    dialogue.say(answer)
    after = state(dialogue.book)
    dialogue.book.replies.clear()
    assert "0 positions added" in dialogue.say(answer)
    assert state(dialogue.book) == after
    dialogue.say("book undo")
    assert state(dialogue.book) == before


@pytest.mark.needs("book.edax")
def test_a_large_book_without_a_journal_is_not_copied(
    dialogue: BookDialogue, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(earlier, "MOST_KEPT", 1 << 10)
    without_journal(dialogue, files)
    dialogue.say("book cut 3")
    assert "book save FILE" in dialogue.refused("book undo")


def test_undo_says_whose_command_it_was(dialogue: BookDialogue, files: dict[str, str]) -> None:
    settings = dialogue.session.settings
    job = run_command(
        dialogue.books, BY_NAME["cut"], complete(BY_NAME["cut"], {"depth": 4}), Caller("laptop/1", settings)
    )
    assert job.wait(600)
    dialogue.say("book delete f5")
    told = dialogue.say("book undo")
    assert "book delete f5 is taken back" in told
    assert "before it: cut 4 (of laptop)" in told
    assert "book cut 4 (of laptop) is taken back" in dialogue.say("book undo")


def test_an_editor_takes_back_only_own_commands(dialogue: BookDialogue, files: dict[str, str]) -> None:
    before = state(dialogue.book)
    laptop, desk = (Caller(f"{name}/1", dialogue.session.settings, role=EDITOR) for name in ("laptop", "desk"))

    def told(caller: Caller, line: str) -> str:
        job = run_command(dialogue.books, *parse_line(line), caller)
        assert job.wait(600)
        return job.error if job.failure else "".join(job.result["text"])

    for line in (files["native"], files["other"]):
        told(Caller("", dialogue.session.settings), f'load "{line}"')
        before = state(dialogue.book)
        told(laptop, "cut 4")
        changed = state(dialogue.book)
        refusal = told(desk, "undo")
        assert "the last command is book cut 4 (of laptop): who gave it takes it back, or an admin" in refusal
        assert state(dialogue.book) == changed != before
        assert "book cut 4 is taken back" in told(laptop, "undo")
        assert state(dialogue.book) == before


@pytest.mark.parametrize("checked", [0, 1 << 40])
def test_a_book_that_was_cut_keeps_no_file_mapped(
    checked: int, dialogue: BookDialogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "CHECKED_AT_OPEN", checked)
    monkeypatch.setattr(snapshot, "INDEXED_FROM", 1)
    monkeypatch.setattr("desdaemon.book.book._IN_PLACE", 0)
    dialogue.say("book enumerate 5")
    dialogue.say(f"book save {tmp_path / 'b.book'}")
    dialogue.say("book enumerate 1")
    mapped: list[weakref.ref[mmap.mmap]] = []

    def mapping(*given: Any, **named: Any) -> mmap.mmap:
        made = mmap.mmap(*given, **named)
        mapped.append(weakref.ref(made))
        return made

    with monkeypatch.context() as patched:
        patched.setattr(snapshot, "mmap", SimpleNamespace(mmap=mapping, ACCESS_COPY=mmap.ACCESS_COPY))
        dialogue.say(f"book load {tmp_path / 'b.book'}")
    (kept,) = mapped
    assert kept() is not None
    dialogue.say("book cut 2")
    waits.until(lambda: gc.collect() >= 0 and kept() is None)


@pytest.mark.needs("book.growth")
def test_a_job_that_two_processes_carried_out_is_one_command(dialogue: BookDialogue, files: dict[str, str]) -> None:
    command, before = BY_NAME["deviate"], state(dialogue.book)
    values = complete(command, {"relative": 2, "absolute": 8})
    data = {"started": 1.5, "first": len(dialogue.book), "effort": (0.0, 0, 0, 0)}
    for depth in (7, 8):
        dialogue.book.options = dialogue.book.options.at_depth(depth)
        size = len(dialogue.book)
        job = run_command(dialogue.books, command, values, Caller("laptop", SessionSettings()), (7, data))
        assert job.wait(600)
        assert len(dialogue.book) > size
    told = dialogue.say("book undo")
    assert "book deviate 2 8 (of laptop) is taken back" in told
    assert "nothing before it" in told
    assert state(dialogue.book) == before


def test_closing_makes_the_file_whole(dialogue: BookDialogue, files: dict[str, str], tmp_path: Path) -> None:
    path, copy = Path(files["native"]), tmp_path / "copy.book"
    dialogue.say(f"play {files['line']}")
    dialogue.say("book store")
    learnt = contents(dialogue.book)
    shutil.copy(path, copy)
    with open_store(copy) as store:
        (note,) = store.notes
        assert "is missing: it is in the journal that lay beside it, copy.book.journal" in note
        assert contents(store.book) != learnt
    dialogue.say("book enumerate 1")
    with open_store(shutil.move(path, tmp_path / "moved.book")) as store:
        assert contents(store.book) == learnt
        assert store.notes == []
    assert not path.with_name("native.book.1").exists()


def test_closing_after_something_was_removed_keeps_the_file_before(
    dialogue: BookDialogue, files: dict[str, str]
) -> None:
    before = contents(dialogue.book)
    dialogue.say("book cut 2")
    dialogue.say("book enumerate 1")
    assert contents(load(Path(files["native"] + ".1")).book) == before


def test_a_book_in_use_is_backed_up(dialogue: BookDialogue, files: dict[str, str], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    dialogue.say(f"play {files['line']}")
    dialogue.say("book store")
    learnt = contents(dialogue.book)
    assert f"{copy}: {len(learnt)} positions" in dialogue.say(f"book backup {copy}")
    assert dialogue.books.file == files["native"]
    dialogue.say(f"book backup {copy}")
    assert contents(load(copy).book) == learnt
    assert contents(load(tmp_path / "copy.1").book) == learnt
    assert "in use" in dialogue.refused(f"book backup {files['native']}")


@pytest.mark.parametrize("saved", [False, True])
def test_the_journal_copied_first_and_then_the_file_is_a_whole_copy(
    saved: bool, dialogue: BookDialogue, files: dict[str, str], tmp_path: Path
) -> None:
    path, copy = Path(files["native"]), tmp_path / "copy.book"
    dialogue.say(f"play {files['line']}")
    dialogue.say("book store")
    learnt = contents(dialogue.book)
    shutil.copy(f"{path}.journal", f"{copy}.journal")
    if saved:
        dialogue.say("book save")
    shutil.copy(path, copy)
    with open_store(copy) as store:
        assert contents(store.book) == learnt
        assert store.notes == []


@pytest.mark.needs("book.reports")
def test_a_command_is_written_as_it_was_given() -> None:
    lines = ["add a.wtb b --played 7 --unsearched", "edit f5 -3", "delete", "merge x.dat --keep-ours", 'load "a b" 7']
    for line in (
        *lines,
        "cut 6",
        "enumerate 3",
        "depth",
        "self-play 5 --positions 1",
        "deviate --nodes 9",
        "learn 9 1 1 1",
    ):
        assert written_line(*parse_line(line)) == line
    # What a client may leave out, and a line cannot.
    for name, values, line in (
        ("self-play", {"games": 2, "random": 3}, "self-play 2 --random 3"),
        ("enhance", {"endcut-error": 1}, "enhance --endcut-error 1"),
    ):
        command = BY_NAME[name]
        assert written_line(command, complete(command, values)) == line
        assert parse_line(line) == (command, complete(command, values))
    assert set(REMOVING) <= {command.name for command in BOOK_COMMANDS}
