"""The compiler: from typed Python functions to loaded machine code."""

import os
from importlib import import_module
from typing import Any

INTERPRETED = os.environ.get("DESDAEMON_KERNELS") == "python"
"""Whether kernels run as Python in this process, by `tests/support/interpreted.py`, which must be on Python's path."""

interpreted: Any = import_module("interpreted") if INTERPRETED else None
