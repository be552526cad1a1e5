"""Parser of pasted games and boards, in any file format or a form that web sites and programs use.

These forms are the JSON of Othello Quest, PlayOK's numbered moves, boards in a row or as eight lines, FEN records, and
moves over several lines.
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
    """Return the games of a pasted text or a dropped file; a board alone is a game without moves. Raises `BadInput`.

    ``name`` is that of the file, if any. Games of a file that cannot be read are reported to ``bad``.
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
        games = list(parse_games(data, name if name.endswith(".txt") else "pasted text", bad))
        if not games:
            raise BadInput(str(error)) from None
        return games


def _moves(text: str) -> GameRecord:
    """Parse one game: moves with or without numbers and a result, over any number of lines."""
    if ";" in text and "\n" not in text:
        return parse_game(text, "txt")
    moves = listed_moves(text)
    if not moves:
        raise BadInput(f"{quoted(text)}: expected a game or a board")
    return GameRecord(START, replayed(START, [move for move in moves if move < 64]))


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


def _quest_games(text: str, bad: Complain | None) -> list[FileGame]:
    """Parse JSON games of Othello Quest: one, a list, or one a line. Raises `BadInput`."""
    try:
        parsed = _json(text)
    except (ValueError, RecursionError):
        raise BadInput(f"{quoted(text)}: expected a game or a board") from None
    listed = parsed if isinstance(parsed, list) and not _are_moves(parsed) else [parsed]
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


def _quest(parsed: Any) -> FileGame:
    """Return a game of Othello Quest: parsed JSON with a list of moves, ``{"m": "f5"}``; ``-`` is a pass."""
    moves = _quest_moves(parsed)
    if moves is None:
        raise BadInput("JSON without moves: expected a game of Othello Quest; its lists of games have none")
    squares = [parse_move(move) for move in moves if move != "-"]
    record = GameRecord(START, replayed(START, [move for move in squares if move < 64]))
    players = parsed.get("players") if isinstance(parsed, dict) else None
    players = players if isinstance(players, list) else []
    names = [str(player.get("name") or "") for player in players if isinstance(player, dict)]
    black, white = (*names, "", "")[:2]
    created = str(parsed.get("created") or "") if isinstance(parsed, dict) else ""
    day = re.match(r"\d{4}-\d{2}-\d{2}", created, re.ASCII)
    return FileGame(record._replace(black=black, white=white), event="Othello Quest", date=day[0] if day else "")


def _are_moves(parsed: Any) -> bool:
    return isinstance(parsed, list) and bool(parsed) and all(isinstance(item, dict) and "m" in item for item in parsed)


def _quest_moves(parsed: Any, depth: int = 0) -> list[str] | None:
    """Return the first list in parsed JSON whose items are all moves; None without one."""
    if _are_moves(parsed):
        return [str(item["m"]) for item in parsed]
    inner = parsed.values() if isinstance(parsed, dict) else parsed if isinstance(parsed, list) else ()
    if depth < _DEEPEST:
        for item in inner:
            moves = _quest_moves(item, depth + 1)
            if moves is not None:
                return moves
    return None
