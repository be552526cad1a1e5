"""The kernels of the engine's library that Python calls, by name and signature; their docstrings describe them.

Plain data, so that a start from the cache imports neither numba nor the kernels.
"""

from __future__ import annotations

from collections.abc import Callable

from desdaemon.engine.compiler.library import Spec, wait

MODULES = (
    "desdaemon.engine.kernels.interface",
    "desdaemon.engine.kernels.lines",
    "desdaemon.engine.kernels.short_searches",
)

SPEC = Spec(
    "engine",
    __name__,
    MODULES,
    {
        "board_moves": "u64(u64,u64)",
        "board_flip": "u64(u64,u64,u64)",
        "board_symmetric": "u64(u64,i64)",
        "board_canonical_symmetry": "i64(u64,u64)",
        "board_has_symmetry": "i64(u64,u64)",
        "fill_edge_table": "void(u64)",
        "map_weights": "void(u64,u64)",
        "expand_weights": "void(u64,u64,u64,u64)",
        "expand_network": "void(u64,u64,u64)",
        "search_root": "i64(u64,u64,u64,i64,i64,i64,i64,u64,u64)",
        "lead_root": "i64(u64,u64,u64,i64,i64,i64,i64,u64,u64)",
        "help_team": "void(u64)",
        "known_move": "u64(u64,u64,u64,i64,i64)",
        "feed_score": "void(u64,u64,u64,i64,i64,i64,u64)",
        "static_score": "i64(u64,u64,u64)",
        "evaluate_often": "i64(u64,u64,u64,i64)",
        "static_many": "void(u64,u64,u64,u64,i64)",
        "score_many": "void(u64,u64,u64,u64,i64,i64,i64)",
        "search_records": "void(u64,u64,i64)",
        "play_lines": "void(u64,i64)",
        "boards_canonical": "void(u64,u64,i64)",
    },
    {
        **{
            name: name
            for name in (
                "board_moves",
                "board_flip",
                "board_symmetric",
                "board_canonical_symmetry",
                "board_has_symmetry",
                "known_move",
            )
        },
        "search_shallow": "search_root",
    },
)


def await_kernels(look: Callable[[], None]) -> None:
    """Wait until the library can be loaded at once. ``look`` is called at intervals meanwhile, and may raise."""
    wait(SPEC, look)
