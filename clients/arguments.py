"""Arguments and output that the client programs share: files, secrets, standard output."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from desdaemon.protocol.command_line import Parser, real, whole
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.system import platform

__all__ = ["Parser", "check_writable", "real", "whole"]


def check_writable(option: str, path: str) -> None:
    """Raise `BadInput`, naming ``option``, if a file cannot be written at ``path``. An existing path must be a regular
    file. ``-`` and "" name no file and always pass.
    """
    if path in ("", "-"):
        return
    place = Path(path)
    try:
        target = place if place.exists() else place.parent
        can = (place.is_file() or (target.is_dir() and target is not place)) and os.access(target, os.W_OK)
    except OSError:
        can = False
    if not can:
        raise BadInput(f"{option} {quoted(path)}: expected a file that can be written")


def print_text(text: str) -> None:
    """Do as `write_text`, but ignore a closed pipe, and raise `BadInput` for other errors."""
    try:
        write_text(text)
    except BrokenPipeError:
        return
    except OSError as error:
        raise BadInput(f"{error.filename}: {error.strerror}") from None


def write_text(text: str) -> None:
    """Write to standard output and flush. Raises `BrokenPipeError`, or another `OSError`, such as for a full disk, that
    names standard output; then all later output is discarded, as after a `KeyboardInterrupt` that ends the wait for a
    reader.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (OSError, KeyboardInterrupt) as error:
        if isinstance(error, OSError) and platform.reader_left(error):
            raise BrokenPipeError(error.errno, error.strerror) from None
        # Otherwise Python tries to write the rest again at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, KeyboardInterrupt):
            raise
        raise OSError(error.errno, error.strerror, "standard output") from None


def read_secret(path: str, what: str) -> str:
    """Return the first line of a file, up to 4,096 characters; messages call it ``what``.

    Raises `BadInput` if the file cannot be read or others may read it, or if the line is empty or not printable.
    """
    try:
        with Path(path).open(encoding="utf-8") as file:
            if platform.open_to_others(os.fstat(file.fileno()), 0o077):
                raise BadInput(f"{quoted(path)}: others may read this {what}: chmod 600 it")
            secret = file.readline(4096).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{quoted(path)}: {getattr(error, 'strerror', 'not UTF-8')}") from None
    if not secret or not secret.isprintable():
        raise BadInput(f"{quoted(path)}: expected the {what} in the first line")
    return secret
