"""A gateway as a process of its own, and what may come to its door: HTTP as written, and sockets of pages."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from checkout import ROOT
from served import PATIENCE_S, heed_signals
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

Data = dict[str, Any]


class Web:
    """`desdaemon web` on a free port, or on the one given; ``cookie`` is what its token was exchanged for.

    ``trust`` is how its certificate is checked where it has one. ``running`` are all that have not been ended.
    """

    running: ClassVar[set[Web]] = set()

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        port: int = 0,
        trust: ssl.SSLContext | None = None,
        **environment: str,
    ) -> None:
        self.folder = folder
        self._trust = trust
        self._arguments = arguments
        self._port = port
        self._environment = {**os.environ, "DESDAEMON_RUNTIME_DIR": str(folder / "run-web"), **environment}
        self.start()

    def start(self) -> None:
        """Start it and wait for the address that it prints."""
        self.errors = self.folder / "web-errors"
        command = [sys.executable, "-m", "daemon", "web", "--no-browser", "--listen", f":{self._port}"]
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(
                [*command, *self._arguments],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                preexec_fn=heed_signals,
                text=True,
            )
        self.running.add(self)
        assert self.process.stdout
        self.address = self.process.stdout.readline().strip()
        assert self.address, self.errors.read_text()
        parts = urlsplit(self.address)
        self.token = parts.query.removeprefix("token=")
        self._port = self.port = parts.port or 0
        self.host = f"127.0.0.1:{self.port}"
        self.origin = f"{parts.scheme}://{self.host}"
        self.cookie = self.let_in(self.token)
        shown = re.search(rb'<meta name="page" content="([^"]+)">', self.get("/")[2])
        self.page = shown[1].decode() if shown else ""
        """The token that the page has for its socket."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """A test that failed before it ended the gateway leaves none behind."""
        if self.process.poll() is None:
            self.kill()

    def let_in(self, token: str) -> str:
        """The cookie that a token is exchanged for, as a Cookie header; empty where it is refused."""
        return next(iter(self.cookies(f"/?token={token}")), "").partition(";")[0]

    def cookies(self, path: str) -> list[str]:
        """The Set-Cookie headers of the answer to a request without a cookie; none where it is refused."""
        status, headers, _ = self.get(path, cookie="")
        return headers.get("set-cookie", "").splitlines() if status == 200 else []

    def get(
        self, path: str, *, method: str = "GET", cookie: str | None = None, host: str = "", body: str = "", **more: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers (what came twice in lines) and body of a request; the path is sent as it is written."""
        connection = (
            http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE_S, context=self._trust)
            if self._trust
            else http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        )
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            cookie = self.cookie if cookie is None else cookie
            headers = {"Host": host or self.host, **({"Cookie": cookie} if cookie else {}), **more}
            if body:
                headers["Content-Length"] = str(len(body))
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders(body.encode() or None)
            answer = connection.getresponse()
            found = {name.lower(): "\n".join(answer.headers.get_all(name, [])) for name in answer.headers}
            return answer.status, found, answer.read()
        finally:
            connection.close()

    @asynccontextmanager
    async def socket(self, *, page: str | None = None, **headers: str) -> AsyncIterator[Page]:
        """A page's socket that has been told of the daemon; headers may be changed, or left out when empty, and the
        ``page``'s token changed.
        """
        given = {"Host": self.host, "Origin": self.origin, "Cookie": self.cookie, **headers}
        token = self.page if page is None else page
        request = HTTPRequest(
            f"{'wss' if self._trust else 'ws'}://127.0.0.1:{self.port}/socket?page={token}",
            headers={name: value for name, value in given.items() if value},
            connect_timeout=PATIENCE_S,
            request_timeout=PATIENCE_S,
            ssl_options=self._trust,
        )
        talk = Page(await websocket_connect(request))
        try:
            assert (await talk.next())["data"]["connected"]
            yield talk
        finally:
            talk.connection.close()
            with contextlib.suppress(EOFError):
                while True:
                    await talk.next()

    def kill(self) -> None:
        """End it without a word."""
        self.process.kill()
        self._gone()

    def end(self) -> int:
        """Ask it to end; its exit status."""
        self.process.terminate()
        return self._gone()

    def _gone(self) -> int:
        status = self.process.wait(PATIENCE_S)
        self.running.discard(self)
        assert self.process.stdout
        self.process.stdout.close()
        return status


class Page:
    """A socket as a page has it."""

    def __init__(self, connection: WebSocketClientConnection) -> None:
        self.connection = connection
        self._last = 0
        self._ended = False

    async def next(self) -> Data:
        """The next frame; `EOFError` where the gateway has closed the socket."""
        # After the end there is no second end to be read.
        frame = None if self._ended else await self.connection.read_message()
        if frame is None:
            self._ended = True
            raise EOFError(self.connection.close_code)
        found: Data = json.loads(frame)
        return found

    def request(self, op: str, args: Data | None = None, **more: Any) -> Any:
        """Make a request; its id."""
        self._last += 1
        message = {"v": 1, "id": self._last, "op": op, "args": args or {}, **more}
        self.connection.write_message(json.dumps(message))
        return message["id"]

    async def replies(self, wanted: Any) -> list[Data]:
        """The replies to a request up to its last."""
        found: list[Data] = []
        while not found or found[-1]["type"] == "partial":
            reply = await self.next()
            if "event" not in reply and reply["id"] == wanted:
                found.append(reply)
        return found

    async def ask(self, op: str, args: Data | None = None, **more: Any) -> Data:
        """The last reply to a request."""
        return (await self.replies(self.request(op, args, **more)))[-1]

    async def final(self, op: str, args: Data | None = None) -> Data:
        """The data of a request that succeeds."""
        reply = await self.ask(op, args)
        assert reply["type"] == "final", reply
        data: Data = reply["data"]
        return data

    async def refused(self, op: str, args: Data | None = None, **more: Any) -> str:
        """The code of a request that fails."""
        reply = await self.ask(op, args, **more)
        assert reply["type"] == "error", reply
        return str(reply["error"]["code"])
