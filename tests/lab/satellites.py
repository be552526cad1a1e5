"""Delete one satellite after the other from a copy of the checkout, then all; run the core's tests in what is left.

python tests/lab satellites                          every satellite, then all of them
python tests/lab satellites engine.people --keep build/without
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from checkout import ROOT
from core_tests import CORE

from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.satellites import SATELLITES


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


def tested(names: list[str], target: Path, wanted: list[str]) -> int:
    """Run the tests ``wanted`` in a copy without satellites; return pytest's exit status."""
    without(target, names)
    tests = [f"tests/{test}" for test in wanted if (target / "tests" / test).exists()]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *tests]
    # The copy lies beside no shared data, and what is installed is the checkout: the copy's conftest finds the copy.
    return subprocess.run(command, cwd=target, check=False).returncode


def main(arguments: list[str]) -> int:
    """Run the experiment; returns 1 if any tests failed."""
    parser = Parser(prog="python tests/lab satellites", description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", metavar="SATELLITE", help="delete these together, once")
    parser.add_argument("--tests", nargs="+", default=list(CORE), metavar="FOLDER", help="other tests than the core's")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the copy there")
    asked = parser.parse_args(arguments)
    rounds = [asked.names] if asked.names else [*([name] for name in SATELLITES), list(SATELLITES)]
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
