"""`desdaemon serve --supervise`: a small process that restarts the daemon, its child, if it dies.

It passes terminating signals on, and ends when `Policy` says so. It is not needed under systemd or in containers, which
restart by themselves.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.system import platform
from desdaemon.protocol.system.logs import Log
from desdaemon.protocol.wire.connection import connection_path, read_connection

RESTARTS = "DESDAEMON_RESTARTS"
"""Environment variable that tells a daemon how often it was restarted."""

_END_S = 15.0
_LONGEST_PAUSE_S = 5.0
_MOST_FAILURES = 20
_TICK_S = 0.2


class RestartDecision(NamedTuple):
    """Restart after ``pause_s``, or end the supervisor with ``status``."""

    restart: bool
    pause_s: float = 0.0
    status: int = 0


class Policy:
    """Decides on restarts from exit statuses and times; no processes, no clocks."""

    def __init__(self) -> None:
        self.restarts = 0
        self._was_ready = False
        self._failures = 0

    def ended(self, status: int, *, ready: bool, asked: bool) -> RestartDecision:
        """Decide what follows the end of a daemon.

        ``status`` is negative after a signal; ``ready`` says that the daemon has listened, ``asked`` that it was asked
        to end. A daemon that was ready is restarted at once. Each one that was not ready doubles the pause before the
        next, up to five seconds. The supervisor ends

        - with the daemon's status (0 after a signal) if the daemon was asked to end or its status is 0;
        - with the daemon's status (1 after a signal) if no daemon was ever ready;
        - with 1 after twenty daemons in a row that were not ready.
        """
        if asked or status == 0:
            return RestartDecision(False, status=max(0, status))
        if not ready and not self._was_ready:
            return RestartDecision(False, status=status if status > 0 else 1)
        self._was_ready = True
        self._failures = 0 if ready else self._failures + 1
        if self._failures >= _MOST_FAILURES:
            return RestartDecision(False, status=1)
        self.restarts += 1
        pause = 0.0 if ready else min(_LONGEST_PAUSE_S, 0.1 * 2 ** (self._failures - 1))
        return RestartDecision(True, pause)


class _Supervisor:
    """Starts the daemon, passes signals on, and restarts it as `Policy` decides."""

    def __init__(self, arguments: list[str], log: Log) -> None:
        self._command = [sys.executable, "-P", "-m", "desdaemon", *arguments]
        self._log = log
        self._policy = Policy()
        self._child: subprocess.Popen[bytes] | None = None
        self._asked = False
        for number in platform.ending_signals():
            if number != getattr(signal, "SIGHUP", None):
                signal.signal(number, self._pass_on)

    def _pass_on(self, number: int, frame: object) -> None:
        self._asked = True
        if self._child is not None and self._child.poll() is None:
            # Never SIGINT: Ctrl-C reaches the child from the terminal, and a second SIGINT would end it at once.
            platform.ask_to_end(self._child, signal.SIGTERM)
            kill = threading.Timer(_END_S, self._child.kill)
            kill.daemon = True
            kill.start()

    def run(self) -> int:
        while True:
            child = self._child = subprocess.Popen(
                self._command,
                env={**os.environ, RESTARTS: str(self._policy.restarts)},
                stdin=subprocess.DEVNULL,
                **platform.asked_child(),
            )
            platform.end_with_us(child)
            if self._asked:
                platform.ask_to_end(child, signal.SIGTERM)
            while (status := child.poll()) is None:
                time.sleep(_TICK_S)
            verdict = self._policy.ended(status, ready=_has_listened(child.pid), asked=self._asked)
            if not verdict.restart:
                return verdict.status
            reason = f"signal {-status}" if status < 0 else f"status {status}"
            self._log.error("daemon died", pid=child.pid, reason=reason, restarts=self._policy.restarts)
            until = time.monotonic() + verdict.pause_s
            while not self._asked and time.monotonic() < until:
                time.sleep(_TICK_S)


def _has_listened(process: int) -> bool:
    """Return whether a daemon that has died had listened. If so, the connection file has its number, ``process``."""
    try:
        return read_connection(connection_path()).pid == process
    except (BadInput, OSError):
        return False


def supervise(arguments: list[str]) -> int:
    """Run ``desdaemon`` with these arguments, restarting it. Returns the exit status."""
    return _Supervisor(arguments, Log()).run()
