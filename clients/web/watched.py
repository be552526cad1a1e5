"""The folder that `desdaemon web --watch` shows: its own regular files, whatever else somebody puts there."""

from __future__ import annotations

import os
import stat

from desdaemon.protocol.system import platform

LARGEST_PAGE = 16 << 20
"""Largest page that is shown, bytes."""


class UnusablePage(OSError):
    """There is something of that name, which is no regular file, one of another folder too, or too large."""


def read_page(folder: str, name: str) -> bytes:
    """Return the content of the file ``name`` of ``folder``, an absolute path. No link is followed, no pipe waited for,
    and no file read that has another name too. Raises `UnusablePage`, or another `OSError` if there is no such file or
    it cannot be read.
    """
    with os.fdopen(platform.open_inside(folder, name), "rb") as file:
        described = os.fstat(file.fileno())
        # The size is known before any of it is in memory; a file that grows meanwhile is cut there.
        if not stat.S_ISREG(described.st_mode) or described.st_size > LARGEST_PAGE:
            raise UnusablePage(f"expected a regular file of at most {LARGEST_PAGE >> 20} MiB")
        # A hard link would show a file of elsewhere that the one who made it may not read.
        if described.st_nlink > 1:
            raise UnusablePage(f"expected a file with one name, not {described.st_nlink}")
        return file.read(LARGEST_PAGE)
