"""The whole program with a book: killed, out of disk, stopped and given the same command again."""

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from checkout import ROOT
from toys import contents

from desdaemon.book.check import verify
from desdaemon.book.storage.store import open_store

POSITIONS = re.compile(rb"(\d+) positions[,\n]")


class Daemon:
    """The real program on pipes. Every answer is kept in ``seen``, whether it was waited for or not."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "daemon", "-verbose", "0", *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.seen = b""
        self.errors = b""
        self._changed = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read, args=(name,), daemon=True) for name in ("stdout", "stderr")
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, name: str) -> None:
        stream = getattr(self.process, name)
        while data := os.read(stream.fileno(), 65536):
            with self._changed:
                if name == "stdout":
                    self.seen += data
                else:
                    self.errors += data
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def say(self, *lines: str) -> None:
        """Send lines."""
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        self.process.stdin.flush()

    def until(self, pattern: bytes, seconds: float = 60) -> None:
        """Wait until the answers or the complaints match."""
        self._until(lambda: bool(re.search(pattern, self.seen) or re.search(pattern, self.errors)), seconds)

    def until_acknowledged(self, positions: int, seconds: float = 60) -> None:
        """Wait for a line of progress that tells of so many positions."""
        self._until(lambda: self.acknowledged() >= positions, seconds)

    def _until(self, reached: Callable[[], bool], seconds: float) -> None:
        with self._changed:
            found = self._changed.wait_for(reached, seconds)
        assert found, (self.seen, self.errors)

    def end(self) -> int:
        """Quit and wait for the end; the exit status."""
        self.say("quit")
        return self.gone()

    def gone(self) -> int:
        """Wait for the end; the exit status."""
        status = self.process.wait(120)
        for reader in self._readers:
            reader.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return status

    def acknowledged(self) -> int:
        """The number of positions in the last line of progress, 0 before the first."""
        found = [int(match[1]) for match in POSITIONS.finditer(self.seen)]
        return found[-1] if found else 0


def new_book(path: Path, *commands: str) -> None:
    daemon = Daemon()
    daemon.say("book new 3 12", f"book save {path}", *commands)
    assert daemon.end() == 0, daemon.errors


DEVIATE = "book deviate 3 5"


@pytest.mark.needs("book.growth")
@pytest.mark.posix
@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_a_killed_daemon_loses_nothing_it_told_of(kills: int, tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    new_book(path)
    rng = random.Random(kills)
    told = []
    for _ in range(kills):
        daemon = Daemon("-book-file", str(path), "-book-tasks", "2")
        daemon.say("book edit d3 0" if not told else "book show", DEVIATE)
        daemon.until(rb"by hand|Level")
        if len(told) == 1:
            # On a busy machine nothing might have been told before any of the kills.
            daemon.until_acknowledged(3)
        time.sleep(rng.uniform(0, 1.6))
        daemon.process.send_signal(signal.SIGKILL)
        daemon.gone()
        told.append(daemon.acknowledged())
        restarted = Daemon("-book-file", str(path))
        restarted.say("book show", "book verify", "book info")
        assert restarted.end() == 0
        assert restarted.errors == b"" or b"cut short by a crash" in restarted.errors
        assert b"no errors" in restarted.seen
        # The value that was set by hand was acknowledged too.
        assert b"Best score: +0" in restarted.seen
        found = re.search(rb"Positions: (\d+)", restarted.seen)
        assert found is not None
        assert int(found[1]) >= max(told)
    assert max(told) > 2
    daemon = Daemon("-book-file", str(path))
    daemon.say("book edit d3 0", DEVIATE)
    assert daemon.end() == 0
    other = tmp_path / "other.book"
    new_book(other, "book edit d3 0", DEVIATE)
    with open_store(path) as killed, open_store(other) as undisturbed:
        assert verify(killed.book).clean
        assert contents(killed.book) == contents(undisturbed.book)


def test_a_book_that_cannot_be_opened_is_mentioned_and_not_touched(tmp_path: Path) -> None:
    missing, wrong = tmp_path / "missing.dat", tmp_path / "wrong.dat"
    wrong.write_bytes(b"XADEKOOB and nothing of the kind")
    for path in (missing, wrong):
        daemon = Daemon("-book-file", str(path))
        daemon.say("book show", "moves")
        assert daemon.end() == 0
        complaints = daemon.errors.decode().splitlines()
        assert complaints[0].startswith("WARNING: book-file = ")
        assert str(path) in complaints[0]
        assert "no book is open" in complaints[1]
        assert b"F5" in daemon.seen
    assert not missing.exists()
    assert wrong.read_bytes() == b"XADEKOOB and nothing of the kind"


@pytest.mark.needs("book.growth")
def test_a_piped_stop_ends_nothing_that_comes_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All lines are there at once: the stop is heard long before the second book is begun."""
    # The first book is kept there as it is replaced.
    monkeypatch.chdir(tmp_path)
    daemon = Daemon("-book-tasks", "1")
    daemon.say("book new 1 6", "book deviate 30 60", "stop", "book new 1 6", "book deviate 3 6", "book info")
    assert daemon.end() == 0, daemon.errors
    assert re.search(rb"Book deviate 3 6\.\.\.finished", daemon.seen), (daemon.seen, daemon.errors)
    # Whether the first one had begun, and says that it was stopped, is a matter of time.
    assert b"Book deviate 30 60...finished" not in daemon.seen
