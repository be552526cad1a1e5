"""The account of the games of two books, as text and as JSON."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from desdaemon.clients.match.referee import Finished
from desdaemon.clients.match.results.report import percent, rating_text
from desdaemon.clients.match.results.scores import PairingScore, tally
from desdaemon.clients.programs.statistics import elo, expected_score
from desdaemon.protocol.games.records import GameRecord, black_score
from desdaemon.protocol.othello.notation import board_text, moves_text
from desdaemon.protocol.spelling import plural

from .games import EXACT_EMPTIES, BookGame

FORMAT = 1
"""Version of the JSON account, raised when a key is removed or changes its meaning."""


class Account(NamedTuple):
    """What was found: the books' ``names``, the games, the ``openings`` from which they were played in turn, and for
    each book the discs that it lost against its promises.
    """

    names: tuple[str, str]
    games: list[BookGame]
    openings: list[GameRecord]
    losses: tuple[list[int], list[int]]

    @property
    def score(self) -> PairingScore:
        """The games as a match of the first book with the second."""
        none = (0.0, 0.0)
        played = {
            number: Finished(game.record, black_score(game.record.final), "played", -1, "", none, none, (0, 0))
            for number, game in enumerate(self.games)
        }
        return tally(played, lambda number: number // 2 % len(self.openings))


def _points(score: PairingScore) -> tuple[float, float, float] | None:
    """Return the first book's points, 0 to 1, and the ends of their interval of 95 %; None without games."""
    rating = elo(score.sample)
    return rating and (score.sample.mean, expected_score(rating.low), expected_score(rating.high))


def _left(account: Account, book: int) -> dict[str, Any]:
    """Return the mean number of discs placed when a book was left, the least, the most, and the mean of the engine's
    scores then; and the number of games in which it was not left.
    """
    lines = [game.lines[book] for game in account.games]
    left = [line.left for line in lines if line.left is not None]
    scores = [line.score for line in lines if line.score is not None]
    return {
        "moves": statistics.fmean(left) if left else None,
        "least": min(left, default=None),
        "most": max(left, default=None),
        "score": statistics.fmean(scores) if scores else None,
        "never": len(lines) - len(left),
    }


def _exact(losses: Sequence[int]) -> dict[str, Any]:
    return {
        "positions": len(losses),
        "loss": statistics.fmean(losses) if losses else None,
        "error": statistics.fmean(map(abs, losses)) if losses else None,
    }


def report(account: Account, heading: str) -> str:
    """Return the account as text, with ``heading`` as its first line."""
    score, names = account.score, account.names
    width = max(4, *map(len, names))
    lines = [heading, "", f"{'':{width}}  games   won drawn  lost   score  discs  left after           score then"]
    for book, (name, one) in enumerate(zip(names, (score, score.seen_from_second()), strict=True)):
        won, drawn, lost = one.total
        left = _left(account, book)
        end = "never"
        if left["moves"] is not None:
            moves = f"{left['moves']:.1f} moves ({left['least']}-{left['most']})"
            end = f"{moves:<19}  {left['score']:+.1f}"
        lines.append(
            f"{name:{width}} {one.games:6} {won:5} {drawn:5} {lost:5}  {percent(one)}  {one.discs:+5.1f}  {end}"
        )
    lines += ["", f"pairs with 0, 0.5, 1, 1.5, 2 points: {' '.join(map(str, score.pairs))}"]
    points, rating = _points(score), elo(score.sample)
    if points and rating:
        mean, low, high = (100 * part for part in points)
        lines.append(f"points of {names[0]}: {mean:.1f} %, 95 % from {low:.1f} to {high:.1f}")
        lines.append(f"Elo of {names[0]}: {rating_text(rating)}")
    if score.different < score.games:
        lines.append(f"{score.games} games, {score.different} different: repeated ones count as one in the errors")
    for name, losses in zip(names, account.losses, strict=True):
        if losses:
            found = _exact(losses)
            lines.append(
                f"last scores of {name}: {found['error']:.2f} discs off, {found['loss']:+.2f} too high, in "
                f"{plural(len(losses), 'line')}, solved at {EXACT_EMPTIES} empty squares"
            )
    return "\n".join(lines) + "\n"


def data(account: Account, about: dict[str, Any]) -> dict[str, Any]:
    """Return the account as JSON data, see docs/book.md; ``about`` are the settings."""
    score = account.score
    points = _points(score)
    return {
        "format": FORMAT,
        **about,
        "games": score.games,
        "different_games": score.different,
        "pairs": score.pairs,
        "points": points and {"mean": points[0], "low": points[1], "high": points[2]},
        "discs": score.discs,
        "books": [
            {"name": name, "results": one.total, "left": _left(account, book), "exact": _exact(account.losses[book])}
            for book, (name, one) in enumerate(zip(account.names, (score, score.seen_from_second()), strict=True))
        ],
        "played": [
            {
                "board": board_text(game.record.initial),
                "moves": moves_text([played.move for played in game.record.moves]),
                "score": black_score(game.record.final),
                "lines": [line._asdict() for line in game.lines],
            }
            for game in account.games
        ],
    }
