"""Tests say what they need: what only POSIX has is left out on Windows, and the rest can run there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from checkout import ROOT
from posix_needs import unmarked
from windows_failures import FAILURES

OTHERS = {Path(__file__), ROOT / "tests/project/test_portable_sources.py"}
"""Files that name such things in texts."""
FILES = sorted({*(ROOT / "tests").rglob("test_*.py")} - OTHERS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_tests_that_need_posix_are_marked(path: Path) -> None:
    assert unmarked(path) == [], f"{path.name}: @pytest.mark.posix is missing"


@pytest.mark.parametrize("pattern", FAILURES)
def test_tests_that_fail_on_windows_are_there(pattern: str) -> None:
    file, _, rest = pattern.partition("::")
    name = re.split(r"[*\[]", rest)[0]
    assert f"def {name}{'' if rest.startswith(f'{name}*') else '('}" in (ROOT / file).read_text("utf-8")


def test_what_make_windows_runs_is_there() -> None:
    specification = importlib.util.spec_from_file_location("wine", ROOT / ".ci/wine.py")
    assert specification
    assert specification.loader
    wine = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(wine)
    assert [name for name in f"{wine.FOLDERS} {wine.SYSTEM_TESTS}".split() if not (ROOT / name).exists()] == []
    described = (ROOT / "docs/windows.md").read_text("utf-8").partition("| step |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`([a-z-]+)`(?=[, ][^|]*\|)", described)) >= wine.STEPS.keys()


def test_a_need_is_seen_through_helpers_and_fixtures(tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    need = "os.mkfifo('x')"
    path.write_text(
        f"@pytest.fixture\ndef pipe(): {need}\n"
        "def helper(): return pipe\n"
        "PROGRAM = 'import resource'\n"
        "def test_by_program(): PROGRAM\n"
        "def test_by_fixture(pipe): pass\n"
        "def test_by_helper(): helper()\n"
        "def test_neither(): pass\n"
        f"@pytest.mark.posix\ndef test_marked(): {need}\n"
    )
    assert unmarked(path) == ["test_by_program", "test_by_fixture", "test_by_helper"]
    path.write_text("import pty\ndef test_it(): pass\n")
    assert unmarked(path) == ["test_it.py"]
    path.write_text("import pty\npytestmark = pytest.mark.posix\ndef test_it(): pass\n")
    assert unmarked(path) == []
