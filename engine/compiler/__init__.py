"""The compiler: from typed Python functions to loaded machine code."""

import os

INTERPRETED = os.environ.get("DESDAEMON_KERNELS") == "python"
"""Kernels run as Python in this process (see `desdaemon.engine.compiler.interpreted`)."""
