"""What stands behind the requests of a process, put together once."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from .books import Books
from .cache import Cache
from .health import Health
from .jobs import Jobs
from .loader import Engine, EngineConfig
from .logs import Log
from .operations import Operations, ServerLimits
from .operations_analysis import Analyses
from .operations_book import BookOperations
from .paths import Hidden
from .remote import Texts
from .scheduler import Scheduler
from .settings import Settings
from .workers import Engines, Workers


class Services(NamedTuple):
    """The rooms that the carriers of requests need to know."""

    settings: Settings
    health: Health
    scheduler: Scheduler
    books: Books
    jobs: Jobs
    cache: Cache
    texts: Texts
    operations: Operations


def furnish(
    settings: Settings,
    build: Callable[[EngineConfig], Engine],
    *,
    scheduler: Scheduler,
    books: Books,
    limits: ServerLimits,
    log: Log,
    data_folder: str,
    shut_down: Callable[[], None],
    origin: str = "",
) -> Services:
    """Everything, for clients that begin with ``settings``; ``origin`` names the weights, for the analysis cache."""
    health = Health(log)
    engines = Engines(build, scheduler.slots, settings.hash_table_size, settings.eval_file)
    cache = Cache(limits.analyses_bytes, origin)
    analyses = Analyses(scheduler, Workers(engines), books, cache, health, settings.level)
    hidden = Hidden(data_folder, os.path.dirname(settings.book_file), os.path.dirname(settings.eval_file))  # noqa: PTH120
    texts = Texts(settings, engines, scheduler, books, health, data_folder, hidden)
    operations = Operations(
        health,
        limits,
        analyses,
        BookOperations(books, books.jobs, settings, texts, health, hidden),
        texts,
        shut_down,
    )
    return Services(settings, health, scheduler, books, books.jobs, cache, texts, operations)
