"""The index of games: a file that is mapped into memory, and look-ups of what was played in a position.

All numbers are little-endian, each part begins at a multiple of eight bytes:

- The header: `MAGIC`, the number of games, names and bytes of names, then for each number of discs from 0 to 63 the
  number of positions, moves and visits.
- Games: `GAME` records, the newest first, those of unknown year last. Names: where each ends, then their UTF-8.
- For each number of discs: the keys of the positions, ascending (`boards.keys_of`); the number of each position's
  first move, and at the end the number of moves; the moves, `MOVE` records; the visits, each twice the number of a
  game, plus 1 if White moves.

Every number from the file is checked before it is used: damage leads to wrong answers or `BadInput`, not to a crash.
"""

from __future__ import annotations

import itertools
import mmap
import os
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import move_text
from desdaemon.protocol.spelling import name_test
from desdaemon.protocol.system import platform
from desdaemon.protocol.wire.constants import LONGEST_NAME

from . import boards
from .boards import Numbers

MAGIC = b"desdaemon games\x01"
LAYERS = 64
HEADER = np.dtype(
    [("magic", "S16"), ("games", "<u8"), ("names", "<u8"), ("bytes", "<u8"), ("layers", "<u8", (LAYERS, 3))]
)
GAME = np.dtype(
    [("black", "<u4"), ("white", "<u4"), ("event", "<u4"), ("file", "<u4"), ("year", "<u2"), ("score", "<i2")]
)
"""A game: numbers of names, the year or 0, and Black's score in discs or `UNKNOWN`."""
MOVE = np.dtype(
    [
        ("visits", "<u4"),
        ("wins", "<u4"),
        ("draws", "<u4"),
        ("losses", "<u4"),
        ("discs", "<i4"),
        ("first", "<u2"),
        ("last", "<u2"),
        ("square", "u1"),
    ]
)
"""A move: number of its first visit, results for the mover, the sum of their discs, first and last year or 0, and the
square in the canonical position.
"""
UNKNOWN = -128

_PLAYERS = 3


class NoIndex(BadInput):
    """The file is no index of games, or a damaged one."""


class Filter(NamedTuple):
    """Which games count: those that meet every condition given.

    ``player`` is a part of either player's name, ``black`` and ``white`` of that side's name, ``event`` of the
    tournament's or the file's name, all as for `name_test`. The year is ``from_year`` or later and ``to_year`` or
    earlier, 0 for any. If either year is given, games of unknown year do not count.
    """

    player: str = ""
    black: str = ""
    white: str = ""
    event: str = ""
    from_year: int = 0
    to_year: int = 0


NO_FILTER = Filter()


class ListedGame(NamedTuple):
    """A game that reached a position; ``move`` is the move that was played there.

    ``year`` is 0 if unknown, ``event`` the tournament, ``result`` Black's score in discs, None if unknown.
    """

    black: str
    white: str
    year: int
    event: str
    file: str
    result: int | None
    move: str


class TalliedMove(NamedTuple):
    """A move that was played in a position, its mirror images included; ``games`` is the number of games with it.

    ``wins``, ``draws`` and ``losses`` are the known results for the mover, ``discs`` is the sum of these results in
    discs. ``first`` and ``last`` are years, or 0. ``players`` are those who played it most, with numbers of games.
    """

    move: str
    games: int
    wins: int
    draws: int
    losses: int
    discs: int
    first: int
    last: int
    players: tuple[tuple[str, int], ...] = ()

    @property
    def mean(self) -> float | None:
        """The mean result in discs for the mover; None if no result is known."""
        known = self.wins + self.draws + self.losses
        return self.discs / known if known else None


class Played(NamedTuple):
    """What was played in a position: moves, the most frequent first, and games, the newest first."""

    moves: tuple[TalliedMove, ...]
    games: tuple[ListedGame, ...] = ()


NOTHING = Played(())


class _Layer(NamedTuple):
    """The positions with one number of discs; see the file's format."""

    keys: Numbers
    firsts: Numbers
    moves: npt.NDArray[Any]
    visits: Numbers


def section_sizes(positions: int, moves: int, visits: int) -> tuple[tuple[Any, int], ...]:
    """Return a pair for each of a layer's four parts: the type of its items and their number."""
    return (("<u8", positions), ("<u4", positions + 1), (MOVE, moves), ("<u4", visits))


def padded(size: int) -> int:
    """Return a number of bytes rounded up to a multiple of eight."""
    return -(-size // 8) * 8


class GamesIndex:
    """An open index. Any thread may call the methods.

    The file is mapped: reading a part that was cut off ends the process. So a file that another program has written to
    since it was opened is used no more.
    """

    def __init__(self, path: str | Path) -> None:
        """Map the file ``path``. Raises `NoIndex` if it is no index or has the wrong length, and `OSError`."""
        self.path = str(path)
        # It stays open, to see whether another program writes to it.
        self._opened = platform.open_file(Path(path), os.O_RDONLY)
        weakref.finalize(self, os.close, self._opened)
        self._stamp = self._stamp_now()
        if self._stamp[0] < HEADER.itemsize:
            raise self._damaged()
        self._map = mmap.mmap(self._opened, self._stamp[0], access=mmap.ACCESS_READ)
        self._place = 0
        self._size = len(self._map)
        (header,) = self._part(HEADER, 1)
        if header["magic"] != MAGIC:
            raise self._damaged()
        self.games = self._part(GAME, int(header["games"]))
        self._ends = self._part("<u4", int(header["names"]))
        self._names = self._part("u1", int(header["bytes"]))
        self._layers = [
            _Layer(*(self._part(*part) for part in section_sizes(*map(int, counts)))) for counts in header["layers"]
        ]
        if self._place != self._size:
            raise self._damaged()
        self._all_names: list[str] = []

    @property
    def positions(self) -> int:
        """Number of different positions."""
        return sum(len(layer.keys) for layer in self._layers)

    def _stamp_now(self) -> tuple[int, int]:
        status = os.fstat(self._opened)
        return status.st_size, status.st_mtime_ns

    def _watch(self) -> None:
        """Raise `NoIndex` if another program has written to the file since it was opened."""
        if self._stamp_now() != self._stamp:
            raise NoIndex(f"{quoted(self.path)}: another program wrote to it: make it again with desdaemon games index")

    def _damaged(self) -> NoIndex:
        return NoIndex(f"{quoted(self.path)}: not an index of games, or damaged: make it with desdaemon games index")

    def _part(self, kind: Any, number: int) -> npt.NDArray[Any]:
        """Return the next part of the file, an array of ``number`` items of the numpy type ``kind``. Raises `NoIndex`
        if the file is too short.
        """
        width = np.dtype(kind).itemsize
        if number > (self._size - self._place) // width:
            raise self._damaged()
        part = np.frombuffer(self._map, kind, number, self._place)
        self._place += padded(number * width)
        return part

    def name(self, number: int) -> str:
        """Return a name by its number, cut to `LONGEST_NAME` characters and without those that are not printable; ""
        for a number that has no name.
        """
        if not 0 < number < len(self._ends):
            return ""
        begin, end = int(self._ends[number - 1]), int(self._ends[number])
        text = self._names[begin : min(end, begin + 4 * LONGEST_NAME)].tobytes().decode("utf-8", "replace")
        return "".join(letter for letter in text[:LONGEST_NAME] if letter.isprintable())

    def look_up(self, player: int, opponent: int, chosen: Filter = NO_FILTER, *, games: int = 0) -> Played:
        """Return what was played in a position, in any orientation, by the games that ``chosen`` lets through.

        The moves are on the board given; at most ``games`` games are listed. Unless ``games`` is 0 each move has its
        most frequent players. Raises `NoIndex` if the file is damaged.
        """
        return next(self.look_up_many([(player, opponent)], chosen, games=games))

    def look_up_many(
        self, positions: Sequence[tuple[int, int]], chosen: Filter = NO_FILTER, *, games: int = 0
    ) -> Iterator[Played]:
        """Yield for each of ``positions`` what `look_up` returns."""
        players, opponents = np.array(positions, np.uint64).reshape(-1, 2).T
        keys, symmetries = boards.keys_of(players, opponents)
        discs = np.bitwise_count(players | opponents)
        self._watch()
        passing = self._passing(chosen)
        for number, (key, which, count) in enumerate(zip(keys, symmetries.tolist(), discs.tolist(), strict=True)):
            self._watch()
            yield self._played(positions[number], key, which, count, passing, games)

    def _played(
        self,
        position: tuple[int, int],
        key: np.uint64,
        which: int,
        discs: int,
        passing: npt.NDArray[np.bool_] | None,
        games: int,
    ) -> Played:
        if discs >= LAYERS:
            return NOTHING
        layer = self._layers[discs]
        place = int(np.searchsorted(layer.keys, key))
        if place == len(layer.keys) or layer.keys[place] != key:
            return NOTHING
        begin, end = int(layer.firsts[place]), int(layer.firsts[place + 1])
        if not begin < end <= min(len(layer.moves), begin + 64):
            raise self._damaged()
        records = layer.moves[begin:end].tolist()
        last = int(layer.moves["visits"][end]) if end < len(layer.moves) else len(layer.visits)
        starts = [record[0] for record in records] + [last]
        if any(low >= high for low, high in itertools.pairwise(starts)) or last > len(layer.visits):
            raise self._damaged()
        inverse = rules.INVERSE_SYMMETRY[which]
        moves = []
        listed: list[tuple[int, str]] = []
        for record, (first, last) in zip(records, itertools.pairwise(starts), strict=True):
            square = rules.transform_move(record[7], inverse)
            # Another position may have the same key, in a file that somebody made so.
            if square > 63 or not rules.flips(*position, square):
                raise self._damaged()
            name = move_text(square).lower()
            if passing is None and not games:
                moves.append(TalliedMove(name, last - first, *record[1:7]))
                continue
            visits = self._checked(layer.visits[first:last], passing)
            if len(visits):
                moves.append(self._counted(name, visits, with_players=games > 0))
                listed += [(visit, name) for visit in (visits[:games] >> 1).tolist()]
        moves.sort(key=lambda move: -move.games)
        return Played(tuple(moves), tuple(self._game(*one) for one in sorted(listed)[:games]))

    def _checked(self, visits: Numbers, passing: npt.NDArray[np.bool_] | None) -> Numbers:
        """Return the visits of the games in the mask ``passing``, or of all games if it is None. Raises `NoIndex` if a
        visit has no valid game number.
        """
        if int(visits.max()) >> 1 >= len(self.games):
            raise self._damaged()
        return visits if passing is None else visits[passing[visits >> 1]]

    def _counted(self, name: str, visits: Numbers, *, with_players: bool) -> TalliedMove:
        """Return the tally of a move, called ``name``, from its ``visits``; results are for the mover."""
        games, white = self.games[visits >> 1], visits & 1 != 0
        scores = games["score"].astype(np.int64)
        known = scores != UNKNOWN
        scores = np.where(white, -scores, scores)[known]
        years = games["year"][games["year"] > 0]
        players: tuple[tuple[str, int], ...] = ()
        if with_players:
            names, counts = np.unique(np.where(white, games["white"], games["black"]), return_counts=True)
            order = np.lexsort((names, -counts))[: _PLAYERS + 1]
            named = ((self.name(int(names[place])), int(counts[place])) for place in order)
            players = tuple(one for one in named if one[0])[:_PLAYERS]
        return TalliedMove(
            name,
            len(visits),
            int((scores > 0).sum()),
            int((scores == 0).sum()),
            int((scores < 0).sum()),
            int(scores.sum()),
            int(years.min(initial=65535)) if len(years) else 0,
            int(years.max(initial=0)),
            players,
        )

    def _game(self, number: int, move: str) -> ListedGame:
        black, white, event, file, year, score = self.games[number].tolist()
        names = self.name(black), self.name(white), year, self.name(event), self.name(file)
        return ListedGame(*names, None if score == UNKNOWN else score, move)

    def _passing(self, chosen: Filter) -> npt.NDArray[np.bool_] | None:
        """Return a mask of the games that a filter lets through; None for all."""
        if chosen == NO_FILTER:
            return None
        games = self.games
        passing = np.ones(len(games), np.bool_)
        if chosen.player:
            passing &= self._named(chosen.player, "black") | self._named(chosen.player, "white")
        for side in ("black", "white"):
            if wanted := getattr(chosen, side):
                passing &= self._named(wanted, side)
        if chosen.event:
            passing &= self._named(chosen.event, "event") | self._named(chosen.event, "file")
        if chosen.from_year:
            passing &= games["year"] >= chosen.from_year
        if chosen.to_year:
            passing &= (games["year"] <= chosen.to_year) & (games["year"] > 0)
        return passing

    def _named(self, wanted: str, field: str) -> npt.NDArray[np.bool_]:
        """Return a mask of the games whose ``field`` is a name that ``wanted`` means, as for `name_test`."""
        if not self._all_names:
            self._all_names = [self.name(number) for number in range(len(self._ends))]
        matching = np.array([*map(name_test(wanted), self._all_names), False])
        named: npt.NDArray[np.bool_] = matching[np.minimum(self.games[field], len(matching) - 1)]
        return named
