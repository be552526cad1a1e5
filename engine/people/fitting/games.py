"""Dated games of named players from WTHOR's files, and the positions in which people chose a move."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from desdaemon.clients.gamefiles import wthor_bases
from desdaemon.engine.kernels.bits import moves as legal_moves
from desdaemon.engine.training.compiled import compiled
from desdaemon.engine.training.games.game_files import squares_of, wthor_files
from desdaemon.engine.training.labelling import boards
from desdaemon.engine.training.labelling.boards import Boards
from desdaemon.engine.training.store import TrainingError
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.system import logs

from .ratings import Ratings, rate

Floats: TypeAlias = NDArray[np.float32]

FIRST_PLY = 4
"""First ply of the moves that are learned and predicted: the moves before it are nearly always the same."""
LAST_PLY = 59
_F5 = 37


class Games(NamedTuple):
    """Games by number: squares (games, 60), players' numbers, years, and Black's share of the point."""

    squares: NDArray[np.uint8]
    black: NDArray[np.int64]
    white: NDArray[np.int64]
    years: NDArray[np.int64]
    points: NDArray[np.float64]
    programs: NDArray[np.bool_]
    """For each player's number whether it is a program."""

    def part(self, chosen: Any) -> Games:
        """Return the chosen games."""
        squares, black, white, years, points = (each[chosen] for each in self[:5])
        return Games(squares, black, white, years, points, self.programs)


def read_games(sources: list[Path]) -> Games:
    """Return the games of WTHOR files, or of folders of them, that begin with F5, as nearly all do. A file is left out,
    with a message, if the names of some of its players are missing. Raises `TrainingError` if no file is left,
    `BadInput` for an unusable file.
    """
    squares, numbers, names = [], [], [""]
    for path in wthor_files(sources):
        base = wthor_bases.read_wthor(str(path), logs.message)
        games = list(base.games.values())
        listed = wthor_bases.names_beside(str(path), ".jou", logs.message)
        if not games or max(max(game.black, game.white) for game in games) >= len(listed):
            logs.message(f"{path}: left out: its players have no names")
            continue
        names = max(names, listed, key=len)
        squares.append(squares_of([game.moves for game in games]))
        numbers += [(game.black, game.white, base.header.year, np.sign(game.discs - 32) / 2 + 0.5) for game in games]
    if not squares:
        raise TrainingError(f"{', '.join(map(str, sources))}: no games of named players (*.wtb with a .JOU)")
    black, white, years, points = np.array(numbers).T
    programs = np.array(["(" in name for name in names])
    read = Games(
        np.concatenate(squares),
        black.astype(np.int64),
        white.astype(np.int64),
        years.astype(np.int64),
        points,
        programs,
    )
    return read.part(read.squares[:, 0] == _F5)


class Positions(NamedTuple):
    """Positions, side to move first, the squares that were chosen, and the movers' ratings, NaN without one.

    ``last`` are the squares of the opponents' moves before; PASS where the opponent passed.
    """

    players: Boards
    opponents: Boards
    squares: NDArray[np.int64]
    ratings: Floats
    last: NDArray[np.int64]

    def part(self, chosen: Any) -> Positions:
        """Return the chosen positions."""
        return Positions(*(each[chosen] for each in self))


def positions_of(games: Games, ratings: Ratings, last: int) -> Positions:
    """Return the positions of ``games`` up to ply ``last`` in which a person chose among moves."""
    lengths = np.zeros(len(games.squares), np.uint8)
    boards.replay(games.squares, lengths, np.zeros(len(lengths), np.int8), np.zeros(len(lengths), np.bool_))
    room = 2 * len(lengths) * (last + 1 - FIRST_PLY)
    players, opponents = np.empty(room, np.uint64), np.empty(room, np.uint64)
    numbers, turns = np.empty(room, np.int32), np.empty(room, np.int8)
    count = boards.expand(games.squares, lengths, FIRST_PLY, last, players, opponents, numbers, turns)
    players, opponents, numbers, turns = players[:count], opponents[:count], numbers[:count], turns[:count]
    plies = boards.plies(players, opponents)
    mover = np.where(turns > 0, games.black[numbers], games.white[numbers])
    wanted = (plies < lengths[numbers]) & ~games.programs[mover]
    wanted &= np.bitwise_count(moves_of(players, opponents)) > 1
    rated = ratings.of(mover[wanted], games.years[numbers[wanted]])
    played = games.squares[numbers[wanted], plies[wanted]].astype(np.int64)
    before = games.squares[numbers[wanted], plies[wanted] - 1].astype(np.int64)
    before[opponents[wanted] >> before.astype(np.uint64) & np.uint64(1) == 0] = PASS
    return Positions(players[wanted], opponents[wanted], played, rated.astype(np.float32), before)


def ratings_before(games: Games, year: int) -> Ratings:
    """Return the ratings by the results of all years before ``year``."""
    part = games.part(games.years < year)
    return rate(part.black, part.white, part.years, part.points)


@compiled
def _legal(players: Boards, opponents: Boards, out: Boards) -> None:
    for i in range(players.shape[0]):
        out[i] = legal_moves(players[i], opponents[i])


def moves_of(players: Boards, opponents: Boards) -> Boards:
    """Return a mask of the legal moves of each board."""
    out = np.empty_like(players)
    _legal(players, opponents, out)
    return out
