"""The exceptions of requests.

DaemonError             an error reply; `code` is one of the codes of the wire protocol
  Cancelled             cancelled by this client or another
  TimedOut              no answer in the time allowed; the request was cancelled
  ConnectionLost        the connection broke and the request may have been carried out or not
  Forked                the client was inherited over a fork
  NoDaemon              nothing answers at the endpoint, or no endpoint was found
"""

from __future__ import annotations

from typing import Any


class DaemonError(Exception):
    """A request without a result. ``code`` is the reason as a word, ``field`` the argument at fault or "".

    ``found`` has the results so far, in the form of the final, of an analysis that was cancelled or ended with the
    daemon; None for other requests and without results.
    """

    def __init__(self, code: str, message: str, field: str = "") -> None:
        super().__init__(f"{code}: {message}" + (f" ({field})" if field else ""))
        self.code = code
        self.message = message
        self.field = field
        self.found: Any = None


def told(error: Exception) -> str:
    """Return an error's message for people, without the code."""
    return error.message if isinstance(error, DaemonError) else str(error)


class Cancelled(DaemonError):
    """The request was cancelled."""

    def __init__(self, message: str = "the request was cancelled", field: str = "") -> None:
        super().__init__("cancelled", message, field)


class TimedOut(DaemonError):
    """No answer in the time allowed; the request was cancelled."""

    def __init__(self, message: str) -> None:
        super().__init__("timed_out", message)


class ConnectionLost(DaemonError):
    """The connection broke before the answer; the request may have been carried out."""

    def __init__(self, message: str) -> None:
        super().__init__("connection_lost", message)


class Forked(DaemonError):
    """The client was inherited over a fork: its connection and threads belong to the process that made it."""

    def __init__(self, maker: int) -> None:
        super().__init__("forked", f"this client belongs to process {maker}: connect again after a fork")


class NoDaemon(DaemonError):
    """No daemon answers at the endpoint, or no endpoint is known."""

    def __init__(self, message: str) -> None:
        super().__init__("no_daemon", message)


def from_reply(error: object) -> DaemonError:
    """Return the exception for the map ``error`` of a reply; anything else counts as an error ``internal``."""
    fields = error if isinstance(error, dict) else {}
    code, message, field = (str(fields.get(name) or "") for name in ("code", "message", "field"))
    return Cancelled(message, field) if code == "cancelled" else DaemonError(code or "internal", message, field)
