"""Edax's binary game files, ``.edx``: its structures in memory on a 64-bit little-endian machine.

A game is 160 bytes: two boards (the side to move first) as 64-bit words, A1 = bit 0; the date; the names of Black and
White, 32 bytes each; 60 moves as squares 0..63; who moves first; a hash. Passes are not written.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import FileGame, replace_file, squares_played
from desdaemon.protocol.games.contents import Content
from desdaemon.protocol.games.formats import replayed
from desdaemon.protocol.games.records import Complain, GameRecord, complain, plain_name
from desdaemon.protocol.othello.notation import Position

GAME_BYTES = 160

_GAME = struct.Struct("<QQh5bx32s32s60sB3xQ")

_PASS, _NO_SQUARE = 64, 65


class EdxGame(NamedTuple):
    """A game: its moves as squares 0..63 without passes, and the date as six numbers from year to second."""

    initial: Position
    moves: bytes
    black: str
    white: str
    date: tuple[int, int, int, int, int, int]


def parse(data: bytes, name: str, bad: Complain | None = None) -> dict[int, EdxGame]:
    """Return the games of a file by number, from 1; ``name`` names the file in messages.

    A wrong game, or a part of one at the end, is left out with a message to ``bad``; without ``bad`` it raises
    `BadInput`.
    """
    if len(data) % GAME_BYTES:
        complain(f"{quoted(name)}: not a file of Edax's games: {len(data)} bytes, not a multiple of {GAME_BYTES}", bad)
    games = {}
    for number in range(1, len(data) // GAME_BYTES + 1):
        try:
            games[number] = _game(data, GAME_BYTES * (number - 1), name)
        except BadInput as error:
            complain(str(error), bad)
    return games


def _game(data: bytes, at: int, name: str) -> EdxGame:
    player, opponent, *fields = _GAME.unpack_from(data, at)
    year, month, day, hour, minute, second, black, white, moves, side, _ = fields
    where = f"{quoted(name)}: game {at // GAME_BYTES + 1}"
    if player & opponent:
        raise BadInput(f"{where}, offset {at}: two discs on a square: expected the two boards of a position")
    if side > 1:
        raise BadInput(f"{where}, offset {at + 148}: side {side}: expected 0 for Black or 1 for White")
    return EdxGame(
        Position(player, opponent, side == 0),
        _squares(moves, where, at + 88),
        _name(black),
        _name(white),
        (year, month, day, hour, minute, second),
    )


def _squares(moves: bytes, where: str, offset: int) -> bytes:
    end = next((index for index, move in enumerate(moves) if move >= _NO_SQUARE), len(moves))
    for index in range(end, len(moves)):
        if moves[index] < _NO_SQUARE:
            raise BadInput(
                f"{where}, offset {offset + index}: move {moves[index]} after the last: expected {_NO_SQUARE}"
            )
    return moves[:end].replace(bytes([_PASS]), b"")


def _name(field: bytes) -> str:
    return plain_name(field.split(b"\0", 1)[0].decode("utf-8", "replace"))


def recognise(head: bytes, size: int) -> bool:
    """Return whether a file without a name may be one of Edax's games: its size fits."""
    return size % GAME_BYTES == 0


def games(content: Content, bad: Complain | None) -> Iterator[FileGame]:
    """Yield the games of a file. Raises `BadInput`."""
    name = content.name
    for number, game in parse(content.whole(), name, bad).items():
        try:
            moves = replayed(game.initial, game.moves)
        except BadInput as error:
            complain(f"{quoted(name)}: game {number}, offset {GAME_BYTES * (number - 1)}: {error}", bad)
            continue
        year, month, day = game.date[:3]
        date = f"{year:04}-{month:02}-{day:02}" if 0 < year < 10000 and 0 < month < 13 and 0 < day < 32 else ""
        yield FileGame(GameRecord(game.initial, moves, game.black, game.white), number, "", date)


def write(path: str, games: Iterable[FileGame], old: bytes) -> int:
    """Write games behind those of ``old``. Returns how many; raises `BadInput`."""
    parse(old, path)
    added = [_bytes_of(game) for game in games]
    replace_file(path, old + b"".join(added))
    return len(added)


def _bytes_of(game: FileGame) -> bytes:
    year, month, day = ([int(part) for part in game.date.split("-") if part] + [0, 0, 0])[:3]
    record = game.record
    return to_bytes(
        EdxGame(record.initial, squares_played(record), record.black, record.white, (year, month, day, 0, 0, 0))
    )


def to_bytes(game: EdxGame) -> bytes:
    """Return a game in Edax's layout; raises `BadInput` over 60 moves. The hash is 0: it depends on Edax's build."""
    if len(game.moves) > 60:
        raise BadInput(f"{len(game.moves)} moves: expected at most 60")
    year, month, day, hour, minute, second = game.date
    return _GAME.pack(
        game.initial.player,
        game.initial.opponent,
        *(year, month, day, hour, minute, second),
        *(_name_bytes(name) for name in (game.black, game.white)),
        game.moves.ljust(60, bytes([_NO_SQUARE])),
        0 if game.initial.black_to_move else 1,
        0,
    )


def _name_bytes(name: str) -> bytes:
    """Return at most 31 bytes of a name in UTF-8, no letter cut in two."""
    return name.encode("utf-8", "replace")[:31].decode("utf-8", "ignore").encode()
