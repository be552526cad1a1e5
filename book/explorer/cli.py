"""`desdaemon games index`: make the index of games from bases."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from desdaemon.core.paths import made_folder
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.errors import BadInput, escaped, quoted
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.terminal import StepProgress

from .files import default_file


def command_line() -> Parser:
    """Return the parser of `desdaemon games`."""
    parser = Parser(prog="desdaemon games", description="What people played in a position: an index of their games.")
    kinds = parser.add_subparsers(required=True, metavar="WHAT", dest="what")
    index = kinds.add_parser(
        "index",
        help="make the index of all games in files and folders",
        description="Make one file from games of all formats, for games show, games.get and the board. An old index "
        "stays in use until the new one is whole.",
    )
    index.add_argument("sources", nargs="+", metavar="FOLDER", help="folder or file: .wtb .edx .ggf .sgf .pgn .txt ...")
    index.add_argument("--out", metavar="FILE", help="the index, by default games.index in the data folder")
    index.add_argument("--json", action="store_true", help="print the account as JSON")
    return parser


def main(arguments: list[str]) -> int:
    """Make an index and print what it was made of. Returns the exit status: 1 if the games cannot be read or the index
    cannot be written.
    """
    asked = command_line().parse_args(arguments)

    from .build import build

    target, begun = asked.out or default_file(), time.process_time()
    try:
        if not asked.out:
            made_folder(str(Path(target).parent))
        with StepProgress() as progress:
            account = build(asked.sources, target, logs.message, progress)
    except BadInput as error:
        logs.message(str(error), level="error")
        return 1
    except OSError as error:
        logs.message(f"{quoted(target)}: {error.strerror}", level="error")
        return 1
    cpu_s = time.process_time() - begun
    if asked.json:
        data = {"file": target, **account._asdict(), "bytes": Path(target).stat().st_size, "cpu_s": round(cpu_s, 2)}
        print(json.dumps(data))  # noqa: T201
        return 0
    bad = f" ({plural(account.bad, 'game')} left out)" if account.bad else ""
    counts = f"{plural(account.games, 'game')} of {plural(account.files, 'file')}{bad}"
    made = f"{plural(account.positions, 'position')} in {escaped(target)}"
    sys.stdout.write(f"{counts}: {made}, {cpu_s:.1f} s of processor time\n")
    return 0
