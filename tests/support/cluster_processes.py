"""A cluster of processes on this machine: a scheduler, workers, and dialogues that use them."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

COMMAND = [sys.executable, "-P", "-m", "desdaemon"]
IMPATIENT = [
    *(sys.executable, "-P", "-c"),
    "from desdaemon.cluster import connection, pool; connection.CONNECT_S, pool.LOST_S = 1, 1.0\n"
    "from desdaemon.cli.main import program; program()",
]
"""The program, which gives a scheduler a second to answer, or to come back."""

STRANGE = str(Path(__file__).with_name("strange_worker.py"))
TIMEOUT = 120


def heed_interrupts() -> None:
    """For a child: in the background of a shell a test run ignores interrupts, and so would its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Process:
    """A process of the cluster; `until` waits for a piece of what it tells on standard error."""

    def __init__(self, *arguments: str, command: Sequence[str] = (*COMMAND, "cluster")) -> None:
        self.process = subprocess.Popen(
            [*command, *arguments], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self._lines: list[str] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            with self._news:
                self._lines.append(line)
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    @property
    def told(self) -> str:
        """All that it has told so far."""
        with self._news:
            return "".join(self._lines)

    def until(self, piece: str) -> str:
        with self._news:
            heard = self._news.wait_for(
                lambda: piece in "".join(self._lines) or not self._reader.is_alive(), timeout=TIMEOUT
            )
        assert heard, self.told
        assert piece in self.told, self.told
        return self.told

    def end(self) -> int:
        """End it by SIGTERM; its exit status."""
        self.process.terminate()
        return self.process.wait(TIMEOUT)

    def close(self) -> None:
        """Make sure that it is gone."""
        self.process.kill()
        self.process.wait()
        self._reader.join(TIMEOUT)
        assert self.process.stderr
        self.process.stderr.close()


class Cluster:
    """A scheduler with a scheduler file in ``folder``, and workers of one thread each."""

    def __init__(
        self, folder: Path, *options: str, listen: str = "tcp://127.0.0.1:0", command: Sequence[str] = COMMAND
    ) -> None:
        self.file = folder / "scheduler.json"
        self.options = options
        self.command = (*command, "cluster")
        self.scheduler = Process("scheduler", "--listen", listen, "--scheduler-file", str(self.file), *options)
        self.workers: list[Process] = []
        self.scheduler.until("scheduler at")

    def start(self, name: str, *options: str) -> Process:
        """Begin to start a worker."""
        arguments = ("worker", str(self.file), "--threads", "1", "--name", name, *self.options, *options)
        worker = Process(*arguments, command=self.command)
        self.workers.append(worker)
        return worker

    def add(self, *names: str) -> list[Process]:
        """Workers that have joined."""
        workers = [self.start(name) for name in names]
        for worker in workers:
            worker.until("has joined")
        return workers

    def strange(self, kind: str) -> Process:
        """Begin to start a worker of `strange_worker`, named as its kind."""
        worker = Process(kind, str(self.file), *self.options, command=(sys.executable, STRANGE))
        self.workers.append(worker)
        return worker

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of the cluster that ends by itself."""
        return run("cluster", *arguments, str(self.file), *self.options)

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.close()


def run(*arguments: str, given: str = "", command: Sequence[str] = COMMAND) -> subprocess.CompletedProcess[str]:
    """The program from its start to its end, in a folder of its own: a book without a name is kept there."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            [*command, *arguments],
            input=given,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )


def grown(file: Path, commands: str, *options: str) -> tuple[bytes, str]:
    """The book that commands make of a new one, as Egaroucid's file, and what was said."""
    found = run("-verbose", "0", *options, given=f"book new 6 12\n{commands}\nbook export {file}\nquit\n")
    return file.read_bytes(), found.stdout + found.stderr


# Number, depth, score; nodes and line. Between them, time and nodes a second are the machine's.
_SOLVED = re.compile(r"^ *(\d+)\| +(\S+) +(\S+) +\S+:\S+ +(\d+) +(?:\d+ +)?((?:[A-Ha-hPp]\S ?)+)$", re.MULTILINE)


def solved_rows(said: str) -> list[tuple[str, ...]]:
    """The rows of `-solve`, without what the machine makes of them."""
    return _SOLVED.findall(said)
