"""A process of the cluster: the scheduler, or a worker.

Before it joins, a worker carries out some fixed searches, whose results are part of its `Identity`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import signal
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import files, folders, platform
from desdaemon.protocol.system.logs import message
from desdaemon.protocol.system.terminal import ElapsedTime

from .connection import (
    SILENT_S,
    checked_address,
    configure,
    connect,
    scheduler_address,
    security,
    warn_unless_sealed,
)
from .identity import resource_of

if TYPE_CHECKING:
    import argparse

    from distributed import Security

    from .tasks import WorkerState

_RETRY_S = 1.0

KILLS = 3
"""Workers that may die during a batch before it goes back to the owner."""


def say(line: str) -> None:
    message(line, "desdaemon cluster", level="info", event="cluster")


def run_scheduler(listen: str, tls: str, scheduler_file: str) -> None:
    """Run the scheduler at the address ``listen`` until a signal comes; ``tls`` is the folder of keys or "".

    Writes its address to ``scheduler_file`` unless that is "". Raises `BadInput` if it cannot listen there or the keys
    cannot be used, and `OSError` if the file cannot be written.
    """
    checked_address(listen, tls)
    configure()
    certificates = security(tls)
    warn_unless_sealed(listen)
    _until_signal(_schedule(listen, certificates, scheduler_file))


async def _schedule(listen: str, certificates: Security | None, scheduler_file: str) -> None:
    from distributed import Scheduler

    class QuietScheduler(Scheduler):
        start_http_server = _no_http_server

    scheme, _, rest = listen.partition("://")
    host, _, port = rest.rpartition(":")
    try:
        scheduler = await QuietScheduler(
            protocol=f"{scheme}://",
            host=host,
            port=int(port),
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


def run_worker(options: argparse.Namespace) -> None:
    """Run a worker until a signal comes or its time is over, by the command line's ``options``.

    Raises `BadInput` if there is no scheduler or the keys cannot be used, `WeightsError` if the weights cannot, and
    `LibraryError` if the kernels cannot be compiled.
    """
    ends = time.monotonic() + (options.lifetime or math.inf)
    # Dask's worker would wait for the scheduler silently.
    with ElapsedTime("connecting"):
        connect(options.cluster, options.tls).close(timeout=1)
    if options.nice:
        platform.lower_process(options.nice)
    from desdaemon.engine.evaluation.weights import Weights

    from . import tasks

    state = tasks.prepare(options.name, Weights.load(options.eval_file or None))
    say(f"worker {options.name}: {plural(options.threads, 'thread')}, program {state.identity}")
    warn_unless_sealed(scheduler_address(options.cluster))
    Path(folders.runtime()).mkdir(mode=0o700, parents=True, exist_ok=True)
    _until_signal(_work(options, ends, state))


async def _work(options: argparse.Namespace, ends: float, state: WorkerState) -> None:
    """Work until the time ``ends`` (`time.monotonic`), connecting again when the scheduler is lost.

    Raises `BadInput` if the first connection fails.
    """
    from distributed import Worker
    from distributed.comm.addressing import get_local_address_for

    class StoppableWorker(Worker):
        start_http_server = _no_http_server

        async def close(self, *_: object, **__: object) -> Any:
            """Close the worker at once: its searches go to others."""
            state.stop_all()
            return await super().close(timeout=2, executor_wait=False, nanny=False)

    lost = False
    while time.monotonic() < ends:
        try:
            if lost:
                await asyncio.to_thread(lambda: connect(options.cluster, options.tls).close(timeout=1))
            # Read again: a scheduler that was started anew has written another address into its file.
            address = scheduler_address(options.cluster)
            worker = await StoppableWorker(
                address,
                nthreads=options.threads,
                name=options.name,
                resources={resource_of(state.identity): options.threads},
                memory_limit=0,
                dashboard=False,
                # Without a host dask's worker listens on every interface.
                host=get_local_address_for(address).partition("://")[2],
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
        lost = time.monotonic() < ends
        if lost:
            say(f"worker {options.name} has lost the scheduler at {address}: it comes back when that does")
    say(f"worker {options.name} has left")


def _no_http_server(*_arguments: object, **_options: object) -> None:
    """Replace dask's HTTP server, which would listen to everyone without encryption, by none."""


def _until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Run ``work``. One signal ends it cleanly, a second one the process at once."""

    async def run() -> None:
        task = asyncio.ensure_future(work)
        ending = [number for number in platform.ending_signals() if number != getattr(signal, "SIGHUP", None)]
        loop = asyncio.get_running_loop()

        def end() -> None:
            task.cancel()
            for number in ending:
                platform.on_signal(loop, number, os._exit, 128 + number)

        for number in ending:
            platform.on_signal(loop, number, end)
        with contextlib.suppress(asyncio.CancelledError):
            await task

    with asyncio.Runner(loop_factory=platform.event_loop) as runner:
        runner.run(run())


def _reason(error: BaseException) -> str:
    """Return the innermost reason of an error, as one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).partition("\n")[0] or type(error).__name__
