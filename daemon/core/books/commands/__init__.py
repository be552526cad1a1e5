"""The book commands: the handler of each by its name."""

from __future__ import annotations

from desdaemon.core.books.command_run import Work

from . import changing, games, growing, loading, looking

WORK: dict[str, Work] = {**loading.WORK, **games.WORK, **looking.WORK, **growing.WORK, **changing.WORK}
