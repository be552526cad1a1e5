"""Notifications to systemd, or another service manager with its protocol (sd_notify)."""

from __future__ import annotations

import os

from desdaemon.protocol.system import platform


def notify(state: str, patience_s: float = 1.0) -> None:
    """Send a state to the service manager, if there is one: ``READY=1``, ``WATCHDOG=1``, ``STOPPING=1``.

    Waits at most ``patience_s`` for a manager that does not read.
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    try:
        with platform.ipc_socket(datagrams=True) as sender:
            sender.settimeout(patience_s)
            sender.sendto(state.encode(), "\0" + address[1:] if address.startswith("@") else address)
    except OSError:
        return


def watchdog_s() -> float:
    """The watchdog interval of the service manager in seconds; 0 without one."""
    text = os.environ.get("WATCHDOG_USEC", "")
    return int(text) / 2e6 if text.isdecimal() else 0.0
