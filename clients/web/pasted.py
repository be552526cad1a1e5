"""Parser of pasted games and boards, in any file format or a form that web sites and programs use.

These forms are PlayOK's numbered moves, boards in a row or as eight lines, FEN records, and moves over several lines.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import islice

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import FileGame, format_of_base, games_of
from desdaemon.protocol.games.contents import content_in
from desdaemon.protocol.games.formats import BY_NAME
from desdaemon.protocol.games.records import Complain, GameRecord
from desdaemon.protocol.othello.notation import parse_board
from desdaemon.protocol.system import packed
from desdaemon.protocol.texts import decoded

LARGEST_UNPACKED = 1 << 22
"""Most bytes that a packed file may hold: a page's frame could hold sixty times as many as it has, and others wait."""
_LONGEST_BOARD = 10_000
"""Most characters of a text that may be a board."""

_ROW = re.compile(r"^[\s|]*(?:[1-8][\s|]*)?((?:[-.*_+XOxobBwW#@\u25cf\u25cb\u00b7][\s|]*){8})[1-8]?(?:\s.*)?$")
_SIDE = re.compile(r"(?:^|\s)([XxOo*bBwW]|[Bb]lack|[Ww]hite)(?:'s turn)?(?:\s+(?:to move|to play))?\s*$")
_NOTHING = "nothing there: expected a game or a board"
_SYMBOLS = str.maketrans("#@\u25cf\u25cb\u00b7+", "XXXO--")


class _Enough(Exception):
    """So many games cannot be read that the rest is left unread."""


def parse_pasted(data: bytes, name: str = "", bad: Complain | None = None, most: int = sys.maxsize) -> list[FileGame]:
    """Return the games of a pasted text or a dropped file, the first ``most``; a board alone is a game without moves.
    Raises `BadInput`.

    ``name`` is the file's, if any. A game among others that cannot be read is passed over with a message to ``bad``,
    and ``most`` such messages end the reading; without ``bad`` it raises `BadInput`.
    """
    found: list[FileGame] = []
    complaints = 0

    def passed_over(message: str) -> None:
        nonlocal complaints
        assert bad
        bad(message)
        complaints += 1
        if complaints >= most:
            raise _Enough

    try:
        for game in islice(_games(data, name, passed_over if bad else None), most):
            found.append(game)
    except _Enough:
        pass
    return found


def _games(data: bytes, name: str, bad: Complain | None) -> Iterator[FileGame]:
    if not data:
        raise BadInput(_NOTHING)
    content = content_in(data, name or "pasted text")
    if packed.packing(data) and content.size > LARGEST_UNPACKED:
        raise BadInput(f"{quoted(content.name)}: more than {LARGEST_UNPACKED} bytes when unpacked: take a part of it")
    try:
        format = format_of_base(content_in(data, "pasted text"))
    except BadInput:
        if not name:
            raise
        # Of a base in binary that is damaged the name alone says what it is.
        return games_of(content, bad)
    if format == "txt":
        text = decoded(content.whole(), content.name).strip()
        if not text:
            raise BadInput(_NOTHING)
        board = _board(text) if len(text) <= _LONGEST_BOARD else None
        if board is not None:
            return iter([FileGame(board)])
        if text[0] + text[-1] in ("{}", "[]"):
            format = "ndjson"
    return games_of(content, bad, format if BY_NAME[format].by_line else "")


def _board(text: str) -> GameRecord | None:
    """Parse a board, in a row or as eight lines; None for other text."""
    if ";" in text:
        return None
    rows = [match[1] for line in text.splitlines() if (match := _ROW.match(line))]
    if len(rows) == 8:
        squares = "".join("".join(rows).split()).replace("|", "").translate(_SYMBOLS)
        rest = "\n".join(line for line in text.splitlines() if not _ROW.match(line)).strip()
        after = [match[1] for line in [*text.splitlines(), rest] if (match := _SIDE.search(_ROW.sub("", line)))]
        return _with_side(squares, after[0] if after else "")
    try:
        return GameRecord(parse_board(text), ())
    except BadInput:
        squares = "".join(text.split()).translate(_SYMBOLS)
        return _with_side(squares, "") if re.fullmatch(r"[-._XOxo*bBwW]{64}", squares) else None


def _with_side(squares: str, side: str) -> GameRecord:
    """Return a game without moves. Without a ``side`` to move, Black moves if the number of discs is even."""
    discs = sum(square not in "-._" for square in squares)
    return GameRecord(parse_board(f"{squares} {side[:1] or ('X' if discs % 2 == 0 else 'O')}"), ())
