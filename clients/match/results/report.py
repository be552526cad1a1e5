"""The report of a match: results, Elo, times and faults, in lines of 80 columns if the programs' names allow it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from desdaemon.clients.match.referee import FAULTS, Finished
from desdaemon.clients.match.schedule import Schedule
from desdaemon.clients.programs import statistics
from desdaemon.clients.programs.time_control import TimeControl

from .ratings import Pairing, Ratings, ratings
from .scores import PairingScore, Standing, pairing_tallies, standings


class MatchOutcome(NamedTuple):
    """The evaluated match: scores by pairing and by program, and Elo.

    ``tallies`` and ``elo`` are in the order of the schedule's pairings, ``standings`` and ``names`` in that of the
    programs. ``failed`` are the programs that failed in every game; with one of them there is no Elo, and its rating
    is minus infinity. ``sprt`` are the Elo differences of the ``test``'s hypotheses.
    """

    games: Mapping[int, Finished]
    schedule: Schedule
    names: list[str]
    tallies: list[PairingScore]
    standings: list[Standing]
    failed: list[int]
    elo: list[statistics.Elo | None]
    ratings: Ratings | None
    test: statistics.Sequential | None
    sprt: tuple[float, ...] | None

    @property
    def different(self) -> int:
        """The number of games that repeat no other."""
        return sum(one.different for one in self.tallies)


def outcome(
    games: Mapping[int, Finished],
    schedule: Schedule,
    names: list[str],
    failed: int,
    sprt: tuple[float, ...] | None,
) -> MatchOutcome:
    """Return the evaluation of ``games``, by number. ``failed`` is the one of two programs that failed in every game,
    or -1; of more programs those are found in the games. Elo, ratings and the sequential test leave them out. ``sprt``
    are that test's Elo differences, and maybe its risks; None: no test.
    """
    tallies = pairing_tallies(games, schedule)
    table = standings(tallies, schedule)
    out = [failed] if failed >= 0 else []
    if schedule.programs > 2:
        out = [program for program, one in enumerate(table) if one.failed]
    elo = [
        None if set(pair) & set(out) else statistics.elo(one.sample)
        for pair, one in zip(schedule.pairings, tallies, strict=True)
    ]
    rated = _ratings(schedule, tallies, out) if schedule.programs > 2 else None
    test = statistics.sequential(tallies[0].paired_sample, *sprt) if sprt and not out else None
    return MatchOutcome(games, schedule, names, tallies, table, out, elo, rated, test, sprt)


def _ratings(schedule: Schedule, tallies: Sequence[PairingScore], failed: Sequence[int]) -> Ratings | None:
    """Return the ratings of all programs but those that ``failed``, which get minus infinity."""
    rest = [program for program in range(schedule.programs) if program not in failed]
    met = [
        Pairing(rest.index(first), rest.index(second), one.clusters)
        for (first, second), one in zip(schedule.pairings, tallies, strict=True)
        if first in rest and second in rest
    ]
    found = ratings(len(rest), met)
    if found is None:
        return None
    elo, error = [-math.inf] * schedule.programs, [0.0] * schedule.programs
    for place, program in enumerate(rest):
        elo[program], error[program] = found.elo[place], found.error[place]
    return Ratings(elo, error, found.bounded)


def report(result: MatchOutcome, heading: str, controls: Sequence[TimeControl]) -> str:
    """Return the report as text, with ``heading`` as its first line; ``controls`` has one for each program."""
    lines = [heading, "", *(_two(result) if len(result.names) == 2 else _many(result))]
    if result.different < len(result.games):
        lines.append(
            f"{len(result.games)} games, {result.different} different: those that repeat each other count as one in "
            "the errors"
        )
    for program in result.failed:
        name, one = result.names[program], result.standings[program]
        lines.append(f"{name} failed in every game ({_faults(one.faults)}): no Elo")
    for program, (name, one, control) in enumerate(zip(result.names, result.standings, controls, strict=True)):
        part = control.part_used(one.used_ms, one.games, one.moves)
        clock = "" if part is None else f", {100 * part:.1f} % of the clock"
        lowest = control.part_used_at_lowest(_own_times(result, program)) if control.increment else None
        if lowest is not None:
            clock += f", {100 * lowest:.1f} % when it stood lowest"
        if one.moves:
            lines.append(f"{name}: {one.mean_ms / 1000:.3f} s a move, {one.longest_ms / 1000:.3f} s the longest{clock}")
        lines.append(f"{name} lost by fault: {_faults(one.faults)}")
    for number, game in sorted(result.games.items()):
        if game.faulty >= 0:
            place = result.schedule.place(number)
            name = result.names[(place.black, place.white)[game.faulty]]
            side = ("Black", "White")[game.faulty]
            lines.append(f"  game {number + 1}, {name} as {side}: {game.ending}: {game.note}")
    return "\n".join(lines) + "\n"


def _own_times(result: MatchOutcome, program: int) -> Iterator[list[float]]:
    """Yield, for each game of a program, the ms of the moves that it chose; those of the opening took no time."""
    for number, game in result.games.items():
        place, black_first = result.schedule.place(number), game.record.initial.black_to_move
        if program in (place.black, place.white):
            begin = int((place.black == program) != black_first)
            yield [played.ms for played in game.record.moves[begin::2] if played.ms]


def _table_names(result: MatchOutcome) -> tuple[int, list[str]]:
    """Return the width of the programs' names in a table of 80 columns, and the names: where one is too long, without
    versions if that leaves them different, or else cut in the middle.
    """
    most, names = 20, result.names
    unversioned = [re.sub(r" \d+(\.\d+)+(?= |$)", "", name) for name in names]
    if max(map(len, names)) > most and len(set(unversioned)) == len(names):
        names = unversioned
    names = [name if len(name) <= most else f"{name[:8]}...{name[-9:]}" for name in names]
    return max(12, *map(len, names)), names


# Two programs


def _two(result: MatchOutcome) -> list[str]:
    (account,) = result.tallies
    width, names = _table_names(result)
    lines = [f"{'':{width}} games   won drawn  lost   score  as Black  as White  discs"]
    for name, side in zip(names, (account, account.seen_from_second()), strict=True):
        wins, draws, losses = side.total
        lines.append(
            f"{name:{width}} {side.games:5} {wins:5} {draws:5} {losses:5}  {percent(side)}  "
            f"{_record(side.black):9} {_record(side.white):9} {_discs(side)}"
        )
    lines += ["", f"pairs with 0, 0.5, 1, 1.5, 2 points: {' '.join(map(str, account.pairs))}"]
    rating = result.elo[0]
    if rating:
        likely = 100 * rating.superiority
        lines.append(f"Elo of {result.names[0]}: {rating_text(rating)}")
        lines.append(f"likelihood of superiority: {likely:.1f} %")
    if result.test and result.sprt:
        lines.append(sequential_text(result.test, result.sprt))
    return lines


def sequential_text(test: statistics.Sequential, hypotheses: tuple[float, ...]) -> str:
    """Return what a sequential test of these ``hypotheses``, in Elo, has found."""
    accepted = f"H{test.accepted} accepted ({hypotheses[test.accepted]:+g} Elo)" if test.accepted >= 0 else "undecided"
    return f"SPRT {test.ratio:+.2f} between {test.lower:+.2f} and {test.upper:+.2f}: {accepted}"


# Many programs


def _many(result: MatchOutcome) -> list[str]:
    """Return the report of a tournament: ratings and standings, then a table of points (of a ladder: one line a
    step).
    """
    order = ranking(result)
    width, names = _table_names(result)
    head = f"{'':4}{'':{width}}     Elo  +/-    games   won drawn  lost   score  discs"
    lines = [head]
    for rank, program in enumerate(order, 1):
        one = result.standings[program]
        rated = (
            f"{result.ratings.elo[program]:+6.1f} {result.ratings.error[program]:6.1f}"
            if result.ratings and program not in result.failed
            else f"{'':13}"
        )
        lines.append(
            f"{rank:3} {names[program]:{width}}  {rated}  {one.games:5} {one.wins:5} {one.draws:5} "
            f"{one.losses:5}  {percent(one)}  {_discs(one)}"
        )
    lines += ["", *(_steps if result.schedule.kind == "ladder" else _crossed)(result, width, names)]
    lines.append("")
    if result.ratings:
        lines.append("Elo: the likeliest for all games together, their mean 0, with 95 % errors")
        if result.ratings.bounded:
            lines.append("a program has won or lost everything: each pairing counts a drawn game more in the ratings")
    return lines


def _crossed(result: MatchOutcome, width: int, names: list[str]) -> list[str]:
    order = ranking(result)
    cells = cross_table(result)
    column = max([8, *(len(cell) for cell in cells.values())])
    lines = [f"{'':4}{'':{width}}  " + "  ".join(f"{rank:>{column}}" for rank in range(1, len(order) + 1))]
    for rank, row in enumerate(order, 1):
        points = "  ".join(f"{cells.get((row, other), '-' if row != other else 'x'):>{column}}" for other in order)
        lines.append(f"{rank:3} {names[row]:{width}}  {points}".rstrip())
    return lines


def _steps(result: MatchOutcome, width: int, names: list[str]) -> list[str]:
    """Return a line for each two neighbours of a ladder: the points of the second, and how much stronger it is."""
    lines = [f"{'':4}{'':{width}} {'over':{width}} {'points':>9} {'Elo':>7} {'95 %':>15}"]
    for (first, second), one, elo in zip(result.schedule.pairings, result.tallies, result.elo, strict=True):
        points = f"{one.games - one.points:g}/{one.games}"
        step = f"{0.0 - elo.difference:+7.1f} {0.0 - elo.high:+7.1f} {0.0 - elo.low:+7.1f}" if elo else ""
        lines.append(f"{'':4}{names[second]:{width}} {names[first]:{width}} {points:>9} {step}".rstrip())
    return lines


def ranking(result: MatchOutcome) -> list[int]:
    """Return the programs' numbers, best first, by rating or, without ratings, by score."""

    def worth(program: int) -> tuple[float, int]:
        one = result.standings[program]
        return result.ratings.elo[program] if result.ratings else one.points / max(1, one.games), -program

    return sorted(range(len(result.names)), key=worth, reverse=True)


def cross_table(result: MatchOutcome) -> dict[tuple[int, int], str]:
    """Return, by the numbers of two programs, the points of the first against the second as text, such as ``3.5/8`` for
    eight games. Programs that do not meet have no entry.
    """
    cells = {}
    for (first, second), one in zip(result.schedule.pairings, result.tallies, strict=True):
        cells[first, second] = f"{one.points:g}/{one.games}"
        cells[second, first] = f"{one.games - one.points:g}/{one.games}"
    return cells


def percent(one: PairingScore | Standing) -> str:
    return f"{100 * one.points / one.games:5.1f}%" if one.games else f"{'-':>6}"


def _discs(one: PairingScore | Standing) -> str:
    return f"{one.discs:+5.1f}" if one.games else f"{'-':>5}"


def _record(results: Sequence[int]) -> str:
    return "+{} ={} -{}".format(*results)


def _faults(faults: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {faults[kind]}" for kind in FAULTS if kind in faults) or "none"


def rating_text(rating: statistics.Elo) -> str:
    if math.isinf(rating.difference):
        edge = rating.low if rating.difference > 0 else rating.high
        return f"{'above' if rating.difference > 0 else 'below'} {edge:+.0f} (95 %)"
    return f"{rating.difference:+.1f}, 95 % from {rating.low:+.1f} to {rating.high:+.1f}"


# JSON


FORMAT = 2
"""Version of the JSON report, raised when a key is removed or changes its meaning."""


def json_report(result: MatchOutcome, about: dict[str, Any], programs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON report's data, see docs/match.md; ``about`` are the settings, ``programs`` an entry for each."""
    return {
        "format": FORMAT,
        **about,
        "games": len(result.games),
        "different_games": result.different,
        "failed": result.names[result.failed[0]] if result.failed else None,
        "programs": [
            {"name": name, **program, **one._asdict(), "points": one.points, "failed": one.failed}
            for name, program, one in zip(result.names, programs, result.standings, strict=True)
        ],
        "pairings": [
            {"first": first, "second": second, **_pairing_data(one, elo)}
            for (first, second), one, elo in zip(result.schedule.pairings, result.tallies, result.elo, strict=True)
        ],
        "ratings": {
            **result.ratings._asdict(),
            "elo": [value if math.isfinite(value) else None for value in result.ratings.elo],
        }
        if result.ratings
        else None,
        "sprt": result.test._asdict() if result.test else None,
    }


def _pairing_data(one: PairingScore, elo: statistics.Elo | None) -> dict[str, Any]:
    same = ("games", "black", "white", "discs", "pairs", "longest_ms", "faults")
    return {
        **{name: getattr(one, name) for name in same},
        "different_games": one.different,
        "score": one.points / one.games if one.games else None,
        "mean_ms": one.mean_ms,
        "elo": {name: value if math.isfinite(value) else None for name, value in elo._asdict().items()}
        if elo
        else None,
    }
