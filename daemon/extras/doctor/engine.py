"""Checks of the engine: cache, compiler, compiled code, a search, weights, the book."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from desdaemon.engine.compiler import library
from desdaemon.engine.exports import SPEC as ENGINE
from desdaemon.protocol.commands.options import BUILTIN_BOOK
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import logs

from . import FAULT, OK, WARNING, Finding

FREE_BYTES = 160 << 20
"""Free bytes wanted: for compiled code, expanded weights, the compiler's temporary files, and some to spare."""

_CHILD_S = 300.0

_COMPILE = f"""{library.OURSELVES}
from desdaemon.engine.compiler import jit
from desdaemon.engine.compiler.library import Library
from desdaemon.engine.exports import SPEC
entries = {{"board_moves": SPEC.entries["board_moves"]}}
found = Library(jit.build(("desdaemon.engine.kernels.interface",), entries), entries)
print(found.board_moves(0x0000000810000000, 0x0000001008000000))
"""
_MOVES = str(1 << 19 | 1 << 26 | 1 << 37 | 1 << 44)
"""What the program `_COMPILE` prints if it works: the mask of the first moves d3, c4, f5 and e6."""

_SEARCH = f"""{library.OURSELVES}
from desdaemon.cli.main import main
sys.exit(main(["-q", "-l", "1", "-n", "1", "--config", "none", *sys.argv[1:]]))
"""


def cache() -> Iterator[Finding]:
    """Check that the cache folder can be written to and has room for what is compiled."""
    complaints: list[str] = []
    logs.redirect(complaints.append)
    try:
        folder = library.cache_folder()
    finally:
        logs.redirect(None)
    mend = "name a folder that can be written: DESDAEMON_CACHE_DIR"
    if folder is None:
        yield Finding("cache", WARNING, "; ".join(complaints), mend)
        return
    reason = _refusal(folder)
    if reason:
        yield Finding("cache", WARNING, f"{folder}: {reason}: everything is compiled at each start", mend)
        return
    free = shutil.disk_usage(folder).free
    if free < FREE_BYTES and library.read_ready(ENGINE) is None:
        text = f"{folder}: {free >> 20} MiB free, expected {FREE_BYTES >> 20}: what is compiled may not be kept"
        yield Finding("cache", WARNING, text, f"make room, or {mend}")
        return
    yield Finding("cache", OK, f"{folder}, {free >> 20} MiB free{'; ' if complaints else ''}{'; '.join(complaints)}")


def _refusal(folder: Path) -> str:
    """Return why a folder cannot be written to; "" if it can."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(1 << 16))
            file.flush()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def compiler() -> Finding:
    """Compile a part of the engine in a child process and check that it computes what it should."""
    began = time.perf_counter()
    output, reason = _child(_COMPILE, "")
    took = f"{time.perf_counter() - began:.1f} s"
    if reason:
        mend = "pip install --force-reinstall numba llvmlite"
        if "SIGILL" in reason and (os.environ.get("NUMBA_CPU_NAME") or os.environ.get("NUMBA_CPU_FEATURES")):
            mend = "unset NUMBA_CPU_NAME and NUMBA_CPU_FEATURES: they ask for what this processor lacks"
        return Finding("compiler", FAULT, reason, mend)
    if output.strip() != _MOVES:
        return Finding("compiler", FAULT, f"compiled code counts {output.strip()!r}, not {_MOVES}", "report this")
    return Finding("compiler", OK, f"a kernel was compiled and ran in {took}")


def _child(program: str, text: str, *arguments: str) -> tuple[str, str]:
    """Run the Python source ``program`` in a child process, with ``text`` as its input. Returns its output, and the
    reason of a failure or "".
    """
    command = [sys.executable, "-P", "-c", program, str(library.ROOT), *arguments]
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=_CHILD_S
        )
    except subprocess.TimeoutExpired:
        return "", f"no end within {_CHILD_S:.0f} s"
    except OSError as error:
        return "", f"{sys.executable}: {error.strerror}"
    if done.returncode < 0:
        return done.stdout, f"ended by {signal.Signals(-done.returncode).name}"
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "")
    return done.stdout, f"status {done.returncode}: {last}" if done.returncode else ""


def compiled(*, search: bool) -> Iterator[Finding]:
    """Check that the compiled kernels are at hand and, if so and with ``search``, that a search answers."""
    from desdaemon.engine.compiler.inspect import specs

    missing = [spec.name for spec in specs() if library.read_ready(spec) is None]
    if missing:
        text = f"not in the cache: {' and '.join(missing)}; compiled at the first use, for about a minute"
        yield Finding("compiled code", OK, text, "desdaemon warmup does it now")
        return
    yield Finding("compiled code", OK, "engine and book need no compiling")
    if not search:
        return
    began = time.perf_counter()
    output, reason = _child(_SEARCH, "hint 1\nquit\n")
    if reason or not re.search(r"\b[A-Ha-h][1-8]\b", output):
        yield Finding("search", FAULT, reason or f"no move in {output[-80:]!r}", "desdaemon warmup; else report this")
        return
    yield Finding("search", OK, f"a program started and found a move in {time.perf_counter() - began:.1f} s")


def weights(path: str) -> Finding:
    """Check that the file of weights ``path`` can be read, the shipped one for ""."""
    from desdaemon.engine.evaluation.weights import SHIPPED
    from desdaemon.engine.evaluation.weights_file import WeightsError, read

    place = path or str(SHIPPED)
    mend = "name another file with -eval-file" if path else "install desdaemon again"
    try:
        _, record = read(place)
    except (WeightsError, OSError) as error:
        reason = f"{place}: {error.strerror}" if isinstance(error, OSError) else str(error)
        return Finding("weights", FAULT, reason, mend)
    name = record.get("name") or Path(place).name
    return Finding("weights", OK, f"{name}{'' if path else ', the shipped ones'}")


def book(path: str) -> Finding:
    """Check that the book in the file ``path`` can be opened, without writing to it; with "" report that none is used,
    which is no fault.
    """
    from desdaemon.book.errors import Unreadable
    from desdaemon.book.formats.registry import SHIPPED, read, shipped

    if not path:
        own = f"-book-file {BUILTIN_BOOK} opens the one that ships" if SHIPPED.exists() else "none ships either"
        return Finding("book", OK, f"none is configured; {own}")
    place = Path(path)
    try:
        if path == BUILTIN_BOOK:
            place = shipped()
        opened = read(place)
        count, notes = len(opened.book), [*opened.notes]
        if opened.store is not None:
            opened.store.close()
    except Unreadable as error:
        return Finding("book", FAULT, str(error), f"a backup is {place.name}.1 beside it" if _has_backup(place) else "")
    text = f"{place}: {plural(count, 'position')}{'; ' if notes else ''}{'; '.join(notes)}"
    return Finding("book", WARNING if notes else OK, text)


def _has_backup(place: Path) -> bool:
    return Path(f"{place}.1").exists()
