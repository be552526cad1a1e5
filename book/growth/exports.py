"""The kernels of book growth that Python calls, by name and signature."""

from __future__ import annotations

from functools import cache

from desdaemon.engine.compiler.library import Library, Spec, load

SPEC = Spec(
    "book-growth",
    __name__,
    ("desdaemon.book.growth.kernels",),
    {
        "select_rows": "i64(u64,u64,u64,i64,i64,u64,u64)",
        "select_below": "i64(u64,u64,u64,i64,u64,u64)",
    },
)


@cache
def kernels() -> Library:
    """Return the library's functions; compiles them at the first use on a machine, which takes some seconds."""
    return load(SPEC)
