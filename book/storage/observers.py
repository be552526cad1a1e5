"""Observers of a book's changes: one refuses them, one writes them to the journal."""

from __future__ import annotations

import contextlib
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from desdaemon.book.changes import ChangeObserver, GivenCommand, Question
from desdaemon.book.chunks import Rows, Words
from desdaemon.book.errors import BookError, ReadOnly, WriteFailed
from desdaemon.book.games import Games
from desdaemon.book.options import BookOptions
from desdaemon.book.record import RECORD

from . import earlier, journal
from .earlier import EarlierBook
from .journal import FrameKind

if TYPE_CHECKING:
    from desdaemon.book.book import Book, ByHand

OPTIONS = struct.Struct("<6i")
SEARCHED = struct.Struct("<QQQbbb5x")
STEPS = struct.Struct("<QQ")
ENDED = STEPS.pack(0, 0)
"""What follows the changes of a command that was not killed."""


def packed_command(command: GivenCommand) -> bytes:
    """Return the payload of the journal's entry for a command."""
    line, client = (text.replace("\n", " ") for text in command[:2])
    numbers = " ".join(map(str, (*command.root, command.positions, command.games)))
    return f"{line}\n{client}\n{command.started!r}\n{numbers}".encode(errors="backslashreplace")


def unpacked_command(payload: bytes) -> GivenCommand:
    """Return the command in a payload; those that earlier versions wrote have the text alone, or no numbers."""
    line, client, started, numbers = [*payload.decode(errors="replace").split("\n"), "", "0", "0 0 0 0"][:4]
    try:
        player, opponent, positions, games = map(int, numbers.split())
        return GivenCommand(line, client, float(started), (player, opponent), positions, games)
    except ValueError:
        return GivenCommand(line, client)


def unfinished(frames: Iterable[journal.Frame]) -> GivenCommand | None:
    """Return the last command of a journal's entries, if a kill ended it."""
    last = None
    for frame in frames:
        if frame.kind is FrameKind.COMMAND:
            last = unpacked_command(frame.payload)
        elif frame.kind is FrameKind.STEPS and frame.payload == ENDED:
            last = None
    return last


class ReadOnlyObserver(ChangeObserver):
    """The observer of a book opened for reading: it refuses every change, unless its ``retry`` succeeds."""

    def __init__(self, path: Path, reason: str = "", retry: Callable[[], None] | None = None) -> None:
        """``reason`` says why changes are refused. ``retry`` is called before each refusal. It raises `BookError` if
        the change has to be refused; if it returns, it must have replaced this observer, and the change is allowed.
        """
        self._path = path
        self._reason = reason
        self._retry = retry

    def allow(self) -> None:
        reason = self._reason
        if self._retry is not None:
            try:
                self._retry()
            except BookError as error:
                reason = str(error)
            else:
                return
        raise ReadOnly(f"{self._path}: opened for reading only{reason and ': '}{reason}")


class MemoryObserver(ChangeObserver):
    """The observer of a book without a journal: before the first change of a command it keeps the book as it is, so
    that the command can be taken back (`earlier`). The oldest states go when they are too many, or too large.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self._command: GivenCommand | None = None
        self._earlier: list[EarlierBook] = []
        """States of the book, oldest first."""
        self.too_large = False
        """Whether the last change was made to a book too large to keep."""
        self._kept = False
        """Whether a state was kept for the command that goes on."""
        self._fixed = False
        """Whether that command has brought scores up to date that were not."""

    def begin(self, command: GivenCommand) -> None:
        self._command, self._kept, self._fixed = command, False, False

    def ended(self) -> None:
        """Forget the state kept for a command that has changed nothing after all: there is nothing to take back."""
        if self._kept and not self._fixed and self._earlier and self._earlier[-1].changes == self.changes:
            self._earlier.pop()
        self._command, self._kept = None, False

    def fixed(self, changed: int) -> None:
        self._fixed |= changed > 0

    def allow(self) -> None:
        command, self._command = self._command, None
        if command is None:
            return
        self.too_large = len(self._book.table) * RECORD.itemsize > earlier.MOST_KEPT
        if not self.too_large:
            before = self._earlier[-1] if self._earlier else None
            self._earlier.append(earlier.kept(self._book, command, before, changes=self.changes))
            self._kept = True
            self._earlier = earlier.fitting(self._earlier)
            self.too_large = not self._earlier
        else:
            # Without this state, earlier ones would take back this command too.
            self._earlier = []

    def undoable(self) -> list[GivenCommand]:
        """Return the commands that `undo` can take back one after another, oldest first."""
        return [state.command for state in self._earlier]

    def undo(self) -> tuple[Book, MemoryObserver]:
        """Return the book as it was before the last of the `undoable` commands, and the observer to give it. There must
        be such a command.
        """
        last = self._earlier[-1]
        observer = MemoryObserver(last.book())
        observer.changes, observer._earlier = last.changes, self._earlier[:-1]
        return observer._book, observer


class JournalObserver(ChangeObserver):
    """Writes a book's changes to the journal.

    Changed rows are only noted; their content is read when it is passed to the writer (`collect`).
    """

    def __init__(self, book: Book, writer: journal.Writer, retry: Callable[[], None]) -> None:
        """``retry`` repeats a failed write before a change is refused because of it; it raises `WriteFailed`."""
        self._book = book
        self._writer = writer
        self._retry = retry
        self._lock = threading.RLock()
        self._holder = 0
        self._rows: dict[int, None] = {}
        self._searched = bytearray()
        self._command: GivenCommand | None = None
        self._begun: tuple[GivenCommand, ByHand] | None = None
        self.waiting = threading.Event()
        self.refuse: BaseException | None = None
        """Why nothing can be written; None as long as writes succeed."""

    def begin(self, command: GivenCommand) -> None:
        """Note the command, which is written with its first change."""
        with self._lock:
            self._flush()
            self._command = command
        self._begun = command, self._book.by_hand

    def ended(self) -> None:
        begun, self._begun = self._begun, None
        if begun is not None and begun[1] is not self._book.by_hand:
            self._book.by_hand_before.append(begun)
        with self._lock:
            self._flush()
            unnamed, self._command = self._command, None
        if unnamed is None or unnamed == self.unfinished:
            self.unfinished = None
            self._append(FrameKind.STEPS, ENDED)

    def resume(self, command: GivenCommand) -> None:
        """Take note, in a new journal, that ``command`` was killed."""
        self._append(FrameKind.COMMAND, packed_command(command))
        self.unfinished = command

    def _name_command(self) -> None:
        if self._command is not None:
            self._writer.append(FrameKind.COMMAND, packed_command(self._command))
            self._command = self.unfinished = None

    def _flush(self) -> None:
        if self._rows or self._searched:
            self._name_command()
        if self._rows:
            rows = np.fromiter(self._rows, np.int64, len(self._rows))
            self._writer.append(FrameKind.STATES, self._book.table.states(rows).tobytes())
            self._rows.clear()
        if self._searched:
            self._writer.append(FrameKind.SEARCHED, bytes(self._searched))
            self._searched.clear()

    def _append(self, kind: FrameKind, payload: bytes = b"", *, named: bool = True) -> None:
        with self._lock:
            self._flush()
            if named:
                self._name_command()
            self._writer.append(kind, payload)
        self.waiting.set()

    def allow(self) -> None:
        if self.refuse is not None and not self.held_here:
            with contextlib.suppress(WriteFailed):
                self._retry()
        if self.refuse is not None:
            raise ReadOnly(f"{self._writer.path}: read-only since a write failed: {self.refuse}") from self.refuse

    def changed(self, row: int) -> None:
        with self._lock:
            self._rows[row] = None
        self.waiting.set()

    def changed_many(self, rows: Rows) -> None:
        with self._lock:
            self._rows.update(dict.fromkeys(rows.tolist()))
        self.waiting.set()

    def removed(self, keys: Iterable[Words]) -> None:
        self._append(FrameKind.REMOVED, b"".join(part.astype("<u8").tobytes() for part in keys))

    def fixed(self, changed: int) -> None:
        self._append(FrameKind.FIXED, named=changed > 0)

    def options_changed(self, options: BookOptions) -> None:
        self._append(FrameKind.OPTIONS, OPTIONS.pack(*options))

    def remembered(self, question: Question, answer: tuple[int, int]) -> None:
        with self._lock:
            player, opponent, level, excluded = question
            self._searched += SEARCHED.pack(player, opponent, excluded, level, *answer)
        self.waiting.set()

    def forgotten(self) -> None:
        self._append(FrameKind.FORGOTTEN)

    def counted(self, games: Games) -> None:
        self._append(FrameKind.COUNTED, games.tobytes())

    def taken_back(self, games: Games) -> None:
        self._append(FrameKind.TAKEN_BACK, games.tobytes())

    def stepped(self, schedule: int, done: int) -> None:
        self._append(FrameKind.STEPS, STEPS.pack(schedule, done))

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        with self._lock:
            if self.held_here:
                yield
                return
            self._flush()
            self._name_command()
            self._writer.begin_group()
            self._holder = threading.get_ident()
            try:
                yield
            finally:
                self._flush()
                self._writer.end_group()
                self._holder = 0

    @property
    def held_here(self) -> bool:
        """Whether this thread is inside `hold`."""
        return self._holder == threading.get_ident()

    def collect(self) -> None:
        """Pass all changes noted so far to the journal's writer, for its next `write`."""
        with self._lock:
            self._flush()
            self._writer.collect()
