"""Quarry, a graphical program, on a screen of its own. For ``make acceptance``.

On Debian the packages are quarry, xvfb, openbox, xdotool and imagemagick.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import referee
from programs import PICTURES, ROOT, programs

DAEMON = [sys.executable, str(ROOT / "daemon" / "__main__.py")]

pytestmark = pytest.mark.slow


@contextmanager
def running(command: list[str], **options: object) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **options,  # type: ignore[call-overload]
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


class Desk:
    """A screen of its own with a window manager, and a hand on its keyboard."""

    def __init__(self, display: str, xdotool: str) -> None:
        self.environment = {**os.environ, "DISPLAY": display, "LC_ALL": "C.UTF-8", "NO_AT_BRIDGE": "1"}
        self._xdotool = xdotool

    def do(self, *arguments: str) -> str:
        done = subprocess.run(
            [self._xdotool, *arguments], env=self.environment, capture_output=True, text=True, timeout=30, check=False
        )
        return done.stdout.strip()

    def window(self, title: str) -> str:
        """Wait for a window."""
        for _ in range(150):
            found = self.do("search", "--onlyvisible", "--name", title).split()
            if found:
                return found[-1]
            time.sleep(0.2)
        raise AssertionError(f"no window {title}")

    def keys(self, window: str, *keys: str) -> None:
        self.do("windowactivate", "--sync", window)
        for key in keys:
            time.sleep(0.3)
            self.do("key", key)


CONFIGURATION = """\
[GTP Engine "desdaemon"]
Screen name format = "desdaemon"
Name = "desdaemon"
Command line = "{command}"
Supported games = "Reversi"

[New Game Parameters]
Game = "Reversi"
White is computer = true
Engine playing white = "desdaemon"
Black is computer = true
Engine playing black = "desdaemon"

[New Reversi Game Parameters]
Board size = 8
Time control type = 1
Time limit for game = 00:{seconds:02}
"""


def heard(folder: Path) -> list[str]:
    """The moves of the game, as the first of the two programs was told and answered."""
    first = min(folder.glob("said.*"), key=lambda path: path.name, default=None)
    if first is None:
        return []
    answers = iter(folder.joinpath(first.name.replace("said", "answered")).read_text().split("\n\n"))
    moves = []
    for line in first.read_text().splitlines():
        answer = next(answers, "").strip()
        word = line.split()[0]
        if word == "clear_board":
            moves.clear()
        elif word == "play":
            moves.append(line.split()[2])
        elif word == "genmove" and answer.startswith("= "):
            moves.append(answer[2:])
    return moves


def board_after(names: list[str]) -> referee.Cells:
    """The board after moves without passes."""
    cells = referee.start()
    for name in names:
        if not referee.legal_moves(cells):
            cells = referee.passed(cells)
        cells = referee.play(cells, referee.square(name))
    return cells


@contextmanager
def quarry(home: Path) -> Iterator[Desk]:
    """Quarry with its files in a folder, and the hand that is on its keyboard."""
    program, xvfb, openbox, xdotool = programs("quarry", "Xvfb", "openbox", "xdotool")
    with ExitStack() as stack:
        number = next(number for number in range(200, 300) if not Path(f"/tmp/.X{number}-lock").exists())
        stack.enter_context(running([xvfb, f":{number}", "-screen", "0", "1000x760x24", "-nolisten", "tcp"]))
        desk = Desk(f":{number}", xdotool)
        for _ in range(100):
            if desk.do("getdisplaygeometry"):
                break
            time.sleep(0.2)
        stack.enter_context(running([openbox], env=desk.environment))
        time.sleep(2)
        stack.enter_context(running([program], env={**desk.environment, "HOME": str(home)}))
        yield desk


def test_quarry_takes_it_for_an_othello_engine(tmp_path: Path) -> None:
    """Entered in Quarry's dialog it is asked what it plays, and kept as a program for Reversi."""
    kept = tmp_path / ".quarry"
    with quarry(tmp_path) as desk:
        desk.keys(desk.window("Quarry Control Center"), "alt+n")
        desk.keys(desk.window("^New Game$"), "alt+e")
        desk.keys(desk.window("Preferences"), "alt+a")
        dialog = desk.window("New GTP Engine")
        desk.do("windowactivate", "--sync", dialog)
        desk.do("type", "--delay", "8", shlex.join([*DAEMON, "-gtp"]))
        desk.do("key", "Return")
        for _ in range(100):
            if not desk.do("search", "--onlyvisible", "--name", "New GTP Engine"):
                break
            time.sleep(0.2)
        desk.keys(desk.window("Preferences"), "Escape")
        desk.keys(desk.window("^New Game$"), "Escape")
        desk.keys(desk.window("Quarry Control Center"), "alt+q")
        for _ in range(100):
            if kept.exists():
                break
            time.sleep(0.2)
    found = re.search(r'^\[GTP Engine "desdaemon [^"]*"\]\n(?:[^\[\n].*\n)*', kept.read_text(), re.MULTILINE)
    assert found
    said = dict(re.findall(r'^([\w ]+?)\s*= "(.*)"$', found[0], re.MULTILINE))
    assert said["Name"] == "desdaemon"
    assert said["Supported games"] == "Reversi"


def test_a_whole_game_on_quarry_s_board(tmp_path: Path) -> None:
    """Quarry plays desdaemon against itself by the clock, and saves a game that the referee finds legal.

    Each side has half a minute for all its moves; at the end both have some of it left. A picture of the board in
    mid-game is left in `PICTURES`.
    """
    seconds = 30
    (shoot,) = programs("import")
    script = tmp_path / "engine.sh"
    pipe = f"tee {tmp_path}/said.$$ | {shlex.join(DAEMON)} -gtp | tee {tmp_path}/answered.$$"
    script.write_text(f"#!/bin/sh\n{pipe}\n")
    script.chmod(0o755)
    (tmp_path / ".quarry").write_text(CONFIGURATION.format(command=script, seconds=seconds))
    with quarry(tmp_path) as desk:
        desk.keys(desk.window("Quarry Control Center"), "alt+n")
        desk.keys(desk.window("^New Game$"), "alt+f", "alt+p")
        window = desk.window(r"vs\.")
        pictured = False
        for _ in range(600):
            moves = heard(tmp_path)
            if not pictured and len(moves) >= 30:
                PICTURES.mkdir(parents=True, exist_ok=True)
                subprocess.run(
                    [shoot, "-window", "root", str(PICTURES / "quarry.png")], env=desk.environment, check=True
                )
                pictured = True
            if referee.game_over(board_after(moves)):
                break
            time.sleep(0.2)
        time.sleep(2)
        desk.keys(window, "ctrl+s")
        time.sleep(1.5)
        desk.do("key", "ctrl+a")
        desk.do("type", "--delay", "8", str(tmp_path / "game.sgf"))
        desk.do("key", "Return")
        time.sleep(2)
    assert pictured
    saved = (tmp_path / "game.sgf").read_text()
    names = [
        "abcdefgh"["abcdefgh".index(move[0])].upper() + str("abcdefgh".index(move[1]) + 1)
        for move in re.findall(r";[BW]\[([a-h]{2})\]", saved)
    ]
    cells = board_after(names)
    assert referee.game_over(cells)
    assert names == heard(tmp_path)
    told = "".join(path.read_text() for path in tmp_path.glob("said.*"))
    assert told.count(f"time_settings {seconds} 0 0\n") == 2
    left = {side: [float(value) for value in re.findall(rf"{side}L\[([\d.]+)\]", saved)] for side in "BW"}
    for clock in left.values():
        assert len(clock) > 20
        assert clock == sorted(clock, reverse=True)
        assert 0 < clock[-1] < seconds
    mine, theirs = (word.bit_count() for word in referee.to_bits(cells))
    result = re.search(r"RE\[([BW])\+(\d+)\]|RE\[(?:0|Draw)\]", saved)
    assert result
    assert int(result[2] or 0) == abs(mine - theirs)
