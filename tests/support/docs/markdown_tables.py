"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def cell(text: str) -> str:
    """A text as it stands in a cell."""
    return text.replace("|", "\\|")


def rows(head: str, body: Sequence[Sequence[str]]) -> str:
    """A table; ``head`` names the columns, with ``|`` between them."""
    columns = head.split("|")
    lines = [columns, ["---"] * len(columns), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
