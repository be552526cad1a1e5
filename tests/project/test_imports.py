"""State machines have no I/O."""

from __future__ import annotations

import ast

from checkout import ROOT

ALLOWED = {
    *("__future__", "abc", "bisect", "collections", "collections.abc", "enum", "heapq", "itertools", "math", "typing"),
}
MACHINES = (
    *("core/books/job_turns", "core/search/schedule", "dialogue/stops", "server/client_table", "dialogue/client_lines"),
    *("server/handshakes", "server/reading_order"),
)


def test_state_machines_import_nothing_that_waits_or_talks() -> None:
    for path in (ROOT / "daemon" / f"{machine}.py" for machine in MACHINES):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= ALLOWED, path.name
            elif isinstance(node, ast.ImportFrom):
                assert node.module in ALLOWED, f"{path.name} imports {node.module}"
