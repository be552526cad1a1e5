"""Game files: what one format writes it reads, and what is broken is refused as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest
import referee
from dialogue import Dialogue
from hypothesis import given, settings
from hypothesis import strategies as st
from random_games import OTHER_START, random_game, with_pass

from desdaemon.clients.gamefiles.ggf import trees
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.formats import FORMATS, game_text, parse_game
from desdaemon.protocol.othello.notation import START, parse_board
from desdaemon.protocol.othello.rules import PASS

DATE = "2026-01-31 12:00:00"


@pytest.mark.parametrize("format", FORMATS)
@given(seed=st.integers(0, 10**6), plies=st.integers(0, 70), other=st.booleans())
@settings(max_examples=25, deadline=None)
def test_written_games_are_read_back(format: str, seed: int, plies: int, other: bool) -> None:
    game = random_game(seed, plies, parse_board(OTHER_START) if other else START)
    read = parse_game(game_text(game, format, DATE), format)
    assert read.initial == game.initial
    moves = list(game.moves)
    if format == "txt" and moves and moves[-1].move == PASS:
        del moves[-1]
    assert list(read.moves) == moves
    if format in ("sgf", "pgn"):
        assert (read.black, read.white) == (game.black.strip(), game.white)


@pytest.mark.parametrize("format", FORMATS)
def test_passes_may_be_left_out(format: str) -> None:
    game = with_pass()
    text = game_text(game, format, DATE)
    for written in ("B[PA]", "W[PA]", ";B[]", ";W[]", " pass"):
        text = text.replace(written, "")
    assert parse_game(text, format).moves == game.moves


def test_games_are_written_in_each_format() -> None:
    game = random_game(1, 5)
    assert game_text(game, "txt", DATE).strip().isalnum()
    assert "BO[8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *]B[" in game_text(
        game, "ggf", DATE
    )
    assert "RE[?]" in game_text(game, "ggf", DATE)
    assert '[Result "*"]' in game_text(game, "pgn", DATE)
    over = random_game(1, 99)
    score = referee.final_score(referee.from_bits(*over.final[:2])) * (1 if over.final.black_to_move else -1)
    assert f"RE[{score}]" in game_text(over, "ggf", DATE)
    assert f"{32 + score // 2}-{32 - score // 2}" in game_text(over, "pgn", DATE)


@pytest.mark.parametrize(
    ("format", "text", "moves"),
    [
        ("txt", "# remark\n\nf5d6C3\nF5\n", "F5D6C3"),
        ("txt", "F5 d6, C3", "F5D6C3"),
        ("pgn", "1. F5 d6 2. C3 {a remark} *\n2. D3", "F5D6C3"),
        ("pgn", '[Event "x"]\n[White "y"]\n\n1.P@f5 {+1.0/5 0.2} P@d6 2.P@c3 ; rest D3\n31-33', "F5D6C3"),
        ("sgf", "(;GM[2]FF[4]SZ[8];B[fe];W[df](;B[cc];W[dc])(;B[cd]))", "F5D6C3D3"),
        ("sgf", "(;GM[2];B[F5]C[a \\] b];W[d6])", "F5D6"),
        ("sgf", "(;GM[2]AP[GoGui:1.6]SZ[8];B[fd];W[dc];B[cf])", "F5D6C3"),
        ("ggf", "1 (;GM[Othello]B[f5//1]W[d6/-1.5/0.3];) (;GM[Othello]B[D3];)", "F5D6"),
    ],
)
def test_games_of_other_programs_are_read(format: str, text: str, moves: str) -> None:
    record = parse_game(text, format)
    assert "".join(referee.name(played.move) for played in record.moves) == moves


def test_games_saved_by_xboard_are_read() -> None:
    """Its White moves first; a pass is two dashes, the discs are as they were dropped."""
    text = (
        '[Event "Computer Chess Game"]\n[White "first"]\n[Black "second"]\n[Result "1-0"]\n[Variant "othello"]\n'
        '[FEN "8/8/8/3Pp3/3pP3/8/8/8[PPpp] w - - 0 1"]\n[SetUp "1"]\n\n{--------------\n. . p P\nwhite to play\n'
        "--------------}\n1. P@e6 {-1.00/5} P@f4\n2. P@e3 P@f6 3. P@g5 P@d6 4. P@e7\nP@f5 5. P@c5 {Black is out} 1-0\n"
    )
    record = parse_game(text, "pgn")
    assert (record.black, record.white, record.initial) == ("first", "second", START)
    assert "".join(referee.name(played.move) for played in record.moves) == "E6F4E3F6G5D6E7F5C5"
    assert record.final.over
    tags = text.replace("3Pp3/3pP3/8/8/8[PPpp] w", "8/8/8/8/pP6[PPpp] w").partition("\n\n")[0]
    assert [played.move for played in parse_game(f"{tags}\n\n1. -- P@c1 0-1\n", "pgn").moves] == [PASS, 2]


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("txt", ""),
        ("txt", "hello"),
        ("txt", "F5A1"),
        ("txt", "board;x5"),
        ("pgn", "1. e4 e5"),
        ("pgn", '[FEN "8/8 b"]\n1. F5'),
        ("sgf", "(;GM[1];B[fe])"),
        ("sgf", "(;GM[2]SZ[10];B[fe])"),
        ("sgf", "(;GM[2];B[fe];W[aa])"),
        ("sgf", "(;GM[2]AB[aa]AW[aa])"),
        ("sgf", "(;GM[2];B[fe"),
        ("sgf", "(;GM[2];B[fe]"),
        ("sgf", "no game"),
        ("sgf", "(;GM[2]C[never ends \\])"),
        ("ggf", "(;GM[Othello]B[F5]"),
    ],
)
def test_unreadable_games_are_refused(format: str, text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_game(text, format)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("format", FORMATS)
@given(text=st.text(alphabet='(;)[]\\ABWGM2FENfed5671.\n{}"*-/ ', max_size=120))
@settings(max_examples=200, deadline=None)
def test_any_text_is_games_or_refused(format: str, text: str) -> None:
    try:
        record = parse_game(text, format)
    except BadInput:
        return
    assert record.final


def test_properties_of_a_tree_are_read() -> None:
    (game,) = trees("x (;GaMe[2] AB [aa]\n[bb];B[c\\]](;W[dd])(;W[ee]))", escapes=True)
    assert game.start == 2
    assert game.properties == [("GM", "2"), ("AB", "aa"), ("AB", "bb"), ("B", "c]"), ("W", "dd")]


# The commands


@pytest.mark.parametrize("format", FORMATS)
def test_a_saved_game_is_loaded(format: str, tmp_path: Path) -> None:
    file = tmp_path / f"game.{format.upper()}"
    dialogue = Dialogue()
    dialogue.say("play f5d6c3d3c4")
    dialogue.say(f"save {file}")
    board, moves = dialogue.board, list(dialogue.session.game.moves)
    dialogue.say("init")
    assert dialogue.say(f"load {file}") == ""
    assert (dialogue.board, dialogue.session.game.moves) == (board, moves)
    dialogue.say("undo")
    assert dialogue.session.game.moves == moves[:-1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("load", "the name of a file"),
        ("save", "the name of a file"),
        ("load game.doc", ".txt, .ggf, .sgf, .pgn, .wtb, .edx"),
        ("save x", ".txt, .ggf, .sgf, .pgn, .edx, .svg, .eps"),
        ("load /nowhere/at/all.sgf", "No such file or directory"),
        ("save /nowhere/at/all.sgf", "No such file or directory\n"),
    ],
)
def test_unusable_files_are_named(line: str, expected: str) -> None:
    assert expected in Dialogue().refused(line)


def test_broken_files_change_nothing(tmp_path: Path) -> None:
    file = tmp_path / "game.sgf"
    file.write_bytes(b"(;GM[2];B[fe];W[\xff\xfe])")
    assert "game.sgf" in Dialogue().refused(f"load {file}")
    (tmp_path / "folder.txt").mkdir()
    assert "Is a directory" in Dialogue().refused(f"load {tmp_path / 'folder.txt'}")
    assert "regular file" in Dialogue().refused(f"save {tmp_path / 'folder.txt'}")
