"""The engine's entries and those of `probe.kernels`."""

from __future__ import annotations

from desdaemon.engine import exports
from desdaemon.engine.compiler.library import Spec

MODULES = (*exports.MODULES, "probe.kernels.inner", "probe.kernels.entries")

INNER = {
    "check_entries": "void(u64,u64,u64,u64,i64,u64,u64,u64,u64)",
    "probe_stable": "u64(u64,u64,u64)",
    "probe_bound": "i64(u64,u64,u64)",
    "probe_last": "i64(u64,u64)",
    "probe_final": "i64(u64,i64)",
    "probe_solve": "i64(u64,u64,u64,i64)",
    "probe_null": "i64(u64,u64,u64,i64,i64)",
    "probe_features": "void(u64,u64,u64)",
    "probe_update": "void(u64,u64,u64,u64,u64)",
    "probe_evaluate": "i64(u64,u64,u64,i64)",
    "probe_static": "i64(u64,u64,u64)",
    "probe_remember": "void(u64,u64,u64,i64,i64,u64,i64,i64)",
    "probe_answer": "i64(u64,u64,u64,i64,i64,i64)",
}

SPEC = Spec("probe", __name__, MODULES, {**exports.SPEC.entries, **INNER}, exports.SPEC.quick)
