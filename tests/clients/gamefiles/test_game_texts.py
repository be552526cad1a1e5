"""Texts of games as people and other programs write them: the right games, or one clear refusal; never half a game."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path

import pytest
from dialogue import Dialogue

from desdaemon.clients.web.pasted import parse_pasted
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.bases import FileGame, parse_games
from desdaemon.protocol.othello.notation import moves_text, parse_moves
from desdaemon.protocol.wire.positions import read_line

EVENTS = '[Event "{}"]{end}[Black "{}"]{end}{end}{}{end}{end}'
SGF = "(;GM[2]PB[Ann]PW[Bob];B[fe];W[df];B[ce])"
GGF = "(;GM[Othello]PB[Ann]PW[Bob]RE[+2]TY[8]BO[8 {} *]B[F5//1.2]W[D6/-1.5/0.3]B[C5];)".format(
    "-------- " * 3 + "---O*--- ---*O--- " + "-------- " * 3
)


def lines_of(games: list[FileGame]) -> str:
    return " ".join(moves_text([played.move for played in game.record.moves]) for game in games)


def wtb(games: int, announced: int | None = None, size: int = 8) -> bytes:
    game = struct.pack("<HHHBB", 0, 0, 0, 33, 33) + bytes([56, 64, 53]).ljust(60, b"\0")
    header = struct.pack("<4BIHH4B", 19, 95, 1, 1, games if announced is None else announced, 0, 1995, size, 0, 0, 0)
    return header + games * game


def archive(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name in names:
            file.writestr(name, "f5d6c5\n")
    return stream.getvalue()


READ: tuple[tuple[str, str | bytes, str], ...] = (
    # Numbers without a dot
    ("x.txt", "1 f5 d6 2 c5 f4", "f5d6c5f4"),
    ("x.txt", "1 f5 d6\n2 c5 f4\n3 d7 f6\n", "f5d6c5f4d7f6"),
    ("x.txt", "1 f5 f6\n2 c4 c3\n", "f5f6c4c3"),
    ("x.txt", "1 f5 2 d6 3 c5 33-31", "f5d6c5"),
    ("x.txt", "1 f5\n2 d6\n3 c5\n", "f5d6c5"),
    ("x.txt", "1f5 2d6 3c5", "f5d6c5"),
    ("x.txt", "1\tf5\td6\n2\tc5\tf4\n", "f5d6c5f4"),
    ("x.txt", "1 f5d6c3d3\n2 f5f6e6f4\n3 f5d6c5\n", "f5d6c3d3 f5f6e6f4 f5d6c5"),
    ("x.txt", "17 f5d6c3d3\n25 c4c3d3c5\n", "f5d6c3d3 c4c3d3c5"),
    # The second move of a number
    ("x.txt", "1.f5\n1...d6\n2.c5\n2...f4\n", "f5d6c5f4"),
    ("x.txt", "1. f5\n1. ... d6\n2. c5\n1. f5\n1\u2026 f6\n", "f5d6c5 f5f6"),
    ("x.txt", "1. f5 1... d6 2. c5", "f5d6c5"),
    # Bullets and quotes
    ("x.txt", "- f5d6c5\n- f5f6e6\n* f5d6c3\n", "f5d6c5 f5f6e6 f5d6c3"),
    ("x.txt", "\u2022 f5d6\n\u2022 1. f5 f6 2. e6\n", "f5d6 f5f6e6"),
    ("x.txt", '"f5d6c5"\n"Ann","Bob","f5f6e6"\n', "f5d6c5 f5f6e6"),
    ("x.txt", "{of a club} f5d6c5", "f5d6c5"),
    # Times and numbers behind moves do not end a game; a result does.
    ("x.txt", "f5 0:12\nd6 0:15\nc5 0:03\n", "f5d6c5"),
    ("x.txt", "f5 12\nd6 15\nc5 3\n33-31\n", "f5d6c5"),
    ("x.txt", "f5d6c5 +2\nf5f6e6 -4\n", "f5d6c5 f5f6e6"),
    # Blanks, marks and ends of lines
    ("x.txt", "f5\u00a0d6\u3000c5\n", "f5d6c5"),
    ("x.txt", "\u200bf5d6\u200bc5\n", "f5d6c5"),
    ("x.txt", "\ufefff5d6\n\ufefff5f6\n\x1a", "f5d6 f5f6"),
    ("x.txt", "f5d6\rf5f6\r", "f5d6 f5f6"),
    *[
        ("x.pgn", "".join(EVENTS.format(name, "Ann", f"1. F5 ; D6{end}D6 2. C5", end=end) for name in "ab"), games)
        for end, games in (("\n", "f5d6c5 f5d6c5"), ("\r\n", "f5d6c5 f5d6c5"), ("\r", "f5d6c5 f5d6c5"))
    ],
    ("x.pgn", '[Event "a"]\n\n1. F5 *\n\ufeff[Event "b"]\n\n1. F5 D6 *\n\x1a', "f5 f5d6"),
    # Results with blanks, numbers without dots, moves without blanks
    ("x.pgn", '[Event "a"]\n\n1. F5 1 - 0\n\n[Event "b"]\n\n1. F5 D6 0 \u2013 1\n', "f5 f5d6"),
    ("x.pgn", "1. F5 33 - 31\n1. F5 D6 1/2 - 1/2\n1. F5 F6 +2\n", "f5 f5d6 f5f6"),
    ("x.pgn", '[Event "a"]\n\n1 F5 D6 2 C5 1-0\n', "f5d6c5"),
    ("x.pgn", '[Event "a"]\n\n1. F5-D6 2. c5f4 *\n', "f5d6c5f4"),
    # What a position is worth, in the signs of books on chess
    ("x.pgn", '[Event "a"]\n\n1. F5 = D6 +- 2. c5 \u00b1 \u221e', "f5d6c5"),
    # Tags without moves, and games in one line
    ("x.pgn", '[Event "a"] [Black "Ann"] 1. F5 1-0 [Event "b"] 1. F5 D6 0-1', "f5 f5d6"),
    ("x.pgn", '[Event "a"]\n1. F5\n[Event "b"]\n1. F5 D6\n', "f5 f5d6"),
    # JSON
    ("x.json", '{"kifu": "f5d6c5"}', "f5d6c5"),
    ("x.json", '{"transcript": "1. f5 d6 2. c5", "moves": 3}', "f5d6c5"),
    ("x.json", '{"kifu": ["f5", "d6"]}', "f5d6"),
    ("x.json", '[{"kifu": "f5d6"}, {"transcript": "f5f6"}]', "f5d6 f5f6"),
    ("x.json", '{"games": [{"moves": ["f5", "d6"]}, {"moves": ["f5", "f6"]}]}', "f5d6 f5f6"),
    ("x.json", '{"games": [{"moves": [{"m": "f5"}]}, {"moves": [{"m": "d3"}]}]}', "f5 d3"),
    ("x.json", '["f5d6c5", "f5f6"]', "f5d6c5 f5f6"),
    ("x.json", '{"moves": ["f5 d6", "c5 f4"]}', "f5d6c5f4"),
    ("x.json", '[["f5", "d6"], ["f5", "f6"]]', "f5d6 f5f6"),
    ("x.json", '{"players": {"black": "Ann", "white": "Bob"}, "moves": "f5d6"}', "f5d6"),
    ("x.json", '{"start": "2026-01-31", "moves": ["f5", "d6"]}', "f5d6"),
    ("x.json", '{"initialFen": "8/8/8/3Pp3/3pP3/8/8/8 b", "moves": ["f5", "d6"]}', "f5d6"),
    ("x.ndjson", '{"kifu": "f5d6"}\n{"kifu": "f5f6"}\n', "f5d6 f5f6"),
    # SGF, GGF, WTHOR
    ("x.sgf", SGF + SGF, "f5d6c5 f5d6c5"),
    ("x.sgf", "(;GM[2];B[fe](;W[df];B[ce])(;W[ff];B[ef]))", "f5d6c5"),
    ("x.sgf", "(;GM[2]RU[WOF 1977, 8 x 8];B[fe])", "f5"),
    ("x.pgn", '[Variant "Othello 8x8"]\n\n1. F5', "f5"),
    ("x.ggf", f"2{GGF}{GGF}\n1 {GGF}", "f5d6c5 f5d6c5 f5d6c5"),
    # As a server, a protocol or a mail has them: words before, but no moves
    *[
        (name, f"{words}{game}\n", "f5d6c5")
        for name in ("x.txt", "x")
        for words in ("/os: look .12\n|1 ", "set game ", "Our game of Friday:\n\n", "((")
        for game in (GGF, SGF)
    ],
    ("x.txt", f"f5d6 # {GGF}", "f5d6"),
    ("x.ggf", GGF.replace("TY[8]", "TY[s8r20]KM[1.5]TI[15:00//02:00]"), "f5d6c5"),
    ("x.wtb", wtb(2), "f5d6c5 f5d6c5"),
    ("x", wtb(1), "f5d6c5"),
)


@pytest.mark.parametrize(("name", "text", "games"), READ)
def test_games_are_read_as_they_are_written(name: str, text: str | bytes, games: str) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    assert lines_of(list(parse_games(data, name))) == games
    assert lines_of(parse_pasted(data, name)) == games


REFUSED: tuple[tuple[str, str | bytes, str], ...] = (
    ("x.txt", "1 f5 d6 2 c5 zz", "zz"),
    ("x.txt", "1 f5 d6\n2 c4 a1\n", "A1"),
    ("x.txt", "- f5 d6 q9\n", "q9"),
    ("x.txt", "1.f5\n1...d6\n2...c5\n", "not that of its next move"),
    ("x.txt", "33 31 f5d6\n", "33"),
    ("x.txt", "['f5', 'd6', 'zz']", "['f5'"),
    ("x.txt", "f5d6c5\n".encode("utf-16"), "UTF-16"),
    ("x.pgn", '["f5", "d6"]', "expected tags"),
    ("x.pgn", '[Event "a"]\n\n1. F5 D6 33', "33"),
    *[
        ("x.pgn", f'[Black "Ann"]\n\n{text}', "expected tags")
        for text in ("[1. F5 D6 2. C5]", "[f5] [d6] [c5]", "[ F5 D6 ]")
    ],
    *[
        ("x.pgn", f'[Variant "{name}"]\n\n1. F5', "another game")
        for name in ("Flipello10", "Octagon Flipello", "Grand Othello", "Othello 6x6", "Antiflipello")
    ],
    ("x.txt", "[f5][d6][c3]", "expected tags"),
    ("x.txt", "[f5d6c3]", "expected tags"),
    ("x.txt", "[Tiger f5d6c3]", "within brackets"),
    ("x.txt", "The e4 Tiger f5d6c3", "The"),
    ("x.txt", "3. ?? f5d6c3", "?"),
    ("x.json", '{"moves": ["f5", "d6", "zz"]}', "zz"),
    *[
        ("x.json", json.dumps({key: f"{'-' * 27}OX------XX{'-' * 7}X{'-' * 19} O", "moves": "f4"}), "another board")
        for key in ("initial", "start", "startBoard", "initial_position", "startingFen")
    ],
    ("x.json", '{"kifu": "f5 d6 zz"}', "zz"),
    ("x.json", '{"kifu": ["f5d6", "c5zz"]}', "zz"),
    ("x.json", '{"kifu": []}', "without moves"),
    ("x.sgf", SGF[:-1], "no end"),
    ("x.sgf", SGF[2:], "outside"),
    ("x.pgn", '[Event"a"\n\nt "*"]1. f5 d6 *', "within brackets"),
    ("x.ggf", GGF[:-8], "no end"),
    ("x.ggf", GGF.replace("TY[8]", "TY[10]"), "size 8"),
    ("x.wtb", wtb(0), "no game"),
    ("x.wtb", wtb(2, size=10), "size 10"),
    ("x.wtb", b"f5d6c3\n" * 9, "not a WTHOR file"),
    ("x.wtb", wtb(0, 3), "announced"),
    *[(name, archive("a.txt", "b.txt"), "an archive") for name in ("x.zip", "x.pgn", "x.wtb", "x")],
    *[("x.7z", magic + bytes(40), "an archive") for magic in (b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07\x01")],
    *[("x.sgf", page, "a web page") for page in ("<!-- saved -->\n<html>", "<title>404</title>", "<body>no</body>")],
    ("x.pgn", "404: Not Found", "Not"),
)


@pytest.mark.parametrize(("name", "text", "reason"), REFUSED)
def test_what_cannot_be_read_is_refused_in_a_line(name: str, text: str | bytes, reason: str) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    complaints: list[str] = []
    try:
        assert list(parse_games(data, name, complaints.append)) == []
    except BadInput as error:
        complaints.append(str(error))
    assert len(complaints) == 1
    assert reason in complaints[0]


@pytest.mark.parametrize("text", ["1. F5 1-0 D6", "1. F5 * 2. D6 C5 *", '[Event "a"]\n\n1. F5 0-1\nD6 1-0\n'])
def test_a_result_ends_a_game_and_moves_behind_it_are_told(text: str) -> None:
    complaints: list[str] = []
    assert lines_of(list(parse_games(text.encode(), "x.pgn", complaints.append))) == "f5"
    assert len(complaints) == 1
    assert "D6" in complaints[0]


def test_tags_without_moves_are_a_game_of_their_own() -> None:
    text = '[Event "a"]\n[Black "Ann"]\n\n[Event "b"]\n[White "Bob"]\n\n1. F5 D6 *\n'
    games = [(game.event, game.record.black, game.record.white) for game in parse_games(text.encode(), "x.pgn")]
    assert games == [("a", "Ann", ""), ("b", "", "Bob")]


def test_a_list_of_games_in_json_names_those_without_moves() -> None:
    complaints: list[str] = []
    text = '{"club": "x", "games": [{"moves": "f5", "black": "Ann"}, {"discs": 3}, {"moves": "d3"}]}'
    games = list(parse_games(text.encode(), "x.json", complaints.append))
    assert [(game.number, game.record.black) for game in games] == [(1, "Ann"), (3, "")]
    assert len(complaints) == 1


@pytest.mark.parametrize("count", [1, 5])
def test_a_wrong_number_of_games_in_wthor_is_told_and_all_are_read(count: int) -> None:
    complaints: list[str] = []
    assert lines_of(list(parse_games(wtb(2, count), "x.wtb", complaints.append))) == "f5d6c5 f5d6c5"
    assert len(complaints) == 1


@pytest.mark.parametrize("data", [wtb(1) + bytes(5), wtb(2)[:-20]])
def test_a_damaged_base_is_read_alike_from_the_disk_and_dropped_on_the_board(data: bytes) -> None:
    read: list[str] = []
    dropped: list[str] = []
    assert list(parse_games(data, "x.wtb", read.append)) == parse_pasted(data, "x.wtb", dropped.append)
    assert read == dropped != []


@pytest.mark.parametrize("text", ["1 f5 d6 2 c5", "1f5 2d6 3c5", "\u200bf5 d6 c5"])
def test_moves_in_commands_and_requests_are_read_like_files(text: str, tmp_path: Path) -> None:
    assert moves_text(parse_moves(text)) == moves_text(read_line({"moves": text}).moves) == "f5d6c5"
    dialogue = Dialogue()
    dialogue.say(f"play {text}")
    assert moves_text(dialogue.session.game.moves) == "f5d6c5"
    (tmp_path / "x.txt").write_text(text, encoding="utf-8")
    dialogue = Dialogue()
    assert dialogue.both(f"load {tmp_path / 'x.txt'}") == ("", "")
    assert moves_text(dialogue.session.game.moves) == "f5d6c5"


@pytest.mark.parametrize("tag", ['[White-Elo "1500"]', '[White.Elo "1500"]', '[White Elo "1500"]', "[White-Elo 1500]"])
def test_a_tag_of_another_name_is_no_player(tag: str) -> None:
    [game] = parse_games(f'{tag}\n[Black "Ann"]\n\n1. F5 D6 *'.encode(), "x.pgn")
    assert (game.record.black, game.record.white) == ("Ann", "")


@pytest.mark.parametrize(("name", "game"), [("x.sgf", SGF), ("x.ggf", GGF)])
@pytest.mark.parametrize("broken", ["(", "(:", ""])
def test_a_game_that_has_lost_its_beginning_is_told(name: str, game: str, broken: str) -> None:
    complaints: list[str] = []
    games = list(parse_games(f"{game}\n{broken}{game[2:]}\n{game}".encode(), name, complaints.append))
    assert (lines_of(games), len(complaints)) == ("f5d6c5 f5d6c5", 1)
    assert "outside of a game" in complaints[0]
