"""Games as other programs and people write them: annotated, damaged, of other variants, and made to be slow."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import sys
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
import referee
from checkout import SHARED
from dialogue import Dialogue

from desdaemon import Board
from desdaemon.clients.gamefiles.pgn import fen_text
from desdaemon.clients.gamefiles.wthor_bases import read_wthor
from desdaemon.clients.pages.parts import winner
from desdaemon.clients.web.pasted import parse_pasted
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games import contents
from desdaemon.protocol.games.bases import FileGame, parse_games, read_games, write_games
from desdaemon.protocol.games.formats import BASE_FORMATS, FORMATS, parse_game
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello.notation import START, board_text, move_text, moves_text, parse_board, parse_moves
from desdaemon.protocol.othello.obf import parse_problem
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import BlackScore, discs_text
from desdaemon.protocol.wire.positions import last_position, read_line


def moves_of(record: GameRecord) -> str:
    return "".join(referee.name(played.move) for played in record.moves)


def read(text: str | bytes, name: str) -> tuple[list[str], list[str]]:
    """The moves of each game, and the complaints."""
    complaints: list[str] = []
    data = text.encode() if isinstance(text, str) else text
    return [moves_of(game.record) for game in parse_games(data, name, complaints.append)], complaints


# Time in proportion to the size

NASTY = (
    *("[", "]", "(", ")", "(;", "(;GM[", "(;GM[2]", "(;GM[2](", "\\", "\\]", "[\\", "[[", "A", "A[", "A[x]", "A ["),
    *(";B[fe", "B[fe]", "{", "}", "{}", "{{}", "{ {", '[A "', '[A "x"]\n', '{\n[A "x"]\n', '"', '\\"', "$", "$1 ", "!"),
    *("1", "1.", "1 ", "1 -", "1-1 ", "...", "%", "\n%", ";", "; ", "#", "F5", "F5 ", "F5-", "F5:+1;", "-", "*", "* "),
    *("|", "X ", " ", "\n", "\r\n", " \n", "--------", "/", "8/", "\u3000", "\uff26", ",", "PA", "P@e3 "),
    *('{"m":', "[{", '{"m":"f5"},', '{"players":{},"variant":"othello","moves":"f5"}\n'),
)  # fmt: skip
STARTS = (
    *("", "(;GM[2]", "(;GM[Othello]", '[Event "x"]\n\n1. F5 ', "X", f"{board_text(START)};"),
    '{"players":{},"variant":"othello","moves":"',
)

_LEAST_S = 0.05 if sys.platform == "win32" else 0.0015
"""A shorter time says nothing. Windows counts a thread's time in steps of 15.6 ms."""


def seconds_of(format: str, text: str) -> float:
    """The time of this thread for reading a text."""
    data = text.encode()
    begun = time.thread_time()
    try:
        if format == "obf":
            parse_problem(text)
        elif format == "pasted":
            parse_pasted(data, "", lambda line: None)
        else:
            list(parse_games(data, f"x.{format}", lambda line: None))
    except BadInput:
        pass
    return time.thread_time() - begun


def grows_evenly(format: str, once: str, four_times: str) -> bool:
    """Whether a text of four times the length is read in less than eight times the time (sixteen times it would take if
    the time grew by the square), or in so little that it says nothing.
    """
    longer = seconds_of(format, four_times)
    return longer < _LEAST_S or longer < 8 * seconds_of(format, once)


@pytest.mark.parametrize("format", [*FORMATS, "ndjson", "pasted", "obf"])
@pytest.mark.parametrize("piece", NASTY)
def test_four_times_the_text_takes_four_times_the_time(format: str, piece: str) -> None:
    for start in STARTS:
        once, four_times = (start + piece * (size // len(piece)) for size in (625, 2_500))
        # Something else may slow a measurement down, but not all five.
        assert any(grows_evenly(format, once, four_times) for _ in range(5)), start


LARGEST_MESSAGE = 256 << 10
"""Most bytes that the gateway takes."""


@pytest.mark.parametrize("piece", ["[", "{", "F5 ", "(;GM[2]", '{\n[A "x"]\n', "--------", '{"m":"f5"},'])
def test_the_largest_message_of_a_page_takes_seconds(piece: str) -> None:
    """It holds up whoever else needs the interpreter. A quarter of it is read here, in at most 2 s."""
    assert any(seconds_of("pasted", piece * (LARGEST_MESSAGE // 4 // len(piece))) < 2 for _ in range(3))


# Annotations

MAIN_LINE = "F5D6C3D3C4"


@pytest.mark.parametrize(
    "moves",
    [
        "1. F5! D6?? 2. C3!? D3?! 3. C4!! *",
        "1. F5 $1 D6 $142 2. C3$3 D3 3. C4 1-0",
        "1. F5 D6 (1... F6 2. E6 (2. D3) F4) 2. C3 D3 (2... C4) 3. C4",
        "1. F5 {a {nested {remark}} here} D6 2. C3 D3 3. C4",
        "1. F5 {a { remark} D6 2. C3 {another} D3 3. C4",
        "1. F5 ; a ( remark {\nD6 2. C3 D3 3. C4",
        "1. F5 D6\n% 9. A1 {\n2. C3 D3 3. C4",
        "1. F5 1... D6 2. C3 ... D3 3. C4 {the [Result \"*\"] of\n[Result \"*\"]\nit}",
        "1.F5 D6 2.C3 D3 3.C4 {at the end} 33-31",
    ],
)  # fmt: skip
@pytest.mark.parametrize("head", ['[Black "Ann"]\n\n', '; of a club\n% and more\n{a remark}\n[Black "Ann"]\r\n\r\n'])
def test_annotations_in_pgn_are_passed_over(head: str, moves: str) -> None:
    record = parse_game(head + moves, "pgn")
    assert (record.black, moves_of(record)) == ("Ann", MAIN_LINE)
    games, complaints = read(f"{head}{moves}\n\n{head}1. D3 *\n", "x.pgn")
    assert (games, complaints) == ([MAIN_LINE, "D3"], [])


# What lacks its end

GOOD = {
    "sgf": "(;GM[2]PB[a];B[fe];W[df])\n",
    "pgn": '[Event "x"]\n[Black "a"]\n\n1. F5 D6 *\n\n',
    "ggf": "(;GM[Othello]B[f5]W[d6];)\n",
}


@pytest.mark.parametrize(
    ("format", "broken", "lost"),
    [
        ("sgf", "(;GM[2]PB[a];B[fe];W[df]\n", "expected )"),
        ("sgf", "(;GM[2];B[fe](;W[df])(;W[ff]\n", "expected )"),
        ("sgf", "(;GM[2]C[a remark ;B[fe];W[df])\n", "not a square"),
        ("sgf", "(;GM[2];B[fe]C[a remark)\n", "the value of C has no end: expected ]"),
        ("sgf", "(;FF[4]GM[2];B[fe]W[\n", "the value of W has no end: expected ]"),
        ("ggf", "(;GM[Othello]B[f5]W[d6]\n", "expected )"),
        ("ggf", "(;GM[Othello]B[f5]W[d6\n", "the value of W has no end: expected ]"),
        ("pgn", '[Event "y"]\n\n1. F5 {a remark D6 2. C3 *\n\n', "a comment has no end: expected }"),
        ("pgn", '[Event "y"]\n\n1. F5 (1. D3 D6 2. C3 *\n\n', "a variation has no end: expected )"),
    ],
)
def test_an_unfinished_game_does_not_take_the_next_one(format: str, broken: str, lost: str) -> None:
    good = GOOD[format]
    if "not a square" in lost:
        broken = "(;GM[2];B[fe;W[df])\n"
    games, complaints = read(good + broken + good * 2, f"x.{format}")
    assert games == ["F5D6"] * 3
    assert len(complaints) == 1
    line = good.count("\n") + 1
    assert complaints[0].startswith(f'"x.{format}": game 2, line {line}: ')
    assert lost in complaints[0]
    games, complaints = read(good * 2 + broken, f"x.{format}")
    assert (games, len(complaints)) == (["F5D6"] * 2, 1)


@pytest.mark.parametrize("root", ["GM[2]", "gm[2]", "GaMe[2]", "FileFormat[1]", "GN[x]", "PlayerBlack[x]", "RU[x]"])
def test_a_game_is_known_by_its_first_property(root: str) -> None:
    """However old files spell it; the games that lack their end are told, one by one."""
    games, complaints = read(f"(;{root};B[fe]\n" * 2 + f"(;{root};B[fe];W[df])\n", "x.sgf")
    assert games == ["F5D6"]
    assert [line.split(": ")[1] for line in complaints] == ["game 1, line 1", "game 2, line 2"]


def test_a_game_within_quotes_is_left_out() -> None:
    assert read("(;GM[2]C[as in (;GM[2\\];B[fe\\]) ];B[fe];W[df])", "x.sgf") == (["F5D6"], [])
    assert read("1. F5 D6 33-31\n\n1. D3 C3 *", "x.pgn") == (["F5D6", "D3C3"], [])


# Other games, other forms


@pytest.mark.parametrize(
    ("format", "text", "reason"),
    [
        ("ggf", "(;GM[Othello]TY[8a]B[f5];)", "anti-Othello"),
        ("ggf", "(;GM[Othello]TY[s8r18a]BO[8 -];)", "anti-Othello"),
        ("ggf", "(;GM[Othello]TY[s8r5]B[f5];)", "begins on a random board"),
        ("ggf", "(;GM[Othello]TY[10]B[f5];)", "size 8"),
        ("sgf", "(;GM[2]RU[Anti-Othello];B[fe])", "another game"),
        ("sgf", "(;GM[2];B[fe];W[df]AB[aa])", "AB after 2 moves"),
        ("sgf", "(;GM[2];B[fe]AE[aa])", "AE after 1 moves"),
        ("pgn", '[Variant "antiflipello"]\n\n1. F5', "another game"),
        ("pgn", '[Variant "Reversed Othello"]\n\n1. F5', "another game"),
        ("sgf", "(;GM[2]RU[mis\u00e8re];B[fe])", "another game"),
        ("sgf", "(;GM[2]RU[inverse];B[fe])", "another game"),
        ("ggf", "(;GM[Othello]TY[anti]B[f5];)", "another game"),
        ("ggf", "(;GM[Othello]TY[k8a]B[f5];)", "anti-Othello"),
        ("ggf", "(;GM[Othello]TY[s8r18:l]B[f5];)", "begins on a random board"),
        ("ggf", "(;GM[Othello]BO[16 --\n\n];)", "size 8"),
        ("ggf", "(;GM[chess\n];)", "expected Othello"),
        ("sgf", "(;GM[2\nCA[UTF-8];B[fe])", "expected a game of Othello"),
        ("sgf", "(;GM[2]SZ[8\n8];B[fe])", "size 8"),
    ],
)
def test_other_games_are_refused_in_a_line(format: str, text: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason) as refused:
        parse_game(text, format)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("sgf", "(;GaMe[2]SiZe[8]PlayerBlack[Ann];Black[fe];White[df];Black[cc];White[dc];Black[cd])"),
        ("sgf", "(;gm[2];b[fe];w[df];b[cc];w[dc];b[cd])"),
        ("sgf", "(;BLACK[fe];WHITE[df];black[cc];white[dc];BLACK[cd])"),
        ("sgf", "(;GM[2]SZ[8:8];B[fe];W[df];B[cc];W[dc];B[cd])"),
        ("sgf", "(;GM[2]RU[Reversi];B[fe];W[df];B[cc];W[dc];B[cd])"),
        ("sgf", "(;GM[2]AB[aa:hh]AE[aa:hh]AB[ed:ed][de]AW[dd][ee]PL[B];B[fe];W[df];B[cc];W[dc];B[cd])"),
        ("ggf", "(;GM[Othello]TY[8]B[f5]W[d6]B[c3]W[d3]B[c4];)"),
        ("txt", "1. f5 2. d6 3. c3 4. d3 5. c4"),
        ("txt", "1.f5 d6 2.c3 d3 3.c4 33-31"),
        ("txt", "1) F5 - D6 2) C3 - D3 3) C4 *"),
        ("txt", "F5-D6-C3-D3-C4"),
        ("txt", "f5 \u2013 d6 \u2013 c3 \u2013 d3 \u2013 c4"),
        ("txt", "f5\u2010d6\u2011c3\u2212d3 \u2015 c4"),
        ("txt", "F5\u30fcD6\u30fcC3\u30fcD3\u30fcC4"),
        ("txt", "f5d6c3d3c4 -1"),
        ("txt", "f5d6c3d3c4 1/2-1/2"),
        ("txt", "f5d6c3d3c4 (33-31)"),
        ("txt", "f5d6c3d3c4 +12"),
        ("txt", "f5d6c3d3c4 W+2"),
        ("txt", "f5d6c3d3c4 # Tiger, then f4"),
        ("txt", "f5d6c3d3c4 ; c"),
        ("txt", "f5d6c3d3c4 // Tiger"),
        ("txt", "f5d6c3d3c4 % Tiger"),
        ("txt", "f5d6c3d3c4 {Tiger}"),
        ("txt", "f5d6c3d3c4 (Tiger)"),
        ("txt", "Tiger | f5d6c3d3c4"),
        ("txt", "f5d6c3d3c4 | Tiger | Tigre"),
        ("txt", "Tiger\tf5d6c3d3c4"),
        ("txt", 'Leader\'s, "Tiger": f5 d6 c3 d3 c4'),
        ("txt", "F.A.T. Draw = f5-d6-c3-d3-c4"),
        ("txt", "\uff26\uff15\uff24\uff16\uff23\uff13\u3000\uff44\uff13\uff43\uff14"),
    ],
)
def test_games_are_read_as_others_write_them(format: str, text: str) -> None:
    record = parse_game(text, format)
    assert moves_of(record) == MAIN_LINE
    assert board_text(record.initial) == board_text(parse_game("F5", "txt").initial)


def test_several_games_of_othello_quest_are_read() -> None:
    games = [{"players": [{"name": name}], "position": {"moves": [{"m": "f5"}, {"m": "-"}]}} for name in ("Ann", "Bob")]
    spoilt = {"players": [], "discs": 12}
    for text in (json.dumps([games[0], spoilt, games[1]]), "\n".join(map(json.dumps, (games[0], spoilt, games[1])))):
        complaints: list[str] = []
        found = parse_pasted(text.encode(), "", complaints.append)
        assert [(game.number, game.record.black, moves_of(game.record)) for game in found] == [
            (1, "Ann", "F5"),
            (3, "Bob", "F5"),
        ]
        assert len(complaints) == 1
        line = 1 + text.count("\n") // 2
        assert complaints[0].startswith(f'"pasted text": game 2, line {line}: JSON without moves')


# Fairy-Stockfish's report on a game of PlayStrategy: ranks count from below, a pass is a square twice.
FAIRY = (
    "P@e3 P@f5 P@e6 P@d7 P@c6 P@d3 P@f4 P@d6 P@c5 P@b5 P@b7 P@b6 P@c7 P@a8 P@f6 P@e7 P@a7 P@b8 P@f7 P@c8 P@c3 P@a6 "
    "P@a5 P@a4 c3c3 P@d8 c3c3 P@b4 P@a3 P@a2 c3c3 P@b3 c3c3 P@c4 c3c3 P@c2 P@b2 P@f3 P@b1 P@a1 P@g3 P@c1 d3d3 P@d2 "
    "P@d1 P@e1 d3d3 P@e2 e3e3"
)


def exported(moves: object, variant: object = "flipello", **more: object) -> str:
    """A game of PlayStrategy, on a line."""
    players = {"p1": {"user": {"name": "Ann", "id": "ann"}, "rating": 1500}, "p2": {"userId": "bob"}}
    game = {"id": "q7ZvsdUF", "variant": variant, "createdAt": 1514505150384, "status": "resign", "winner": "p1"}
    return json.dumps({**game, "players": players, "moves": moves, **more})


def test_games_of_playstrategy_are_read(tmp_path: Path) -> None:
    white = {"white": {"user": {"name": "Ann"}}, "black": {"user": {"name": "Bob"}}}
    lines = [
        exported(FAIRY),
        exported("f5 d6 c3 d3 c4", {"key": "flipello", "name": "Othello"}, players=white),
        exported("f5 d6 c3 d3 c4", {"name": "Othello"}),
        exported("@f4 @d3 @c6", initialFen="8/8/8/3pP3/3Pp3/8/8/8[PPpp] w 0 1"),
        exported(""),
    ]
    path = tmp_path / "ann.ndjson"
    path.write_text("\n".join(lines))
    games = list(read_games(str(path)))
    (tmp_path / "unnamed").write_text("\r\n".join(lines))
    assert list(read_games(str(tmp_path / "unnamed"))) == games == parse_pasted("\n".join(lines).encode())
    assert list(parse_games(f"[{','.join(lines)}]".encode(), "a list")) == games
    dialogue = Dialogue()
    dialogue.say(f"load {path}")
    assert [PlayedMove(move, 0.0) for move in dialogue.session.game.moves] == list(games[0].record.moves)
    assert [(game.record.black, game.record.white) for game in games[:2]] == [("Ann", "bob"), ("Ann", "Bob")]
    assert all((game.event, game.date, game.result) == ("PlayStrategy", "2017-12-28", 1) for game in games)
    assert all(board_text(game.record.initial) == board_text(START) for game in games)
    assert [moves_of(game.record) for game in games[1:]] == [MAIN_LINE, MAIN_LINE, "F5D6C3", ""]
    # Ranks are turned, passes stay.
    words = [word for word in FAIRY.split() if word != "e3e3"]
    turned = [f"{word[2].upper()}{9 - int(word[3])}" if word[1] == "@" else "PA" for word in words]
    assert [move_text(played.move) for played in games[0].record.moves] == turned


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (exported("f5", "flipello10"), '"flipello10" is another game: expected flipello'),
        (exported("f5", {"key": "antiflipello", "name": "Othello"}), '"antiflipello" is another game'),
        (exported("e4", "standard"), '"standard" is another game'),
        (exported("e4", None), "another game"),
        (exported("P@e3 P@a1"), r"A1 \(move 2\) is illegal: expected one of D3 F3 F5"),
        (exported("f5 d6 c3 a1"), r"A1 \(move 4\) is illegal"),
        (exported("Nf3"), '"Nf3" is not a move'),
        (exported(None), "JSON without moves"),
        (exported("f5", initialFen="8/8/8/3PP3/3Pp3/8/8/8 w"), "another board"),
        ('{"players": {"p1"', "expected a game as JSON"),
        ("{" * 5000, "expected a game as JSON"),
        ("17", "JSON without moves"),
    ],
)
def test_a_game_of_a_site_that_is_refused_is_named_by_its_line(line: str, reason: str) -> None:
    good = exported("f5 d6")
    games, complaints = read(f"{good}\n\n{line}\n{good}\n", "x.ndjson")
    assert games == ["F5D6", "F5D6"]
    assert len(complaints) == 1
    assert complaints[0].startswith('"x.ndjson": game 2, line 3: ')
    assert re.search(reason, complaints[0])
    assert len(complaints[0]) < 300


def test_strange_players_and_dates_are_left_out() -> None:
    for players in ({}, {"p1": None, "p2": []}, {"p1": {"aiLevel": 3}, "p2": {"user": None}}):
        for created in (None, "x", -1, 10**40, True, 1.5, []):
            (game,) = parse_games(exported("f5", players=players, createdAt=created).encode(), "x")
            assert (game.record.black, game.record.white) == ("", "")
            assert game.date in ("", "1970-01-01")


# Files

MARK = b"\xef\xbb\xbf"
FILES = {
    "txt": b"f5d6\n",
    "pgn": b'[Black "Zo\xc3\xab"]\n\n1. F5 D6 *\n',
    "sgf": b"(;GM[2];B[fe];W[df])",
    "ggf": b"(;GM[Othello]B[f5]W[d6];)",
}


@pytest.mark.parametrize("format", FILES)
@pytest.mark.parametrize("name", ["x.{}", "x"])
def test_a_byte_order_mark_is_no_part_of_a_game(format: str, name: str) -> None:
    assert read(MARK + FILES[format], name.format(format)) == (["F5D6"], [])
    assert [moves_of(game.record) for game in parse_pasted(MARK + FILES[format])] == ["F5D6"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("format", FILES)
def test_a_file_in_utf_16_is_told(format: str, encoding: str) -> None:
    data = ("\ufeff" if encoding == "utf-16-be" else "").encode(encoding) + FILES[format].decode().encode(encoding)
    for name in (f"x.{format}", "x"):
        with pytest.raises(BadInput, match="this is UTF-16: save it as UTF-8"):
            read(data, name)
    with pytest.raises(BadInput, match="this is UTF-16: save it as UTF-8"):
        parse_pasted(data)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("format", FILES)
def test_a_file_in_utf_16_without_its_mark_is_told(format: str, encoding: str) -> None:
    data = FILES[format].decode().encode(encoding)
    for name in (f"x.{format}", "x"):
        with pytest.raises(BadInput, match="this is UTF-16: save it as UTF-8"):
            read(data, name)


@pytest.mark.parametrize(
    ("charset", "name"),
    [
        ("Shift_JIS", "\u30bd\u8868"),
        ("EUC-JP", "\u864e"),
        ("GB2312", "\u864e"),
        ("ISO-8859-1", "Zo\u00eb"),
        ("", "Zo\u00eb"),
        ("hex", "Zo\u00eb"),
    ],
)
def test_an_sgf_file_names_its_character_set(charset: str, name: str) -> None:
    """In Shift_JIS a letter may end with the byte of a backslash or a bracket."""
    encoding = charset if charset not in ("", "hex") else "latin-1"
    data = f"(;GM[2]PB[{name}]{charset and f'CA[{charset}]'};B[fe])".encode(encoding)
    (game,) = parse_games(data, "x.sgf")
    assert (game.record.black, moves_of(game.record)) == (name, "F5")
    assert [each.record.black for each in parse_pasted(data)] == [name]


@pytest.mark.parametrize("format", ["sgf", "ggf", "pgn", "ndjson", "edx", "wtb"])
def test_names_hold_no_control_characters(format: str, tmp_path: Path) -> None:
    """An escape sequence in a name could write over the lines of other games."""
    name = "A\x1b[2Jnn\x9b1m"
    path = tmp_path / f"x.{format}"
    record = parse_game("f5d6c3", "txt")._replace(black=name)
    if format == "ndjson":
        path.write_text(exported("f5", players={"p1": {"name": name}}))
    elif format in ("edx", "wtb"):
        write_games(str(path), [FileGame(record._replace(black="-" * len(name)))])
        for file in tmp_path.iterdir():
            encoding = "utf-8" if format == "edx" else "latin-1"
            written = name.encode(encoding)
            file.write_bytes(file.read_bytes().replace(b"-" * len(name), written.ljust(len(name), b"\0")[: len(name)]))
    else:
        head = {"sgf": "(;GM[2]PB[{}];B[fe])", "ggf": "(;GM[Othello]PB[{}]B[f5];)", "pgn": '[Black "{}"]\n\n1. F5 *'}
        path.write_text(head[format].format(name.replace("[", "") if format != "pgn" else name), encoding="utf-8")
    (game,) = read_games(str(path))
    assert game.record.black.startswith("A\\x1b")
    assert game.record.black.isprintable()


def test_a_name_over_two_lines_is_one_name() -> None:
    (game,) = parse_games(b"(;GM[2]PB[Ann\n  Bell]EV[a\tb];B[fe])", "x.sgf")
    assert (game.record.black, game.event) == ("Ann Bell", "a b")


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("sgf", "(;GM[2]RE[W+99];B[fe])"),
        ("ggf", "(;GM[Othello]RE[-99.0]B[f5];)"),
        ("pgn", '[Result "99-0"]\n\n1. F5'),
    ],
)
def test_an_impossible_result_is_left_out(format: str, text: str, tmp_path: Path) -> None:
    (game,) = parse_games(text.encode(), f"x.{format}")
    assert game.result is None
    assert write_games(str(tmp_path / "x.wtb"), [game]) == 1


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("format", BASE_FORMATS)
def test_packed_files_are_read(format: str, kind: str, tmp_path: Path) -> None:
    plain, packed = tmp_path / f"x.{format}", tmp_path / f"X.{format.upper()}.{kind}"
    games = [FileGame(parse_game("f5d6c3", "txt")._replace(black="Ann", white="Bob")) for _ in range(3)]
    write_games(str(plain), games)
    data = PACKERS[kind](plain.read_bytes())
    plain.unlink()
    for path in (packed, tmp_path / "unnamed"):
        path.write_bytes(data)
        assert [moves_of(game.record) for game in read_games(str(path))] == ["F5D6C3"] * 3
    if format == "wtb":
        (tmp_path / "x.jou").rename(tmp_path / "X.JOU")
        assert next(read_games(str(packed))).record.black == "Ann"


def test_damaged_packed_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.pgn.gz"
    path.write_bytes(gzip.compress(FILES["pgn"])[:-9])
    with pytest.raises(BadInput, match="cannot be unpacked"):
        list(read_games(str(path)))
    monkeypatch.setattr(contents, "LARGEST_UNPACKED", 1000)
    path.write_bytes(gzip.compress(b"\n" * 2000))
    with pytest.raises(BadInput, match="more than 1000 bytes when unpacked"):
        list(read_games(str(path)))
    path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    with pytest.raises(BadInput, match="unpack"):
        list(read_games(str(path)))


def records(suffix: str, count: int) -> bytes:
    """A file of ``count`` games."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x.{suffix}"
        write_games(str(path), [FileGame(parse_game("f5d6c3", "txt"))] * count)
        return path.read_bytes()


@pytest.mark.parametrize(("suffix", "head", "size", "move"), [("wtb", 16, 68, 8), ("edx", 0, 160, 88)])
def test_one_bad_record_does_not_refuse_the_others(suffix: str, head: int, size: int, move: int) -> None:
    data = bytearray(records(suffix, 4))
    data[head + size + move + 1 : head + size + move + 2] = b"\x63" if suffix == "wtb" else b"\x7f"
    games, complaints = read(bytes(data), f"x.{suffix}")
    assert games == ["F5D6C3"] * 3
    assert len(complaints) == 1
    assert "game 2" in complaints[0]
    numbers = [game.number for game in parse_games(bytes(data), f"x.{suffix}", lambda line: None)]
    assert numbers == [1, 3, 4]


@pytest.mark.parametrize("suffix", ["wtb", "edx"])
def test_a_file_cut_short_gives_its_whole_games(suffix: str, tmp_path: Path) -> None:
    games, complaints = read(records(suffix, 4)[:-30], f"x.{suffix}")
    assert games == ["F5D6C3"] * 3
    assert len(complaints) == 1
    told = {"wtb": "4 games of 68 bytes announced, expected 288 bytes: the file has 258", "edx": "not a multiple"}
    assert told[suffix] in complaints[0]
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(records(suffix, 4)[:-30])
    dialogue = Dialogue()
    assert dialogue.both(f"load {path}") == ("", "")
    assert len(dialogue.session.game.moves) == 3


def test_names_cut_short_are_those_that_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.wtb"
    record = parse_game("f5d6c3", "txt")
    write_games(str(path), [FileGame(record._replace(black="Ann", white="Bob"))])
    names = tmp_path / "x.jou"
    names.write_bytes(names.read_bytes()[:-7])
    complaints: list[str] = []
    (game,) = read_games(str(path), complaints.append)
    assert (game.record.black, game.record.white) == ("Ann", "")
    assert len(complaints) == 1
    assert "x.jou" in complaints[0]


@pytest.mark.parametrize("format", ["ggf", "sgf", "pgn", "edx", "wtb"])
def test_a_name_that_is_no_text_is_escaped(format: str, tmp_path: Path) -> None:
    path = str(tmp_path / f"x.{format}")
    write_games(path, [FileGame(parse_game("f5d6c3", "txt")._replace(black="engine \udcff"))])
    (game,) = read_games(path)
    assert game.record.black.startswith("engine")


@pytest.mark.parametrize("format", BASE_FORMATS)
def test_an_empty_file_has_no_games(format: str) -> None:
    with pytest.raises(BadInput, match="the file is empty"):
        read(b"", f"x.{format}")


# ------------------------------------------------------------------------------------------------ tags that are none


@pytest.mark.parametrize(
    ("tag", "event"),
    [
        ('[Event "Coupe "X" 1995"]', 'Coupe "X" 1995'),
        ("[Event 'x']", "x"),
        ("[Event x]", "x"),
        ('[Event""]', ""),
        ('[Event"close"]', "close"),
        ('[ Event  "Parties du "Coq""]  ', 'Parties du "Coq"'),
        ("[Event 'x'] [Date '1995.01.02']", "x"),
        ("[Event x][Date 1995]", "x"),
        ("[Event \"x\"] [Date '1995']", "x"),
        ("[Event 'x'] [Date \"1995\"] ", "x"),
        ('[Event "x [y] z"] [Date "1995"]', "x [y] z"),
        ('[Event "x"', "x"),
        ('[Event "x', "x"),
        ('[Event "x]', "x"),
        ('[Event x"]', "x"),
        ('Event "x"]', "x"),
        ('[Event: "x"]', "x"),
        ("[Event = 'x']", "x"),
        ("[Event \u201cx\u201d]", "x"),
        ("[Event \u201cx\u201d", "x"),
        ("[Event \u00abx\u00bb]", "x"),
    ],
)
def test_a_tag_that_is_not_well_formed_ends_the_game_before_it(tag: str, event: str, tmp_path: Path) -> None:
    path = tmp_path / "two.pgn"
    path.write_text(f'[Event "first"]\n\n1. F5 D6 2. C3\n\n{tag}\n[White "Ann"]\n\n1. F5 F6 *\n')
    complaints: list[str] = []
    first, second = read_games(str(path), complaints.append)
    assert complaints == []
    assert (first.event, len(first.record.moves)) == ("first", 3)
    assert (second.event, second.record.white, len(second.record.moves)) == (event, "Ann", 2)
    assert second.date[:4] == ("1995" if "Date" in tag else "")


@pytest.mark.parametrize("tag", ["[Event x]", "[Event]", "[Event 'x'] [Date 'y']", "[ Event x ]"])
@pytest.mark.parametrize("remark", ["", " {the end}"])
def test_a_comment_without_end_leaves_the_next_game(tag: str, remark: str) -> None:
    games, complaints = read(f"1. F5 {{a remark D6\n\n{tag}\n\n1. F5 F6{remark} *\n", "x.pgn")
    assert games == ["F5F6"]
    assert len(complaints) == 1
    assert "a comment has no end" in complaints[0]


@pytest.mark.parametrize(("name", "most"), [("WTHOR-1990-r.pgn.xz", 2986), ("WTH_1990-python.pgn.xz", 300)])
def test_the_games_of_a_year_are_those_of_wthor(name: str, most: int) -> None:
    """All of one file, the first of the other."""
    path, truth = SHARED / "data" / "pgn" / name, SHARED / "data" / "wthor" / "WTH_1990.wtb"
    if not path.exists() or not truth.exists():
        pytest.skip("needs games of WTHOR as PGN")
    complaints: list[str] = []
    reading = read_games(str(path), complaints.append)
    games = Counter(
        bytes(move.move for move in game.record.moves if move.move != PASS) for game in islice(reading, most)
    )
    assert complaints == []
    known = Counter(bytes(game.moves) for game in read_wthor(str(truth), complaints.append).games.values())
    assert games <= known
    assert known.total() == 2986
    assert games.total() == most
    assert most < 2986 or next(reading, None) is None


# ------------------------------------------------------------------------------------------------ several lines


@pytest.mark.parametrize(
    "text",
    [
        "1. f5 d6 2. c3 d3\n3. c4 f4 4. f6 f3\n",
        "1. f5 d6\n2. c3 d3\n\n3. c4 f4\n4. f6 f3\n",
        "1.F5 2.d6 3.C3\n4.d3 5.C4\n6.f4 7.F6 8.f3 35-29\n",
        "1. f5 d6 2. c3\n2... d3 3. c4 f4\n4. f6 f3\n",
        "f5 d6 c3 d3\nc4 f4 f6 f3\n",
        "f5d6c3\n\nd3c4f4\nf6f3\n",
        "f5\nd6\nc3\nd3\nc4\nf4\nf6\nf3\n",
        "1. f5 d6 2. c3\nd3 3.\nc4 f4 4. f6 f3\n",
        "f5 d6\nc3\nd3\nc4 f4\nf6 f3\n",
        "F5-D6-C3-D3\n# half of it\nC4-F4-F6-F3\n35-29\n",
    ],
)
def test_a_game_may_take_several_lines(text: str, tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_text(text + "f5f6e6\n" + text)
    complaints: list[str] = []
    games = [game.record for game in read_games(str(path), complaints.append)]
    assert complaints == []
    assert [len(game.moves) for game in games] == [8, 3, 8]
    assert parse_game(text, "txt").moves == games[0].moves


WRONG_SEQUELS = (
    "1. f5 d6\n3. c4 zz\n",
    "1. f5 d6 2. c3 d3\n3. c4 zz\n",
    "1. f5 d6 2. c3 d3\n3. a1\n4. c4 c3\n",
    "1. f5 d6 2. c3 d3\n2. c4 c3\n",
    "1. f5 d6\n4. c4 c3\n",
    "f5 d6 c3 d3\nc4 zz\nf6 f3\n",
    "f5 d6 c3 d3\nzz c4\nf4 f6\n",
    "f5 d6 c3 d3\nc3 f4\n",
    "f5d6c3\nd3a1\n",
)


@pytest.mark.parametrize("text", WRONG_SEQUELS)
def test_a_game_whose_next_line_is_wrong_is_refused_as_a_whole(text: str, tmp_path: Path) -> None:
    games, complaints = read(text + "f5f6e6\n", "x.txt")
    assert (games, len(complaints)) == (["F5F6E6"], 1)
    with pytest.raises(BadInput):
        parse_game(text, "txt")
    with pytest.raises(BadInput):
        parse_pasted(text.encode())
    (tmp_path / "x.txt").write_text(text)
    dialogue = Dialogue()
    said, warned = dialogue.both(f"load {tmp_path / 'x.txt'}")
    assert not said
    assert warned.count("\n") == 1
    assert not dialogue.session.game.moves


def test_a_bad_line_of_a_list_takes_no_game_along() -> None:
    games, complaints = read("f5d6\nf5a1\nf5f6a1\nzz\nf5f6\nAnn - Bob\nf5d6c3\n", "x.txt")
    assert games == ["F5D6", "F5F6", "F5D6C3"]
    assert [line.split(": ")[1] for line in complaints] == [f"game {n}, line {n}" for n in (2, 3, 4, 6)]
    games, complaints = read("1. f5d6c3d3\n2. f5f6e6zz\n3. f5f6\n", "x.txt")
    assert (games, len(complaints)) == (["F5D6C3D3", "F5F6"], 1)
    for text in ("f5d6\ne6f4\nf5d7\na1\nd3c3\n", "1. f5d6\n2. e6f4\n3. c4zz\n4. d3c3\n"):
        games, complaints = read(text, "x.txt")
        assert games == ["F5D6", "E6F4", "D3C3"]
        assert len(complaints) == (2 if "a1" in text else 1)


def test_a_paste_has_the_games_of_a_file() -> None:
    for text in ("f5d6\nc4c3\n", "f5 d6 c3 d3\nc4 f4\n", "f5d6c3\nf5f6\n", "1. f5d6\n2. f5f6\n"):
        assert [moves_of(game.record) for game in parse_pasted(text.encode())] == read(text, "x.txt")[0]


def test_the_lines_of_a_numbered_list_are_games(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("1. f5d6c3d3\n2. f5f6e6f4\n3. f5d6c5\n3) f5f4\n")
    complaints: list[str] = []
    games = [len(game.record.moves) for game in read_games(str(path), complaints.append)]
    assert (games, complaints) == ([4, 4, 3, 2], [])


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("sgf", "(;GM[2]PB[Ann]PW[Bob]RE[W+12]MOVES)"),
        ("ggf", "(;GM[Othello]PB[Ann]PW[Bob]RE[-12.00]TY[8]MOVES;)"),
        ("pgn", '[Event "x"]\n[Black "Ann"]\n[White "Bob"]\n[Result "20-44"]\n\nMOVES 0-64\n'),
    ],
)
def test_the_finished_board_decides_not_what_the_file_claims(suffix: str, text: str, tmp_path: Path) -> None:
    record = finished()
    squares = [move_text(move.move) for move in record.moves]
    colours = ["BW"[ply % 2] for ply in range(len(squares))]
    moves = {
        "sgf": "".join(f";{colour}[{square.lower()}]" for colour, square in zip(colours, squares, strict=True)),
        "ggf": f"BO[8 {board_text(START)[:64].replace('X', '*')} *]"
        + "".join(f"{colour}[{square}]" for colour, square in zip(colours, squares, strict=True)),
        "pgn": " ".join(squares),
    }[suffix]
    path = tmp_path / f"game.{suffix}"
    path.write_text(text.replace("MOVES", moves))
    [game] = read_games(str(path))
    assert game.result == 64


def finished() -> GameRecord:
    """A game that Black wins by 64 discs."""
    return parse_game("e6f4e3f6g5d6e7f5c5", "txt")


def test_lines_with_a_number_alone_do_not_lengthen_a_game(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_text("1. f5 d6\n" + "2.\n" * 5000)
    begun = time.process_time()
    complaints: list[str] = []
    games = list(read_games(str(path), complaints.append))
    assert len(games[0].record.moves) == 2
    assert time.process_time() - begun < 10


# ------------------------------------------------------------------------------------------------ the same everywhere

ENDED = "E6F4E3F6G5D6E7F5C5"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.txt", f"{ENDED}PAPA"),
        ("x.txt", f"{ENDED}\npa\n"),
        ("x.pgn", f"{' '.join(re.findall('..', ENDED))} -- pass 64-0"),
        ("x.sgf", "(;GM[2];B[ef];W[fd];B[ec];W[ff];B[ge];W[df];B[eg];W[fe];B[ce];W[--];B[])"),
        ("x.ggf", "(;GM[Othello]B[E6]W[F4]B[E3]W[F6]B[G5]W[D6]B[E7]W[F5]B[C5]W[--]B[PA];)"),
        ("x.ndjson", exported(" ".join(re.findall("..", ENDED.lower())) + " a1a1 a1a1")),
        ("x.ndjson", json.dumps({"moves": [*re.findall("..", ENDED), "PA", "--"]})),
    ],
)
def test_passes_after_the_end_are_left_out(name: str, text: str) -> None:
    assert read(text, name) == ([ENDED], [])
    assert [moves_of(game.record) for game in parse_pasted(text.encode(), name)] == [ENDED]


def test_two_dashes_are_a_pass_in_every_format() -> None:
    board = f"{'X' * 6}O-{'X' * 56} O"
    start = parse_board(board)
    assert start.must_pass
    setup = "AB[aa:hh]AE[ha][ga]AW[ga]"
    squares = board[:64].replace("X", "*")
    for name, text in {
        "x.ggf": f"(;GM[Othello]BO[8 {squares} O]W[--]B[H1];)",
        "x.sgf": f"(;GM[2]{setup}PL[W];W[--];B[ha])",
        "x.txt": f"{board};-- h1",
        "x.pgn": f'[FEN "{fen_text(start)}"]\n\n1. -- H1 *\n',
    }.items():
        (game,) = parse_games(text.encode(), name)
        assert (game.record.initial, [played.move for played in game.record.moves]) == (start, [PASS, 7]), name


@pytest.mark.parametrize("text", ["1. f5 d6 2. c3", "f5-d6-c3", "F5 - D6 - C3", "ｆ５ｄ６ｃ３", "1.f5 2.d6 3.c3 33-31"])  # noqa: RUF001
def test_moves_are_read_alike_in_files_commands_and_requests(text: str) -> None:
    dialogue = Dialogue()
    dialogue.say(f"play {text}")
    assert moves_text(dialogue.session.game.moves) == "f5d6c3"
    assert moves_text(read_line({"moves": text}).moves) == "f5d6c3"
    assert last_position({"moves": text}) == last_position({"moves": "f5d6c3"})
    assert Board(text).line == "f5d6c3"
    assert read(text, "x.txt") == (["F5D6C3"], [])


@pytest.mark.parametrize("text", ["33-31", "12", "1. f5 zz", "f5 d6: zz"])
def test_a_text_without_moves_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        parse_moves(text)


@pytest.mark.parametrize(
    "text",
    [
        '[Black "Ann"]\n\n1. F5 D6 *\n',
        '; of a club\n% 1995\n{a\nremark}\n\n[Black "Ann"]\n\n1. F5 D6 *\n',
        "(;GM[2]PB[Ann];B[fe];W[df])",
    ],
)
def test_a_text_file_is_loaded_by_its_content(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(text)
    dialogue = Dialogue()
    assert dialogue.both(f"load {tmp_path / 'x.txt'}") == ("", "")
    assert moves_text(dialogue.session.game.moves) == "f5d6"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"moves": ["f5", "d6"]}', ("", "")),
        ('["f5", "d6"]', ("", "")),
        ('[{"moves": ["F5", "D6"], "players": ["Ann", "Bob"]}]', ("Ann", "Bob")),
        ('{"black": "Ann", "white": "Bob", "moves": "1. f5 d6"}', ("Ann", "Bob")),
    ],
)
def test_moves_as_strings_in_json_are_a_game(text: str, names: tuple[str, str]) -> None:
    for name in ("x.ndjson", "x.txt", "x"):
        (game,) = parse_games(text.encode(), name)
        assert (moves_of(game.record), game.record.black, game.record.white, game.event) == ("F5D6", *names, "")
    assert [moves_of(game.record) for game in parse_pasted(text.encode())] == ["F5D6"]


STAND_INS = {
    "git lfs pull": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 203064\n",
    "git annex get": b"/annex/objects/SHA256E-s203064--4d7a.wtb\n",
    "a web page": b"\n<!DOCTYPE html>\n<html><title>404</title></html>\n",
}


@pytest.mark.parametrize("format", [*BASE_FORMATS, "ndjson", "jou"])
@pytest.mark.parametrize("reason", STAND_INS)
def test_pages_and_pointers_in_place_of_a_file_are_named(format: str, reason: str, tmp_path: Path) -> None:
    base = tmp_path / f"x.{'wtb' if format == 'jou' else format}"
    write_games(str(tmp_path / "x.wtb"), [FileGame(parse_game("f5d6c3", "txt"))])
    (tmp_path / f"x.{format}").write_bytes(STAND_INS[reason])
    complaints: list[str] = []
    if format == "jou":
        assert len(list(read_games(str(base), complaints.append))) == 1
    else:
        with pytest.raises(BadInput, match=reason) as refused:
            list(read_games(str(base), complaints.append))
        complaints.append(str(refused.value))
    assert len(complaints) == 1
    assert reason in complaints[0]


@pytest.mark.parametrize(
    ("name", "text", "result"),
    [
        *[("x.sgf", f"(;GM[2]RE[{won}];B[fe])", 1) for won in ("B+R", "b+", "B+Resign", "B+T", "B+:t", "B+Forfeit")],
        *[("x.sgf", f"(;GM[2]RE[{won}];B[fe])", -1) for won in ("W+R", "w+", "W+Time", "W+F", "W+:r")],
        *[("x.sgf", f"(;GM[2]RE[{none}];B[fe])", None) for none in ("?", "Void", "B", "B+x", "+R")],
        ("x.pgn", '[Result "1-0"]\n\n1. F5 1-0', 1),
        ("x.pgn", '[Result "0-1"]\n\n1. F5 0-1', -1),
        ("x.pgn", '[Result "1/2-1/2"]\n\n1. F5 1/2-1/2', 0),
        ("x.pgn", '[Result "*"]\n\n1. F5 *', None),
    ],
)
def test_a_winner_without_discs_is_a_result(name: str, text: str, result: int | None, tmp_path: Path) -> None:
    (game,) = parse_games(text.encode(), name)
    assert game.result == result
    for format in ("sgf", "pgn", "ggf"):
        write_games(str(tmp_path / f"y.{format}"), [game])
        assert next(read_games(str(tmp_path / f"y.{format}"))).result == result
    write_games(str(tmp_path / "y.wtb"), [game])
    written = next(read_games(str(tmp_path / "y.wtb"))).result
    assert written == (None if result is None else 2 * result)


def test_a_win_without_discs_is_told_as_one() -> None:
    assert [winner(score) for score in (1, -1, 12, 0, None)] == ["Black", "White", "Black +12", "draw", ""]
    assert [discs_text(BlackScore(score)) for score in (1, -1, 12, 0)] == ["1-0", "0-1", "38-26", "32-32"]
