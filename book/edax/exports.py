"""The kernels of Edax's books that Python calls, by name and signature."""

from __future__ import annotations

from functools import cache

from desdaemon.engine.compiler.library import Library, Spec, load

SPEC = Spec(
    "edax-format",
    __name__,
    ("desdaemon.book.edax.kernels",),
    {
        "dat_same_links": "void(u64,u64,i64,u64,u64)",
        "dat_load": "i64(u64,u64,i64,i64,i64,u64)",
        "dat_compare": "i64(u64,u64,i64,i64,i64,u64,i64,u64,u64)",
        "dat_write": "i64(u64,i64,i64,u64,i64,u64,i64,u64,u64,u64)",
    },
)


@cache
def kernels() -> Library:
    """Return the library's functions; compiles them at the first use on a machine, which takes some seconds."""
    return load(SPEC)
