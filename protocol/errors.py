"""Errors that become one line for the user, and quotation of input in messages."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

LONGEST_QUOTE = 60
MOST_COMPLAINTS = 10
"""The complaints about a file that are told; others are counted."""


_WITHOUT_MEMORY = (
    "failed to map segment",
    "can't start new thread",
    "without exception set",
    "without setting an exception",
)
"""Texts of errors of other kinds for too little memory: of the loader of libraries, of threads, and of the interpreter
where it lost a `MemoryError` of its own, as CPython 3.11's `compile` does.
"""


class BadInput(ValueError):
    """Invalid input; the message is one line that quotes the input and says what was expected. Control characters,
    which a file's name may have, are escaped in it.
    """

    def __init__(self, text: str = "") -> None:
        super().__init__(escaped(text))


class Unfinished(BadInput):
    """A valid request that could not be finished. What was done before the error stays done."""


def lacking(error: Exception) -> str:
    """Return what the system has too little of for now, by ``error``, and what to do; "" if that is not the error."""
    each: BaseException | None = error
    # Libraries that cannot load their own parts raise errors of theirs from it.
    while each is not None:
        if isinstance(each, MemoryError) or any(sign in str(each) for sign in _WITHOUT_MEMORY):
            return f"{os.strerror(errno.ENOMEM)}: try later"
        if isinstance(each, OSError) and each.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
            return f"{os.strerror(each.errno)}: try later"
        each = each.__cause__ or each.__context__
    return ""


def not_installed(error: Exception) -> str:
    """Return which part of desdaemon an import lacks, whose folder was deleted; "" if that is not the error."""
    name = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
    return f"{name} is not installed" if name.startswith("desdaemon.") else ""


def passing_lack(error: Exception) -> str:
    """Return what `lacking` does; raises ``error``, such as that of an output that nobody reads, if nothing lacks."""
    reason = lacking(error)
    if not reason:
        raise error
    return reason


def quoted(text: str) -> str:
    """Return ``text`` in double quotes, on one line as `in_one_line` does."""
    return f'"{in_one_line(text)}"'


def in_one_line(text: str) -> str:
    """Return ``text`` as `escaped` does; the middle of a text over `LONGEST_QUOTE` characters is cut out."""
    if len(text) > LONGEST_QUOTE:
        text = f"{text[: LONGEST_QUOTE - 20]}...{text[-10:]}"
    return escaped(text)


def escaped(text: str) -> str:
    """Return ``text`` with control characters escaped, which a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escaped_lines(text: str) -> str:
    """Return ``text`` as `escaped` does, but with its line breaks and tabs."""
    return "\n".join("\t".join(map(escaped, line.split("\t"))) for line in text.split("\n"))


class Complaints:
    """Passes the first complaints on to ``tell``, and at the end of the block the number of the others."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self.count = 0
        """The complaints so far."""

    def __call__(self, line: str) -> None:
        self.count += 1
        if self.count <= MOST_COMPLAINTS:
            self._tell(line)

    def __enter__(self) -> Complaints:
        return self

    def __exit__(self, *error: object) -> None:
        if self.count > MOST_COMPLAINTS:
            self._tell(f"and {self.count - MOST_COMPLAINTS:,} more")
