"""`python tests/lab strengths PLAYER ...`: how strong strengths, levels, and people as the policy plays them are.

A player is a level (``level-3``), the board's opponent who keeps the game close, at a level (``close-8``), a strength
(``strength-1500``), or a strength with another weight of the values of
moves (``1500*0.2``), or one of the simple players `SIMPLE`. Each plays the next ones of the list, from the openings
that `desdaemon match` has without a file, in processes of this program, which is faster than `match`. The table has the
Elo of all players fitted together, with 95 % errors; ``--points`` adds what each scored against each. ``--with FILE``
counts games that were played before, by players of these names (``level 3``), two after each other from one opening.
``--save FILE`` keeps each pair of games when it is played: the same command with the same file goes on after them.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import referee

from desdaemon.clients.match.results.ratings import Pairing, ratings
from desdaemon.clients.programs.openings import listed_openings
from desdaemon.clients.programs.statistics import Cluster
from desdaemon.engine.limits import level_limits
from desdaemon.engine.people.policy import drawn
from desdaemon.engine.people.strength import StrengthPolicy
from desdaemon.engine.search import Searcher
from desdaemon.protocol.command_line import Parser, whole
from desdaemon.protocol.games.bases import FileGame, read_games, write_games
from desdaemon.protocol.games.records import GameRecord, PlayedMove, black_score
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position
from desdaemon.protocol.system.terminal import StepProgress

_HASH_BITS = 16

Task = tuple[int, int, int]
"""Two players' places in the list, the first of them to have Black first, and an opening's."""


def any_move(position: Position, _: random.Random) -> list[int]:
    return rules.squares(position.moves)


def greedy_moves(position: Position, _: random.Random) -> list[int]:
    def turned(move: int) -> int:
        return rules.flips(position.player, position.opponent, move).bit_count()

    moves = rules.squares(position.moves)
    return [move for move in moves if turned(move) == max(map(turned, moves))]


def corner_moves(position: Position, lot: random.Random) -> list[int]:
    return [referee.positional_move(referee.from_bits(position.player, position.opponent), lot)]


SIMPLE: dict[str, Callable[[Position, random.Random], list[int]]] = {
    "random": any_move,
    "greedy": greedy_moves,
    "corners": corner_moves,
}
"""Players without a search, by the moves among which each draws: all, those that turn the most discs, and what corners
and mobility say a ply ahead.
"""


class Player(NamedTuple):
    """A level, with ``close`` one that keeps the game even; or one of `SIMPLE` by its name; or else a strength with the
    weight of values, None being the strength's own.
    """

    name: str
    level: int = -1
    strength: int = 0
    weight: float | None = None
    close: bool = False

    @classmethod
    def of(cls, text: str) -> Player:
        kind, _, number = text.partition("-")
        if kind == "level":
            return cls(f"level {number}", level=int(number))
        if kind == "close":
            return cls(f"close {number}", level=int(number), close=True)
        if kind == "strength":
            return cls(f"strength {number}", strength=int(number))
        if text in SIMPLE:
            return cls(text)
        strength, _, weight = text.partition("*")
        return cls(text, strength=int(strength), weight=float(weight))

    def move(self, position: Position, last: int, seed: int) -> int:
        """Return this player's answer to the move ``last``, drawn with ``seed``."""
        if self.level >= 0:
            limits = level_limits(self.level, position.empties)
            lines = (
                _searcher().search(position.player, position.opponent, limits, multipv=64 if self.close else 1).lines
            )
            # As `Player.close` in clients/web/static/engine/player.js.
            least = min(abs(line.score) for line in lines) if self.close else 64
            even = [line.move for line in lines if abs(line.score) <= least + 1] if self.close else [lines[0].move]
            return random.Random(f"{seed} {position.player} {position.opponent}").choice(even)
        own, other = position.player, position.opponent
        if self.name in SIMPLE:
            lot = random.Random(f"{seed} {own} {other}")
            return lot.choice(SIMPLE[self.name](position, lot))
        chances = StrengthPolicy.load().probabilities(own, other, self.strength, last, self.weight)
        return drawn(chances, own, other, seed)


@cache
def _searcher() -> Searcher:
    return Searcher(hash_bits=_HASH_BITS)


def game(opening: GameRecord, black: Player, white: Player, seed: int) -> GameRecord:
    """Return a game from the end of an opening."""
    position, moves = opening.final, list(opening.moves)
    while not position.over:
        mover = black if position.black_to_move else white
        move = rules.PASS if position.must_pass else mover.move(position, moves[-1].move, seed)
        position = position.after(move)
        moves.append(PlayedMove(move, 0.0))
    return opening._replace(moves=tuple(moves), black=black.name, white=white.name)


def _pair(players: Sequence[Player], openings: Sequence[GameRecord], task: Task) -> tuple[GameRecord, GameRecord]:
    first, second, number = players[task[0]], players[task[1]], task[2]
    return game(openings[number], first, second, number + 1), game(openings[number], second, first, number + 1)


def played(players: Sequence[Player], games: int, reach: int, seed: int, processes: int, path: str) -> list[GameRecord]:
    """Return ``games`` games of each player against the next ``reach`` ones, two after each other from one opening.

    With a ``path`` each two are written there when they are played, and those that it has are not played again. Raises
    `ValueError` where they are of another list of players or of other openings.
    """
    openings = listed_openings(games // 2, seed).openings if games else []
    met = [(k, other) for k in range(len(players)) for other in range(k + 1, min(len(players), k + 1 + reach))]
    tasks = [(*pair, number) for number in range(len(openings)) for pair in met]
    records = [game.record for game in read_games(path)] if path and Path(path).exists() else []
    for (first, second, number), record in zip(tasks, records[::2], strict=False):
        begin = openings[number].moves
        if (record.black, record.white) != (players[first].name, players[second].name) or not all(
            one.move == other.move for one, other in zip(begin, record.moves, strict=False)
        ):
            raise ValueError(f"{path} has games of another command")
    rest = tasks[len(records) // 2 :]
    with StepProgress() as progress, ProcessPoolExecutor(processes) as pool:
        for pair in pool.map(partial(_pair, players, openings), rest, chunksize=4):
            records += pair
            if path:
                write_games(path, map(FileGame, pair), append=True)
            progress("games", len(records), 2 * len(tasks))
    return records


def met(players: Sequence[Player], records: Sequence[GameRecord]) -> dict[tuple[int, int], list[Cluster]]:
    """Return the points of each two players who met, by their places in the list, from games that are two after each
    other from one opening; others' games do not count.
    """
    place = {player.name: k for k, player in enumerate(players)}
    found: dict[tuple[int, int], list[Cluster]] = {}
    for one, other in zip(records[::2], records[1::2], strict=True):
        if one.black in place and one.white in place:
            scores = black_score(one.final), -black_score(other.final)
            points = sum((each > 0) + (each == 0) / 2 for each in scores) / 2
            found.setdefault((place[one.black], place[one.white]), []).append([(points, 1.0)])
    return found


def points_lines(players: Sequence[Player], found: dict[tuple[int, int], list[Cluster]]) -> Iterator[str]:
    """Yield a table of Markdown: a row for each player, its points of the games against each other player."""
    names = [player.name for player in players]
    yield f"| | {' | '.join(names)} |"
    yield f"| --- |{' --- |' * len(names)}"
    for k, name in enumerate(names):
        cells = []
        for other in range(len(names)):
            pairs = [2 * pair[0][0] for pair in found.get((k, other), [])]
            pairs += [2 - 2 * pair[0][0] for pair in found.get((other, k), [])]
            cells.append(f"{sum(pairs):g}/{2 * len(pairs)}" if pairs else "")
        yield f"| {name} | {' | '.join(cells)} |"


def main(arguments: list[str]) -> int:
    """Print the tables; returns the exit status."""
    parser = Parser(prog="python tests/lab strengths", description=__doc__)
    parser.add_argument("players", nargs="+", metavar="PLAYER", type=Player.of)
    parser.add_argument("--games", type=whole(0, 10**5), default=100, help="of each two that meet")
    parser.add_argument("--reach", type=whole(1, 100), default=1, help="how many of the next ones each meets")
    parser.add_argument("--seed", type=int, default=1, help="which openings")
    parser.add_argument("--processes", type=whole(1, 256), default=1)
    parser.add_argument(
        "--with", dest="earlier", action="append", default=[], metavar="FILE", help="games to count too"
    )
    parser.add_argument(
        "--save",
        default="",
        metavar="FILE",
        help="keep the games in this file, such as games.ggf, and go on after those that it has",
    )
    parser.add_argument("--points", action="store_true", help="print the points of each player against each too")
    asked = parser.parse_args(arguments)
    try:
        records = played(asked.players, asked.games, asked.reach, asked.seed, asked.processes, asked.save)
    except ValueError as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    earlier = [game.record for path in asked.earlier for game in read_games(path)]
    clusters = met(asked.players, records + earlier)
    found = ratings(len(asked.players), [Pairing(*pair, points) for pair, points in clusters.items()])
    if found is None:
        sys.stderr.write("no games connect these players\n")
        return 1
    for player, elo, spread in zip(asked.players, found.elo, found.error, strict=True):
        sys.stdout.write(f"{player.name:12} {elo:+7.0f} {spread:5.0f}\n")
    for line in points_lines(asked.players, clusters) if asked.points else ():
        sys.stdout.write(f"{line}\n")
    return 0
