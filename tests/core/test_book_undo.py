"""Commands taken back, copies of a book in use, and files that are whole once they are closed."""

import shutil
from pathlib import Path

import pytest
import referee
from book_dialogue import BookDialogue
from toys import contents

from desdaemon.book.book import Book
from desdaemon.book.formats.registry import load
from desdaemon.book.options import BookOptions
from desdaemon.book.record import START
from desdaemon.book.reports.check import verify
from desdaemon.book.storage.store import UNDOABLE, open_store
from desdaemon.protocol.commands.book import BOOK_COMMANDS, parse_line, written_line

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
)

BEFORE = {
    "subtree": ["play f5"],
    "uncount": ["book add {whole}", "book save {native}"],
    "unedit": ["book edit f5 9", "book save {native}"],
    "adjust": ["play {line}", "book add {whole}", "book save {native}"],
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
    (folder / "whole.txt").write_text(f"{LINE}\n", encoding="utf-8")
    dialogue = BookDialogue()
    dialogue.say("book new 2 7")
    dialogue.say("book deviate 0 4")
    dialogue.say(f"book save {folder / 'other.dat'}")
    dialogue.say("book new 1 7")
    dialogue.say("book deviate 1 3")
    dialogue.say(f"book save {folder / 'native.book'}")
    dialogue.close()
    return folder


@pytest.fixture
def files(tmp_path: Path, grown: Path, dialogue: BookDialogue) -> dict[str, str]:
    """Copies of them in a folder of the test's own; the native book is in use."""
    shutil.copytree(grown, tmp_path, dirs_exist_ok=True)
    dialogue.say(f"book load {tmp_path / 'native.book'}")
    names = ("native.book", "other.dat", "games.txt", "whole.txt")
    return {"line": LINE[:8], **{name.split(".")[0]: str(tmp_path / name) for name in names}}


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_taken_back(line: str, dialogue: BookDialogue, files: dict[str, str]) -> None:
    name, line = line.split()[0], line.format(**files)
    for earlier in BEFORE.get(name, ()):
        dialogue.say(earlier.format(**files))
    if name == "verify":
        dialogue.book.put(dialogue.book.entry(*START)._replace(leaf_move=0))
    before = state(dialogue.book)
    dialogue.say(f"book {line}")
    assert state(dialogue.book) != before
    told = dialogue.say("book undo")
    positions = len(before[0])
    assert told == f"book {line} is taken back: {positions} positions; nothing before it, since the book was saved\n"
    assert state(dialogue.book) == before
    assert verify(dialogue.book).clean is (name != "verify")
    assert "nothing was removed or written over" in dialogue.refused("book undo")
    dialogue.reopen(Path(files["native"]))
    assert state(dialogue.book) == before


def test_every_command_that_is_taken_back_is_tried() -> None:
    assert {line.split()[0] for line in COMMANDS} == set(UNDOABLE)


def test_what_was_learnt_since_stays(dialogue: BookDialogue, files: dict[str, str]) -> None:
    whole = {entry[:2] for entry in contents(dialogue.book)}
    dialogue.say("book cut 4")
    dialogue.say("play f5d6")
    dialogue.say("book delete")
    dialogue.say("init")
    dialogue.say("play f5f4g3")
    dialogue.say("book store")
    dialogue.say("init")
    learnt = {entry[:2] for entry in contents(dialogue.book)}
    assert learnt - whole
    assert "book delete is taken back" in (told := dialogue.say("book undo"))
    assert "before it: cut 4" in told
    assert "book cut 4 is taken back" in dialogue.say("book undo")
    assert {entry[:2] for entry in contents(dialogue.book)} == whole | learnt
    dialogue.say("book fix")
    assert verify(dialogue.book).clean


def test_a_book_without_a_journal_has_no_undo(dialogue: BookDialogue) -> None:
    dialogue.say("book new 1 6")
    dialogue.say("book cut 3")
    assert "book save FILE gives it one" in dialogue.refused("book undo")


def test_closing_makes_the_file_whole(dialogue: BookDialogue, files: dict[str, str], tmp_path: Path) -> None:
    path, copy = Path(files["native"]), tmp_path / "copy.book"
    dialogue.say("book deviate 2 6")
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


def test_a_backup_of_a_book_in_use(dialogue: BookDialogue, files: dict[str, str], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    dialogue.say("book deviate 2 6")
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
    dialogue.say("book deviate 2 4")
    learnt = contents(dialogue.book)
    shutil.copy(f"{path}.journal", f"{copy}.journal")
    if saved:
        dialogue.say("book save")
    shutil.copy(path, copy)
    with open_store(copy) as store:
        assert contents(store.book) == learnt
        assert store.notes == []


def test_a_command_is_written_as_it_was_given() -> None:
    lines = ["add a.wtb b --played 7 --unsearched", "edit f5 -3", "delete", "merge x.dat --keep-ours", 'load "a b" 7']
    for line in (*lines, "deviate 2 6", "deviate 3", "lines 0 7"):
        assert written_line(*parse_line(line)) == line
    assert set(UNDOABLE) <= {command.name for command in BOOK_COMMANDS}
