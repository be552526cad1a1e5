"""GTP by the clock, against itself. For ``make acceptance``."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import pytest
import referee
from programs import ROOT

DAEMON = [sys.executable, str(ROOT / "daemon" / "__main__.py")]

pytestmark = pytest.mark.slow


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
