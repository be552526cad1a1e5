"""`desdaemon warmup`: compiles the engine's and the book's kernels ahead of their first use."""

from __future__ import annotations

from collections.abc import Sequence

from desdaemon.engine.warmup import command_line

__all__ = ["command_line", "main"]


def main(argv: Sequence[str]) -> int:
    """As `desdaemon.engine.warmup.main`, for both libraries."""
    from desdaemon.book.exports import SPEC as BOOK
    from desdaemon.engine.exports import SPEC as ENGINE
    from desdaemon.engine.warmup import main as warm_up

    return warm_up(argv, (ENGINE, BOOK))
