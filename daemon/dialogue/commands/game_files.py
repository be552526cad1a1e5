"""Files of games: loading and saving a session's game, and the option ``game-file`` for finished games."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.formats import BY_NAME, FORMATS, READ_FORMATS, game_text
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.system import files

if TYPE_CHECKING:
    from desdaemon.dialogue.session import Session

DIAGRAMS = ("svg", "eps")
"""Formats of pictures, which can be written but not read."""

_WRITTEN = tuple(row.name for row in BY_NAME.values() if (row.written or row.write) and not row.several)
"""Formats in which a game alone is written."""


def read_game(path: str, format: str = "") -> GameRecord:
    """Return the first game of a file, in ``format`` or, if that is "", in the format of the file's name, which for
    ``.txt`` the content says. Raises `BadInput` if the format is unknown, or the file or its first game cannot be read.
    """
    from desdaemon.protocol.games.bases import extension_of, read_games

    if not path:
        raise BadInput('load "": expected the name of a file')
    format = format or extension_of(path)
    if format not in READ_FORMATS:
        raise BadInput(f"{quoted(path)}: expected a file name that ends in .{', .'.join(READ_FORMATS)}")
    complaints = deque[str](maxlen=1)
    game = next(read_games(path, complaints.append, "" if format == "txt" else format), None)
    if game is None or game.number > 1:
        raise BadInput(complaints[-1] if complaints else f"{quoted(path)}: no game in it")
    return game.record


class GameFile:
    """Appends each finished game of a session to a file, once, in the format of the file's name."""

    def __init__(self, path: str, session: Session, warn: Callable[[str], None]) -> None:
        """``warn`` gets a line if the file cannot be written. Raises `BadInput` for a name without a known format."""
        if _extension(path) not in _WRITTEN:
            raise BadInput(f"game-file {quoted(path)}: expected a file name that ends in .{', .'.join(_WRITTEN)}")
        self._path = path
        self._session = session
        self._warn = warn
        self._last: tuple[object, ...] = ()
        """The game that was added last."""
        self._lost = False
        """Whether a write has failed; then no more games are added."""

    def add(self) -> None:
        """Append the finished game on the board, unless it was the last one added. After a failed write warn, and from
        then on add nothing.
        """
        game = self._session.game
        finished = (game.initial, *game.moves)
        if finished == self._last or self._lost:
            return
        self._last = finished
        try:
            self._append(_record(self._session))
        except (BadInput, OSError, ValueError) as error:
            self._lost = True
            reason = error.strerror if isinstance(error, OSError) else error
            self._warn(f"game-file {quoted(self._path)}: {reason}: games are not saved")

    def _append(self, record: GameRecord) -> None:
        if _extension(self._path) not in FORMATS:
            from desdaemon.protocol.games.bases import FileGame, write_games

            game = FileGame(record, date=time.strftime("%Y-%m-%d", time.gmtime()))
            write_games(self._path, [game], append=os.path.exists(self._path))  # noqa: PTH110
            return
        text = game_text(record, _extension(self._path), time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()))
        files.append(self._path, text.encode("utf-8", "backslashreplace"))


def _record(session: Session) -> GameRecord:
    game, settings = session.game, session.settings
    return GameRecord(
        game.initial,
        tuple(PlayedMove(move, 0.0) for move in game.moves),
        settings.engine_name if settings.mode in (1, 2) else "",
        settings.engine_name if settings.mode in (0, 2) else "",
    )


def write_game(path: str, session: Session) -> None:
    """Write the session's game to a file, in the format of the file's name. Raises `BadInput` if the format is unknown
    or the file cannot be written.
    """
    if not path:
        raise BadInput('save "": expected the name of a file')
    format = _extension(path)
    if format not in (*_WRITTEN, *DIAGRAMS):
        raise BadInput(f"{quoted(path)}: expected a file name that ends in .{', .'.join((*_WRITTEN, *DIAGRAMS))}")
    record = _record(session)
    from desdaemon.protocol.games.bases import FileGame, replace_file, write_games

    if format not in (*FORMATS, *DIAGRAMS):
        write_games(path, [FileGame(record, date=time.strftime("%Y-%m-%d", time.gmtime()))])
        return
    if format in DIAGRAMS:
        from desdaemon.protocol.othello.diagrams import eps_text, svg_text

        text = svg_text(record.final) if format == "svg" else eps_text(record.final)
    else:
        text = game_text(record, format, time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()))
    replace_file(path, text.encode("utf-8", "backslashreplace"))


def _extension(path: str) -> str:
    return os.path.splitext(path)[1][1:].lower()  # noqa: PTH122  pathlib costs start-up time
