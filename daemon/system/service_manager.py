"""Notices to systemd, or whatever service manager speaks its protocol (sd_notify)."""

from __future__ import annotations

import os


def notify(state: str, patience_s: float = 1.0) -> None:
    """Tell the service manager, where there is one: ``READY=1``, ``WATCHDOG=1``, ``STOPPING=1``.

    One that does not listen is waited for no longer than that.
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    import socket

    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.settimeout(patience_s)
            sender.sendto(state.encode(), "\0" + address[1:] if address.startswith("@") else address)
    except OSError:
        return


def watchdog_s() -> float:
    """The interval at which the service manager wants to hear of us, in seconds; 0 where it does not."""
    text = os.environ.get("WATCHDOG_USEC", "")
    return int(text) / 2e6 if text.isdecimal() else 0.0
