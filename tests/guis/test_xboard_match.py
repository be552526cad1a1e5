"""XBoard itself as the runner of a match between two desdaemons. For ``make acceptance``; on Debian: xboard, xvfb."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
import referee
from checkout import ROOT
from programs import programs

OURS = shlex.join([sys.executable, str(ROOT / "daemon" / "__main__.py"), "-xboard"])
ENGINE = os.environ.get("XBOARD_ENGINE", OURS)
"""`make windows` names another."""
LIMIT_S = 240

pytestmark = pytest.mark.slow


def drops(moves: str) -> list[str]:
    """The moves of a game as XBoard saves it: ``P@f5`` and ``--``, between numbers, comments and the result."""
    return re.findall(r"P@[a-h][1-8]|(?<=\s)--(?=\s)", re.sub(r"\{[^}]*\}", "", moves))


def replayed(names: list[str]) -> referee.Cells:
    """The board after a game, by the referee's rules."""
    cells = referee.start()
    for name in names:
        if name == "--":
            assert not referee.legal_moves(cells)
            cells = referee.passed(cells)
        else:
            cells = referee.play(cells, referee.square(name[2:].upper()))
    return cells


def test_xboard_plays_a_match_of_two_games(tmp_path: Path) -> None:
    xboard, xvfb = programs("xboard", "Xvfb")
    # A handful of seconds a game: whoever forgets its clock loses here.
    options = ["-variant", "othello", "-testLegality", "false", "-mg", "2", "-tc", "0:06", "-inc", "0", "-debug"]
    options += ["-nameOfDebugFile", str(tmp_path / "debug"), "-sgf", str(tmp_path / "games.pgn")]
    options += ["-popupExitMessage", "false", "-popupMoveErrors", "false", "-autoCopyPV", "false"]
    options += ["-fcp", ENGINE, "-scp", ENGINE]
    number = next(number for number in range(300, 400) if not Path(f"/tmp/.X{number}-lock").exists())
    environment = {**os.environ, "DISPLAY": f":{number}", "HOME": str(tmp_path), "NO_AT_BRIDGE": "1"}
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    screen = subprocess.Popen([xvfb, f":{number}", "-screen", "0", "1000x760x24", "-nolisten", "tcp"], **quiet)  # type: ignore[call-overload]
    try:
        time.sleep(2)
        game = subprocess.Popen([xboard, *options], cwd=tmp_path, env=environment, **quiet)  # type: ignore[call-overload]
        try:
            saved = ""
            for _ in range(LIMIT_S):
                time.sleep(1)
                games = tmp_path / "games.pgn"
                saved = games.read_text() if games.exists() else ""
                if saved.count("[Result ") == 2 and saved.rstrip().endswith(("1-0", "0-1", "1/2-1/2")):
                    break
        finally:
            game.terminate()
            game.wait(30)
    finally:
        screen.terminate()
        screen.wait(30)
    said = (tmp_path / "debug").read_text(errors="replace")
    assert "Illegal move" not in said
    assert "forfeits" not in said
    assert not re.search(r"loses on time|forfeits on time", saved)
    games_played = [part for part in saved.split("[Event ") if part.strip()]
    assert len(games_played) == 2, saved
    for text in games_played:
        tags, moves = text.split("\n\n", 1)
        names = drops(moves)
        cells = replayed(names)
        assert referee.game_over(cells)
        result = re.search(r'\[Result "(.+?)"\]', tags)
        mine, theirs = (word.bit_count() for word in referee.to_bits(cells))
        first = mine - theirs if len(names) % 2 == 0 else theirs - mine
        assert result
        assert result[1] == ("1-0" if first > 0 else "0-1" if first < 0 else "1/2-1/2")
