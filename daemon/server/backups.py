"""Copies of the book that a server makes at intervals, bounded in number and bytes."""

from __future__ import annotations

import contextlib
import glob
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.core.books.jobs import FAILED, BookJob
from desdaemon.core.books.running import run_command
from desdaemon.core.books.service import Books, Caller
from desdaemon.core.settings import SessionSettings
from desdaemon.protocol.commands.book import BY_NAME

if TYPE_CHECKING:
    from desdaemon.core.metrics import ServerMetrics

BACKUPS_FOLDER = "backups"
"""Name of the copies' folder in the data folder."""

RETRY_S = 600.0
"""Seconds until a failed copy is tried again, at most."""


class BackupPlan(NamedTuple):
    """A copy every ``hours`` hours, 0 for none; at most ``keep`` copies, of ``limit`` bytes in all (0: unbounded)."""

    hours: float = 0.0
    keep: int = 7
    limit: int = 0


class Backups:
    """Copies a server's book when its newest copy is old enough, by the file's time. A failure is a problem in
    ``health``, and the copy is tried again after `RETRY_S`. For one thread at a time.
    """

    def __init__(
        self, books: Books, settings: SessionSettings, folder: Path, plan: BackupPlan, health: ServerMetrics
    ) -> None:
        self._books = books
        self._settings = settings
        self._folder = folder
        self._plan = plan
        self._health = health
        self._every = 3600 * plan.hours
        self._next = 0.0
        """Nothing is due before, if the clock is not set back; seconds since 1970."""
        self._newest = ""
        """Name of the copy that was begun last."""

    def look(self, now: float) -> None:
        """Begin a copy if one is due and the book can be changed; ``now`` is in seconds since 1970."""
        if not self._plan.hours or not self._books.lasting or self._next - self._every <= now < self._next:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            times = [path.stat().st_mtime for path in self._copies()]
        except OSError as error:
            self._fail(now, error.strerror or str(error))
            return
        # Copies that a wrong clock has dated far ahead would end all copying.
        newest = max((made for made in times if made < now + self._every), default=0.0)
        self._next = now + self._every
        if now < newest + self._every:
            self._next = min(self._next, newest + self._every)
            return
        self._newest = f"{Path(self._books.file).stem}-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}.book"
        job = run_command(
            self._books, BY_NAME["backup"], {"file": str(self._folder / self._newest)}, Caller("backup", self._settings)
        )
        job.watch(lambda job: self._made(job, now))

    def _fail(self, now: float, reason: str) -> None:
        self._next = now + min(self._every, RETRY_S)
        self._health.problem("backups", f"the book is not copied to {BACKUPS_FOLDER}: {reason}")

    def _copies(self) -> list[Path]:
        """Return the copies of this book, oldest first: the time ends their names. Those with a later time than the
        newest were made with a wrong clock, and come before the others.
        """
        digit = "[0-9]"
        copies = self._folder.glob(f"{glob.escape(Path(self._books.file).stem)}-{8 * digit}-{6 * digit}.book")
        return sorted(copies, key=lambda path: (path.name <= self._newest, path.name))

    def _made(self, job: BookJob, now: float) -> None:
        if not job.over:
            return
        if job.state == FAILED:
            self._fail(now, job.error)
        elif not job.cancelled:
            self._health.problem("backups")
        copies = self._copies()
        while len(copies) > 1 and (
            len(copies) > self._plan.keep or 0 < self._plan.limit < sum(path.stat().st_size for path in copies)
        ):
            # A folder, or a file that a reader holds: the next copy tries again.
            with contextlib.suppress(OSError):
                copies.pop(0).unlink()
