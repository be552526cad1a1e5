"""`desdaemon count`: counts games, positions, shapes, flips, shortest draws and Stoners, and prints the result."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.protocol.command_line import Parser, whole
from desdaemon.protocol.system import logs

if TYPE_CHECKING:
    import argparse

MOST_PLIES = {"games": 60, "shapes": 8, "positions": 12}


def command_line() -> Parser:
    """The command line."""
    parser = Parser(prog="desdaemon count", description="Count what there is in the game of Othello.")
    kinds = parser.add_subparsers(required=True, metavar="WHAT", dest="what")

    def kind(name: str, run: Callable[[argparse.Namespace], int], help: str) -> Parser:
        made: Parser = kinds.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        made.set_defaults(run=run)
        if name in MOST_PLIES:
            most = MOST_PLIES[name]
            made.add_argument("depth", metavar="N", type=whole(0, most), help=f"plies, 0 to {most}")
        return made

    kind("games", _dialogue, "lines of play of 0 to N plies, as perft counts them")
    kind("shapes", _dialogue, "sets of occupied squares after 0 to N plies, mirror images once")
    positions = kind("positions", _positions, "positions after N discs have been placed, mirror images once")
    positions.add_argument(
        "definition",
        nargs="?",
        type=whole(1, 3),
        help="1: as they are right after the move; 2: with forced passes made; 3: as 2, without games that are over; "
        "all three unless given",
    )
    flips = kind("flips", _flips, "discs turned by a move, mean and deviation by ply, over random games")
    flips.add_argument("--games", type=whole(1, 10**9), default=100_000, metavar="N", help="games (default 100000)")
    flips.add_argument("--seed", type=whole(0, 10**9), default=1, metavar="N", help="which games (default 1)")
    draws = kind("draws", _draws, "the shortest drawn games that begin with f5, listed (a minute or two)")
    draws.add_argument("--most", type=whole(2, 20), default=20, metavar="N", help="plies at most (default 20)")
    stoner = kind("stoner", _stoner, "a shortest line of play that ends in a Stoner (half a minute)")
    stoner.add_argument("--most", type=whole(2, 14), default=13, metavar="N", help="plies at most (default 13)")
    stoner.add_argument("--all", action="store_true", help="all lines of that length that begin with f5")
    return parser


def main(arguments: list[str]) -> int:
    """Count; the exit status: 0, 1 where memory is short or nothing can be compiled, 2 for a bad command line."""
    asked = command_line().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = asked.run

    from desdaemon.engine.compiler.library import LibraryError

    try:
        return run(asked)
    except LibraryError as error:
        logs.message(str(error), "desdaemon count", level="error")
        return 1


def _dialogue(asked: argparse.Namespace) -> int:
    """Run as the text protocol's command, whose lines are printed one by one and can be interrupted."""
    from desdaemon.core.search.loader import EngineSource, build_engine
    from desdaemon.core.settings import SessionSettings
    from desdaemon.dialogue.stdio import carry_out

    return carry_out(SessionSettings(), EngineSource(build_engine), f"count {asked.what} {asked.depth}")


def _positions(asked: argparse.Namespace) -> int:
    from desdaemon.engine.counting import count_positions

    from .progress import ElapsedTime

    try:
        with ElapsedTime(f"positions {asked.depth}") as elapsed:
            for definition in [asked.definition] if asked.definition else [1, 2, 3]:
                count = count_positions(asked.depth, definition)
                elapsed.pause()
                sys.stdout.write(f"{count}\n")
                sys.stdout.flush()
    except MemoryError as error:
        logs.message(f"positions {asked.depth}: {error}", "desdaemon count", level="error")
        return 1
    return 0


def _flips(asked: argparse.Namespace) -> int:
    from .studies import flips

    return flips(asked.games, asked.seed)


def _draws(asked: argparse.Namespace) -> int:
    from .studies import draws

    return draws(asked.most)


def _stoner(asked: argparse.Namespace) -> int:
    from .studies import stoner

    return stoner(asked.most, asked.all)
