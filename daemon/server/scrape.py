"""Metrics over HTTP, for Prometheus and similar programs: ``GET /metrics``, on the loop of the sockets."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
from collections.abc import Callable
from functools import partial

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.system import platform
from desdaemon.server.transport.poller import READ, WRITE, Poller

from .endpoints import is_loopback

_CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_LONGEST_REQUEST = 8192
_MOST_CONNECTIONS = 32
_PATIENCE_S = 10.0
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")


def checked_address(text: str, *, insecure: bool) -> tuple[str, int]:
    """Return host and port that ``--metrics`` names.

    Raises `BadInput` for no address and, unless ``insecure``, for one that other machines can reach.
    """
    match = _ADDRESS.fullmatch(text)
    if not match or int(match[2]) > 65_535:
        raise BadInput(f"--metrics {quoted(text)}: expected an address such as 127.0.0.1:9464")
    if not insecure and not is_loopback(f"tcp://{text}"):
        raise BadInput(f"--metrics {quoted(text)}: beyond this machine it needs --insecure")
    return match[1].strip("[]"), int(match[2])


class _Exchange:
    """An HTTP connection: the request received so far, and the response left to send."""

    def __init__(self, accepted: socket.socket, since: float) -> None:
        self.socket = accepted
        self.since = since
        self.request = b""
        self.response: memoryview | None = None


class Scrape:
    """Answers requests for the metrics, over a few connections at a time. For the loop's thread, except `__init__`."""

    def __init__(self, host: str, port: int, text: Callable[[], str]) -> None:
        """Listen at ``port`` of ``host``; ``text`` returns the metrics. Raises `BadInput` if it cannot listen there."""
        self._text = text
        self._poller: Poller | None = None
        self._exchanges: dict[int, _Exchange] = {}
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            platform.claim_port(self._listening)
            self._listening.bind((host, port))
            self._listening.listen()
        except OSError as error:
            self._listening.close()
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error
            raise BadInput(f"--metrics {host}:{port}: {reason}") from None
        self._listening.setblocking(False)
        self.port: int = self._listening.getsockname()[1]

    def attach(self, poller: Poller) -> None:
        """Answer requests from now on, on the thread that runs ``poller``."""
        self._poller = poller
        poller.register(self._listening.fileno(), READ, self._on_listening)

    def _on_listening(self, mask: int) -> None:
        assert self._poller is not None
        now = time.monotonic()
        with contextlib.suppress(OSError):
            accepted, _ = self._listening.accept()
            accepted.setblocking(False)
            if len(self._exchanges) >= _MOST_CONNECTIONS:
                self._close(min(self._exchanges.values(), key=lambda exchange: exchange.since))
            exchange = self._exchanges[accepted.fileno()] = _Exchange(accepted, now)
            self._poller.register(accepted.fileno(), READ, partial(self._on_exchange, exchange))
        for late in [exchange for exchange in self._exchanges.values() if now - exchange.since > _PATIENCE_S]:
            self._close(late)

    def _on_exchange(self, exchange: _Exchange, mask: int) -> None:
        try:
            if exchange.response is None:
                self._read(exchange)
            else:
                self._write(exchange)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._close(exchange)

    def _read(self, exchange: _Exchange) -> None:
        assert self._poller is not None
        data = exchange.socket.recv(_LONGEST_REQUEST)
        exchange.request += data
        if b"\r\n\r\n" in exchange.request or b"\n\n" in exchange.request:
            exchange.response = memoryview(self._respond(exchange.request))
            self._poller.modify(exchange.socket.fileno(), WRITE)
            self._write(exchange)
        elif not data or len(exchange.request) > _LONGEST_REQUEST:
            self._close(exchange)

    def _write(self, exchange: _Exchange) -> None:
        assert exchange.response is not None
        exchange.response = exchange.response[exchange.socket.send(exchange.response) :]
        if not exchange.response:
            self._close(exchange)

    def _respond(self, request: bytes) -> bytes:
        method, _, rest = request.split(b"\r\n", 1)[0].partition(b" ")
        path = rest.split(b" ")[0].split(b"?")[0]
        if path not in (b"/metrics", b"/"):
            status, kind, body = "404 Not Found", "text/plain", "expected /metrics\n"
        elif method not in (b"GET", b"HEAD"):
            status, kind, body = "405 Method Not Allowed", "text/plain", "expected GET\n"
        else:
            status, kind, body = "200 OK", _CONTENT_TYPE, self._text()
        content = body.encode()
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + (b"" if method == b"HEAD" else content)

    def _close(self, exchange: _Exchange) -> None:
        assert self._poller is not None
        descriptor = exchange.socket.fileno()
        if self._exchanges.pop(descriptor, None) is not None:
            self._poller.unregister(descriptor)
            with contextlib.suppress(OSError):
                exchange.socket.shutdown(socket.SHUT_WR)
            exchange.socket.close()
