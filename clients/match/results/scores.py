"""Scores of a match: of a pairing of programs, and of a program against all others."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

from desdaemon.clients.match.referee import FAULTS, Finished
from desdaemon.clients.match.schedule import Schedule
from desdaemon.clients.programs import statistics
from desdaemon.clients.programs.statistics import Cluster, Counts
from desdaemon.protocol.games.records import GameRecord
from desdaemon.protocol.othello.rules import canonical

FAILED_GAMES = 4
"""Games after which a program that has lost all of them by its own faults counts as unusable."""


_LAST_MOVES = 10


class PairingScore(NamedTuple):
    """The games of a pairing, seen by its first program, which has Black in the games with even numbers.

    ``black`` and ``white`` are wins, draws and losses with that colour; ``discs`` is the mean score of games played
    out, empty squares given to the winner. ``pairs`` are the numbers of complete pairs with 0, 1/2 ... 2 points,
    ``singles`` the points of games without a partner. ``different`` counts games that repeat no other (same colours,
    same end, mirrored or not). ``clusters`` are all results, in lists of results that depend on each other. The other
    fields have a value for each program: ms used, moves, longest move in ms, and games lost by kind of fault.
    """

    games: int
    black: tuple[int, int, int]
    white: tuple[int, int, int]
    discs: float
    pairs: Counts
    singles: list[float]
    different: int
    clusters: list[Cluster]
    used_ms: tuple[float, float]
    moves: tuple[int, int]
    longest_ms: tuple[float, float]
    faults: tuple[dict[str, int], dict[str, int]]

    @property
    def total(self) -> tuple[int, int, int]:
        """Wins, draws and losses with both colours."""
        won, drawn, lost = (self.black[result] + self.white[result] for result in range(3))
        return won, drawn, lost

    @property
    def points(self) -> float:
        """The points: 1 for a win, 0.5 for a draw."""
        return self.total[0] + 0.5 * self.total[1]

    @property
    def mean_ms(self) -> tuple[float, float]:
        """Milliseconds a move, of each program; 0 without moves."""
        return self.used_ms[0] / max(1, self.moves[0]), self.used_ms[1] / max(1, self.moves[1])

    @property
    def sample(self) -> statistics.Sample:
        """All results, for `statistics.elo`."""
        return statistics.sample(self.clusters)

    @property
    def paired_sample(self) -> statistics.Sample:
        """The complete pairs, for `statistics.sequential`."""
        return statistics.sample([result for result in cluster if result[1] == 1.0] for cluster in self.clusters)

    def seen_from_second(self) -> PairingScore:
        """Return the score of the same games for the second program."""
        return self._replace(
            black=_reversed(self.white),
            white=_reversed(self.black),
            discs=0.0 - self.discs,
            pairs=(self.pairs[4], self.pairs[3], self.pairs[2], self.pairs[1], self.pairs[0]),
            singles=[1 - point for point in self.singles],
            clusters=[[(1 - point, weight) for point, weight in cluster] for cluster in self.clusters],
            used_ms=self.used_ms[::-1],
            moves=self.moves[::-1],
            longest_ms=self.longest_ms[::-1],
            faults=self.faults[::-1],
        )


def _reversed(results: tuple[int, int, int]) -> tuple[int, int, int]:
    return results[2], results[1], results[0]


def tally(games: Mapping[int, Finished], opening_of: Callable[[int], int] = lambda number: number // 2) -> PairingScore:
    """Return the score of a pairing. ``games`` are its games by their number within the pairing. ``opening_of`` returns
    the number of a game's opening; by default each pair of games has an opening of its own.
    """
    by_colour = ([0, 0, 0], [0, 0, 0])
    points: dict[int, float] = {}
    discs: list[int] = []
    used, moves, longest = [0.0, 0.0], [0, 0], [0.0, 0.0]
    faults: tuple[dict[str, int], dict[str, int]] = ({}, {})
    for number, game in sorted(games.items()):
        colour = number % 2
        score = -game.score if colour else game.score
        by_colour[colour][0 if score > 0 else 1 if score == 0 else 2] += 1
        points[number] = 1.0 if score > 0 else 0.5 if score == 0 else 0.0
        if game.faulty < 0:
            discs.append(score)
        else:
            faulty = faults[game.faulty ^ colour]
            faulty[game.ending] = faulty.get(game.ending, 0) + 1
        for side in (0, 1):
            program = side ^ colour
            used[program] += game.used[side]
            moves[program] += game.moves[side]
            longest[program] = max(longest[program], game.longest[side])
    pairs = [0] * 5
    singles = []
    for number, point in points.items():
        if number % 2 == 0 and number + 1 in points:
            pairs[round(2 * (point + points[number + 1]))] += 1
        elif number ^ 1 not in points:
            singles.append(point)
    finals = {number: (number % 2, _final(game.record)) for number, game in games.items()}
    return PairingScore(
        len(games),
        (by_colour[0][0], by_colour[0][1], by_colour[0][2]),
        (by_colour[1][0], by_colour[1][1], by_colour[1][2]),
        sum(discs) / len(discs) if discs else 0.0,
        (pairs[0], pairs[1], pairs[2], pairs[3], pairs[4]),
        singles,
        len(set(finals.values())),
        _clusters(points, finals, opening_of),
        (used[0], used[1]),
        (moves[0], moves[1]),
        (longest[0], longest[1]),
        faults,
    )


@functools.cache
def _final(record: GameRecord) -> tuple[int, ...]:
    """Return a key of a game's end: the last position and the one `_LAST_MOVES` before, equal for mirror images."""
    earlier = record._replace(moves=record.moves[:-_LAST_MOVES]).final
    final = record.final
    return (*canonical(final.black, final.white), *canonical(earlier.black, earlier.white))


def _clusters(
    points: dict[int, float], finals: dict[int, tuple[int, tuple[int, ...]]], opening_of: Callable[[int], int]
) -> list[Cluster]:
    """Return results in clusters. Two games share a cluster if they have the same opening or the same entry in
    ``finals`` (colours and end), or if a chain of such games connects them.
    """
    parents: dict[object, object] = {}

    def root(key: object) -> object:
        while parents.setdefault(key, key) != key:
            key = parents[key]
        return key

    for number, final in finals.items():
        parents[root(("opening", opening_of(number)))] = root(final)
    clusters: dict[object, list[tuple[float, float]]] = {}
    for number, point in points.items():
        cluster = clusters.setdefault(root(finals[number]), [])
        if number % 2 == 0 and number + 1 in points:
            cluster.append(((point + points[number + 1]) / 2, 1.0))
        elif number ^ 1 not in points:
            cluster.append((point, 0.5))
    return [cluster for cluster in clusters.values() if cluster]


def pairing_tallies(games: Mapping[int, Finished], schedule: Schedule) -> list[PairingScore]:
    """Return the scores of the schedule's pairings, in order."""
    parts: list[dict[int, Finished]] = [{} for _ in schedule.pairings]
    for number, game in games.items():
        place = schedule.place(number)
        parts[place.pairing][place.within] = game
    return [tally(part, lambda within: within // 2 % schedule.openings) for part in parts]


class Standing(NamedTuple):
    """One program's games against all others: numbers of games, wins, draws and losses; mean score in discs of games
    played out; times in ms of all moves together, an average move and the longest; number of moves; games lost by kind
    of fault.
    """

    games: int
    wins: int
    draws: int
    losses: int
    discs: float
    used_ms: float
    moves: int
    mean_ms: float
    longest_ms: float
    faults: dict[str, int]

    @property
    def points(self) -> float:
        """The points: 1 for a win, 0.5 for a draw."""
        return self.wins + 0.5 * self.draws

    @property
    def failed(self) -> bool:
        """Whether the program lost all of its games by faults; resigning does not count as one."""
        faults = sum(count for kind, count in self.faults.items() if kind != "resigned")
        return self.games > 0 and faults == self.games


def standings(tallies: list[PairingScore], schedule: Schedule) -> list[Standing]:
    """Return the standing of each program, by program number and not by rank.

    ``tallies`` has one score for each of ``schedule.pairings``, in that order.
    """
    rows = []
    for program in range(schedule.programs):
        sides = [
            one if first == program else one.seen_from_second()
            for (first, second), one in zip(schedule.pairings, tallies, strict=True)
            if program in (first, second)
        ]
        games = sum(side.games for side in sides)
        faults: dict[str, int] = {}
        for side in sides:
            for kind, count in side.faults[0].items():
                faults[kind] = faults.get(kind, 0) + count
        played = [(side, side.games - sum(map(_count, side.faults))) for side in sides]
        won, drawn, lost = (sum(side.total[result] for side in sides) for result in range(3))
        used, moves = sum(side.used_ms[0] for side in sides), sum(side.moves[0] for side in sides)
        rows.append(
            Standing(
                games,
                won,
                drawn,
                lost,
                sum(side.discs * count for side, count in played) / max(1, sum(count for _, count in played)),
                used,
                moves,
                used / max(1, moves),
                max((side.longest_ms[0] for side in sides), default=0.0),
                {kind: faults[kind] for kind in FAULTS if kind in faults},
            )
        )
    return rows


def _count(faults: dict[str, int]) -> int:
    return sum(faults.values())


def failed_program(table: list[Standing], *, ended: bool) -> int:
    """Return the number of a program that failed in all its games, or -1. It must have played at least `FAILED_GAMES`
    games if the match has not ``ended``.
    """
    least = 1 if ended else FAILED_GAMES
    return next((program for program, one in enumerate(table) if one.failed and one.games >= least), -1)
