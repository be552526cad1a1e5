"""The tests of the core. Run as a program it prints them as arguments for pytest."""

from __future__ import annotations

import sys

CORE = ("protocol", "engine", "book", "core", "dialogue", "server", "api")
"""The folders of the core's tests. A satellite has its own in a folder of its name, or none of these."""

if __name__ == "__main__":
    from desdaemon.protocol.satellites import SATELLITES

    theirs = [f"--ignore=tests/{name.replace('.', '/')}" for name in SATELLITES]
    sys.stdout.write(" ".join([*(f"tests/{folder}" for folder in CORE), *theirs]))
