"""Boards as values, against the referee."""

from __future__ import annotations

import random

import pytest
import referee
from checkout import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from desdaemon import Board
from desdaemon.api import BLACK, WHITE
from desdaemon.protocol.errors import BadInput

SEEDS = st.integers(0, 2**32)


def random_game(seed: int) -> Board:
    rng = random.Random(seed)
    board = Board()
    while not board.over:
        board = board.play(rng.choice(board.legal))
    return board


def test_the_first_moves_are_d3_c4_f5_and_e6() -> None:
    board = Board()
    assert (board.side, board.discs, board.empties, board.legal) == (BLACK, (2, 2), 60, ["d3", "c4", "f5", "e6"])
    assert (board["d4"], board["E4"], board["a1"], board.last_move, board.line) == (WHITE, BLACK, None, None, "")
    assert (board.over, board.result, repr(board)) == (False, None, "Board()")
    assert str(board).splitlines()[-1] == "X 2, O 2, black to move"


def test_moves_make_new_boards() -> None:
    board = Board()
    after = board.play("f5d6").play("C3")
    assert board == Board()
    assert after == Board("f5d6c3") == Board(after.text)
    assert (after.line, after.last_move, after.side) == ("f5d6c3", "c3", WHITE)
    assert after.undo(2) == Board("f5")
    assert after.undo(9) == board
    assert [known.line for known in after.history] == ["", "f5", "f5d6", "f5d6c3"]
    assert Board().flips("f5") == ["e5"]
    assert Board().flips("a1") == []
    assert len({after, Board("f5d6c3"), board}) == 2
    assert eval(repr(after)) == after
    assert eval(repr(Board(after.text))) == after


@settings(max_examples=10)
@given(SEEDS)
def test_a_game_is_what_the_referee_plays(seed: int) -> None:
    board = random_game(seed)
    for known in board.history[:-1]:
        cells = referee.from_bits(known.position.player, known.position.opponent)
        if known.legal == ["pa"]:
            assert not referee.legal_moves(cells)
        else:
            assert set(known.legal) == {referee.name(square).lower() for square in referee.legal_moves(cells)}
    assert board.result is not None
    black, white = board.discs
    empty = board.empties
    difference = black - white
    assert board.result == difference + (empty if difference > 0 else -empty if difference < 0 else 0)
    # Forced passes may be left out.
    assert Board(board.line.replace("pa", "")).line == board.line


@settings(max_examples=20)
@given(SEEDS, st.integers(0, 7))
def test_mirror_images_are_played_alike(seed: int, symmetry: int) -> None:
    board = random_game(seed).undo(20)
    image = board.mirrored(symmetry)
    assert (image.discs, len(image.legal), image.side) == (board.discs, len(board.legal), board.side)
    back = {0: 0, 5: 6, 6: 5}.get(symmetry, symmetry)
    assert image.mirrored(back) == board


@pytest.mark.parametrize("text", ["f5f5", "a1", "x", "---", "zz9", "f5d6c3d3pa", "-" * 64])
def test_a_wrong_board_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        Board(text)


def test_a_wrong_move_is_refused() -> None:
    with pytest.raises(BadInput, match="A1 is illegal"):
        Board().play("a1")
    with pytest.raises(BadInput, match="a pass is not a square"):
        Board().flips("pa")
    with pytest.raises(BadInput, match="symmetry 8"):
        Board().mirrored(8)


def test_a_board_draws_itself() -> None:
    picture = Board("f5")._repr_svg_()
    assert picture.startswith("<svg ")
    assert picture.count('fill="white"') == 1
    assert picture.count('r="3"') == len(Board("f5").legal)


def test_boards_load_nothing_heavy() -> None:
    import subprocess
    import sys

    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'tests' / 'support')!r}); import checkout\n"
        "from desdaemon import Board, Engine\nBoard().play('f5').svg()\nprint(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"numpy", "numba", "llvmlite", "asyncio", "argparse", "zmq", "concurrent.futures"}
    bare = "import sys, desdaemon; assert not [m for m in sys.modules if m.startswith('desdaemon.')]"
    subprocess.run([sys.executable, "-c", bare], cwd=ROOT / "tests", check=True)
