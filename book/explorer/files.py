"""The index of games, one for the whole process: the file is mapped when first used, and again once replaced."""

from __future__ import annotations

import functools
import os
import stat
from typing import TYPE_CHECKING

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.system import folders

if TYPE_CHECKING:
    from .index import GamesIndex


def default_file() -> str:
    """Return the file of the index that is used unless the option `games-file` names another."""
    return os.path.join(folders.data(), "games.index")  # noqa: PTH118


def games_index(path: str) -> GamesIndex:
    """Return the index in the file ``path``, the default one for "". Only the index asked for last stays mapped. Raises
    `BadInput` if the file is missing, cannot be read or is no index.
    """
    path = path or default_file()
    try:
        status = os.stat(path)  # noqa: PTH116
        # A pipe could keep the reader waiting for ever.
        if not stat.S_ISREG(status.st_mode):
            raise BadInput(f"{quoted(path)}: expected a regular file")
        return _opened(path, (status.st_ino, status.st_mtime_ns, status.st_size))
    except FileNotFoundError:
        raise BadInput(f"{quoted(path)}: no index of games: make one with desdaemon games index FOLDER") from None
    except OSError as error:
        raise BadInput(f"{quoted(path)}: {error.strerror}") from None


@functools.lru_cache(1)
def _opened(path: str, _stamp: tuple[int, int, int]) -> GamesIndex:
    # Imported when asked for: it loads numpy.
    from .index import GamesIndex

    return GamesIndex(path)
