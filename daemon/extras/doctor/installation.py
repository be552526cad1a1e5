"""Checks of program, Python, libraries, processor, memory, configuration and terminal."""

from __future__ import annotations

import contextlib
import os
import platform as machine
import re
import sys
from collections.abc import Iterator
from importlib import metadata

from desdaemon.engine.compiler.library import ROOT
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import platform
from desdaemon.protocol.system.interpreter import has_global_lock
from desdaemon.protocol.version import __version__

from . import FAULT, OK, WARNING, Finding

_DISTRIBUTION = "desdaemon"
_LEAST_MEMORY = 1 << 30
_NEWEST_PYTHON = (3, 14)
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:>=\s*([0-9.]+))?[^;]*(?:;\s*extra\s*==\s*['\"](\w+)['\"])?")
_PLATFORM = re.compile(r"sys_platform\s*==\s*['\"](\w+)['\"]")
_EXTRAS = {
    "web": "the board in the browser",
    "cluster": "searches on many machines",
    "mcp": "tools for language models",
}


def program() -> Iterator[Finding]:
    """Report the program's version and place; check the Python that runs it."""
    yield Finding("version", OK, f"desdaemon {__version__}, {_commit()}, in {ROOT}")
    python = f"{machine.python_implementation()} {machine.python_version()}, {sys.executable}"
    if not has_global_lock():
        yield Finding(
            "python",
            FAULT,
            f"{python}: runs without its global lock (GIL)",
            "set PYTHON_GIL=1, or use an ordinary CPython 3.11 or newer",
        )
    elif sys.implementation.name != "cpython":
        yield Finding("python", FAULT, f"{python}: expected CPython", "use an ordinary CPython 3.11 or newer")
    elif sys.version_info[:2] > _NEWEST_PYTHON:
        yield Finding("python", WARNING, f"{python}: newer than any that was tried", "an older one, if something fails")
    else:
        yield Finding("python", OK, python)
    yield Finding("system", OK, f"{machine.platform()}, {machine.machine()}")


def _commit() -> str:
    """Return ``commit`` and its first ten digits, as the checkout or pip knows them, else ``commit unknown``."""
    import json
    import subprocess

    commit = ""
    # The checkout around an installation's folder may be another program's.
    if (ROOT / ".git").exists():
        with contextlib.suppress(OSError):
            command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
            commit = subprocess.run(command, capture_output=True, encoding="utf-8", check=False).stdout.strip()
    else:
        with contextlib.suppress(metadata.PackageNotFoundError, ValueError, KeyError):
            origin = metadata.distribution(_DISTRIBUTION).read_text("direct_url.json")
            commit = json.loads(origin or "")["vcs_info"]["commit_id"]
    return f"commit {commit[:10]}" if commit else "commit unknown"


def libraries() -> Iterator[Finding]:
    """Check that the required libraries are installed and new enough; report which extras are installed."""
    try:
        required = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        yield Finding(
            "libraries", WARNING, "desdaemon runs from its sources: versions are not checked", "make, or pip install ."
        )
        return
    extras: dict[str, list[str]] = {name: [] for name in _EXTRAS}
    for text in required:
        elsewhere = _PLATFORM.search(text)
        if elsewhere and elsewhere[1] != sys.platform:
            continue
        match = _REQUIREMENT.match(text)
        assert match
        name, least, extra = match.groups()
        if not extra:
            yield _library(name, least or "0")
        elif extra in extras and not _version(name):
            extras[extra].append(name)
    yield Finding("llvmlite", OK, _version("llvmlite") or "not installed by pip")
    for extra, missing in extras.items():
        if missing:
            yield Finding(
                f"extra {extra}",
                OK,
                f"not installed ({', '.join(missing)}): {_EXTRAS[extra]}",
                f"if wanted: pip install {' '.join(missing)}",
            )
        else:
            yield Finding(f"extra {extra}", OK, f"installed: {_EXTRAS[extra]}")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _library(name: str, least: str) -> Finding:
    version = _version(name)
    if not version:
        return Finding(name, FAULT, "is not installed", f"pip install '{name}>={least}'")
    if _numbers(version) < _numbers(least):
        return Finding(name, FAULT, f"{version} is too old", f"pip install '{name}>={least}'")
    return Finding(name, OK, version)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def processor() -> Iterator[Finding]:
    """Check the processor that code is compiled for, the threads allowed, and the memory."""
    from desdaemon.engine.compiler.target import host_target
    from desdaemon.protocol.system.processors import processors

    target = host_target()
    asked = [name for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES") if os.environ.get(name)]
    text = f"{target.cpu}, {processors()} of {plural(os.cpu_count() or 1, 'processor')}, {target.tier} code"
    text += f" ({' and '.join(asked)} set)" if asked else ""
    if machine.machine().lower() in ("x86_64", "amd64") and target.tier == "plain":
        mend = f"unset {' '.join(asked)}" if asked else "none: searches take longer here (docs/performance.md)"
        yield Finding("processor", WARNING, f"{text}: no AVX2", mend)
    else:
        yield Finding("processor", OK, text)
    size = platform.physical_bytes()
    if size and size < _LEAST_MEMORY:
        yield Finding("memory", WARNING, f"{size >> 20} MiB: compiling needs most of it", "compile on another machine")
    else:
        yield Finding("memory", OK, f"{size / (1 << 30):.1f} GiB" if size else "not known")


def configuration() -> tuple[list[Finding], str, str]:
    """Check the configuration file. Returns findings, and the files of weights and book that it names, or ""."""
    from desdaemon.cli.arguments import UnusableFile, UsageError, configured
    from desdaemon.dialogue.configuration import configuration_path

    path = configuration_path()
    if not os.path.exists(path):  # noqa: PTH110
        return [Finding("configuration", OK, f"{path}: none, defaults")], "", ""
    try:
        invocation = configured([])
    except (UnusableFile, UsageError, OSError) as error:
        return [Finding("configuration", FAULT, str(error), "correct that line")], "", ""
    state = WARNING if invocation.warnings else OK
    text = "; ".join([path, *invocation.warnings])
    mend = "correct these lines" if invocation.warnings else ""
    settings = invocation.settings
    return [Finding("configuration", state, text, mend)], settings.eval_file, settings.book_file


def terminal() -> Finding:
    """Report what the standard streams and the line editor are; an encoding other than UTF-8 is a warning."""
    streams = "".join("yes " if os.isatty(number) else "no " for number in (0, 1, 2)).strip()
    encoding = (sys.stdout.encoding or "unknown").lower()
    try:
        platform.line_editing()
        editing = "line editing by readline"
    except ImportError:
        editing = "no readline: plain lines" if platform.HAS_IPC else "the console edits lines"
    text = f"terminals on 0, 1, 2: {streams}; TERM {os.environ.get('TERM', 'unset')}, {encoding}, {editing}"
    if encoding.replace("-", "") not in ("utf8", "cp65001"):
        return Finding("terminal", WARNING, text, "a UTF-8 locale, or PYTHONUTF8=1: names of files and players need it")
    return Finding("terminal", OK, text)
