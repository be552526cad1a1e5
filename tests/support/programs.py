"""Programs that nobody here wrote, where they come from, and where the tests that use them leave their pictures.

Run as a script it names those that are missing: `make acceptance` begins with that.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from checkout import ROOT

PICTURES = ROOT / "build" / "acceptance"
"""Pictures, logs, and what npm and pip have installed for the tests."""

_FOLDERS = os.pathsep.join([os.environ.get("PATH", ""), "/usr/games"])
_INSTALL_S = 300

PACKAGES = {
    "chromium": "chromium",
    "gtp-rhino": "grhino",
    "xboard": "xboard",
    "Xvfb": "xvfb",
    "node": "nodejs",
    "npm": "npm",
    "openssl": "openssl",
    "zsh": "zsh",
    "fish": "fish",
}
"""The programs of the acceptance tests, and the packages of Debian that have them."""

SITES = {"edax": "https://github.com/abulmo/edax-reversi"}
"""Those that are in no package, and where they come from. The variable of the environment `EDAX` names the program."""


def find(name: str) -> str:
    """Where a program is, or nothing."""
    named = os.environ.get(name.upper(), name) if name in SITES else name
    return shutil.which(named, path=_FOLDERS) or ""


def programs(*names: str) -> list[str]:
    """Where those programs are; skips, naming what is missing and how it can be had."""
    missing = [name for name in names if not find(name)]
    if missing:
        pytest.skip(f"not installed: {' '.join(missing)} ({'; '.join(_sources(missing))})")
    return [find(name) for name in names]


def _sources(missing: list[str]) -> list[str]:
    """How missing programs can be had."""
    packages = sorted({PACKAGES.get(name, name) for name in missing if name not in SITES})
    debian = [f"on Debian: apt-get install {' '.join(packages)}"] if packages else []
    return debian + [f"{name}: {SITES[name]}, and {name.upper()}=PATH" for name in missing if name in SITES]


def node_package(name: str) -> Path:
    """The folder of packages that has this one, fetched by npm if need be; skips where it cannot be had."""
    folder = PICTURES / "node_modules"
    if not (folder / name).is_dir():
        (npm,) = programs("npm")
        PICTURES.mkdir(parents=True, exist_ok=True)
        _install([npm, "install", "--no-audit", "--no-fund", "--prefix", str(PICTURES), name], f"npm install {name}")
    return folder


def python_package(name: str, module: str) -> ModuleType:
    """The module of a package, fetched by pip if need be; skips where it cannot be had."""
    folder = PICTURES / "python"
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    try:
        return importlib.import_module(module)
    except ImportError:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--target", str(folder)]
        _install([*pip, name], f"pip install {name}")
        importlib.invalidate_caches()
        return importlib.import_module(module)


def _install(command: list[str], what: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"not installed, and it cannot be had in {_INSTALL_S} s: {what}")
    if done.returncode:
        pytest.skip(f"not installed, and it cannot be had: {what}: {(done.stderr.strip().splitlines() or [''])[-1]}")


def main() -> int:
    """Name the programs that are missing."""
    missing = [name for name in (*PACKAGES, *SITES) if not find(name)]
    if missing:
        told = [f"missing programs, whose tests are skipped: {' '.join(missing)}", *_sources(missing)]
        sys.stderr.write("".join(f"{line}\n" for line in told))
    else:
        sys.stderr.write("all programs for the tests are here\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
