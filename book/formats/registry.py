"""The formats of books, recognised by content for reading and by name for writing."""

from __future__ import annotations

import contextlib
import hashlib
import lzma
import os
import secrets
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from desdaemon.book.book import Book
from desdaemon.book.changes import ChangeObserver
from desdaemon.book.errors import Unreadable
from desdaemon.book.exports import await_kernels
from desdaemon.book.layout import LINKED
from desdaemon.book.memory.arena import ARENA
from desdaemon.book.memory.files import content
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.storage import snapshot
from desdaemon.book.storage.observers import MemoryObserver, ReadOnlyObserver
from desdaemon.book.storage.overlay import MARK_BYTES, Base, Overlay, base_of, is_overlay, open_overlay
from desdaemon.book.storage.store import Store, open_store, overwriting
from desdaemon.protocol.othello.notation import discs_text
from desdaemon.protocol.rows import BookFormat
from desdaemon.protocol.rows import load as loaded
from desdaemon.protocol.satellites import present
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import files, platform
from desdaemon.protocol.texts import UTF_16, stand_in

from . import ImportedBook, text
from .losses import assumed_by_reading, lost_by_writing

NATIVE = "native"
OVERLAY = "overlay"
"""The changes of a book that lies over another one (`desdaemon.book.storage.overlay`)."""

TEXT = "text"
_TEXT = BookFormat(
    TEXT, (".txt", ".txt.xz"), b"", "desdaemon.book.formats.text:read", "desdaemon.book.formats.text:write", frozenset()
)
FORMATS = {kind.name: kind for kind in (*(kind for one in present("book_formats") for kind in one.book_formats), _TEXT)}
"""The formats other than our own by name: those of satellites, then Edax's text, which ships with the program."""

_HEAD = 1 << 16

_NATIVE_ENDING = ".book"
"""Tells our own format where a name without a known ending means another one."""

SHIPPED = Path(__file__).resolve().parents[1] / "data" / "starter.txt.xz"
"""The book that is installed with the program; some installations lack it."""

_SHIPPED_NAME = "builtin"

SHIPPED_REFUSAL = "built in: book save FILE makes a copy that can be changed"
"""Why `SHIPPED` takes no changes."""


MAPPED_REFUSAL = "book-overlay takes changes in front of it, book import reads it to be changed"
"""Why a file that is mapped and only read takes no changes."""


def shipped() -> Path:
    """Return the path of the installed book, `SHIPPED`. Raises `Unreadable` if it is not installed."""
    if not SHIPPED.exists():
        raise Unreadable(_SHIPPED_NAME, None, "this installation has no book of its own")
    return SHIPPED


def format_by_name(path: Path) -> str:
    """Return the format in which a file of this name is written, by its ending, else `NATIVE`."""
    name = path.name.lower()
    return next((kind.name for kind in FORMATS.values() if name.endswith(kind.endings)), NATIVE)


def format_by_content(path: Path) -> str:
    """Return the format of an existing file, by its first bytes or, if they tell nothing, by its name.

    Raises `Unreadable` if it cannot be opened or is no book.
    """
    platform.bring_back(str(path))
    try:
        with files.open_regular(path) as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        raise Unreadable(path, None, error.strerror or str(error)) from None
    if head.startswith(text.PACKED):
        try:
            head = lzma.LZMADecompressor(memlimit=text.UNPACKING_BYTES).decompress(head, _HEAD)
        except lzma.LZMAError as error:
            raise Unreadable(path, None, f"cannot be unpacked: {error}") from None
    if head.startswith(snapshot.MAGIC):
        return NATIVE
    if is_overlay(head):
        return OVERLAY
    for kind in FORMATS.values():
        if kind.magic and head.startswith(kind.magic):
            return kind.name
    if head.startswith(UTF_16):
        raise Unreadable(path, 0, "this is UTF-16: save it as UTF-8")
    if what := stand_in(head):
        raise Unreadable(path, 0, what)
    line = head.removeprefix(BOM_UTF8).partition(b"\n")[0]
    if len(line) >= 66 and line[64:].lstrip()[:2] in (b"X,", b"O,"):
        return TEXT
    name = path.name.lower()
    by_name = (kind.name for kind in FORMATS.values() if name.endswith((*kind.endings, *kind.old)))
    if found := next(by_name, None):
        return found
    known = ", ".join(kind.endings[0] for kind in FORMATS.values())
    raise Unreadable(path, 0, f"not a book: neither desdaemon's own, nor one of these formats: {known}")


class LoadedBook(NamedTuple):
    """A book in memory, its file's format, notes for the user, and the line of `losses.assumed_by_reading`."""

    book: Book
    format: str
    notes: list[str]
    assumed: str = ""


def load(path: Path, *, level: int = 1, progress: ProgressCallback = no_progress) -> LoadedBook:
    """Read a book of any format into memory, without a lock.

    Of a book in our own format only the file is read, not the changes in its journal: to have these, or to change the
    book, use `store.open_store`. ``level`` is given to the positions of a file without levels. Raises `Unreadable`.
    """
    kind = format_by_content(path)
    await_kernels(progress)
    if kind == OVERLAY:
        opened = _open_over(path, None, level, read_only=True, progress=progress)
        assert opened.store is not None
        opened.store.close()
        opened.book.recorder = ChangeObserver()
        return LoadedBook(opened.book.in_memory(progress), NATIVE, opened.notes)
    if kind == NATIVE:
        return LoadedBook(snapshot.read(path, progress=progress)[0], kind, [])
    read: ImportedBook = loaded(FORMATS[kind].read)(path, level, progress)
    notes = []
    if read.duplicates:
        done = "merged" if read.merged else "dropped"
        notes.append(f"{path}: {done} {plural(read.duplicates, 'repeated position')}")
    if read.passes:
        notes.append(f"{path}: made positions of {plural(read.passes, 'forced pass')}")
    return LoadedBook(read.book, kind, notes, assumed_by_reading(read.book.options, FORMATS[kind]))


class Opened(NamedTuple):
    """An open book, with a store if it has our own format, else None.

    ``assumed`` is the line of `losses.assumed_by_reading`. ``refusal`` says why a book in memory takes no changes; the
    caller must then refuse them. It is "" if the book takes changes.
    """

    book: Book
    store: Store | None
    format: str
    notes: list[str]
    assumed: str = ""
    refusal: str = ""

    def observe(self, path: Path | None) -> None:
        """Have the changes of a book without a store taken down or, with a `refusal`, refused. Data beyond the memory
        limit goes beside ``path``, the book's file, if its folder can be written.
        """
        if self.store is None:
            refused = ReadOnlyObserver(path, self.refusal) if self.refusal and path is not None else None
            self.book.recorder = refused or MemoryObserver(self.book)
        if path is not None and not self.refusal and os.access(path.resolve().parent, os.W_OK):
            ARENA.folder = path.resolve().parent

    @property
    def unsaved(self) -> bool:
        """Whether closing the book would lose changes."""
        return self.store.unwritten if self.store is not None else self.book.recorder.changes > 0


def _open_over(
    path: Path, base: Path | None, level: int, *, read_only: bool | None, progress: ProgressCallback
) -> Opened:
    """Open the overlay ``path`` over the book ``base``, or if that is None over the one that it was last opened over.

    ``level`` is for a ``base`` whose file has no levels. Raises as `open_overlay` does.
    """
    if base is None:
        known = base_of(path)
        base, level = shipped() if known.path == _SHIPPED_NAME else Path(known.path), known.level
    base = base.resolve()
    kind = format_by_content(base)
    if kind == OVERLAY:
        raise Unreadable(base, None, "is an overlay itself: expected a book of its own")
    await_kernels(progress)
    name = _SHIPPED_NAME if base == SHIPPED else str(base)
    if kind == NATIVE:
        below = open_store(base, read_only=True, progress=progress)
        book, mark, assumed, notes = below.book, below.mark, "", [*below.notes]
    elif FORMATS[kind].open:
        below, assumed, notes = None, "", []
        book, mark = loaded(FORMATS[kind].open)(base, progress)
    else:
        read, below = load(base, level=level, progress=progress), None
        book, assumed, notes = read.book, read.assumed, read.notes
        mark = hashlib.blake2b(content(base, progress).data, digest_size=MARK_BYTES).digest()
    try:
        store: Overlay = open_overlay(
            path, Base(name, level, mark), base, book, below, read_only=read_only, progress=progress
        )
    except BaseException:
        if below is not None:
            below.close()
        raise
    notes += store.notes
    if store.read_only and not read_only:
        notes.append(f"{path}: opened for reading: {store.reason}")
    return Opened(book, store, NATIVE, notes, assumed)


def open_any(
    path: Path, *, level: int = 1, overlay: Path | None = None, progress: ProgressCallback = no_progress
) -> Opened:
    """Open a book of any format. Raises `Unreadable`, and with ``overlay`` also `WriteFailed`.

    With ``overlay`` changes go to that file, and the book at ``path`` is only read.

    Our own format is opened as a store, for writing if that is possible, else for reading (`store.open_store`). Other
    formats are read into memory, and ``store`` is None. So is the installed book: it gets a ``refusal``, and the caller
    must refuse changes. ``level`` is given to the positions of a file without levels.
    """
    kind = format_by_content(path)
    if overlay is not None:
        return _open_over(overlay, path, level, read_only=None, progress=progress)
    if kind == OVERLAY:
        return _open_over(path, None, level, read_only=None, progress=progress)
    if kind != NATIVE and FORMATS[kind].open:
        await_kernels(progress)
        book, _ = loaded(FORMATS[kind].open)(path, progress)
        return Opened(book, None, kind, [], refusal=MAPPED_REFUSAL)
    if kind != NATIVE:
        read = load(path, level=level, progress=progress)
        refusal = SHIPPED_REFUSAL if path == SHIPPED else ""
        return Opened(read.book, None, read.format, read.notes, read.assumed, refusal)
    await_kernels(progress)
    store = open_store(path, read_only=None, progress=progress)
    notes = list(store.notes)
    if store.read_only:
        notes.append(f"{path}: opened for reading: {store.reason}")
    return Opened(store.book, store, NATIVE, notes)


def read(path: Path, progress: ProgressCallback = no_progress) -> Opened:
    """Open a book of any format for reading, with its journal. Raises `Unreadable`."""
    if format_by_content(path) != NATIVE:
        book = load(path, progress=progress)
        return Opened(book.book, None, book.format, book.notes, book.assumed)
    store = open_store(path, read_only=True, progress=progress)
    return Opened(store.book, store, NATIVE, store.notes)


@contextlib.contextmanager
def reading(path: Path, progress: ProgressCallback = no_progress) -> Iterator[Book]:
    """Return a context manager with the book of a file of any format, with its journal. Raises `Unreadable`."""
    opened = read(path, progress)
    with opened.store or contextlib.nullcontext():
        yield opened.book


def overlay_base(path: Path) -> str:
    """Return the name of the book that the overlay ``path`` was last opened over, as `BUILTIN_BOOK` the one that ships;
    "" for any other file. Raises `Unreadable`.
    """
    return base_of(path).path if format_by_content(path) == OVERLAY else ""


class Saved(NamedTuple):
    """The format written, notes for the user, and the line of `losses.lost_by_writing`."""

    format: str
    notes: list[str]
    lost: str = ""


def save(path: Path, book: Book, progress: ProgressCallback = no_progress, *, unnamed: str = NATIVE) -> Saved:
    """Write a book in the format of the file's name (``.book`` is our own), or ``unnamed`` if the name tells none;
    replace the file.

    An existing file is kept as ``path.1`` ...; a file in our own format gets no journal. Raises `WriteFailed`, and
    `BookError` if the format cannot hold the book, or as `overwriting` does.
    """
    kind = format_by_name(path)
    if kind == NATIVE and not path.name.lower().endswith(_NATIVE_ENDING):
        kind = unnamed
    book = book.in_memory(progress)
    # Counted first, because a cancellation must not come after the writing.
    lost = lost_by_writing(book, FORMATS[kind], progress) if kind != NATIVE else ""
    with overwriting(path):
        notes = _written(kind, path, book, progress)
    return Saved(kind, notes, lost)


def _written(kind: str, path: Path, book: Book, progress: ProgressCallback) -> list[str]:
    """Write a book in a format; return remarks about what other programs, or later commands, will find."""
    if kind != NATIVE:
        remarks: list[str] = loaded(FORMATS[kind].write)(path, book, progress)
        return remarks
    linked = np.empty(0, np.int64) if book.complete else book.faults(progress)
    linked = linked[linked[:, 1] == LINKED, 0] if len(linked) else linked
    _write_native(path, book, progress)
    if not len(linked):
        return []
    entry = book.table.entry(int(linked[0]))
    board = discs_text(entry.player, entry.opponent)
    return [
        f"{path}: {len(linked)} leaves lead into the book, such as {text.move_name(entry.leaf_move).lower()} "
        f"of {board} X: fix or negamax drops them, as their moves are links"
    ]


def write_native(path: Path, book: Book, progress: ProgressCallback = no_progress) -> None:
    """Write ``book`` to ``path`` in our own format, with a new identity and without a journal.

    Raises as `overwriting` does.
    """
    with overwriting(path):
        _write_native(path, book.in_memory(progress), progress)


def _write_native(path: Path, book: Book, progress: ProgressCallback) -> None:
    snapshot.write(path, book, secrets.randbits(64), 0, progress=progress)
