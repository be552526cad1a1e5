"""The kernels of packed books that Python calls, by name and signature."""

from __future__ import annotations

from functools import cache

from desdaemon.engine.compiler.library import Library, Spec, load

SPEC = Spec(
    "packed-books",
    __name__,
    ("desdaemon.book.packed.kernels",),
    {
        "packed_record": "i64(u64,i64,u64)",
        "packed_records": "i64(u64,u64,u64)",
        "packed_keys": "void(u64,i64,u64)",
        "packed_fill": "i64(u64,u64,i64,i64,u64)",
    },
)


@cache
def kernels() -> Library:
    """Return the library's functions; compiles them at the first use on a machine, which takes some seconds."""
    return load(SPEC)
