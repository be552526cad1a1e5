"""Errors that become one line for the user, and quotation of input in messages."""

from __future__ import annotations

LONGEST_QUOTE = 60


class BadInput(ValueError):
    """Invalid input; the message is one line that quotes the input and says what was expected."""


class Unfinished(BadInput):
    """A valid request that could not be finished; partial results are kept."""


def quoted(text: str) -> str:
    """Return ``text`` in double quotes on one line: control characters escaped, the middle of a long text left out."""
    shown = text
    if len(shown) > LONGEST_QUOTE:
        shown = f"{shown[: LONGEST_QUOTE - 20]}...{shown[-10:]}"
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)
    return f'"{shown}"'
