"""Requests without any socket: the operations of a daemon whose engine pretends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_engine import FakeSearcher, build_fake
from reply_checks import reply_faults

from desdaemon.core.books.jobs import BookJobs
from desdaemon.core.books.service import Books
from desdaemon.core.requests.request import ClientRecord, ServerLimits
from desdaemon.core.search import schedule
from desdaemon.core.search.loader import EngineConfig, LoadedEngine
from desdaemon.core.search.scheduler import Lease, Purpose, Scheduler
from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.services import build_services
from desdaemon.protocol.system.logs import Log
from desdaemon.protocol.wire import codec
from desdaemon.protocol.wire.messages import BY_NAME

PATIENCE_S = 60


_open: list[Operated] = []


def close_all() -> None:
    """End what all `Operated` hold: requests, files and pools of threads. For the end of a module of tests."""
    while _open:
        operated = _open.pop()
        services = operated.services
        for client in operated.clients:
            services.operations.drop(client)
        for part in services.operations.parts.values():
            part.close()
        services.operations.analyses.close()
        services.texts.close()
        services.books.jobs.close(PATIENCE_S)
        services.books.close(discard=True)


class Operated:
    """Ask things and see the replies. ``searchers`` are the engines that were made."""

    share_turns = False
    """Whether these have ``short_searches``."""

    def __init__(
        self,
        folder: Path,
        slots: int = 1,
        limits: ServerLimits | None = None,
        book_file: str = "",
        data_folder: str | None = None,
    ) -> None:
        """``data_folder`` is the folder unless given."""
        self.folder = folder
        self.searchers: list[FakeSearcher] = []
        self.ended = threading.Event()
        self.settings = settings = SessionSettings()
        settings.level = 4
        settings.book_file = book_file
        scheduler = Scheduler(slots)
        self.services = build_services(
            settings,
            self._build,
            scheduler=scheduler,
            books=Books(BookJobs(), scheduler=scheduler, data_folder=str(folder)),
            limits=limits or ServerLimits(),
            log=Log("error"),
            data_folder=str(folder) if data_folder is None else data_folder,
            shut_down=self.ended.set,
            share_turns=self.share_turns,
        )
        self.client = ClientRecord("tester", "admin")
        self.clients: set[ClientRecord] = set()
        """Those that have asked for something."""
        self.replies: list[dict[str, Any]] = []
        self.faults: list[str] = []
        """How replies differed from the tables of the protocol, which fail the test in `ends`."""
        self._ops: dict[object, str | None] = {}
        self._news = threading.Condition()
        self._last = 0
        _open.append(self)

    def _build(self, config: EngineConfig) -> LoadedEngine:
        engine = build_fake(config)
        assert isinstance(engine.searcher, FakeSearcher)
        self.searchers.append(engine.searcher)
        return engine

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Return a context manager: within the block no search begins, because another client has all threads."""
        scheduler = self.services.scheduler
        with scheduler.turn_of(Lease(Purpose.INTERACTIVE, "other", "other", threads=scheduler.slots)):
            yield

    def request(self, op: object, args: object = None, client: ClientRecord | None = None, **envelope: object) -> Any:
        """Ask without waiting; the id."""
        self._last += 1
        message: dict[str, Any] = {"v": 1, "id": self._last, "op": op, **envelope}
        if args is not None:
            message["args"] = args
        self._ops[message["id"]] = known_operation(op)
        asking = client or self.client
        self.clients.add(asking)
        self.services.operations.handle(asking, message, self._reply)
        return message["id"]

    def _reply(self, message: dict[str, Any]) -> None:
        # Replies are prepared maps, which a client decodes as plain ones.
        faults = reply_faults(self._ops.get(message["id"]), codec.decode(codec.encode(message)))
        with self._news:
            self.faults += faults
            self.replies.append(message)
            self._news.notify_all()

    def ends(self, wanted: object) -> list[dict[str, Any]]:
        """All replies to a request, the last one last; waits for it."""
        due = time.monotonic() + PATIENCE_S
        with self._news:
            while True:
                found = [reply for reply in self.replies if reply["id"] == wanted]
                assert not self.faults, "\n".join(self.faults)
                if found and found[-1]["type"] != "partial":
                    return found
                assert self._news.wait(due - time.monotonic()), f"no end of {wanted}: {found}"

    def ask(self, op: object, args: object = None, **envelope: object) -> dict[str, Any]:
        """The last reply."""
        return self.ends(self.request(op, args, **envelope))[-1]

    def final(self, op: str, args: object = None, client: ClientRecord | None = None) -> dict[str, Any]:
        """The data of a request that succeeds."""
        reply = self.ends(self.request(op, args, client))[-1]
        assert reply["type"] == "final", reply
        data: dict[str, Any] = reply["data"]
        return data

    def code(self, op: object, args: object = None, client: ClientRecord | None = None, **envelope: object) -> str:
        """The code of a request that is refused."""
        reply = self.ends(self.request(op, args, client, **envelope))[-1]
        assert reply["type"] == "error", reply
        return str(reply["error"]["code"])


def known_operation(op: object) -> str | None:
    """The operation of that name, None where there is none."""
    return op if isinstance(op, str) and op in BY_NAME else None


def keep_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a running search keep its thread, however long it takes until a test has asked for something else.

    Short searches do not interrupt each other, and in this test all of them are short.
    """
    monkeypatch.setattr(schedule, "SHORT_S", 3600.0)
