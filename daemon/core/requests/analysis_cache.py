"""The cache of analyses: lines of searches by position, shared by all clients and kept in a file over restarts.

One entry serves the eight mirror images of a position. A file is discarded if its checksum shows damage, or if it was
made with other weights. Whoever writes one can make the checksum fit: an entry of a file is checked when it is first
asked for, and forgotten if it cannot be an answer.
"""

from __future__ import annotations

import contextlib
import math
import os
import struct
import threading
import zlib
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING

from desdaemon.engine.result import Line
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.selectivity import SELECTIVITIES, Selectivity
from desdaemon.protocol.system.files import PRIVATE, replacing

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = b"desdaemon analyses 1\n"
_KEY = struct.Struct("<QQ")
_LINE = struct.Struct("<bbbbBBQdBB")
_PERCENTAGES = frozenset(map(int, SELECTIVITIES))
_OVERHEAD = 200
"""Estimated bytes of memory that an entry takes besides its content."""
_BLOCK = 1000
"""Entries that are compressed at a time when the file is written."""

Canonical = tuple[int, int, int]
"""What `rules.canonical_with_symmetry` returns of a position: lines are of the board that the symmetry maps to the
canonical one.
"""


class AnalysisCache:
    """The best lines of positions. Any thread may call the methods, but `load` only before all others."""

    def __init__(self, largest: int, origin: str = "") -> None:
        """Keep at most ``largest`` bytes, as estimated. ``origin`` names the weights that the scores come from."""
        self._largest = largest
        self._origin = blake2b(origin.encode(), digest_size=16).digest()
        self._entries: OrderedDict[bytes, bytes] = OrderedDict()
        self._unchecked: set[bytes] = set()
        """The keys of entries from the file that nobody has asked for."""
        self._size = 0
        self._lock = threading.Lock()
        self._saving = threading.Lock()
        self._path = ""
        self.changed = False

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, canonical: Canonical, lines: tuple[Line, ...]) -> None:
        """Store a position's best lines, the best first, unless those in the cache are worth more (`_worth`). May evict
        the entries unused for longest.
        """
        player, opponent, symmetry = canonical
        content = _packed(lines, symmetry)
        key = _KEY.pack(player, opponent)
        with self._lock:
            old = self._entries.pop(key, b"")
            if old and _worth(old) > _worth(content):
                content = old
            else:
                self._unchecked.discard(key)
                self.changed = True
            self._size += len(content) - len(old) + (0 if old else _OVERHEAD)
            self._entries[key] = content
            self._shrink()

    def _shrink(self) -> None:
        """Evict the entries unused for longest until the rest fits."""
        while self._size > self._largest and self._entries:
            key, dropped = self._entries.popitem(last=False)
            self._unchecked.discard(key)
            self._size -= len(dropped) + _OVERHEAD

    def get(self, canonical: Canonical, number: int, depth: int, selectivity: Selectivity) -> tuple[Line, ...] | None:
        """Return the best ``number`` lines of a position, with moves as on this board; fewer only if it has fewer
        moves.

        Returns None if the cache has fewer lines, or if one of them is not good enough: its score is only a bound, its
        depth is below ``depth`` plies and does not reach the end of the game, or its selectivity is below
        ``selectivity``.
        """
        player, opponent, symmetry = canonical
        key = _KEY.pack(player, opponent)
        with self._lock:
            content = self._entries.get(key)
            if content is None:
                return None
            self._entries.move_to_end(key)
            unchecked = key in self._unchecked
        if unchecked and not self._check(key, content):
            return None
        empties = rules.empties(player, opponent)
        if number > 1:
            number = min(number, max(1, rules.legal_moves(player, opponent).bit_count()))
        lines = tuple(_unpacked(content, rules.INVERSE_SYMMETRY[symmetry], empties))[:number]
        fits = len(lines) >= number and all(
            line.lower == line.upper and line.depth >= min(depth, empties) and line.selectivity >= selectivity
            for line in lines
        )
        return lines if fits else None

    def _check(self, key: bytes, content: bytes) -> bool:
        """Return whether an entry of the file can be an answer, which is not asked again; forget it if not."""
        right = _can_be(tuple(_unpacked(content, 0, 0)), *_KEY.unpack(key))
        with self._lock:
            # A search may have replaced it meanwhile.
            if self._entries.get(key) is content:
                self._unchecked.discard(key)
                if not right:
                    del self._entries[key]
                    self._size -= len(content) + _OVERHEAD
        return right

    def clear(self) -> int:
        """Remove all entries and their file. Returns the number of entries. Raises `OSError` if the file stays."""
        with self._saving:
            with self._lock:
                number = len(self._entries)
                self._entries.clear()
                self._unchecked.clear()
                self._size = 0
                self.changed = False
            if self._path:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path)  # noqa: PTH108
        return number

    # The file

    def save(self, path: str) -> None:
        """Write all entries to ``path``; a later `clear` deletes that file. Raises `OSError`, and the old file then
        stays. Calls from several threads run one after another.
        """
        with self._saving:
            self._path = path
            self._save(path)

    def _save(self, path: str) -> None:
        # In blocks: one copy of all would double the memory, and leave holes in it.
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
                for first in range(0, len(keys), _BLOCK):
                    write(squeeze.compress(self._block(keys[first : first + _BLOCK])))
                write(squeeze.flush())
                file.write(digest.digest())
        except OSError:
            self.changed = True
            raise

    def _block(self, keys: list[bytes]) -> bytes:
        """Return the entries of these keys as the file has them; keys evicted meanwhile are skipped."""
        with self._lock:
            entries = [(key, self._entries[key]) for key in keys if key in self._entries]
        return b"".join(struct.pack("<H", len(content)) + key + content for key, content in entries)

    def load(self, path: str) -> str:
        """Add the entries of the file ``path``; a later `clear` deletes it. Returns the reason why the file is not
        used; "" if it is used, or missing.
        """
        self._path = path
        try:
            with open(path, "rb") as file:  # noqa: PTH123
                data = file.read(self._most)
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"{path}: {error.strerror}"
        head, view = len(_MAGIC) + 16, memoryview(data)
        if not data.startswith(_MAGIC) or blake2b(view[:-16], digest_size=16).digest() != data[-16:]:
            return f"{path}: damaged: begun again"
        if data[len(_MAGIC) : head] != self._origin:
            return f"{path}: made with other weights: begun again"
        unpacker = zlib.decompressobj()
        try:
            # Whoever wrote the digest may have packed anything.
            body = unpacker.decompress(view[head:-16], self._most)
            whole = unpacker.eof and self._take(body)
        except zlib.error:
            whole = False
        if not whole:
            self._entries.clear()
            self._unchecked.clear()
            self._size = 0
            return f"{path}: damaged: begun again"
        return ""

    def _take(self, body: bytes) -> bool:
        """Add the entries of a file, the last ones last. Returns whether all of them are entries, and no more than the
        largest cache keeps whose file is read.
        """
        offset = taken = 0
        while offset < len(body) and taken <= self._most:
            end = offset + 18 + int.from_bytes(body[offset : offset + 2], "little")
            key, content = body[offset + 2 : offset + 18], body[offset + 18 : end]
            if end > len(body) or not _is_entry(content):
                return False
            old = self._entries.pop(key, None)
            self._size += len(content) + _OVERHEAD - (0 if old is None else len(old) + _OVERHEAD)
            self._entries[key] = content
            self._unchecked.add(key)
            self._shrink()
            taken += len(content) + _OVERHEAD
            offset = end
        return taken <= self._most

    @property
    def _most(self) -> int:
        """Most bytes of the file, packed or not, and of its entries in memory: it may be one of a larger cache."""
        return 4 * self._largest + 4096


def _is_entry(content: bytes) -> bool:
    """Return whether this is what `_packed` may have returned."""
    offset, end = 0, len(content)
    while offset + _LINE.size <= end:
        move, _, _, _, _, percent, _, _, _, length = _LINE.unpack_from(content, offset)
        if not 0 <= move <= rules.PASS or percent not in _PERCENTAGES:
            return False
        offset += _LINE.size + length
    return offset == end > 0


def _can_be(lines: tuple[Line, ...], player: int, opponent: int) -> bool:
    """Return whether a search of this position may have given these lines: scores of the game, moves by the rules."""
    try:
        for line in lines:
            board = player, opponent
            for move in line.pv:
                board = rules.play(*board, move)
    except rules.IllegalMove:
        return False
    return len({line.move for line in lines}) == len(lines) and all(
        line.pv[:1] == (line.move,)
        and -64 <= line.lower <= line.score <= line.upper <= 64
        and line.depth <= 60
        and 0 <= line.time_ms < math.inf
        for line in lines
    )


def _worth(content: bytes) -> tuple[bool, int, int, int]:
    """Return the worth of an entry as a sort key: whether the selectivity is 100 %, depth, selectivity (both of the
    worst line), number of lines.
    """
    lines = list(_unpacked(content, 0, 0))
    depth = min(line.depth for line in lines)
    percent = min(line.selectivity for line in lines)
    return percent == 100, depth, percent, len(lines)


def _packed(lines: tuple[Line, ...], symmetry: int) -> bytes:
    turned = rules.move_images(symmetry)
    parts = []
    for line in lines:
        moves = bytes(line.pv[:60]).translate(turned)
        numbers = line.score, line.lower, line.upper, line.depth, line.selectivity, line.nodes, line.time_ms
        parts.append(_LINE.pack(turned[line.move], *numbers, line.empties, len(moves)) + moves)
    return b"".join(parts)


def _unpacked(content: bytes, symmetry: int, empties: int) -> Iterator[Line]:
    turned = rules.move_images(symmetry)
    offset = 0
    while offset < len(content):
        move, score, lower, upper, depth, percent, nodes, ms, left, length = _LINE.unpack_from(content, offset)
        offset += _LINE.size
        pv = tuple(content[offset : offset + length].translate(turned))
        offset += length
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
