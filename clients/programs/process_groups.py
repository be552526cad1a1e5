"""Process groups of child programs, which end together with this process.

Each program gets a group, so that its children end with it. A group is ended by whoever started it, by
`ProcessGroups.stop` at a signal or, if this process is killed, by the system, where it can (`platform.end_with_us`), or
by a guard: a small process (`platform.GUARD`) that reads the list of groups from a pipe, and ends them when the pipe
closes.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from desdaemon.protocol.system import output, platform

END_S = 5.0
"""Longest wait for the end of a process that was killed, or of the guard: a system may fail to end one."""

_GUARD_COMMAND = (sys.executable, "-I", "-S", "-c", platform.GUARD)


class MatchStopped(Exception):
    """The match was stopped: no program may be started."""


class ProcessGroups:
    """The running process groups. Any thread may call any method; a signal handler may call only `stop`."""

    def __init__(self) -> None:
        # Reentrant: a signal handler may interrupt the main thread while that holds the lock.
        self._lock = threading.RLock()
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._stopped = False
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def stopped(self) -> bool:
        """Whether `stop` has been called."""
        return self._stopped

    def start(
        self, command: Sequence[str], error: IO[bytes] | int | None, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a program with pipes for input and output, in ``environment`` or this process's; ``error`` is its
        standard error as for `subprocess.Popen`.

        Raises `OSError` if it cannot be started, and `MatchStopped` after `stop`.
        """
        with self._lock:
            if self._stopped:
                raise MatchStopped
            if self._guard is None and platform.GUARD:
                self._guard = subprocess.Popen(
                    _GUARD_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, **platform.own_group()
                )
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=error,
                    env=environment,
                    **platform.own_group(),
                )
            except OSError:
                self._dismiss_guard()
                raise
            platform.end_with_us(process)
            self._running[process.pid] = process
            # If this process is killed before the guard knows of the program, only the end of the program's input ends
            # it.
            self._tell(f"+{process.pid}")
            # A signal handler may have called `stop` since the first check.
            if self._stopped:
                platform.end_group(process)
            return process

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the group of ``process``, which `start` returned, forget it, and wait a few seconds at most for its end;
        a thread that waits for the program sees the end of the output.
        """
        with self._lock:
            platform.end_group(process)
            self._running.pop(process.pid, None)
            self._tell(f"-{process.pid}")
            self._dismiss_guard()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)

    def stop(self) -> None:
        """Kill all groups and start no more."""
        self._stopped = True
        with self._lock:
            for process in tuple(self._running.values()):
                platform.end_group(process)

    def _dismiss_guard(self) -> None:
        """End the guard if no groups are left."""
        if not self._running and self._guard is not None:
            guard, self._guard = self._guard, None
            assert guard.stdin
            with contextlib.suppress(OSError):
                guard.stdin.close()
            try:
                guard.wait(END_S)
            except subprocess.TimeoutExpired:
                guard.kill()

    def _tell(self, line: str) -> None:
        if self._guard is not None:
            assert self._guard.stdin
            with contextlib.suppress(OSError):
                self._guard.stdin.write(f"{line}\n".encode())
                self._guard.stdin.flush()


def interrupt() -> None:
    """Raise `KeyboardInterrupt`."""
    raise KeyboardInterrupt


class StoppedBySignals:
    """A context manager: in its block, SIGINT, SIGTERM or SIGHUP calls ``stop``, wherever the main thread is then.

    ``number`` is the first signal received, 0 before. A second signal raises `KeyboardInterrupt`. Ignored signals stay
    ignored. Outside the main thread signals are left as they are.
    """

    def __init__(self, stop: Callable[[], None] = lambda: None) -> None:
        self.number = 0
        self._stop = stop
        self._before: dict[int, Any] = {}

    def call(self, stop: Callable[[], None]) -> None:
        """Have a signal call ``stop`` from now on; after a signal call it at once. A signal that comes meanwhile may
        call it once more.
        """
        self._stop = stop
        if self.number:
            stop()

    def _arrived(self, number: int, frame: object) -> None:
        output.leave_unread()
        if self.number:
            raise KeyboardInterrupt
        self.number = number
        self._stop()

    def __enter__(self) -> StoppedBySignals:
        if threading.current_thread() is threading.main_thread():
            for name in platform.ending_signals():
                if signal.getsignal(name) is not signal.SIG_IGN:
                    self._before[name] = signal.signal(name, self._arrived)
        return self

    def __exit__(self, *error: object) -> None:
        for name, handler in self._before.items():
            signal.signal(name, handler)


GROUPS = ProcessGroups()
"""The groups for callers that never end all groups at once."""
