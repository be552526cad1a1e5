"""State machines have no I/O."""

from __future__ import annotations

import ast

from checkout import ROOT

ALLOWED = {
    *("__future__", "abc", "bisect", "collections", "collections.abc", "enum", "fnmatch", "heapq", "itertools", "math"),
    "typing",
}
PURE = ("desdaemon.protocol", "desdaemon.protocol.othello.notation", "desdaemon.protocol.othello.rules")
MACHINES = (
    *("daemon/core/books/job_turns", "daemon/core/search/schedule", "daemon/dialogue/stops"),
    *("daemon/server/client_table", "daemon/dialogue/client_lines", "daemon/server/handshakes"),
    *("daemon/server/reading_order", "clients/ggs/player"),
)


def test_state_machines_import_nothing_that_waits_or_talks() -> None:
    for path in (ROOT / f"{machine}.py" for machine in MACHINES):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= ALLOWED, path.name
            elif isinstance(node, ast.ImportFrom):
                assert node.module in (*ALLOWED, *PURE), f"{path.name} imports {node.module}"
