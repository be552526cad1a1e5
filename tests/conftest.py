"""Makes the checkout importable as `desdaemon`, and the helpers of `tests/support`; finds the optional shared data."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))

from checkout import SHARED

# Tests take helpers from tests in other folders, whichever of them are run.
sys.path.extend(sorted({str(path.parent) for path in Path(__file__).resolve().parent.rglob("test_*.py")}))

# A busy machine is slow: no example has to be done in a given time.
settings.register_profile("desdaemon", deadline=None)
settings.load_profile("desdaemon")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is about compiled code, or too slow without it, where kernels run as Python."""
    from desdaemon.engine.compiler import INTERPRETED

    if INTERPRETED:
        for item in items:
            if item.get_closest_marker("compiled"):
                item.add_marker(pytest.mark.skip(reason="about compiled kernels, or too slow without them"))


@pytest.fixture
def shared_data() -> Path:
    """The optional folder of reference data; tests that need it are skipped without it."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the optional reference data is not here")
    return folder
