"""Everything that differs between operating systems: two sides of the same names, of which a process has one.

`posix` says what each promises. Nothing outside this package imports a module, or uses a function, that one system has
and another lacks; tests/project/test_platforms.py sees to it, and `make lint` type-checks all packages for Linux, macOS
and Windows. The Windows side has not been tried (docs/platforms.md).
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from .windows import *  # noqa: F403
else:
    from .posix import *  # noqa: F403
