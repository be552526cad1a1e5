"""Parts above the core that it calls by name when an option asks for them: the cluster.

A plug-in imports the core; the core imports no plug-in, and loads one when it is first needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def cluster(module: str) -> Any:
    """Return a module of `desdaemon.cluster`; raises `BadInput` if dask is not installed."""
    return import_module(f"desdaemon.cluster.{module}")
