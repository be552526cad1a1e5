"""A tab's conversation: frames in, frames out, and its own client of the daemon.

A frame is a message of the wire protocol as JSON. `Tab` runs on the event loop's thread and knows no HTTP; its frames
go into an `Outbox`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from desdaemon.clients.asynchronous import AsyncClient
from desdaemon.clients.errors import DaemonError
from desdaemon.clients.handle import AsyncHandle
from desdaemon.protocol.errors import BadInput, lacking
from desdaemon.protocol.system import logs
from desdaemon.protocol.wire.constants import VERSION
from desdaemon.protocol.wire.messages import ROLES, RequestError, readable_id

from . import allowed
from .games import ANSWERS
from .outbox import Outbox, TooFarBehind

MOST_IN_FLIGHT = 64
"""Most requests of a tab without a final."""

MOST_MALFORMED = 100
"""Malformed frames after which a tab is closed."""


_SHARED_TOPICS = ("job.", "book")
_TOPICS = ("status",)

Data = dict[str, Any]


class Unwanted(Exception):
    """The tab must be closed; the message is the reason in one line."""


class Tab:
    """One open page: ``client`` is its client of the daemon, ``role`` the highest role that it may have.

    ``wake`` is called when a frame is put into the outbox; ``pool`` runs work that takes long.
    """

    def __init__(
        self, client: AsyncClient, role: str, outbox: Outbox, wake: Callable[[], None], pool: Executor
    ) -> None:
        self._client = client
        self._role = role
        self._outbox = outbox
        self._wake = wake
        self._pool = pool
        self._following: frozenset[str] = frozenset()
        self._handles: dict[str | int, AsyncHandle[Any, Any] | None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._malformed = 0
        self.overdue = False
        """Whether the tab must be closed because it reads too slowly."""

    def take(self, frame: str | bytes) -> None:
        """Carry out a frame of the page: start the request in it, or answer a wrong frame with an error. Raises
        `Unwanted` after `MOST_MALFORMED` wrong frames.
        """
        number: str | int | None = None
        try:
            message = _parsed(frame)
            number = readable_id(message)
            op, args, warnings = allowed.check(message, self._role)
            self._admit(number)
        except RequestError as error:
            self._refuse(number, error)
            return
        assert number is not None
        self._handles[number] = None
        task = asyncio.get_running_loop().create_task(self._carry_out(number, op, args, warnings))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def tell(self, topic: str, data: Mapping[str, Any]) -> None:
        """Forward an event, of the daemon or the gateway, if the tab wants it."""
        if topic.startswith(_SHARED_TOPICS) or topic in ("daemon", *self._following):
            self._put({"event": topic, "data": data}, ("event", topic))

    async def close(self) -> None:
        """Cancel all requests of the tab, and close its client."""
        for task in self._tasks:
            task.cancel()
        await self._client.close()

    # Requests

    def _admit(self, number: str | int | None) -> None:
        if number in self._handles:
            raise RequestError("duplicate_id", f"id {number}: a request of this id is still in flight", "id")
        if len(self._handles) >= MOST_IN_FLIGHT:
            raise RequestError("busy", f"{MOST_IN_FLIGHT} requests are in flight: try later")

    def _refuse(self, number: str | int | None, error: RequestError) -> None:
        self._put({"v": VERSION, "id": number, "type": "error", "seq": 0, "error": error.data()})
        if error.code in ("bad_request", "unknown_op", "unsupported_version", "forbidden"):
            self._malformed += 1
            if self._malformed >= MOST_MALFORMED:
                raise Unwanted(f"{MOST_MALFORMED} frames that are no requests a page may make")

    async def _carry_out(self, number: str | int, op: str, args: Data, warnings: list[str]) -> None:
        reply: Data = {"v": VERSION, "id": number, "seq": 0}
        if warnings:
            reply["warnings"] = warnings
        try:
            if op == "cancel" and "job" not in args:
                data = await self._cancel(args)
            elif op in ANSWERS:
                data = await asyncio.get_running_loop().run_in_executor(self._pool, ANSWERS[op], args)
            elif op == "web.follow":
                data = self._follow(args)
            elif op == "web.commands":
                data = {"commands": allowed.command_forms(self._role)}
            else:
                args |= await self._copy() if op == allowed.SAVE else {}
                data = await self._ask(number, op, args, reply)
            self._put({**reply, "type": "final", "data": data})
        except BadInput as error:
            self._put({**reply, "type": "error", "error": {"code": "bad_request", "message": str(error)}})
        except RequestError as error:
            self._put({**reply, "type": "error", "error": error.data()})
        except DaemonError as error:
            refusal = {"code": error.code, "message": error.message, **({"field": error.field} if error.field else {})}
            so_far_data = {"data": error.found} if isinstance(error.found, dict) else {}
            self._put({**reply, "type": "error", "error": refusal, **so_far_data})
        except Exception as error:
            reason = lacking(error)
            told = "" if reason else logs.trace(error)
            if told:
                logs.message(f"{op}: {told}", "desdaemon web", level="error")
            self._put(
                {**reply, "type": "error", "error": {"code": "internal", "message": reason or "an internal error"}}
            )
        finally:
            self._handles.pop(number, None)

    async def _ask(self, number: str | int, op: str, args: Data, reply: Data) -> Data:
        """Send a request to the daemon and forward its partials to the page, as copies of ``reply``, in which ``seq``
        and the warnings are updated. While it runs, the page may cancel it by ``number``. Returns the final's data;
        raises `DaemonError`.
        """
        handle: AsyncHandle[Data, Data] = self._client.start(op, args)
        self._handles[number] = handle
        async for partial in handle:
            replaces = (number, partial.get("ply")) if op == "analyze" else (number,)
            self._put({**reply, "type": "partial", "data": partial}, replaces)
            reply["seq"] += 1
        final = await handle
        if handle.warnings:
            reply["warnings"] = [*reply.get("warnings", ()), *handle.warnings]
        return self._reduced(final) if op == "hello" else final

    async def _copy(self) -> Data:
        """Return the arguments for saving the book: the name of a new file if the book in use cannot be changed, else
        {}.
        """
        book = (await self._client.status())["book"]
        if book["writable"]:
            return {}
        return {"file": f"{Path(book['path']).stem}-{time.strftime('%Y%m%d-%H%M%S')}.book"}

    def _reduced(self, hello: Data) -> Data:
        """Return the daemon's greeting, changed for the page: with the lower of the daemon's role and the page's, and
        only the operations that the page may request.
        """
        role = min(str(hello.get("role")), self._role, key=lambda one: ROLES.index(one) if one in ROLES else 0)
        offered = hello.get("ops", ())
        ops = [op for op in allowed.operations(role) if op in offered or op.startswith("web.")]
        return {**hello, "role": role, "ops": ops}

    async def _cancel(self, args: Data) -> Data:
        keep = bool(args.get("keep"))
        if args.get("all"):
            running = [handle for handle in self._handles.values() if handle is not None]
            ended = [await handle.cancel(keep=keep) for handle in running]
            return {"cancelled": any(ended), "number": sum(ended)}
        target = args.get("target")
        if target is None:
            raise RequestError(
                "bad_request", "target is missing: expected the id of a request, a job, or all", "target"
            )
        handle = self._handles.get(target)
        return {"cancelled": handle is not None and await handle.cancel(keep=keep)}

    def _follow(self, args: Data) -> Data:
        topics = args["topics"]
        if not all(topic in _TOPICS for topic in topics):
            raise RequestError("bad_request", f"topics: expected a list of {' '.join(_TOPICS)}", "topics")
        self._following = frozenset(topics)
        return {"topics": sorted(self._following)}

    # Frames

    def _put(self, message: Data, replaces: Hashable = None) -> None:
        try:
            self._outbox.put(json.dumps(message, separators=(",", ":")), replaces)
        except TooFarBehind:
            self.overdue = True
        self._wake()


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _parsed(frame: str | bytes) -> Data:
    """Return the map in a frame. Raises `RequestError` for bytes and for text that is no JSON map."""
    if isinstance(frame, bytes):
        raise RequestError("bad_request", "binary data: expected a text frame with JSON")
    try:
        message = json.loads(frame, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise RequestError("bad_request", "the frame is no JSON: expected a map of v, id, op and args") from None
    if not isinstance(message, dict):
        raise RequestError("bad_request", "the frame is no map: expected one of v, id, op and args")
    return message
