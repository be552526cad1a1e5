"""Progress of long work, and its cancellation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

ProgressCallback = Callable[[str, int, int], None]
"""Called with (stage, done, total) many times a second on the working thread. A total of 0 means that it is unknown.

Raises `WorkCancelled` to end the work.
"""


class WorkCancelled(Exception):
    """The work was cancelled. Its changes are consistent, or were not made at all."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Do nothing: a `ProgressCallback` for work whose progress is not shown."""


def slices(total: int, step: int, stage: str, progress: ProgressCallback) -> Iterator[tuple[int, int]]:
    """Yield consecutive ranges (start, end) of at most ``step`` numbers, from 0 to ``total``; ``progress`` is called
    with ``stage`` after each range was used.
    """
    for start in range(0, total, step):
        end = min(total, start + step)
        yield start, end
        progress(stage, end, total)
