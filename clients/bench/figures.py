"""The figures of the benchmarks of a daemon, and percentiles."""

from __future__ import annotations

from typing import NamedTuple


class MeasuredFigure(NamedTuple):
    """A figure with its unit, and its aim: an upper or a lower bound, None for none."""

    name: str
    value: float
    unit: str
    aim: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def reached(self) -> bool:
        """Whether the figure meets its aim."""
        if self.aim is None:
            return True
        return self.value >= self.aim if self.at_least else self.value <= self.aim


def percentile(values: list[float], percent: float) -> float:
    """The smallest value that is not less than ``percent`` percent of them."""
    return sorted(values)[min(len(values) - 1, int(len(values) * percent / 100))]
