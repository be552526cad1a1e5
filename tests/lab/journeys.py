"""`python tests/lab journeys`: follow requests through the daemon, and count its modules and calls.

Each request is asked twice. The second time a profiler in every thread notes each Python function of the program that
is called, from the decoded message to the reply: the check of the arguments, the reading of the moves or the line, the
search's turn, the answer as data. The ends of the way are left out: carriers and codecs in front (the message is handed
in decoded, and the reply is taken as data), the engine, the library of the book with the rules as far as these call
them, and the helpers for the operating system (`protocol/system`). Nothing else is.

The objects are those that a question passes through or becomes: instances of the counted modules' classes, named tuples
too; the engine's own records (limits, lines, results) are at the end of the way and not among them.
"""

from __future__ import annotations

import _thread
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from desdaemon.core.books.jobs import BookJobs
from desdaemon.core.books.service import Books
from desdaemon.core.requests.request import ClientRecord, Data, ServerLimits
from desdaemon.core.search.loader import build_engine
from desdaemon.core.search.scheduler import Scheduler
from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.services import build_services
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.system.logs import Log

_LEFT_OUT = ("desdaemon.engine.", "desdaemon.book.", "desdaemon.protocol.system.")

LINE = "f5d6c3d3c4f4f6f3e6e7d7g6"


class Journey(NamedTuple):
    """The calls of one request, by module and by function, and the classes of the objects that it makes, those without
    an ``__init__`` of their own (enumerations, exceptions) left out.
    """

    name: str
    modules: Counter[str]
    functions: Counter[str]
    made: set[str]

    @property
    def calls(self) -> int:
        """All calls."""
        return sum(self.modules.values())

    @property
    def readings(self) -> int:
        """How often the line of the request, of text or of moves, is read."""
        return max(self.functions["read_line"], self.functions["parse_moves"])


def _is_counted(module: str, caller: FrameType | None) -> bool:
    """Return whether a call into a module is part of a journey; rules that the engine or the book call are not."""
    if not module.startswith("desdaemon.") or module.startswith(_LEFT_OUT):
        return False
    calling = caller.f_globals.get("__name__", "") if caller is not None else ""
    return not (module.startswith("desdaemon.protocol.othello.") and calling.startswith(_LEFT_OUT))


class _Served:
    """A daemon in this process, without sockets, with the real engine and one search thread."""

    def __init__(self, folder: Path) -> None:
        settings = SessionSettings()
        scheduler = Scheduler(1)
        self.services = build_services(
            settings,
            lambda config: build_engine(config._replace(hash_bits=16)),
            scheduler=scheduler,
            books=Books(BookJobs(), scheduler=scheduler, data_folder=str(folder)),
            limits=ServerLimits(),
            log=Log("error"),
            data_folder=str(folder),
            shut_down=lambda: None,
            share_turns=True,
        )
        self.client = ClientRecord("lab", "admin")

    def ask(self, operation: str, **arguments: object) -> None:
        """Carry out a request, and wait for its reply."""
        over = threading.Event()
        replies: list[Data] = []

        def reply(message: Data) -> None:
            if message["type"] != "partial":
                replies.append(message)
                over.set()

        message = {"v": 1, "id": 1, "op": operation, "args": arguments}
        self.services.operations.handle(self.client, message, reply)
        assert over.wait(60)
        assert replies[0]["type"] == "final", replies[0]

    def close(self) -> None:
        """End what it holds: files, and pools of threads."""
        self.services.operations.analyses.close()
        self.services.texts.close()
        self.services.books.jobs.close(60)
        self.services.books.close(discard=True)


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
            if module.startswith("namedtuple_"):
                made = frame.f_locals["_cls"]
                if _is_counted(made.__module__, frame.f_back):
                    journey.made.add(made.__name__)
            elif _is_counted(module, frame.f_back):
                journey.modules[module] += 1
                journey.functions[frame.f_code.co_qualname] += 1
                if frame.f_code.co_name == "__init__":
                    journey.made.add(type(frame.f_locals["self"]).__name__)

    def followed(self, name: str, ask: Callable[[], object]) -> Journey:
        """The journey of what ``ask`` asks, which returns when the reply has come."""
        journey = self._journey = Journey(name, Counter(), Counter(), set())
        try:
            ask()
        finally:
            self._journey = None
        return journey


def journeys(folder: Path, profiler: Profiler) -> list[Journey]:
    """The journeys of an analysis by a long and by a short search, a line of text, and a command on the book."""
    daemon = _Served(folder)
    daemon.ask("book.new", discard=True, level=1, depth=4)
    daemon.ask("book.store", moves="f5d6")
    ways = (
        ("analyze, level 12", "analyze", {"moves": LINE, "level": 12}, {"moves": LINE[:-2], "level": 12}),
        ("analyze, level 4", "analyze", {"moves": LINE[:-4], "level": 4}, {"moves": LINE[:-6], "level": 4}),
        ("moves", "text", {"line": "moves"}, {"line": "moves"}),
        ("book deviate", "text", {"line": "book deviate 1 1"}, {"line": "book deviate 2 2"}),
    )
    found = []
    for name, operation, first, second in ways:
        daemon.ask(operation, **first)
        time.sleep(0.05)  # The search threads have gone back to wait.
        found.append(profiler.followed(name, partial(daemon.ask, operation, **second)))
    daemon.close()
    return found


def main(arguments: list[str]) -> int:
    """Print the journeys; returns the exit status."""
    parser = Parser(prog="python tests/lab journeys", description=__doc__)
    parser.add_argument("--modules", action="store_true", help="print the modules of each, with their calls")
    shown = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, Profiler() as profiler:
        for journey in journeys(Path(folder), profiler):
            sys.stdout.write(
                f"{journey.name:18} {len(journey.modules):3} modules {journey.calls:6} calls "
                f"{journey.readings:2} readings of a line, makes {', '.join(sorted(journey.made)) or 'nothing'}\n"
            )
            if shown.modules:
                sys.stdout.writelines(f"  {calls:6} {name}\n" for name, calls in journey.modules.most_common())
    return 0
