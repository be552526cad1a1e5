"""Progress of long work, and its cancellation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

ProgressCallback = Callable[[str, int, int], None]
"""Called with (stage, done, total) many times a second on the working thread; raises `WorkCancelled` to end the work.

A total of 0 means unknown.
"""


class WorkCancelled(Exception):
    """The work was cancelled. Its changes are consistent, or were not made at all."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Do nothing: a `ProgressCallback`."""


def slices(total: int, step: int, stage: str, progress: ProgressCallback) -> Iterator[tuple[int, int]]:
    """Yield ranges of ``step`` numbers below ``total``; ``progress`` is called after each."""
    for start in range(0, total, step):
        end = min(total, start + step)
        yield start, end
        progress(stage, end, total)
