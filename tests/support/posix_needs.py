"""Which tests need POSIX: what a file of tests uses that Windows lacks, and what is marked so."""

from __future__ import annotations

import ast
import re
from pathlib import Path

MODULES = {"fcntl", "pty", "termios", "resource", "pwd", "grp"}
NEEDS = re.compile(
    r"\b(mkfifo|openpty|os\.fork|setsid|getuid|geteuid|killpg|preexec_fn|SIGKILL|SIGHUP|SIGSTOP|SIGCONT|symlink_to|"
    r"os\.symlink|start_new_session|st_mode|AF_UNIX|setrlimit|umask|add_signal_handler|import resource|room_for)\b|"
    r"/bin/sh|\"mount\"|/proc/|/dev/(?:full|null|zero|stdin|fd)|\bchmod\(|\"sh\", \"-c\"|\bSIGINT\)|sh -c"
)
"""What only POSIX has, as it stands in a test."""

MARK = "pytest.mark.posix"


def unmarked(path: Path) -> list[str]:
    """Return the tests of a file that need POSIX by themselves, or by a function or a constant of the file that they
    name, and do not say so. A file that imports a module of POSIX says so as a whole.
    """
    source = path.read_text("utf-8")
    if not NEEDS.search(source) and not any(f"import {module}" in source for module in MODULES):
        return []
    lines = source.splitlines()
    tree = ast.parse(source)
    if any(isinstance(node, ast.Assign) and MARK in ast.unparse(node) for node in tree.body):
        return []
    if any(isinstance(node, ast.Import) and {alias.name for alias in node.names} & MODULES for node in tree.body):
        return [path.name]
    parts: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            parts[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            # The programs of children, as text.
            parts[node.targets[0].id] = node
    texts = {name: "\n".join(lines[node.lineno - 1 : node.end_lineno]) for name, node in parts.items()}
    names = {name: {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} for name, node in parts.items()}
    for name, node in parts.items():
        if isinstance(node, ast.FunctionDef):
            names[name] |= {argument.arg for argument in node.args.args}
    needing = {name for name, text in texts.items() if NEEDS.search(text)}
    while more := {name for name in parts if names[name] & needing} - needing:
        needing |= more
    return [
        name
        for name, node in parts.items()
        if name in needing
        and name.startswith("test_")
        and isinstance(node, ast.FunctionDef)
        and not any(MARK in ast.unparse(one) for one in node.decorator_list)
    ]
