"""GTP with programs that nobody here wrote, and clocks: Quarry as the board. For ``make acceptance``.

On Debian the packages are quarry, xvfb, openbox, xdotool and imagemagick.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import referee

ROOT = Path(__file__).resolve().parent.parent
DAEMON = [sys.executable, str(ROOT / "daemon" / "__main__.py")]
PICTURES = ROOT / "build" / "acceptance"
GAMES = os.pathsep.join([os.environ.get("PATH", ""), "/usr/games"])

pytestmark = pytest.mark.slow


def programs(*names: str) -> list[str]:
    """Where those programs are; skips, naming what is missing."""
    missing = [name for name in names if not shutil.which(name, path=GAMES)]
    if missing:
        pytest.skip(f"not installed: {' '.join(missing)}")
    return [shutil.which(name, path=GAMES) or "" for name in names]


class Player:
    """A GTP program; ``slowest`` is the longest it took for a move, in seconds."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
        )
        self.slowest = 0.0

    def ask(self, line: str) -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        answer = ""
        while not answer.endswith("\n\n"):
            read = self.process.stdout.readline()
            assert read, f"{line}: the program is gone"
            answer += read
        assert answer.startswith("="), (line, answer)
        return answer[1:].strip()

    def genmove(self, colour: str) -> int:
        begun = time.monotonic()
        move = self.ask(f"genmove {colour}")
        self.slowest = max(self.slowest, time.monotonic() - begun)
        return referee.square(move)

    def close(self) -> None:
        self.process.communicate(timeout=20)


def game(black: Player, white: Player, opening: list[int], clock: Callable[[Player, str], None]) -> int:
    """Black's score of a game by the referee's rules, in which nobody mentions passes."""
    players = {"black": black, "white": white}
    for player in players.values():
        player.ask("clear_board")
    cells = referee.start()
    colour, other = "black", "white"
    moves = list(opening)
    while not referee.game_over(cells):
        if not referee.legal_moves(cells):
            cells = referee.passed(cells)
        else:
            told = [players[other]]
            if moves:
                move, told = moves.pop(0), [black, white]
            else:
                clock(players[colour], colour)
                move = players[colour].genmove(colour)
            cells = referee.play(cells, move)
            for player in told:
                player.ask(f"play {colour} {referee.name(move)}")
        colour, other = other, colour
    score = referee.final_score(cells) if colour == "black" else -referee.final_score(cells)
    assert black.ask("final_score") == (f"{'B' if score > 0 else 'W'}+{abs(score)}" if score else "0")
    return score


def test_fast_games_against_ourselves_are_never_lost_on_time() -> None:
    """One second for a game, and the whole of a process on either side of the clock."""
    black, white = Player([*DAEMON, "-gtp"]), Player([*DAEMON, "-gtp"])
    for number in range(10):
        left = {"black": 1.0, "white": 1.0}
        used: dict[str, float] = {}

        def clock(player: Player, colour: str, left: dict[str, float] = left, used: dict[str, float] = used) -> None:
            left[colour] -= used.pop(colour, 0.0)
            player.ask(f"time_left {colour} {left[colour]:.3f} 0")
            begun = time.monotonic()
            genmove = Player.genmove

            def timed(side: str) -> int:
                move = genmove(player, side)
                used[side] = time.monotonic() - begun
                return move

            player.genmove = timed  # type: ignore[method-assign]

        game(black, white, referee.random_moves(number, 6), clock)
        assert all(left[colour] > used.get(colour, 0.0) for colour in left)
    black.close()
    white.close()


# Quarry


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


def test_a_whole_game_on_quarry_s_board(tmp_path: Path) -> None:
    """Quarry plays desdaemon against itself by the clock, and saves a game that the referee finds legal.

    Each side has half a minute for all its moves; at the end both have some of it left. A picture of the board in
    mid-game is left in `PICTURES`.
    """
    seconds = 30
    quarry, xvfb, openbox, xdotool, shoot = programs("quarry", "Xvfb", "openbox", "xdotool", "import")
    script = tmp_path / "engine.sh"
    pipe = f"tee {tmp_path}/said.$$ | {shlex.join(DAEMON)} -gtp | tee {tmp_path}/answered.$$"
    script.write_text(f"#!/bin/sh\n{pipe}\n")
    script.chmod(0o755)
    (tmp_path / ".quarry").write_text(CONFIGURATION.format(command=script, seconds=seconds))
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
        stack.enter_context(running([quarry], env={**desk.environment, "HOME": str(tmp_path)}))
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
