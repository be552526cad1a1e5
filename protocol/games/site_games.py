"""Games as JSON: PlayStrategy's exports, games of Othello Quest, and objects with a list of moves.

PlayStrategy documents ``players``, ``variant``, ``createdAt`` and ``moves`` of its exports, but neither its notation of
moves nor passes: Fairy-Stockfish's words (``P@e3``, ``c3c3``) and bare squares are read. Othello Quest documents
nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.notation import move_text, parse_moves

from .contents import LONGEST_LINE
from .records import GameText

_OTHELLO = ("flipello", "othello", "reversi")
_START = "8/8/8/3pP3/3Pp3/8/8/8"
"""The usual start, from rank 8 on, as PlayStrategy writes it."""

_DROP = re.compile(r"(?:\w?@)?([a-h][1-8])", re.ASCII | re.IGNORECASE)
_PASS = re.compile(r"([a-h][1-8])\1|-+|p?@+|pass?|ps", re.ASCII | re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DEEPEST = 50


def json_texts(lines: Iterable[str]) -> Iterator[GameText]:
    """Yield the games of lines, which have their ends, with names of PGN's tags; a part that is no game has a
    ``fault``. The text is an object a line, one object, or a list of objects; a game starts at the number of the line.
    """
    text, start = "", 0
    a_line_each: bool | None = None
    for number, line in enumerate(lines, 1):
        if not text:
            if not line.strip():
                continue
            start = number
            if a_line_each is None:
                a_line_each = line.rstrip().endswith("}")
        text += line
        # What `str.splitlines` also takes for ends may stand in a string.
        if a_line_each and line.endswith("\n"):
            yield from _texts(text, start)
            text = ""
        elif len(text) > LONGEST_LINE:
            yield GameText(start, [], f"expected JSON of at most {LONGEST_LINE} characters, or an object a line")
            return
    if text:
        yield from _texts(text, start)


def _texts(text: str, start: int) -> Iterator[GameText]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        yield GameText(start, [], f"{quoted(text.strip())}: expected a game as JSON")
        return
    for game in value if isinstance(value, list) and not _are_moves(value) else [value]:
        try:
            if isinstance(game, dict) and isinstance(game.get("players"), dict):
                yield GameText(start, _playstrategy(game))
            else:
                yield GameText(start, _quest(game))
        except BadInput as error:
            yield GameText(start, [], str(error))


def _playstrategy(game: dict[str, Any]) -> list[tuple[str, str]]:
    """Return tags and moves of a game of PlayStrategy; the first player, ``p1`` or ``white``, is our Black. Raises
    `BadInput` for another game, another start, or no moves.
    """
    variant = game.get("variant")
    name = str(variant.get("key") or variant.get("name") if isinstance(variant, dict) else variant)
    if name.lower() not in _OTHELLO:
        raise BadInput(f"{quoted(name)} is another game: expected flipello, which is Othello")
    if not str(game.get("initialFen") or _START).startswith(_START):
        raise BadInput("it begins on another board: expected the standard start")
    moves, players, created = game.get("moves"), game["players"], game.get("createdAt")
    if not isinstance(moves, str):
        raise BadInput("JSON without moves: expected the export with moves=true")
    first, second = (
        _player(next((players[name] for name in names if name in players), None))
        for names in (("p1", "white"), ("p2", "black"))
    )
    seconds = str(created // 1000) if isinstance(created, int) else ""
    tags = [("EVENT", "PlayStrategy"), ("DATE", seconds), ("BLACK", first), ("WHITE", second)]
    return [*tags, *_result(game.get("winner"), ("p1", "white")), *_moves(moves.split())]


def _result(winner: object, blacks: tuple[str, ...], result: object = "") -> list[tuple[str, str]]:
    """Return the tag of a result, given or that of a winner; the first player, our Black, is called ``blacks``."""
    if isinstance(result, str) and result:
        return [("RESULT", result)]
    names = {"p1", "p2", "black", "white"}
    return [("RESULT", "1-0" if winner in blacks else "0-1")] if isinstance(winner, str) and winner in names else []


def _player(player: object) -> str:
    """Return the name in a player's JSON object, else the user id; "" if there is neither. A string is a name."""
    if isinstance(player, str):
        return player
    if not isinstance(player, dict):
        return ""
    user = player.get("user")
    return str((user if isinstance(user, dict) else player).get("name") or player.get("userId") or "")


def _quest(game: object) -> list[tuple[str, str]]:
    """Return tags and moves of a game of Othello Quest, from parsed JSON that has a list of moves anywhere: maps with a
    key ``m``. Moves may also be strings, alone or in a list, and players plain names, as programs write them. Raises
    `BadInput` if there are no moves.
    """
    about = game if isinstance(game, dict) else {}
    written = about.get("moves")
    moves = list(map(move_text, parse_moves(written))) if isinstance(written, str) else _quest_moves(game)
    if moves is None:
        raise BadInput("JSON without moves: expected a game of Othello Quest; its lists of games have none")
    players = about.get("players")
    names = [_player(player) for player in players] if isinstance(players, list) else []
    names = names or [_player(about.get("black")), _player(about.get("white"))]
    day = _DAY.match(str(about.get("created") or about.get("date") or ""))
    plain = isinstance(written, str) or _are_words(written) or _are_words(game)
    tags = [("EVENT", str(about.get("event") or "") if plain else "Othello Quest"), ("DATE", day[0] if day else "")]
    tags += zip(("BLACK", "WHITE"), names, strict=False)
    return [*tags, *_result(about.get("winner"), ("black",), about.get("result")), *_moves(moves)]


def _are_moves(value: object) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(item, dict) and "m" in item for item in value) or _are_words(value)


def _are_words(value: object) -> bool:
    """Return whether parsed JSON is a list of moves as strings, which begins with a square."""
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        return False
    return bool(_DROP.fullmatch(value[0]))


def _quest_moves(value: Any, depth: int = 0) -> list[str] | None:
    """Return the first list of nothing but moves in parsed JSON; None if none is nested at most `_DEEPEST` deep."""
    if _are_moves(value):
        return [str(item["m"]) if isinstance(item, dict) else item for item in value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if depth < _DEEPEST:
        for item in inner:
            moves = _quest_moves(item, depth + 1)
            if moves is not None:
                return moves
    return None


def _moves(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the moves, each with an empty name as in `GameText`. Passes are left out; `follow` inserts them."""
    for word in words:
        drop = _DROP.fullmatch(word)
        if drop or not _PASS.fullmatch(word):
            yield "", drop[1] if drop else word
