"""Lines of play read by compiled code: the boards of a referee, and nothing for what is not a plain legal line."""

from __future__ import annotations

import random

import judge
import pytest

from desdaemon.engine.compiler import INTERPRETED
from desdaemon.engine.lines import MOST_AT_ONCE, LineReader
from desdaemon.protocol.othello import rules

PASS = 64


def name(square: int) -> str:
    return "abcdefgh"[square % 8] + str(square // 8 + 1)


def test_the_boards_after_lines_are_those_of_the_referee() -> None:
    reader, dice = LineReader(), random.Random(5)
    overs = 0
    for start in [judge.OPENING, *judge.positions(4, 3 if INTERPRETED else 30, [8, 20, 40])]:
        lines, boards, board, text = [], [], start, ""
        while True:
            lines.append((*start, text))
            boards.append(board)
            legal = judge.squares(judge.moves(*board))
            if not legal:
                break
            move = dice.choice(legal)
            board, text = judge.play(board, move), text + name(move)
        for board, found in zip(boards, reader.play(lines), strict=True):
            assert found is not None
            player, opponent, over, (*canonical, symmetry) = found
            assert (player, opponent, over) == (*board, judge.over(board))
            assert tuple(canonical) == judge.canonical(board)
            assert [rules.transform(side, symmetry) for side in board] == canonical
            overs += over
    assert overs


@pytest.mark.parametrize("moves", ["f5f5", "a1", "F5", "f5 d6", "pa", "f", "i9", "f5" * 61, "f5\0\0", "é5", "\ud800"])
def test_a_line_that_is_not_plain_and_legal_has_no_board(moves: str) -> None:
    plain = (*rules.START, "f5d6")
    first, wrong, last = LineReader().play([plain, (*rules.START, moves), plain])
    assert wrong is None
    assert first == last is not None


def test_many_lines_fit_in_a_call() -> None:
    lines = [(*rules.START, "f5")] * MOST_AT_ONCE
    assert LineReader().play(lines) == LineReader().play(lines[:1]) * MOST_AT_ONCE
    assert LineReader().play([]) == []
