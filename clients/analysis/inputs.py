"""The games for `desdaemon analyze`: from files, pipes, standard input, or moves on the command line."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator

from desdaemon.protocol.errors import BadInput, Complaints, quoted
from desdaemon.protocol.games import bases
from desdaemon.protocol.games.bases import FileGame, game_files, read_games
from desdaemon.protocol.games.contents import content_from
from desdaemon.protocol.games.formats import parse_game
from desdaemon.protocol.games.records import Complain, GameRecord
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.system.terminal import ProgressLine

STANDARD_INPUT = "-"


def games_of(words: list[str], bad: Complain) -> Iterator[FileGame]:
    """Yield the games that a command line's words, joined by blanks, name: a file or a pipe, ``-`` for standard input,
    or moves such as ``f5 d6 c3``.

    ``bad`` is called with a line for each game that cannot be read. Raises `BadInput`, at the call or during the
    iteration, if the words are none of these, or if the file is unreadable, too large or not of games.
    """
    name = " ".join(words)
    if name == STANDARD_INPUT:
        return bases.games_of(content_from(sys.stdin.buffer, "standard input"), bad)
    try:
        regular = stat.S_ISREG(os.stat(name).st_mode)  # noqa: PTH116
    except OSError:
        return iter([FileGame(_moves(name))])
    if regular:
        return read_games(name, bad)
    try:
        with open(name, "rb") as file:  # noqa: PTH123
            return bases.games_of(content_from(file, name), bad)
    except OSError as error:
        raise BadInput(f"{quoted(name)}: {error.strerror}") from None


def games_in(paths: list[str], bad: Complain) -> Iterator[FileGame]:
    """Yield the games of files, and of the files in and below folders. ``bad`` is called with a line for each of the
    first games and files that cannot be read, and one for the others. Raises `BadInput` if a path does not exist, or
    if there is no file.
    """
    line = ProgressLine()
    with Complaints(bad) as few:
        for path in game_files(paths):
            line.show(f"reading {path}")
            try:
                yield from read_games(path, few)
            except BadInput as error:
                few(str(error))
    line.clear()


def _moves(text: str) -> GameRecord:
    try:
        record = parse_game(text, "txt")
    except BadInput as error:
        if "/" in text or "." in text:
            raise BadInput(f"{quoted(text)}: No such file or directory") from None
        raise BadInput(f"{quoted(text)} is not a file, and not a game: {error}") from None
    if not any(played.move != PASS for played in record.moves):
        raise BadInput(f"{quoted(text)}: expected a file, - for standard input, or moves such as f5d6c3")
    return record
