"""The small suites with every Python that is here, the oldest libraries that are allowed, and the newest.

``python .ci/matrix.py UV [PYTHON:oldest|newest ...]``; without cells every Python found by uv, with both. Each has an
environment and a cache of its own in build/matrix; the last line of each is a row for docs/notes/systems-tried.md.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build/matrix"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LIBRARIES = ("numba", "llvmlite", "numpy", "pyzmq", "msgpack")
TOOLS = ("pytest", "pytest-timeout", "hypothesis")
SUITES = (
    "tests/protocol",
    "tests/server/test_poller.py",
    "tests/server/test_sodium.py",
    "tests/engine/test_kernels.py",
    "tests/engine/test_exact_search.py",
    "tests/engine/bench/test_bench.py",
    "tests/book/storage/test_book_store.py",
    "tests/dialogue/test_stdio.py",
    "tests/clients/test_without_ipc.py",
)
LONGEST_S = 1800


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a command said, both streams as one."""
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )


def cell(uv: str, python: str, libraries: str) -> tuple[bool, str]:
    """Install and test one; whether all passed, and a row."""
    folder = PLACE / f"{python}-{libraries}"
    program = str(folder / "bin/python")
    steps = [
        (uv, "venv", "-q", "--allow-existing", "--no-python-downloads", "--python", python, str(folder)),
        (uv, "pip", "install", "-q", "--python", program, "setuptools>=77", *TOOLS),
        (
            *(uv, "pip", "install", "-q", "--python", program, "--only-binary", ",".join(LIBRARIES)),
            *(
                "--resolution",
                "lowest-direct" if libraries == "oldest" else "highest",
                "--upgrade",
                "-r",
                "pyproject.toml",
            ),
        ),
    ]
    began = time.monotonic()
    for step in steps:
        done = run(*step)
        if done.returncode:
            reason = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "no message"
            return False, f"| {python} | {libraries} | not to be had: {reason} | | |"
    asked = "import importlib.metadata as m, sys; print(sys.version.split()[0], *map(m.version, sys.argv[1:]))"
    version, *found = run(program, "-c", asked, *LIBRARIES).stdout.split()
    # The tests find the packages of the checkout, whose libraries are those of the cell.
    cache = {"DESDAEMON_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(linked(folder))}
    done = run(program, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *SUITES, **cache)
    (folder / "log").write_text(done.stdout, encoding="utf-8")
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "no output"
    told = re.sub(r" in [\d.]+s.*", "", last.strip("= "))
    row = f"| {version} | {libraries} | {', '.join(map(' '.join, zip(LIBRARIES, found, strict=True)))} | {told} |"
    return done.returncode == 0, f"{row} {time.monotonic() - began:.0f} |"


def linked(folder: Path) -> Path:
    """A folder with `desdaemon` as links to the checkout: what is tested is the tree, whatever was installed."""
    place = folder / "tree"
    package = place / "desdaemon"
    package.mkdir(parents=True, exist_ok=True)
    parts = [*(ROOT / "daemon").iterdir(), *(ROOT / name for name in ("engine", "book", "clients", "protocol"))]
    for part in parts:
        link = package / part.name
        if part.name != "__pycache__" and not link.exists():
            link.symlink_to(part)
    return place


def main(uv: str, *cells: str) -> int:
    """All cells asked for; 1 where one failed."""
    asked = [tuple(each.split(":")) for each in cells]
    every = asked or [(python, libraries) for python in PYTHONS for libraries in ("oldest", "newest")]
    failed = False
    for python, libraries in every:
        if run(uv, "python", "find", "--no-python-downloads", python).returncode:
            sys.stdout.write(f"| {python} | {libraries} | no such Python here | | |\n")
            continue
        passed, row = cell(uv, python, libraries)
        failed = failed or not passed
        sys.stdout.write(f"{row}\n")
        sys.stdout.flush()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
