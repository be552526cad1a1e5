"""Lines of moves beside names, scores and marks, and the results that files claim, in whatever form."""

from __future__ import annotations

import pytest
from dialogue import Dialogue
from test_foreign_games import moves_of, read

from desdaemon.clients.web.pasted import parse_pasted
from desdaemon.protocol.games.bases import parse_games
from desdaemon.protocol.othello.notation import moves_text, parse_board, parse_move, parse_moves
from desdaemon.protocol.othello.obf import parse_problem


@pytest.mark.parametrize(
    "text",
    [
        "f5;d6;c3",
        "Tiger;f5d6c3",
        "Tiger;f5d6c3;+2",
        "Tiger, f5d6c3",
        "Ann,Bob,f5d6c3,40,24",
        '"660","-1","f5d6c3"',
        "Tiger - f5d6c3",
        "f5d6c3 - Tiger",
        "f5! d6?! c3??",
        "f5d6c3 ; the best",
        "f5d6c3--",
        "Tiger f5d6c3",
        "C01 The Tiger f5d6c3",
        "Ann - Bob 33-31 f5d6c3",
        "`f5d6c3`",
        "f5d6c3.",
        "f5 d6 c3 ...",
    ],
)
def test_names_scores_and_marks_stand_beside_moves(text: str) -> None:
    assert read(text, "x.txt") == (["F5D6C3"], [])
    assert [moves_of(game.record) for game in parse_pasted(text.encode())] == ["F5D6C3"]


@pytest.mark.parametrize("text", ["f5d6x, c3d3", "f5d6c3; d3c4x", "f5d6 | c3 x", "f5d6, d6c3 Tiger", "f5, zz; d6"])
def test_a_line_with_a_wrong_part_is_refused_whole(text: str) -> None:
    games, complaints = read(f"f5d6c3\n{text}\nf5f6\n", "x.txt")
    assert games[-1] == "F5F6"
    assert "F5D6" not in games[1:-1]
    assert len(games) + len(complaints) == 3
    games, complaints = read(text, "x.txt")
    assert (games, len(complaints)) == ([], 1)


def test_lists_of_lists_in_json_are_games() -> None:
    assert read('[["f5", "d6"], ["f5", "f6"]]', "x.txt") == (["F5D6", "F5F6"], [])


@pytest.mark.parametrize("text", ["Ｆ５", "ｆ５", " f5 "])  # noqa: RUF001
def test_moves_may_be_full_width(text: str) -> None:
    assert parse_move(text) == parse_move("f5")
    dialogue = Dialogue()
    dialogue.say(text)
    assert moves_text(dialogue.session.game.moves) == "f5"
    (game,) = parse_games(f"(;GM[Othello]B[{text}];)".encode(), "x.ggf")
    assert moves_of(game.record) == "F5"


def test_two_dashes_after_moves_may_be_left_out() -> None:
    assert parse_moves("f5d6--") == parse_moves("f5d6 --") == parse_moves("f5d6")
    assert parse_moves("f5--d6") == parse_moves("f5d6")


@pytest.mark.parametrize(
    ("name", "text", "result"),
    [
        ("x.ggf", "(;GM[Othello]RE[B+R]B[F5];)", 1),
        ("x.ggf", "(;GM[Othello]RE[W+12]B[F5];)", -12),
        ("x.ggf", "(;GM[Othello]RE[-12.00:t]B[F5];)", -12),
        ("x.sgf", "(;GM[2]RE[1-0];B[fe])", 1),
        ("x.sgf", "(;GM[2]RE[33-31];B[fe])", 2),
        ("x.sgf", "(;GM[2]RE[Black+R];B[fe])", 1),
        ("x.sgf", "(;GM[2]RE[White + 4];B[fe])", -4),
        ("x.sgf", "(;GM[2]RE[Jigo];B[fe])", 0),
        ("x.pgn", '[Result "B+R"]\n\n1. F5 *', 1),
        ("x.pgn", '[Result "1/2"]\n\n1. F5 1/2', 0),
        ("x.pgn", '[Result "1 - 0"]\n\n1. F5 *', 1),
        ("x.pgn", '[Event "x"]\n\n1. F5 0-1', -1),
        ("x.pgn", '[Result "*"]\n\n1. F5 40-24', 16),
        ("x.pgn", '[Result "26:38"]\n\n1. F5 *', -12),
        ("x.pgn", '[Result "0:1"]\n\n1. F5 *', -1),
        ("x.pgn", '[Result "38\u201326"]\n\n1. F5 *', 12),
        ("x.pgn", '[Result "0.5-0.5"]\n\n1. F5 *', 0),
        ("x.pgn", '[Event "x"]\n\n1. F5 \u00bd-\u00bd', 0),
        ("x.pgn", '[Event "x"]\n\n1. F5 0.5-0.5\n', 0),
        ("x.pgn", '[Event "x"]\n\n1. F5 0.5 : 0.5\n', 0),
        ("x.pgn", '[Result "1-0 (38-26)"]\n\n1. F5 *', 12),
        ("x.pgn", '[Result "0-1 (time)"]\n\n1. F5 *', -1),
        ("x.sgf", "(;GM[2]RE[W+4 (30-34)];B[fe])", -4),
        ("x.pgn", '[Event "x"]\n\n1. F5 38\u201326', 12),
        ("x.pgn", '[Event "x"]\n\n1. F5 26:38', -12),
        ("x.pgn", '[Event "x"]\n\n1. F5 W+R', -1),
        ("x.sgf", "(;GM[2]RE[26:38];B[fe])", -12),
        ("x.sgf", "(;GM[2]RE[White wins by 4];B[fe])", -4),
        ("x.sgf", "(;GM[2]RE[Black wins];B[fe])", 1),
        ("x.sgf", "(;GM[2]RE[Black won by resignation];B[fe])", 1),
        ("x.txt", "f5d6 \u00bd-\u00bd", 0),
        ("x.txt", "1. f5 d6 1-0", 1),
        ("x.txt", "f5d6 1/2-1/2\nf5f6 0-1", 0),
        ("x.txt", "f5d6\nc3d3\n33:31", 2),
        ("x.txt", "f5d6 W+R", -1),
        ("x.txt", "f5d6 -1", None),
        ("x.txt", "f5d6 *", None),
        ("x.txt", "f5d6", None),
        ("x.ndjson", '{"players":{},"variant":"othello","winner":"p2","moves":"f5 d6"}', -1),
        ("x.ndjson", '{"players":{},"variant":"othello","winner":"white","moves":"f5 d6"}', 1),
        ("x.ndjson", '{"moves": ["f5", "d6"], "winner": "white"}', -1),
        ("x.ndjson", '{"moves": ["f5", "d6"], "result": "1-0"}', 1),
        ("x.ndjson", '{"moves": ["f5", "d6"], "winner": {"x": 1}, "result": 3}', None),
    ],
)
def test_a_claimed_result_is_read_in_every_form_and_format(name: str, text: str, result: int | None) -> None:
    complaints: list[str] = []
    games = [*parse_games(text.encode(), name, complaints.append)]
    assert games[0].result == result
    assert not complaints


@pytest.mark.parametrize("side", ["Black to move", "black to play", "White To Move", "White to move."])
def test_the_side_to_move_may_be_given_in_words(side: str) -> None:
    board = "O--OOOOX-OOOOOOXOOXXOOOXOOXOOOXXOOOOOOXX---OOOOX----O--X--------"
    assert parse_board(f"{board} {side}") == parse_board(f"{board} {side[0]}")
    assert parse_problem(f"{board} {side}; +38;") == parse_problem(f"{board} {side[0]}; +38;")
