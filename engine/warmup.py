"""`desdaemon warmup`: compile the kernels and expand the weights into the cache, so that no later start needs to."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

from desdaemon.engine.evaluation.weights import Weights, WeightsError, are_expanded
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.processors import processors

from .compiler import library, notice
from .exports import SPEC


def command_line() -> Parser:
    parser = Parser(
        prog="desdaemon warmup",
        description="Compile the engine and the book, and expand the weights, so that no later start needs to.",
    )
    parser.add_argument("--check", action="store_true", help="only look: exit 1 if anything is missing")
    return parser


class _Compilation(threading.Thread):
    """Compiles a library where it is missing, when one of the ``slots`` is free.

    ``place`` says how far it is, ``error`` why it failed.
    """

    def __init__(self, spec: library.Spec, slots: threading.Semaphore) -> None:
        # A daemon: after Ctrl-C nobody waits for it, and the compiling process ends with this one.
        super().__init__(name=f"compile {spec.name}", daemon=True)
        self._spec, self._slots = spec, slots
        self.seconds = 0.0
        self.place = ""
        self.error: library.LibraryError | None = None

    def run(self) -> None:
        with self._slots:
            begun = time.perf_counter()
            try:
                library.compile_library(self._spec, self._follow)
            except library.LibraryError as error:
                self.error = error
            self.seconds = time.perf_counter() - begun

    def _follow(self, line: str) -> None:
        self.place = f"the {self._spec.name} at {line.partition(' ')[0].replace('/', ' of ')}"


def _compile(specs: Sequence[library.Spec]) -> Iterator[_Compilation]:
    """Compile several libraries, as many at a time as there are processors; yield each when it is done, in order."""
    with notice.Compiling("libraries of kernels") as progress:
        slots = threading.Semaphore(processors())
        compilations = [_Compilation(spec, slots) for spec in specs]
        for compilation in compilations:
            compilation.start()
        for done, compilation in enumerate(compilations):
            # In turns, because on Windows Ctrl-C ends no wait.
            while compilation.is_alive():
                progress(f"{done}/{len(specs)}", compilation.place)
                compilation.join(0.2)
            yield compilation


def main(argv: Sequence[str], specs: Sequence[library.Spec] = (SPEC,)) -> int:
    """Compile the libraries ``specs`` that are not in the cache, then expand the shipped weights. With ``--check`` only
    report whether something is missing.

    Returns the exit status: 1 if something failed or, with ``--check``, is missing; else 0.
    """
    arguments = command_line().parse_args(argv)
    print(f"{'what':24} {'state':10} {'seconds':>8}")
    missing = [spec for spec in specs if library.read_cached(spec) is None]
    for spec in specs:
        if spec not in missing:
            print(f"{spec.name + ' library':24} {'cached':10}", flush=True)
    if arguments.check:
        for spec in missing:
            print(f"{spec.name + ' library':24} {'missing':10}")
    else:
        for spec, compilation in zip(missing, _compile(missing), strict=True):
            if compilation.error is not None:
                logs.message(str(compilation.error), level="error")
                return 1
            print(f"{spec.name + ' library':24} {'compiled':10} {compilation.seconds:8.2f}", flush=True)
    status = 1 if arguments.check and missing else 0
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
