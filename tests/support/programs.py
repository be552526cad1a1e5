"""Programs that nobody here wrote, and where the tests that use them leave their pictures."""

from __future__ import annotations

import os
import shutil

import pytest
from checkout import ROOT

PICTURES = ROOT / "build" / "acceptance"
_FOLDERS = os.pathsep.join([os.environ.get("PATH", ""), "/usr/games"])


def programs(*names: str) -> list[str]:
    """Where those programs are; skips, naming what is missing."""
    missing = [name for name in names if not shutil.which(name, path=_FOLDERS)]
    if missing:
        pytest.skip(f"not installed: {' '.join(missing)}")
    return [shutil.which(name, path=_FOLDERS) or "" for name in names]
