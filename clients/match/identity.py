"""The identity of a program: its command line and a digest of its files. The journal uses it to notice another
version.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import shutil
from pathlib import Path
from typing import Any

from .engine_process import OWN_COMMAND, command_text

_LARGEST = 1 << 30
_OWN_PARTS = ("desdaemon", "desdaemon.engine", "desdaemon.protocol")
"""The packages that influence how this program plays."""


def own_version() -> str:
    """This program's version."""
    return str(importlib.import_module("desdaemon").__version__)


def identity(command: list[str]) -> dict[str, Any]:
    """Return ``command``, ``sha256`` of the program and of the files that its command line names, and our ``version``.

    For an installed program the digest covers the file that is started, for this one its modules and weights. Files of
    options with ``log`` in their name are left out, because they are written.
    """
    own = command[: len(OWN_COMMAND)] == OWN_COMMAND
    digest = hashlib.sha256()
    for path in _own_files() if own else _files(command[:1]):
        _add(digest, path)
    for path in _files(command[len(OWN_COMMAND) :] if own else command[1:]):
        _add(digest, path)
    found: dict[str, Any] = {"command": command_text(command), "sha256": digest.hexdigest()}
    return {**found, "version": own_version()} if own else found


def _own_files() -> list[Path]:
    found: set[Path] = set()
    for part in _OWN_PARTS:
        spec = importlib.util.find_spec(part)
        for place in (spec.submodule_search_locations or []) if spec else []:
            root = Path(place)
            found.update(path for path in root.rglob("*") if path.suffix == ".py" or path.parent.name == "data")
    return sorted(found)


def _files(words: list[str]) -> list[Path]:
    """Return the regular files among some words; the first word of a command is looked up in PATH."""
    found = []
    before = ""
    for word in words:
        value = word.partition("=")[2] or word
        path = Path(value if os.sep in value or Path(value).is_file() else shutil.which(value) or value)
        if "log" not in f"{before} {word.partition('=')[0]}".lower() and path.is_file():
            found.append(path)
        before = word if word.startswith("-") else ""
    return found


def _add(digest: Any, path: Path) -> None:
    try:
        if path.is_file() and path.stat().st_size <= _LARGEST:
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    except OSError:
        return
