"""XOT: games that begin with eight moves from a list of even openings, which the user downloads.

The lists are by Matthias Berg and Borja Moreno: a line of the file is a line of play, after which Black is to move.
"""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position, parse_moves
from desdaemon.protocol.system import folders
from desdaemon.protocol.texts import decoded

# `pathlib` is slow to load.
# ruff: noqa: PTH111, PTH116, PTH118, PTH123

FILES = {"xot": "openingslarge.txt", "xot-small": "openingssmall.txt"}
"""The file in the data folder of each list."""

PLIES = 8
LARGEST_FILE = 1 << 20
"""Bytes of the largest list that is read: 60,000 lines."""

_SITE = "https://berg.earthlingz.de/xot/downloads/"
_EMPTIES = 60 - PLIES


class _XotList(NamedTuple):
    """The lines of a list, and their numbers, from 1, by the mask of the squares that a line occupies at its end."""

    lines: tuple[tuple[int, ...], ...]
    by_occupied: dict[int, list[int]]


def lines(name: str) -> tuple[tuple[int, ...], ...]:
    """Return the lines of play of the list ``name``, one of `FILES`, in order; raises `BadInput` if its file is missing
    or holds anything else.
    """
    return _list_named(name).lines


def numbered(positions: list[Position]) -> str:
    """Return ``XOT 17`` if one of a game's positions is the last position of line 17, mirrored or not; "" if none is
    the last of any line.

    ``XOT-small`` is used only for lines that the large list lacks, or if that list is missing.
    """
    for position in positions:
        if position.empties == _EMPTIES and position.black_to_move:
            for name in FILES:
                number = _number(name, position)
                if number:
                    return f"{name.replace('xot', 'XOT')} {number}"
    return ""


def _number(name: str, position: Position) -> int:
    """Return the number of the first line that leads to a position or an image of it; 0 if there is none or the list
    cannot be read.
    """
    try:
        listed = _list_named(name)
    except BadInput:
        return 0
    occupied = position.player | position.opponent
    images = {rules.transform(occupied, symmetry) for symmetry in range(8)}
    key = rules.canonical(position.player, position.opponent)
    for number in sorted(number for image in images for number in listed.by_occupied.get(image, ())):
        end = START
        try:
            for move in listed.lines[number - 1]:
                end = end.after(move)
        except rules.IllegalMove:
            continue
        if rules.canonical(end.player, end.opponent) == key:
            return number
    return 0


def _list_named(name: str) -> _XotList:
    path = os.path.join(folders.data(), FILES[name])
    try:
        described = os.stat(path)
    except OSError:
        home = os.path.expanduser("~")
        shown = f"~{path[len(home) :]}" if path.startswith(home + os.sep) else path
        raise BadInput(f"{name}: no such list: download {_SITE}{FILES[name]} to {shown}") from None
    if not stat.S_ISREG(described.st_mode) or described.st_size > LARGEST_FILE:
        raise BadInput(f"{name}: {quoted(FILES[name])}: expected a file of at most {LARGEST_FILE} bytes")
    return _read(name, path, described.st_mtime_ns, described.st_size)


@lru_cache(maxsize=len(FILES))
def _read(name: str, path: str, changed_ns: int, size: int) -> _XotList:
    """Read a list, and cache it until its time (``changed_ns``) or its ``size`` changes. Raises `BadInput` if it cannot
    be read, is empty, or has a line of other than `PLIES` moves.
    """
    try:
        with open(path, "rb") as file:
            text = decoded(file.read(LARGEST_FILE), FILES[name])
    except OSError as error:
        raise BadInput(f"{name}: {quoted(FILES[name])}: {error.strerror}") from None
    found: list[tuple[int, ...]] = []
    by_occupied: dict[int, list[int]] = {}
    for number, entry in enumerate(text.rstrip().splitlines(), 1):
        try:
            moves = tuple(parse_moves(entry))
        except BadInput as error:
            raise BadInput(f"{name}: {quoted(FILES[name])}: line {number}: {error}") from None
        if len(moves) != PLIES:
            raise BadInput(f"{name}: {quoted(FILES[name])}: line {number}: expected {PLIES} moves such as f5d6c3d3")
        found.append(moves)
        occupied = START.player | START.opponent
        for move in moves:
            occupied |= 1 << move
        by_occupied.setdefault(occupied, []).append(number)
    if not found:
        raise BadInput(f"{name}: {quoted(FILES[name])}: the file is empty: expected {PLIES} moves a line")
    return _XotList(tuple(found), by_occupied)
