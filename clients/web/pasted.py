"""Parser of pasted games and boards, in any file format or a form that web sites and programs use.

These forms are PlayOK's numbered moves, boards in a row or as eight lines, FEN records, and moves over several lines.
"""

from __future__ import annotations

import re

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.bases import FileGame, format_of_base, games_of
from desdaemon.protocol.games.contents import content_in
from desdaemon.protocol.games.formats import BY_NAME
from desdaemon.protocol.games.records import Complain, GameRecord
from desdaemon.protocol.othello.notation import parse_board
from desdaemon.protocol.texts import decoded

_ROW = re.compile(r"^[\s|]*(?:[1-8][\s|]*)?((?:[-.*_+XOxobBwW#@\u25cf\u25cb\u00b7][\s|]*){8})[1-8]?(?:\s.*)?$")
_SIDE = re.compile(r"(?:^|\s)([XxOo*bBwW]|[Bb]lack|[Ww]hite)(?:'s turn)?(?:\s+(?:to move|to play))?\s*$")
_NOTHING = "nothing there: expected a game or a board"
_SYMBOLS = str.maketrans("#@\u25cf\u25cb\u00b7+", "XXXO--")


def parse_pasted(data: bytes, name: str = "", bad: Complain | None = None) -> list[FileGame]:
    """Return the games of a pasted text or a dropped file; a board alone is a game without moves. Raises `BadInput`.

    ``name`` is the file's, if any. A game among others that cannot be read is passed over with a message to ``bad``;
    without ``bad`` it raises `BadInput`.
    """
    if not data:
        raise BadInput(_NOTHING)
    content = content_in(data, name or "pasted text")
    try:
        format = format_of_base(content_in(data, "pasted text"))
    except BadInput:
        if not name:
            raise
        # Of a base in binary that is damaged the name alone says what it is.
        return list(games_of(content, bad))
    if format == "txt":
        text = decoded(content.whole(), content.name).strip()
        if not text:
            raise BadInput(_NOTHING)
        board = _board(text)
        if board is not None:
            return [FileGame(board)]
        if text[0] + text[-1] in ("{}", "[]"):
            format = "ndjson"
    return list(games_of(content, bad, format if BY_NAME[format].by_line else ""))


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
