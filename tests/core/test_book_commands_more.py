"""The book through the text protocol: scores by hand, games' results, shrinking, schedules, other files."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from book_dialogue import BookDialogue
from toys import contents

from desdaemon.book.errors import WriteFailed
from desdaemon.book.growth.schedule import RECIPES
from desdaemon.core.search.loader import EngineFailure
from desdaemon.protocol.errors import MOST_COMPLAINTS
from desdaemon.protocol.texts import MOST_SETTINGS

pytestmark = [pytest.mark.needs("book.growth"), pytest.mark.needs("book.reports")]

SEARCH = "desdaemon.book.editing.engine_evaluator.Searches.__call__"
GAME = "f5d6c3d3c4f4c5b3c2e3d2c6b4"


def grown(dialogue: BookDialogue) -> None:
    dialogue.say("book new 1 8")
    dialogue.say("book deviate 3 6")


def results(dialogue: BookDialogue, *moves: str) -> tuple[float, float, float]:
    dialogue.say("init")
    for move in moves:
        dialogue.say(f"play {move}")
    position = dialogue.session.game.position
    found: tuple[float, float, float] = dialogue.book.table.results(
        dialogue.book.table.find(position.player, position.opponent)
    )
    return found


def failing(error: Exception) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise error

    return fail


@pytest.mark.parametrize(
    ("broken", "error", "said"),
    [
        ("desdaemon.book.storage.journal.Writer.write", WriteFailed("no room"), "no room"),
        (SEARCH, EngineFailure("no weights"), "book deviate 3 6: not finished: no weights"),
        (SEARCH, MemoryError(), f"book deviate 3 6: not finished: {os.strerror(errno.ENOMEM)}: try later"),
        (SEARCH, OSError(errno.EMFILE, "x"), f"book deviate 3 6: not finished: {os.strerror(errno.EMFILE)}: try later"),
        (SEARCH, OSError(errno.EIO, "worn out"), "book deviate 3 6: not finished: [Errno 5] worn out"),
        (SEARCH, KeyError(3), "book deviate 3 6: not finished: an internal error: KeyError: 3"),
    ],
)
def test_a_script_ends_with_the_first_book_command_that_fails(
    broken: str, error: Exception, said: str, dialogue: BookDialogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialogue.say("book new 1 8")
    dialogue.say(f"book save {tmp_path / 'b.book'}")
    with monkeypatch.context() as patched:
        patched.setattr(broken, failing(error))
        _, complaint = dialogue.both("book deviate 3 6")
        assert (complaint, dialogue.text.leaving) == (f"WARNING: {said}\n", None)
        dialogue.text.scripted = True
        dialogue.session.settings.keep_going = True
        _, complaint = dialogue.both("book deviate 3 6")
        assert said in complaint
        assert dialogue.text.leaving is None
        dialogue.session.settings.keep_going = False
        _, complaint = dialogue.both("book deviate 3 6")
        assert complaint.endswith(": the script ends here (-keep-going on goes on)\n")
        assert dialogue.text.leaving == 1


def test_a_script_ends_where_the_book_takes_no_changes(dialogue: BookDialogue, tmp_path: Path) -> None:
    dialogue.text.scripted = True
    dialogue.say("book load builtin")
    _, complaint = dialogue.both("book edit f5 3")
    assert "opened for reading only" in complaint
    assert dialogue.text.leaving == 1


def test_a_game_that_could_not_be_stored_ends_no_script(dialogue: BookDialogue) -> None:
    dialogue.text.scripted = dialogue.session.settings.auto_store = True
    dialogue.say("book load builtin")
    _, complaint = dialogue.both("play f5d6c5f4e7f6g5e6e3")
    assert "opened for reading only" in complaint
    assert "the script ends" not in complaint
    assert (dialogue.text.leaving, dialogue.text.scripted) == (None, True)


def test_a_script_goes_on_after_lines_that_are_wrong(dialogue: BookDialogue, tmp_path: Path) -> None:
    dialogue.text.scripted = True
    grown(dialogue)
    dialogue.say(f"book save {tmp_path / 'b.book'}")
    dialogue.say("book edit f5 3")
    (tmp_path / "noise.dat").write_bytes(b"noise" * 20)
    for line in (
        "book deviate x",
        "book deviat 1 2",
        "book deviate 200 1",
        "book subtree 3",
        "book add nowhere.pgn",
        "book merge nowhere.dat",
        f"book merge {tmp_path / 'noise.dat'}",
        f"book load {tmp_path / 'noise.dat'}",
        "book schedule nowhere.txt",
        f"book export {tmp_path / 'b.book'}",
        "book uncount nothing",
    ):
        _, complaint = dialogue.both(line)
        assert complaint.startswith("WARNING: "), line
        assert "the script ends" not in complaint
        assert dialogue.text.leaving is None, line


def test_games_added_without_searches_and_fixed_make_the_same_book(dialogue: BookDialogue, tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_text(f"{GAME}\n")
    dialogue.say("book new 1 8")
    answer = dialogue.say(f"book add {path} --unsearched")
    assert "0 searches" in answer
    assert "no errors" in dialogue.say("book verify")
    dialogue.say("book fix")
    grown_by_fix = contents(dialogue.book)
    dialogue.say("book new 1 8 --discard")
    dialogue.say(f"book add {path}")
    assert contents(dialogue.book) == grown_by_fix


def test_a_schedule_does_its_steps(dialogue: BookDialogue, tmp_path: Path) -> None:
    path = tmp_path / "steps.txt"
    path.write_text("# two steps\nlearn 5 2 4 2 1\n\nlearn 6 0 0 1 2  # the second\n")
    dialogue.say("book new 1 8")
    assert len(dialogue.lines(f"book schedule {path}")) == 2
    first = contents(dialogue.book)
    dialogue.say("book new 1 8 --discard")
    dialogue.say("book learn 5 2 4 2 1")
    dialogue.say("book learn 6 0 0 1 2")
    assert contents(dialogue.book) == first
    path.write_text("learn 5 2 4 2 1\nlearn 70 2 4 2 1\n")
    assert "line 2" in dialogue.refused(f"book schedule {path}")
    assert all(name in dialogue.refused("book schedule nothing") for name in RECIPES)
    assert "expected a regular file" in dialogue.refused(f"book schedule {os.devnull}")
    path.write_text("#" * MOST_SETTINGS + "\n")
    assert "of at most 1 MiB" in dialogue.refused(f"book schedule {path}")


def test_text_salvage_lines_and_problems_are_exported(dialogue: BookDialogue, tmp_path: Path) -> None:
    grown(dialogue)
    whole = contents(dialogue.book)
    text, native, games = tmp_path / "b.txt", tmp_path / "b.book", tmp_path / "lines.txt"
    dialogue.say(f"book export {text}")
    dialogue.say(f"book save {native}")
    lines = dialogue.lines("book lines 0 1000")
    dialogue.say(f"book extract {games}")
    assert [line.lower() for line in games.read_text().split()] == lines
    problems = dialogue.lines("book problem 54 3")
    assert 1 <= len(problems) <= 3
    assert all(" % bm " in line or "has one best move" in line for line in problems)
    dialogue.say(f"book import {text}")
    assert [(*entry[:2], entry.score) for entry in contents(dialogue.book)] == [
        (*entry[:2], entry.score) for entry in whole
    ]
    damaged = bytearray(native.read_bytes())
    damaged[4096 + 20] ^= 1
    broken = tmp_path / "broken.book"
    broken.write_bytes(damaged)
    assert str(broken) in dialogue.refused(f"book load {broken}")
    assert "positions saved" in dialogue.both(f"book salvage {broken}")[0]
    assert broken.read_bytes() == damaged


@pytest.mark.needs("book.umigame")
def test_the_lines_to_know_are_counted_for_both_sides(dialogue: BookDialogue, monkeypatch: pytest.MonkeyPatch) -> None:
    grown(dialogue)
    head, here, *moves = (line.split() for line in dialogue.lines("book umigame"))
    assert head == ["Lines", "to", "know", "Black", "White"]
    numbers = {name[1:3]: sides for name, *sides in moves}
    assert sorted(numbers) == ["C4", "D3", "E6", "F5"]
    assert numbers["F5"] == numbers["C4"] == here[1:]
    dialogue.say("play f5")
    _, here, *moves = (line.split() for line in dialogue.lines("book umigame"))
    assert here[1:] == numbers["F5"]
    assert {name[1] for name, *_ in moves} == {"f", "d"}
    # With White to move, one move deep: each best reply is a line that Black must know.
    _, (known, black, white), *moves = (line.split() for line in dialogue.lines("book umigame 1"))
    score = known.removeprefix("here:")
    assert (int(black), white) == (sum(name.strip("[<>]").endswith(score) for name, *_ in moves), "1")
    monkeypatch.setattr("desdaemon.book.umigame.numbers.MOST_POSITIONS", 1)
    assert "expected a smaller depth" in dialogue.refused("book umigame")
    dialogue.say("play d6c3d3c4f4c5b3c2e3d2")
    assert "the position is not in the book" in dialogue.refused("book umigame")


def test_look_back_uses_the_book(dialogue: BookDialogue) -> None:
    grown(dialogue)
    dialogue.say("play f5d6c3")
    lines = dialogue.lines("book analyze")
    rows = [line for line in lines if " book " in line]
    assert rows
    assert all(row[:3].strip().isdigit() for row in rows)
    assert len([line for line in dialogue.lines("book a 1") if " book " in line]) <= 1


@pytest.mark.parametrize("move", ["d3", "c4", "f5", "e6"])
def test_the_leaf_of_a_new_book_stands_for_its_mirror_images(dialogue: BookDialogue, move: str) -> None:
    """All first moves are one: the book answers for all of them, though it stores one."""
    dialogue.say("book new 1 4")
    lines = dialogue.lines("hint 4")
    assert sorted(line.split()[2] for line in lines) == ["c4", "d3", "e6", "f5"]
    assert {line[:5] for line in lines} == {"book "}
    assert len({line[7:11] for line in lines}) == 1
    dialogue.say(f"play {move}")
    [judged] = [line for line in dialogue.lines("book analyze") if " book " in line]
    assert move in judged.lower()


def test_verbose_shows_every_search_with_its_board(dialogue: BookDialogue) -> None:
    dialogue.say("book new 2 6")
    silent = dialogue.lines("book deviate 0 2")
    assert len(silent) == 1
    assert dialogue.say("book verbose 2") == ""
    shown = dialogue.lines("book deviate 4 6")
    searches = int(shown[-1].split(" searches")[0].split()[-1])
    assert searches > 3
    assert shown.count("  A B C D E F G H") == 2 * searches
    assert sum("|principal variation" in line.replace(" principal", "principal") for line in shown) == searches
    assert sum("%" in line or line.startswith("    2   ") for line in shown) == searches
    assert any("O to move" in line for line in shown)
    assert any("* to move" in line for line in shown)
    dialogue.say("book verbose 1")
    assert len(dialogue.lines("book deviate 6 8")) == 1


@pytest.mark.parametrize("command", ["add", "check"])
def test_bad_games_are_named_as_by_other_commands(command: str, dialogue: BookDialogue, tmp_path: Path) -> None:
    dialogue.say("book new 1 4")
    (tmp_path / "games.txt").write_text("f5f5\n" * (MOST_COMPLAINTS + 3), encoding="utf-8")
    lines = dialogue.say(f"book {command} {tmp_path / 'games.txt'}").splitlines()
    assert lines.index("and 3 more") == MOST_COMPLAINTS
