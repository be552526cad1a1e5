"""What `desdaemon count flips`, ``draws`` and ``stoner`` print, with their progress on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from types import TracebackType

from desdaemon.protocol.othello.notation import moves_text

TERMINAL_S, LOG_S = 0.2, 5.0
"""How often progress is shown at a terminal, and elsewhere."""


class Shown:
    """Progress on standard error: a line that is written over at a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._last = 0.0

    def __enter__(self) -> Shown:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def __call__(self, what: str, done: int, total: int) -> None:
        """How much of what is done."""
        now = time.monotonic()
        if now - self._last < (TERMINAL_S if self._live else LOG_S):
            return
        self._last = now
        line = f"{what}: {done} of {total}"
        sys.stderr.write(f"\r\x1b[K{line}" if self._live else f"{line}\n")
        sys.stderr.flush()


def flips(games: int, seed: int) -> int:
    """Print the table of discs turned by a move."""
    from desdaemon.engine.studies.flips import count_flips, mean_of_plies

    with Shown() as progress:
        found = count_flips(games, seed, progress)
    lines = ["ply     games  a legal move turns  deviation  the move played"]
    lines += [f"{ply.ply:3} {ply.games:9} {ply.mean:19.3f} {ply.deviation:10.3f} {ply.played:16.3f}" for ply in found]
    legal, played = mean_of_plies(found)
    lines.append(f"{'mean of the plies':17} {legal:15.3f} {'':10} {played:16.3f}")
    return _print(lines)


def draws(most: int) -> int:
    """Print the shortest drawn games."""
    from desdaemon.engine.studies.draws import shortest_draws

    with Shown() as progress:
        found = shortest_draws(most, progress)
    if not found.games:
        return _print([f"no drawn game of up to {most} plies"])
    head = f"{len(found.games)} drawn games of {found.plies} plies from f5, none shorter"
    return _print([*map(moves_text, found.games), head])


def stoner(most: int, every: bool) -> int:
    """Print a shortest Stoner, or all of them."""
    from desdaemon.engine.studies.stoner import shortest_stoners

    with Shown() as progress:
        found = shortest_stoners(most, progress)
    if not found.lines:
        return _print([f"no Stoner within {most} plies"])
    shown = found.lines if every else found.lines[:1]
    return _print(
        [*map(moves_text, shown), f"{found.plies} plies, none shorter; {len(found.lines)} such lines from f5"]
    )


def _print(lines: Iterable[str]) -> int:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0
