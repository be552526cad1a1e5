"""Copies of the book that a server makes at intervals, bounded in number and bytes."""

from __future__ import annotations

import contextlib
import glob
import time
from pathlib import Path
from typing import NamedTuple

from desdaemon.core.books.jobs import FAILED, BookJob
from desdaemon.core.books.running import run_command
from desdaemon.core.books.service import Books, Caller
from desdaemon.core.settings import SessionSettings
from desdaemon.protocol.commands.book import BY_NAME
from desdaemon.protocol.system import logs

BACKUPS_FOLDER = "backups"
"""Name of the copies' folder in the data folder."""


class BackupPlan(NamedTuple):
    """A copy every ``hours`` hours, 0 for none; at most ``keep`` copies, of ``limit`` bytes in all (0: unbounded)."""

    hours: float = 0.0
    keep: int = 7
    limit: int = 0


class Backups:
    """Copies a server's book when its newest copy is old enough, by the file's time. For one thread at a time."""

    def __init__(self, books: Books, settings: SessionSettings, folder: Path, plan: BackupPlan) -> None:
        self._books = books
        self._settings = settings
        self._folder = folder
        self._plan = plan
        self._next = 0.0

    def look(self, now: float) -> None:
        """Begin a copy if one is due and the book can be changed; ``now`` is in seconds since 1970."""
        if not self._plan.hours or now < self._next or not self._books.lasting:
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        every = 3600 * self._plan.hours
        self._next = max((path.stat().st_mtime + every for path in self._copies()), default=now)
        if now < self._next:
            return
        self._next = now + every
        name = f"{Path(self._books.file).stem}-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}.book"
        job = run_command(
            self._books, BY_NAME["backup"], {"file": str(self._folder / name)}, Caller("backup", self._settings)
        )
        job.watch(self._made)

    def _copies(self) -> list[Path]:
        """Return the copies of this book, oldest first: the time ends their names."""
        digit = "[0-9]"
        return sorted(self._folder.glob(f"{glob.escape(Path(self._books.file).stem)}-{8 * digit}-{6 * digit}.book"))

    def _made(self, job: BookJob) -> None:
        if job.state == FAILED:
            logs.message(f"backup: {job.error}", level="error", event="book")
        if not job.over:
            return
        copies = self._copies()
        while len(copies) > 1 and (
            len(copies) > self._plan.keep or 0 < self._plan.limit < sum(path.stat().st_size for path in copies)
        ):
            # A folder, or a file that a reader holds: the next copy tries again.
            with contextlib.suppress(OSError):
                copies.pop(0).unlink()
