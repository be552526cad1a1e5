"""Parts above the core that it loads by name when an option asks for them: so far the cluster.

A plug-in imports the core; the core imports no plug-in.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def cluster(module: str) -> Any:
    """Import a module of `desdaemon.cluster` and return it; raises `BadInput` if dask is not installed."""
    return import_module(f"desdaemon.cluster.{module}")
