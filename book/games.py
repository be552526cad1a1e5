"""The games whose results a book has counted, so that each is counted only once and can be taken back."""

from __future__ import annotations

import hashlib
import itertools
import struct
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .chunks import Records

Games: TypeAlias = npt.NDArray[Any]
"""An array of `GAME` records."""

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
"""A game: a digest that identifies it, its start, its squares without passes (255 fills the rest), the final score in
discs for the first mover, whether it was learned from (`game_results.adjust`), and the name of its source.
"""

_MOST_MOVES, _LONGEST_SOURCE, _END = 62, 32, b"\xff"

NO_GAMES: Games = np.empty(0, GAME)


def identity(start: tuple[int, int], moves: bytes, about: str) -> bytes:
    """Return a digest that identifies a game by its start, its moves, and ``about``, such as its players' names."""
    told = about.encode(errors="backslashreplace")
    return hashlib.blake2b(struct.pack("<QQ", *start) + moves + _END + told, digest_size=16).digest()


def squares(moves: bytes) -> bytes:
    """Return ``moves``, a byte each, cut to 62 squares, without passes (byte 64) and the filling at the end (255)."""
    return moves.replace(b"\x40", b"")[:_MOST_MOVES].rstrip(_END)


def squares_of(positions: Sequence[tuple[int, int]]) -> bytes:
    """Return the squares played in a line, a byte each, without passes.

    ``positions`` are all its positions, those after passes too, each seen from its side to move.
    """
    boards = [player | opponent for player, opponent in positions]
    return bytes((second ^ first).bit_length() - 1 for first, second in itertools.pairwise(boards) if second != first)


def packed(known: bytes, start: tuple[int, int], moves: bytes, score: int, source: str, *, learned: bool) -> bytes:
    """Return the `GAME` record of a game whose `identity` is ``known``.

    ``start`` is the first position, seen from its side to move; ``moves`` are at most 62 squares, a byte each, without
    passes; ``score`` is in discs for the first mover; ``source`` names the game's origin. ``learned`` marks a game
    whose line was made less attractive to its loser.
    """
    return _GAME.pack(known, *start, moves.ljust(_MOST_MOVES, _END), score, learned, source_name(source))


def unpacked(records: bytes) -> Games:
    """Return the games in ``records``: `packed` records, one after the other."""
    return np.frombuffer(records, GAME)


def moves_of(games: Games) -> list[bytes]:
    """Return the squares of each game, without passes and filling."""
    return [moves.rstrip(_END) for moves in games["moves"].tolist()]


def played(games: Games) -> Games:
    """Return ``games`` without the entries that stand for results of no game: `COUNTS_WITHOUT_GAMES` and those of
    `results_merged`.
    """
    some: Games = games[(games["player"] | games["opponent"]) != 0]
    return some


def results_merged(keys: Records, results: Records) -> Games:
    """Return the entry that says that ``results`` without games, a `RESULT` record for each of the canonical positions
    ``keys``, were added: another for each content, whatever its order.
    """
    order = np.lexsort((keys["opponent"], keys["player"]))
    content = b"".join(each[order].tobytes() for each in (keys["player"], keys["opponent"], results))
    mark = hashlib.blake2b(content, digest_size=16).digest()
    return unpacked(packed(mark, (0, 0), b"", 0, "", learned=False))


def source_name(source: str) -> bytes:
    """Return a source's name as `GAME` has it: of a long name only the last 32 bytes."""
    # A file's name need not be UTF-8.
    return source.encode(errors="backslashreplace")[-_LONGEST_SOURCE:]


COUNTS_WITHOUT_GAMES: Games = unpacked(packed(bytes(16), (0, 0), b"", 0, "", learned=False))
"""Stands among a book's games to say that some results were counted without games."""


def new_games(games: Games, *before: Games) -> Games:
    """Return those of ``games`` whose `identity` no game in ``before`` has; of games with the same identity the
    first.
    """
    seen = {mark for each in before for mark in each["identity"].tolist()}
    fresh = []
    for place, mark in enumerate(games["identity"].tolist()):
        if mark not in seen:
            seen.add(mark)
            fresh.append(place)
    return games[fresh]


def without(games: Games, gone: Iterable[bytes]) -> Games:
    """Return ``games`` without those whose identity is in ``gone``."""
    identities = set(gone)
    return games[[each not in identities for each in games["identity"].tolist()]]


def sources(games: Games) -> dict[str, int]:
    """Return the number of games from each source, by the source's name."""
    names, numbers = np.unique(played(games)["source"], return_counts=True)
    return {name.decode(errors="ignore"): number for name, number in zip(names.tolist(), numbers.tolist(), strict=True)}
