"""The kernels of counting that Python calls, by name and signature."""

from __future__ import annotations

from functools import cache

from desdaemon.engine.compiler.library import Library, Spec, load

SPEC = Spec(
    "counting",
    __name__,
    ("desdaemon.engine.counting.kernels.perft", "desdaemon.engine.counting.kernels.positions"),
    {
        "perft": "i64(u64,u64,i64,i64)",
        "positions_add": "i64(u64,u64,u64,u64)",
        "positions_copy": "void(u64,i64,u64,i64)",
        "positions_expand": "i64(u64,i64,i64,u64,i64,i64)",
    },
)


@cache
def kernels() -> Library:
    """Return the library's functions; compiles them at the first use on a machine, which takes some seconds."""
    return load(SPEC)
