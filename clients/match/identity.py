"""What identifies a program: its command line and a digest of its files, by which a journal notices another version."""

from __future__ import annotations

import hashlib
import os
import shutil
from importlib import resources
from pathlib import Path
from typing import Any

from desdaemon.clients.programs.engine_process import OWN_COMMAND, command_text
from desdaemon.protocol.version import __version__

_LARGEST = 1 << 30
_OWN_PARTS = ("desdaemon", "desdaemon.engine", "desdaemon.protocol")
"""Packages that influence how this program plays."""


def identity(command: list[str]) -> dict[str, Any]:
    """Return a dict with a program's ``command``, the ``sha256`` of its files and, for this program, its ``version``.

    The digest covers the file that is started, or this program's modules and weights, and files that the command line
    names. Files of options with ``log`` in their name, unreadable files and those above 1 GiB are left out.
    """
    own = command[: len(OWN_COMMAND)] == OWN_COMMAND
    digest = hashlib.sha256()
    for path in _own_files() if own else _files(command[:1]):
        _add(digest, path)
    for path in _files(command[len(OWN_COMMAND) :] if own else command[1:]):
        _add(digest, path)
    fields: dict[str, Any] = {"command": command_text(command), "sha256": digest.hexdigest()}
    return {**fields, "version": __version__} if own else fields


def _own_files() -> list[Path]:
    files: set[Path] = set()
    for part in _OWN_PARTS:
        root = Path(str(resources.files(part)))
        files.update(path for path in root.rglob("*") if path.suffix == ".py" or path.parent.name == "data")
    return sorted(files)


def _files(words: list[str]) -> list[Path]:
    """Return the files that the words of a command line name, also as ``option=FILE`` or by a name in PATH; those of
    options with ``log`` in their name are left out.
    """
    files = []
    option = ""
    for word in words:
        value = word.partition("=")[2] or word
        path = value if os.sep in value or os.path.isfile(value) else shutil.which(value) or value  # noqa: PTH113
        if "log" not in f"{option} {word.partition('=')[0]}".lower() and os.path.isfile(path):  # noqa: PTH113
            files.append(Path(path))
        option = word if word.startswith("-") else ""
    return files


def _add(digest: Any, path: Path) -> None:
    try:
        if path.is_file() and path.stat().st_size <= _LARGEST:
            digest.update(os.fsencode(path.name))
            digest.update(path.read_bytes())
    except OSError:
        return
