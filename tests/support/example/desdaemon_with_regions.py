"""desdaemon with one more satellite: runs the program of the checkout as `python -m desdaemon` would."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout  # noqa: F401

import desdaemon
from desdaemon.protocol import satellites

desdaemon.__path__.append(str(Path(__file__).resolve().parent))
# What a satellite of the project has as a line of the table itself.
satellites.SATELLITES["regions"] = "sub_commands options commands operations features shapes"

if __name__ == "__main__":
    from desdaemon.cli.main import program

    program()
