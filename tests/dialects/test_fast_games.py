"""No loss on time in fast games: 1 s for a game and 0.05 s a move, the first while the engine is being compiled.

For ``make acceptance``. GAMES in the environment asks for another number of games than 200.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import referee
from checkout import ROOT

DAEMON = [sys.executable, str(ROOT / "daemon" / "__main__.py"), "-xboard"]
MAIN_S, INCREMENT_S = 1.0, 0.05

pytestmark = pytest.mark.slow


class Player:
    """An engine and its clock, as XBoard keeps it: the time from its turn to its move."""

    def __init__(self, cache: Path) -> None:
        self.process = subprocess.Popen(
            DAEMON,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        )
        self.left = 0.0
        self.spent: list[float] = []

    def say(self, *lines: str) -> None:
        assert self.process.stdin
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()

    def new(self, opening: list[str]) -> None:
        self.left = MAIN_S
        self.spent.clear()
        self.say("new", "variant othello", "level 0 0:01 0.05", "force", *opening, "ping 1")
        self.until("pong ")

    def move(self, other: float, *lines: str) -> str:
        """Its move after those lines; the clock runs."""
        begun = time.monotonic()
        self.say(f"time {int(100 * self.left)}", f"otim {int(100 * other)}", *lines)
        move = self.until("move ")
        self.spent.append(round(time.monotonic() - begun, 3))
        self.left -= self.spent[-1]
        assert self.left > 0, f"a loss on time: {self.spent}"
        self.left += INCREMENT_S
        return move

    def until(self, word: str) -> str:
        """Read up to the line that begins so; the rest of it."""
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith(word):
                return line.removeprefix(word).strip()
        raise AssertionError("the engine is gone")

    def close(self) -> None:
        self.say("quit")
        self.process.wait(30)


def drop(move: int) -> str:
    return f"P@{referee.name(move).lower()}"


def play(players: list[Player], seed: int) -> float:
    """A game from a random opening; the least that a clock showed."""
    r = random.Random(seed)
    cells, opening = referee.start(), []
    for _ in range(4):
        move = r.choice(referee.legal_moves(cells))
        opening.append(drop(move))
        cells = referee.play(cells, move)
    for player in players:
        player.new(opening)
    at, least, news = 0, MAIN_S, ["go"]
    while not referee.game_over(cells):
        player, other = players[at], players[1 - at]
        move_text = player.move(other.left, *news)
        least = min(least, player.left - INCREMENT_S)
        if move_text == "@@@@":
            assert not referee.legal_moves(cells)
            cells = referee.passed(cells)
        else:
            cells = referee.play(cells, referee.square(move_text[2:].upper()))
        # The second player takes a side with its first move; until then it is forced to take moves of both.
        news, at = [move_text, "go"] if len(news) == 1 and news[0] == "go" else [move_text], 1 - at
    return least


def test_two_hundred_fast_games(tmp_path: Path) -> None:
    games = int(os.environ.get("GAMES", "200"))
    seeds = iter(range(games))
    least: list[float] = []
    failures: list[BaseException] = []
    lock = threading.Lock()

    def pair() -> None:
        players = [Player(tmp_path), Player(tmp_path)]
        try:
            while not failures:
                with lock:
                    seed = next(seeds, None)
                if seed is None:
                    break
                least.append(play(players, seed))
                # A game is over before the engine is compiled; the others shall have it.
                for player in players:
                    player.say("protover 2")
                    player.until("feature done=1")
        except BaseException as error:
            failures.append(error)
        finally:
            for player in players:
                player.close()
                assert player.process.stdin
                assert player.process.stdout
                player.process.stdin.close()
                player.process.stdout.close()

    threads = [threading.Thread(target=pair) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise AssertionError(f"after {len(least)} games, at least {min(least, default=0):.2f} s left") from failures[0]
    assert len(least) == games
    print(f"{games} games, the least that a clock showed: {min(least):.2f} s")  # noqa: T201
