"""WTHOR, the format of the French federation's game base and of many others.

A base is three files. ``.wtb`` has the games of one year: a header of 16 bytes, then 68 bytes a game. ``.jou`` has the
names of players, 20 bytes each, ``.trn`` those of tournaments, 26 bytes each; a game names them by number. All numbers
are little endian. Passes are not written.

This module handles bytes only, fast enough for whole bases; `bases` replays the games and so checks their moves.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.contents import content_of
from desdaemon.protocol.games.records import Complain, complain, plain_name
from desdaemon.protocol.texts import check_fetched

HEADER_BYTES, GAME_BYTES = 16, 68
PLAYER_BYTES, TOURNAMENT_BYTES = 20, 26
_NAME_BYTES = {".jou": PLAYER_BYTES, ".trn": TOURNAMENT_BYTES}

_HEADER = struct.Struct("<4BIHH4B")
_GAME = struct.Struct("<HHHBB60s")

_END, _WRONG = 64, 65
_SQUARES = bytes(
    8 * (code // 10 - 1) + code % 10 - 1
    if 1 <= code // 10 <= 8 and 1 <= code % 10 <= 8
    # Edax writes 92 for the moves that an unfinished game does not have.
    else _END
    if code in (0, 92)
    else _WRONG
    for code in range(256)
)
_CODES = bytes(10 * (square // 8 + 1) + square % 8 + 1 for square in range(64)) + bytes(192)


class WthorHeader(NamedTuple):
    """The header of any of the three files.

    ``made`` is the day on which the file was made, as year, month and day; ``records`` the number of games or names;
    ``year`` that of the games; ``size`` the board's, 0 for 8; ``depth`` the number of empty squares from which the
    theoretical scores count.
    """

    made: tuple[int, int, int]
    records: int
    year: int = 0
    size: int = 0
    depth: int = 0


class WthorGame(NamedTuple):
    """A game: its squares 0..63 in order, without passes.

    ``discs`` are Black's at the end, empty squares counted for the winner; ``theoretical`` those after best play from
    the header's depth. The other fields number names in the files of names.
    """

    moves: bytes
    discs: int
    theoretical: int
    tournament: int = 0
    black: int = 0
    white: int = 0


class WthorFile(NamedTuple):
    """A ``.wtb`` file: its header, and its games by number, from 1."""

    header: WthorHeader
    games: dict[int, WthorGame]


def parse(data: bytes, name: str, bad: Complain | None = None) -> WthorFile:
    """Read the games of a WTHOR file.

    A wrong record is left out and reported to ``bad``. A wrong number of records is reported too. Without ``bad`` both
    raise `BadInput`. A file with an unusable header or another board size always raises it.
    """
    header = parse_header(data, name, GAME_BYTES, "games", bad)
    if header.size not in (0, 8):
        raise BadInput(f"{quoted(name)}: offset 12: a board of size {header.size}: expected 8")
    games = {}
    whole = len(data) - (len(data) - HEADER_BYTES) % GAME_BYTES
    for number, (tournament, black, white, discs, theoretical, codes) in enumerate(
        _GAME.iter_unpack(memoryview(data)[HEADER_BYTES:whole]), 1
    ):
        moves = codes.translate(_SQUARES)
        end = moves.find(_END)
        if _WRONG in moves or (end >= 0 and moves.count(_END, end) != 60 - end):
            complain(_wrong_move(moves, codes, number - 1, name), bad)
            continue
        games[number] = WthorGame(moves if end < 0 else moves[:end], discs, theoretical, tournament, black, white)
    return WthorFile(header, games)


def _wrong_move(moves: bytes, codes: bytes, number: int, name: str) -> str:
    end = moves.find(_END)
    ended = end if end >= 0 else 60
    index = next(index for index, square in enumerate(moves) if square == _WRONG or (index > ended and square != _END))
    offset = HEADER_BYTES + GAME_BYTES * number + GAME_BYTES - 60 + index
    expected = "10 * row + column, 11 to 88" if index < ended else f"0, since the game ended at move {ended}"
    return (
        f"{quoted(name)}: offset {offset}: game {number + 1}, move {index + 1} is {codes[index]}: expected {expected}"
    )


def parse_header(data: bytes, name: str, record: int, what: str, bad: Complain | None = None) -> WthorHeader:
    """Return the header of a file whose records have ``record`` bytes each; raises `BadInput`. Messages call the file
    ``name`` and its records ``what``.

    A number of records that does not fit the file's length is reported to ``bad``; without ``bad`` it raises
    `BadInput`.
    """
    check_fetched(data, name)
    if len(data) < HEADER_BYTES:
        raise BadInput(f"{quoted(name)}: not a WTHOR file: {len(data)} bytes, the header alone has 16")
    century, year, month, day, first, second, games_year, size, _, depth, _ = _HEADER.unpack_from(data)
    if not (1 <= month <= 12 and 1 <= day <= 31 and year < 100):
        raise BadInput(f"{quoted(name)}: not a WTHOR file: its date is {day}.{month}.{100 * century + year}")
    # Some programs count names in the second field.
    count = first or second
    whole, rest = divmod(len(data) - HEADER_BYTES, record)
    if rest or whole != count:
        complain(
            f"{quoted(name)}: offset 4: {count} {what} of {record} bytes announced, "
            f"expected {HEADER_BYTES + count * record} bytes: the file has {len(data)}",
            bad,
        )
    return WthorHeader((100 * century + year, month, day), count, games_year, size, depth)


def to_bytes(games: Iterable[WthorGame], header: WthorHeader) -> bytes:
    """Return a ``.wtb`` file of ``games``; their number is put into the header.

    Raises `BadInput` for values that the format cannot express.
    """
    records = []
    for number, game in enumerate(games, 1):
        if len(game.moves) > 60:
            raise BadInput(f"game {number} has {len(game.moves)} moves: expected at most 60")
        names = (game.tournament, game.black, game.white)
        if not all(0 <= name < 1 << 16 for name in names):
            raise BadInput(f"game {number}: name number {max(names)}: expected at most 65535")
        if not (0 <= game.discs < 256 and 0 <= game.theoretical < 256):
            raise BadInput(f"game {number}: {game.discs} and {game.theoretical} discs: expected at most 255")
        codes = game.moves.translate(_CODES)
        records.append(_GAME.pack(*names, game.discs, game.theoretical, codes))
    return _header_bytes(header._replace(records=len(records))) + b"".join(records)


def _header_bytes(header: WthorHeader) -> bytes:
    year, month, day = header.made
    date = (year // 100, year % 100, month, day)
    return _HEADER.pack(*date, header.records, 0, header.year, header.size, 0, header.depth, 0)


def read_names(path: str, bad: Complain | None = None) -> list[str]:
    """Read the names of a ``.jou`` or ``.trn`` file; raises `BadInput` if it cannot be read or has another header.

    If the number of names differs from the header's, that is reported to ``bad`` and the complete names are read;
    without ``bad`` it raises `BadInput`.
    """
    width = _NAME_BYTES[path[-4:].lower()]
    data = content_of(path).whole()
    parse_header(data, path, width, "names", bad)
    starts = range(HEADER_BYTES, len(data) - width + 1, width)
    return [plain_name(data[start : start + width].split(b"\0", 1)[0].decode("latin-1")) for start in starts]


def names_to_bytes(names: list[str], made: tuple[int, int, int], width: int) -> bytes:
    """Return a file of names cut to ``width`` - 1 bytes, non-Latin-1 letters as ``?``; ``made`` is (year, month,
    day).
    """
    fields = [name.encode("latin-1", "replace")[: width - 1].ljust(width, b"\0") for name in names]
    return _header_bytes(WthorHeader(made, len(names))) + b"".join(fields)
