"""`desdaemon warmup`: compile the kernels of engine and book before their first use."""

from __future__ import annotations

from collections.abc import Sequence

from desdaemon.engine.warmup import command_line

__all__ = ["command_line", "main"]


def main(argv: Sequence[str]) -> int:
    """Compile the kernels of engine and book that are not in the cache or, with ``--check``, only look whether some are
    missing. Returns the exit status: 1 if something failed or is missing.
    """
    from desdaemon.engine.compiler.inspect import specs
    from desdaemon.engine.warmup import main as warm_up

    return warm_up(argv, specs())
