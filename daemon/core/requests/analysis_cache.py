"""The cache of analyses: lines of searches by position, shared by all clients, bounded, kept in a file over restarts.

One entry serves the eight mirror images of a position. The file ends with a checksum; a damaged file, or one made with
other weights, is discarded.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import zlib
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING

from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.system.files import PRIVATE, replacing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from desdaemon.engine.result import Line

_MAGIC = b"desdaemon analyses 1\n"
_KEY = struct.Struct("<QQ")
_LINE = struct.Struct("<bbbbBBQdBB")
_TURNED = tuple(bytes(rules.transform_move(move, symmetry) for move in range(256)) for symmetry in range(8))
"""For each symmetry, a table for `bytes.translate` that maps a move's byte to its image."""
_OVERHEAD = 200
"""Approximate bytes of an entry besides its content."""
_BLOCK = 1000
"""Entries written at a time."""


class AnalysisCache:
    """Lines of searches by canonical position. Every method may be called from any thread."""

    def __init__(self, largest: int, origin: str = "") -> None:
        """``largest`` is the most bytes to keep; ``origin`` names the weights that the scores come from."""
        self._largest = largest
        self._origin = blake2b(origin.encode(), digest_size=16).digest()
        self._entries: OrderedDict[bytes, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()
        self._saving = threading.Lock()
        self._path = ""
        self.changed = False

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, player: int, opponent: int, lines: tuple[Line, ...]) -> None:
        """Store the best lines of a position unless the present entry is at least as good."""
        player, opponent, symmetry = rules.canonical_with_symmetry(player, opponent)
        content = _packed(lines, symmetry)
        key = _KEY.pack(player, opponent)
        with self._lock:
            before = self._entries.pop(key, b"")
            if before and _worth(before) > _worth(content):
                content = before
            else:
                self.changed = True
            self._size += len(content) - len(before) + (0 if before else _OVERHEAD)
            self._entries[key] = content
            self._shrink()

    def _shrink(self) -> None:
        """Drop the entries that were not used for the longest time, until the rest fits."""
        while self._size > self._largest and self._entries:
            _, dropped = self._entries.popitem(last=False)
            self._size -= len(dropped) + _OVERHEAD

    def get(
        self, player: int, opponent: int, number: int, depth: int, selectivity: Selectivity
    ) -> tuple[Line, ...] | None:
        """Return at least ``number`` lines of a position, of at least this depth and selectivity; None without such an
        entry.

        The moves are those of the board given. There are fewer lines only if the position has no more moves.
        """
        own, other, symmetry = rules.canonical_with_symmetry(player, opponent)
        key = _KEY.pack(own, other)
        with self._lock:
            content = self._entries.get(key)
            if content is None:
                return None
            self._entries.move_to_end(key)
        empties = rules.empties(player, opponent)
        number = min(number, max(1, rules.legal_moves(player, opponent).bit_count()))
        lines = tuple(_unpacked(content, rules.INVERSE_SYMMETRY[symmetry], empties))[:number]
        fits = len(lines) >= number and all(
            line.lower == line.upper and line.depth >= min(depth, empties) and line.selectivity >= selectivity
            for line in lines
        )
        return lines if fits else None

    def clear(self) -> int:
        """Remove all entries and the file that was loaded or saved. Returns the number of entries; raises `OSError`."""
        with self._saving:
            with self._lock:
                number = len(self._entries)
                self._entries.clear()
                self._size = 0
                self.changed = False
            if self._path:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path)  # noqa: PTH108
        return number

    # The file

    def save(self, path: str) -> None:
        """Write all entries; one caller at a time. Raises `OSError`, leaving the old file."""
        with self._saving:
            self._path = path
            self._save(path)

    def _save(self, path: str) -> None:
        # Block by block: whole, it would take as much memory again, and leave holes where it was.
        with self._lock:
            keys = list(self._entries)
            self.changed = False
        digest = blake2b(digest_size=16)
        squeeze = zlib.compressobj(1)
        try:
            with replacing(path, mode=PRIVATE) as file:

                def write(data: bytes) -> None:
                    digest.update(data)
                    file.write(data)

                write(_MAGIC + self._origin)
                for at in range(0, len(keys), _BLOCK):
                    write(squeeze.compress(self._block(keys[at : at + _BLOCK])))
                write(squeeze.flush())
                file.write(digest.digest())
        except OSError:
            self.changed = True
            raise

    def _block(self, keys: list[bytes]) -> bytes:
        """Return the entries of these keys in the file's form, without those evicted since the keys were listed."""
        with self._lock:
            found = [(key, self._entries[key]) for key in keys if key in self._entries]
        return b"".join(struct.pack("<H", len(content)) + key + content for key, content in found)

    def load(self, path: str) -> str:
        """Add the entries of a file; a missing one is empty. Returns the reason why it cannot be used, or ""."""
        self._path = path
        try:
            with open(path, "rb") as file:  # noqa: PTH123
                data = file.read(4 * self._largest + 4096)
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"{path}: {error.strerror}"
        head = len(_MAGIC) + 16
        if not data.startswith(_MAGIC) or blake2b(data[:-16], digest_size=16).digest() != data[-16:]:
            return f"{path}: damaged: expected what this program writes; it is begun again"
        if data[len(_MAGIC) : head] != self._origin:
            return f"{path}: made with other weights: it is begun again"
        body = zlib.decompress(data[head:-16])
        at = 0
        while at < len(body):
            (length,) = struct.unpack_from("<H", body, at)
            key, content = body[at + 2 : at + 18], body[at + 18 : at + 18 + length]
            at += 18 + length
            self._entries[key] = content
            self._size += length + _OVERHEAD
        self._shrink()
        return ""


def _worth(content: bytes) -> tuple[bool, int, int, int]:
    """Return the sort key that ranks two entries of a position: exact first, then depth, selectivity, lines."""
    lines = list(_unpacked(content, 0, 0))
    depth = min(line.depth for line in lines)
    percent = min(line.selectivity for line in lines)
    return percent == 100, depth, percent, len(lines)


def _packed(lines: tuple[Line, ...], symmetry: int) -> bytes:
    parts = []
    for line in lines:
        turned = _TURNED[symmetry]
        moves = bytes(line.pv[:60]).translate(turned)
        numbers = line.score, line.lower, line.upper, line.depth, line.selectivity, line.nodes, line.time_ms
        parts.append(_LINE.pack(turned[line.move], *numbers, line.empties, len(moves)) + moves)
    return b"".join(parts)


def _unpacked(content: bytes, symmetry: int, empties: int) -> Iterator[Line]:
    from desdaemon.engine.result import Line

    turned = _TURNED[symmetry]
    at = 0
    while at < len(content):
        move, score, lower, upper, depth, percent, nodes, ms, left, length = _LINE.unpack_from(content, at)
        at += _LINE.size
        pv = tuple(content[at : at + length].translate(turned))
        at += length
        yield Line(
            turned[move],
            score,
            lower,
            upper,
            depth,
            Selectivity(percent),
            pv,
            nodes,
            ms,
            empties or left,
        )
