"""Makes a bare checkout importable as `desdaemon` and finds the optional shared data."""

import importlib
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

# A busy machine is slow: no example has to be done in a given time.
settings.register_profile("desdaemon", deadline=None)
settings.load_profile("desdaemon")


def _map_checkout() -> None:
    """Make `desdaemon.engine` and its siblings the directories of this checkout, whatever is installed."""
    sys.path.insert(0, str(ROOT))
    package = importlib.import_module("daemon")
    package.__path__.append(str(ROOT))
    # By its name `from desdaemon import module` finds the module; by another one it would make a second one of it.
    package.__name__ = "desdaemon"
    sys.modules["desdaemon"] = package


_map_checkout()


@pytest.fixture
def shared_data() -> Path:
    """The optional folder of reference data; tests that need it are skipped without it."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the optional reference data is not here")
    return folder
