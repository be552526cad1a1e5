"""What a request holds is freed when it ends, and not when the garbage collector looks at everything, minutes later."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from fake_engine import ENDLESS_DEPTH
from operated import Operated
from waits import until

from desdaemon.core.requests.request import ClientRecord
from desdaemon.core.search.loader import EngineConfig, LoadedEngine
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Line, Result
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity

ROUNDS = 3


class _ShortSearches:
    """Answers every position with a pass."""

    def search(self, questions: Sequence[tuple[int, int, Limits]]) -> list[Result | None]:
        zero = MoverScore(0)
        line = Line(64, zero, zero, zero, 4, Selectivity.FULL, (64,), 1, 0.1, 30)
        return [Result((line,), 1, 0.1, True) for _ in questions]

    def stop(self) -> None: ...


class _SharingDaemon(Operated):
    """With engines that answer many short questions in one turn."""

    share_turns = True

    def _build(self, config: EngineConfig) -> LoadedEngine:
        return super()._build(config)._replace(short_searches=_ShortSearches())


@contextmanager
def cycles_of_the_program(most: int) -> Iterator[None]:
    """Fail where more than ``most`` objects of one of the program's types are left to the collector."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield
        gc.collect()
        left = Counter(type(each).__qualname__ for each in gc.garbage if type(each).__module__.startswith("desdaemon."))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not {name: number for name, number in left.items() if number > most}


@pytest.mark.parametrize("make", [Operated, _SharingDaemon])
def test_requests_leave_no_cycles(make: type[Operated], tmp_path: Path) -> None:
    daemon = make(tmp_path, slots=2)
    daemon.final("book.new", {"discard": True, "level": 4, "depth": 10})
    daemon.final("book.store", {"moves": "f5d6"})

    def everything() -> None:
        daemon.final("ping")
        daemon.final("text", {"line": "version"})
        daemon.final("text", {"line": "go"})
        daemon.final("analyze", {"moves": "f5d6", "depth": 3, "book": "ignore"})
        daemon.final("analyze", {"moves": "f5d6c3", "depth": 4, "plies": [0, 1, 2], "multipv": 2, "book": "ignore"})
        daemon.final("book.get", {"moves": "f5"})
        daemon.final("book.store", {"moves": "f5d6"})
        assert daemon.code("analyze", {"moves": "x"}) == "bad_request"
        endless = daemon.request("analyze", {"moves": "f5", "depth": ENDLESS_DEPTH})
        waiting = [daemon.request("analyze", {"moves": "f5f6", "depth": ENDLESS_DEPTH}) for _ in range(3)]
        daemon.final("cancel", {"target": endless, "keep": True})
        daemon.final("cancel", {"all": True})
        for number in (endless, *waiting):
            daemon.ends(number)
        gone = ClientRecord("gone", "reader")
        daemon.request("analyze", {"moves": "f5f4", "depth": ENDLESS_DEPTH}, gone)
        daemon.services.operations.drop(gone)
        until(lambda: daemon.services.scheduler.running == 0 and daemon.services.scheduler.queued == 0)
        daemon.replies.clear()

    everything()
    with cycles_of_the_program(ROUNDS - 1):
        for _ in range(ROUNDS):
            everything()
