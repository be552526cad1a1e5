"""The gateway as a web server: the page's files, the pages of a match, and a web socket for each tab.

Each request is checked for its Host, then for its cookie or, without one, the token in its address; a web socket for
its Origin and the page's token too. All of this runs on the event loop's thread; only this module and `connections`
import Tornado. A satellite adds a `Part`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import secrets
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from tornado.httputil import HTTPHeaders
from tornado.iostream import IOStream, StreamClosedError
from tornado.web import Application, HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from desdaemon.clients.asynchronous import AsyncClient
from desdaemon.clients.errors import DaemonError

from .access import Place
from .allowed import LARGEST_FRAME
from .connections import BoundedServer
from .outbox import Outbox
from .page_files import page_files
from .tab import Tab, Unwanted
from .watched import UnusablePage, read_page

MOST_TABS = 32
_COOKIE_DAYS = 30
_PING_S = 30.0
_LARGEST_HEADER = 16 << 10
_IDLE_S = 60.0
_RETRY_S = 0.25
_CONNECT_S = 2.0
_LONGEST_CONNECT_S = 60.0
_GOING_AWAY, _POLICY, _TOO_SLOW = 1001, 1008, 1013

Connect = Callable[[float], Awaitable[AsyncClient]]
"""Makes a client of the daemon within a number of seconds. Raises `DaemonError`."""

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-cache",
}

NOT_LET_IN = "403: open the address that `desdaemon web` has printed; a cookie keeps this browser let in for 30 days.\n"


_ENTRANCE = """\
<!DOCTYPE html><title>desdaemon</title><link rel="icon" href="data:,"><meta http-equiv="refresh" content="0;url={}">
"""

_MATCH_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts"
)
"""Pages of a match have their script and style in them, connect to nothing, open no windows, and have an origin of
their own, so that nothing of the board's is theirs.
"""


Rule = tuple[str, type[RequestHandler], dict[str, Any]]
"""The pattern of the addresses that a handler answers, the handler, and the arguments of its ``initialize``."""


class Part(Protocol):
    """A part of the gateway that a satellite brings."""

    def rules(self, gateway: Gateway) -> list[Rule]:
        """Return its handlers, each a `Guarded`. Called when the gateway begins to listen."""

    async def close(self) -> None:
        """End what it does."""


class Gateway:
    """Serves the page to browsers, keeps the open tabs, and forwards the daemon's events to them."""

    def __init__(
        self,
        place: Place,
        key: bytes,
        role: str,
        connect: Connect,
        match: str = "",
        parts: Sequence[Part] = (),
    ) -> None:
        """Make a gateway at the address ``place``, whose ``key`` signs cookies and whose pages have the ``role``.
        ``match`` is the folder of the match to show or "", ``parts`` are those of satellites.
        """
        self.place, self.role, self.connect = place, role, connect
        self.match = os.path.realpath(match) if match else ""
        self._parts = parts
        self._key = key
        self._server: BoundedServer | None = None
        self.token = secrets.token_urlsafe(32)
        """For this token in the address a browser gets a cookie."""
        self.page_token = hmac.digest(key, b"page", "sha256").hex()
        """With this token, which is in the board's page, the page opens its socket: other pages cannot read it."""
        self.files = page_files(self.page_token)
        self.tabs: set[_Socket] = set()
        self.pool = ThreadPoolExecutor(1, "web-games")
        self._tasks: list[asyncio.Task[None]] = []
        self.connected = False
        """Whether the gateway's own client is connected to the daemon."""

    @property
    def cookie(self) -> str:
        """The cookie's name. It has the port in it, because browsers send a host's cookies to all its ports."""
        return f"desdaemon-{self.place.port}"

    @property
    def match_cookie(self) -> str:
        """The name of a cookie that lets in to the pages of the match alone. Browsers take a link between these pages,
        whose origin is none, for one from another site, and leave out the other cookie, which is Strict.
        """
        return f"{self.cookie}-match"

    def _application(self) -> Application:
        """Return the Tornado application: the page, its files by name, the web socket, the pages of the match if there
        is one, and nothing else.
        """
        shared = {"gateway": self}
        return Application(
            [
                (r"/socket", _Socket, shared),
                *([(r"/match/(|index\.html|game-[0-9]+\.html)", _MatchPages, shared)] if self.match else []),
                *(rule for part in self._parts for rule in part.rules(self)),
                (r"/([a-z0-9./-]*)", _File, shared),
            ],
            default_handler_class=_Nothing,
            default_handler_args=shared,
            cookie_secret=self._key,
            websocket_max_message_size=LARGEST_FRAME,
            websocket_ping_interval=_PING_S,
            log_function=lambda handler: None,
        )

    def watch(self) -> None:
        """Start to forward the daemon's events, and to tell tabs whether the daemon is reachable."""
        self._tasks.append(asyncio.get_running_loop().create_task(self._watch()))

    def listen(self, addresses: list[str], tls: ssl.SSLContext | None) -> None:
        """Listen at addresses of this machine. Raises `OSError` if that fails at the first one; others that fail are
        left out.
        """
        self._server = BoundedServer(
            self._application(),
            ssl_options=tls,
            max_header_size=_LARGEST_HEADER,
            max_body_size=0,
            idle_connection_timeout=_IDLE_S,
            body_timeout=_IDLE_S,
        )
        for number, address in enumerate(addresses):
            try:
                self._server.listen_at(self.place.port, address)
            except OSError:
                if number == 0:
                    raise

    async def close(self) -> None:
        """Close the tabs, accept no more connections and end the present ones."""
        for task in self._tasks:
            task.cancel()
        for socket in list(self.tabs):
            socket.close(_GOING_AWAY, "the gateway is about to end")
            await socket.leave()
        self.pool.shutdown(wait=False, cancel_futures=True)
        if self._server:
            self._server.stop()
            await self._server.close_all_connections()
        for part in self._parts:
            await part.close()

    def keep(self, stream: IOStream) -> None:
        """Let the connection of a tab stay, whatever comes besides: `MOST_TABS` bounds them."""
        if self._server:
            self._server.keep(stream)

    async def reach(self, away: Callable[[str], None] = lambda code: None) -> AsyncClient:
        """Return a client of the daemon, however long that takes; ``away`` is told the code of each try that fails.

        Each try waits longer: a busy daemon that needs three seconds for a newcomer would never meet one that leaves
        after two, and comes again as the last of those that wait.
        """
        patience_s = _CONNECT_S
        while True:
            try:
                return await self.connect(patience_s)
            except DaemonError as error:
                away(error.code)
            patience_s = min(2 * patience_s, _LONGEST_CONNECT_S)
            await asyncio.sleep(_RETRY_S)

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(DaemonError):
                async with await self.reach() as client:
                    await asyncio.gather(self._pass_events(client), self._observe(client))
            await asyncio.sleep(_RETRY_S)

    async def _pass_events(self, client: AsyncClient) -> None:
        async for topic, data in client.events():
            self.tell(topic, data)

    async def _observe(self, client: AsyncClient) -> None:
        while True:
            if client.connected != self.connected:
                self.connected = client.connected
                self.tell("daemon", {"connected": self.connected})
            await asyncio.sleep(_RETRY_S)

    def tell(self, topic: str, data: Mapping[str, Any]) -> None:
        """Forward an event of a topic to the tabs that want it."""
        for socket in self.tabs:
            if socket.tab:
                socket.tab.tell(topic, data)


class Guarded(RequestHandler):
    """A handler that refuses requests without the right Host and cookie."""

    def initialize(self, gateway: Gateway) -> None:
        self.gateway = gateway

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        for name, value in SECURITY_HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        if not self.gateway.place.knows_host(_only(self.request.headers, "Host")):
            self._refuse(403, "403: this is not the name of the host\n")
        elif not self._let_in():
            self._refuse(403, NOT_LET_IN)

    def _let_in(self) -> bool:
        return self._has(self.gateway.cookie)

    def _has(self, cookie: str) -> bool:
        return self.get_signed_cookie(cookie, max_age_days=_COOKIE_DAYS, min_version=2) is not None

    def _refuse(self, status: int, text: str) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(text)

    def log_exception(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Log errors of ours, and not the requests of others, who would fill the log."""
        if not isinstance(error, HTTPError):
            super().log_exception(kind, error, trace)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Send the status as a line without details."""
        self._refuse(status_code, f"{status_code}\n")


class _Nothing(Guarded):
    """Answers requests for all other paths with status 404."""

    def prepare(self) -> None:
        super().prepare()
        if not self._finished:
            self._refuse(404, "404\n")


class _Entrance(Guarded):
    """A handler of the pages where a browser exchanges the token for a cookie."""

    SUPPORTED_METHODS = ("GET", "HEAD")

    def prepare(self) -> None:
        """Let in requests with a cookie. For the right token in the address of the board or the match, send a cookie
        and a page that leads on to the address without the token. A wrong token is refused.
        """
        given = self.get_query_arguments("token")
        right_host = self.gateway.place.knows_host(_only(self.request.headers, "Host"))
        if self.request.path in ("/", "/match/") and given and right_host:
            if not hmac.compare_digest(given[0].encode(), self.gateway.token.encode()):
                self._refuse(403, NOT_LET_IN)
                return
            self._give(self.gateway.cookie, "/", "Strict")
            if self.gateway.match:
                self._give(self.gateway.match_cookie, "/match/", "Lax")
            # No redirect: after one from another site, or a file, the browser would leave the cookie out.
            self.set_header("Content-Type", "text/html; charset=utf-8")
            self.finish(_ENTRANCE.format(self.request.path))
            return
        super().prepare()

    def _give(self, cookie: str, path: str, same_site: str) -> None:
        self.set_signed_cookie(
            cookie,
            "let in",
            expires_days=_COOKIE_DAYS,
            path=path,
            httponly=True,
            samesite=same_site,
            secure=self.gateway.place.scheme == "https",
        )


class _MatchPages(_Entrance):
    """The handler of the pages that `desdaemon match --page` writes."""

    def _let_in(self) -> bool:
        return super()._let_in() or self._has(self.gateway.match_cookie)

    async def get(self, name: str) -> None:
        """Send a page as it is now; ``name`` "" is the match's first page. Without one the status is 404; for the first
        page browsers then ask again every two seconds.
        """
        try:
            data = await asyncio.to_thread(read_page, self.gateway.match, name or "index.html")
        except UnusablePage as error:
            self._refuse(404, f"404: {error}\n")
            return
        except OSError:
            if name in ("", "index.html"):
                self.set_header("Refresh", "2")
                self._refuse(404, "404: no match has written its pages yet\n")
            else:
                self._refuse(404, "404\n")
            return
        self.set_header("Content-Security-Policy", _MATCH_POLICY)
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(data)

    head = get


class _File(_Entrance):
    """The handler of the board and its files."""

    def get(self, name: str) -> None:
        """Send the page (``name`` "") or one of its files, gzipped if the browser accepts that. A file that the browser
        has already is not sent again. Other names get status 404.
        """
        file = self.gateway.files.get(name or "index.html")
        if file is None:
            self._refuse(404, "404\n")
            return
        self.set_header("Content-Type", file.type)
        self.set_header("ETag", file.tag)
        self.set_header("Vary", "Accept-Encoding")
        if self.check_etag_header():
            self.set_status(304)
            return
        if "gzip" in self.request.headers.get("Accept-Encoding", ""):
            self.set_header("Content-Encoding", "gzip")
            self.write(file.gzipped)
        else:
            self.write(file.data)

    head = get


class _Socket(Guarded, WebSocketHandler):
    """The web socket of a tab: passes frames between a browser and its `Tab`."""

    def initialize(self, gateway: Gateway) -> None:
        super().initialize(gateway)
        self.tab: Tab | None = None
        self._outbox = Outbox()
        self._filled = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._left = False

    def prepare(self) -> None:
        """Check Host, cookie, Origin and the page's token, and refuse tabs beyond `MOST_TABS`."""
        super().prepare()
        if self._finished:
            return
        host = _only(self.request.headers, "Host")
        ours = self.gateway.place.knows_origin(_only(self.request.headers, "Origin"), host)
        given = self.get_query_arguments("page")
        if not ours or len(given) != 1 or not hmac.compare_digest(given[0].encode(), self.gateway.page_token.encode()):
            self._refuse(403, "403: a socket is for our own page\n")
        elif len(self.gateway.tabs) >= MOST_TABS:
            self._refuse(503, f"503: {MOST_TABS} tabs are open\n")

    def check_origin(self, origin: str) -> bool:
        """Accept every origin: `prepare` has checked it. Tornado does not call this for requests without one."""
        return True

    def get_compression_options(self) -> dict[str, Any] | None:
        """Return None, which disables compression: frames are short, and compressing text together with a secret helps
        to guess the secret.
        """
        return None

    def open(self, *args: str, **kwargs: str) -> None:
        self.set_nodelay(True)
        self.gateway.tabs.add(self)
        if self.ws_connection and self.ws_connection.stream:
            self.gateway.keep(self.ws_connection.stream)
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._begin()), loop.create_task(self._send())]

    async def _begin(self) -> None:
        """Connect to the daemon, however long that takes, and then let the page send requests. A message to the page
        says when the first try fails, and when the connection is made.
        """
        sent = False

        def away(code: str) -> None:
            nonlocal sent
            if not sent:
                self._outbox.put(f'{{"event":"daemon","data":{{"connected":false,"code":"{code}"}}}}')
                self._filled.set()
            sent = True

        client = await self.gateway.reach(away)
        self.tab = Tab(client, self.gateway.role, self._outbox, self._woken, self.gateway.pool)
        self.tab.tell("daemon", {"connected": True})

    def _woken(self) -> None:
        self._filled.set()
        if self.tab and self.tab.overdue:
            self._drop()

    async def _send(self) -> None:
        """Send the outbox's frames, no faster than the browser reads them."""
        while True:
            await self._filled.wait()
            self._filled.clear()
            while (frame := self._outbox.take()) is not None:
                try:
                    await self.write_message(frame)
                except (WebSocketClosedError, StreamClosedError):
                    return

    def on_message(self, message: str | bytes) -> None:
        if self.tab is None:
            # The page waits until a message tells it that the daemon is there.
            self.close(_POLICY, "expected to be told of the daemon first")
            return
        try:
            self.tab.take(message)
        except Unwanted as why:
            self.close(_POLICY, str(why))

    def _drop(self) -> None:
        """Close the connection at once, without waiting until the browser reads."""
        self.close(_TOO_SLOW, "this page reads too slowly")
        stream = self.ws_connection.stream if self.ws_connection else None
        if stream:
            stream.close()

    def on_close(self) -> None:
        asyncio.get_running_loop().create_task(self.leave())

    async def leave(self) -> None:
        """Forget the tab, cancel its requests and close its client. May be called again."""
        if self._left:
            return
        self._left = True
        self.gateway.tabs.discard(self)
        for task in self._tasks:
            task.cancel()
        if self.tab:
            await self.tab.close()


def _only(headers: HTTPHeaders, name: str) -> str:
    """Return the value of a header; "" if it is missing or comes twice."""
    values = headers.get_list(name)
    return values[0] if len(values) == 1 else ""
