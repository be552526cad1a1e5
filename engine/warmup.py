"""`desdaemon warmup`: compile the kernels and expand the weights into the cache, so that no later start needs to."""

from __future__ import annotations

import time
from collections.abc import Sequence

from desdaemon.engine.evaluation.weights import Weights, WeightsError, are_expanded
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.system import logs

from .compiler import library
from .exports import SPEC


def command_line() -> Parser:
    parser = Parser(
        prog="desdaemon warmup",
        description="Compile the engine and the book, and expand the weights, so that no later start needs to.",
    )
    parser.add_argument("--check", action="store_true", help="only look: exit 1 if anything is missing")
    return parser


def main(argv: Sequence[str], specs: Sequence[library.Spec] = (SPEC,)) -> int:
    """Compile the libraries ``specs`` that are not in the cache, then expand the shipped weights. With ``--check`` only
    report whether something is missing.

    Returns the exit status: 1 if something failed or, with ``--check``, is missing; else 0.
    """
    arguments = command_line().parse_args(argv)
    print(f"{'what':24} {'state':10} {'seconds':>8}")
    status = 0
    for spec in specs:
        begun = time.perf_counter()
        state = "cached"
        if library.read_cached(spec) is None:
            if arguments.check:
                print(f"{spec.name + ' library':24} {'missing':10}")
                status = 1
                continue
            try:
                library.compile_library(spec)
            except library.LibraryError as error:
                logs.message(str(error), level="error")
                return 1
            state = "compiled"
        print(f"{spec.name + ' library':24} {state:10} {time.perf_counter() - begun:8.2f}", flush=True)
    begun = time.perf_counter()
    # Print the name first, because the first run takes seconds.
    print(f"{'weights':24} ", end="", flush=True)
    try:
        if not arguments.check:
            Weights.load()
        elif not are_expanded():
            print("missing")
            return 1
    except WeightsError as error:
        print()
        logs.message(str(error), level="error")
        return 1
    print(f"{'ready':10} {time.perf_counter() - begun:8.2f}")
    return status
