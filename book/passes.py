"""The kernels that go over many positions of a book, by name and signature; their docstrings describe them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from desdaemon.engine.compiler.library import Library, Spec, load

from . import exports

if TYPE_CHECKING:
    from .progress import ProgressCallback

SPEC = Spec(
    "book-passes",
    __name__,
    tuple(f"desdaemon.book.kernels.{module}" for module in ("graph", "imports", "leaves", "negamax", "walks")),
    {
        "count_layers": "void(u64,i64,i64,u64)",
        "place_rows": "void(u64,i64,i64,u64,u64,u64)",
        "negamax_rows": "i64(u64,u64,i64,i64,u64,i64,u64,u64)",
        "make_up_leaves": "void(u64,i64,i64,i64,u64)",
        "list_kinds": "void(u64,i64,i64,u64)",
        "list_lost": "i64(u64,i64,i64,u64,u64,u64)",
        "count_empties": "void(u64,i64,i64,u64)",
        "fill_filters": "void(u64,i64,i64,u64)",
        "tally_rows": "void(u64,i64,i64,u64,u64)",
        "tally_listed": "void(u64,u64,i64,i64,u64,u64)",
        "list_faults": "i64(u64,i64,i64,u64,i64,u64,u64)",
        "reach_rows": "i64(u64,u64,u64,i64,i64,i64,u64)",
        "text_load": "i64(u64,u64,i64,i64,u64,u64)",
        "inspect_rows": "i64(u64,i64,i64,u64)",
    },
)


@cache
def kernels() -> Library:
    """Return the library's functions; compiles them at the first use on a machine, which takes some seconds."""
    return load(SPEC)


def await_kernels(progress: ProgressCallback) -> None:
    """Wait until the library loads at once, as `exports.await_kernels` does."""
    exports.await_kernels(progress, SPEC)
