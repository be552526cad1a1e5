"""How many moves of people a policy predicts, and what its own moves lose."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.people.policy import FIRST, OFTEN
from desdaemon.engine.training.labelling import boards
from desdaemon.engine.training.store import write_line

from .choices import COLUMN, Choices, Openings, board_keys
from .games import Floats

_BANDS = (0, 1300, 1500, 1700, 1900, 2100, 9999)


def _guesses(choices: Choices, sums: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each position whether the first of the moves with the largest of ``sums`` is the chosen one."""
    best = np.repeat(np.maximum.reduceat(sums, choices.starts[:-1]), np.diff(choices.starts)) == sums
    order = np.where(best, np.arange(len(sums)), len(sums))
    right: NDArray[np.bool_] = np.minimum.reduceat(order, choices.starts[:-1]) == choices.starts[:-1] + choices.chosen
    return right


def report(test: Choices, openings: Openings, values: NDArray[np.float64], without: Floats, chances: Floats) -> None:
    """Print, by ratings and by plies, how many of the moves chosen in ``test`` are predicted, and for people's and the
    policy's moves the discs lost and how often they leave a corner to the opponent.

    ``values`` are the values of all moves by the deepest searches; ``without`` and ``chances`` their chances by a model
    without and with searches.
    """
    begin, picks = test.starts[:-1], test.starts[:-1] + test.chosen
    best = np.repeat(np.maximum.reduceat(values, begin), np.diff(test.starts)) - values
    given = (test.small[:, COLUMN["corners"]].astype(np.int64) - FIRST["corners"]) % 3 > 0
    plies = boards.plies(*test.positions[:2]).astype(np.int64)
    columns = {
        "search": 100 * _guesses(test, values),
        "without": 100 * _guesses(test, without),
        "with": 100 * _guesses(test, chances),
        "likelihood": -np.log(np.maximum(1e-9, chances[picks])),
        "loss": best[picks],
        "policy's": np.add.reduceat(chances * best, begin),
        "corner": 100 * given[picks],
        "policy's ": 100 * np.add.reduceat(chances * given, begin),
    }
    write_line(f"{'':16}{'positions':>10}" + "".join(f"{name:>11}" for name in columns))

    def line(name: str, mask: NDArray[np.bool_]) -> None:
        if mask.any():
            cells = "".join(f"{column[mask].mean():11.2f}" for column in columns.values())
            write_line(f"{name:16}{mask.sum():10}{cells}")

    line("all", np.ones(len(plies), np.bool_))
    line("of unrated", np.isnan(test.positions.ratings))
    for low, high in pairwise(_BANDS):
        line(f"{low} to {high - 1}", (test.positions.ratings >= low) & (test.positions.ratings < high))
    for low in range(0, 60, 10):
        line(f"plies {low}-{low + 9}", (plies >= low) & (plies < low + 10))
    count, total = openings.found(board_keys(*test.positions[:2])[test.parents], test.squares)
    known = total[begin] >= OFTEN[0]
    line("known openings", known)
    commonest = 100 * _guesses(test, count)[known].mean() if known.any() else 0.0
    write_line(f"the commonest move there predicts {commonest:.2f} %")
