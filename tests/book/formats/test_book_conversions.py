"""What is said of every conversion, and that the program calls none of its own files unclean."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import referee
from book_dialogue import BookDialogue
from toys import contents, game_positions, set_results, small_book, spread, toy

from desdaemon.book.book import Book
from desdaemon.book.check import verify
from desdaemon.book.editing.add import add_positions
from desdaemon.book.editing.by_hand import edit
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.formats import registry
from desdaemon.book.options import Rule
from desdaemon.book.record import START

NAMES = ("b.dat", "b.egbk3", "b.txt", "b.book")


def varied(seed: int) -> Book:
    """A book with passes, finished games, leaves of other levels than their positions', results and a score by hand."""
    dice = random.Random(seed)
    book = small_book(depth=6, level=dice.choice([2, 8, 25]))
    spread(book, dice.randrange(5))
    book.options = book.options.at_depth(61)
    for number in range(2):
        add_positions(book, game_positions(book, referee.random_moves(seed + number, 60)), Worker(toy))
    for entry in contents(book)[::7]:
        changed = book.entry(*entry[:2])
        if changed.has_leaf:
            book.put(changed._replace(leaf_level=dice.choice([1, 12, 30])))
    set_results(book, book.table.find(*START), (3, 1, 4))
    edit(book, *START, 19, dice.randrange(-8, 8))
    book.negamax()
    return book


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("first", NAMES)
@pytest.mark.parametrize("second", NAMES)
def test_no_own_file_is_called_unclean(seed: int, first: str, second: str, tmp_path: Path) -> None:
    book = varied(seed)
    assert verify(book).clean
    for step, name in enumerate((first, second)):
        path = tmp_path / f"{step}{name}"
        registry.save(path, book)
        book = registry.load(path).book
        before = contents(book)
        verdict = verify(book)
        assert verdict.problems == []
        assert contents(book) == before
    book.negamax()
    assert verify(book)[1:] == ([], verify(book).open, 0)


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
@pytest.mark.needs("book.growth")
def test_every_conversion_says_what_it_loses(dialogue: BookDialogue, tmp_path: Path) -> None:
    said = {
        "b.dat": ("leaves that are not their position's", "set by hand (1)", "results of games"),
        "b.egbk3": ("bounds", "level, depth and errors", "results of games", "that leaves count in scores (rule edax)"),
        "b.txt": ("bounds", "level, depth and errors", "set by hand (1)", "results of games"),
        "b.book": (),
    }
    dialogue.say("book new 3 8")
    dialogue.say("book deviate 2 6")
    dialogue.say("book edit f5 4")
    book = dialogue.book
    set_results(book, book.table.find(*START), (1, 0, 0))
    entry = next(entry for entry in contents(book) if entry.has_leaf)
    book.put(entry._replace(leaf_level=1))
    for name, parts in said.items():
        path = tmp_path / name
        for command in ("export", "save") if name != "b.book" else ("save",):
            lines = dialogue.lines(f"book {command} {path}")
            assert len(lines) == (2 if parts else 1)
            for part in parts:
                assert part in lines[0]
                assert lines[0].startswith(f"{path}: not kept: ")


def test_an_export_is_in_the_format_of_its_name(dialogue: BookDialogue, tmp_path: Path) -> None:
    """``.book`` is our own; a name that tells nothing is Edax's text, as in Edax."""
    dialogue.say("book new 3 8")
    for name, expected in (("a.book", "own"), ("B.BOOK", "own"), ("a.txt", "text"), ("book", "text")):
        dialogue.say(f"book export {tmp_path / name}")
        own = registry.format_by_content(tmp_path / name) == registry.NATIVE
        assert own == (expected == "own"), name


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
@pytest.mark.needs("book.growth")
def test_what_a_file_does_not_say_is_told_when_it_is_read(dialogue: BookDialogue, tmp_path: Path) -> None:
    dialogue.say("book new 3 8")
    dialogue.say("book deviate 2 6")
    dialogue.book.options = dialogue.book.options._replace(midgame_error=3, endcut_error=0)
    dialogue.say("book negamax")
    ways_there = {"b.egbk3": (8, "leaves do not count in scores"), "b.txt": (9, "leaves count in scores")}
    for name, (depth, ways) in ways_there.items():
        path = tmp_path / name
        dialogue.say(f"book export {path}")
        (told, _) = dialogue.lines(f"book import {path} --discard")
        assert told.startswith(f"{path}: not in the file, and assumed: level 3, depth {depth}, errors 3 and 0; {ways}")
        assert dialogue.book.options[:4] == (3, 61 - depth, 3, 0)
        (told, _) = dialogue.lines(f"book load {path} --discard")
        assert "errors 2 and 1" in told
        dialogue.say("book new 3 8 --discard")
        dialogue.say("book deviate 2 6")
        dialogue.book.options = dialogue.book.options._replace(midgame_error=3, endcut_error=0)
    assert len(dialogue.lines(f"book load {tmp_path / 'b.egbk3'} --discard")) == 2


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
@pytest.mark.needs("book.growth")
@pytest.mark.needs("book.reports")
def test_the_rule_is_shown_chosen_and_told_by_a_merge(dialogue: BookDialogue, tmp_path: Path) -> None:
    dialogue.say("book new 3 8")
    dialogue.say("book deviate 2 6")
    grown = contents(dialogue.book)
    assert dialogue.lines("book rule") == ["rule = edax: leaves count in scores"]
    assert "Rule: edax: leaves count in scores" in dialogue.lines("book info")
    path = tmp_path / "b.egbk3"
    dialogue.say(f"book export {path}")
    assert "leaves do not count in scores" in dialogue.lines(f"book merge {path}")[0]
    assert "rule egaroucid" in dialogue.say("book rule egaroucid")
    assert dialogue.book.options.rule is Rule.EGAROUCID
    assert dialogue.lines("book rule") == ["rule = egaroucid: leaves do not count in scores"]
    assert "Rule: egaroucid: leaves do not count in scores" in dialogue.lines("book info")
    for entry in contents(dialogue.book):
        links = [move.score for move in dialogue.book.known_moves(entry) if move.linked]
        assert not links or entry.score == max(links)
    assert dialogue.lines(f"book merge {path}")[0].startswith("Book merge...done")
    dialogue.say("book rule edax")
    dialogue.say("book fix")
    assert contents(dialogue.book) == grown
    assert "one of edax egaroucid" in dialogue.refused("book rule zebra")


@pytest.mark.parametrize("name", ["b.dat", "b.egbk3", "b.txt", "b.txt.xz", "b.book"])
@pytest.mark.parametrize("command", ["save", "export"])
def test_what_was_written_over_is_kept(command: str, name: str, dialogue: BookDialogue, tmp_path: Path) -> None:
    path = tmp_path / name
    contents = [b"of another program", b"later"]
    for content in contents:
        path.write_bytes(content)
        Path(f"{path}.journal").unlink(missing_ok=True)
        dialogue.say("book new 1 4 --discard")
        dialogue.both(f"book {command} {path}")
        dialogue.say("book enumerate 0 --discard")
        assert path.read_bytes() != content
    kept = {(tmp_path / f"{name}.{number}").read_bytes() for number in (1, 2, 3) if Path(f"{path}.{number}").exists()}
    assert set(contents) <= kept


@pytest.mark.parametrize("name", ["b.dat", "b.egbk3", "b.packed", "b.txt", "b.txt.xz", "b.other", "b.book"])
def test_a_book_without_positions_is_read_again_or_not_written(
    name: str, dialogue: BookDialogue, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(b"of another program")
    dialogue.say("book enumerate 0")
    dialogue.say("book delete")
    out, err = dialogue.both(f"book export {path}")
    if "no text" in err:
        assert out == ""
        assert path.read_bytes() == b"of another program"
    else:
        dialogue.say(f"book load {path} --discard")
        assert len(dialogue.book) == 0
