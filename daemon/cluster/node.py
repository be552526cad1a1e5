"""A process of the cluster: the scheduler, or a worker.

Before it joins, a worker carries out some fixed searches, whose results are part of its `Identity`.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import files, folders, platform
from desdaemon.protocol.system.logs import message

from .connection import (
    PORT,
    SILENT_S,
    checked_address,
    configure,
    connect,
    local_host,
    scheduler_address,
    security,
    warn_unless_sealed,
)

if TYPE_CHECKING:
    from distributed import Security

    from .tasks import WorkerState

_RETRY_S = 1.0

KILLS = 3
"""Workers that may die during a batch before it goes back to the owner."""


class WorkerOptions(NamedTuple):
    """The options of a worker.

    ``scheduler`` is an address or a scheduler file, ``tls`` a folder of keys or "", ``nice`` the niceness. The worker
    ends after ``lifetime_s`` seconds (0: never). ``eval_file`` is a file of weights, "" for the built-in ones.
    """

    scheduler: str
    tls: str
    threads: int
    name: str
    nice: int
    lifetime_s: float
    eval_file: str


def say(line: str) -> None:
    message(line, "desdaemon cluster", level="info", event="cluster")


def run_scheduler(listen: str, tls: str, scheduler_file: str) -> int:
    """Run the scheduler at the address ``listen`` until a signal comes; ``tls`` is the folder of keys or "".

    Writes its address to ``scheduler_file`` unless that is "". Returns the exit status. Raises `BadInput` if it cannot
    listen there or the keys cannot be used, and `OSError` if the file cannot be written.
    """
    checked_address(listen, tls)
    configure()
    certificates = security(tls)
    warn_unless_sealed(listen)
    return _until_signal(_schedule(listen, certificates, scheduler_file))


async def _schedule(listen: str, certificates: Security | None, scheduler_file: str) -> int:
    from distributed import Scheduler

    class QuietScheduler(Scheduler):
        start_http_server = _no_http_server

    scheme, _, rest = listen.partition("://")
    host, _, port = rest.rpartition(":")
    try:
        scheduler = await QuietScheduler(
            protocol=f"{scheme}://",
            host=host,
            port=int(port) if port else PORT,
            dashboard=False,
            security=certificates,
            allowed_failures=KILLS - 1,
            worker_ttl=SILENT_S,
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(f"{listen}: {_reason(error)}") from None
    if scheduler_file:
        # Replaced at once, for processes that wait for the file.
        files.replace(scheduler_file, json.dumps({"address": scheduler.address}).encode())
    say(f"scheduler at {scheduler.address}")
    try:
        await scheduler.finished()
    finally:
        await scheduler.close()
    return 0


def run_worker(options: WorkerOptions) -> int:
    """Run a worker until a signal comes or its time is over. Returns the exit status.

    Raises `BadInput` if there is no scheduler or the keys cannot be used, `WeightsError` if the weights cannot, and
    `LibraryError` if the kernels cannot be compiled.
    """
    ends = time.monotonic() + (options.lifetime_s or math.inf)
    # Dask's worker would wait for the scheduler silently.
    connect(options.scheduler, options.tls).close(timeout=1)
    if options.nice:
        platform.lower_process(options.nice)
    from desdaemon.engine.evaluation.weights import Weights

    from . import tasks

    state = tasks.prepare(options.name, Weights.load(options.eval_file or None))
    say(f"worker {options.name}: {plural(options.threads, 'thread')}, program {'-'.join(state.identity)}")
    warn_unless_sealed(scheduler_address(options.scheduler))
    Path(folders.runtime()).mkdir(mode=0o700, parents=True, exist_ok=True)
    return _until_signal(_work(options, ends, state))


async def _work(options: WorkerOptions, ends: float, state: WorkerState) -> int:
    """Work until the time ``ends`` (`time.monotonic`), connecting again when the scheduler is lost. Returns the exit
    status; raises `BadInput` if the first connection fails.
    """
    from distributed import Worker

    over = False

    class StoppableWorker(Worker):
        start_http_server = _no_http_server

        async def close(self, *_: object, reason: str = "", **__: object) -> Any:
            """Close the worker at once: the results of its searches are no longer needed."""
            nonlocal over
            over = over or reason == "worker-lifetime-reached"
            state.stop_all()
            return await super().close(timeout=2, executor_wait=False, nanny=False, reason=reason)

    lost = False
    while not over and time.monotonic() < ends:
        try:
            if lost:
                await asyncio.to_thread(lambda: connect(options.scheduler, options.tls).close(timeout=1))
            # By now a scheduler file may name another scheduler.
            address = scheduler_address(options.scheduler)
            worker = await StoppableWorker(
                address,
                nthreads=options.threads,
                name=options.name,
                resources={state.identity.resource: options.threads},
                memory_limit=0,
                dashboard=False,
                # Without a host dask's worker listens on every interface.
                host=local_host(address),
                # At each start dask removes from this folder files that killed workers left.
                local_directory=folders.runtime(),
                security=security(options.tls),
                lifetime=None if ends == math.inf else max(1.0, ends - time.monotonic()),
            )
        except (BadInput, OSError, ValueError, RuntimeError) as error:
            if not lost:
                raise BadInput(f"{address}: {_reason(error)}") from None
            await asyncio.sleep(_RETRY_S)
            continue
        say(f"worker {options.name} has joined {address}")
        try:
            await worker.finished()
        except asyncio.CancelledError:
            # Closed, so that its searches go to others at once and its end is not taken for a crash.
            await worker.close()
            raise
        if not over:
            lost = True
            say(f"worker {options.name} has lost the scheduler at {address}: it comes back when that does")
    say(f"worker {options.name} has left")
    return 0


def _no_http_server(*_arguments: object, **_options: object) -> None:
    """Replace dask's HTTP server, which would listen to everyone without encryption, by none."""


def _until_signal(work: Coroutine[Any, Any, int]) -> int:
    """Run ``work`` and return its exit status. One signal ends it cleanly (status 0), a second one at once."""

    async def run() -> int:
        task = asyncio.ensure_future(work)
        ending = [number for number in platform.ending_signals() if number != getattr(signal, "SIGHUP", None)]
        loop = asyncio.get_running_loop()

        def end(number: int) -> None:
            if not task.cancel():
                os._exit(128 + number)
            for each in ending:
                platform.on_signal(loop, each, os._exit, 128 + each)

        for number in ending:
            platform.on_signal(loop, number, end, number)
        try:
            return await task
        except asyncio.CancelledError:
            return 0

    with asyncio.Runner(loop_factory=platform.event_loop) as runner:
        return runner.run(run())


def _reason(error: BaseException) -> str:
    """Return the innermost reason of an error, as one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).partition("\n")[0] or type(error).__name__
