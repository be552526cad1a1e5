"""Contents of files of games, unpacked, read piece by piece, so that large files take little memory."""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import BinaryIO

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.system import files, packed
from desdaemon.protocol.texts import without_mark

LARGEST_FILE = 1 << 30
"""Largest file that is read, in bytes."""
LARGEST_UNPACKED = 1 << 27
"""Most bytes that a packed file may hold: a small file must not take long."""
LARGEST_WHOLE = 1 << 25
"""Most bytes of a file that is read as a whole: a base in binary, a pipe."""
LONGEST_GAME = 1 << 20
"""Most characters of a game in a text, with all that stands before the next one."""
LONGEST_LINE = 1 << 24
"""Most characters of a line, or of a value in JSON."""

_PIECE = 1 << 17

_SGF_CHARSETS = ("big5", "cp932", "euc_jp", "euc_kr", "gb18030", "gb2312", "gbk", "shift_jis")


class Content:
    """The content of a file of games, which messages call ``name``: its ``size`` in bytes when unpacked, and ``head``,
    its first piece. It can be read several times.
    """

    def __init__(self, name: str, opened: Callable[[], BinaryIO]) -> None:
        """``opened`` opens the file, each time that it is read. Raises `BadInput` as `pieces` does: a packed file is
        unpacked to its end, so that nobody works with a part of one that is damaged.
        """
        self.name = name
        self._opened = opened
        with self._reading() as stream:
            kind = packed.packing(stream.read(packed.LONGEST_MAGIC))
            self.size = stream.seek(0, os.SEEK_END)
        if self.size > LARGEST_FILE:
            raise BadInput(f"{quoted(name)}: too large: {self.size} bytes, expected at most {LARGEST_FILE}")
        pieces = self.pieces()
        self.head = next(pieces, b"")
        if kind:
            self.size = len(self.head) + sum(map(len, pieces))

    @contextmanager
    def _reading(self) -> Iterator[BinaryIO]:
        try:
            with self._opened() as stream:
                yield stream
        except OSError as error:
            raise BadInput(f"{quoted(self.name)}: {error.strerror}") from None
        except packed.CannotUnpack as error:
            raise BadInput(f"{quoted(self.name)}: {error}") from None

    def pieces(self) -> Iterator[bytes]:
        """Yield the content in pieces of `_PIECE` bytes, the last one shorter. Raises `BadInput` for a file that
        cannot be read or unpacked, and for more than `LARGEST_UNPACKED` bytes of a packed one.
        """
        size = 0
        with self._reading() as stream:
            kind = packed.packing(stream.read(packed.LONGEST_MAGIC))
            stream.seek(0)
            parts = packed.unpacked(stream, kind) if kind else iter(partial(stream.read, _PIECE), b"")
            for piece in _gathered(parts):
                size += len(piece)
                if kind and size > LARGEST_UNPACKED:
                    raise BadInput(
                        f"{quoted(self.name)}: more than {LARGEST_UNPACKED} bytes when unpacked: unpack it first"
                    )
                yield piece

    def whole(self) -> bytes:
        """Return the content of at most `LARGEST_WHOLE` bytes; raises `BadInput` for more and as `pieces` does."""
        if self.size > LARGEST_WHOLE:
            raise BadInput(f"{quoted(self.name)}: too large: {self.size} bytes, expected at most {LARGEST_WHOLE}")
        return b"".join(self.pieces())

    def texts(self, *, sgf: bool = False) -> Iterator[str]:
        """Yield the content as text in pieces, every end of a line as \\n: UTF-8 without its marks, other bytes as
        backslash escapes. Those of ``sgf`` are in the character set that its property CA names, else Latin-1 as SGF
        has it.

        Raises `BadInput` for UTF-16 and as `pieces` does.
        """
        decoder: codecs.IncrementalDecoder = codecs.getincrementaldecoder("utf-8")(
            "strict" if sgf else "backslashreplace"
        )
        ends = io.IncrementalNewlineDecoder(None, translate=True)
        pieces = self.pieces()
        first = without_mark(next(pieces, b""), self.name)
        for piece in chain([first], pieces, [b""]):
            try:
                text = decoder.decode(piece, final=not piece)
            except UnicodeDecodeError:
                begun = decoder.getstate()[0]
                decoder = codecs.getincrementaldecoder(_charset(self.head))("replace")
                text = decoder.decode(begun + piece, final=not piece)
            # Files put together have marks within; DOS ended them with ^Z.
            yield ends.decode(text.replace("\ufeff", "").replace("\x1a", ""), final=not piece)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text with their ends; raises `BadInput` as `texts` does, and for one of more than
        `LONGEST_LINE` characters.
        """
        rest = ""
        for text in self.texts():
            *lines, rest = (rest + text).splitlines(keepends=True) or [""]
            yield from lines
            if len(rest) > LONGEST_LINE:
                raise BadInput(f"{quoted(self.name)}: expected lines of at most {LONGEST_LINE} characters")
        if rest:
            yield rest


def content_of(path: str) -> Content:
    """Return the content of a regular file; raises `BadInput` for others, and as `Content` does."""
    return Content(path, lambda: files.open_regular(path))


def content_in(data: bytes, name: str) -> Content:
    """Return ``data`` as the content of a file; raises `BadInput` as `Content` does."""
    return Content(name, lambda: io.BytesIO(data))


def content_from(stream: BinaryIO, name: str) -> Content:
    """Return the content of a pipe, read to its end, at most `LARGEST_WHOLE` bytes. Raises `BadInput` for more, and as
    `Content` does.
    """
    try:
        data = stream.read(LARGEST_WHOLE + 1)
    except OSError as error:
        raise BadInput(f"{quoted(name)}: {error.strerror}") from None
    if len(data) > LARGEST_WHOLE:
        raise BadInput(f"{quoted(name)}: too large for a pipe: more than {LARGEST_WHOLE} bytes: give the file's name")
    return content_in(data, name)


def _gathered(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield ``parts`` joined to pieces of `_PIECE` bytes, the last one shorter."""
    rest = bytearray()
    for part in parts:
        rest += part
        while len(rest) >= _PIECE:
            yield bytes(rest[:_PIECE])
            del rest[:_PIECE]
    if rest:
        yield bytes(rest)


def _charset(head: bytes) -> str:
    """Return the character set of an SGF file that is not in UTF-8."""
    charset = re.search(rb"CA\[([\w-]{1,20})\]", head)
    named = charset[1].decode().lower().replace("-", "_") if charset else ""
    return named if named in _SGF_CHARSETS else "latin-1"
