"""Requests to a site with lichess's API: streams of JSON lines, and posts.

After a broken connection, an unreadable answer or a status other than 200 and 400 to 499, a request is sent again after
1, 2, 4 ... up to 60 seconds. After status 429 (slow down) no request is sent for a minute, as the API asks, or for as
long as the answer's ``Retry-After`` says. Nothing
that the site sends, or does not send, holds a post for longer than `PATIENCE_S` and an answer, or one post behind
another for longer than `TURN_S`.
"""

from __future__ import annotations

import http.client
import io
import json
import math
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.version import __version__

SILENCE_S = 30.0
"""Seconds for a whole answer, and for each line of a stream; a working one sends an empty line every few seconds."""

PATIENCE_S = 60.0
"""Seconds for which a post without an answer is sent again."""
TURN_S = 1.0
"""Longest wait of a post for the one before it, seconds."""

SLOW_DOWN_S = 60.0
LONGEST_SLOW_DOWN_S = 600.0
LONGEST_PAUSE_S = 60.0
_LONGEST_LINE = 1 << 20

_T = TypeVar("_T")


class ApiRefusal(Exception):
    """The server refuses a request for good: a ``status`` from 400 to 499 other than 429, with its message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ApiSilence(Exception):
    """The site has not answered, or has said nothing of a game, for as long as one waits."""


class _Later(Exception):
    """The request may be sent again after ``pause`` seconds; 0 stands for a pause that doubles with each try."""

    def __init__(self, pause: float, message: str) -> None:
        super().__init__(message)
        self.pause = pause


class Api:
    """Sends requests with a token to a site. Any thread may call the methods; posts are sent one at a time."""

    def __init__(self, url: str, token: str, tell: Callable[[str], None], closing: threading.Event) -> None:
        """``token`` is sent with each request; ``tell`` is called with a message about each wait. Setting ``closing``
        ends waits and streams.

        Raises `BadInput` for an ``url`` other than ``https://HOST``; on this machine http will do. A token that is not
        of ASCII raises it too.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise BadInput(f"--server {quoted(url)}: expected https://HOST") from None
        local = parts.hostname in ("127.0.0.1", "::1", "localhost")
        if parts.hostname is None or parts.path.strip("/") or parts.scheme not in ("https", "http"):
            raise BadInput(f"--server {quoted(url)}: expected https://HOST")
        if parts.scheme == "http" and not local:
            raise BadInput(f"--server {quoted(url)}: expected https: the token is a password")
        if not token.isascii():
            raise BadInput("expected a token of ASCII characters")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, port
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": f"desdaemon/{__version__}"}
        self._tell = tell
        self._closing = closing
        self._posts = threading.Lock()
        """Held by the post whose turn it is."""
        self._resume_at = 0.0
        """Until when, in seconds of the monotonic clock, the site wants no requests."""
        self._expected: dict[str, float] = {}
        """Streams that end, by path, and when, in seconds of the monotonic clock."""

    def get(self, path: str) -> Any:
        """Return the JSON object that answers a GET; {} if the answer is empty. Raises `ApiRefusal`, and
        `InterruptedError` if ``closing`` is set when the request would have to be repeated.
        """
        return self._patiently(lambda: self._once("GET", path, None))

    def objects(self, path: str) -> list[dict[str, Any]]:
        """Return the JSON objects, one a line, that answer a GET. Raises as `get` does."""
        return self._patiently(lambda: list(self._answered_lines(path)), PATIENCE_S)

    def post(self, path: str, form: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Send ``form``'s fields by a POST, again if there is no answer, and return the JSON object that answers it.

        Raises `ApiRefusal`, `ApiSilence` if there is no answer within `PATIENCE_S`, and `InterruptedError` if
        ``closing`` is set when the request would have to be repeated.
        """
        return self._patiently(lambda: self._in_turn(path, form or {}), PATIENCE_S)

    def expect(self, path: str, seconds: float) -> None:
        """End the stream at ``path`` by `ApiSilence` in so many seconds, unless this is called again before."""
        self._expected[path] = time.monotonic() + seconds

    def forget(self, path: str) -> None:
        """Forget what `expect` noted of a stream."""
        self._expected.pop(path, None)

    def lines(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield the JSON objects of the stream at ``path`` without end. If the stream ends or breaks, it is requested
        again after a pause.

        Raises `ApiRefusal`, `ApiSilence` as `expect` says, and `InterruptedError` once ``closing`` is set. While the
        stream is silent, that may be noticed only after `SILENCE_S`.
        """
        tries = 0
        while True:
            try:
                for message in self._stream(path):
                    tries = 0
                    yield message
            except _Later as later:
                self._check(path)
                self._wait(path, later, tries)
                tries += 1

    def _check(self, path: str) -> None:
        if time.monotonic() > self._expected.get(path, math.inf):
            raise ApiSilence("the site says nothing new")

    def _patiently(self, request: Callable[[], _T], patience: float = math.inf) -> _T:
        tries, until = 0, time.monotonic() + patience
        while True:
            try:
                return request()
            except _Later as later:
                if time.monotonic() > until:
                    raise ApiSilence(f"no answer: {later}") from None
                self._wait("", later, tries)
                tries += 1

    def _in_turn(self, path: str, form: Mapping[str, str]) -> dict[str, Any]:
        """Send a POST once, after the one before or, if that gets no answer, after `TURN_S`."""
        turn = self._posts
        if not turn.acquire(timeout=TURN_S):
            # That one may hold its turn for a minute: who comes next waits for this post instead.
            self._posts = turn = threading.Lock()
            turn.acquire()
        try:
            return self._once("POST", path, form)
        finally:
            turn.release()

    def _wait(self, path: str, later: _Later, tries: int) -> None:
        pause = later.pause or min(2.0**tries, LONGEST_PAUSE_S)
        self._tell(f"{self._host}{path}: {later}: trying again in {pause:g} s")
        if self._closing.wait(pause):
            raise InterruptedError

    def _once(self, method: str, path: str, form: Mapping[str, str] | None) -> dict[str, Any]:
        with self._answer(method, path, form) as (response, _):
            body = response.read(_LONGEST_LINE)
            answer = json.loads(body) if body.strip() else {}
            if not isinstance(answer, dict):
                raise ValueError
            return answer

    def _answered_lines(self, path: str) -> Iterator[dict[str, Any]]:
        with self._answer("GET", path, None) as (response, _):
            for line in response.read(_LONGEST_LINE).splitlines():
                if line.strip():
                    message = json.loads(line)
                    if isinstance(message, dict):
                        yield message

    def _stream(self, path: str) -> Iterator[dict[str, Any]]:
        with self._answer("GET", path, None) as (response, connection):
            while not self._closing.is_set():
                self._check(path)
                connection.wait_for(SILENCE_S)
                line = response.readline(_LONGEST_LINE)
                if not line.endswith(b"\n"):
                    raise _Later(0, "the stream broke off" if line else "the stream has ended")
                if line.strip():
                    message = json.loads(line)
                    if isinstance(message, dict):
                        yield message
            raise InterruptedError

    @contextmanager
    def _answer(
        self, method: str, path: str, form: Mapping[str, str] | None
    ) -> Iterator[tuple[http.client.HTTPResponse, _TimedSocket]]:
        """Send a request and yield the response, of status 200, and its connection; `ValueError` in the block means
        that it is unreadable.

        Raises `ApiRefusal` if the server refuses the request for good, `_Later` if it may be sent again, and
        `InterruptedError` once the bot ends.
        """
        if self._closing.wait(max(0.0, self._resume_at - time.monotonic())):
            raise InterruptedError
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=SILENCE_S)
        headers = dict(self._headers)
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            connection.connect()
            timed = _TimedSocket(connection.sock)
            connection.sock = timed
            connection.request(method, path, None if form is None else urlencode(form), headers)
            response = connection.getresponse()
            if response.status == 429:
                pause = _slow_down_s(response)
                self._resume_at = time.monotonic() + pause
                raise _Later(pause, "told to slow down")
            if 400 <= response.status < 500:
                raise ApiRefusal(response.status, _error_of(response.read(_LONGEST_LINE), response))
            if response.status != 200:
                raise _Later(0, f"status {response.status}")
            yield response, timed
        except (OSError, http.client.HTTPException) as error:
            if self._closing.is_set():
                raise InterruptedError from None
            raise _Later(0, str(error) or type(error).__name__) from None
        except (ValueError, RecursionError, OverflowError):
            # A chunk may be of any size.
            raise _Later(0, "an answer that is not a JSON object") from None
        finally:
            connection.close()


def _slow_down_s(response: http.client.HTTPResponse) -> float:
    """Return how many seconds a refusal of status 429 asks to wait."""
    asked = response.headers.get("Retry-After", "")
    return min(max(1.0, float(asked)), LONGEST_SLOW_DOWN_S) if re.fullmatch(r"\d{1,9}", asked) else SLOW_DOWN_S


def _error_of(text: bytes, response: http.client.HTTPResponse) -> str:
    """Return the reason of a refusal, quoted in one line: the ``error`` of the JSON in ``text``, else the words of the
    status.
    """
    try:
        error = json.loads(text)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        error = response.reason
    return quoted(str(error))


class _TimedSocket:
    """A connection's socket as `http.client` uses it, whose reads end in time however slowly the other side sends."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._until = 0.0
        self.wait_for(SILENCE_S)

    def wait_for(self, seconds: float) -> None:
        """Let all reads end in so many seconds from now on."""
        self._until = time.monotonic() + seconds

    def sendall(self, data: bytes) -> None:
        self._socket.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._socket, lambda: self._until - time.monotonic()))

    def close(self) -> None:
        self._socket.close()


class _TimedReader(io.RawIOBase):
    def __init__(self, connected: socket.socket, left: Callable[[], float]) -> None:
        self._socket, self._left = connected, left
        self._file = connected.makefile("rb", 0)
        """It keeps the connection open until the response is read."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._left()
        if left <= 0:
            raise TimeoutError("no answer in time")
        self._socket.settimeout(left)
        return self._file.readinto(buffer) or 0

    def close(self) -> None:
        self._file.close()
        super().close()
