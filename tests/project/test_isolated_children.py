"""Child processes are not led astray by files of the current folder, whatever they are called."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import IMPORT, ROOT

PACKAGES = ("daemon", "engine", "book", "clients", "protocol")
THIRD_PARTY = ("numba", "numpy", "llvmlite", "msgpack", "zmq", "desdaemon", "daemon", "sitecustomize")


def test_every_python_that_is_started_is_isolated() -> None:
    """In the source: an interpreter at the beginning of a command is followed by -P or -I."""
    found = 0
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.List | ast.Tuple) and node.elts and ast.unparse(node.elts[0]) == "sys.executable":
                found += 1
                assert len(node.elts) > 1, f"{path}:{node.lineno}"
                assert ast.unparse(node.elts[1]) in ("'-P'", "'-I'"), f"{path}:{node.lineno}"
    assert found >= 5


@pytest.fixture
def traps(tmp_path: Path) -> Path:
    """A folder with a module of every name that could be imported; each says that it was."""
    folder = tmp_path / "traps"
    folder.mkdir()
    told = tmp_path / "told"
    for name in {*sys.stdlib_module_names, *THIRD_PARTY}:
        tell = f"open({str(told)!r}, 'a').write({name!r} + chr(10))"
        (folder / f"{name}.py").write_text(f"{tell}\nraise SystemExit('imported from the current folder')\n")
    return folder


CHILDREN = {
    "match": (
        "from desdaemon.clients.match import match\n"
        "sys.exit(match.main(['self -level 1', 'self -nboard -level 1', '--games', '2', '--adjudicate', '12']))"
    ),
    "analyze": (
        "from desdaemon.clients.analysis import analyze\n"
        "sys.exit(analyze.main([sys.argv[1], '--level', '1', '--json', '-']))"
    ),
    "bench server": (
        "import pathlib\n"
        "from desdaemon.clients.bench.daemon import BenchDaemon\n"
        "with BenchDaemon(pathlib.Path(sys.argv[2]), 1): pass"
    ),
    "bench": (
        "from desdaemon.engine.bench import bench\n"
        "from desdaemon.engine.evaluation.weights import SHIPPED\n"
        "class Weights: source = str(SHIPPED)\n"
        "assert bench.EngineBench(Weights(), None, 1)._until('play f5\\n') > 0"
    ),
}
"""What starts children, as code; the arguments are a file of a game and an empty folder."""


@pytest.mark.parametrize("name", list(CHILDREN))
def test_modules_of_the_current_folder_are_not_imported(name: str, traps: Path, tmp_path: Path) -> None:
    game = tmp_path / "game.txt"
    game.write_text("f5d6c3\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    # As the installed command does it: without the current folder on the path.
    done = subprocess.run(
        [sys.executable, "-P", "-c", IMPORT + CHILDREN[name], str(game), str(empty)],
        cwd=traps,
        capture_output=True,
        text=True,
        env={**os.environ, "DESDAEMON_RUNTIME_DIR": str(empty)},
        timeout=300,
    )
    told = tmp_path / "told"
    assert not told.exists(), told.read_text()
    assert done.returncode == 0, done.stderr
