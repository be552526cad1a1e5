"""XOT: the lists that users download are read, drawn from, and known again in games."""

from __future__ import annotations

import os
import random
from contextlib import closing
from pathlib import Path

import pytest
import referee
from book_dialogue import BookDialogue
from dialogue import Dialogue
from test_book_games import results

from desdaemon.clients.gamefiles import xot
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position, parse_moves
from desdaemon.protocol.othello.openings import line_or_opening


def random_line(seed: int) -> str:
    return "".join(referee.name(move).lower() for move in referee.random_moves(seed, 8))


LINES = [random_line(seed) for seed in range(40)]


def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a large list and without a small one."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "of-user"))
    folder = tmp_path / "of-user" / "desdaemon"
    folder.mkdir(parents=True)
    (folder / "openingslarge.txt").write_text("\r\n".join(LINES) + "\r\n", newline="")
    return folder


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return listed(tmp_path, monkeypatch)


def positions(moves: list[int]) -> list[Position]:
    found = [START]
    for move in moves:
        found.append(found[-1].after(move))
    return found


def mirrored(position: Position, symmetry: int) -> Position:
    player, opponent = (rules.transform(bits, symmetry) for bits in (position.player, position.opponent))
    return Position(player, opponent, position.black_to_move)


def first_number(line: str) -> int:
    """The place of the first line that leads where this one does, by rules of the tests' own."""

    def end(line: str) -> tuple[int, int]:
        cells = referee.start()
        for move in parse_moves(line):
            cells = referee.play(cells, move)
        return min(referee.to_bits(image) for image in referee.symmetries(cells))

    return 1 + next(at for at, other in enumerate(LINES) if end(other) == end(line))


@pytest.mark.parametrize("symmetry", range(8))
def test_a_game_is_known_by_its_position_after_eight_plies(data: Path, symmetry: int) -> None:
    for line in LINES:
        passed = [mirrored(position, symmetry) for position in positions(parse_moves(line))]
        number = f"XOT {first_number(line)}"
        assert xot.numbered(passed) == number
        last = passed[-1]
        assert xot.numbered([*passed, last.after(rules.squares(last.moves)[0])]) == number
        assert xot.numbered(passed[-1:]) == number
        assert xot.numbered(passed[:-1]) == ""


def test_another_game_has_no_number(data: Path) -> None:
    assert xot.numbered(positions(parse_moves("f5d6c3d3c4f4f6f3"))) == ""
    # The same squares, other discs.
    same = positions(parse_moves(LINES[0]))[-1]
    assert xot.numbered([same._replace(player=same.opponent, opponent=same.player)]) == ""


def test_a_line_is_chosen_by_number_or_at_random(data: Path) -> None:
    assert line_or_opening("xot 17") == line_or_opening(" XOT  17 ") == parse_moves(LINES[16])
    random.seed(1)
    assert {tuple(line_or_opening("xot")) for _ in range(400)} > {tuple(parse_moves(line)) for line in LINES[:2]}
    for number in ("0", "41", "-1", "x", "1.5", "9" * 5000, "\u0661"):
        with pytest.raises(BadInput, match="expected a number from 1 to 40"):
            line_or_opening(f"xot {number}")


def test_a_list_that_is_not_there_says_where_it_is_and_where_it_goes(data: Path) -> None:
    with pytest.raises(BadInput) as caught:
        xot.lines("xot-small")
    message = str(caught.value)
    assert "https://berg.earthlingz.de/xot/downloads/openingssmall.txt" in message
    # Of a folder at home, which the temporary folder of Windows is, only the end is shown.
    assert str(Path("of-user/desdaemon/openingssmall.txt")) in message
    assert "\n" not in message


def test_the_small_list_is_used_where_the_large_one_is_missing(data: Path) -> None:
    natural = "f5d6c3d3c4f4f6f3"
    (data / "openingssmall.txt").write_text(f"{LINES[0]}\n{natural}\n")
    assert xot.numbered(positions(parse_moves(natural))) == "XOT-small 2"
    assert xot.numbered(positions(parse_moves(LINES[0]))) == "XOT 1"
    assert line_or_opening("xot-small 2") == parse_moves(natural)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "the file is empty"),
        (b"f5d6c4d3c2b3b4b5\nf5d6\n", "line 2: expected 8 moves"),
        (b"f5d6c4d3c2b3b4b5\nnonsense", "line 2: "),
        (b"\xff\xfef\x005\x00", "UTF-16"),
        (b"f5d6c4d3c2b3b4b5\n" * 70_000, "at most 1048576 bytes"),
    ],
)
def test_a_spoilt_list_is_refused_and_names_no_game(data: Path, text: bytes, reason: str) -> None:
    (data / "openingslarge.txt").write_bytes(text)
    with pytest.raises(BadInput, match=reason):
        xot.lines("xot")
    assert xot.numbered(positions(parse_moves(LINES[0]))) == ""


def test_an_illegal_line_is_told_when_it_is_played(data: Path) -> None:
    (data / "openingslarge.txt").write_text("a1a2a3a4a5a6a7a8\n")
    assert "A1" in Dialogue().refused("play xot 1")


def test_a_list_that_changed_is_read_again(data: Path) -> None:
    path = data / "openingslarge.txt"
    assert len(xot.lines("xot")) == 40
    path.write_text(f"{LINES[1]}\n{LINES[2]}\n")
    os.utime(path, (1, 1))
    assert [list(line) for line in xot.lines("xot")] == [parse_moves(line) for line in LINES[1:3]]


def test_commands_play_openings_of_the_list(data: Path) -> None:
    dialogue = Dialogue()
    dialogue.say("play xot 7")
    assert dialogue.say("opening").endswith(f"XOT {first_number(LINES[6])}\n")
    assert dialogue.say("ouverture").endswith(f"XOT {first_number(LINES[6])}\n")
    dialogue.say("init")
    dialogue.say("play xot")
    assert "XOT " in dialogue.say("opening")
    dialogue.say("init")
    dialogue.say("force xot 7")
    assert dialogue.say("go").strip().endswith(f"plays {LINES[6][:2].upper()}")
    dialogue.say("init")
    (data / "openingslarge.txt").write_text("f5d6c3d3c4f4f6f3\n")
    dialogue.say("play comp'oth")
    assert dialogue.say("opening") == "Comp'Oth, XOT 1\n"
    assert "download" in dialogue.refused("play xot-small")


@pytest.mark.needs("book.growth")
def test_the_name_xot_stands_for_its_openings(data: Path) -> None:
    with closing(BookDialogue()) as dialogue:
        dialogue.say("book new 1 8")
        assert f"{len(LINES)} games of 1 file added to book" in dialogue.say("book add xot --unsearched")
        assert "download" in dialogue.refused("book add xot-small")
        dialogue.say("book new 1 60 --discard")
        (data / "openingslarge.txt").write_text(f"{LINES[0]}\n")
        dialogue.say("book self-play 3 1 --xot")
        counted = {position: sum(counts) for position, counts in results(dialogue.book).items()}
        cells = referee.start()
        for square in range(0, 16, 2):
            cells = referee.play(cells, referee.square(LINES[0][square : square + 2]))
            assert counted[min(referee.to_bits(image) for image in referee.symmetries(cells))] == 3
        dialogue.say("play f5d6")
        assert "expected the opening position" in dialogue.refused("book self-play 1 --xot")
