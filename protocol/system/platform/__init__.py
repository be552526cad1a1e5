"""Everything that differs between operating systems: two modules with the same names, of which a process uses one.

`posix` documents what each function guarantees. Nothing outside this package imports a module or uses a function that
only some systems have: `make lint` type-checks all packages for Linux, macOS and Windows. The Windows side was tried
under Wine alone (docs/platforms.md).
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from .windows import *  # noqa: F403
else:
    from .posix import *  # noqa: F403
