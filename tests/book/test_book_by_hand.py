"""Scores set by hand and taken back, moves into the book only, settings shown, positions that have no score yet."""

from __future__ import annotations

import random

import pytest
import referee
from book_dialogue import BookDialogue
from toys import contents, game_positions, small_book, spread, toy

from desdaemon.book.book import Book, ByHand
from desdaemon.book.check import verify
from desdaemon.book.choose import MoveChoice, candidates
from desdaemon.book.editing.add import enumerate_book, fix
from desdaemon.book.editing.by_hand import edit, unedit
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.options import BookOptions, Rule
from desdaemon.book.record import START
from desdaemon.book.summary import entry_text, show_lines
from desdaemon.core.books.lookup import Looks
from desdaemon.protocol.othello.notation import move_text


def grown() -> Book:
    book = small_book(depth=6)
    spread(book, 3)
    return book


@pytest.mark.parametrize("seed", range(6))
def test_edits_are_taken_back_one_by_one(seed: int) -> None:
    book = grown()
    dice = random.Random(seed)
    states = []
    for _ in range(6):
        states.append(contents(book))
        entry = dice.choice(contents(book)[:20])
        legal = [move for move, _ in book.table.links(*entry[:2]) if move < 64]
        edit(book, *entry[:2], dice.choice(legal), dice.randrange(-64, 65))
        fix(book, Worker(toy))
    for state in reversed(states):
        unedit(book, *book.by_hand.edits[-1].key)
        fix(book, Worker(toy))
        assert [entry[:2] for entry in contents(book)] == [entry[:2] for entry in state]
        assert [entry[6] for entry in contents(book)] == [entry[6] for entry in state]
    assert book.by_hand.edits == ()
    assert list(book.edited()) == []
    assert verify(book) == (len(book), [], 0, 0)


def test_an_edit_of_an_earlier_process_is_computed_anew() -> None:
    book = grown()
    before = contents(book)
    entry = next(entry for entry in before if entry.has_leaf and entry.empties < 60)
    edit(book, *entry[:2], None, 33)
    book.negamax()
    book.by_hand = ByHand()
    assert [found[:2] for found in book.edited()] == [entry[:2]]
    unedit(book, *entry[:2])
    book.negamax()
    assert contents(book) == before
    with pytest.raises(ValueError, match="no score was set"):
        unedit(book, *entry[:2])


@pytest.mark.needs("book.growth")
@pytest.mark.needs("book.reports")
def test_edits_are_made_by_commands(dialogue: BookDialogue) -> None:
    dialogue.say("book new 1 6")
    dialogue.say("book deviate 3 6")
    before = contents(dialogue.book)
    assert dialogue.lines("book edits") == ["0 scores set by hand"]
    assert "no score was set by hand since" in dialogue.refused("book unedit")
    score = dialogue.book.entry(*START).score
    dialogue.say("book edit f5 11")
    (listed, counted) = dialogue.lines("book edits")
    assert counted == "1 score set by hand"
    assert f"X -11, {-score:+d} before" in listed
    assert "hand" in dialogue.say("book show")
    assert f"X is worth {-score:+d}" in dialogue.say("book unedit")
    assert contents(dialogue.book) == before
    dialogue.say("book edit f5 11")
    dialogue.say("book unedit d3")
    assert contents(dialogue.book) == before
    assert "book edits lists" in dialogue.refused("book unedit f5")


def test_a_choice_may_take_registered_moves_only() -> None:
    book = grown()
    for entry in contents(book):
        moves = book.moves_on(*entry[:2])
        found = candidates(book, *entry[:2], MoveChoice(registered_only=True, randomness=128))
        assert found == [move for move in moves if move.linked]
        best = candidates(book, *entry[:2], MoveChoice(registered_only=True))
        assert all(move.score == found[0].score for move in best)


TRANSPOSED = "f5d6c3d3"
"""With c4 this leads to the position after f5d6c4d3c3, which is in the book."""


def transposed(dialogue: BookDialogue, rule: str) -> None:
    dialogue.say("book new 1 8")
    dialogue.say(f"book rule {rule}")
    dialogue.say("play f5d6c4d3c3")
    dialogue.say("book store")
    dialogue.say("init")
    dialogue.say(f"play {TRANSPOSED}")


def test_a_move_that_leads_into_the_book_is_a_book_move(dialogue: BookDialogue) -> None:
    transposed(dialogue, "egaroucid")
    assert dialogue.book.entry(*dialogue.session.game.position[:2]) is None
    shown = dialogue.say("book show")
    assert "none, only its moves are in the book" in shown
    assert "Moves: [C4:" in shown
    assert " [C4] " in shown
    assert dialogue.lines("hint 1")[0].startswith("book ")
    dialogue.say("book-registered-only on")
    assert "plays C4" in dialogue.say("go")
    look = Looks(dialogue.books).find(*transposed_position(), children=True)
    assert look["found"]
    assert [child["move"] for child in look["children"]] == ["c4"]
    assert (look["level"], look["leaf"]) == (-1, None)


def transposed_position() -> tuple[int, int]:
    return game_positions(Book(), [referee.square(TRANSPOSED[at : at + 2]) for at in range(0, len(TRANSPOSED), 2)])[-1]


def test_edaxs_rule_asks_for_the_position_itself(dialogue: BookDialogue) -> None:
    transposed(dialogue, "edax")
    assert "not in the book" in dialogue.refused("book show")
    assert not dialogue.lines("hint 1")[0].startswith("book ")
    assert dialogue.books.look_up(*transposed_position()) is None


def test_egaroucids_rule_plays_a_registered_move_where_there_is_one(dialogue: BookDialogue) -> None:
    dialogue.say("book new 6 8")
    dialogue.say("play f5d6c7")
    dialogue.say("book store")
    dialogue.say("undo")
    # C7 is a blunder, the leaf is better.
    for rule, registered in (("edax", False), ("egaroucid", True)):
        dialogue.say(f"book rule {rule}")
        chosen = dialogue.books.choose(*dialogue.session.game.position[:2], dialogue.session.settings)
        assert chosen is not None
        assert (move_text(chosen.move) == "C7") is registered
        assert (" c7 " in dialogue.lines("hint 1")[0]) is registered


@pytest.mark.needs("book.growth")
def test_an_option_limits_choices_to_registered_moves(dialogue: BookDialogue) -> None:
    dialogue.say("book new 1 6")
    dialogue.say("book deviate 1 3")
    book = dialogue.book
    entry = next(
        entry for entry in contents(book) if entry.has_leaf and not any(move.linked for move in book.known_moves(entry))
    )
    settings = dialogue.session.settings
    assert dialogue.books.choose(*entry[:2], settings) is not None
    dialogue.say("book-registered-only on")
    assert dialogue.books.choose(*entry[:2], settings) is None
    assert dialogue.books.choose(*START, settings) is not None


@pytest.mark.parametrize(("command", "value"), [("depth", 6), ("level", 1), ("randomness", 3), ("verbose", 2)])
def test_a_setting_without_a_value_is_shown_and_stays(dialogue: BookDialogue, command: str, value: int) -> None:
    dialogue.say("book new 1 6")
    dialogue.say(f"book {command} {value}")
    for _ in range(2):
        assert dialogue.lines(f"book {command}") == [f"{command} = {value}"]


def test_positions_without_a_score_are_shown_as_such(dialogue: BookDialogue) -> None:
    book = enumerate_book(2, BookOptions(level=1, min_empties=58))
    shown = show_lines(book, *START, black=True)
    assert "Best score: ?" in shown
    assert "Moves: [D3:?] [C4:?] [F5:?] [E6:?]" in shown
    assert "127" not in "".join(shown) + entry_text(book, book.entry(*START))
    dialogue.say("book enumerate 2")
    assert "127" not in dialogue.say("book show") + dialogue.say("book info") + dialogue.say("book stats")


def test_moves_without_a_score_come_last() -> None:
    book = grown()
    row = book.table.find(*START)
    child = next(move.row for move in book.known_moves(book.table.entry(row)) if move.linked)
    book.table.write(child, book.table.entry(child)._replace(score=-127))
    for entry in contents(book):
        scored = [move.scored for move in book.known_moves(entry)]
        assert scored == sorted(scored, reverse=True)


def test_info_tells_rule_date_and_hash(dialogue: BookDialogue, tmp_path: object) -> None:
    dialogue.say("book new 1 6")
    lines = dialogue.lines("book info")
    assert any(line.startswith("Hash balance: 0 < 0 < 1") for line in lines)
    assert not any(line.startswith("Date: ") for line in lines)
    dialogue.say(f"book save {tmp_path}/b.dat")
    assert any(line.startswith("Date: 20") for line in dialogue.lines("book info"))


def test_the_rule_is_kept_in_the_books_own_file(dialogue: BookDialogue, tmp_path: object) -> None:
    dialogue.say("book new 1 6")
    dialogue.say(f"book save {tmp_path}/b.book")
    dialogue.say("book rule egaroucid")
    dialogue.say("book new 1 4")
    dialogue.say(f"book load {tmp_path}/b.book")
    assert dialogue.book.options.rule is Rule.EGAROUCID


@pytest.mark.parametrize("rule", ["edax", "egaroucid"])
def test_a_score_by_hand_goes_with_its_position(dialogue: BookDialogue, rule: str) -> None:
    dialogue.say("book new 1 6")
    dialogue.say("play f5d6")
    dialogue.say("book store")
    dialogue.say("undo")
    dialogue.say(f"book rule {rule}")
    dialogue.say("book edit d6 -40")
    assert dialogue.book.entry(*START).score == 40 or rule == "edax"
    assert "1 position removed" in dialogue.say("book delete d6")
    for line in ("book negamax", "book fix"):
        dialogue.say(line)
        assert abs(dialogue.book.entry(*START).score) < 20
    assert ", 0 still to be searched" in dialogue.say("book verify")


def test_a_score_taken_back_leaves_no_trace_where_nothing_was_searched(dialogue: BookDialogue) -> None:
    dialogue.say("book enumerate 2")
    before = contents(dialogue.book)
    dialogue.say("book edit f5 40")
    assert dialogue.book.entry(*START).score == 40
    dialogue.say("book unedit f5")
    assert contents(dialogue.book) == before


@pytest.mark.needs("book.growth")
def test_info_tells_level_and_errors_which_enhance_uses(dialogue: BookDialogue) -> None:
    dialogue.say("book new 3 6")
    assert "Searches: level 3, midgame error 2, endcut error 1" in dialogue.lines("book info")
    assert "Book enhance 1 0...finished" in dialogue.say("book enhance 1 0")
    assert "Searches: level 3, midgame error 1, endcut error 0" in dialogue.lines("book info")
    assert "Book enhance 1 0...finished: 0 positions added" in dialogue.say("book enhance")
    assert "Book enhance 1 3...finished" in dialogue.say("book enhance 1 3")
