"""The state of the workers, for `desdaemon cluster status` and ``check``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from . import tasks
from .connection import connect, workers_of
from .identity import Identity, identity, of_resources

if TYPE_CHECKING:
    from distributed import Client

_ANSWER_S = 60


class WorkerRow(NamedTuple):
    """A worker: name, address, threads, whether its program and weights are this one's, tasks that it has, searches
    done, and seconds since it was heard of."""

    name: str
    address: str
    threads: int
    same: bool
    running: int
    done: int
    silent_s: float


def own_identity(eval_file: str) -> Identity:
    """This program's, with those weights."""
    from desdaemon.engine.evaluation.weights import Weights

    return identity(Weights.load(eval_file or None))


def status(cluster: str, tls: str, eval_file: str) -> list[WorkerRow]:
    """The workers, by name. Raises `BadInput` where there is no scheduler."""
    own = own_identity(eval_file)
    client = connect(cluster, tls)
    try:
        found = workers_of(client)
        ours = [address for address, worker in found.items() if of_resources(worker["resources"])]
        figures = client.run(tasks.figures, workers=ours, on_error="ignore") if ours else {}
        now = time.time()
        return sorted(
            WorkerRow(
                str(worker["name"]),
                address,
                worker["nthreads"],
                of_resources(worker["resources"]) == own,
                int(worker.get("metrics", {}).get("task_counts", {}).get("executing", 0)),
                int(figures.get(address, {}).get("done", 0)),
                max(0.0, now - worker["last_seen"]),
            )
            for address, worker in found.items()
        )
    finally:
        client.close(timeout=1)


def check(cluster: str, tls: str, eval_file: str) -> list[tuple[str, str]]:
    """Have every worker do the fixed searches again; its name, and what is wrong with it or ""."""
    own = own_identity(eval_file)
    client = connect(cluster, tls)
    try:
        return sorted((str(worker["name"]), _checked(client, own, address, worker["resources"]))
                      for address, worker in workers_of(client).items())  # fmt: skip
    finally:
        client.close(timeout=1)


def _checked(client: Client, own: Identity, address: str, resources: dict[str, float]) -> str:
    offered = of_resources(resources)
    if offered is None:
        return "not started by desdaemon cluster worker"
    if offered.code != own.code:
        return f"another program or other weights: {offered.code}, here {own.code}"
    try:
        proof = client.submit(tasks.prove, workers=[address], pure=False).result(timeout=_ANSWER_S)
    except Exception as error:
        return f"no answer: {type(error).__name__}"
    return "" if tuple(proof) == tuple(own) else f"other answers to the fixed searches: {proof[1]}, here {own.proof}"
