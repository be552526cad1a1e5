"""`python tests/lab slips GAMES WTHOR`: wipe-outs and corners given away, by strengths and by people of that strength.

GAMES is what `desdaemon match --save` wrote of players that are named ``strength 1500``; WTHOR is a folder of WTHOR's
files. The people of a strength are those who were rated at most `BAND` above or below it in the year of the game, in
games against people rated at most `OPPONENTS` above or below it.

A wipe-out is a game at whose end a player has no disc. A corner is left by a move after which the opponent may take it,
if another move would not have let it, and given away if the opponent takes it at once; counted among moves from ply
`FIRST_PLY` on at which the player had a choice.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import and_
from pathlib import Path
from typing import NamedTuple

from desdaemon.engine.people.fitting.games import read_games as read_base
from desdaemon.engine.people.fitting.ratings import rate
from desdaemon.engine.training.labelling import boards
from desdaemon.protocol.command_line import Parser, whole
from desdaemon.protocol.games.bases import read_games
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, play_moves

BAND, OPPONENTS = 150, 300
FIRST_PLY = 8


class Slips(NamedTuple):
    """A player's games, those lost without a disc left, moves with a choice, and those that left a corner and gave it
    away.
    """

    games: int = 0
    wiped_out: int = 0
    moves: int = 0
    left: int = 0
    given: int = 0

    def text(self) -> str:
        shares = []
        for count, number in ((self.wiped_out, self.games), (self.left, self.moves), (self.given, self.moves)):
            share = count / max(1, number)
            error = math.sqrt(share * (1 - share) / max(1, number))
            shares.append(f"{100 * share:6.2f} +- {100 * error:4.2f} %")
        return f"{self.games:7} {self.moves:7} {' '.join(shares)}"


def slips(record: GameRecord, black: bool) -> Slips:
    """Return those of Black or White in a game."""
    position = record.initial
    moves = left = given = 0
    following = [*(played.move for played in record.moves[1:]), rules.PASS]
    for played, answer in zip(record.moves, following, strict=True):
        choice = position.moves.bit_count() > 1 and 60 - position.empties >= FIRST_PLY
        if position.black_to_move == black and choice:
            moves += 1
            open_corners = {move: position.after(move).moves & rules.CORNERS for move in rules.squares(position.moves)}
            corners = open_corners[played.move] & ~reduce(and_, open_corners.values())
            left += bool(corners)
            given += corners >> answer & 1
        position = position.after(played.move)
    own = position.black if black else position.white
    return Slips(1, int(position.over and not own), moves, left, given)


def total(found: Iterable[Slips]) -> Slips:
    return Slips(*map(sum, zip(Slips(), *found, strict=True)))


def of_people(folder: Path, strengths: list[int], games: int) -> Iterator[tuple[int, Slips]]:
    """Yield each strength with what its people did in at most ``games`` games, by lot."""
    read = read_base([folder])
    ratings = rate(read.black, read.white, read.years, read.points)
    rated = ratings.of(read.black, read.years), ratings.of(read.white, read.years)
    programs = read.programs[read.black] | read.programs[read.white]
    for strength in strengths:
        sides = [
            (number, black)
            for black in (True, False)
            for number in (
                (abs(rated[not black] - strength) <= BAND) & (abs(rated[black] - strength) <= OPPONENTS) & ~programs
            )
            .nonzero()[0]
            .tolist()
        ]
        chosen = random.Random(1).sample(sides, min(games, len(sides)))
        yield strength, total(slips(_record(read.squares[number]), black) for number, black in chosen)


def _record(squares: Iterable[int]) -> GameRecord:
    moves = [int(square) for square in squares if square != boards.NO_SQUARE]
    return GameRecord(START, tuple(PlayedMove(move, 0.0) for move in play_moves(START, moves).moves))


def main(arguments: list[str]) -> int:
    """Print a line for each strength and its people; returns the exit status."""
    parser = Parser(prog="python tests/lab slips", description=__doc__)
    parser.add_argument("games", metavar="GAMES")
    parser.add_argument("wthor", metavar="WTHOR", type=Path)
    parser.add_argument("--games", dest="most", type=whole(1, 10**6), default=3000, help="of the people of a strength")
    asked = parser.parse_args(arguments)
    found: dict[int, list[Slips]] = {}
    for game in read_games(asked.games):
        for black, name in ((True, game.record.black), (False, game.record.white)):
            if name.startswith("strength "):
                found.setdefault(int(name.removeprefix("strength ")), []).append(slips(game.record, black))
    sys.stdout.write(f"{'':16} {'games':>7} {'moves':>7} {'wiped out':>16} {'corners left':>16} {'given':>16}\n")
    for strength, people in of_people(asked.wthor, sorted(found), asked.most):
        sys.stdout.write(f"strength {strength:7} {total(found[strength]).text()}\n")
        sys.stdout.write(f"people {strength - BAND:4}-{strength + BAND:4} {people.text()}\n")
    return 0
