"""The errors of the book library; those about files name the file, the byte or line, and the fault."""

from __future__ import annotations

from pathlib import Path

from desdaemon.protocol.errors import escaped


class BookError(Exception):
    """The base of the book library's exceptions."""

    of_file = False
    """Whether what was asked for is right, and the file of the book in use fails it."""
    bare = False
    """Whether the message names neither a file nor a command."""

    def __init__(self, text: str = "") -> None:
        # A file's name may have control characters.
        super().__init__(escaped(text))


class Unreadable(BookError):
    """A file that is missing, unreadable, damaged or of another kind; ``offset`` is the byte at fault, or None."""

    def __init__(self, path: Path | str, offset: int | None, problem: str) -> None:
        self.path = Path(path)
        self.offset = offset
        self.problem = problem
        place = "" if offset is None else f" at byte {offset}"
        super().__init__(f"{path}{place}: {problem}")


class Damaged(Unreadable):
    """A block of a book in use is damaged."""

    of_file = True


class Locked(BookError):
    """Another process, ``pid`` (0 if unknown), has the book open for writing."""

    def __init__(self, path: Path | str, pid: int) -> None:
        self.pid = pid
        holder = f"process {pid}" if pid else "another process"
        super().__init__(f"{path}: locked by {holder}")


class ReadOnly(BookError):
    """The book was opened for reading, or a failed write has made it read-only."""

    of_file = True


class NotInMemory(ReadOnly):
    """A command needs all positions of a book that lie in a packed file."""

    of_file = False


class WriteFailed(BookError):
    """The disk refused a write or a sync, or there is no memory for a table.

    Changes that were acknowledged are safe, the present and later ones are not.
    """

    of_file = True


class NotInBook(BookError):
    """A command that needs a position of the book was given one outside it."""

    bare = True


class OutOfRange(BookError):
    """A setting is out of range; the message has the setting's name, its value and the range."""

    bare = True

    def __init__(self, name: str, value: int, low: int, high: int) -> None:
        super().__init__(f"{name} {value} is outside {low}..{high}")


def within(name: str, value: int, low: int, high: int) -> int:
    """Return ``value`` if it lies between ``low`` and ``high``, both included, else raise `OutOfRange`."""
    if not low <= value <= high:
        raise OutOfRange(name, value, low, high)
    return value
