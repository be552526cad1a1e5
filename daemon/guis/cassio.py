"""Cassio's engine protocol over a session.

Cassio asks for the state of a running search and may stop it at any moment, so a search has a thread of its own. Other
commands wait for the end of the search.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from desdaemon.core.search.loader import Abandoned, EngineFailure
from desdaemon.dialogue.dialects import Spoken
from desdaemon.dialogue.dialects.dialect import LineDialect
from desdaemon.dialogue.session import Session
from desdaemon.dialogue.streams import DialogueOutput, InputLine, InputListener, LineQueue
from desdaemon.guis.codecs import cassio
from desdaemon.guis.codecs.cassio import CassioTask
from desdaemon.protocol.errors import BadInput, lacking, passing_lack, quoted
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.version import __version__

if TYPE_CHECKING:
    from desdaemon.dialogue.interrupt import StoppableSearch
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Line, Result

READY = "ready."


class CassioListener(InputListener):
    """Hears Cassio's lines: ``stop`` and ``quit`` end the running search as soon as they arrive, even while earlier
    lines wait for its end.
    """

    strict = False
    scripted = False

    def hear(self, number: int, line: str) -> bool:
        command = cassio.split_line(line)[0]
        if command in ("stop", "quit"):
            self.interrupt.stop(number, abandon=command == "quit")
        return False


class CassioDialect(LineDialect):
    """Answers Cassio: starts searches and reports on the running one."""

    def __init__(self, session: Session, output: DialogueOutput) -> None:
        super().__init__(session, output)
        self._running: _Running | None = None
        self._lock = threading.Lock()
        self._handlers: dict[str, Callable[[str], None]] = {
            "init": self._init,
            "get-version": lambda rest: self.say(f"version: desdaemon {__version__}", READY),
            "new-position": lambda rest: self.say(READY),
            "midgame-search": lambda rest: self._search(cassio.parse_midgame(rest)),
            "endgame-search": lambda rest: self._search(cassio.parse_endgame(rest)),
            "stop": self._stop,
            "get-search-infos": self._search_infos,
            "feed-hash": lambda rest: cassio.check_feed(rest),
            "empty-hash": lambda rest: self.session.engine().searcher.clear(),
            "quit": self._quit,
        }

    def say(self, *lines: str) -> None:
        """Send lines together; called on the dialogue's or a search's thread."""
        with self._lock:
            super().say(*lines)

    def run(self, source: LineQueue, first: InputLine | None = None) -> int:
        status = super().run(source, first)
        self._wait()
        return status

    def refuse(self, error: str) -> None:
        self.say(f"ERROR: {error}", READY)

    def execute(self, line: str) -> None:
        if not line.strip():
            self.say("ok." if self._searching else READY)
            return
        command, rest = cassio.split_line(line)
        try:
            if command not in self._handlers:
                raise BadInput(cassio.unknown(line))
            if command not in cassio.BESIDE_A_SEARCH:
                self._wait()
            self._handlers[command](rest)
        except BadInput as error:
            self._failed(command, str(error))
        except EngineFailure as error:
            self._failed(command, f"{command}: cannot search: {error}")
        except Abandoned:
            return
        except (MemoryError, OSError, ImportError) as error:
            self._failed(command, f"{command}: {passing_lack(error)}")
        except Exception as error:
            self._failed(
                command,
                f"{quoted(line)}: an internal error: {type(error).__name__}: {quoted(str(error))}",
            )

    def _failed(self, command: str, error: str) -> None:
        """Answer a command that cannot be carried out; add ``ready.`` if Cassio waits for it."""
        if command in cassio.WITHOUT_AN_ANSWER:
            self.say(f"ERROR: {error}")
        else:
            self.refuse(error)

    @property
    def _searching(self) -> bool:
        return self._running is not None and not self._running.done

    def _wait(self) -> None:
        """Wait until no search runs."""
        if self._running:
            self._running.thread.join()
            self._running = None

    # Commands

    def _init(self, rest: str) -> None:
        self.session.prepare()
        self.say(READY)

    def _stop(self, rest: str) -> None:
        if self._running:
            self._running.search.stop()
        self._wait()
        self.say(READY)

    def _search_infos(self, rest: str) -> None:
        running = self._running
        if running and not running.done:
            self.say(f"node {running.nodes}, time {time.perf_counter() - running.begun:.3f}")
        else:
            self.say(READY)

    def _quit(self, rest: str) -> None:
        if self._running:
            self._running.search.stop(abandon=True)
        self._wait()
        self.say("bye bye.")
        self.leaving = 0

    def _search(self, task: CassioTask) -> None:
        from desdaemon.engine.limits import Limits

        limits = Limits(task.position.empties if task.depth is None else task.depth, task.selectivity)
        stoppable = ExitStack()
        # From now on a stop ends the search, even before its thread has begun.
        running = _Running(stoppable.enter_context(self.session.interrupt.searching(limits.bounded)))
        running.thread = threading.Thread(
            target=self._work, args=(task, limits, running, stoppable), name="search", daemon=True
        )
        self._running = running
        running.thread.start()

    def _work(self, task: CassioTask, limits: Limits, running: _Running, stoppable: ExitStack) -> None:
        """Search and answer, on the search's thread. ``stoppable`` is open until the search ends."""
        last = ""
        finished: Line | None = None

        def report(line: Line) -> None:
            nonlocal last
            ms = (time.perf_counter() - running.begun) * 1000
            text = cassio.result_line(
                task.position,
                line.move,
                line.depth,
                line.selectivity,
                (line.lower, line.upper),
                line.pv,
                running.nodes,
                ms,
            )
            # The result repeats the last iteration.
            if last.partition(", node")[0] != text.partition(", node")[0]:
                last = text
                self.say(text)

        def progress(index: int, line: Line) -> None:
            nonlocal finished
            running.nodes += line.nodes
            finished = line
            if self.session.settings.verbose >= 2:
                report(line)

        try:
            with stoppable:
                result: Result = self.session.search(
                    task.position, limits, progress=progress, window=(task.alpha, task.beta)
                )
            if result.lines:
                report(result.lines[0] if result.complete else _interrupted(result.lines[0], finished))
            elif task.position.over:
                score = rules.final_score(task.position.player, task.position.opponent)
                self.say(cassio.result_line(task.position, None, 0, Selectivity.FULL, (score, score), (), 0, 0.0))
        except Abandoned:
            pass
        except EngineFailure as error:
            self.say(f"ERROR: cannot search: {error}")
        except Exception as error:
            reason = lacking(error)
            if isinstance(error, OSError) and not reason:
                # The other end has gone; the dialogue's thread will notice.
                running.done = True
                return
            self.say(f"ERROR: {reason or f'an internal error: {type(error).__name__}: {quoted(str(error))}'}")
        running.done = True
        self.say(READY)


def _interrupted(line: Line, finished: Line | None) -> Line:
    """Return the best line of a stopped search, with the depth and selectivity of its last ``finished`` iteration.
    Without a finished iteration they are 0 plies and 73 %.
    """
    if finished is None:
        return line._replace(depth=0, selectivity=Selectivity.PERCENT_73)
    return line._replace(depth=finished.depth, selectivity=finished.selectivity)


class _Running:
    """A search on a thread of its own."""

    thread: threading.Thread

    def __init__(self, search: StoppableSearch) -> None:
        self.search = search
        self.nodes = 0
        self.begun = time.perf_counter()
        self.done = False


SPOKEN = Spoken(CassioListener, CassioDialect)
