"""`desdaemon perft`: counts the lines of play from the opening and prints their number."""

from __future__ import annotations

import sys

from desdaemon.protocol.command_line import Parser, whole

DEEPEST = 60


def command_line() -> Parser:
    """The command line."""
    parser = Parser(
        prog="desdaemon perft", description="Count the lines of play of N plies; a game that ends early is one line."
    )
    parser.add_argument("depth", metavar="N", type=whole(0, DEEPEST), help=f"plies, 0 to {DEEPEST}")
    parser.add_argument(
        "--mode",
        "-mode",
        type=whole(1, 2),
        default=1,
        metavar="1|2",
        help="1: a pass is a ply (default), 2: it is not",
    )
    return parser


def main(arguments: list[str]) -> int:
    """Print the number of lines; 0, or 2 for a bad command line."""
    asked = command_line().parse_args(arguments)

    from desdaemon.engine.counting import perft
    from desdaemon.protocol.othello.rules import START

    from .progress import ElapsedTime

    with ElapsedTime(f"perft {asked.depth}"):
        lines = perft(*START, asked.depth, asked.mode)
    sys.stdout.write(f"{lines}\n")
    return 0
