"""The workers of a scheduler, for `desdaemon cluster status`."""

from __future__ import annotations

import time
from typing import NamedTuple

from desdaemon.engine.evaluation.weights import Weights

from . import tasks
from .connection import connect, workers_of
from .identity import identity, of_resources


class WorkerRow(NamedTuple):
    """A worker.

    ``same`` says that its program and weights equal ours; ``running`` is its number of batches at work, ``done`` its
    number of finished searches. The scheduler heard from it ``silent_s`` seconds ago.
    """

    name: str
    address: str
    threads: int
    same: bool
    running: int
    done: int
    silent_s: float


def status(cluster: str, tls: str, eval_file: str) -> list[WorkerRow]:
    """Return the workers, sorted by name; ``cluster`` and ``tls`` name the scheduler and the folder of keys, as for
    `connect`. ``eval_file`` is "" for the built-in weights.

    Raises `BadInput` if ``cluster`` names no scheduler, `Unfinished` if the scheduler does not answer, `OSError` if it
    is lost afterwards, and `WeightsError` if the weights cannot be used.
    """
    own = identity(Weights.load(eval_file or None))
    client = connect(cluster, tls)
    try:
        workers = workers_of(client)
        ours = [address for address, worker in workers.items() if of_resources(worker["resources"])]
        done = client.run(tasks.searches_done, workers=ours, on_error="ignore") if ours else {}
        now = time.time()
        return sorted(
            WorkerRow(
                str(worker["name"]),
                address,
                worker["nthreads"],
                of_resources(worker["resources"]) == own,
                int(worker["metrics"].get("task_counts", {}).get("executing", 0)),
                int(done.get(address, 0)),
                max(0.0, now - worker["last_seen"]),
            )
            for address, worker in workers.items()
        )
    finally:
        client.close(timeout=1)
