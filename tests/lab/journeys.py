"""`python tests/lab journeys`: follow requests through the daemon, and count its modules and calls.

Each request is asked twice. The second time a profiler in every thread notes each Python function of the program that
is called, from the decoded message to the reply, the search itself (`desdaemon.engine`) left out.
"""

from __future__ import annotations

import _thread
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from operated import Operated

from desdaemon.core.search.loader import EngineConfig, LoadedEngine, build_engine
from desdaemon.protocol.command_line import Parser

LINE = "f5d6c3d3c4f4f6f3e6e7d7g6"


class Journey(NamedTuple):
    """The calls by module, and the function calls and classes by name, of one request."""

    name: str
    modules: Counter[str]
    functions: Counter[str]

    @property
    def calls(self) -> int:
        """All calls."""
        return sum(self.modules.values())

    @property
    def made(self) -> list[str]:
        """The classes of which objects were made by their own ``__init__``."""
        return sorted(name.removesuffix(".__init__") for name in self.functions if name.endswith(".__init__"))


class _Served(Operated):
    """A daemon in this process, without sockets, with the real engine."""

    share_turns = True

    def _build(self, config: EngineConfig) -> LoadedEngine:
        return build_engine(config._replace(hash_bits=16))


class Profiler:
    """Notes calls in this thread and in all that start within its context. One at a time."""

    def __init__(self) -> None:
        self._journey: Journey | None = None

    def __enter__(self) -> Profiler:
        self._begin = _thread.start_new_thread

        def begin(work: Callable[..., object], arguments: tuple[Any, ...], *named: Any) -> int:
            def run(*arguments: object) -> None:
                sys.setprofile(self._note)
                work(*arguments)

            return self._begin(run, arguments, *named)

        _thread.start_new_thread = begin
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        _thread.start_new_thread = self._begin
        threading.setprofile(None)
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        journey = self._journey
        if event == "call" and journey is not None:
            module = frame.f_globals.get("__name__", "")
            if module.startswith("desdaemon.") and not module.startswith("desdaemon.engine"):
                journey.modules[module] += 1
                journey.functions[frame.f_code.co_qualname] += 1

    def followed(self, name: str, ask: Callable[[], object]) -> Journey:
        """The journey of what ``ask`` asks, which returns when the reply has come."""
        journey = self._journey = Journey(name, Counter(), Counter())
        try:
            ask()
        finally:
            self._journey = None
        return journey


def journeys(folder: Path, profiler: Profiler) -> list[Journey]:
    """The journeys of an analysis by a long and by a short search, a line of text, and a command on the book."""
    daemon = _Served(folder, slots=1)
    operations = daemon.services.operations
    daemon.final("book.new", {"discard": True, "level": 1, "depth": 20})
    daemon.final("book.store", {"moves": "f5d6"})

    def analyze(moves: str, level: int) -> Callable[[], object]:
        message = {"v": 1, "id": 1, "op": "analyze", "args": {"moves": moves, "level": level}}
        return lambda: _waits(lambda reply: operations.handle(daemon.client, message, reply))

    def line(text: str) -> Callable[[], object]:
        message = {"v": 1, "id": 1, "op": "text", "args": {"line": text}}
        return lambda: _waits(lambda reply: operations.handle(daemon.client, message, reply))

    found = []
    for name, first, second in (
        ("analyze, level 12", analyze(LINE, 12), analyze(LINE[:-2], 12)),
        ("analyze, level 4", analyze(LINE[:-4], 4), analyze(LINE[:-6], 4)),
        ("moves", line("moves"), line("moves")),
        ("book deviate", line("book deviate 1 1"), line("book deviate 4 4")),
    ):
        first()
        found.append(profiler.followed(name, second))
    return found


def _waits(ask: Callable[[Callable[[dict[str, object]], None]], None]) -> None:
    over = threading.Event()

    def reply(message: dict[str, object]) -> None:
        if message["type"] != "partial":
            over.set()

    ask(reply)
    assert over.wait(60)


def main(arguments: list[str]) -> int:
    """Print the journeys; returns the exit status."""
    parser = Parser(prog="python tests/lab journeys", description=__doc__)
    parser.add_argument("--modules", action="store_true", help="print the modules of each, with their calls")
    shown = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, Profiler() as profiler:
        for journey in journeys(Path(folder), profiler):
            splits = journey.functions["split_line"]
            sys.stdout.write(
                f"{journey.name:18} {len(journey.modules):3} modules {journey.calls:6} calls {splits:2} splits of a "
                f"line, makes {', '.join(journey.made) or 'nothing'}\n"
            )
            if shown.modules:
                sys.stdout.writelines(f"  {calls:6} {name}\n" for name, calls in journey.modules.most_common())
    return 0
