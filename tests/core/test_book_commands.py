"""The book through the text protocol."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import referee
from book_dialogue import BookDialogue
from checkout import ROOT
from dialogue import Script
from test_book_grow import reference_deviate
from toys import canonical, contents, game_positions, undated

from desdaemon.book.book import Book
from desdaemon.book.commands import games
from desdaemon.book.formats import registry
from desdaemon.book.record import START
from desdaemon.book.storage.store import open_store
from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.othello.openings import openings

pytestmark = [pytest.mark.needs("book.growth"), pytest.mark.needs("book.reports")]

GAME = "f5d6c3d3c4f4c5b3c2e3d2c6b4"


def boards(book: Book) -> set[tuple[int, int]]:
    return {entry[:2] for entry in contents(book)}


def read(path: Path) -> Book:
    return registry.load(path).book


# ------------------------------------------------------------------------------------------------ Edax's books


def test_fix_finds_nothing_to_do_in_edaxs_books(dialogue: BookDialogue, edax_books: Path, tmp_path: Path) -> None:
    for sample in sorted(edax_books.glob("*.dat")):
        if sample.name.startswith("A0"):
            # Edax never negamaxed this one.
            continue
        dialogue.say(f"book load {sample} --discard")
        assert "0 positions added, 0 searches" in dialogue.say("book fix")
        assert "no errors" in dialogue.say("book verify")
        dialogue.say(f"book save {tmp_path / sample.name}")
        assert undated((tmp_path / sample.name).read_bytes()) == undated(sample.read_bytes()), sample.name


def test_add_refuses_more_games_than_its_limit(
    dialogue: BookDialogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(games, "MOST_GAMES", 2)
    path = tmp_path / "games.txt"
    path.write_text("f5d6c3\nf5f6e6\nf5d6c4\n")
    dialogue.say("book new 1 4")
    assert "expected at most 2 games at a time" in dialogue.both(f"book add {path} --unsearched")[1]


def test_store_adds_the_positions_that_edax_added(dialogue: BookDialogue, edax_books: Path) -> None:
    dialogue.say("book new 1 12")
    dialogue.say(f"play {GAME}")
    dialogue.say("book store")
    assert boards(dialogue.book) == boards(read(edax_books / "A1_store1.dat"))
    dialogue.say("init")
    dialogue.say("play f5f6e6f4e3c5")
    dialogue.say("book store")
    assert boards(dialogue.book) == boards(read(edax_books / "A2_store2.dat"))
    before = contents(dialogue.book)
    assert "0 positions added, 0 searches" in dialogue.say("book store")
    assert contents(dialogue.book) == before


def test_deviate_expands_what_edax_expanded(dialogue: BookDialogue, edax_books: Path) -> None:
    before = read(edax_books / "A2_store2.dat")
    score = before.entry(*START).score
    chosen = reference_deviate(before, START, 0, 0, score, score)
    assert len(chosen) == 5
    dialogue.say(f"book load {edax_books / 'A2_store2.dat'} --discard")
    dialogue.say("book deviate 0 0")
    grown = boards(read(edax_books / "A3_deviate_0_0.dat"))
    for key in chosen:
        entry = before.entry(*key)
        child = canonical(*before.table.play(*key, entry.leaf_move))
        assert dialogue.book.entry(*child) is not None
        assert child in grown
    assert "0 positions added" in dialogue.say("book deviate 0 0")
    dialogue.say(f"book load {edax_books / 'A3_deviate_0_0.dat'} --discard")
    assert "0 positions added, 0 searches" in dialogue.say("book deviate 0 0")


def test_enhance_goes_on_where_edax_ended(dialogue: BookDialogue, edax_books: Path) -> None:
    dialogue.say(f"book load {edax_books / 'A2_store2.dat'} --discard")
    dialogue.say("book enhance 2 1")
    # Edax's file is after one round of one position, which reads six more for the next.
    assert boards(read(edax_books / "C1_enhance.dat")) < boards(dialogue.book)
    assert "0 positions added" in dialogue.say("book enhance 2 1")
    assert dialogue.book.options[2:4] == (2, 1)


def test_prune_and_subtree_leave_what_edax_left(dialogue: BookDialogue, edax_books: Path) -> None:
    dialogue.say(f"book load {edax_books / 'A3_deviate_0_0.dat'} --discard")
    assert dialogue.lines("book prune") == [
        "Book prune...done: 6 positions removed, 37 left",
        "leaves in place of links: 1",
    ]
    assert contents(dialogue.book) == contents(read(edax_books / "C4_prune.dat"))
    dialogue.say("play f5f6")
    dialogue.say("book subtree")
    assert contents(dialogue.book) == contents(read(edax_books / "C5_subtree.dat"))


# ------------------------------------------------------------------------------------------------ what is shown


def test_show_and_info_look_like_edaxs(dialogue: BookDialogue, edax_books: Path) -> None:
    dialogue.say(f"book load {edax_books / 'A3_deviate_0_0.dat'} --discard")
    shown = dialogue.lines("book show")
    assert shown[0] == shown[9] == "  A B C D E F G H"
    assert shown[11:15] == [
        "Level: 6",
        "Best score: +1 [-1, +3]",
        "Moves: [D3:+1] [C4:+1] [F5:+1] [E6:+1]",
        "       192 incomplete lines.",
    ]
    assert dialogue.lines("book info")[1:4] == [
        "Positions: 43 (moves = 46 links + 40 leaves);",
        "Level 6 : 43 nodes",
        "Depth: 12",
    ]
    assert dialogue.lines("book stats")[1].split() == ["60", "1", "4", "0", "0"]


def test_hint_shows_the_books_moves_first_and_searches_the_others(dialogue: BookDialogue) -> None:
    dialogue.say("book new 1 10")
    dialogue.say("book deviate 4 8")
    dialogue.say("play f5")
    position = dialogue.session.game.position
    known = dialogue.books.look_up(position.player, position.opponent).moves_on(position)
    lines = dialogue.lines("hint 60")
    assert 0 < len(known) <= len(lines) == 3
    for move, line in zip(known, lines, strict=False):
        assert line.startswith(f"book    {move.score:+d}{'':42}")
        assert line[52:54].lower() == referee.name(move.move).lower()
    allowed = [call.options["allow"] for call in dialogue.searcher.calls] if len(lines) > len(known) else []
    assert all(not mask >> move.move & 1 for mask in allowed for move in known)
    assert len(dialogue.lines("hint 1")) == 1
    dialogue.say("book off")
    assert not any(line.startswith("book") for line in dialogue.lines("hint 3"))


def test_go_plays_from_the_book_and_a_seed_repeats_it(dialogue: BookDialogue) -> None:
    dialogue.say("book new 1 8")
    dialogue.say("book deviate 2 6")
    dialogue.say("play f5")
    position = dialogue.session.game.position

    def moves(seed: int) -> list[str]:
        played = []
        dialogue.say("book-randomness 6")
        dialogue.say(f"book-seed {seed}")
        for _ in range(12):
            played.append(dialogue.say("go").split()[-1])
            dialogue.say("undo")
        # Another seed in between, so that this one starts over.
        dialogue.say("book-seed 1")
        dialogue.say("go")
        dialogue.say("undo")
        return played

    first = moves(7)
    assert first == moves(7)
    known = dialogue.books.look_up(position.player, position.opponent).moves_on(position)
    near = {referee.name(move.move).upper() for move in known if move.score >= known[0].score - 6}
    assert set(first) <= near
    assert dialogue.searcher.calls == []
    dialogue.say("book off")
    dialogue.say("go")
    assert len(dialogue.searcher.calls) == 1


# ------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("book", "commands that help book lists"),
        ("book foo", "Unknown book command"),
        ("book deviate 130", "relative"),
        ("book deviate 1 66", "absolute"),
        ("book deviate 1 2 3", "one too many"),
        ("book fill 0", "1 to 61"),
        ("book fill 62", "1 to 61"),
        ("book learn 30 4 4", "leaf is missing"),
        ("book depth 62", "0 to 61"),
        ("book load /nowhere/b.book", str(Path("/nowhere/b.book"))),
        ("book edit a1 0", "a1"),
        ("book adjust", "not over"),
        ("book schedule nothing", "recipe"),
        ("book self-play 2", "is over"),
        ("book add /nowhere/x.wtb", str(Path("/nowhere/x.wtb"))),
        ("book merge /nowhere/x.dat", str(Path("/nowhere/x.dat"))),
        ("book cut 99", "0 to 61"),
        ("book enumerate 13", "0 to 12"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(dialogue: BookDialogue, line: str, complaint: str) -> None:
    dialogue.say("book new 1 10")
    if complaint == "is over":
        dialogue.say("play f5d6c5f4e7f6g5e6e3")
        dialogue.say("book store")
    before = contents(dialogue.book)
    assert complaint.lower() in dialogue.refused(line).lower()
    assert contents(dialogue.book) == before


NAMING = [command for command in BOOK_COMMANDS if command.names_files and command.name != "schedule"]


@pytest.mark.posix
@pytest.mark.parametrize("name", ["~none", "zero\0byte", "loop"])
@pytest.mark.parametrize("command", [command.name for command in NAMING])
def test_a_strange_name_of_a_file_is_one_line(
    command: str, name: str, dialogue: BookDialogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name may begin with ``~`` though there is no such user."""
    monkeypatch.chdir(tmp_path)
    Path("loop.txt").symlink_to("loop.txt")
    dialogue.say("book new 1 4")
    if name == "~none" and command in ("save", "export", "backup", "extract"):
        assert dialogue.say(f"book {command} {name}.txt")
        assert (tmp_path / f"{name}.txt").exists()
        return
    told = dialogue.refused(f"book {command} {name}.txt")
    assert "internal" not in told
    assert "Errno" not in told


@pytest.mark.posix
@pytest.mark.parametrize("command", [command.name for command in NAMING])
def test_control_characters_of_a_files_name_do_not_reach_a_terminal(
    command: str, dialogue: BookDialogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other, name = tmp_path / "other.txt", "a\x1b[31m\x9bb.txt"
    dialogue.say("book new 1 4")
    dialogue.say("book export other.txt")
    for there in (False, True):
        if there:
            (tmp_path / name).write_bytes(other.read_bytes())
        told = "".join(dialogue.both(f"book {command} {name}"))
        assert told.replace("\n", "").isprintable(), told


def test_an_enumerated_book_has_the_depth_that_was_asked_for_and_no_level(dialogue: BookDialogue) -> None:
    for plies in (0, 3):
        dialogue.say(f"book enumerate {plies} --discard")
        told = dialogue.say("book info")
        assert f"Depth: {plies}\n" in told
        assert "Level none : " in told
        assert "Level: none\n" in dialogue.say("book show")


@pytest.mark.parametrize(
    "command", ["deviate", "enhance", "play", "extend", "subtree", "show", "grade", "lines", "edit d3 5", "delete"]
)
def test_positions_outside_the_book_are_told(dialogue: BookDialogue, command: str) -> None:
    dialogue.say("book new 1 10")
    dialogue.say("play f5d6c3")
    refused = dialogue.refused(f"book {command}")
    assert f"book {command.split()[0]}" in refused
    assert "the position is not in the book" in refused


@pytest.mark.parametrize("command", [command.name for command in BOOK_COMMANDS if not command.parameters])
def test_without_a_book_every_command_says_so(dialogue: BookDialogue, command: str) -> None:
    if command in ("on", "off"):
        assert dialogue.say(f"book {command}") == ""
    else:
        assert "book" in dialogue.refused(f"book {command}")


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
def test_a_damaged_file_leaves_the_book_in_use_alone(dialogue: BookDialogue, tmp_path: Path) -> None:
    dialogue.say("book new 1 6")
    dialogue.say("book deviate 4 8")
    before = contents(dialogue.book)
    for suffix in (".dat", ".egbk3", ".book"):
        path = tmp_path / f"whole{suffix}"
        if suffix != ".book":
            dialogue.say(f"book export {path}")
        else:
            dialogue.say(f"book save {path}")
        cut = tmp_path / f"cut{suffix}"
        cut.write_bytes(path.read_bytes()[:-1])
        assert str(cut) in dialogue.refused(f"book load {cut} --discard")
        assert str(cut) in dialogue.refused(f"book merge {cut}")
        assert contents(dialogue.book) == before


# ------------------------------------------------------------------------------------------------ files


def test_what_is_learnt_outlives_the_process_without_a_save(dialogue: BookDialogue, tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    dialogue.say("book new 1 8")
    dialogue.say(f"book save {path}")
    dialogue.say("book deviate 3 6")
    grown = contents(dialogue.book)
    dialogue.reopen(path)
    assert contents(dialogue.book) == grown
    folded = path.read_bytes()
    dialogue.say("book save")
    assert path.with_name("b.book.1").read_bytes() == folded
    dialogue.reopen(path)
    assert contents(dialogue.book) == grown


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
def test_a_book_for_reading_that_is_saved_elsewhere_goes_on_there(dialogue: BookDialogue, tmp_path: Path) -> None:
    path, there = tmp_path / "b.book", tmp_path / "there.book"
    dialogue.say("book new 1 8")
    dialogue.say(f"book save {path}")
    other = BookDialogue()
    other.both(f"book load {path}")
    # Another program's format has no journal: the book in use stays the one for reading.
    assert "in use" not in other.say(f"book save {tmp_path / 'e.dat'}")
    assert "reading only" in other.refused("book deviate")
    assert f"{there} is the book in use from now on, because process {os.getpid()}" in other.say(f"book save {there}")
    assert "finished" in other.say("book deviate 3 6")
    grown = contents(other.book)
    other.reopen(there)
    assert contents(other.book) == grown
    other.close()
    # A book that takes changes stays in use, and what was written is a copy of it.
    assert "in use" not in dialogue.say(f"book save {tmp_path / 'copy.book'}")
    dialogue.say("book deviate")
    dialogue.reopen(path)
    assert len(dialogue.book) > 1


def test_merge_and_diff_take_any_book(dialogue: BookDialogue, tmp_path: Path) -> None:
    dialogue.say("book new 1 7 --discard")
    dialogue.say("book deviate 3 6")
    path = tmp_path / "first.dat"
    dialogue.say(f"book export {path}")
    count = len(dialogue.book)
    dialogue.say("book new 2 7 --discard")
    assert dialogue.lines(f"book diff {path}")[:2] == [
        f"only in the book in use: {0} positions",
        f"only in {path}: {count - 1} positions",
    ]
    assert f"{count - 1} positions added" in dialogue.say(f"book merge {path} --keep-ours")
    dialogue.say("book fix")
    assert "no errors" in dialogue.say("book verify")
    assert dialogue.book.entry(*START).level == 2


def test_the_named_openings_are_added_by_name(
    dialogue: BookDialogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dialogue.say("book new 1 60")
    answer = dialogue.say("book add openings --unsearched")
    assert f"{len(openings())} games of 1 file" in answer
    for opening in openings():
        for position in game_positions(dialogue.book, opening.moves):
            assert dialogue.book.entry(*position) is not None
    assert dialogue.book.table.results(dialogue.book.table.find(*START)) == (0, 0, 0)
    dialogue.say("book new 1 60 --discard")
    dialogue.say("book add openings --played 20 --unsearched")
    assert 1 < len(dialogue.book) < 20
    (tmp_path / "openings").write_text("d3c5\n")
    dialogue.say("book new 1 60 --discard")
    dialogue.say("book add openings")
    assert len(dialogue.book) == 3


REPLACING = ("new 1 6", "load {other}", "import {other}", "enumerate 2", "salvage {native}", "reopen")


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
@pytest.mark.parametrize("line", REPLACING)
def test_nothing_learnt_is_dropped_unasked(line: str, dialogue: BookDialogue, tmp_path: Path) -> None:
    names = {name: str(tmp_path / name) for name in ("other", "native")}
    names["other"] += ".dat"
    dialogue.say("book new 1 4")
    for name in names.values():
        dialogue.say(f"book save {name}")
    dialogue.say(f"book load {names['other']}")
    dialogue.say("book deviate 2 4")
    learnt = contents(dialogue.book)
    line = f"book {line.format(**names)}"
    told = dialogue.refused(line)
    assert "other.dat: unsaved changes: book save keeps them, --discard drops them" in told
    assert contents(dialogue.book) == learnt
    dialogue.say(f"{line} --discard")
    assert contents(dialogue.book) != learnt
    dialogue.say(f"book load {names['other']}")
    dialogue.say("book deviate 2 4")
    dialogue.say("book save")
    dialogue.say(line)
    assert not list(tmp_path.glob("*unsaved*"))


def test_a_book_without_a_file_is_not_dropped_either(dialogue: BookDialogue) -> None:
    dialogue.say("book new 1 4")
    dialogue.say("book new 1 5")
    dialogue.say("book deviate 2 4")
    count = len(dialogue.book)
    told = dialogue.refused("book new")
    assert f"the book in use, {count} positions: unsaved changes: book save FILE keeps them" in told


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
def test_scripts_for_edax_drop_a_book_without_a_word_and_find_it_aside(
    dialogue: BookDialogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dialogue.session.settings.edax_compatible = True
    for number, file in enumerate((None, "b.dat"), 1):
        dialogue.say("book new 1 4")
        if file:
            dialogue.say(f"book save {file}")
        dialogue.say("book deviate 2 4")
        learnt = contents(dialogue.book)
        assert "unsaved" not in dialogue.both("book load missing.dat")[1]
        aside = f"{file or 'book'}.unsaved-1"
        assert f"unsaved changes are kept in {aside}" in dialogue.both("book new 1 4")[1]
        assert len(list(tmp_path.glob("*.unsaved-1"))) == number
        dialogue.say(f"book load {aside}")
        assert contents(dialogue.book) == learnt


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
def test_what_was_not_saved_at_the_end_is_kept_aside(tmp_path: Path) -> None:
    dialogue = BookDialogue()
    path = tmp_path / "b.dat"
    dialogue.say("book new 1 8")
    dialogue.say(f"book save {path}")
    assert dialogue.books.close() == []
    dialogue.say(f"book load {path}")
    dialogue.say("book fix")
    dialogue.say("book show")
    assert dialogue.books.close() == []
    for number in (1, 2):
        dialogue.say(f"book load {path}")
        dialogue.say("book deviate 3 6")
        written, learnt = path.read_bytes(), contents(dialogue.book)
        (told,) = dialogue.books.close()
        aside = tmp_path / f"b.dat.unsaved-{number}"
        assert told == f"{path}: unsaved changes are kept in {aside}"
        assert path.read_bytes() == written
        dialogue.say(f"book load {aside}")
        assert contents(dialogue.book) == learnt
        dialogue.books.close()


@pytest.mark.posix
def test_a_book_that_was_in_use_is_overwritten_and_one_in_use_is_not(dialogue: BookDialogue, tmp_path: Path) -> None:
    mine, copy = tmp_path / "my.book", tmp_path / "copy.book"
    dialogue.say("book new 1 4")
    dialogue.say(f"book save {mine}")
    for line in (f"backup {copy}", f"load {copy}", f"load {mine}", f"backup {copy}", f"save {copy}", f"export {copy}"):
        assert "position" in dialogue.say(f"book {line}")
    assert not copy.with_name("copy.book.journal").exists()
    dialogue.say(f"book backup {copy}")
    (tmp_path / "link.book").symlink_to(copy)
    with open_store(copy):
        for name in (copy, tmp_path / "link.book"):
            assert "in use" in dialogue.refused(f"book backup {name}")
            assert "in use" in dialogue.refused(f"book save {name}")
    dialogue.say(f"book backup {tmp_path / 'link.book'}")
    assert not copy.with_name("copy.book.journal").exists()
    assert "1 position" in dialogue.say(f"book backup {copy}")


def crash(path: Path) -> None:
    """Leave a book as a kill after a change does: the change is in its journal alone."""
    log = path.with_name(f"{path.name}.journal")
    with open_store(path) as store:
        store.book.options = store.book.options._replace(level=7)
        store.commit()
        kept = path.read_bytes(), log.read_bytes()
    path.write_bytes(kept[0])
    log.write_bytes(kept[1])


def level_of(path: Path) -> int:
    with open_store(path) as store:
        return store.book.options.level


def test_changes_that_only_a_journal_has_are_not_overwritten(dialogue: BookDialogue, tmp_path: Path) -> None:
    crashed = tmp_path / "crashed.book"
    dialogue.say("book new 1 4")
    dialogue.say(f"book save {tmp_path / 'my.book'}")
    dialogue.say(f"book backup {crashed}")
    crash(crashed)
    assert "its journal has changes" in dialogue.refused(f"book backup {crashed}")
    assert level_of(crashed) == 7


def test_a_script_that_cannot_save_its_book_ends_with_an_error(tmp_path: Path) -> None:
    def ran(*lines: str) -> int:
        typed = "".join(f"{line}\n" for line in ("book new 1 4", *lines))
        program = (sys.executable, "-m", "daemon", "-q", "--config", "none")
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            program, input=typed, cwd=tmp_path, env=environment, text=True, capture_output=True
        ).returncode

    assert ran("book save my.book") == 0
    assert ran("book save my.book") == 0, "the second run writes over the book of the first"
    assert ran("book save no/such/folder.book") == 1
    assert ran("book save my.book.lock") == 1


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
def test_adding_a_game_searches_only_what_it_brought(dialogue: BookDialogue, tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("f5d6c3d3c4f4c5b3c2\nf5f6e6f4e3c5c4\n")
    (tmp_path / "one.txt").write_text("f5d6c4d3c3\n")
    dialogue.say("book new 1 12")
    dialogue.say(f"book add {tmp_path / 'many.txt'} --unsearched")
    still = int(dialogue.say("book verify").split(" still to be searched")[0].split()[-1])
    assert still > 10
    said = dialogue.say(f"book add {tmp_path / 'one.txt'}")
    added = int(said.split(" positions added")[0].split()[-1])
    # Its own positions, new or not, and parents whose leaf has become a link or is missing.
    assert added <= int(said.split(" search")[0].split()[-1]) <= 6
    # The initial position, F5 and D6 after it are in both files; another order of the moves leads to F5D6C3D3C4.
    assert f"{still - 4} still to be searched" in dialogue.say("book verify")
    assert "finished" in dialogue.say("book fix")
    assert "no errors" in dialogue.say("book verify")


@pytest.mark.parametrize("line", ["book extract {}/g.txt", "book merge {}/b.book --into", "book save {}/b.book"])
def test_a_script_that_could_not_write_its_file_ends_with_an_error(
    line: str, dialogue: BookDialogue, tmp_path: Path
) -> None:
    dialogue.text.scripted = True
    dialogue.say("book new 1 4")
    dialogue.say(f"book save {tmp_path / 'my.book'}")
    dialogue.say(f"book load {tmp_path / 'my.book'} --overlay {tmp_path / 'o'}")
    assert dialogue.text.run(Script(line.format(tmp_path / "none")), lambda: None) == 1
