"""What packages offer by name: `__all__` says it, and it is there."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
from checkout import ROOT

PACKAGES = sorted(
    path
    for folder in ("daemon", "engine", "book", "clients", "protocol")
    for path in (ROOT / folder).rglob("__init__.py")
)


def offered(tree: ast.Module) -> set[str]:
    """Public names that a package takes from its own modules."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
        # Of a star the module itself says what it offers.
        if not (alias.asname or alias.name).startswith(("_", "*"))
    }


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.parent.name)
def test_what_a_package_offers_is_in_its_list(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = path.parent.relative_to(ROOT).parts
    name = ".".join(["desdaemon", *(parts[1:] if parts[0] == "daemon" else parts)])
    module = importlib.import_module(name)
    listed = list(getattr(module, "__all__", ()))
    assert len(listed) == len(set(listed))
    assert offered(tree) <= set(listed)
    for found in listed:
        assert getattr(module, found) is not None
