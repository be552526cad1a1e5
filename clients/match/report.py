"""What a match came to: the account of its games, as a table for people and as JSON for programs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from . import statistics
from .referee import ENDINGS, Finished

_FAULTS = ENDINGS[2:]


class Tally(NamedTuple):
    """A match seen from player 0. Game n was begun by player n % 2 with Black, games 2k and 2k + 1 are a pair.

    ``black`` and ``white`` are wins, draws and losses with that colour; ``discs`` is the mean score of the games that
    were played out, empty squares to the winner; ``pairs`` are the complete ones by their points, ``singles`` the
    points of games without a partner. The rest holds a value for each player: ms a move, the longest move in ms, and
    how many games each lost by each of the faults.
    """

    games: int
    black: tuple[int, int, int]
    white: tuple[int, int, int]
    discs: float
    pairs: statistics.Counts
    singles: list[float]
    mean_ms: tuple[float, float]
    longest_ms: tuple[float, float]
    faults: tuple[dict[str, int], dict[str, int]]

    @property
    def total(self) -> tuple[int, int, int]:
        """Wins, draws and losses with either colour."""
        won, drawn, lost = (self.black[at] + self.white[at] for at in range(3))
        return won, drawn, lost

    @property
    def score(self) -> float:
        """Points a game, 0 to 1."""
        return (self.total[0] + 0.5 * self.total[1]) / self.games if self.games else 0.5


def tally(games: dict[int, Finished]) -> Tally:
    """The account of the games played so far, by number."""
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
            player = side ^ colour
            used[player] += game.used[side]
            moves[player] += game.moves[side]
            longest[player] = max(longest[player], game.longest[side])
    pairs = [0] * 5
    singles = []
    for number, point in points.items():
        if number % 2 == 0 and number + 1 in points:
            pairs[round(2 * (point + points[number + 1]))] += 1
        elif number ^ 1 not in points:
            singles.append(point)
    return Tally(
        len(games),
        (by_colour[0][0], by_colour[0][1], by_colour[0][2]),
        (by_colour[1][0], by_colour[1][1], by_colour[1][2]),
        sum(discs) / len(discs) if discs else 0.0,
        (pairs[0], pairs[1], pairs[2], pairs[3], pairs[4]),
        singles,
        (used[0] / max(1, moves[0]), used[1] / max(1, moves[1])),
        (longest[0], longest[1]),
        faults,
    )


def report(games: dict[int, Finished], names: tuple[str, str], terms: str, test: statistics.Sequential | None) -> str:
    """The table, lines with their ends."""
    account = tally(games)
    width = max(12, *map(len, names))
    head = f"{'':{width}}  games   won drawn  lost   score  as Black   as White   discs   s/move  longest"
    won, drawn, lost = account.total
    rows = [
        (names[0], (won, drawn, lost), account.score, account.black, account.white, account.discs),
        (
            names[1],
            (lost, drawn, won),
            1 - account.score,
            account.white[::-1],
            account.black[::-1],
            0.0 - account.discs,
        ),
    ]
    lines = [terms, "", head]
    for player, (name, (wins, draws, losses), score, black, white, discs) in enumerate(rows):
        lines.append(
            f"{name:{width}}  {account.games:5} {wins:5} {draws:5} {losses:5}  {100 * score:5.1f}%  "
            f"{_record(black):9}  {_record(white):9}  {discs:+5.1f}  "
            f"{account.mean_ms[player] / 1000:7.3f}  {account.longest_ms[player] / 1000:7.3f}"
        )
    lines += ["", f"pairs with 0, 0.5, 1, 1.5, 2 points: {' '.join(map(str, account.pairs))}"]
    rating = statistics.elo(account.pairs, account.singles)
    if rating:
        likely = 100 * rating.superiority
        lines.append(f"Elo of {names[0]}: {_rating(rating)}; the stronger one with {likely:.1f} % probability")
    if test:
        decided = {-1: "undecided", 0: "the first hypothesis", 1: "the second hypothesis"}[test.accepted]
        lines.append(f"SPRT {test.ratio:+.2f} between {test.lower:+.2f} and {test.upper:+.2f}: {decided}")
    for name, faults in zip(names, account.faults, strict=True):
        lines.append(f"{name} lost by fault: {_faults(faults)}")
    for number, game in sorted(games.items()):
        if game.faulty >= 0:
            name = names[game.faulty ^ number % 2]
            lines.append(
                f"  game {number + 1}, {name} as {('Black', 'White')[game.faulty]}: {game.ending}: {game.note}"
            )
    return "\n".join(lines) + "\n"


def _record(results: tuple[int, ...]) -> str:
    return "+{} ={} -{}".format(*results)


def _faults(faults: dict[str, int]) -> str:
    return ", ".join(f"{kind} {faults[kind]}" for kind in _FAULTS if kind in faults) or "none"


def _rating(rating: statistics.Elo) -> str:
    if math.isinf(rating.difference):
        edge = rating.low if rating.difference > 0 else rating.high
        return f"{'above' if rating.difference > 0 else 'below'} {edge:+.0f} (95 %)"
    return f"{rating.difference:+.1f}, 95 % from {rating.low:+.1f} to {rating.high:+.1f}"


def as_json(games: dict[int, Finished], names: tuple[str, str], test: statistics.Sequential | None) -> dict[str, Any]:
    """The same for programs; what is infinite is null."""
    account = tally(games)
    rating = statistics.elo(account.pairs, account.singles)
    return {
        "players": list(names),
        **{name: value for name, value in account._asdict().items() if name != "singles"},
        "score": account.score,
        "elo": {k: v if math.isfinite(v) else None for k, v in rating._asdict().items()} if rating else None,
        "sprt": test._asdict() if test else None,
    }
