"""Folders of the daemon, and the confinement of file names that remote clients send."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.system import folders, platform


def keys_folder() -> str:
    """Return the default folder of the CURVE keys; it may not exist yet."""
    return str(Path(folders.configuration()) / "keys")


def made_folder(path: str) -> str:
    """Create a folder that only this user can enter, with missing parents, unless the folder exists. Returns ``path``;
    raises `BadInput` if it cannot be created.
    """
    try:
        Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{quoted(path)}: {error.strerror}") from None
    return path


def private_folder(path: str) -> str:
    """Create a folder that only this user can enter, or make an existing one so.

    Returns ``path``. Raises `BadInput` if it cannot be created, is a link, or is not a folder of this user alone, such
    as the superuser's ``/`` and ``/tmp``.
    """
    status = Path(made_folder(path)).lstat()
    shared = status.st_mode & stat.S_ISVTX or os.path.realpath(path) == os.path.realpath(os.sep)
    if not stat.S_ISDIR(status.st_mode) or not platform.is_ours(status) or shared:
        raise BadInput(f"{quoted(path)}: expected a folder of this user alone")
    if platform.open_to_others(status, 0o077):
        Path(path).chmod(0o700)
    return path


def names_of_folders(*folders: str) -> re.Pattern[str]:
    """Return a pattern that matches each folder's name and the separator after it, to cut them out of texts for remote
    clients: ``/srv/data/x.sgf`` becomes ``x.sgf``. Empty names and the root folder are left out; without any folder
    left, the pattern matches nothing.
    """
    # Longest first: a folder inside another one goes before it.
    names = sorted((folder for folder in folders if folder.strip(os.sep)), key=len, reverse=True)
    return re.compile("|".join(re.escape(f"{name}{os.sep}") for name in names) or r"(?!)")


def named(name: str | os.PathLike[str]) -> Path:
    """Return the path that a name stands for, with ``~`` and ``~user`` expanded. Raises `BadInput` for a name with a
    zero byte or of links that lead nowhere.
    """
    try:
        # pathlib's fails where there is no such user.
        path = Path(os.path.expanduser(name))  # noqa: PTH111
        path.resolve()
    except (RuntimeError, ValueError):
        raise BadInput(f"{quoted(os.fspath(name))}: expected the name of a file") from None
    return path


def confined(name: str, folder: str) -> Path:
    """Return the path, with links resolved, that ``name`` has in ``folder``. The file or folder need not exist.

    Raises `BadInput` for a name that is empty, absolute or refused by the system, that begins with ``~`` or has a part
    ``..`` or one that no file can have here, a pattern's letters aside; for a name that leads out of ``folder`` by a
    link; and for a pipe or device, because opening it may block for ever.
    """
    path = Path(name)
    if not name or "\0" in name or not all(platform.names_file(re.sub(r"[*?]", "", part)) for part in path.parts):
        raise BadInput(f"{quoted(name)}: expected the name of a file")
    if path.is_absolute() or ".." in path.parts or name.startswith("~"):
        raise BadInput(f"{quoted(name)}: expected a name inside the data folder")
    root = Path(folder).resolve()
    try:
        resolved = (root / path).resolve()
        inside = resolved.is_relative_to(root)
        odd = inside and resolved.exists() and not resolved.is_file() and not resolved.is_dir()
    except (OSError, RuntimeError, ValueError):
        raise BadInput(f"{quoted(name)}: expected the name of a file") from None
    if not inside:
        raise BadInput(f"{quoted(name)}: expected a name inside the data folder")
    if odd:
        raise BadInput(f"{quoted(name)}: not a file")
    return resolved
