"""`desdaemon serve`: the daemon without a dialogue, for clients over sockets.

The main thread waits for signals; the loop of the sockets, searches and book jobs have threads of their own. A shutdown
takes five seconds at most: new work is refused, short work finished, long work cancelled, then book and cached analyses
are saved and the last replies sent.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.core.books.job_journal import JobJournal
from desdaemon.core.books.jobs import BookJob, BookJobs
from desdaemon.core.books.running import begin_opening
from desdaemon.core.books.service import Books
from desdaemon.core.paths import made_folder, private_folder
from desdaemon.core.requests.book_operations import progress_data
from desdaemon.core.requests.request import ServerLimits
from desdaemon.core.search import loader
from desdaemon.core.search.scheduler import Scheduler
from desdaemon.core.search.workers import HelperPool
from desdaemon.core.settings import SessionSettings
from desdaemon.core.threads import begin_or_do, step_back
from desdaemon.dialogue.services import ANALYSES_FILE, JOBS_FOLDER, Services, build_services
from desdaemon.dialogue.stdio import INTERRUPTED, leave
from desdaemon.protocol.commands.options import BUILTIN_BOOK, OPTIONS
from desdaemon.protocol.errors import BadInput, lacking
from desdaemon.protocol.system import files, folders, logs, platform
from desdaemon.protocol.system.files import PRIVATE, replace
from desdaemon.protocol.system.interpreter import SIGNALS_S
from desdaemon.protocol.system.locks import FileLock, Held
from desdaemon.protocol.system.logs import Log
from desdaemon.protocol.version import __version__
from desdaemon.protocol.wire.connection import ConnectionFile, connection_path
from desdaemon.protocol.wire.constants import VERSION

from .backups import BACKUPS_FOLDER, BackupPlan, Backups
from .endpoints import open_acceptors
from .heap import spare_memory
from .keys import KeyStore
from .sockets import Sockets
from .supervisor import RESTARTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from desdaemon.dialogue.session import Session

    from .scrape import Scrape


FINISH_S = 1.0
"""Seconds in which requests in flight may finish during a shutdown."""

JOBS_S = 2.5
"""Seconds in which cancelled book jobs may reach a consistent book during a shutdown."""

SAVE_S = 300.0
STATUS_S = 2.0
_FILES_A_CLIENT = 4
"""Open files for each client: its connection, one for events over ipc, one over TCP, and one for the daemon's work."""
_SWITCH_S = 0.0001
"""Switch interval of the interpreter, seconds.

A busy turn of the loop makes some dozen system calls; after each it may wait this long for every other thread that runs
Python.
"""


class ServeOptions(NamedTuple):
    """The options of `desdaemon serve`.

    ``ipc`` is the endpoint of local clients, of TCP on systems without paths for sockets. With ``encrypted`` TCP
    clients need a key; ``insecure`` allows TCP beyond this machine without keys. ``slots`` is the number of searches at
    a time, ``metrics`` host and port of the metrics over HTTP, or None. ``on_job_end`` is a command with its arguments,
    run when a job ends.
    """

    ipc: str
    tcp: list[str]
    keys_folder: str
    encrypted: bool
    insecure: bool
    data_folder: str
    limits: ServerLimits
    log_level: str
    log_format: str
    slots: int
    metrics: tuple[str, int] | None = None
    on_job_end: tuple[str, ...] = ()
    backups: BackupPlan = BackupPlan()


class DaemonServer:
    """A daemon from its start to its shutdown. Making one locks the runtime folder and opens the endpoints; `start`
    begins to serve.

    Raises `BadInput` if another daemon holds the runtime folder, an endpoint cannot be had, or the keys cannot be used,
    and `OSError` if a folder cannot be used.
    """

    def __init__(
        self, settings: SessionSettings, options: ServeOptions, log: Log, scheduler: Scheduler, books: Books
    ) -> None:
        self._log = log
        self._jobs = books.jobs
        self._books = books
        self.done = threading.Event()
        self._ending = threading.Lock()
        self._cache_file = os.path.join(options.data_folder, ANALYSES_FILE)  # noqa: PTH118
        for left in ("", BACKUPS_FOLDER, JOBS_FOLDER):
            files.tidy(Path(options.data_folder, left))
        files.tidy(options.keys_folder)
        self._lock = _hold(private_folder(folders.runtime()))
        self._services = self._build_services(settings, options, scheduler)
        keys = KeyStore(options.keys_folder) if options.encrypted else None
        old = os.umask(0o077)
        try:
            local = None if not options.ipc or platform.HAS_IPC else KeyStore(options.keys_folder)
            self._key_file = str(local.local()) if local is not None else None
            self._acceptors = open_acceptors(
                options.ipc, options.tcp, keys, insecure=options.insecure, local_keys=local
            )
        finally:
            os.umask(old)
        services = self._services
        self._backups = Backups(
            self._books, settings, Path(options.data_folder, BACKUPS_FOLDER), options.backups, services.health
        )
        jobs_folder = Path(options.data_folder, JOBS_FOLDER)
        self._books.journal = JobJournal(jobs_folder, options.on_job_end, lambda line: log.warning("job", note=line))
        self._jobs.reserve(self._books.journal.last)
        for number, ended in self._books.journal.ended():
            self._jobs.list_ended(number, ended)
        self._sockets = Sockets(self._acceptors, services.operations, services.texts, services.health, self._chores)
        self._scrape: Scrape | None = None
        if options.metrics is not None:
            # It loads the library's HTTP server.
            from .scrape import Scrape

            self._scrape = Scrape(*options.metrics, services.operations.metrics)
        services.health.restarts = int(os.environ.pop(RESTARTS, "0"))
        self._jobs.on_change = self._publish_job
        self._jobs.prepare = step_back
        encrypting = keys or local
        self._public_key = encrypting.server()[0] if encrypting is not None else None
        self._began = time.monotonic()
        self._saved = self._status_sent = self._began

    def _build_services(self, settings: SessionSettings, options: ServeOptions, scheduler: Scheduler) -> Services:
        services = build_services(
            settings,
            loader.build_engine,
            scheduler=scheduler,
            books=self._books,
            limits=options.limits,
            log=self._log,
            data_folder=options.data_folder,
            shut_down=self.end,
            origin=_digest(settings.eval_file),
            share_turns=loader.SHORT_SEARCHES,
        )
        complaint = services.cache.load(self._cache_file)
        if complaint:
            self._log.warning("analyses not taken over", reason=complaint)
        return services

    @property
    def helpers(self) -> HelperPool:
        """The idle search threads, for a dialogue in the same process."""
        return self._services.helpers

    def start(self) -> None:
        """Start to serve, on other threads; write the connection file, and log the endpoints."""
        for part in self._services.operations.parts.values():
            part.start()
        threading.Thread(target=self._run, name="sockets", daemon=True).start()
        endpoints = [endpoint for acceptor in self._acceptors for endpoint in acceptor.endpoints]
        events = [endpoint for acceptor in self._acceptors for endpoint in acceptor.events]
        reached = (tuple(endpoints), tuple(events), self._public_key, self._key_file)
        connection_file = ConnectionFile(VERSION, os.getpid(), __version__, *reached)
        replace(connection_path(), connection_file.text().encode(), mode=PRIVATE)
        if self._scrape is not None:
            self._scrape.start()
            self._log.info("metrics", port=self._scrape.port)
        self._log.info("listening", endpoints=" ".join(endpoints), pid=os.getpid(), version=__version__)

    def _publish_job(self, job: BookJob) -> None:
        data = {**progress_data(job), "op": job.op, "client": job.client, "state": job.state}
        if job.over and job.on_book:
            data |= {name: job.result[name] for name in ("added", "changed", "time_s") if name in job.result}
            book = self._services.operations.books.status()
            self._sockets.publish("book", {**book, "job": job.id, "op": job.op})
        self._sockets.publish(f"job.{job.id}", data)

    def _run(self) -> None:
        try:
            self._sockets.run()
        finally:
            self._log.info("ended")
            self.done.set()

    def _chores(self) -> None:
        """Do the periodic work, a few times a second on the loop's thread."""
        now = time.monotonic()
        if now - self._status_sent >= STATUS_S:
            self._status_sent = now
            self._sockets.publish("status", self._services.operations.status())
        self._backups.look(time.time())
        if now - self._saved >= SAVE_S and self._services.cache.changed:
            self._saved = now
            begin_or_do(self._save_cache, "saver")

    def _save_cache(self) -> None:
        try:
            if self._services.cache.changed:
                self._services.cache.save(self._cache_file)
            self._services.health.problem("analyses")
        except OSError as error:
            self._services.health.problem("analyses", f"analyses cannot be saved: {error.strerror}")

    def end(self) -> None:
        """Begin the shutdown; ``done`` is set at its end. Any thread may call it."""
        self._services.operations.closing = True
        if self._ending.acquire(blocking=False):
            begin_or_do(self._end, "end")

    def _end(self) -> None:
        self._log.info("ending")
        services = self._services
        operations = services.operations
        until = time.monotonic() + FINISH_S
        while time.monotonic() < until and any(
            not request.endless and not request.outlives for request in self._sockets.in_flight()
        ):
            time.sleep(0.01)
        for part in operations.parts.values():
            part.close()
        closed = threading.Event()
        begin_or_do(partial(self._close_book, closed), "closer")
        closed.wait(JOBS_S)
        for request in self._sockets.in_flight():
            operations.end(request, code="shutting_down")
        self._save_cache()
        services.texts.close()
        operations.analyses.close()
        with contextlib.suppress(OSError):
            os.unlink(connection_path())  # noqa: PTH108
        closed.wait(0.5)
        self._sockets.stop()
        self.done.wait(1.0)
        self.done.set()

    def _close_book(self, closed: threading.Event) -> None:
        try:
            if not self._jobs.close(JOBS_S):
                self._log.warning("book jobs left behind")
            for complaint in self._books.close():
                self._log.warning("book", reason=complaint)
        finally:
            closed.set()


def serve(settings: SessionSettings, options: ServeOptions) -> int:
    """Serve until a signal or a client ends the process. Returns only if serving cannot begin: the exit status."""
    log = Log(options.log_level, options.log_format)
    logs.install(log)
    ending = _Signals()
    # Absolute names, so that messages can name clients' files relative to the data folder.
    for option in OPTIONS:
        file = settings.text(option) if option.kind == "path" and not option.idle else ""
        if file not in ("", BUILTIN_BOOK):
            settings.set(option, f'"{os.path.abspath(file)}"')  # noqa: PTH100
    try:
        _check_weights(settings.eval_file)
        os.chdir(made_folder(options.data_folder))
        jobs = BookJobs()
        scheduler = Scheduler(options.slots)
        books = Books(jobs, scheduler=scheduler, data_folder=options.data_folder)
        server = _opened(settings, options, log, scheduler, books)
        if settings.book_file:
            begin_opening(books, settings.book_file, settings, lambda note: log.warning("book", note=note))
    except (BadInput, OSError) as error:
        logs.message(lacking(error) or str(error), "desdaemon serve", level="error")
        return 1
    ending.start(server)
    while not server.done.wait(SIGNALS_S):
        pass
    leave(0)


def beside_dialogue(session: Session, books: Books, options: ServeOptions) -> Callable[[], None]:
    """Open sockets that share a dialogue's book and searches. Returns the function that closes them.

    If a client or a signal shuts the server down, the process ends. Raises `BadInput` if the server cannot be opened.
    """
    log = Log(options.log_level, options.log_format)
    logs.install(log)
    ending = _Signals()
    scheduler = Scheduler(options.slots)
    settings = copy.deepcopy(session.settings)
    settings.n_tasks = 1
    books.scheduler, books.files.data_folder = scheduler, options.data_folder
    try:
        server = _opened(settings, options, log, scheduler, books)
    except OSError as error:
        raise BadInput(lacking(error) or str(error)) from None
    session.scheduler = scheduler
    session.helpers = server.helpers
    ending.start(server)
    left = threading.Event()

    def end() -> None:
        left.set()
        server.end()
        server.done.wait()

    def watch() -> None:
        server.done.wait()
        if not left.is_set():
            leave(INTERRUPTED if ending.interrupted else 0)

    threading.Thread(target=watch, name="watch", daemon=True).start()
    return end


def _opened(
    settings: SessionSettings, options: ServeOptions, log: Log, scheduler: Scheduler, books: Books
) -> DaemonServer:
    """Prepare the process (limits, memory, garbage collection) and build a server. Raises `BadInput` or `OSError` if a
    folder, a key or an endpoint cannot be used, or another daemon holds the runtime folder.
    """
    sys.setswitchinterval(_SWITCH_S)
    most = platform.raise_open_files() // _FILES_A_CLIENT
    options = options._replace(limits=options.limits._replace(clients=max(1, min(options.limits.clients, most))))
    spare_memory()
    made_folder(options.data_folder)
    server = DaemonServer(settings, options, log, scheduler, books)
    gc.freeze()
    return server


class _Signals:
    """The signal handlers: SIGTERM or SIGINT shuts down, a SIGINT after that ends the process at once. A SIGINT that
    was ignored when the process started stays ignored.
    """

    def __init__(self) -> None:
        self.server: DaemonServer | None = None
        self.asked = False
        self.interrupted = False
        for number in platform.ending_signals():
            if number not in (signal.SIGINT, getattr(signal, "SIGHUP", None)):
                signal.signal(number, self._end)
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._interrupted)

    def start(self, server: DaemonServer) -> None:
        """Start the server that signals end, also one that came before there was a server."""
        self.server = server
        server.start()
        if self.asked:
            server.end()

    def _end(self, number: int, frame: object) -> None:
        self.asked = True
        if self.server is not None:
            self.server.end()

    def _interrupted(self, number: int, frame: object) -> None:
        if self.asked:
            leave(INTERRUPTED)
        self.interrupted = True
        self._end(number, frame)


def _hold(folder: str) -> FileLock:
    """Lock the runtime folder until the process ends. Raises `BadInput` if it cannot be locked; if another process
    holds it, with that process's number.
    """
    try:
        return FileLock(os.path.join(folder, "daemon.lock"))  # noqa: PTH118
    except Held as held:
        raise BadInput(
            f"{folder}: the daemon of process {held.holder or 'unknown'} already listens there: "
            "end it, or set another DESDAEMON_RUNTIME_DIR"
        ) from None
    except OSError as error:
        raise BadInput(f"{error.filename}: {error.strerror}") from None


def _check_weights(eval_file: str) -> None:
    """Read the file of weights, without which a server cannot search. Raises `BadInput` if it cannot be used."""
    if not eval_file:
        return
    from desdaemon.engine.evaluation.weights import Weights, WeightsError

    try:
        Weights.load(eval_file)
    except (WeightsError, OSError) as error:
        raise BadInput(f"-eval-file: {error}") from None


def _digest(eval_file: str) -> str:
    """Return a digest of the weights; "" if they cannot be read, which the engine reports later."""
    from hashlib import blake2b

    from desdaemon.engine.evaluation.weights import SHIPPED

    try:
        with open(eval_file or SHIPPED, "rb") as file:  # noqa: PTH123
            return blake2b(file.read(), digest_size=16).hexdigest()
    except OSError:
        return ""
