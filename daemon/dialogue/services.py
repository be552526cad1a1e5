"""Makes the services that answer the requests of a process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from desdaemon.core.books.service import Books
from desdaemon.core.metrics import ServerMetrics
from desdaemon.core.paths import confined, names_of_folders
from desdaemon.core.requests.analysis import AnalysisService
from desdaemon.core.requests.analysis_cache import AnalysisCache
from desdaemon.core.requests.book_operations import BookOperations
from desdaemon.core.requests.operations import OperationContext, Operations
from desdaemon.core.requests.parts import PartContext
from desdaemon.core.requests.request import ServerLimits
from desdaemon.core.search.loader import EngineConfig, LoadedEngine
from desdaemon.core.search.scheduler import Scheduler
from desdaemon.core.search.workers import EnginePool, HelperPool, SearchThreads
from desdaemon.core.settings import SessionSettings
from desdaemon.protocol import satellites
from desdaemon.protocol.rows import load
from desdaemon.protocol.system import folders
from desdaemon.protocol.system.logs import Log

from .text_sessions import TextSessions

ANALYSES_FILE = "analyses.cache"
JOBS_FOLDER = "jobs"
"""Names in the data folder: the file of cached analyses, the folder of unfinished jobs. Those of satellites' parts are
in their rows.
"""


class Services(NamedTuple):
    """The services of a process; the sockets and the JSON dialogue use them."""

    health: ServerMetrics
    scheduler: Scheduler
    books: Books
    cache: AnalysisCache
    helpers: HelperPool
    texts: TextSessions
    operations: Operations


def build_services(
    settings: SessionSettings,
    build: Callable[[EngineConfig], LoadedEngine],
    *,
    scheduler: Scheduler,
    books: Books,
    limits: ServerLimits,
    log: Log,
    data_folder: str,
    shut_down: Callable[[], None],
    origin: str = "",
    share_turns: bool = False,
) -> Services:
    """Make all services and reserve their files. Clients begin with ``settings``; ``origin`` names the weights that
    cached analyses come from. ``data_folder`` may be "", for none.

    ``build`` makes an engine. With ``share_turns`` one turn of a search thread answers many short requests; engines
    must then have ``short_searches``. ``shut_down`` is called for a client's `shutdown` and must return at once.
    """
    health = ServerMetrics(log)
    engines = EnginePool(build, scheduler.slots, settings.hash_table_size, settings.eval_file)
    cache = AnalysisCache(limits.analyses_bytes, origin)
    analyses = AnalysisService(
        SearchThreads(scheduler, engines),
        books,
        cache,
        health,
        settings.level,
        share_turns=share_turns,
        deterministic=settings.deterministic,
    )
    hidden = names_of_folders(data_folder, folders.data(), *map(os.path.dirname, settings.files()))
    texts = TextSessions(settings, analyses.helpers, books, health, data_folder, hidden)
    made = {part.name: part.make for satellite in satellites.present("daemon_parts") for part in satellite.daemon_parts}
    if data_folder:
        own = [os.path.join(data_folder, name) for name in (ANALYSES_FILE, JOBS_FOLDER, *made)]  # noqa: PTH118
        books.files.reserved = tuple(Path(name) for name in (*own, settings.eval_file) if name)

    def part_context(name: str) -> PartContext:
        folder = os.path.join(data_folder, name) if data_folder else ""  # noqa: PTH118
        return PartContext(folder, books.jobs, analyses, health, limits, lambda file: confined(file, data_folder))

    operations = Operations(
        health,
        limits,
        analyses,
        BookOperations(books, settings, texts, health, hidden),
        texts,
        {name: load(make)(part_context(name)) for name, make in made.items()},
        OperationContext(settings, hidden),
        shut_down,
    )
    return Services(health, scheduler, books, cache, analyses.helpers, texts, operations)
