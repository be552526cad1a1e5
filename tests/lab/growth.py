"""`python tests/lab growth`: the memory of a daemon whose book lives in memory, while a client stores and deletes.

The stores are those of the storm, one after another, without anything beside them: what grows here is what the book
keeps.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

from desdaemon.clients.arguments import Parser
from desdaemon.clients.bench.daemon import BenchDaemon, BenchPeer, random_line
from desdaemon.protocol.othello.notation import START, board_text, parse_moves, play_moves
from desdaemon.protocol.system import platform

from .signals import ended_by_signals

_PLIES_TO_BOARD, _PLIES_FROM_BOARD = 22, 4
_DELETED = 8
"""After so many stores the last position of a line is deleted."""


def command_line() -> Parser:
    """The command line."""
    parser = Parser("lab growth", description="The memory of a daemon while lines are stored.")
    parser.add_argument("--stores", type=int, default=3_000, help="how many lines; 3000 unless given")
    parser.add_argument("--step", type=int, default=500, help="lines between two rows; 500 unless given")
    return parser


def main(arguments: list[str]) -> int:
    """Print a row of figures each so many stores."""
    named = command_line().parse_args(arguments)
    dice = random.Random("store")
    with (
        ended_by_signals(),
        tempfile.TemporaryDirectory() as folder,
        BenchDaemon(Path(folder), 1) as daemon,
        BenchPeer(daemon.ipc) as peer,
    ):
        sys.stdout.write(f"{'stores':>8}{'positions':>11}{'MB':>8}\n")
        for number in range(named.stores + 1):
            if number % named.step == 0:
                positions = peer.ask("status")["book"]["positions"]
                memory_mb = platform.own_bytes(daemon.process.pid) / (1 << 20)
                sys.stdout.write(f"{number:8}{positions:11}{memory_mb:8.1f}\n")
                sys.stdout.flush()
            line = random_line(dice, _PLIES_TO_BOARD + _PLIES_FROM_BOARD)
            to_board, from_board = line[: 2 * _PLIES_TO_BOARD], line[2 * _PLIES_TO_BOARD :]
            position = play_moves(START, parse_moves(to_board)).last
            stored = {"board": board_text(position), "moves": from_board}
            peer.ask("book.store", stored)
            if number % _DELETED == 0:
                peer.ask("book.delete", stored)
    return 0
