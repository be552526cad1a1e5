"""Delete one satellite after the other from a copy of the checkout, then all; run the core's tests in what is left.

Without one satellite the core's tests are all collected, and those that name something of it run. Without all of them
every test of the core runs.

python tests/lab satellites                          every satellite, then all of them
python tests/lab satellites all                      all of them at once, alone
python tests/lab satellites engine.people --keep build/without
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from checkout import ROOT
from core_tests import CORE

from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.rows import load
from desdaemon.protocol.satellites import LIBRARIES, SATELLITES

THEIRS = tuple(f"tests/{name.replace('.', '/')}/" for name in SATELLITES)
"""The folders of satellites' tests, where they have some."""


def folder(name: str) -> str:
    """Return where a satellite lies in the checkout."""
    part = name.replace(".", "/")
    return part if (ROOT / part).exists() else f"daemon/{part}"


def without(target: Path, names: list[str]) -> None:
    """Write a copy of the checkout's files to ``target``, without these satellites and their tests."""
    listing = ("git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    gone = [prefix for name in names for prefix in (f"{folder(name)}/", f"tests/{name.replace('.', '/')}/")]
    files = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split("\0")
    for file in filter(None, files):
        if (ROOT / file).is_file() and not file.startswith(tuple(gone)):
            copy = target / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, copy)


def brought(name: str) -> re.Pattern[str]:
    """Return what names a satellite in a test: its package, or a row that it brings."""
    rows = load(f"desdaemon.{name}.rows:SATELLITE")
    words = [row.name for row in (*rows.operations, *rows.protocols, *rows.commands)]
    words += [rf"[^\"']*\.{row.name}" for row in rows.game_formats]
    words += [f"book[ .]{row.name}" for row in (load(rows.book_commands) if rows.book_commands else ())]
    words += [f"-{row.name}" for row in rows.options]
    quoted = rf"|[\"'](?:{'|'.join(words)})\b" if words else ""
    return re.compile(rf"desdaemon\.{name}\b{quoted}")


def naming(name: str, target: Path, wanted: list[str]) -> list[str]:
    """Return the tests of the core that name a satellite, as pytest takes them: a whole file where other code than a
    test names it, none of a file that needs the satellite.
    """
    found, pattern = [], brought(name)
    for file in sorted(path for folder in wanted for path in (target / folder).rglob("test_*.py")):
        text, address = file.read_text("utf-8"), file.relative_to(target).as_posix()
        needs = re.search(rf"^pytestmark = .*{name}", text, re.MULTILINE)
        if address.startswith(THEIRS) or needs or not pattern.search(text):
            continue
        lines = text.splitlines()
        nodes = []
        for node in ast.parse(text).body:
            decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
            first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
            if pattern.search("\n".join(lines[first - 1 : node.end_lineno])):
                nodes.append(node)
        tests = [node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
        found += [f"{address}::{test}" for test in tests] if len(tests) == len(nodes) else [address]
    return found


def tested(names: list[str], target: Path, wanted: list[str]) -> int:
    """Run the tests ``wanted`` in a copy without satellites; return pytest's exit status. Without a single one, collect
    them, and run those that name it.
    """
    without(target, names)
    tests = [f"tests/{test}" for test in wanted if (target / "tests" / test).exists()]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
    command += [f"--ignore={folder}" for folder in THEIRS]
    rounds = [tests]
    if len(names) == 1:
        some = naming(names[0], target, tests)
        rounds = [["--collect-only", "-qq", *tests], *([some] if some else [])]
    # The copy lies beside no shared data, and what is installed is the checkout: the copy's conftest finds the copy.
    return max(subprocess.run([*command, *some], cwd=target, check=False).returncode for some in rounds)


def main(arguments: list[str]) -> int:
    """Run the experiment; returns 1 if any tests failed."""
    parser = Parser(prog="python tests/lab satellites", description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", metavar="SATELLITE", help="delete these together, once; all: every one")
    parser.add_argument("--tests", nargs="+", default=list(CORE), metavar="FOLDER", help="other tests than the core's")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the copy there")
    asked = parser.parse_args(arguments)
    every = [*SATELLITES, *LIBRARIES]
    named = every if asked.names == ["all"] else asked.names
    rounds = [named] if named else [*([name] for name in SATELLITES), every]
    failed = []
    for names in rounds:
        begun, label = time.monotonic(), " ".join(names)
        sys.stdout.write(f"without {label}\n")
        sys.stdout.flush()
        if asked.keep:
            status = tested(names, Path(asked.keep), asked.tests)
        else:
            with tempfile.TemporaryDirectory() as target:
                status = tested(names, Path(target), asked.tests)
        failed += [label] if status else []
        sys.stdout.write(f"without {label}: {'failed' if status else 'passed'}, {time.monotonic() - begun:.0f} s\n")
    return 1 if failed else 0
