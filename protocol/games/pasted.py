"""Parser of pasted games and boards: any of the file formats, and forms that web sites and programs use.

Besides the formats of `bases` it reads the JSON of Othello Quest, PlayOK's numbered moves, boards in a row or as eight
lines, FEN records, and moves over several lines.
"""

from __future__ import annotations

import json
import re
from typing import Any

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.notation import START, parse_board, parse_move
from desdaemon.protocol.texts import UTF_16, decoded

from .bases import FileGame, parse_games, replayed
from .formats import listed_moves, parse_game
from .records import Complain, GameRecord, complain

_ROW = re.compile(r"^[\s|]*(?:[1-8][\s|]*)?((?:[-.*_+XOxobBwW#@\u25cf\u25cb\u00b7][\s|]*){8})[1-8]?(?:\s.*)?$")
_SIDE = re.compile(r"(?:^|\s)([XxOo*bBwW]|[Bb]lack|[Ww]hite)(?:'s turn)?(?:\s+(?:to move|to play))?\s*$")
_SYMBOLS = str.maketrans("#@\u25cf\u25cb\u00b7+", "XXXO--")
_DEEPEST = 50


def parse_pasted(data: bytes, name: str = "", bad: Complain | None = None) -> list[FileGame]:
    """Return the games in a pasted text or a dropped file; a board alone is a game without moves. Raises `BadInput`.

    ``name`` is that of a dropped file, if any. Each unreadable game of a file of several adds a line to ``bad``.
    """
    if b"\0" in data and not data.startswith(UTF_16):
        return list(parse_games(data, name, bad))
    text = decoded(data, name or "pasted text").strip()
    if not text:
        raise BadInput("there is nothing in it: expected a game or a board")
    if re.match(r"(?:\d+\s*)?\(\s*;", text) or re.match(r"\[\s*\w+\s+\"", text):
        return list(parse_games(text.encode(), name, bad))
    if text[0] in "{[":
        return _quest_games(text, bad)
    board = _board(text)
    if board is not None:
        return [FileGame(board)]
    try:
        return [FileGame(_moves(text))]
    except BadInput as error:
        if "\n" not in text:
            raise
        found = list(parse_games(data, name if name.endswith(".txt") else "pasted text", bad))
        if not found:
            raise BadInput(str(error)) from None
        return found


def _moves(text: str) -> GameRecord:
    """Parse one game: moves with or without numbers and a result, over any number of lines."""
    if ";" in text and "\n" not in text:
        return parse_game(text, "txt")
    moves = listed_moves(text)
    if not moves:
        raise BadInput(f"{quoted(text)}: expected a game or a board")
    return GameRecord(START, replayed(START, [move for move in moves if move < 64]))


def _board(text: str) -> GameRecord | None:
    """Parse a board, in a row or as eight lines; None if the text is none."""
    if ";" in text:
        return None
    rows = [found[1] for line in text.splitlines() if (found := _ROW.match(line))]
    if len(rows) == 8:
        squares = "".join("".join(rows).split()).replace("|", "").translate(_SYMBOLS)
        rest = "\n".join(line for line in text.splitlines() if not _ROW.match(line)).strip()
        after = [found[1] for line in [*text.splitlines(), rest] if (found := _SIDE.search(_ROW.sub("", line)))]
        return _with_side(squares, after[0] if after else "")
    try:
        return GameRecord(parse_board(text), ())
    except BadInput:
        squares = "".join(text.split()).translate(_SYMBOLS)
        return _with_side(squares, "") if re.fullmatch(r"[-._XOxo*bBwW]{64}", squares) else None


def _with_side(squares: str, side: str) -> GameRecord:
    """Return a board. Without a side to move it is Black's turn if the number of discs is even."""
    discs = sum(square not in "-._" for square in squares)
    return GameRecord(parse_board(f"{squares} {side[:1] or ('X' if discs % 2 == 0 else 'O')}"), ())


def _quest_games(text: str, bad: Complain | None) -> list[FileGame]:
    """Parse games of Othello Quest: JSON, a list of it or one a line. Raises `BadInput`."""
    try:
        found = _json(text)
    except (ValueError, RecursionError):
        raise BadInput(f"{quoted(text)}: expected a game or a board") from None
    listed = found if isinstance(found, list) and not _are_moves(found) else [found]
    games = []
    for number, each in enumerate(listed, 1):
        try:
            games.append(_quest(each)._replace(number=number))
        except BadInput as error:
            complain(f"game {number}: {error}" if len(listed) > 1 else str(error), bad)
    return games


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        lines = text.splitlines()
        if len(lines) < 2:
            raise
        return [json.loads(line) for line in lines if line.strip()]


def _quest(found: Any) -> FileGame:
    """Return a game of Othello Quest: parsed JSON that contains a list of moves, maps with ``m``; ``-`` is a pass."""
    moves = _quest_moves(found)
    if moves is None:
        raise BadInput("JSON without moves: expected a game of Othello Quest; its lists of games have none")
    squares = [parse_move(move) for move in moves if move != "-"]
    record = GameRecord(START, replayed(START, [move for move in squares if move < 64]))
    players = found.get("players") if isinstance(found, dict) else None
    players = players if isinstance(players, list) else []
    names = [str(player.get("name") or "") for player in players if isinstance(player, dict)]
    black, white = (*names, "", "")[:2]
    created = str(found.get("created") or "") if isinstance(found, dict) else ""
    day = re.match(r"\d{4}-\d{2}-\d{2}", created, re.ASCII)
    return FileGame(record._replace(black=black, white=white), event="Othello Quest", date=day[0] if day else "")


def _are_moves(found: Any) -> bool:
    return isinstance(found, list) and bool(found) and all(isinstance(item, dict) and "m" in item for item in found)


def _quest_moves(found: Any, depth: int = 0) -> list[str] | None:
    """Search parsed JSON for the first list whose items are all moves, and return these."""
    if _are_moves(found):
        return [str(item["m"]) for item in found]
    inner = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    if depth < _DEEPEST:
        for item in inner:
            moves = _quest_moves(item, depth + 1)
            if moves is not None:
                return moves
    return None
