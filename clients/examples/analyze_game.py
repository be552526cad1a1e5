"""Analyse a game: print each position's result as soon as it is there, then where the game was lost.

python analyze_game.py f5d6c3d3c4f4e3 --level 12
python analyze_game.py f5d6c3d3c4f4e3 --endpoint tcp://host:6464 --key me.key
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
from itertools import pairwise

from desdaemon.clients import DaemonError, connect
from desdaemon.clients.results import Analysed


def shown(analysed: Analysed, played: str) -> str:
    """Return a line about one position and the move that was ``played`` in it."""
    best = analysed.best
    if best is None:
        return f"{analysed.ply:>3}  the game is over"
    proof = "exact" if best.exact else f"{best.depth}@{best.selectivity}%"
    return f"{analysed.ply:>3}  played {played or '--'}  best {best.move} {best.score:+d}  {proof}  {best.pv}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("moves")
    parser.add_argument("--level", type=int, default=12)
    parser.add_argument("--endpoint")
    parser.add_argument("--key")
    named = parser.parse_args()
    played = [named.moves[ply : ply + 2] for ply in range(0, len(named.moves), 2)] + [""]
    try:
        with connect(named.endpoint, key=named.key) as client:
            analysis = client.analyze_game(named.moves, level=named.level)
            for analysed in analysis:
                print(shown(analysed, played[analysed.ply or 0]), flush=True)
            worst, ply = 0, 0
            plies = analysis.result()
            for before, after in pairwise(plies):
                if before.best and after.best:
                    loss = before.best.score + after.best.score
                    if loss > worst:
                        worst, ply = loss, before.ply or 0
            if worst:
                print(f"The largest loss was {worst} discs, by move {ply + 1}, {played[ply]}.")
    except DaemonError as error:
        raise SystemExit(str(error)) from None


main()
