"""`AsyncHandle`: a request in flight."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any, Generic, TypeVar

from .errors import DaemonError, TimedOut, from_reply
from .results import Data

P = TypeVar("P")
F = TypeVar("F")

_MOST_PARTIALS_KEPT = 1_000


class AsyncHandle(Generic[P, F]):
    """A request in flight: iterate its partials of type P, await its final of type F, or `cancel` it.

    Iteration ends with the request, also if it fails. At most a thousand partials wait to be iterated; older ones are
    dropped. ``warnings`` are the daemon's, in order.
    """

    def __init__(
        self,
        number: int,
        op: str,
        body: bytes,
        read_partial: Callable[[Data], P | None],
        read_final: Callable[[Data], F],
        send_cancel: Callable[[AsyncHandle[Any, Any], bool], Awaitable[bool]],
    ) -> None:
        self.id = number
        self.op = op
        self.body = body
        self.sent = False
        self.deadline = 0.0
        self.warnings: list[str] = []
        self._read_partial = read_partial
        """Converts a partial; None leaves it out."""
        self._read_final = read_final
        self._send_cancel = send_cancel
        self._partials: deque[P] = deque(maxlen=_MOST_PARTIALS_KEPT)
        self._changed = asyncio.Event()
        self._final: asyncio.Future[F] = asyncio.get_running_loop().create_future()
        # Otherwise asyncio reports an error of a request whose final nobody asks for.
        self._final.add_done_callback(lambda future: future.cancelled() or future.exception())

    @property
    def done(self) -> bool:
        """Whether the request has ended, with a final or an error."""
        return self._final.done()

    def outcome(self) -> F:
        """Return the final of a request that is `done`, or raise its error."""
        return self._final.result()

    def when_done(self, callback: Callable[[], None]) -> None:
        """Have the event loop call ``callback`` when the request has ended, or soon if it has already."""
        self._final.add_done_callback(lambda future: callback())

    async def cancel(self, *, keep: bool = False) -> bool:
        """Cancel the request. Returns False if it had ended already.

        After a cancel `result` raises `Cancelled`, whose ``found`` has the results so far of an analysis. With ``keep``
        `result` returns these results instead, if there are any. Raises `ConnectionLost` if the connection breaks
        meanwhile.
        """
        return not self.done and await self._send_cancel(self, keep)

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the final or an error, raise neither, and return True. After ``timeout_s`` (None: never) return
        False; the request goes on.
        """
        await asyncio.wait((self._final,), timeout=timeout_s)
        return self.done

    async def result(self, timeout_s: float | None = None) -> F:
        """Wait for the final and return it. Raises `DaemonError`: the reply's error, `ConnectionLost`, or `TimedOut`
        after ``timeout_s`` (None: never).

        A timeout cancels the request; so does cancelling the waiting task.
        """
        try:
            done, _ = await asyncio.wait((self._final,), timeout=timeout_s)
        except asyncio.CancelledError:
            self._give_up()
            raise
        if not done:
            self._give_up()
            raise TimedOut(f"no final reply to {self.op} within {timeout_s} s")
        return self._final.result()

    def _give_up(self) -> None:
        task = asyncio.ensure_future(self.cancel())
        # Nobody waits for this answer, which may fail if the daemon is gone.
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    def __await__(self) -> Generator[Any, None, F]:
        return self.result().__await__()

    def __aiter__(self) -> AsyncIterator[P]:
        return self

    async def __anext__(self) -> P:
        while not self._partials:
            if self.done:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._partials.popleft()

    def take(self, reply: Data) -> bool:
        """Process a reply of the daemon: store a partial, end the request with a final, an error or an unreadable
        reply. Returns whether the request is done.
        """
        data = reply.get("data")
        try:
            self.warnings += map(str, reply.get("warnings") or ())
            if reply.get("type") == "error":
                failure = from_reply(reply.get("error"))
                if isinstance(data, dict):
                    failure.found = self._read_final(data)
                self.fail(failure)
            elif reply.get("type") == "final":
                self._end(self._read_final(data if isinstance(data, dict) else {}))
            else:
                partial = self._read_partial(data if isinstance(data, dict) else {})
                if partial is not None:
                    self._partials.append(partial)
                    self._changed.set()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self.fail(DaemonError("internal", f"the reply to {self.op} cannot be understood: {error!r}"))
        return self.done

    def _end(self, final: F) -> None:
        if not self.done:
            self._final.set_result(final)
        self._changed.set()

    def fail(self, error: DaemonError) -> None:
        """End the request with an error, unless it is done."""
        if not self.done:
            self._final.set_exception(error)
        self._changed.set()
