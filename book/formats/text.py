"""Edax's text form of a book: a line for each position with its board, level and leaf.

    ---------------------------OX------XO--------------------------- X,6,D3,2

The board from A1 to H8 (X: side to move), the side, level, leaf move (PA: pass, --: none) and leaf score. A file may be
packed by xz, and is written packed if its name ends in ``.txt.xz``; it then has less than a sixth of the size.
"""

from __future__ import annotations

import itertools
import lzma
import os
import threading
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, wait
from io import BufferedReader
from pathlib import Path

import numpy as np
import numpy.typing as npt

from desdaemon.book import layout
from desdaemon.book.book import Book
from desdaemon.book.chunks import CHUNK_ROWS, address
from desdaemon.book.errors import BookError, Unreadable
from desdaemon.book.layout import MAX_LEVEL, NO_LEVEL, NO_MOVE, NO_SCORE, PASS
from desdaemon.book.memory.files import replacing
from desdaemon.book.options import BookOptions, Rule, guessed_options
from desdaemon.book.passes import await_kernels, kernels
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.readings import levels_in_scale
from desdaemon.book.record import PositionEntry
from desdaemon.protocol.othello import notation
from desdaemon.protocol.othello.rules import final_score, transform_move
from desdaemon.protocol.system import files, platform
from desdaemon.protocol.system.executor import Executor

from . import ImportedBook

_FIRST = "Xx*Bb#"
_SECOND = "Oo0Ww"
_FREE = "-._"
_PIECE = 1 << 23
_LINE_BYTES = 76

PACKED = b"\xfd7zXZ\0"
"""The first bytes of an xz file."""

_STREAM_ROWS = 1 << 16
"""Positions packed in one xz stream: fewer would make the file larger, more would leave processors idle at the end."""

_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 23}]
"""xz's strongest settings that need no more memory than the text of `_STREAM_ROWS` positions: some 90 MiB a thread."""

_FED = 1 << 15
"""Bytes that a thread packs, in some hundredths of a second, between two checks for cancellation."""

_TOLD_S = 0.1

UNPACKING_BYTES = 1 << 27
"""Most bytes of memory for unpacking a stream; streams that `write` writes need less."""


def packed_by_name(path: Path) -> bool:
    """Return whether a file of this name is written packed: one that ends in .txt.xz."""
    return path.name.lower().endswith(".txt.xz")


def move_name(move: int) -> str:
    """Return a move as text: A1..H8, PA for a pass, -- for no move."""
    return notation.move_text(move) if move <= PASS else "--"


_NAMES = [move_name(move) for move in range(NO_MOVE + 1)]


def parse_move(text: str) -> int:
    """Return the move that `move_name` writes as ``text``; case and a pass's spelling may differ. Raises ValueError."""
    return NO_MOVE if text.strip() == "--" else notation.parse_move(text)


def parse_board(text: str, side: str) -> tuple[int, int]:
    """Return (player, opponent) of a board of 64 characters; ``side`` is the mover's character. Raises ValueError."""
    if len(text) != 64:
        raise ValueError(f"the board has {len(text)} squares, not 64")
    first = second = 0
    for k, disc in enumerate(text):
        if disc in _FIRST:
            first |= 1 << k
        elif disc in _SECOND:
            second |= 1 << k
        elif disc not in _FREE:
            raise ValueError(f"{disc!r} on {move_name(k)} is neither a disc nor an empty square")
    if side in _FIRST and len(side) == 1:
        return first, second
    if side in _SECOND and len(side) == 1:
        return second, first
    raise ValueError(f"{side!r} is not a side")


def _number(text: str, name: str, low: int, high: int, *others: int) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"the {name} {text.strip()!r} is not a number") from None
    if not low <= value <= high and value not in others:
        raise ValueError(f"the {name} {value} is not {low}..{high}")
    return value


def _entry(book: Book, line: str) -> PositionEntry:
    fields = line.split(",")
    if len(fields) != 4:
        raise ValueError(f"{len(fields)} fields between commas, not 4: board side, level, move, score")
    player, opponent = parse_board(fields[0][:64], fields[0][64:].strip())
    level = _number(fields[1], "level", 0, MAX_LEVEL)
    move = parse_move(fields[2])
    score = _number(fields[3], "score", -64, 64, NO_SCORE)
    if (player | opponent) & layout.CENTRE != layout.CENTRE:
        raise ValueError("a centre square is empty")
    p, o, symmetry = book.table.canonical(player, opponent)
    legal = [square for square, _ in book.table.links(player, opponent)]
    if move == NO_MOVE:
        if score != NO_SCORE and (legal or score != final_score(player, opponent)):
            raise ValueError("a score without a move, and not that of a finished game")
    elif move not in legal:
        raise ValueError(f"{fields[2].strip()} is not a legal move")
    elif score == NO_SCORE:
        raise ValueError("a move without a score")
    scored = score != NO_SCORE
    return PositionEntry(
        p,
        o,
        level=level,
        leaf_move=transform_move(move, symmetry),
        leaf_score=score,
        leaf_level=level if scored else NO_LEVEL,
    )


_DISCS = np.zeros(256, np.uint8)
for _kind, _letters in enumerate((_FIRST, _SECOND, _FREE), 1):
    _DISCS[[ord(letter) for letter in _letters]] = _kind


class _LineLoader:
    """Adds the lines of a file to a new book, a piece at a time: common forms by a kernel, others one by one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.book = Book()
        self._lines = 0
        self._out: npt.NDArray[np.uint64] = np.zeros(layout.IMPORT_WORDS, np.uint64)
        self._out[layout.IMPORT_LEAST_EMPTIES] = 60

    @property
    def duplicates(self) -> int:
        """Number of lines so far that repeated a position."""
        return int(self._out[layout.IMPORT_REPEATED])

    def options(self) -> BookOptions:
        """Return options derived from the positions read so far."""
        levels = self._out[layout.IMPORT_LEVELS : layout.IMPORT_PASSES]
        return guessed_options(levels.astype(np.int64), int(self._out[layout.IMPORT_LEAST_EMPTIES]), Rule.EDAX)

    def add(self, piece: bytes, at: int, *, last: bool) -> int:
        """Add the whole lines of ``piece``, which begins at byte ``at`` of the file. Returns the number of bytes used.

        All bytes are used if it is the ``last`` piece. Raises `Unreadable`, which names the line, for a wrong line.
        """
        table, data, done = self.book.table, np.frombuffer(piece, np.uint8), 0
        while True:
            start = done
            places = address(_DISCS), address(self._out)
            done = int(kernels().text_load(table.context, address(data), done, len(piece), *places))
            reason = int(self._out.view(np.int64)[layout.IMPORT_REASON])
            self._lines += piece.count(b"\n", start, done)
            if reason < 0:
                table.grow(reason)
            else:
                # An unusual line, or one near the end of the piece, because the kernel needs some bytes behind a line.
                stop = piece.find(b"\n", done) + 1
                if not stop:
                    if not last or done == len(piece):
                        return done
                    stop = len(piece)
                self._one(piece[done:stop], at + done)
                done = stop

    def _one(self, raw: bytes, at: int) -> None:
        self._lines += 1
        try:
            line = raw.decode("ascii").rstrip("\r\n")
            if not line:
                return
            entry = _entry(self.book, line)
        except UnicodeDecodeError:
            raise Unreadable(self._path, at, f"line {self._lines}: not text") from None
        except ValueError as error:
            raise Unreadable(self._path, at, f"line {self._lines}: {error}") from None
        table = self.book.table
        row, new = table.insert(entry.player, entry.opponent)
        if not new:
            self._out[layout.IMPORT_REPEATED] += np.uint64(1)
            return
        table.write(row, entry)
        self._out[layout.IMPORT_LEAST_EMPTIES] = min(int(self._out[layout.IMPORT_LEAST_EMPTIES]), entry.empties)
        if table.moves(entry.player, entry.opponent) or table.moves(entry.opponent, entry.player):
            self._out[layout.IMPORT_LEVELS + entry.level] += np.uint64(1)


def _pieces(stream: BufferedReader) -> Iterator[bytes]:
    """Yield the text in ``stream``, unpacked if necessary, at most `_PIECE` bytes at a time. Raises EOFError or
    `lzma.LZMAError` for a damaged file.

    `lzma.LZMAFile` cannot limit its memory, and an `LZMADecompressor` stops after the first stream.
    """
    if not stream.peek(len(PACKED)).startswith(PACKED):
        yield from iter(lambda: stream.read(_PIECE), b"")
        return
    unpacker = lzma.LZMADecompressor(memlimit=UNPACKING_BYTES)
    while True:
        packed = b""
        if unpacker.eof:
            packed = unpacker.unused_data.lstrip(b"\0")
            while not packed:
                read = stream.read(_PIECE)
                if not read:
                    return
                packed = read.lstrip(b"\0")
            unpacker = lzma.LZMADecompressor(memlimit=UNPACKING_BYTES)
        elif unpacker.needs_input:
            packed = stream.read(_PIECE)
            if not packed:
                raise EOFError("ends within a stream of xz")
        text = unpacker.decompress(packed, _PIECE)
        if text:
            yield text


def read(path: Path, level: int = 1, progress: ProgressCallback = no_progress) -> ImportedBook:
    """Read Edax's text form, boards in any orientation, and run negamax. Raises `Unreadable`, which names the line.

    Options that the file lacks follow from its positions (`guessed_options`). Leaves given as ``--`` stay open. The
    file is read piece by piece.
    """
    await_kernels(progress)
    loader = _LineLoader(path)
    at, rest = 0, b""
    try:
        with files.open_regular(path) as stream:
            pieces = _pieces(stream)
            size = os.fstat(stream.fileno()).st_size
            loader.book.table.reserve(size // _LINE_BYTES)
            while True:
                read = next(pieces, b"")
                if not at and not rest and read.startswith(BOM_UTF8):
                    at, read = len(BOM_UTF8), read[len(BOM_UTF8) :]
                rest += read
                done = loader.add(rest, at, last=not read)
                at, rest = at + done, rest[done:]
                if not read:
                    break
                if len(rest) > _PIECE:
                    raise Unreadable(path, at, "a line of more than 8 MiB")
                progress("load", stream.tell(), size)
    except OSError as error:
        raise Unreadable(path, None, error.strerror or str(error)) from None
    except (lzma.LZMAError, EOFError) as error:
        raise Unreadable(path, None, f"cannot be unpacked: {error}") from None
    book = loader.book
    if not len(book):
        raise Unreadable(path, 0, "no positions")
    book.options = loader.options()
    book.forget_state()
    book.negamax(progress=progress)
    return ImportedBook(book, loader.duplicates)


def lines(book: Book, progress: ProgressCallback = no_progress) -> Iterator[str]:
    """Yield the text form, a line for each row in order, without line ends."""
    for number, chunk in enumerate(book.table.chunks()):
        progress("write", number * CHUNK_ROWS, len(book))
        board = np.full((len(chunk), 64), ord("-"), np.uint8)
        for name, disc in (("player", "X"), ("opponent", "O")):
            discs = np.ascontiguousarray(chunk[name]).view(np.uint8).reshape(-1, 8)
            board[np.unpackbits(discs, axis=1, bitorder="little").astype(bool)] = ord(disc)
        text = board.tobytes().decode("ascii")
        with_leaf = (chunk["leaf_move"] <= NO_MOVE) & (chunk["leaf_score"] >= -64)
        moves = np.where(with_leaf, chunk["leaf_move"], NO_MOVE).tolist()
        scores = np.where(with_leaf, chunk["leaf_score"], NO_SCORE).tolist()
        levels = np.clip(levels_in_scale(chunk), 0, MAX_LEVEL).tolist()
        for k, (level, move, score) in enumerate(zip(levels, moves, scores, strict=True)):
            yield f"{text[64 * k : 64 * k + 64]} X,{level},{_NAMES[move]},{score}"


def write(path: Path, book: Book, progress: ProgressCallback = no_progress) -> list[str]:
    """Write the text form, packed if the name says so; there is nothing to remark.

    Raises `WriteFailed`, and `BookError` for a book without positions, whose text nobody could tell from an empty file.
    """
    if not len(book):
        raise BookError(f"{path}: a book without positions has no text: expected a name that ends in .book")
    with replacing(path) as stream:
        if packed_by_name(path):
            for part in _packed(book, progress):
                stream.write(part)
        else:
            for line in lines(book, progress):
                stream.write(line.encode() + b"\n")
    return []


def _packed(book: Book, progress: ProgressCallback) -> Iterator[bytes]:
    """Yield the text form as xz streams, packed by all processors; joined they are one xz file."""
    rows = lines(book)
    texts = ("".join(f"{line}\n" for line in itertools.islice(rows, _STREAM_ROWS)).encode() for _ in itertools.count())
    stop = threading.Event()
    done: list[int] = []

    def pack(text: bytes) -> bytes:
        packer = lzma.LZMACompressor(filters=_FILTERS)
        parts = []
        for start in range(0, len(text), _FED):
            if stop.is_set():
                return b""
            parts.append(packer.compress(text[start : start + _FED]))
            done.append(text.count(b"\n", start, start + _FED))
        return b"".join([*parts, packer.flush()])

    def awaited(packed: Future[bytes]) -> bytes:
        while not wait([packed], _TOLD_S).done:
            progress("write", sum(done), len(book))
        return packed.result()

    threads = platform.processors()
    waiting: deque[Future[bytes]] = deque()
    with Executor(threads) as pool:
        try:
            for text in itertools.takewhile(bool, texts):
                waiting.append(pool.submit(pack, text))
                progress("write", sum(done), len(book))
                if len(waiting) > threads:
                    yield awaited(waiting.popleft())
            while waiting:
                yield awaited(waiting.popleft())
        finally:
            stop.set()
