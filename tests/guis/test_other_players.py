"""A game with a library of a registry, Sabaki's. For ``make acceptance``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import referee
from checkout import ROOT
from programs import node_package, programs
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
