"""Loading of engines on a thread of their own, so that commands that need no search do not wait."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from desdaemon.protocol.errors import lacking

if TYPE_CHECKING:
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Line, Result
    from desdaemon.engine.short_searches import ShortSearches

_POLL_S = 0.01

EDAX_MAGIC = b"XADELAVE"
EDAX_BYTES = 13_952_436
MAGICS = (b"DESDEVAL", EDAX_MAGIC, b"\xfd7zXZ\x00")
"""First bytes of the files of weights that the engine reads; the engine's module that reads them is too slow to load
here.
"""

Progress = Callable[[int, "Line"], None]
"""Called with the rank of a line, 0 for the best, and the line, each time a search has finished an iteration of it."""


class EngineConfig(NamedTuple):
    """The parameters of an engine.

    It searches with ``threads`` threads of its own, and up to ``guests`` threads of others may join a search. The table
    has 2 to the power ``hash_bits`` entries. ``eval_file`` is a file of weights, "" for the built-in ones.
    """

    threads: int
    hash_bits: int
    eval_file: str
    guests: int = 0


class SearchProtocol(Protocol):
    """A search as sessions use it; `desdaemon.engine.search.Searcher` documents the arguments."""

    def search(
        self,
        player: int,
        opponent: int,
        limits: Limits,
        *,
        multipv: int = ...,
        allow: int = ...,
        alpha: int = ...,
        beta: int = ...,
        control: Any = ...,
        progress: Callable[[int, Line], None] | None = ...,
        attempts: Callable[[int, Line], None] | None = ...,
        welcome: Callable[[], None] | None = ...,
    ) -> Result:
        """Search a position; ``control`` comes from the engine's ``new_control``."""

    def evaluate(self, player: int, opponent: int) -> float:
        """Return the static evaluation, discs, for the side to move."""

    def clear(self) -> None:
        """Empty the transposition table."""


class Stoppable(Protocol):
    """The control of a running search, like `desdaemon.engine.search.Control`."""

    def stop(self) -> None:
        """Make the search end soon, with its results so far."""


class LoadedEngine(NamedTuple):
    """A searcher, and the constructor of controls that stop its searches.

    ``short_searches`` searches many positions in one call with the searcher's tables; None if the engine cannot.
    """

    searcher: SearchProtocol
    new_control: Callable[[], Stoppable]
    short_searches: ShortSearches | None = None


class EngineFailure(Exception):
    """The engine cannot be loaded; the message is one line with the reason."""


class Abandoned(Exception):
    """The caller no longer waits for an engine or a turn."""


class TooLate(Exception):
    """The time for the move was over before the engine was loaded."""


def built(build: Callable[[EngineConfig], LoadedEngine], config: EngineConfig) -> LoadedEngine:
    """Return the engine that ``build`` makes. Turns every exception of ``build`` into `EngineFailure`."""
    try:
        return build(config)
    except EngineFailure:
        raise
    except MemoryError:
        raise EngineFailure(f"not enough memory for a table of 2^{config.hash_bits} entries") from None
    except Exception as error:
        reason = lacking(error) or f"{type(error).__name__}: {error}"
        raise EngineFailure(f"the engine cannot be loaded: {reason}") from error


class Engines(Protocol):
    """Where a session gets its engine: `EngineSource`, or in a server `shared_engines.SharedEngines`. Any thread may
    call the methods.
    """

    def prepare(self, config: EngineConfig, on_failure: Callable[[str], None] | None = None) -> None:
        """Start to build the engine of ``config``, unless its build has begun; return at once.

        If this call's build fails, ``on_failure`` gets the reason, one line, on the builder's thread.
        """

    def get(self, config: EngineConfig, abandoned: Callable[[], bool] = lambda: False) -> LoadedEngine:
        """Wait until the engine is built and return it.

        Raises `EngineFailure`, and `Abandoned` soon after ``abandoned``, called at intervals, returns true.
        """


class EngineSource:
    """Builds an engine on a thread of its own, and keeps it until another configuration is asked for.

    After a failure `get` raises, and the call after that builds the engine again. Any thread may call the methods.
    """

    def __init__(self, build: Callable[[EngineConfig], LoadedEngine]) -> None:
        """``build`` imports the engine and makes one; it may raise `EngineFailure`."""
        self._build = build
        self._lock = threading.Lock()
        self._config: EngineConfig | None = None
        self._job: _EngineBuild | None = None

    def prepare(self, config: EngineConfig, on_failure: Callable[[str], None] | None = None) -> None:
        with self._lock:
            if self._job is None or self._config != config:
                self._config = config
                self._job = _EngineBuild(self._build, config, on_failure)

    def get(self, config: EngineConfig, abandoned: Callable[[], bool] = lambda: False) -> LoadedEngine:
        self.prepare(config)
        job = self._job
        assert job is not None
        while not job.done.wait(_POLL_S):
            if abandoned():
                raise Abandoned
        if job.engine is None:
            with self._lock:
                if self._job is job:
                    self._job = None
            raise EngineFailure(job.failure)
        return job.engine


class _EngineBuild:
    """The thread that builds one engine; ``done`` is set when it ends."""

    def __init__(
        self,
        build: Callable[[EngineConfig], LoadedEngine],
        config: EngineConfig,
        on_failure: Callable[[str], None] | None,
    ) -> None:
        self.done = threading.Event()
        self.engine: LoadedEngine | None = None
        self.failure = ""
        self._build = build
        self._config = config
        self._on_failure = on_failure
        # Not before the prompt: it would wait for one more module.
        from desdaemon.protocol.system.threads import begin

        begin(self._run, "engine")

    def _run(self) -> None:
        try:
            self.engine = built(self._build, self._config)
        except EngineFailure as error:
            self.failure = str(error)
        self.done.set()
        if self.engine is None and self._on_failure:
            self._on_failure(self.failure)


SHORT_SEARCHES = True
"""Whether the engines of `build_engine` have ``short_searches``."""


def build_engine(config: EngineConfig) -> LoadedEngine:
    """Import the compiled search, load the weights, and return an engine with the threads that ``config`` asks for, but
    no more than there are processors.

    Raises `EngineFailure` if the weights cannot be used; call this by `built`, which turns other exceptions into that.
    """
    from desdaemon.engine.evaluation.weights import Weights, WeightsError
    from desdaemon.engine.search import Control, Searcher
    from desdaemon.engine.short_searches import ShortSearches

    try:
        weights = Weights.load(config.eval_file or None)
    except (WeightsError, OSError) as error:
        raise EngineFailure(str(error)) from None
    threads = min(config.threads, os.cpu_count() or 1)
    searcher = Searcher(threads=threads, guests=config.guests, hash_bits=config.hash_bits, weights=weights)
    return LoadedEngine(searcher, Control, ShortSearches(searcher))


def wrong_head(path: str) -> str:
    """Return why a file cannot hold weights, by its size and first bytes, in one line; "" if it may. The engine reads
    the whole file later.
    """
    from desdaemon.protocol.system import files

    try:
        with files.open_regular(path) as file:
            head = file.read(8)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        return f"{path}: can't be read: {error.strerror}"
    if not head:
        return f"{path}: the file is empty"
    if not head.startswith(MAGICS):
        return f"{path}: not a weights file: it begins with {head!r}, expected weights of desdaemon train or eval.dat"
    if head == EDAX_MAGIC and size != EDAX_BYTES:
        return f"{path}: {size} bytes, expected the {EDAX_BYTES} of an eval.dat"
    return ""
