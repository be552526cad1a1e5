"""A worker of a cluster with something wrong: ``strange_worker.py KIND ADDRESS [OPTION ...]``.

The kinds: ``version`` and ``answers`` give themselves another identity; ``setup`` cannot load the kernels; ``liar``
answers with scores that are wrong, ``seldom`` with one such in twenty; ``deadly`` ends, as by a crash, at the position
that `DEADLY` is; ``stranger`` is dask's own worker.
"""

from __future__ import annotations

import os
import random
import signal
import sys

import checkout

from desdaemon.cluster import cluster as command
from desdaemon.cluster import tasks
from desdaemon.cluster.connection import configure, scheduler_address
from desdaemon.cluster.window import AnySearch, WorkerAnswer
from desdaemon.engine.compiler.library import LibraryError
from desdaemon.engine.evaluation.weights import Weights

DEADLY = 0x0000001818081000, 0x0000000004100000
"""Discs of the side to move, and of the other side."""


def strange(kind: str) -> None:
    """Have this process's worker be one of a kind."""
    own, answers = tasks.identity, tasks.WorkerState.answers

    def other_version(weights: Weights) -> str:
        return f"{'0' * 12}-{own(weights).split('-')[1]}"

    def other_answers(weights: Weights) -> str:
        return f"{own(weights).split('-')[0]}-{'0' * 12}"

    def no_kernels(weights: Weights) -> str:
        raise LibraryError("the kernels cannot be compiled")

    def lie(
        state: tasks.WorkerState, job: str, hash_bits: int, searches: tuple[AnySearch, ...]
    ) -> list[WorkerAnswer | None]:
        found = answers(state, job, hash_bits, searches)
        wrong = [each and each._replace(found=(each.found[0], each.found[1] + 2)) for each in found]
        if kind == "liar":
            return wrong
        return [random.choices(pair, (1, 19))[0] for pair in zip(wrong, found, strict=True)]

    def die(
        state: tasks.WorkerState, job: str, hash_bits: int, searches: tuple[AnySearch, ...]
    ) -> list[WorkerAnswer | None]:
        if DEADLY in [each[:2] for each in searches]:
            os.kill(os.getpid(), signal.SIGKILL)
        return answers(state, job, hash_bits, searches)

    if kind == "version":
        tasks.identity = other_version
    elif kind == "answers":
        tasks.identity = other_answers
    elif kind == "setup":
        tasks.identity = no_kernels
    elif kind in ("liar", "seldom"):
        tasks.WorkerState.answers = lie  # type: ignore[method-assign]
    elif kind == "deadly":
        tasks.WorkerState.answers = die  # type: ignore[method-assign]


def dask_worker(file: str, name: str) -> None:
    """Be dask's own worker, until a signal comes."""
    configure()
    words = f"-P -m distributed.cli.dask_worker {scheduler_address(file)} --no-nanny --nthreads 1 --no-dashboard --name"
    os.execv(sys.executable, [sys.executable, *words.split(), name])


if __name__ == "__main__":
    assert checkout
    wanted, file, *options = sys.argv[1:]
    if wanted == "stranger":
        dask_worker(file, wanted)
    strange(wanted)
    sys.exit(command.main(["worker", file, "--name", wanted, "--threads", "1", *options]))
