"""The games whose results a book has counted. They are kept, so that each is counted once and can be taken back."""

from __future__ import annotations

import hashlib
import itertools
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Games = npt.NDArray[Any]
"""`GAME` records."""

_GAME = struct.Struct("<16sQQ62sbB32s")

GAME = np.dtype(
    [
        ("identity", "V16"),
        ("player", "<u8"),
        ("opponent", "<u8"),
        ("moves", "V62"),
        ("score", "i1"),
        ("learned", "u1"),
        ("source", "S32"),
    ]
)
"""A game: its start position, its squares without passes (255 fills the rest), the final score in discs for the side to
move at the start, whether its line was made less attractive to its loser, and the name of its source.
"""

_MOST_MOVES, _LONGEST_SOURCE, _END = 62, 32, b"\xff"

NO_GAMES: Games = np.empty(0, GAME)


def identity(start: tuple[int, int], moves: bytes, about: str) -> bytes:
    """Return a digest that identifies a game: of its start, its moves, and ``about``, such as the players' names."""
    return hashlib.blake2b(struct.pack("<QQ", *start) + moves + _END + about.encode(), digest_size=16).digest()


def squares(moves: bytes) -> bytes:
    """Return the moves of a game in the form of `GAME`, without the filling at the end."""
    return moves.replace(b"\x40", b"")[:_MOST_MOVES].rstrip(_END)


def squares_of(positions: Sequence[tuple[int, int]]) -> bytes:
    """Return the squares played in a line of positions, passes included."""
    boards = [player | opponent for player, opponent in positions]
    return bytes((after ^ before).bit_length() - 1 for before, after in itertools.pairwise(boards) if after != before)


def packed(known: bytes, start: tuple[int, int], moves: bytes, score: int, source: str, *, learned: bool) -> bytes:
    """Return a `GAME` record of the identity ``known``."""
    return _GAME.pack(known, *start, moves.ljust(_MOST_MOVES, _END), score, learned, source_name(source))


def unpacked(records: bytes) -> Games:
    """Games from `packed` records, one after another."""
    return np.frombuffer(records, GAME)


def moves_of(games: Games) -> list[bytes]:
    """Return the squares of each game."""
    return [moves.rstrip(_END) for moves in games["moves"].tolist()]


def source_name(source: str) -> bytes:
    """Return the name of a source as `GAME` stores it; a long one loses its beginning."""
    return source.encode()[-_LONGEST_SOURCE:]


COUNTS_WITHOUT_GAMES: Games = unpacked(packed(bytes(16), (0, 0), b"", 0, "", learned=False))
"""A mark among a book's games: some results were counted before games were kept, or came from a book without games."""


def new_games(games: Games, *before: Games) -> Games:
    """Return the games that are not in ``before``; of equal games the first."""
    seen = {known for each in before for known in each["identity"].tolist()}
    fresh = []
    for place, known in enumerate(games["identity"].tolist()):
        if known not in seen:
            seen.add(known)
            fresh.append(place)
    return games[fresh]


def without(games: Games, gone: Iterable[bytes]) -> Games:
    """Return ``games`` without those whose identity is in ``gone``."""
    identities = set(gone)
    return games[[known not in identities for known in games["identity"].tolist()]]


def sources(games: Games) -> dict[str, int]:
    """Return the number of games of each source, by name."""
    names, numbers = np.unique(without(games, COUNTS_WITHOUT_GAMES["identity"].tolist())["source"], return_counts=True)
    return {name.decode(errors="ignore"): number for name, number in zip(names.tolist(), numbers.tolist(), strict=True)}
