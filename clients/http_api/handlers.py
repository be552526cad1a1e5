"""The interface as handlers of the gateway: `/api/v1/position`, its description, and a page about it."""

from __future__ import annotations

import json
import math
import time
from typing import Any

from desdaemon.clients.web.gateway import Gateway, Guarded, Rule
from desdaemon.protocol.wire.messages import RequestError

from .openapi import description, page
from .positions import Away, Positions, is_proved, read_query
from .rates import Rates, asker
from .terms import Terms, digest

_PROVED_S, _ESTIMATED_S, _UNKNOWN_S = 86_400, 300, 60
"""How long answers may be kept."""

_OPEN = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
"""Pages from elsewhere may read what everybody may."""

_CODES = {400: "bad_request", 401: "forbidden", 403: "forbidden", 404: "not_found", 405: "bad_request"}


class Api:
    """The part of the gateway that answers programs, on the event loop's thread."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.rates = Rates()
        self.positions: Positions | None = None

    def rules(self, gateway: Gateway) -> list[Rule]:
        """Return the handlers, with the addresses that they answer."""
        self.positions = Positions(gateway.connect, self.terms.search_ms)
        shared = {"gateway": gateway, "api": self}
        return [
            (r"/api/v1/position", _Position, shared),
            (r"/api/v1/(|openapi\.json)", _Description, shared),
            (r"/api(?:/.*)?", _Nothing, shared),
        ]

    async def close(self) -> None:
        """End the connection to the daemon."""
        if self.positions:
            await self.positions.close()


class _Open(Guarded):
    """A handler for everybody, whose errors are JSON."""

    SUPPORTED_METHODS = ("GET", "HEAD", "OPTIONS")

    def initialize(self, gateway: Gateway, api: Api) -> None:  # type: ignore[override]
        super().initialize(gateway)
        self.api = api

    def set_default_headers(self) -> None:
        super().set_default_headers()
        for name, value in _OPEN.items():
            self.set_header(name, value)

    def _let_in(self) -> bool:
        return True

    def options(self, *parts: str) -> None:
        """Tell a browser that pages from elsewhere may send a key."""
        self.set_header("Access-Control-Allow-Headers", "Authorization")
        self.set_status(204)

    def _refuse(self, status: int, text: str) -> None:
        if status == 405:
            self.set_header("Allow", ", ".join(self.SUPPORTED_METHODS))
        message = text.strip().removeprefix(f"{status}").lstrip(": ")
        self.refuse(status, _CODES.get(status, "internal"), message or self._reason)

    def refuse(self, status: int, code: str, message: str, field: str = "", *, again_s: float = 0) -> None:
        """Answer with an error, which may be mended ``again_s`` seconds later."""
        self.set_status(status)
        if again_s:
            self.set_header("Retry-After", str(math.ceil(again_s)))
        self.send({"error": {"code": code, "message": message, **({"field": field} if field else {})}})

    def send(self, data: dict[str, Any]) -> None:
        """Answer with JSON."""
        self.set_header("Content-Type", "application/json; charset=utf-8")
        self.finish(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n")

    def kept(self, seconds: int) -> None:
        """Let caches keep the answer."""
        self.set_header("Cache-Control", f"public, max-age={seconds}")


class _Nothing(_Open):
    """Answers for all other addresses of the interface."""

    def get(self) -> None:
        self.refuse(404, "not_found", "there is nothing at this address: see /api/v1/")

    head = get


class _Description(_Open):
    """What the interface is, for programs and for people."""

    def get(self, name: str) -> None:
        self.kept(_ESTIMATED_S)
        if name:
            self.send(description(self.api.terms))
        else:
            self.set_header("Content-Type", "text/html; charset=utf-8")
            self.finish(page(self.api.terms))

    head = get


class _Position(_Open):
    """What a position is worth."""

    async def get(self) -> None:
        if not self._has_turn():
            return
        assert self.api.positions
        try:
            found = await self.api.positions.answer(read_query(self.request.query_arguments))
        except RequestError as error:
            self.refuse(400, error.code, error.message, error.field)
        except Away as error:
            self.refuse(503, "busy", str(error), again_s=1)
        else:
            if found is None:
                self.kept(_UNKNOWN_S)
                self.refuse(404, "not_found", "nothing is known of this position")
            else:
                self.kept(_PROVED_S if is_proved(found) else _ESTIMATED_S)
                self.send(found)

    head = get

    def _has_turn(self) -> bool:
        """Return whether the request is within the rate of its key or address; refuse it if not."""
        given = self.request.headers.get_list("Authorization")
        who, rate = asker(self.request.remote_ip or ""), self.api.terms.rate
        if given:
            scheme, _, key = given[0].partition(" ")
            known = digest(key.strip())
            if len(given) > 1 or scheme.lower() != "bearer" or known not in self.api.terms.keys:
                self.set_header("WWW-Authenticate", "Bearer")
                self.refuse(401, "forbidden", "this key is not known: expected Authorization: Bearer KEY")
                return False
            who, rate = known.hex(), self.api.terms.keys[known]
        elif not rate:
            self.set_header("WWW-Authenticate", "Bearer")
            self.refuse(401, "forbidden", "a key is needed: Authorization: Bearer KEY")
            return False
        wait = self.api.rates.wait_s(who, rate, time.monotonic())
        if wait:
            self.refuse(429, "busy", f"{rate} requests a minute are allowed: try later", again_s=wait)
        return not wait
