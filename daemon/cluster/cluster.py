"""`desdaemon cluster`: run a cluster's scheduler or a worker, make keys, show the workers."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from desdaemon.protocol.command_line import Parser, whole
from desdaemon.protocol.errors import BadInput, escaped
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import platform
from desdaemon.protocol.system.logs import message
from desdaemon.protocol.system.terminal import ElapsedTime

from .connection import PORT

DESCRIPTION = """
Book commands, -solve and other long work can use the searches of many
machines: one scheduler, any number of workers, and the program that owns the
book, which names the scheduler by -cluster:

  desdaemon cluster scheduler
  desdaemon cluster worker tcp://127.0.0.1:8786
  desdaemon -cluster tcp://127.0.0.1:8786

With other users on the machine, and beyond one machine, the addresses are
tls://HOST:PORT, and everybody has the folder that desdaemon cluster keys has
made: docs/cluster.md.
"""


def command_line() -> Parser:
    """Return the parser of `desdaemon cluster`."""
    parser = Parser(
        prog="desdaemon cluster", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    scheduler = commands.add_parser("scheduler", help="give searches to workers, until a signal comes")
    scheduler.add_argument(
        "--listen",
        default=f"tcp://127.0.0.1:{PORT}",
        metavar="ADDRESS",
        help=f"address to listen at (tcp://127.0.0.1:{PORT}); port 0 is any",
    )
    scheduler.add_argument("--scheduler-file", default="", metavar="FILE", help="write its address to this file")
    worker = commands.add_parser("worker", help="search for others, until a signal comes")
    worker.add_argument("cluster", metavar="ADDRESS", help="the scheduler, or its scheduler file")
    worker.add_argument(
        "--threads", type=whole(1, 1024), default=0, metavar="N", help="searches at a time (all processors)"
    )
    worker.add_argument("--name", default="", help="its name (host and process)")
    worker.add_argument("--nice", type=whole(0, 19), default=0, metavar="N", help="give way to other programs (0)")
    worker.add_argument(
        "--lifetime", type=whole(1, 10**8), default=0, metavar="SECONDS", help="leave cleanly after this time"
    )
    keys = commands.add_parser("keys", help="make the keys of a cluster, for all its machines")
    keys.add_argument("folder", type=Path, metavar="FOLDER", help="new folder for them")
    status = commands.add_parser("status", help="list the workers")
    status.add_argument("cluster", metavar="ADDRESS", help="the scheduler, or its scheduler file")
    for each in (worker, status):
        each.add_argument("--eval-file", default="", metavar="FILE", help="weights instead of the built-in ones")
    for each in (scheduler, worker, status):
        each.add_argument("--tls", default="", metavar="FOLDER", help="keys, made by desdaemon cluster keys")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run `desdaemon cluster`. Returns the exit status: 1 for wrong input, or if the engine cannot be loaded."""
    options = command_line().parse_args(argv)
    from desdaemon.engine.compiler.library import LibraryError
    from desdaemon.engine.evaluation.weights_file import WeightsError

    try:
        _COMMANDS[options.command](options)
    except (BadInput, LibraryError, WeightsError) as error:
        message(str(error), f"desdaemon cluster {options.command}")
        return 1
    return 0


def _scheduler(options: argparse.Namespace) -> None:
    from . import node

    node.run_scheduler(options.listen, options.tls, options.scheduler_file)


def _worker(options: argparse.Namespace) -> None:
    from . import node

    options.name = options.name or f"{socket.gethostname()}-{os.getpid()}"
    options.threads = options.threads or platform.processors()
    node.run_worker(options)


def _keys(options: argparse.Namespace) -> None:
    from .connection import make_keys

    make_keys(options.folder)
    folder = escaped(str(options.folder))
    _print(f"{folder}: copy this folder safely to each machine of the cluster, and name it with --tls")


def _status(options: argparse.Namespace) -> None:
    from .status import status

    with ElapsedTime("connecting"):
        rows = status(options.cluster, options.tls, options.eval_file)
    if not rows:
        _print("no workers")
    for row in rows:
        program = "same program" if row.same else "OTHER PROGRAM OR WEIGHTS"
        _print(
            f"{row.name}  {row.address}  {plural(row.threads, 'thread')}  {program}  "
            f"{plural(row.running, 'batch')} at work  {plural(row.done, 'search')} done  "
            f"heard of {row.silent_s:.1f} s ago"
        )


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


_COMMANDS = {"scheduler": _scheduler, "worker": _worker, "keys": _keys, "status": _status}
