"""Reports of `desdaemon count flips`, ``draws`` and ``stoner``, with progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from desdaemon.protocol.othello.notation import moves_text

from .progress import StepProgress


def flips(games: int, seed: int) -> int:
    """Print the table of discs turned by a move."""
    from desdaemon.engine.studies import count_flips, mean_of_plies

    with StepProgress() as progress:
        found = count_flips(games, seed, progress)
    lines = ["ply     games  a legal move turns  deviation  the move played"]
    lines += [f"{ply.ply:3} {ply.games:9} {ply.mean:19.3f} {ply.deviation:10.3f} {ply.played:16.3f}" for ply in found]
    legal, played = mean_of_plies(found)
    lines.append(f"{'mean of the plies':17} {legal:15.3f} {'':10} {played:16.3f}")
    return _print(lines)


def draws(most: int) -> int:
    """Print the shortest drawn games."""
    from desdaemon.engine.studies import PASS, shortest_draws

    with StepProgress() as progress:
        games = shortest_draws(most, progress)
    if not games:
        return _print([f"no drawn game of up to {most} plies"])
    plies = sum(move != PASS for move in games[0])
    return _print([*map(moves_text, games), f"{len(games)} drawn games of {plies} plies from f5, none shorter"])


def stoner(most: int, every: bool) -> int:
    """Print a shortest Stoner, or all of them."""
    from desdaemon.engine.studies import shortest_stoners

    with StepProgress() as progress:
        lines = shortest_stoners(most, progress)
    if not lines:
        return _print([f"no Stoner within {most} plies"])
    shown = lines if every else lines[:1]
    return _print([*map(moves_text, shown), f"{len(lines[0])} plies, none shorter; {len(lines)} such lines from f5"])


def _print(lines: Iterable[str]) -> int:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0
