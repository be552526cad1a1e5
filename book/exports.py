"""The kernels that look up and change positions of a book, by name and signature; their docstrings describe them.
Those that go over all of a book are in `passes`, a library of its own, so that the first look-up waits for less.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from desdaemon.engine.compiler.library import Library, Spec, load, wait

if TYPE_CHECKING:
    # The compiling process loads this module, and nothing else that the digest of the compiled code does not cover.
    from .progress import ProgressCallback

MODULES = ("desdaemon.book.kernels.interface",)

SPEC = Spec(
    "book",
    __name__,
    MODULES,
    {
        "check_range": "void(u64,u64,u64)",
        "note_damage": "void(u64,u64)",
        "crc32_of": "u64(u64,u64,u64)",
        "find_impossible": "i64(u64,u64,u64)",
        "bad_results": "i64(u64,u64)",
        "packed_find": "i64(u64,u64,u64,u64)",
        "packed_find_many": "void(u64,u64,i64,u64)",
        "find_row": "i64(u64,u64,u64)",
        "find_rows": "i64(u64,u64,i64,u64)",
        "insert_row": "i64(u64,u64,u64)",
        "insert_records": "i64(u64,u64,i64,i64,i64,u64)",
        "rehash_segment": "void(u64,u64,u64,u64,u64)",
        "remove_rows": "i64(u64,u64,i64,i64)",
        "board_moves_of": "u64(u64,u64)",
        "board_flips_of": "u64(u64,u64,u64)",
        "canonical_of": "i64(u64,u64,u64)",
        "canonicalise": "i64(u64,i64,u64)",
        "grade_rows": "i64(u64,u64,i64,u64,i64,u64,i64)",
        "list_links": "i64(u64,u64,u64,u64)",
        "insert_children": "i64(u64,i64,i64,u64)",
        "list_parents": "i64(u64,i64,u64,i64)",
        "replay_game": "i64(u64,u64,u64,i64,u64,i64,u64)",
    },
    {name: name for name in ("find_row", "board_moves_of", "board_flips_of", "canonical_of", "list_links")},
)


@cache
def kernels() -> Library:
    """Return the library's functions; compiles them at the first use on a machine, which takes up to a minute."""
    return load(SPEC)


def await_kernels(progress: ProgressCallback, spec: Spec = SPEC) -> None:
    """Wait until a library, this one unless given, loads at once. ``progress`` is called at intervals while it is
    compiled, so that the wait can be cancelled.
    """
    wait(spec, lambda: progress("compile", 0, 0))
