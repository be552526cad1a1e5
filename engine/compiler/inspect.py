"""`desdaemon kernels`: list the compiled kernels, or show the LLVM code or assembly of one."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.satellites import present
from desdaemon.protocol.system import logs

if TYPE_CHECKING:
    from .jit import Kernel
    from .library import Spec

LIBRARIES = ("desdaemon.engine.exports", "desdaemon.book.exports", "desdaemon.book.passes")
"""Modules whose ``SPEC`` defines a library, but for those of satellites."""


def specs() -> list[Spec]:
    """Return the definitions of all libraries."""
    names = (*LIBRARIES, *(name for satellite in present("libraries") for name in satellite.libraries))
    return [importlib.import_module(name).SPEC for name in names]


def command_line() -> Parser:
    parser = Parser(
        prog="desdaemon kernels",
        description="List the kernels, or show the code of one, compiled now for this processor.",
    )
    parser.add_argument("name", nargs="?", help="show this kernel; without it all are listed")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--ir", action="store_true", help="LLVM code after optimisation, as far as it was not inlined")
    shown.add_argument("--lowered", action="store_true", help="LLVM code before optimisation (the default)")
    shown.add_argument("--asm", action="store_true", help="assembly, as far as it was not inlined")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run `desdaemon kernels`. Returns the exit status: 1 for a kernel that is missing or, with ``--ir`` or ``--asm``,
    has no code of its own; else 0.
    """
    options = command_line().parse_args(arguments)
    # `desdaemon kernels --help` must not load the compiler.
    from . import jit

    libraries = specs()
    for spec in libraries:
        for module in spec.modules:
            importlib.import_module(module)
    if options.name is None:
        entries = {name for spec in libraries for name in spec.entries}
        sys.stdout.writelines(f"{line}\n" for line in listing(jit.kernels(), entries))
        return 0
    if options.name not in jit.kernels():
        logs.message(f"no kernel is called {options.name}: `desdaemon kernels` lists them", level="error")
        return 1
    if not options.ir and not options.asm:
        text, _ = jit.kernels()[options.name].lower()
        sys.stdout.write(text)
        return 0
    spec = next(spec for spec in libraries if options.name in jit.reached(spec.entries))
    optimised = jit.link(spec.modules, spec.entries)
    text = jit.assembly(optimised) if options.asm else str(optimised)
    code = (assembly_of if options.asm else code_of)(text, jit.kernels()[options.name].symbol)
    if not code:
        logs.message(f"{options.name} is inlined into all its callers: look at one of them", level="error")
        return 1
    sys.stdout.write(code)
    return 0


def listing(kernels: dict[str, Kernel], entries: set[str]) -> list[str]:
    """Return a line for each kernel: name, signature, whether Python calls it (``entries``) or callers inline it,
    module, file and line.
    """
    lines = []
    for name, kernel in sorted(kernels.items()):
        kind = "entry" if name in entries else "inline" if kernel.inline else ""
        code = kernel.function.__code__
        module = kernel.function.__module__.removeprefix("desdaemon.")
        line = f"{name:<24} {kernel.signature:<48} {kind:<6} {module}, {Path(code.co_filename).name}"
        lines.append(f"{line}:{code.co_firstlineno}")
    return lines


def code_of(module: str, symbol: str) -> str:
    """Return the definition of the function ``symbol`` from the text of an LLVM module; "" if there is none."""
    match = re.search(rf'^define [^\n]*@"?{re.escape(symbol)}"?\(.*?^}}\n', module, re.MULTILINE | re.DOTALL)
    return match[0] if match else ""


def assembly_of(text: str, symbol: str) -> str:
    """Return the lines of the function ``symbol`` from an assembly listing; "" if there are none."""
    match = re.search(rf"^{re.escape(symbol)}:.*?^\.Lfunc_end\d+:", text, re.MULTILINE | re.DOTALL)
    return match[0] + "\n" if match else ""
