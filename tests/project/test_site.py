"""The documentation's site: every page is in its navigation, and it can be built."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT


def test_every_document_is_in_the_navigation_once() -> None:
    named = re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


def test_every_note_is_in_the_index_once() -> None:
    notes = ROOT / "docs" / "notes"
    named = re.findall(r"^- \[.*\]\(([\w-]+\.md)\)", (notes / "index.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(["index.md", *named]) == sorted(path.name for path in notes.glob("*.md"))


def test_the_reference_names_existing_things() -> None:
    from importlib import import_module

    for name in re.findall(r"^::: (\S+)$", (ROOT / "docs" / "reference.md").read_text("utf-8"), re.MULTILINE):
        try:
            found: object = import_module(name)
        except ModuleNotFoundError:
            module, _, attribute = name.rpartition(".")
            found = getattr(import_module(module), attribute)
        assert getattr(found, "__doc__", None), name


@pytest.mark.slow
def test_the_site_can_be_built(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    build = [sys.executable, "-m", "mkdocs", "build", "-q", "-d", str(tmp_path / "site")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    pages = {path.name: path.read_text("utf-8") for path in (tmp_path / "site").glob("**/*.html")}
    assert "analyze_many" in pages["reference.html"]
    assert "<code>--role reader|editor</code>" in pages["web.html"]
    for name, page in pages.items():
        # Nothing is loaded from elsewhere.
        assert not re.search(r'<(?:script|link|img)[^>]*(?:src|href)="?(?:https?:)?//', page), name
    for sheet in (tmp_path / "site").glob("**/*.css"):
        assert not re.search(r"""(?:url\(|@import )["']?(?:https?:)?//""", sheet.read_text("utf-8")), sheet.name
