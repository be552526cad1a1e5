"""Metrics over HTTP, for Prometheus and similar programs: ``GET /metrics``, on threads of their own."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.system import logs, platform

_CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_MOST_CONNECTIONS = 32
_PATIENCE_S = 10.0
_PAUSE_S = 0.1


class Scrape(ThreadingTCPServer):
    """Answers requests for the metrics, each connection on a thread."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, text: Callable[[], str]) -> None:
        """Listen at ``port`` of ``host``; ``text`` returns the metrics. Raises `BadInput` if it cannot listen there."""
        self.text = text
        self._last: deque[socket.socket] = deque()
        """The connections accepted last, open or closed."""
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Exchange, bind_and_activate=False)
        try:
            platform.claim_port(self.socket)
            self.server_bind()
            self.server_activate()
        except OSError as error:
            self.server_close()
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error
            raise BadInput(f"--metrics {host}:{port}: {reason}") from None
        self.port: int = self.socket.getsockname()[1]

    def start(self) -> None:
        """Answer requests from now on."""
        threading.Thread(target=self.serve_forever, name="metrics", daemon=True).start()

    def get_request(self) -> Any:
        """Accept a connection. Raises `OSError`, after a moment: without descriptors the next try would come at once,
        and the next, without end.
        """
        try:
            return super().get_request()
        except OSError:
            time.sleep(_PAUSE_S)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection on a thread of its own, and end the oldest where too many are open."""
        self._last.append(request)
        if len(self._last) > _MOST_CONNECTIONS:
            with contextlib.suppress(OSError):
                self._last.popleft().shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def handle_error(self, request: object, client_address: object) -> None:
        """Report an error, unless it is that of a connection that has ended or taken too long."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            logs.message(f"metrics: {error!r}", level="error")


class _Exchange(BaseHTTPRequestHandler):
    """An HTTP connection: a request and its response."""

    server: Scrape
    timeout = _PATIENCE_S

    def do_GET(self) -> None:
        """Send the metrics; of another path, status 404."""
        if self.path.partition("?")[0] not in ("/metrics", "/"):
            self.send_error(404, "expected /metrics")
            return
        content = self.server.text().encode()
        self.send_response(200)
        self.send_header("Content-Type", _CONTENT_TYPE)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_HEAD = do_GET

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing: programs ask every few seconds."""
