"""Folders of the daemon, and the fence around the files that remote clients may name."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.system import folders


def data_folder() -> str:
    """Where remote clients' files are unless an option says otherwise; it may not exist yet."""
    return folders.data()


def keys_folder() -> str:
    """Where the keys are unless an option says otherwise; it may not exist yet."""
    return str(Path(folders.configuration()) / "keys")


def made_folder(path: str) -> str:
    """Make a folder, for this user alone, unless there is one; raises `BadInput`."""
    try:
        Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{quoted(path)}: {error.strerror}: expected a folder that can be made") from None
    return path


def private_folder(path: str) -> str:
    """Make a folder that only this user can enter, if need be; raises `BadInput` where it is somebody else's."""
    found = Path(made_folder(path)).lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise BadInput(f"{quoted(path)}: expected a folder of this user")
    if stat.S_IMODE(found.st_mode) & 0o077:
        Path(path).chmod(0o700)
    return path


class Hidden:
    """Folders that remote clients are not told of: they see the names of files as inside them."""

    def __init__(self, *folders: str) -> None:
        """Those that are empty or the root are left out."""
        # A folder inside another one goes first.
        self._prefixes = sorted({f"{folder}/" for folder in folders if folder.strip("/")}, key=len, reverse=True)

    def removed(self, text: str) -> str:
        """A text without them."""
        for prefix in self._prefixes:
            text = text.replace(prefix, "")
        return text


def confined(name: str, folder: str) -> Path:
    """The file or folder inside ``folder`` that a remote client means; raises `BadInput`.

    Absolute names, ``..``, and links that lead out of the folder are refused, whether the file is there or not. So is
    what is neither file nor folder: to open a pipe may take for ever.
    """
    if not name or "\0" in name:
        raise BadInput(f"{quoted(name)}: expected the name of a file")
    path = Path(name)
    if path.is_absolute() or ".." in path.parts or name.startswith("~"):
        raise BadInput(f"{quoted(name)}: expected a name inside the data folder")
    root = Path(folder).resolve()
    try:
        found = (root / path).resolve()
        inside = found.is_relative_to(root)
        odd = inside and found.exists() and not found.is_file() and not found.is_dir()
    except (OSError, RuntimeError, ValueError):
        raise BadInput(f"{quoted(name)}: expected the name of a file") from None
    if not inside:
        raise BadInput(f"{quoted(name)}: expected a name inside the data folder")
    if odd:
        raise BadInput(f"{quoted(name)}: is no file: expected the name of one")
    return found
