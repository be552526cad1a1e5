"""`desdaemon count` and `desdaemon perft`: count games, positions and more, with progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from desdaemon.protocol.command_line import Parser, whole
from desdaemon.protocol.othello.notation import moves_text
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.terminal import ElapsedTime, StepProgress

if TYPE_CHECKING:
    import argparse

DEEPEST = 60
MOST_PLIES = {"games": DEEPEST, "shapes": 8, "positions": 12}


def command_line() -> Parser:
    """Return the parser of `desdaemon count`."""
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
    flips.add_argument("--seed", type=whole(0, 10**9), default=1, metavar="N", help="seed of the games (default 1)")
    draws = kind("draws", _draws, "the shortest drawn games that begin with f5, listed (a minute or two)")
    draws.add_argument("--most", type=whole(2, 20), default=20, metavar="N", help="plies at most (default 20)")
    stoner = kind("stoner", _stoner, "a shortest line of play that ends in a Stoner (half a minute)")
    stoner.add_argument("--most", type=whole(2, 14), default=13, metavar="N", help="plies at most (default 13)")
    stoner.add_argument("--all", action="store_true", help="all lines of that length that begin with f5")
    return parser


def main(arguments: list[str]) -> int:
    """Run `desdaemon count`. Returns the exit status: 1 without memory or a compiler, 2 for a bad command line."""
    asked = command_line().parse_args(arguments)
    return _counted("desdaemon count", asked.run, asked)


def _counted(program: str, run: Callable[[argparse.Namespace], int], asked: argparse.Namespace) -> int:
    """Return the exit status of ``run(asked)``. If the kernels cannot be compiled, print a message in the name of
    ``program`` and return 1.
    """
    from desdaemon.engine.compiler.library import LibraryError

    try:
        return run(asked)
    except LibraryError as error:
        logs.message(str(error), program, level="error")
        return 1


def _dialogue(asked: argparse.Namespace) -> int:
    """Count by the command `count` of the text protocol, which prints line by line and can be interrupted. Returns the
    exit status.
    """
    from desdaemon.core.settings import SessionSettings
    from desdaemon.dialogue.stdio import carry_out

    return carry_out(SessionSettings(), f"count {asked.what} {asked.depth}")


def _positions(asked: argparse.Namespace) -> int:
    from desdaemon.engine.counting.counts import count_positions

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
    from desdaemon.engine.counting.studies import count_flips, mean_of_plies

    with StepProgress() as progress:
        plies = count_flips(asked.games, asked.seed, progress)
    lines = ["ply     games  a legal move turns  deviation  the move played"]
    lines += [f"{ply.ply:3} {ply.games:9} {ply.mean:19.3f} {ply.deviation:10.3f} {ply.played:16.3f}" for ply in plies]
    legal, played = mean_of_plies(plies)
    return _print([*lines, f"{'mean of the plies':17} {legal:15.3f} {'':10} {played:16.3f}"])


def _draws(asked: argparse.Namespace) -> int:
    from desdaemon.engine.counting.studies import PASS, shortest_draws

    with StepProgress() as progress:
        games = shortest_draws(asked.most, progress)
    if not games:
        return _print([f"no drawn game of up to {asked.most} plies"])
    plies = sum(move != PASS for move in games[0])
    return _print([*map(moves_text, games), f"{len(games)} drawn games of {plies} plies from f5, none shorter"])


def _stoner(asked: argparse.Namespace) -> int:
    from desdaemon.engine.counting.studies import shortest_stoners

    with StepProgress() as progress:
        lines = shortest_stoners(asked.most, progress)
    if not lines:
        return _print([f"no Stoner within {asked.most} plies"])
    shown = lines if asked.all else lines[:1]
    return _print([*map(moves_text, shown), f"{len(lines[0])} plies, none shorter; {len(lines)} such lines from f5"])


def _print(lines: Iterable[str]) -> int:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


# `desdaemon perft`


def perft_command_line() -> Parser:
    """Return the parser of `desdaemon perft`."""
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


def perft_main(arguments: list[str]) -> int:
    """Run `desdaemon perft`: print the number of lines of play. Returns the exit status: 1 without a compiler."""
    return _counted("desdaemon perft", _perft, perft_command_line().parse_args(arguments))


def _perft(asked: argparse.Namespace) -> int:
    from desdaemon.engine.counting.counts import perft
    from desdaemon.protocol.othello.rules import START

    with ElapsedTime(f"perft {asked.depth}"):
        lines = perft(*START, asked.depth, asked.mode)
    sys.stdout.write(f"{lines}\n")
    return 0
