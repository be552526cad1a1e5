"""Where the checkout is, and its directories as the package `desdaemon`, whatever is installed.

Importing this module maps the checkout, and puts the folders beside it and the
package `lab` on the path. Tests get it from
`tests/conftest.py`; scripts and child processes of tests import it first, with this folder on their path (`IMPORT` is
the code for that).
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
TESTS = SUPPORT.parent
ROOT = TESTS.parent
SHARED = ROOT.parent / "shared"

IMPORT = f"import sys; sys.path.insert(0, {str(SUPPORT)!r}); import checkout\n"
"""Code that makes a child process find the checkout and these helpers."""


def _map_checkout() -> None:
    sys.path.insert(0, str(ROOT))
    sys.path.extend(str(folder) for folder in sorted(SUPPORT.iterdir()) if folder.is_dir())
    sys.path.append(str(TESTS))
    package = importlib.import_module("daemon")
    if str(ROOT) not in package.__path__:
        package.__path__.append(str(ROOT))
    # By its name `from desdaemon import module` finds the module; by another one it would make a second one of it.
    package.__name__ = "desdaemon"
    sys.modules["desdaemon"] = package


_map_checkout()
