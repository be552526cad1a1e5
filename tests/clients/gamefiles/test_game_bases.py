"""Files of many games: what is written is read, real bases read whole, and each bad file gets one line."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
import referee
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_games import OTHER_START, random_game, with_pass

from desdaemon.clients.gamefiles import edx, wthor
from desdaemon.clients.gamefiles.ggf import ggf_text
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.bases import FileGame, parse_games, read_games, write_games
from desdaemon.protocol.games.formats import BASE_FORMATS
from desdaemon.protocol.games.records import ClockTerms, GameRecord
from desdaemon.protocol.othello.notation import START, parse_board, parse_moves
from desdaemon.protocol.othello.rules import PASS

# A base put together by hand: the beginning of a game, and one without moves as Edax writes it.
HEADER = struct.pack("<4BIHH4B", 20, 26, 2, 24, 2, 0, 1977, 8, 0, 24, 0)
OPENING = parse_moves("f5d6c3d3c4f4c5b3c2")
CODES = [10 * (move // 8 + 1) + move % 8 + 1 for move in OPENING]
GAME = struct.pack("<HHHBB60s", 1, 2, 3, 34, 33, bytes(CODES))
BASE = HEADER + GAME + struct.pack("<HHHBB60s", 0, 0, 0, 225, 225, bytes([92] * 60))


def plain(seed: int, plies: int = 70) -> GameRecord:
    """A random game with names that every format has room for."""
    return random_game(seed, plies)._replace(black=f"Player {seed % 7}", white="Zoë")


def file_games(count: int, plies: int = 70) -> list[FileGame]:
    return [FileGame(plain(seed, plies), seed + 1, "Open", "1997") for seed in range(count)]


def moves_of(game: GameRecord) -> list[int]:
    """Moves, without a last pass, which only some formats have a place for."""
    return [played.move for played in game.moves if played.move != PASS]


# The bytes of WTHOR


def test_a_wthor_base_has_the_documented_bytes() -> None:
    base = wthor.parse(BASE, "x.wtb")
    assert base.header == wthor.WthorHeader((2026, 2, 24), 2, 1977, 8, 24)
    assert base.games[1] == wthor.WthorGame(bytes(OPENING), 34, 33, 1, 2, 3)
    assert base.games[2].moves == b""
    assert wthor.to_bytes([base.games[1]], base.header)[16:] == GAME


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", '"x.wtb": not a WTHOR file: 0 bytes, the header alone has 16'),
        (b"\x7fELF" + bytes(80), '"x.wtb": not a WTHOR file: its date is 70.76.'),
        (BASE[:-1], '"x.wtb": offset 4: 2 games of 68 bytes announced, expected 152 bytes: the file has 151'),
        (BASE + GAME, '"x.wtb": offset 4: 2 games of 68 bytes announced, expected 152 bytes: the file has 220'),
        (BASE[:12] + b"\x0a" + BASE[13:], '"x.wtb": offset 12: a board of size 10: expected 8'),
        (
            BASE[:25] + b"\x63" + BASE[26:],
            '"x.wtb": offset 25: game 1, move 2 is 99: expected 10 * row + column, 11 to 88',
        ),
        (BASE[:25] + b"\0" + BASE[26:], '"x.wtb": offset 26: game 1, move 3 is 33: expected 0, since the game ended'),
    ],
)
def test_files_that_are_no_wthor_base_are_refused(data: bytes, line: str) -> None:
    with pytest.raises(BadInput) as error:
        wthor.parse(data, "x.wtb")
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)


def test_an_illegal_move_is_named_with_its_game_and_offset() -> None:
    second = BASE[:84] + struct.pack("<HHHBB60s", 0, 0, 0, 32, 32, bytes([56, 11]))
    lines: list[str] = []
    games = list(parse_games(second, "x.wtb", lines.append))
    assert [game.number for game in games] == [1]
    assert lines == ['"x.wtb": game 2, offset 84: A1 (move 2) is illegal: expected one of F4 D6 F6']
    with pytest.raises(BadInput, match="game 2, offset 84"):
        list(parse_games(second, "x.wtb"))


def test_the_real_bases_have_their_number_of_games(shared_data: Path) -> None:
    """All 191,914 games, byte for byte; the names; and the results of a year by the referee of this project's rules."""
    games = 0
    for path in sorted((shared_data / "wthor").glob("*.wtb")):
        data = path.read_bytes()
        base = wthor.parse(data, path.name)
        games += len(base.games)
        assert wthor.to_bytes(base.games.values(), base.header) == data
    assert games == 191_914
    assert len(wthor.read_names(str(shared_data / "wthor" / "WTH.JOU"))) == 4448
    assert len(wthor.read_names(str(shared_data / "wthor" / "WTH.TRN"))) == 492
    read = list(read_games(str(shared_data / "wthor" / "WTH_1980.wtb")))
    assert (read[0].date, read[0].event) == ("1980", "World Championship")
    for game in read:
        cells = referee.start()
        for played in game.record.moves:
            cells = referee.passed(cells) if played.move == PASS else referee.play(cells, played.move)
        if referee.game_over(cells):
            score = referee.final_score(cells)
            assert game.result == (score if len(game.record.moves) % 2 == 0 else -score)


@pytest.mark.slow
def test_every_game_of_the_real_bases_is_legal(shared_data: Path) -> None:
    for path in sorted((shared_data / "wthor").glob("*.wtb")):
        for _ in read_games(str(path)):
            pass


def refused_or_read(data: bytes, name: str) -> None:
    lines: list[str] = []
    try:
        list(parse_games(data, name, lines.append))
    except BadInput as error:
        lines.append(str(error))
    assert all(line.startswith(f'"{name}": ') and "\n" not in line for line in lines)


# Every format


@pytest.mark.parametrize("format", BASE_FORMATS)
def test_written_games_are_read_back(format: str, tmp_path: Path) -> None:
    path = str(tmp_path / f"base.{format}")
    games = [*file_games(12), FileGame(with_pass(), 13, "Open", "1997")]
    assert write_games(path, games) == 13
    read = list(read_games(path))
    assert [game.number for game in read] == list(range(1, 14))
    for game, original in zip(read, games, strict=True):
        assert moves_of(game.record) == moves_of(original.record)
        assert game.record.final == original.record.final or not game.record.final.moves
        if format != "txt" and original.number < 13:
            assert (game.record.black, game.record.white) == (original.record.black, original.record.white)
        if format not in ("txt", "edx"):
            assert (game.event, game.date) == ("Open", "1997")


@pytest.mark.parametrize("format", ["ggf", "sgf", "pgn", "wtb"])
def test_an_unfinished_game_keeps_its_result(format: str, tmp_path: Path) -> None:
    path = str(tmp_path / f"base.{format}")
    results = [-64, -12, 0, 4, None]
    write_games(path, [FileGame(plain(3, 20), result=result) for result in results])
    assert [game.result for game in read_games(path)] == results


@given(main=st.integers(0, 10**7), increment=st.integers(0, 10**5), other=st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_clocks_of_ggf_are_read(main: int, increment: int, other: int) -> None:
    game = plain(1, 5)._replace(black_clock=ClockTerms(main, increment), white_clock=ClockTerms(other, increment))
    read = next(parse_games(ggf_text(game, "").encode(), "x.ggf")).record
    for found, told in ((read.black_clock, game.black_clock), (read.white_clock, game.white_clock)):
        assert found == pytest.approx(told)


@pytest.mark.parametrize("format", BASE_FORMATS)
def test_games_are_added_to_a_base(format: str, tmp_path: Path) -> None:
    path = str(tmp_path / f"base.{format}")
    first, second = file_games(3), file_games(5)[3:]
    write_games(path, first, append=True)
    write_games(path, second, append=True)
    read = list(read_games(path))
    assert [moves_of(game.record) for game in read] == [moves_of(game.record) for game in [*first, *second]]
    if format == "wtb":
        assert [game.record.black for game in read] == [f"Player {seed}" for seed in range(5)]
        assert read[4].event == "Open"


def test_nameless_players_stay_nameless(tmp_path: Path) -> None:
    path = tmp_path / "base.wtb"
    path.write_bytes(
        wthor.to_bytes([wthor.WthorGame(bytes(OPENING), 40, 40, 9, 5, 6)], wthor.WthorHeader((2026, 1, 1), 1))
    )
    write_games(str(path), file_games(1), append=True)
    read = [(game.record.black, game.event) for game in read_games(str(path))]
    assert read == [("", ""), ("Player 0", "Open")]


def test_the_names_of_a_base_are_its_own(tmp_path: Path) -> None:
    """Names that belong to a whole folder are read and never written; those of a base are replaced in any case."""
    path, common = tmp_path / "new.wtb", tmp_path / "WTH.JOU"
    common.write_bytes(wthor.names_to_bytes(["???", "Common"], (2026, 1, 1), wthor.PLAYER_BYTES))
    before = common.read_bytes()
    path.write_bytes(
        wthor.to_bytes([wthor.WthorGame(bytes(OPENING), 40, 40, 0, 1, 0)], wthor.WthorHeader((2026, 1, 1), 1))
    )
    assert [game.record.black for game in read_games(str(path))] == ["Common"]
    write_games(str(path), file_games(1), append=True)
    assert [game.record.black for game in read_games(str(path))] == ["Common", "Player 0"]
    assert common.read_bytes() == before
    (tmp_path / "new.jou").rename(tmp_path / "NEW.JOU")
    write_games(str(path), file_games(2)[1:], append=True)
    assert [game.record.black for game in read_games(str(path))] == ["Common", "Player 0", "Player 1"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["NEW.JOU", "WTH.JOU", "new.trn", "new.wtb"]


@pytest.mark.parametrize("format", ["txt", "ggf", "sgf", "pgn", "edx"])
def test_games_from_other_boards_keep_their_start(format: str, tmp_path: Path) -> None:
    path = str(tmp_path / f"base.{format}")
    game = random_game(3, 20, parse_board(OTHER_START))._replace(black="a", white="b")
    write_games(path, [FileGame(game)] * 2)
    assert [read.record.initial for read in read_games(path)] == [game.initial] * 2


def test_a_wthor_base_has_one_start(tmp_path: Path) -> None:
    path = tmp_path / "base.wtb"
    game = random_game(3, 20, parse_board(OTHER_START))
    with pytest.raises(BadInput, match="game 1 begins on another board"):
        write_games(str(path), [FileGame(game)])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", BASE_FORMATS)
def test_the_content_tells_the_format_where_the_name_does_not(format: str, tmp_path: Path) -> None:
    path = tmp_path / f"base.{format}"
    write_games(str(path), file_games(3))
    foreign = tmp_path / "games"
    shutil.move(path, foreign)
    assert [moves_of(game.record) for game in read_games(str(foreign))] == [moves_of(plain(seed)) for seed in range(3)]


@pytest.mark.parametrize("format", ["ggf", "sgf", "pgn", "txt"])
def test_a_bad_game_leaves_the_good_ones(format: str, tmp_path: Path) -> None:
    """The line names game and line, and the others are read."""
    path = tmp_path / f"base.{format}"
    write_games(str(path), file_games(3))
    good = path.read_text()
    write_games(str(path), [FileGame(GameRecord(START, random_game(1, 8).moves))])
    one = path.read_text()
    broken = {"ggf": "*]B[A1]", "sgf": ";B[aa]", "pgn": "1. A1", "txt": "A1"}[format]
    spoiled = one.replace({"ggf": "*]", "sgf": ";B[", "pgn": "1. ", "txt": ""}[format], broken + " ", 1)
    between = "\n" if format == "pgn" else ""
    path.write_text(good + between + (spoiled if format != "txt" else broken + "\n") + between + good)
    lines: list[str] = []
    assert [game.number for game in read_games(str(path), lines.append)] == [1, 2, 3, 5, 6, 7]
    line = (good + between).count("\n") + 1
    assert len(lines) == 1
    assert lines[0].startswith(f'"{path}": game 4, line {line}: ') or len(str(path)) > 60
    assert "A1" in lines[0] or "aa" in lines[0]


def test_an_unfinished_ggf_game_is_no_part_of_the_next() -> None:
    game = "(;GM[Othello]BO[8 ---------------------------O*------*O--------------------------- *]B[F5]W[D6];)"
    text = f"{game}\n{game[:60]}\n{game} 2 {game}{game}\n"
    lines: list[str] = []
    assert [read.number for read in parse_games(text.encode(), "x.ggf", lines.append)] == [1, 3, 4, 5]
    assert len(lines) == 1
    assert lines[0].startswith('"x.ggf": game 2, line 2: ')


def test_variations_and_comments_of_sgf_are_passed_over() -> None:
    text = "(;GM[2]SZ[8]C[a ) and a \\] (;]\n;B[fe](;W[df])\n(;W[ff]))\n(;GM[2];B[fe])"
    games = list(parse_games(text.encode(), "x.sgf"))
    assert [[played.move for played in game.record.moves] for game in games] == [parse_moves("f5d6"), parse_moves("f5")]


def test_a_game_keeps_players_date_and_event() -> None:
    ggf = b"(;GM[Othello]PC[GGS/os]DT[2003.12.15_12:33:18.MST]PB[a]PW[b]RE[-6.000:r]B[F5];)"
    assert next(parse_games(ggf, "x.ggf"))[2:5] == ("GGS/os", "2003-12-15", -6)
    sgf = b"(;GM[2]EV[Cup]DT[2021-05]RE[W+12];B[fe])"
    assert next(parse_games(sgf, "x.sgf"))[2:5] == ("Cup", "2021", -12)
    pgn = b'[Event "?"]\n[Date "1999.12.31"]\n[Result "30-34"]\n\n1. F5 30-34\n'
    assert next(parse_games(pgn, "x.pgn"))[2:5] == ("", "1999-12-31", -4)


@pytest.mark.parametrize("name", ["x.edx", "x.wtb", "x.ggf", "x.sgf", "x.pgn", "x.txt", "x"])
@given(data=st.binary(max_size=400))
@example(data=b"(;" * 200)
@example(data=b"(;\n" * 133)
@example(data=b"\xff\xfe" * 30)
@example(data=b"\xc2")
@settings(max_examples=30, deadline=None)
def test_junk_is_read_or_refused_in_a_line(name: str, data: bytes) -> None:
    refused_or_read(data, name)


def test_a_base_of_edax_has_the_documented_bytes() -> None:
    """The places of the fields, in a game put together by hand."""
    game = bytearray(160)
    game[0:16] = struct.pack("<QQ", *START[:2])
    game[16:18] = struct.pack("<h", 1997)
    game[18:20] = bytes([12, 31])
    game[24:27] = b"Ann"
    game[56:59] = b"Bob"
    game[88:148] = bytes(parse_moves("f5d6c3")) + bytes([65] * 57)
    read = next(parse_games(bytes(game), "x.edx"))
    assert [played.move for played in read.record.moves] == parse_moves("f5d6c3")
    assert (read.record.black, read.record.white, read.date) == ("Ann", "Bob", "1997-12-31")
    assert edx.to_bytes(edx.parse(bytes(game), "x.edx")[1]) == bytes(game)


def test_unreadable_and_unwritable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file or directory"):
        list(read_games(str(tmp_path / "none.wtb")))
    with pytest.raises(BadInput, match="Is a directory"):
        list(read_games(str(tmp_path)))
    with pytest.raises(BadInput, match="expected a file name that ends in"):
        write_games(str(tmp_path / "x.doc"), [])
    with pytest.raises(BadInput, match="no game found"):
        list(parse_games(b"nothing", "x.ggf"))
