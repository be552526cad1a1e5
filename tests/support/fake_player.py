"""A player of no strength that speaks the protocols of real ones, and goes wrong where it is told to.

``fake_player.py PROTOCOL [FAULT [MOVE]]``: from its own move number MOVE on it does FAULT: illegal, junk, crash, hang,
slow (half a second), resign, refuse, flood (an answer without end). ``deaf`` never says anything, ``babble`` lines
that mean nothing, a MiB of them, ``name`` says MOVE as its name, ``broken`` ends at once, ``stubborn`` starts a program
of its own, ``setup`` can be given a board, ``scores`` tells what it thinks of its moves (in NBoard all do),
``late-name`` says its name with the first depth only; ``first`` and ``last`` are the choices of move.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import referee

PROTOCOL = sys.argv[1]
FAULT = sys.argv[2] if len(sys.argv) > 2 else "first"
FROM = int(sys.argv[3]) if len(sys.argv) > 3 and FAULT != "name" else 0
FLOOD = {"gtp": ("", "= x\n"), "nboard": ("\n===", "x"), "text": ("\nplays ", "x")}
"""How an answer without end begins, and how it goes on."""


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
        if wrong and FAULT == "flood":
            flood(*FLOOD[PROTOCOL])
        if wrong and FAULT == "slow":
            time.sleep(0.5)
        if wrong and FAULT in ("illegal", "junk", "resign"):
            return {"illegal": "D4", "junk": "Z9", "resign": "resign"}[FAULT]
        return referee.name(moves[-1 if FAULT == "last" else 0])


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def flood(beginning: str, more: str) -> None:
    say(beginning)
    while True:
        say(more * 10000)


def gtp(game: Game) -> None:
    for line in sys.stdin:
        words = line.split()
        answer = "= "
        if words[0] == "name":
            answer = sys.argv[3] if FAULT == "name" else f"= Fake {FAULT}"
        elif words[0] == "list_commands":
            more = {"setup": "\ngogui-setup", "scores": "\nkata-genmove_analyze"}
            answer = "= name\ngenmove\ntime_left" + more.get(FAULT, "")
        elif words[0] == "clear_board":
            game.clear()
        elif words[0] == "gogui-setup":
            pairs = list(zip(words[1::2], words[2::2], strict=True))
            black, white = (sum(1 << referee.square(name) for side, name in pairs if side == one) for one in "bw")
            game.cells = referee.from_bits(black, white)
        elif words[:2] == ["gogui-setup_player", "w"]:
            game.cells = referee.passed(game.cells)
        elif words[0] == "play" and (FAULT == "refuse" or not game.play(words[2])):
            answer = "? illegal move"
        elif words[0] == "genmove":
            move = game.choose()
            game.play(move) if move not in ("D4", "Z9", "resign") else None
            answer = f"= {move.lower()}"
        elif words[0] == "kata-genmove_analyze":
            move = game.choose()
            game.play(move)
            answer = f"=\ninfo move {move} scoreMean 1 scoreLead -3.5 pv {move}\nplay {move}"
        elif words[0] == "quit":
            return
        say(f"{answer}\n\n")


def nboard(game: Game) -> None:
    for line in sys.stdin:
        words = line.split()
        if words[0] == "nboard" and FAULT == "late-name":
            say("Reading coefficients ... done\nA page of text\n")
        elif words[0] == "nboard":
            say("set myname Fake\nstatus\n")
        elif words[:2] == ["set", "depth"] and FAULT == "late-name":
            say(f"set myname Late{words[2]}\n")
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
            if FAULT == "scores":
                say(" depth|score|       time\n   12   -01        0:00.000\n21@73%  +07        0:00.158\n------\n")
            say(f"\nFake plays {move}\n")
            if move not in ("D4", "Z9"):
                game.play(move)
        say("\n>")


if __name__ == "__main__":
    if FAULT == "deaf":
        time.sleep(1000)
    if FAULT == "babble":
        say("= x\n" * (1 << 18))
        time.sleep(1000)
    if FAULT == "broken":
        sys.exit("\x1b[31mno such weights: /no/where\x1b[0m")
    if FAULT == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)", "grandchild-of-fake-player"])
    {"gtp": gtp, "nboard": nboard, "text": text}[PROTOCOL](Game())
