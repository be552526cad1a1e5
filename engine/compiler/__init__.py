"""The compiler: from typed Python functions to loaded machine code."""

import os
from importlib import import_module
from typing import Any

INTERPRETED = os.environ.get("DESDAEMON_KERNELS") == "python"
"""Kernels run as Python in this process, by `tests/support/interpreted.py`, a folder that is on the path then."""

interpreted: Any = import_module("interpreted") if INTERPRETED else None
