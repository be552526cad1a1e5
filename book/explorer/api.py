"""`Explorer`: how often people played each move of a position, and their games, by an index of games."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from desdaemon.api import Board

from .files import games_index

if TYPE_CHECKING:
    from pathlib import Path

    from .index import Played


class Explorer:
    """An index of games, made by ``desdaemon games index``; without ``file`` the one in the data folder.

    Any thread may call the methods. Raises `BadInput` if there is no index, or it is damaged.
    """

    def __init__(self, file: str | Path | None = None) -> None:
        self._file = str(file or "")
        games_index(self._file)

    def look_up(self, board: Board | str, *, games: int = 0, **chosen: Any) -> Played:
        """Return what was played on a board, mirrored boards included: ``moves``, the most frequent first, and up to
        ``games`` games, the newest first; with games each move has its most frequent players.

        Games are counted if their ``player``, ``black``, ``white`` and ``event`` contain the texts given, in any case,
        and their years are from ``from_year`` to ``to_year``. Raises `TypeError` for other arguments.
        """
        return next(self.look_up_many([board], games=games, **chosen))

    def look_up_many(self, boards: Iterable[Board | str], *, games: int = 0, **chosen: Any) -> Iterator[Played]:
        """Yield what `look_up` returns for each board, in order, faster than singly. ``boards`` is read to its end
        first.
        """
        from .index import Filter

        positions = [Board.of(board).position[:2] for board in boards]
        # Asked for each time: a mapping of a file that was cut short meanwhile must not be read.
        return games_index(self._file).look_up_many(positions, Filter(**chosen), games=games)
