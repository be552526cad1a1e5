"""The kernels of Egaroucid's books that Python calls, by name and signature."""

from __future__ import annotations

from functools import cache

from desdaemon.engine.compiler.library import Library, Spec, load

SPEC = Spec(
    "egaroucid-format",
    __name__,
    ("desdaemon.book.egaroucid.kernels",),
    {
        "egbk_load": "i64(u64,u64,i64,i64,i64,u64,u64)",
        "count_positions": "void(u64,u64,i64,i64,u64,u64)",
        "add_passes": "i64(u64,i64,i64,u64,u64)",
    },
)


@cache
def kernels() -> Library:
    """Return the library's functions; compiles them at the first use on a machine, which takes some seconds."""
    return load(SPEC)
