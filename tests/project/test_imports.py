"""State machines have no I/O."""

from __future__ import annotations

import ast

from checkout import ROOT

ALLOWED = {
    *("__future__", "abc", "bisect", "collections", "collections.abc", "enum", "fnmatch", "heapq", "itertools", "math"),
    *("random", "re", "typing"),
}
PURE = (
    *("desdaemon.clients.ggs", "desdaemon.protocol.othello.notation", "desdaemon.protocol.othello.rules"),
    *("desdaemon.protocol.commands.text", "desdaemon.clients.programs.statistics"),
    *("desdaemon.protocol.errors", "desdaemon.protocol.games.records"),
)
MACHINES = (
    *("daemon/core/books/job_turns", "daemon/core/search/schedule", "daemon/server/client_table"),
    *("daemon/server/handshakes", "daemon/server/reading_order", "clients/ggs/player"),
    *("clients/match/spsa", "clients/bot/messages"),
)
MACHINES_AMONG_THREADS = {
    "daemon/core/search/short_questions": "QuestionQueue",
    "daemon/dialogue/interrupt": "Stops",
    "daemon/dialogue/text_sessions": "ClientLines",
}
"""Classes in the file of the threads around them."""


def test_a_state_machine_uses_no_import_of_its_file_that_waits_or_talks() -> None:
    for file, machine in MACHINES_AMONG_THREADS.items():
        tree = ast.parse((ROOT / f"{file}.py").read_text("utf-8"))
        imported: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom) and getattr(node, "module", "") not in (*ALLOWED, *PURE):
                imported |= {alias.asname or alias.name for alias in node.names}
        assert "threading" in imported
        (found,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == machine]
        assert not imported & {node.id for node in ast.walk(found) if isinstance(node, ast.Name)}, machine


def test_state_machines_import_nothing_that_waits_or_talks() -> None:
    for path in (ROOT / f"{machine}.py" for machine in MACHINES):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= ALLOWED, path.name
            elif isinstance(node, ast.ImportFrom):
                assert node.module in (*ALLOWED, *PURE), f"{path.name} imports {node.module}"
