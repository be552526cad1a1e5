"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def until(condition: Callable[[], object], patience_s: float = 120) -> None:
    """Wait until a condition holds; fail where it never does."""
    due = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < due, "it did not happen"
        time.sleep(0.005)
