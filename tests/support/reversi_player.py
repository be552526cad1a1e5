"""desdaemon as a player of the Arena of rust-reversi: its boards come in, squares go out. Run as a script.

The last argument is the colour; a line is ``ping``, or 64 squares with X for Black: each board is set up.
"""

from __future__ import annotations

import subprocess
import sys

SQUARES = "ABCDEFGH"


def main() -> int:
    """Answer lines to their end."""
    *command, colour = sys.argv[1:]
    engine = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert engine.stdin
    assert engine.stdout

    def ask(line: str) -> str:
        assert engine.stdin
        assert engine.stdout
        engine.stdin.write(f"{line}\n")
        engine.stdin.flush()
        answer = ""
        while not answer.endswith("\n\n"):
            read = engine.stdout.readline()
            if not read:
                raise SystemExit(f"{line}: the engine is gone")
            answer += read
        if not answer.startswith("="):
            raise SystemExit(f"{line}: {answer}")
        return answer[1:].strip()

    def say(text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    for line in sys.stdin:
        if line.strip() == "ping":
            say("pong")
            continue
        board = line.strip()
        discs = [
            f"{'b' if disc == 'X' else 'w'} {SQUARES[at % 8]}{at // 8 + 1}"
            for at, disc in enumerate(board)
            if disc != "-"
        ]
        ask(f"gogui-setup {' '.join(discs)}")
        ask(f"gogui-setup_player {colour.lower()}")
        move = ask(f"reg_genmove {colour.lower()}")
        say(str(8 * (int(move[1]) - 1) + SQUARES.index(move[0])))
    engine.stdin.close()
    return engine.wait(20)


if __name__ == "__main__":
    sys.exit(main())
