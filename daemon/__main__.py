"""Run desdaemon: `python -m desdaemon`, or `python -m daemon` in a checkout."""

import sys

if __package__ == "daemon":
    import importlib
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    root = importlib.import_module("daemon")
    root.__name__ = "desdaemon"
    sys.modules["desdaemon"] = root
    root.__path__.append(str(Path(__file__).resolve().parent.parent))

from desdaemon.cli.main import program

if __name__ == "__main__":
    program()
