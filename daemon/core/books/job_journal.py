"""Jobs that outlive the process: a file for each, written before the job is acknowledged, and put aside at its end.

The file has the job's command, values, board and client, and, updated once a second, its effort. The next process that
opens the same book for writing starts the job again; it continues from the present state of the book.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from desdaemon.protocol.system import files, platform
from desdaemon.protocol.system.threads import begin

from .jobs import DONE, KEPT, BookJob, Result

WRITE_S = 1.0
"""Seconds between two writes of a running job's file."""

FORGOTTEN_DAYS = 30
"""Days after which the file of a job that no process has resumed is removed."""

HOOK_S = 60.0
"""Seconds that the hook may take."""

_LARGEST = 16 << 20
"""Most bytes of a job's file: the values of a request, of at most 1 MiB, with escapes."""

Data = dict[str, Any]


class JobJournal:
    """The files of unfinished jobs, and the hook that is run when a job ends. Any thread may call the methods, but one
    at a time for each job.
    """

    def __init__(self, folder: Path, hook: Sequence[str], complain: Callable[[str], None]) -> None:
        """``hook`` is a command with its arguments, run at the end of a job with a line of JSON on standard input; if
        it is empty, none is run. ``complain`` is called with one line about each failure.
        """
        self._folder = folder
        self._ended = folder / "ended"
        self._hook = hook
        self.complain = complain

    @property
    def last(self) -> int:
        """The highest number of a stored job, ended or not; 0 if there is none."""
        return max((number for folder in (self._folder, self._ended) for number, _ in self._read(folder)), default=0)

    def entries(self) -> Iterator[tuple[int, Data]]:
        """Yield the number and content of each file, the lowest number first. If the content has the key ``ended``, the
        job has ended, but its hook has not run: call `tell` with the key's value. Otherwise the job is unfinished.
        Unreadable files are reported and skipped.
        """
        yield from self._read(self._folder)

    def ended(self) -> Iterator[tuple[int, Result]]:
        """Yield the number and the result of each of the last `KEPT` jobs that have ended, the lowest number first. The
        result has ``op``, ``client``, ``state``, ``error`` and ``started`` too. Unreadable files are reported and
        skipped.
        """
        for number, data in self._read(self._ended):
            try:
                ended = data["ended"]
                texts = {name: str(ended[name]) for name in ("op", "client", "state", "error")}
                figures = {name: int(ended.get(name, 0)) for name in ("positions", "added", "searches", "rounds")}
                lines = [str(line) for line in ended.get("text", [])]
                yield number, {**ended, **texts, **figures, "text": lines, "started": float(ended["started"])}
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
                self.complain(f"{self._ended / f'{number}.json'}: no ended job can be read there: {error}")

    def _read(self, folder: Path) -> Iterator[tuple[int, Data]]:
        for path in _files(folder):
            try:
                data = files.read_json(path, _LARGEST)
                yield int(path.stem), {**data, "values": dict(data["values"])}
            except (OSError, ValueError, KeyError, TypeError) as error:
                self.complain(f"{path}: no job can be read there: {error}")

    def take(self, number: int) -> bool:
        """Make the file for the job ``number``. Returns whether no other job has it: daemons with other books may use
        this folder. `keep` reports a file that cannot be made.
        """
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(platform.open_file(self._path(number), os.O_WRONLY | os.O_CREAT | os.O_EXCL, files.PRIVATE))
        except FileExistsError:
            return False
        except OSError:
            return True
        if (self._ended / f"{number}.json").exists():
            self._path(number).unlink(missing_ok=True)
            return False
        return True

    def keep(self, job: BookJob, data: Data) -> None:
        """Write the file of a job that has not begun, with ``data`` and the job's effort. While the job runs the file
        is updated, at most once in `WRITE_S`; at the end of the job the hook is run and the file put aside.

        A job that is interrupted because the process ends keeps its file.
        """
        written = 0.0

        def write() -> None:
            begun = {"started": job.started, "first": job.first, "games": job.games}
            self._write(job.id, {**data, **begun, "effort": job.effort})

        def follow(job: BookJob) -> None:
            nonlocal written
            if job.over and (job.state == DONE or not job.interrupted):
                ended = {"job": job.id, "op": job.op, "client": job.client, "state": job.state, "error": job.error}
                ended = {**job.result, **ended, "started": job.started}
                self._write(job.id, {**data, "ended": ended})
                self.tell(job.id, ended)
            elif job.over or time.monotonic() - written >= WRITE_S:
                written = time.monotonic()
                write()

        write()
        job.begins = write
        job.watch(follow)

    def tell(self, number: int, ended: Data) -> None:
        """Run the hook, if there is one, for the job ``number`` on a thread of its own, with the JSON of ``ended`` as
        input; then put the job's file aside.
        """
        if self._hook:
            begin(partial(self._run_hook, number, ended), f"hook-{number}")
        else:
            self._put_aside(number)

    def forget(self) -> None:
        """Remove, and report, the files not written for `FORGOTTEN_DAYS`: nobody opens their book any more."""
        oldest = time.time() - 86400 * FORGOTTEN_DAYS
        for path in self._folder.glob("*.json"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()
                    self.complain(f"{path}: this job is dropped: its book was not opened for {FORGOTTEN_DAYS} days")

    def _run_hook(self, number: int, ended: Data) -> None:
        line = json.dumps(ended).encode() + b"\n"
        try:
            subprocess.run(
                self._hook, input=line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=HOOK_S, check=True
            )
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            self.complain(f"--on-job-end: status {error.returncode}: {said}")
        except (OSError, subprocess.TimeoutExpired) as error:
            self.complain(f"--on-job-end: {error}")
        self._put_aside(number)

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.json"

    def _write(self, number: int, data: Data) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.replace(self._path(number), json.dumps(data).encode(), mode=files.PRIVATE)
        except OSError as error:
            self.complain(f"{self._path(number)}: a restart would end this job: {os.strerror(error.errno or 0)}")

    def _put_aside(self, number: int) -> None:
        """Move the file of an ended job to the last `KEPT` of such."""
        with contextlib.suppress(OSError):
            self._ended.mkdir(mode=0o700, exist_ok=True)
            self._path(number).replace(self._ended / f"{number}.json")
            for path in _files(self._ended)[:-KEPT]:
                path.unlink()


def _files(folder: Path) -> list[Path]:
    """Return the files of jobs in a folder, the lowest number first."""
    return sorted(folder.glob("*.json"), key=lambda path: (len(path.name), path.name))
