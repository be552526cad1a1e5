"""The errors that become a line for whoever asked, and how messages quote input."""

from __future__ import annotations

LONGEST_QUOTE = 60


class BadInput(ValueError):
    """Invalid input; the message is one line that names it and says what was expected."""


class Unfinished(BadInput):
    """Something that was asked for rightly could not be finished; what was done of it is kept."""


def quoted(text: str) -> str:
    """``text`` in double quotes on one line: control characters escaped, the middle of a long one left out."""
    shown = text
    if len(shown) > LONGEST_QUOTE:
        shown = f"{shown[: LONGEST_QUOTE - 20]}...{shown[-10:]}"
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)
    return f'"{shown}"'
