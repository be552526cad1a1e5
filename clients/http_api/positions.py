"""The answers: what book, kept analyses and, where allowed, a short search say about a position."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from desdaemon.clients.asynchronous import AsyncClient
from desdaemon.clients.errors import DaemonError
from desdaemon.clients.programs.open_book import OpenBook
from desdaemon.protocol.spelling import did_you_mean
from desdaemon.protocol.wire.fields import Shape
from desdaemon.protocol.wire.messages import BY_NAME, RequestError, check_arguments
from desdaemon.protocol.wire.positions import read_line
from desdaemon.protocol.wire.replies import SHAPES

LEVEL = 16
"""Level of a search."""

MOST_WAITING = 64
"""Most requests without an answer; more are refused."""

_AT_ONCE = 4
"""Requests that the daemon has at a time; so many search threads at most are taken from others."""
_PATIENCE_S = 10.0
"""Seconds that an answer may take beyond its search."""
_NOT_SEARCHED = {"depth": 1, "selectivity": 73}
"""The limits that any kept analysis is good enough for. What is not known costs a search of one ply."""

_ANALYZE = BY_NAME["analyze"]
PARAMETERS = tuple(argument for argument in _ANALYZE.arguments if argument.name in ("board", "moves", "multipv"))
_BY_NAME = {argument.name: argument for argument in PARAMETERS}

_MOVE = ("move", "score", "lower", "upper", "depth", "selectivity", "exact", "source", "level", "pv")
_POSITION = ("board", "moves", "over", "score")
ANSWER: Shape = tuple(field for field in SHAPES["analysis"] if field.name in _POSITION)
ANSWERED_MOVE: Shape = tuple(field for field in SHAPES["move"] if field.name in _MOVE)
"""The fields of an answer: those of an analysis that stay the same as long as nothing new is known."""

Data = dict[str, Any]
Connect = Callable[[float], Awaitable[AsyncClient]]


class Away(Exception):
    """No answer can be given now; the message says why."""


def read_query(query: Mapping[str, list[bytes]]) -> Data:
    """Return the arguments of an analysis from the parameters of an address. Raises `RequestError` for an unknown, a
    repeated or a wrong parameter, for an unreadable board and an illegal move.
    """
    given: Data = {}
    for name, texts in query.items():
        if name not in _BY_NAME:
            meant = did_you_mean(name[:50], _BY_NAME, f"one of {', '.join(_BY_NAME)}")
            raise RequestError("bad_request", f"there is no parameter of this name: {meant}")
        if len(texts) > 1:
            raise RequestError("bad_request", f"{name} is given {len(texts)} times: expected once", name)
        try:
            text = texts[0].decode()
        except UnicodeDecodeError:
            raise RequestError("bad_request", f"{name}: expected UTF-8", name) from None
        number = _BY_NAME[name].kind == "int" and re.fullmatch(r"\d{1,9}", text, re.ASCII)
        given[name] = int(text) if number else text
    values, _ = check_arguments(_ANALYZE, given)
    read_line(values)
    return values


def answer(analysis: Mapping[str, Any], *, searched: bool) -> Data | None:
    """Return the answer of an analysis; None if nothing is known of the position. Without ``searched`` moves that only
    the search of one ply knows are left out.
    """
    known = [
        {name: move[name] for name in _MOVE if name in move}
        for move in analysis["moves"]
        if searched or move["source"] == "book" or move["depth"] > _NOT_SEARCHED["depth"] or move["exact"]
    ]
    found = {name: analysis[name] for name in _POSITION if name in analysis}
    return {**found, "moves": known} if known or analysis.get("over") else None


def is_proved(found: Mapping[str, Any]) -> bool:
    """Return whether an answer will never change."""
    return bool(found.get("over")) or all(move["exact"] for move in found["moves"])


class Positions:
    """Asks the daemon, a few questions at a time, over a connection of its own. ``search_ms`` are those of a search at
    most, 0 for none.
    """

    def __init__(self, connect: Connect, search_ms: int) -> None:
        self._connect = connect
        self._searched = search_ms > 0
        self._limits = {"level": LEVEL, "time_ms": search_ms} if search_ms else _NOT_SEARCHED
        self._patience_s = _PATIENCE_S + search_ms / 1000
        self._client: AsyncClient | None = None
        self._connecting = asyncio.Lock()
        self._book = OpenBook()
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0

    async def answer(self, values: Data) -> Data | None:
        """Return the answer for the arguments that `read_query` has returned; None if nothing is known. Raises `Away`
        if too many wait already, or the daemon does not answer in time.
        """
        if self._waiting >= MOST_WAITING:
            raise Away(f"{MOST_WAITING} requests wait already: try later")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._patience_s), self._turns:
                client = await self._connected()
                limits = self._limits
                if not self._searched and read_line(values).last.empties == 1:
                    # The search of one ply is exact.
                    limits = {"depth": 1}
                found = await client.request("analyze", {**values, **limits, "threads": 1})
        except (TimeoutError, DaemonError):
            # Messages of the connection have names of files in them.
            raise Away("the engine does not answer now: try later") from None
        finally:
            self._waiting -= 1
        return answer(found, searched=self._searched)

    async def _connected(self) -> AsyncClient:
        async with self._connecting:
            if self._client is None:
                self._client = await self._connect(self._patience_s)
            await self._book.wait(self._client)
            return self._client

    async def close(self) -> None:
        """Close the connection."""
        if self._client:
            await self._client.close()
