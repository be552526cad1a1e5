"""`desdaemon serve --supervise`: a small process that restarts the daemon when it dies or gives no sign of life.

The daemon is a child in a process group of its own, with a socket for its lifeline. Terminating signals are passed on
to it; a clean exit, and one before it was ever ready, ends the supervisor with the same status.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from typing import NamedTuple

from desdaemon.protocol.system import platform
from desdaemon.protocol.system.logs import Log

from .lifeline import ALIVE, READY, VARIABLE
from .service_manager import notify

SILENCE_S = 30.0
"""A daemon that was ready and says nothing for so long is killed."""

_END_S = 15.0
_LONGEST_PAUSE_S = 5.0
_MOST_FAILURES = 20
_TICK_S = 0.5


class RestartDecision(NamedTuple):
    """The decision after the exit of a daemon: a restart after a pause, or the end with a status."""

    restart: bool
    pause_s: float = 0.0
    status: int = 0


class Policy:
    """Decides about restarts from exit statuses and times; a state machine without processes or clocks."""

    def __init__(self) -> None:
        self.restarts = 0
        self._was_ready = False
        self._failures = 0

    def ended(self, status: int, *, ready: bool, asked: bool) -> RestartDecision:
        """A daemon ended with a status, negative for a signal; ``asked``: it was asked to end.

        The first restart after a daemon that was ready comes at once; those that fail to become ready come ever later.
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


class _DaemonProcess:
    """The supervised daemon as a child process, and the messages of its lifeline."""

    def __init__(self, arguments: list[str], restarts: int) -> None:
        self.ready = False
        self._heard = time.monotonic()
        self._line, theirs = socket.socketpair()
        inherited, passing = platform.inherited_socket(theirs)
        environment = {**os.environ, VARIABLE: f"{inherited}:{restarts}"}
        # Its notices go to the supervisor, which is the process that the service manager knows.
        for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"):
            environment.pop(name, None)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "desdaemon", *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                **passing,
                **platform.own_group(session=False),
            )

    def listen(self, seconds: float) -> bytes:
        """The messages that arrive within ``seconds``; empty for none or after its exit."""
        if not select.select([self._line], [], [], seconds)[0]:
            return b""
        try:
            said = self._line.recv(4096)
        except OSError:
            said = b""
        if not said:
            # Its end is closed, so that it has ended or is about to.
            time.sleep(0.01)
        if said:
            self._heard = time.monotonic()
        self.ready = self.ready or READY in said
        return said

    @property
    def silent(self) -> bool:
        """Whether a daemon that was ready has stopped reporting."""
        return self.ready and time.monotonic() - self._heard > SILENCE_S

    def close(self) -> None:
        """Close its lifeline."""
        self._line.close()


class _Supervisor:
    """The supervisor's loop: starts the daemon, passes signals on, restarts it as `Policy` decides."""

    def __init__(self, arguments: list[str], log: Log) -> None:
        self._arguments = arguments
        self._log = log
        self._policy = Policy()
        self._child: _DaemonProcess | None = None
        self._asked: float | None = None
        for number in platform.ending_signals():
            if number != getattr(signal, "SIGHUP", None):
                signal.signal(number, self._pass_on)

    def _pass_on(self, number: int, frame: object) -> None:
        self._asked = self._asked or time.monotonic()
        notify("STOPPING=1")
        if self._child is not None and self._child.process.poll() is None:
            platform.ask_to_end(self._child.process, number)

    def run(self) -> int:
        while True:
            child = self._child = _DaemonProcess(self._arguments, self._policy.restarts)
            if self._asked:
                platform.ask_to_end(child.process, signal.SIGTERM)
            status = self._watch(child)
            child.close()
            verdict = self._policy.ended(status, ready=child.ready, asked=self._asked is not None)
            if not verdict.restart:
                return verdict.status
            reason = f"signal {-status}" if status < 0 else f"status {status}"
            self._log.error("daemon died", pid=child.process.pid, reason=reason, restarts=self._policy.restarts)
            self._pause(verdict.pause_s)

    def _watch(self, child: _DaemonProcess) -> int:
        """Wait for the exit of a daemon; returns its status."""
        reported = False
        while (status := child.process.poll()) is None:
            said = child.listen(_TICK_S)
            if READY in said and not reported:
                reported = True
                notify(f"READY=1\nMAINPID={os.getpid()}")
            if ALIVE in said:
                notify("WATCHDOG=1", patience_s=0)
            if child.silent:
                self._log.error("daemon silent", pid=child.process.pid, seconds=SILENCE_S)
                child.process.kill()
            if self._asked and time.monotonic() - self._asked > _END_S:
                child.process.kill()
        return status

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._asked and (left := until - time.monotonic()) > 0:
            time.sleep(min(_TICK_S, left))


def supervise(arguments: list[str]) -> int:
    """Run ``desdaemon`` with these arguments and restart it; returns the exit status."""
    return _Supervisor(arguments, Log()).run()
