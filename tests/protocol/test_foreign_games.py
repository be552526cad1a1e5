"""Games as other programs and people write them: annotated, damaged, of other variants, and made to be slow."""

from __future__ import annotations

import time

import pytest
import referee

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.bases import parse_games
from desdaemon.protocol.games.formats import FORMATS, parse_game
from desdaemon.protocol.games.pasted import parse_pasted
from desdaemon.protocol.games.records import GameRecord
from desdaemon.protocol.othello.notation import board_text


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
    *("1", "1.", "1 ", "1 -", "1-1 ", "...", "%", "\n%", ";", "; ", "#", "F5", "F5 ", "F5-", "-", "*", "* ", "|", "X "),
    *(" ", "\n", "\r\n", " \n", "--------", "/", "8/", "\u3000", "\uff26", ",", "PA", '{"m":', "[{", '{"m":"f5"},'),
)
STARTS = ("", "(;GM[2]", "(;GM[Othello]", '[Event "x"]\n\n1. F5 ', "X")


def seconds_of(format: str, text: str) -> float:
    """The time of this thread for reading a text."""
    data = text.encode()
    begun = time.thread_time()
    try:
        if format == "pasted":
            parse_pasted(data, "", lambda line: None)
        else:
            list(parse_games(data, f"x.{format}", lambda line: None))
    except BadInput:
        pass
    return time.thread_time() - begun


@pytest.mark.parametrize("format", [*FORMATS, "pasted"])
@pytest.mark.parametrize("piece", NASTY)
def test_twice_the_text_takes_twice_the_time(format: str, piece: str) -> None:
    for start in STARTS:
        once, twice = (start + piece * (size // len(piece)) for size in (5_000, 10_000))
        # A few milliseconds say nothing, and something else may slow a measurement down, but not all five.
        assert any(seconds_of(format, twice) < 3 * max(seconds_of(format, once), 0.002) for _ in range(5)), start


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
def test_what_lacks_its_end_does_not_take_the_next_game_with_it(format: str, broken: str, lost: str) -> None:
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


def test_a_quoted_game_is_no_game() -> None:
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
    ],
)
def test_other_games_are_refused(format: str, text: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        parse_game(text, format)


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("sgf", "(;GaMe[2]SiZe[8]PlayerBlack[Ann];Black[fe];White[df];Black[cc];White[dc];Black[cd])"),
        ("sgf", "(;gm[2];b[fe];w[df];b[cc];w[dc];b[cd])"),
        ("sgf", "(;GM[2]AB[aa:hh]AE[aa:hh]AB[ed:ed][de]AW[dd][ee]PL[B];B[fe];W[df];B[cc];W[dc];B[cd])"),
        ("ggf", "(;GM[Othello]TY[8]B[f5]W[d6]B[c3]W[d3]B[c4];)"),
        ("txt", "1. f5 2. d6 3. c3 4. d3 5. c4"),
        ("txt", "1.f5 d6 2.c3 d3 3.c4 33-31"),
        ("txt", "1) F5 - D6 2) C3 - D3 3) C4 *"),
        ("txt", "F5-D6-C3-D3-C4"),
        ("txt", "f5 \u2013 d6 \u2013 c3 \u2013 d3 \u2013 c4"),
        ("txt", "\uff26\uff15\uff24\uff16\uff23\uff13\u3000\uff44\uff13\uff43\uff14"),
    ],
)
def test_forms_that_others_write(format: str, text: str) -> None:
    record = parse_game(text, format)
    assert moves_of(record) == MAIN_LINE
    assert board_text(record.initial) == board_text(parse_game("F5", "txt").initial)
