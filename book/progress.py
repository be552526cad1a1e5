"""How long work says how far it is, and how it is ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator

Going = Callable[[str, int, int], None]
"""Told (stage, done, total) many times a second; raises `Stopped` to end the work. Total 0: not known."""


class Stopped(Exception):
    """The work was asked to stop. What was done so far is whole, or was left as it was."""


def silent(stage: str, done: int, total: int) -> None:
    """A `Going` that nobody hears."""


def slices(total: int, step: int, stage: str, going: Going) -> Iterator[tuple[int, int]]:
    """Ranges of ``step`` numbers below ``total``; ``going`` is told after each."""
    for start in range(0, total, step):
        end = min(total, start + step)
        yield start, end
        going(stage, end, total)
