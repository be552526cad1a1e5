"""The counts' compiled functions, by name and signature; compiled at their first use, beside the engine's library."""

from __future__ import annotations

from desdaemon.engine.compiler.library import Spec

MODULES = (
    "desdaemon.engine.studies.kernels.drawn",
    "desdaemon.engine.studies.kernels.lines",
)

SPEC = Spec(
    "studies",
    __name__,
    MODULES,
    {
        "grow_shape": "i64(u64,u64,i64,u64)",
        "draws_of_shape": "i64(u64,u64,u64,u64)",
        "stoners_after": "i64(u64,u64,i64,u64)",
        "stoner_by": "i64(u64,u64,u64)",
        "random_games": "void(u64,i64,u64)",
    },
)
