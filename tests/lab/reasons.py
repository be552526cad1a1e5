"""`python tests/lab reasons FILE ...`: fit the weights of reasons, and show reasons for judging.

Positions are drawn by lot from games, their moves searched, and the lines of the best move and of others measured.
What the others lose, in discs, is fitted by least squares to the differences of the measures, for each stage of the
game; a weight whose sign is against all teaching (`SIGNS`) is 0. A fifth of the positions is held out. ``--show``
prints moves of the games that lose `GREAT` discs and more instead, with the board, both lines and the reasons.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.limits import Limits
from desdaemon.engine.people.strength import StrengthPolicy
from desdaemon.engine.reasons.explain import reasons, stage_of
from desdaemon.engine.reasons.measures import MEASURES, compared, measured
from desdaemon.engine.reasons.weights import STAGES
from desdaemon.engine.result import Line as FoundLine
from desdaemon.engine.search import Searcher
from desdaemon.protocol.command_line import Parser, whole
from desdaemon.protocol.games.bases import read_games
from desdaemon.protocol.othello.notation import Position, moves_text, square_text, squares_text
from desdaemon.protocol.othello.rules import FULL
from desdaemon.protocol.othello.selectivity import Selectivity

GREAT = 6
"""Least loss that is shown."""
MOST_LOST = 24
"""Larger losses count as this many discs, since no position is lost more clearly than clearly."""
RATING, LIKELY = 1000, 0.02
"""Moves count that people of this rating choose with at least this chance."""
DEPTH, SOLVED = 12, 16
"""Plies of searches, and the empty squares from which they go to the end."""
PULL = 100.0
"""Pull of the weights towards 0, in rows."""
PLIES = range(6, 56)

SIGNS = {
    "corner": 1, "x-square": -1, "c-square": -1, "moves": 1, "room": 1, "opens": 1, "wall": -1, "taken": 1, "quiet": -1,
    "wedge": 1, "free": 1, "pass": -1, "early": -1, "last": 1, "turns": 1,
}  # fmt: skip
"""Whether more of what is counted is good or bad for a side."""


class Loss(NamedTuple):
    """A move that loses discs: the position, its line and that of the best move."""

    position: Position
    played: FoundLine
    best: FoundLine

    @property
    def discs(self) -> int:
        return self.best.score - self.played.score


def drawn(files: list[str], lot: random.Random) -> Iterator[tuple[Position, int]]:
    """Yield positions with a choice, by lot from the games of files, and the moves played there, without end."""
    games = [game.record for file in files for game in read_games(file)]
    while True:
        record = lot.choice(games)
        ply = lot.choice(PLIES)
        if ply >= len(record.moves):
            continue
        position = record.initial
        for played in record.moves[:ply]:
            position = position.after(played.move)
        if position.moves.bit_count() > 1:
            yield position, record.moves[ply].move


class Lines:
    """The searches of positions, each from an empty table, so that they do not depend on those before."""

    def __init__(self) -> None:
        self._searcher = Searcher(hash_bits=18)

    def of(self, position: Position, multipv: int = 1, allow: int = FULL) -> tuple[FoundLine, ...]:
        """Return the ``multipv`` best lines of a position with the moves ``allow``, a mask, best first."""
        solved = position.empties <= SOLVED
        limits = Limits(*((position.empties, Selectivity.FULL) if solved else (DEPTH, Selectivity.PERCENT_73)))
        self._searcher.clear()
        return self._searcher.search(position.player, position.opponent, limits, multipv=multipv, allow=allow).lines


def losses(files: list[str], positions: int, seed: int) -> Iterator[Loss]:
    """Yield moves that people are likely to play and that lose discs: at most two by lot of each position."""
    lines, people, lot = Lines(), StrengthPolicy.load(), random.Random(seed)
    for position, _ in drawn(files, lot):
        found = lines.of(position, multipv=position.moves.bit_count())
        chances = people.chances(position.player, position.opponent, RATING)
        worse = [line for line in found[1:] if line.score < found[0].score and chances[line.move] > LIKELY]
        for line in lot.sample(worse, min(2, len(worse))):
            yield Loss(position, line, found[0])
        positions -= bool(worse)
        if not positions:
            return


def great_losses(files: list[str], positions: int, seed: int) -> Iterator[Loss]:
    """Yield moves of the games that lose `GREAT` discs and more."""
    lines = Lines()
    for position, move in drawn(files, random.Random(seed)):
        (best,) = lines.of(position)
        if best.move == move:
            continue
        (played,) = lines.of(position, allow=1 << move)
        if best.score - played.score < GREAT:
            continue
        yield Loss(position, played, best)
        positions -= 1
        if not positions:
            return


def row(loss: Loss) -> list[float]:
    """Return the differences of the measures."""
    played, best = map(measured, compared(loss.position, loss.played.pv, loss.best.pv))
    return [best[kind].balance - played[kind].balance for kind in MEASURES]


def solved(rows: NDArray[Any], lost: NDArray[Any]) -> NDArray[Any]:
    """Return the least-squares weights whose signs are those of `SIGNS`, and what no measure explains."""
    signs = np.array([*(SIGNS[kind] for kind in MEASURES), 1])
    matrix = np.column_stack([rows, np.ones(len(rows))]) * signs
    # The second power of a difference pulls in its own unit.
    product = matrix.T @ matrix + PULL * np.diag(np.maximum(1e-9, matrix.var(0)))
    target = matrix.T @ lost
    weights = np.zeros(len(signs))
    for _ in range(2000):
        for k in range(len(weights)):
            rest = target[k] - product[k] @ weights + product[k, k] * weights[k]
            weights[k] = max(0.0, rest / product[k, k])
    found: NDArray[Any] = weights * signs
    return found


def fit(found: list[Loss]) -> None:
    """Print the table of weights, and how much of the losses they explain."""
    rows = np.array([row(loss) for loss in found])
    lost = np.array([min(MOST_LOST, loss.discs) for loss in found], dtype=float)
    stages = np.array([stage_of(loss.position.empties) for loss in found])
    places = {loss.position: k for k, loss in enumerate(found)}
    held = np.array([places[loss.position] % 5 == 0 for loss in found])
    for stage in range(len(STAGES)):
        taught, test = (stages == stage) & ~held, (stages == stage) & held
        weights = solved(rows[taught], lost[taught])
        found_by = rows[test] @ weights[:-1] + weights[-1]
        error, told = lost[test] - found_by, np.corrcoef(found_by, lost[test])[0, 1]
        sys.stdout.write(
            f"stage {stage}: {taught.sum()} + {test.sum()} moves, held out: loss {lost[test].mean():.1f}, "
            f"r {told:.2f}, error {np.abs(error).mean():.2f} discs, of the mean alone "
            f"{np.abs(lost[test] - lost[taught].mean()).mean():.2f}; {weights[-1]:.1f} discs by none\n"
        )
        for kind, weight, column in zip(MEASURES, weights[:-1], rows[taught].T, strict=True):
            sys.stdout.write(
                f"    {kind!r:11}: {weight:6.3f}   {100 * np.mean(column != 0):3.0f} % differ, by {column.std():.2f}\n"
            )


def show(found: Iterable[Loss]) -> None:
    """Print losses and their reasons; Black has X."""
    for number, loss in enumerate(found, 1):
        position, lines = loss.position, (loss.played, loss.best)
        sys.stdout.write(
            f"{number}. {'Black' if position.black_to_move else 'White'} plays {square_text(loss.played.move)}, "
            f"which loses {loss.discs} discs; {position.empties} empty squares\n"
        )
        squares = squares_text(position)
        sys.stdout.write("     a b c d e f g h\n")
        for rank in range(8):
            sys.stdout.write(f"   {rank + 1} {' '.join(squares[8 * rank : 8 * rank + 8])}\n")
        for line in lines:
            sys.stdout.write(f"   {line.score:+3}  {moves_text(line.pv[:12])}\n")
        for reason in reasons(position, *(line.pv for line in lines)):
            sys.stdout.write(f"   {reason.kind} {reason.discs:.1f}: {reason.text}\n")
        sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Run the experiment; returns the exit status."""
    parser = Parser(prog="python tests/lab reasons", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--positions", type=whole(1, 10**6), default=1000)
    parser.add_argument("--seed", type=int, default=1, help="which positions")
    parser.add_argument("--show", action="store_true", help="print reasons instead")
    asked = parser.parse_args(arguments)
    if asked.show:
        show(great_losses(asked.files, asked.positions, asked.seed))
    else:
        fit(list(losses(asked.files, asked.positions, asked.seed)))
    return 0
