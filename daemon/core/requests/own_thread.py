"""A thread for the requests of one operation, for which look-ups in the book and other operations must not wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.core.threads import ThreadPool, step_back
from desdaemon.protocol.wire.messages import RequestError

if TYPE_CHECKING:
    from .request import Data, PendingRequest


class OwnThread:
    """Answers the requests of an operation one after another, on a thread that starts with the first of them."""

    def __init__(self, operation: str, mistake: Callable[[str], None]) -> None:
        """``mistake`` is called with the name of the ``operation`` after an unexpected exception."""
        self._operation = operation
        self._mistake = mistake
        self._pool = ThreadPool(1, operation, step_back)

    def answer(self, request: PendingRequest, work: Callable[[], Data]) -> None:
        """Queue a request, which is replied to with the result of ``work``. Returns at once."""

        def carry_out() -> None:
            try:
                request.final(work())
            except RequestError as error:
                request.fail(error)
            except Exception:
                self._mistake(self._operation)
                request.fail(RequestError("internal", "an internal error: see the daemon's log"))

        self._pool.submit(carry_out)
