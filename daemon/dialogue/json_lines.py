"""The wire protocol's messages as JSON on standard input and output, one object a line.

After the end of the input all requests are still answered; searches without a bound are cancelled after a grace period.
"""

from __future__ import annotations

import json
import re
import threading
import time
from typing import TYPE_CHECKING, Any

from desdaemon.core.books.jobs import BookJobs
from desdaemon.core.books.service import Books
from desdaemon.core.requests.request import ClientRecord, Data, ServerLimits, refusal
from desdaemon.core.search import loader
from desdaemon.core.search.scheduler import Scheduler
from desdaemon.protocol.errors import quoted
from desdaemon.protocol.rows import ADMIN
from desdaemon.protocol.system.logs import Log
from desdaemon.protocol.system.processors import processors
from desdaemon.protocol.wire.constants import LARGEST_BODY
from desdaemon.protocol.wire.messages import RequestError, readable_id

from .dialects import Spoken
from .interrupt import UNBOUNDED_GRACE_S
from .services import Services, build_services
from .streams import InputLine, InputListener, LineQueue

if TYPE_CHECKING:
    from .session import Session
    from .streams import DialogueOutput

_POLL_S = 0.005
_KEY = re.compile(r'\s*[{,]\s*"([^"\\]*)"\s*:\s*')
_VALUE_END = re.compile(r"\s*[,}]")

TOO_LONG = "a line of "
"""How the reader's error for a too long line begins."""

LIMITS = ServerLimits(in_flight=10_000, queue=40_000, key_queue=40_000)
"""Wide limits: one client has the process to itself."""


class JsonLinesListener(InputListener):
    """The listener for lines of JSON: no line stops a search, because requests are cancelled by id."""

    longest = LARGEST_BODY


class JsonLinesDialect:
    """Passes requests to the operations and writes each reply as a line, from any thread."""

    def __init__(self, session: Session, output: DialogueOutput) -> None:
        self._session = session
        self._output = output
        self._lock = threading.Lock()
        self._client = ClientRecord("stdio", ADMIN, remote=False)
        self._ending = False
        """Whether no more requests are taken."""
        self._lost: OSError | None = None
        """Why replies cannot be delivered; None while they can."""

    def run(self, source: LineQueue, first: InputLine | None = None) -> int:
        """Answer lines until the dialogue ends. Returns the exit status; raises `OSError` if replies are lost."""
        services = self._build_services()
        line = first or source.get()
        while line.text is not None and not self._ending:
            if line.error:
                code = "too_large" if line.error.startswith(TOO_LONG) else "bad_request"
                self._reply(refusal(None, RequestError(code, line.error)))
            elif line.text.strip():
                self._line(services, line.text)
            if not self._ending:
                line = source.get()
        self._finish(services)
        if self._lost:
            raise self._lost
        return line.status

    def _build_services(self) -> Services:
        settings = self._session.settings
        shared = self._session.scheduler
        scheduler = shared if isinstance(shared, Scheduler) else Scheduler(settings.n_tasks or processors())
        books = self._session.books or Books(BookJobs())
        books.scheduler = scheduler
        return build_services(
            settings,
            loader.build_engine,
            scheduler=scheduler,
            books=books,
            limits=LIMITS,
            log=Log("warning"),
            data_folder="",
            shut_down=self._end,
        )

    def _end(self) -> None:
        self._ending = True

    def _line(self, services: Services, text: str) -> None:
        try:
            message = json.loads(text)
        except (ValueError, RecursionError) as error:
            self._reply(refusal(_id_in(text), RequestError("bad_request", f"{quoted(text)} is not JSON: {error}")))
            return
        if not isinstance(message, dict):
            self._reply(refusal(None, RequestError("bad_request", f"{quoted(text)}: expected a JSON object")))
            return
        services.operations.handle(self._client, message, self._reply)

    def _finish(self, services: Services) -> None:
        """Wait for the requests in flight, then close the services. Requests without a bound are ended after
        `UNBOUNDED_GRACE_S`, all requests at once if no replies can be delivered or a `shutdown` has come.
        """
        began = time.perf_counter()
        requests = self._client.requests
        while requests or self._client.parting:
            if self._ending:
                for request in list(requests.values()):
                    services.operations.end(request, code="shutting_down")
            elif time.perf_counter() - began > UNBOUNDED_GRACE_S:
                for request in [request for request in list(requests.values()) if request.endless]:
                    services.operations.end(request, code="shutting_down")
            time.sleep(_POLL_S)
        services.texts.close()
        services.operations.analyses.close()
        services.books.jobs.close()
        for complaint in services.books.close():
            self._output.error(complaint)

    def _reply(self, message: Data) -> None:
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":"), default=_plain)
        with self._lock:
            if self._lost:
                return
            try:
                self._output.write(line + "\n")
                self._output.flush()
            except OSError as error:
                self._lost, self._ending = error, True


def _id_in(text: str) -> str | int | None:
    """Return the id of a request that is no JSON; None if it is not found, as behind what cannot be read."""
    at = 0
    try:
        while key := _KEY.match(text, at):
            value, at = json.JSONDecoder().raw_decode(text, key.end())
            if key[1] == "id" and _VALUE_END.match(text, at):
                return readable_id({"id": value})
    except (ValueError, RecursionError):
        return None
    return None


def _plain(value: Any) -> Any:
    """Convert a value that `json` cannot encode: a number, such as one of NumPy's, to an int, anything else to text."""
    return int(value) if hasattr(value, "__int__") else str(value)


SPOKEN = Spoken(JsonLinesListener, JsonLinesDialect)
