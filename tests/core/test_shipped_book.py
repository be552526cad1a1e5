"""The book that ships: `builtin` as the name of a book to be read, and what is in the file."""

import random
from pathlib import Path

import pytest
from book_dialogue import BookDialogue
from live import converse
from served import Peer, serving
from toys import game_positions, small_book, toy
from waits import until

from desdaemon.api import Board, Engine
from desdaemon.book.book import Book
from desdaemon.book.check import verify
from desdaemon.book.choose import MoveChoice, choose
from desdaemon.book.editing.add import add_positions
from desdaemon.book.editing.engine_evaluator import Searches
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.formats import registry
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import parse_moves
from desdaemon.protocol.othello.openings import openings

SHIPPED = registry.SHIPPED
REFUSED = "builtin: opened for reading only: built in: book save FILE makes a copy that can be changed"
MISSING = "builtin: this installation has no book of its own"
LARGEST = 3_000_000
LEAST_POSITIONS = 50_000
LEAST_LEVEL = 18


def grown() -> Book:
    """A book of a short game."""
    book = small_book()
    add_positions(book, game_positions(book, parse_moves("f5d6c3d3c4")), Worker(toy))
    return book


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small book in the place of the one that ships."""
    path = tmp_path / "installed" / "starter.txt.xz"
    path.parent.mkdir()
    registry.save(path, grown())
    monkeypatch.setattr(registry, "SHIPPED", path)
    return path


def opened(dialogue: BookDialogue, name: str = "builtin") -> str:
    """Opens a book as the option `book-file` does; the complaints."""
    _, complaints = dialogue.both(f"book-file {name}")
    dialogue.books.ready()
    return complaints


@pytest.mark.needs("book.growth")
def test_it_is_read_and_never_changed(dialogue: BookDialogue, shipped: Path) -> None:
    before = shipped.read_bytes()
    assert opened(dialogue) == ""
    assert dialogue.lines("book info")[0] == "Book builtin"
    assert "no errors" in dialogue.say("book verify")
    count = len(dialogue.book)
    assert count == len(grown())
    dialogue.say("book load builtin")
    for line in ("book edit f5 3", "book deviate 9 30", "book delete f5", "book level 3", "book prune"):
        _, complaint = dialogue.both(line)
        assert complaint.startswith(f"WARNING: {REFUSED}"), line
        assert complaint.count("\n") == 1
    for line in ("book save", "book reopen"):
        assert f"builtin is {REFUSED.removeprefix('builtin: ')}" in dialogue.refused(line)
    assert len(dialogue.book) == count
    assert dialogue.say("hint 1").startswith("book ")
    assert dialogue.books.close() == []
    assert shipped.read_bytes() == before
    assert sorted(shipped.parent.iterdir()) == [shipped]


@pytest.mark.parametrize("name", ["mine.book", "mine.dat"])
@pytest.mark.needs("book.reports")
def test_a_copy_of_it_takes_changes(dialogue: BookDialogue, shipped: Path, tmp_path: Path, name: str) -> None:
    opened(dialogue)
    dialogue.say(f"book save {tmp_path / name}")
    assert "F5 is worth +3 now" in dialogue.say("book edit f5 3")
    dialogue.both("book save")
    assert dialogue.lines("book info")[0] == f"Book {tmp_path / name}"
    assert "in both: " in dialogue.say("book diff builtin")
    assert "0 positions added" in dialogue.say("book merge builtin")


def test_where_none_ships_one_line_says_so(
    dialogue: BookDialogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "SHIPPED", tmp_path / "none.txt.xz")
    for line in ("book load builtin", "book import builtin"):
        _, complaint = dialogue.both(line)
        assert complaint == f"WARNING: {MISSING}\n"
    complaints: list[str] = []
    monkeypatch.setattr(dialogue.text, "warn", complaints.append)
    dialogue.both("book-file builtin")
    dialogue.books.ready()
    assert complaints == [f"book-file = {MISSING}"]
    with pytest.raises(BadInput, match="no book of its own"):
        Engine(threads=1, hash_bits=12, book="builtin")


def test_a_file_of_that_name_is_given_with_its_folder(
    dialogue: BookDialogue, shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dialogue.say("book new 1 3")
    dialogue.say("book save builtin")
    dialogue.say("book load builtin")
    assert len(dialogue.book) == len(grown())
    dialogue.say("book load ./builtin")
    assert len(dialogue.book) == 1


def test_it_can_be_imported_and_looked_up_in_python(dialogue: BookDialogue, shipped: Path) -> None:
    assert "importing book from builtin... " in dialogue.say("book import builtin")
    assert "F5 is worth +3 now" in dialogue.say("book edit f5 3")
    with Engine(threads=1, hash_bits=12, book="builtin") as engine:
        assert engine.look_up(Board()) is not None


def plays_from_it(protocol: str, line: str) -> None:
    """Whether or not one ships: where none does, the program says so and goes on."""
    done = converse(f"{line}\nquit\n".encode(), protocol, "-level", "1", "-book-file", "builtin")
    assert done.returncode == 0
    assert (MISSING.encode() in done.stdout + done.stderr) is not SHIPPED.exists()


def test_the_command_line_takes_its_name() -> None:
    plays_from_it("-q", "go")


def test_a_server_opens_the_shipped_book_for_reading(tmp_path: Path) -> None:
    with serving(tmp_path, "-book-file", "builtin") as served, Peer(served.ipc) as peer:
        until(lambda: peer.final("status")["book"]["state"] != "opening")
        status = peer.final("status")["book"]
        if not SHIPPED.exists():
            assert (status["state"], status["reason"]) == ("failed", MISSING)
            return
        assert (status["state"], status["path"], status["writable"]) == ("open", "builtin", False)
        assert "built in" in status["reason"]
        assert peer.final("book.get", {"moves": "f5"})["found"]


# ------------------------------------------------------------------------------------------------- what is in the file


@pytest.fixture(scope="module")
def book() -> Book:
    """The book that ships."""
    return registry.load(SHIPPED).book


def test_it_is_small_and_has_what_it_says(book: Book) -> None:
    assert SHIPPED.stat().st_size < LARGEST
    assert len(book) >= LEAST_POSITIONS
    assert book.options.level >= LEAST_LEVEL


def test_every_rule_holds_and_no_leaf_is_missing(book: Book) -> None:
    found = verify(book)
    assert found.clean
    assert not len(book.faults())
    book.forget_state()
    assert book.negamax() == 0


def test_every_position_was_searched_at_the_level(book: Book) -> None:
    levels = [chunk["leaf_level"][chunk["leaf_score"] >= -64].min() for chunk in book.table.chunks()]
    assert min(levels) >= LEAST_LEVEL
    assert not book.table.keeps_results


def test_the_named_openings_are_in_it(book: Book) -> None:
    for opening in openings():
        for position in game_positions(book, opening.moves):
            assert book.entry(*position) is not None, opening.names


def test_it_stays_in_games_against_the_level_that_it_answers(book: Book) -> None:
    searches, dice = Searches(), random.Random(1)
    position = game_positions(book, parse_moves("f5d6c3d3c4f4"))[-1]
    for ply in range(6, 22):
        # The other side's search sees the canonical board.
        position = book.table.canonical(*position)[:2]
        chosen = choose(book, *position, MoveChoice(), dice) if ply % 2 == 0 else searches(*position, 10, 0)
        assert chosen is not None, ply
        position = book.table.play(*position, chosen[0])
