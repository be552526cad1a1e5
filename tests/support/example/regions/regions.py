"""Finds the regions of empty squares, and shows them in the dialogue, over the wire and at the command line."""

import sys

from desdaemon.core.requests.operations import OperationContext
from desdaemon.core.requests.request import Data, PendingRequest
from desdaemon.dialogue.session import CommandContext
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.othello.notation import START, Position, parse_moves, play_moves
from desdaemon.protocol.wire.positions import last_position

from .rows import LEAST


def sizes(position: Position, least: int) -> list[int]:
    """Return the numbers of squares of the regions of at least ``least`` empty squares, the largest first."""
    empty = {square for square in range(64) if not (position.player | position.opponent) >> square & 1}
    found = []
    while empty:
        region = [empty.pop()]
        for square in region:
            near = {square + 8 * row + file for row in (-1, 0, 1) for file in (-1, 0, 1)}
            joined = {other for other in near & empty if abs(other % 8 - square % 8) < 2}
            empty -= joined
            region += joined
        found.append(len(region))
    return sorted((size for size in found if size >= least), reverse=True)


def show(context: CommandContext, argument: str) -> None:
    """Carry out the text command ``regions``."""
    context.say(" ".join(map(str, sizes(context.session.game.position, context.settings.value(LEAST, int)))))


def get(context: OperationContext, request: PendingRequest) -> Data:
    """Answer the operation ``regions.get``."""
    return {"sizes": sizes(last_position(request.values), context.settings.value(LEAST, int))}


def command_line() -> Parser:
    """Return the parser of ``desdaemon regions``."""
    parser = Parser(prog="desdaemon regions", description="The regions of empty squares after a line of play.")
    parser.add_argument("moves", metavar="MOVES")
    return parser


def main(arguments: list[str]) -> int:
    """Print the sizes for the line of the command line. Returns the exit status."""
    line = play_moves(START, parse_moves(command_line().parse_args(arguments).moves))
    sys.stdout.write(" ".join(map(str, sizes(line.last, 1))) + "\n")
    return 0
