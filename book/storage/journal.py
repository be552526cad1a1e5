"""The journal: the changes of a book since its file was written, in checksummed frames.

A frame is a header (length of the payload, kind, sequence number, CRC-32 chained over all earlier frames) and a payload
of fixed-size records. A crash can only cut off the last frames: the frames before are replayed, and the torn end is
moved to another file. Grouped frames are read all or none. A damaged frame with intact frames after it is refused.
"""

from __future__ import annotations

import enum
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from desdaemon.book.errors import Unreadable, WriteFailed
from desdaemon.book.games import GAME
from desdaemon.book.memory.files import content
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.protocol.system import platform
from desdaemon.protocol.system.files import replace

MAGIC = b"DESJRNL\n"
VERSION = 3
READABLE = (1, 2, 3)
"""Versions that can be read. Version 1 had no groups of frames, versions 1 and 2 no games."""

HEADER = struct.Struct("<8sIIQQ")
FRAME = struct.Struct("<IIQII")
MAX_PAYLOAD = 1 << 26
MOST_ENTRIES = 1 << 63
"""Sequence numbers of entries are below this."""

OTHERS = "has changes of another process, which no lock kept out: save this book under another name"
"""What is said of a journal that two processes write, as they can where locks hold nothing."""

_NUMBER_AT = 8
_LOOKED_FOR = 8
"""Number of sequence numbers, next after a damaged frame's, that are searched for."""
_CLAIMED = 16


class FrameKind(enum.IntEnum):
    """The kind of change that a frame records."""

    STATES = 1
    """`record.STATE` records: the new data of these positions."""

    REMOVED = 2
    """Pairs of 64-bit words, discs of the side to move and of the other side: removed positions."""

    FIXED = 3
    """No content: scores, bounds and counts were recomputed from the leaves."""

    OPTIONS = 4
    """Six 32-bit numbers: the fields of `BookOptions`."""

    SEARCHED = 5
    """Searches whose results are not in a position yet: player, opponent, excluded moves (64 bits each), level, move,
    score (a signed byte each), five zero bytes.
    """

    FORGOTTEN = 6
    """No content: the results of earlier SEARCHED entries are no longer needed."""

    STEPS = 7
    """Two 64-bit numbers: a schedule's digest, and the number of its finished steps; 0 when all are finished."""

    COMMAND = 9
    """Text of a command; the entries up to the next COMMAND are its changes."""

    TOGETHER = 8
    """A 64-bit number: that many following frames count all or none."""

    COUNTED = 10
    """`games.GAME` records whose results were counted."""

    TAKEN_BACK = 11
    """`games.GAME` records whose results were taken back."""

    OVER = 12
    """The first entry of an overlay, the book below it: a mark of 16 bytes, the level of its scores (a byte), path."""


_RECORD_BYTES = {
    FrameKind.STATES: 80,
    FrameKind.REMOVED: 16,
    FrameKind.FIXED: 0,
    FrameKind.OPTIONS: 24,
    FrameKind.SEARCHED: 32,
    FrameKind.FORGOTTEN: 0,
    FrameKind.STEPS: 16,
    FrameKind.TOGETHER: 8,
    FrameKind.COMMAND: 1,
    FrameKind.COUNTED: GAME.itemsize,
    FrameKind.TAKEN_BACK: GAME.itemsize,
    FrameKind.OVER: 1,
}


class Frame(NamedTuple):
    """An entry of the journal: its sequence number, kind and payload."""

    sequence: int
    kind: FrameKind
    payload: bytes


class Scan(NamedTuple):
    """The content of a journal.

    ``book`` is the identity of the book's file, ``base`` the sequence number before the first of the ``frames``,
    ``checksum`` that of the last frame. ``end`` is the byte after the frames; the ``torn`` bytes from there on are what
    a crash cut short.
    """

    book: int
    base: int
    frames: list[Frame]
    end: int
    torn: int
    checksum: int

    def after(self, sequence: int) -> list[Frame]:
        """Return the frames whose sequence numbers are above ``sequence``."""
        return [frame for frame in self.frames if frame.sequence > sequence]


def _header(book: int, base: int, version: int = VERSION) -> bytes:
    body = HEADER.pack(MAGIC, version, 0, book, base)
    return HEADER.pack(MAGIC, version, zlib.crc32(body), book, base)


def _checksum(length: int, kind: int, sequence: int, payload: bytes, previous: int) -> int:
    return zlib.crc32(payload, zlib.crc32(struct.pack("<IIQ", length, kind, sequence), previous))


def _end(data: bytes, at: int, sequence: int) -> int:
    """Return the byte of ``data`` after the frame that begins at byte ``at``; 0 if frame number ``sequence`` cannot
    begin there. Only the header is checked.
    """
    if not 0 <= at <= len(data) - FRAME.size:
        return 0
    length, kind, number, _, reserved = FRAME.unpack_from(data, at)
    end: int = at + FRAME.size + length
    return end if number == sequence and not reserved and kind in _RECORD_BYTES and end <= len(data) else 0


def _matches(data: bytes, at: int, end: int, previous: int) -> bool:
    """Return whether the frame from byte ``at`` to ``end`` - 1 matches its checksum, which is chained to that of the
    frame before it, ``previous``.
    """
    length, kind, number, stored, _ = FRAME.unpack_from(data, at)
    return bool(stored == _checksum(length, kind, number, data[at + FRAME.size : end], previous))


def _later_frames(data: bytes, at: int, sequence: int, checksums: tuple[int, int]) -> Iterator[tuple[int, int, int]]:
    """Yield places where a frame may begin after the damaged frame number ``sequence`` at byte ``at``: the byte in
    ``data``, the frame's number, and the checksum of the frame before it, to which its own is chained.

    For the next frame both ``checksums`` of the damaged one, stored and computed, are tried: either may be right.
    """
    for later in range(sequence + 1, sequence + 1 + _LOOKED_FOR):
        number = struct.pack("<Q", later)
        place = data.find(number, at + 1)
        while place >= 0:
            frame = place - _NUMBER_AT
            if later == sequence + 1:
                yield from ((frame, later, checksum) for checksum in checksums)
            elif frame >= 0 and frame + FRAME.size <= len(data):
                length, _, _, checksum, _ = FRAME.unpack_from(data, frame)
                yield frame + FRAME.size + length, later + 1, checksum
            place = data.find(number, place + 1)


def _followed(data: bytes, at: int, sequence: int, previous: int) -> bool:
    """Return whether an intact frame follows the damaged frame number ``sequence`` at byte ``at``; ``previous`` is the
    checksum before it.

    To bound the work, it also returns True once it would compute checksums over more than `_CLAIMED` times the
    journal's bytes: no writer leaves frames that overlap so much.
    """
    length, kind, _, stored, _ = FRAME.unpack_from(data, at)
    own = _checksum(length, kind, sequence, data[at + FRAME.size : at + FRAME.size + length], previous)
    left = _CLAIMED * len(data)
    for here, number, checksum in _later_frames(data, at, sequence, (stored, own)):
        end = _end(data, here, number)
        if not end:
            continue
        left -= end - here
        if left < 0 or _matches(data, here, end, checksum):
            return True
    return False


def scan(path: Path, data: bytes, *, salvage: bool = False, progress: ProgressCallback = no_progress) -> Scan:
    """Return the content of the journal in ``data``; ``path`` is only for messages.

    Raises `Unreadable` for any damage but a torn end, which includes an incomplete last group. With ``salvage``
    everything from the first entry with a wrong checksum on counts as the torn end.
    """
    if len(data) < HEADER.size:
        raise Unreadable(path, len(data), f"the file ends inside the header of {HEADER.size} bytes")
    magic, version, _, book, base = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise Unreadable(path, 0, f"not a book's journal: begins with {magic!r}, not {MAGIC!r}")
    if version not in READABLE:
        raise Unreadable(path, 8, f"a journal of version {version}; only versions 1 to {VERSION} can be read")
    if data[: HEADER.size] != _header(book, base, version):
        raise Unreadable(path, 12, "the header's checksum is wrong")
    if base >= MOST_ENTRIES:
        raise Unreadable(path, 24, f"begins after entry {base}, more than there can be")
    frames: list[Frame] = []
    at, checksum = HEADER.size, zlib.crc32(data[: HEADER.size])
    group, following = (0, at, checksum), 0
    while at + FRAME.size <= len(data):
        expected = base + len(frames) + 1
        end = _end(data, at, expected)
        if not end or not _matches(data, at, end, checksum):
            if not salvage and _followed(data, at, expected, checksum):
                raise Unreadable(path, at, f"entry {expected} is damaged, and later ones follow it")
            break
        length, kind, sequence, stored, _ = FRAME.unpack_from(data, at)
        payload = data[at + FRAME.size : end]
        size = _RECORD_BYTES[FrameKind(kind)]
        one = kind in (FrameKind.OPTIONS, FrameKind.STEPS, FrameKind.TOGETHER)
        if length != size if one or not size else length % size:
            raise Unreadable(path, at, f"entry {sequence} of kind {kind} has {length} bytes, not {size} for each")
        if following:
            following -= 1
        elif kind == FrameKind.TOGETHER:
            group, following = (len(frames), at, checksum), int.from_bytes(payload, "little")
        frames.append(Frame(sequence, FrameKind(kind), payload))
        checksum = stored
        at = end
        progress("journal", at, len(data))
    if following:
        del frames[group[0] :]
        _, at, checksum = group
    return Scan(book, base, frames, at, len(data) - at, checksum)


def read(path: Path, progress: ProgressCallback = no_progress) -> Scan:
    """Return the content of a journal file. Raises `Unreadable`, as `scan` does or if the file cannot be read."""
    return scan(path, content(path, progress).tobytes(), progress=progress)


def set_aside(path: Path, torn_scan: Scan) -> Path:
    """Copy the torn end of a journal to a new file beside it, then cut it off; return the copy's path.

    Raises `WriteFailed` if the disk refuses.
    """
    number = 1
    while (aside := path.with_name(f"{path.name}.torn-{number}")).exists():
        number += 1
    try:
        content = path.read_bytes()
        replace(aside, content[torn_scan.end :])
        with os.fdopen(platform.open_file(path, os.O_RDWR), "r+b") as stream:
            stream.truncate(torn_scan.end)
            platform.sync(stream.fileno())
    except OSError as error:
        raise WriteFailed(f"{path}: {error.strerror}") from error
    return aside


def write(path: Path, book: int, base: int, frames: Sequence[Frame] = ()) -> None:
    """Replace the journal by one with the kinds and payloads of ``frames``, numbered from ``base`` + 1.

    ``book`` is the identity of the book's file, ``base`` the number of the last entry that this file includes. Raises
    `WriteFailed`.
    """
    data = bytearray(_header(book, base))
    checksum = zlib.crc32(data)
    for sequence, (_, kind, payload) in enumerate(frames, base + 1):
        checksum = _checksum(len(payload), kind, sequence, payload, checksum)
        data += FRAME.pack(len(payload), kind, sequence, checksum, 0) + payload
    try:
        replace(path, bytes(data))
    except OSError as error:
        raise WriteFailed(f"{path}: {error.strerror}") from error


class Writer:
    """Appends frames to a journal: `append` holds them in memory, `collect` hands them to the next `write`, which puts
    them on the disk.

    Frames that could not be written are all written again by the next `write`. The caller must hold the recorder's lock
    for `append` and `collect`, and call `write` from one thread at a time. Raises `WriteFailed` if the file cannot be
    opened.
    """

    def __init__(self, path: Path, found: Scan) -> None:
        self.path = path
        self.sequence = found.base + len(found.frames)
        self._checksum = found.checksum
        self._pending = bytearray()
        """Frames that `collect` has not handed over."""
        self._group: list[tuple[FrameKind, bytes]] | None = None
        """Entries of the open group, not yet frames; None outside a group."""
        self._unwritten = b""
        """Frames for the next `write`, those of a failed one included."""
        self._failed = False
        """Whether the last write failed and may have left a part behind byte `size`."""
        self.size = found.end
        try:
            self._handle = platform.open_file(path, os.O_WRONLY)
        except OSError as error:
            raise WriteFailed(f"{path}: {error.strerror}") from error

    def append(self, kind: FrameKind, payload: bytes) -> None:
        """Add an entry; the caller must hold the recorder's lock. A payload over `MAX_PAYLOAD` bytes becomes several
        frames that are read all or none.
        """
        size = _RECORD_BYTES[kind] or 1
        step = MAX_PAYLOAD // size * size
        parts = [(kind, payload[start : start + step]) for start in range(0, max(len(payload), 1), step)]
        if self._group is not None:
            self._group += parts
        elif len(parts) > 1:
            self._append_together(parts)
        else:
            self._append(*parts[0])

    def _append(self, kind: FrameKind, part: bytes) -> None:
        self.sequence += 1
        self._checksum = _checksum(len(part), kind, self.sequence, part, self._checksum)
        self._pending += FRAME.pack(len(part), kind, self.sequence, self._checksum, 0)
        self._pending += part

    def _append_together(self, parts: list[tuple[FrameKind, bytes]]) -> None:
        if len(parts) > 1:
            self._append(FrameKind.TOGETHER, struct.pack("<Q", len(parts)))
        for kind, part in parts:
            self._append(kind, part)

    def begin_group(self) -> None:
        """Begin a group: the frames until `end_group` are read all or none. The caller holds the recorder's lock."""
        self._group = []

    def end_group(self) -> None:
        parts, self._group = self._group or [], None
        self._append_together(parts)

    def collect(self) -> None:
        """Let the next `write` write everything appended so far. The caller must hold the recorder's lock."""
        self._unwritten += bytes(self._pending)
        self._pending.clear()

    @property
    def waiting(self) -> bool:
        """Whether `write` has something to write."""
        return bool(self._unwritten)

    def write(self) -> None:
        """Write and sync the frames that `collect` has handed over. Only one thread at a time may call it. Raises
        `WriteFailed`; the frames are then kept for the next call.
        """
        content = self._unwritten
        if not content:
            return
        view = memoryview(content)
        self.check()
        try:
            if self._failed:
                # Cut off what a failed write left: all of it is written again.
                os.ftruncate(self._handle, self.size)
            os.lseek(self._handle, self.size, os.SEEK_SET)
            self._failed = True
            while view:
                view = view[os.write(self._handle, view) :]
            platform.sync_data(self._handle)
        except OSError as error:
            raise WriteFailed(f"{self.path}: {error.strerror}") from error
        self._failed = False
        self.size += len(content)
        self._unwritten = self._unwritten[len(content) :]

    def check(self) -> None:
        """Raise `WriteFailed` if the file was removed or replaced, because no process would read further frames, or if
        another process has written to it.
        """
        ours = os.fstat(self._handle)
        try:
            there = self.path.stat()
        except OSError:
            there = None
        if there is None or (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
            raise WriteFailed(
                f"{self.path}: another process removed or replaced this journal: book save writes both again"
            )
        # What a failed write has left is our own.
        if ours.st_size > self.size and not self._failed:
            raise WriteFailed(f"{self.path}: {OTHERS}")

    def close(self) -> None:
        """Close the file; entries that are not written yet are lost."""
        os.close(self._handle)
