"""Games with programs of the registries: gtp-rhino, Sabaki's library, rust-reversi. For ``make acceptance``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import referee
from checkout import ROOT
from programs import node_package, programs, python_package
from test_gtp_extensions import infos

DAEMON = [sys.executable, str(ROOT / "daemon" / "__main__.py")]
SUPPORT = ROOT / "tests" / "support"

pytestmark = pytest.mark.slow


def test_sabaki_s_library_plays_a_game_and_reads_an_analysis(tmp_path: Path) -> None:
    (node,) = programs("node")
    modules = node_package("@sabaki/gtp")
    done = subprocess.run(
        [node, str(SUPPORT / "sabaki_game.js"), "70", *DAEMON, "-gtp", "-level", "4"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "NODE_PATH": str(modules)},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    cells = referee.start()
    for move in said["moves"]:
        if move == "pass":
            assert not referee.legal_moves(cells)
            cells = referee.passed(cells)
        else:
            cells = referee.play(cells, referee.square(move))
    assert referee.game_over(cells)
    score = referee.final_score(cells) * (1 if len(said["moves"]) % 2 == 0 else -1)
    assert said["scores"] == [f"{'B' if score > 0 else 'W'}+{abs(score)}" if score else "0"] * 2
    assert len(said["lines"]) >= 2
    for line in said["lines"]:
        assert {move for move, _ in infos("kata", line)} <= {"D3", "C4", "F5", "E6"}


def test_the_arena_of_rust_reversi() -> None:
    """It keeps the rules: a player that makes an illegal move ends it with an error. Its own search is the opponent."""
    module = python_package("rust-reversi", "rust_reversi")
    player = [sys.executable, str(SUPPORT / "reversi_player.py"), *DAEMON, "-gtp", "-level", "6"]
    opponent = [sys.executable, "-c", _OPPONENT, str(Path(module.__file__ or "").resolve().parents[1])]
    arena = module.Arena(player, opponent, False)
    arena.play_n(2)
    wins, losses, draws = arena.get_stats()
    assert wins + losses + draws == 2
    assert wins >= 1


_OPPONENT = """
import sys
sys.path.append(sys.argv[1])
from rust_reversi import AlphaBetaSearch, Board, PieceEvaluator, Turn
turn = Turn.BLACK if sys.argv[-1] == "BLACK" else Turn.WHITE
search = AlphaBetaSearch(PieceEvaluator(), 2, 1000)
for line in sys.stdin:
    if line.strip() == "ping":
        print("pong", flush=True)
        continue
    board = Board()
    board.set_board_str(line.strip(), turn)
    print(search.get_move(board), flush=True)
"""


def test_the_rules_of_rust_reversi_are_ours() -> None:
    """Its board after random games has the same discs and the same moves."""
    module = python_package("rust-reversi", "rust_reversi")
    for seed in range(50):
        board = module.Board()
        cells = referee.start()
        for move in referee.random_moves(seed, 60):
            if not referee.legal_moves(cells):
                cells = referee.passed(cells)
                board.do_pass()
            assert sorted(board.get_legal_moves_vec()) == referee.legal_moves(cells)
            cells = referee.play(cells, move)
            board.do_move(move)
        # A1 is the highest bit there.
        words = tuple(int(f"{word:064b}"[::-1], 2) for word in board.get_board()[:2])
        assert words == referee.to_bits(cells)
        assert board.is_game_over() == referee.game_over(cells)
