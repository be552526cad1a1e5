"""Makes an index of games from files and folders.

The games are replayed side by side, a disc at a time, so that only the moves of one number of discs are in memory.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.clients.gamefiles import wthor, wthor_bases
from desdaemon.protocol.errors import BadInput, Complaints, quoted
from desdaemon.protocol.games import bases
from desdaemon.protocol.games.contents import content_of
from desdaemon.protocol.games.records import plain_name
from desdaemon.protocol.othello.notation import START, Position
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import files
from desdaemon.protocol.wire.constants import LONGEST_NAME

from .boards import NO_SQUARE, Moves, Replay, keys_of_moves
from .index import GAME, HEADER, LAYERS, MAGIC, MOVE, UNKNOWN, padded

MOST_GAMES = 1_000_000
"""Most games of an index; each takes some 250 bytes of memory while the index is made."""
MOST_NAMES = 500_000

_MOST_MOVES = 60


class IndexAccount(NamedTuple):
    """The numbers of files, games, games left out, positions, and (position, game) pairs of an index."""

    files: int
    games: int
    bad: int
    positions: int
    visits: int


def build(
    paths: Iterable[str], target: str, complain: Callable[[str], None], progress: Callable[[str, int, int], None]
) -> IndexAccount:
    """Make the index ``target`` of the games of files and folders; an old file stays until the new one is whole.

    What cannot be read is left out, and ``complain`` gets lines about the first ones and their number. ``progress``
    gets what is counted, the number done and the total, 0 if that is unknown. Raises `BadInput` as `bases.game_files`
    does or if there is no game, and `OSError`.
    """
    with Complaints(complain) as few:
        return _build(bases.game_files(paths), target, few, progress)


def _build(
    sources: list[str], target: str, complain: Callable[[str], None], progress: Callable[[str, int, int], None]
) -> IndexAccount:
    bases.expect_other_files({"--out": target}, sources)
    reader = _Reader(complain, progress)
    for source in sources:
        try:
            reader.read(source)
        except _Full:
            raise
        except BadInput as error:
            complain(str(error))
    if not reader.count:
        raise BadInput("no game could be read")
    records, starts, squares, numbers = reader.arrays()
    replay = Replay(*starts, squares)
    for moves in replay.moves():
        progress("discs checked", moves.discs, LAYERS)
    good = replay.legal
    for place in np.flatnonzero(~good).tolist():
        complain(f"{quoted(reader.paths[records['file'][place]])}: game {numbers[place]}: an illegal move")
    over, scores = replay.results()
    records["score"] = np.where(over, scores, records["score"])
    del replay
    number = int(good.sum())
    players, opponents, white = (part[good] for part in starts)
    records, squares = records[good], squares[good]
    del starts
    with files.replacing(target) as stream:
        positions, visits = _write(stream, records, reader.names, Replay(players, opponents, white, squares), progress)
    return IndexAccount(len(sources), number, reader.count - number + reader.bad, positions, visits)


class _Full(BadInput):
    """An index of what was read would take too much memory."""


class _Reader:
    """Reads games from files, and numbers their names."""

    def __init__(self, complain: Callable[[str], None], progress: Callable[[str, int, int], None]) -> None:
        self.count = self.bad = 0
        self.names: dict[str, int] = {"": 0}
        self.paths: dict[int, str] = {}
        """The path of each file by the number of its name."""
        self._complain, self._progress = complain, progress
        self._records, self._squares, self._numbers = array("i"), bytearray(), array("I")
        self._players, self._opponents, self._white = array("Q"), array("Q"), bytearray()

    def _bad(self, line: str) -> None:
        self.bad += 1
        self._complain(line)

    def read(self, path: str) -> None:
        """Add the games of a file. Raises `BadInput` if it cannot be read, and `_Full`."""
        content = content_of(path)
        file = self._number(os.path.basename(path))  # noqa: PTH119
        self.paths[file] = path
        if content.size and bases.format_of_base(content) == "wtb":
            # Whole bases: `bases.games_of` would replay each game in Python.
            self._read_wthor(wthor.parse(content.whole(), path, self._bad), path, file)
            return
        for game in bases.games_of(content, self._bad):
            squares = bytes(played.move for played in game.record.moves if played.move != PASS)
            names = game.record.black, game.record.white, game.event
            self._add(game.record.initial, squares, names, file, game.date, game.result, game.number)

    def _read_wthor(self, base: wthor.WthorFile, path: str, file: int) -> None:
        players, events = (wthor_bases.names_beside(path, extension, self._complain) for extension in (".jou", ".trn"))
        date = wthor_bases.wthor_date(base.header)
        for number, game in base.games.items():
            names = (
                wthor_bases.name_of(players, game.black),
                wthor_bases.name_of(players, game.white),
                wthor_bases.name_of(events, game.tournament),
            )
            result = 2 * game.discs - 64 if game.discs <= 64 else None
            self._add(START, game.moves, names, file, date, result, number)

    def _add(
        self,
        start: Position,
        squares: bytes,
        names: tuple[str, str, str],
        file: int,
        date: str,
        result: int | None,
        number: int,
    ) -> None:
        if self.count == MOST_GAMES:
            raise _Full(f"{quoted(self.paths[file])}: an index has at most {MOST_GAMES:,} games: make several")
        self._progress(f"{plural(self.count, 'game')} read", 0, 0)
        score = UNKNOWN if result is None or abs(result) > 64 else int(result)
        self._records.extend((*map(self._number, names), file, int(date[:4] or 0), score))
        self._squares += squares[:_MOST_MOVES].ljust(_MOST_MOVES, bytes([NO_SQUARE]))
        self._numbers.append(number)
        self._players.append(start.player)
        self._opponents.append(start.opponent)
        self._white.append(not start.black_to_move)
        self.count += 1

    def _number(self, name: str) -> int:
        if len(self.names) == MOST_NAMES:
            raise _Full(f"an index has at most {MOST_NAMES:,} names of players, events and files: make several")
        return self.names.setdefault(plain_name(" ".join(name.split()))[:LONGEST_NAME], len(self.names))

    def arrays(self) -> tuple[npt.NDArray[Any], tuple[Any, Any, Any], npt.NDArray[np.uint8], npt.NDArray[Any]]:
        """Return the records of the games, a triple of arrays (players, opponents, white), the squares, and the games'
        numbers in their files, the newest games first. The reader gives up what it has read.
        """
        records = np.zeros(self.count, GAME)
        fields = np.frombuffer(self._records, np.int32).reshape(-1, len(GAME.names or ()))
        order = np.argsort(-fields[:, 4], kind="stable")
        for name, column in zip(GAME.names or (), fields.T, strict=True):
            records[name] = column[order]
        players, opponents = (np.frombuffer(side, np.uint64)[order] for side in (self._players, self._opponents))
        white = np.frombuffer(self._white, np.bool_)[order]
        squares = np.frombuffer(self._squares, np.uint8).reshape(-1, _MOST_MOVES)[order]
        numbers = np.frombuffer(self._numbers, np.uint32)[order]
        self._squares, self._records = bytearray(), array("i")
        return records, (players, opponents, white), squares, numbers


def _write(
    stream: BinaryIO,
    games: npt.NDArray[np.void],
    names: dict[str, int],
    replay: Replay,
    progress: Callable[[str, int, int], None],
) -> tuple[int, int]:
    """Write an index of ``games``, whose moves ``replay`` has; return the numbers of positions and visits.

    ``names`` has each name to which ``games`` refers, in the order of their numbers.
    """
    texts = [name.encode() for name in names]
    header = np.zeros(1, HEADER)
    header["magic"], header["games"], header["names"] = MAGIC, len(games), len(texts)
    header["bytes"] = sum(map(len, texts))
    _put(stream, header)
    _put(stream, games)
    _put(stream, np.cumsum([len(text) for text in texts]).astype("<u4"))
    _put(stream, np.frombuffer(b"".join(texts), np.uint8))
    for moves in replay.moves():
        progress("discs written", moves.discs, LAYERS)
        header["layers"][0, moves.discs] = _put_layer(stream, moves, games)
    stream.seek(0)
    _put(stream, header)
    totals = header["layers"][0].sum(axis=0)
    return int(totals[0]), int(totals[2])


def _put_layer(stream: BinaryIO, moves: Moves, games: npt.NDArray[np.void]) -> tuple[int, int, int]:
    """Write the positions with one number of discs; return the number of positions, moves and visits."""
    keys, squares = keys_of_moves(moves.players, moves.opponents, moves.squares)
    visits = (2 * moves.games + moves.white).astype("<u4")
    order = np.lexsort((visits, squares, keys))
    keys, squares, visits = keys[order], squares[order], visits[order]
    new_position = np.diff(keys, prepend=~keys[:1]) != 0
    starts = np.flatnonzero(new_position | (np.diff(squares.astype(np.int16), prepend=-1) != 0))
    records = np.zeros(len(starts), MOVE)
    records["visits"], records["square"] = starts, squares[starts]
    years, scores = (games[name][visits >> 1] for name in ("year", "score"))
    known = scores != UNKNOWN
    scores = np.where(known, np.where(visits & 1, -scores, scores), 0)
    columns = {
        "wins": (np.add, scores > 0),
        "draws": (np.add, known & (scores == 0)),
        "losses": (np.add, scores < 0),
        "discs": (np.add, scores),
        "first": (np.minimum, np.where(years, years, 0xFFFF)),
        "last": (np.maximum, years),
    }
    for name, (fold, column) in columns.items():
        records[name] = fold.reduceat(column.astype(np.int64), starts) if len(starts) else 0
    records["first"][records["last"] == 0] = 0
    positions = np.flatnonzero(new_position[starts])
    _put(stream, keys[starts[positions]])
    _put(stream, np.append(positions, len(starts)).astype("<u4"))
    _put(stream, records)
    _put(stream, visits)
    return len(positions), len(starts), len(visits)


def _put(stream: BinaryIO, part: npt.NDArray[Any]) -> None:
    data = part.tobytes()
    stream.write(data.ljust(padded(len(data)), b"\0"))
