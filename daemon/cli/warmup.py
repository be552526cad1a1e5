"""`desdaemon warmup`: compile the kernels of engine and book before their first use."""

from __future__ import annotations

from collections.abc import Sequence

from desdaemon.engine.warmup import command_line

__all__ = ["command_line", "main"]


def main(argv: Sequence[str]) -> int:
    """Compile both libraries, as `desdaemon.engine.warmup.main` does. Returns the exit status."""
    from desdaemon.book.exports import SPEC as BOOK
    from desdaemon.engine.exports import SPEC as ENGINE
    from desdaemon.engine.warmup import main as warm_up

    return warm_up(argv, (ENGINE, BOOK))
