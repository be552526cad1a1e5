"""A player of no strength that speaks the protocols of real ones, and goes wrong where it is told to.

``fake_player.py PROTOCOL [FAULT [MOVE]]``: from its own move number MOVE on it does FAULT: illegal, junk, crash, hang,
slow (half a second), resign, refuse. ``deaf`` never says anything, ``first`` and ``last`` are the choices of move.
"""

from __future__ import annotations

import os
import re
import sys
import time

import referee

PROTOCOL = sys.argv[1]
FAULT = sys.argv[2] if len(sys.argv) > 2 else "first"
FROM = int(sys.argv[3]) if len(sys.argv) > 3 else 0


class Game:
    """A board and the number of moves that were asked for."""

    def __init__(self) -> None:
        self.asked = 0
        self.clear()

    def clear(self) -> None:
        self.cells = referee.start()

    def play(self, text: str) -> bool:
        """Play a move; forced passes happen by themselves. False when it cannot be played."""
        if not referee.legal_moves(self.cells) and not referee.game_over(self.cells):
            self.cells = referee.passed(self.cells)
            if text.lower() in ("pa", "pass"):
                return True
        if text.lower() in ("pa", "pass") or referee.square(text) not in referee.legal_moves(self.cells):
            return False
        self.cells = referee.play(self.cells, referee.square(text))
        return True

    def choose(self) -> str:
        """A move for the side to move, or what goes wrong."""
        moves = referee.legal_moves(self.cells) or referee.legal_moves(referee.passed(self.cells))
        wrong = self.asked >= FROM
        self.asked += 1
        if wrong and FAULT == "crash":
            os._exit(3)
        if wrong and FAULT == "hang":
            time.sleep(1000)
        if wrong and FAULT == "slow":
            time.sleep(0.5)
        if wrong and FAULT in ("illegal", "junk", "resign"):
            return {"illegal": "D4", "junk": "Z9", "resign": "resign"}[FAULT]
        return referee.name(moves[-1 if FAULT == "last" else 0])


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def gtp(game: Game) -> None:
    for line in sys.stdin:
        words = line.split()
        answer = "= "
        if words[0] == "name":
            answer = f"= Fake {FAULT}"
        elif words[0] == "list_commands":
            answer = "= name\ngenmove\ntime_left"
        elif words[0] == "clear_board":
            game.clear()
        elif words[0] == "play" and (FAULT == "refuse" or not game.play(words[2])):
            answer = "? illegal move"
        elif words[0] == "genmove":
            move = game.choose()
            game.play(move) if move not in ("D4", "Z9", "resign") else None
            answer = f"= {move.lower()}"
        elif words[0] == "quit":
            return
        say(f"{answer}\n\n")


def nboard(game: Game) -> None:
    for line in sys.stdin:
        words = line.split()
        if words[0] == "nboard":
            say("set myname Fake\nstatus\n")
        elif words[:2] == ["set", "game"]:
            game.clear()
            for move in re.findall(r"[ \]][BW]\[(\w+)", line):
                game.play(move)
        elif words[0] == "ping":
            say(f"pong {words[1]}\n")
        elif words[0] == "go":
            say(f"status thinking\n=== {game.choose()}/1.5/0.1\nstatus\n")


def text(game: Game) -> None:
    say("\n>")
    for line in sys.stdin:
        words = line.split()
        if words[0] == "setboard":
            game.clear()
        elif words[0] == "play":
            game.play(words[1])
        elif words[0] == "go":
            move = game.choose()
            say(f"\nFake plays {move}\n")
            if move not in ("D4", "Z9"):
                game.play(move)
        say("\n>")


if __name__ == "__main__":
    if FAULT == "deaf":
        time.sleep(1000)
    {"gtp": gtp, "nboard": nboard, "text": text}[PROTOCOL](Game())
