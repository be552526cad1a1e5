"""Parts above the core that it calls by name when an option asks for them: the cluster.

A plug-in imports the core; the core imports no plug-in, and loads one when it is first needed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

AT_THE_END: list[Callable[[], None]] = []
"""What plug-ins have handed in, to be called when the book of the process is closed."""


def cluster(module: str) -> Any:
    """Return a module of `desdaemon.cluster`; raises `BadInput` if dask is not installed."""
    return import_module(f"desdaemon.cluster.{module}")
