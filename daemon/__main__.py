"""Run desdaemon: `python -m desdaemon`, or `python -m daemon` in a checkout."""

import os
import sys

if __package__ == "daemon":
    import importlib
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    root = importlib.import_module("daemon")
    root.__name__ = "desdaemon"
    sys.modules["desdaemon"] = root
    root.__path__.append(str(Path(__file__).resolve().parent.parent))

from desdaemon.cli import INTERRUPTED


def program() -> None:
    """Run desdaemon as the process's program, and end the process. An interrupt while it is loaded ends it quietly."""
    try:
        from desdaemon.cli import main

        main.program()
    except KeyboardInterrupt:
        # At once: in an ordinary exit a second Ctrl-C would print a traceback.
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    program()
