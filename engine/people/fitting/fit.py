"""Fits the weights of `desdaemon.engine.people.policy` to people's choices.

Stochastic gradient ascent of the likelihood, with a step size for each weight (Adagrad).
"""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.people import policy
from desdaemon.engine.people.policy import CONFIGURATIONS, HIDDEN, PATTERNS, ROWS
from desdaemon.engine.training.compiled import compiled
from desdaemon.engine.training.labelling.boards import Boards

from .choices import Choices, Openings
from .games import Floats


class Model(NamedTuple):
    """Weights as in `policy.PolicyWeights`; ``rows`` is (ROWS, 2, HIDDEN), ``patterns`` is in units of 1."""

    rows: Floats
    outputs: Floats
    patterns: Floats


class _Geometry(NamedTuple):
    places: NDArray[np.int64]
    squares: NDArray[np.int64]
    """The squares of the patterns of each square, 64, which is always empty, where a pattern has fewer than WIDTH."""


def _geometry() -> _Geometry:
    squares = np.full((64, PATTERNS, policy.WIDTH), 64, np.int64)
    for square, each in enumerate(policy.square_patterns()):
        for k, pattern in enumerate(each.patterns):
            squares[square, k, : len(pattern)] = pattern
    return _Geometry(np.array([each.place for each in policy.square_patterns()]), squares)


@compiled
def _descend(
    order: NDArray[np.int64],
    players: Boards,
    opponents: Boards,
    chosen: NDArray[np.int64],
    above: Floats,
    starts: NDArray[np.int64],
    moved: NDArray[np.int64],
    small: NDArray[np.uint16],
    geometry: _Geometry,
    model: Model,
    seen: Model,
    rates: NDArray[np.float32],
    chances: Floats,
) -> None:
    """Write the chances of the moves of the positions in ``order`` to ``chances``. With ``rates`` above 0, of patterns
    and of all else, also fit ``model`` after each position, in steps of these sizes, divided by the root of ``seen``,
    the sums of squared gradients, which grow.

    ``moved`` are the moves' squares; the other arrays of positions and moves are those of `Choices`.
    """
    digits = np.zeros(65, np.int64)
    numbers = np.empty((64, PATTERNS), np.int64)
    sums = np.empty((64, HIDDEN), np.float32)
    units = np.empty(64, np.float32)
    pull = np.empty(HIDDEN, np.float32)
    turn = np.empty(HIDDEN, np.float32)
    for i in order:
        for square in range(64):
            own = (players[i] >> np.uint64(square)) & np.uint64(1)
            other = (opponents[i] >> np.uint64(square)) & np.uint64(1)
            digits[square] = np.int64(own) + 2 * np.int64(other)
        begin, end = starts[i], starts[i + 1]
        most = np.float32(-1e9)
        for c in range(begin, end):
            k = c - begin
            square = moved[c]
            first = geometry.places[square] * PATTERNS * CONFIGURATIONS
            total = np.float32(0)
            for n in range(PATTERNS):
                configuration = np.int64(0)
                for j in range(policy.WIDTH - 1, -1, -1):
                    configuration = 3 * configuration + digits[geometry.squares[square, n, j]]
                numbers[k, n] = first + n * CONFIGURATIONS + configuration
                total += model.patterns[numbers[k, n]]
            units[k] = total
            for j in range(HIDDEN):
                sums[k, j] = total * (model.rows[ROWS - 1, 0, j] + above[i] * model.rows[ROWS - 1, 1, j])
            for n in range(small.shape[1]):
                row = small[c, n]
                for j in range(HIDDEN):
                    sums[k, j] += model.rows[row, 0, j] + above[i] * model.rows[row, 1, j]
            total = sums[k, 0]
            for j in range(1, HIDDEN):
                total += model.outputs[j] * max(np.float32(0), sums[k, j])
            chances[c] = total
            most = max(most, total)
        total = np.float32(0)
        for c in range(begin, end):
            chances[c] = np.exp(chances[c] - most)
            total += chances[c]
        for c in range(begin, end):
            chances[c] /= total
        if rates[1] == 0:
            continue
        turn[:] = 0
        for c in range(begin, end):
            k = c - begin
            error = chances[c]
            if k == chosen[i]:
                error -= np.float32(1)
            pull[0] = error
            for j in range(1, HIDDEN):
                above_zero = sums[k, j] > 0
                pull[j] = error * model.outputs[j] if above_zero else np.float32(0)
                turn[j] += error * sums[k, j] if above_zero else np.float32(0)
            step = np.float32(0)
            for j in range(HIDDEN):
                step += pull[j] * (model.rows[ROWS - 1, 0, j] + above[i] * model.rows[ROWS - 1, 1, j])
            for n in range(PATTERNS):
                number = numbers[k, n]
                seen.patterns[number] += step * step
                model.patterns[number] -= rates[0] * step / np.sqrt(seen.patterns[number])
            for n in range(small.shape[1] + 1):
                row = np.int64(small[c, n]) if n < small.shape[1] else ROWS - 1
                size = np.float32(1) if n < small.shape[1] else units[k]
                if row:
                    for d in range(2):
                        for j in range(HIDDEN):
                            step = size * pull[j]
                            seen.rows[row, d, j] += step * step
                            model.rows[row, d, j] -= rates[1] * step / np.sqrt(seen.rows[row, d, j])
                        size *= above[i]
        for j in range(1, HIDDEN):
            seen.outputs[j] += turn[j] * turn[j]
            model.outputs[j] -= rates[1] * turn[j] / np.sqrt(seen.outputs[j])


class Fit:
    """Fits a model, which ``seed`` begins. For each weight it keeps the sum of squared gradients, which makes later
    steps smaller.
    """

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        shapes = (ROWS, 2, HIDDEN), (HIDDEN,), (9 * PATTERNS * CONFIGURATIONS,)
        self.model = Model(*(np.zeros(shape, np.float32) for shape in shapes))
        self.model.rows[1:, 0, 1:] = rng.normal(0, 0.1, (ROWS - 1, HIDDEN - 1))
        self.model.rows[-1, 0, 0] = 1
        self.model.outputs[1:] = rng.normal(0, 0.3, HIDDEN - 1)
        # Patterns begin with more, so that what was seen a few times moves little.
        self._seen = Model(*(np.full(shape, seen, np.float32) for shape, seen in zip(shapes, (1, 1, 10), strict=True)))
        self._geometry = _geometry()

    def run(self, choices: Choices, rng: np.random.Generator, rate: float, patterns_rate: float) -> None:
        """Fit the model to each of the positions once, in an order drawn by lot. The rates are the sizes of the first
        steps, of patterns and of all else.
        """
        self._pass(choices, rng.permutation(len(choices.chosen)), rate, patterns_rate)

    def chances(self, choices: Choices) -> Floats:
        """Return the chances of all moves of the positions."""
        return self._pass(choices, np.arange(len(choices.chosen)), 0, 0)

    def _pass(self, choices: Choices, order: NDArray[np.int64], rate: float, patterns_rate: float) -> Floats:
        chances = np.zeros(len(choices.squares), np.float32)
        _descend(
            order,
            choices.positions.players,
            choices.positions.opponents,
            choices.chosen,
            choices.above,
            choices.starts,
            choices.squares,
            choices.small,
            self._geometry,
            self.model,
            self._seen,
            np.array([patterns_rate, rate], np.float32),
            chances,
        )
        return chances

    def weights(self, openings: Openings, record: dict[str, Any]) -> policy.PolicyWeights:
        """Return the weights to be written. The model's weights of patterns are rounded to units of the file."""
        units = np.clip(np.rint(self.model.patterns * policy.UNIT), -127, 127)
        self.model.patterns[:] = units / policy.UNIT
        rows, outputs = (array("f", each.tobytes()) for each in self.model[:2])
        patterns = array("b", units.astype(np.int8).tobytes())
        return policy.PolicyWeights(rows, outputs, patterns, openings.packed(), record)
