"""The compiled book kernels, loaded once."""

from __future__ import annotations

from functools import cache

from desdaemon.engine.compiler.library import Library, Tell, load

from .exports import SPEC


@cache
def kernels(tell: Tell | None = None) -> Library:
    """The kernels' C functions; compiled at the first use on a machine, which takes seconds."""
    return load(SPEC, tell)
