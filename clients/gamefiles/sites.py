"""Games as JSON: PlayStrategy's exports, games of Othello Quest, and objects with a list of moves.

PlayStrategy documents ``players``, ``variant``, ``createdAt`` and ``moves`` of its exports, but neither its notation of
moves nor passes: Fairy-Stockfish's words (``P@e3``, ``c3c3``) and bare squares are read. Othello Quest documents
nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.contents import LONGEST_LINE
from desdaemon.protocol.games.formats import replayed
from desdaemon.protocol.games.move_lists import move_lists
from desdaemon.protocol.games.records import GameRecord, GameText
from desdaemon.protocol.othello.notation import (
    START,
    Position,
    first_move,
    move_text,
    parse_board,
    parse_move,
    parse_moves,
    play_moves,
)
from desdaemon.protocol.othello.rules import PASS, squares, transform

_OTHELLO = ("flipello", "othello", "reversi")
_START = "8/8/8/3pP3/3Pp3/8/8/8"
"""The usual start, from rank 8 on, as PlayStrategy writes it."""

_DROP = re.compile(r"(?:\w?@)?([a-h][1-8])", re.ASCII | re.IGNORECASE)
_PASS = re.compile(r"([a-h][1-8])\1|-+|p?@+|pass?|ps", re.ASCII | re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DEEPEST = 50
_ANOTHER_BOARD = "it begins on another board: expected the standard start"
_TURNED = Position(transform(START.player, 2), transform(START.opponent, 2), True)
"""The start with ranks counted from below."""
_NO_MOVES = "JSON without moves: expected moves, kifu or transcript, or a game of Othello Quest"
_KEYS = ("moves", "kifu", "transcript")
_ABOUT = ("players", "black", "white", "event", "created", "date", "winner", "result")
_BEGINNING = re.compile(r"(?:initial|start)(?:ing)?_?(?:board|fen|position|pos)?", re.IGNORECASE)
"""Names of a position that a game may begin on."""


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
    for about, moves in _games(value) or [({}, None)]:
        try:
            if moves is about:
                yield GameText(start, _playstrategy(about))
            elif moves is None:
                yield GameText(start, [], _NO_MOVES)
            elif isinstance(moves, str):
                yield GameText(start, [*_tags(about, moves), *_moves(list(map(move_text, parse_moves(moves))))])
            elif _are_moves(moves):
                yield GameText(start, [*_tags(about, moves), *_moves(moves)])
            else:
                for line in move_lists(moves):
                    words, board = (line.tags().get(name, "") for name in ("", "BOARD"))
                    fault = line.fault or (_ANOTHER_BOARD if board else "")
                    listed = _moves(list(map(move_text, parse_moves(words))))
                    yield GameText(start, [*_tags(about, moves), *listed], fault)
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
        raise BadInput(_ANOTHER_BOARD)
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


def _games(value: Any, depth: int = 0) -> list[tuple[dict[str, Any], Any]]:
    """Return what parsed JSON says about each of its games, and the moves: a string, or a list of strings or of maps
    with a key ``m``. The moves of PlayStrategy are all of the object; None are those of an item of a list of games that
    has none. Nothing is looked for deeper than `_DEEPEST`.
    """
    if _are_moves(value) or _are_lines(value):
        return [({}, value)]
    if depth > _DEEPEST:
        return []
    if isinstance(value, list):
        items = [_games(item, depth + 1) for item in value]
        return [game for games in items for game in games or [({}, None)]] if any(items) or not depth else []
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("players"), dict) and ("variant" in value or "p1" in value["players"]):
        return [(value, value)]
    about = {key: value[key] for key in value if key in _ABOUT or _BEGINNING.fullmatch(key)}
    for key in _KEYS:
        if isinstance(value.get(key), str) or _are_moves(value.get(key)) or _are_lines(value.get(key)):
            return [(about, value[key])]
    found = [game for inner in value.values() for game in _games(inner, depth + 1)]
    return [(within if moves is within else {**about, **within}, moves) for within, moves in found]


def _are_moves(value: object) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(item, dict) and "m" in item for item in value) or _are_words(value)


def _are_words(value: object) -> bool:
    """Return whether parsed JSON is a list of moves as strings, which begins with a square."""
    return _are_strings(value) and bool(_DROP.fullmatch(value[0]))


def _are_lines(value: object) -> bool:
    """Return whether parsed JSON is a list of games, or of their lines, as strings."""
    return _are_strings(value) and first_move(value[0]) not in (None, PASS)


def _are_strings(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _tags(about: dict[str, Any], moves: object) -> list[tuple[str, str]]:
    """Return the tags of a game; moves that are no strings are Othello Quest's. Raises `BadInput` for a game that
    begins on another board.
    """
    for key in filter(_BEGINNING.fullmatch, about):
        _check_beginning(about[key])
    players = about.get("players")
    if isinstance(players, dict):
        players = [players.get("black"), players.get("white")]
    names = [_player(player) for player in players] if isinstance(players, list) else []
    names = names or [_player(about.get("black")), _player(about.get("white"))]
    day = _DAY.match(str(about.get("created") or about.get("date") or ""))
    quest = isinstance(moves, list) and isinstance(moves[0], dict)
    tags = [("EVENT", "Othello Quest" if quest else str(about.get("event") or "")), ("DATE", day[0] if day else "")]
    tags += zip(("BLACK", "WHITE"), names, strict=False)
    return [*tags, *_result(about.get("winner"), ("black",), about.get("result"))]


def _check_beginning(value: object) -> None:
    """Raise `BadInput` for a board that is not the start, from above or from below; a time, say, is no board."""
    try:
        position = parse_board(str(value))
    except BadInput:
        return
    if position not in (START, _TURNED):
        raise BadInput(_ANOTHER_BOARD)


def _moves(moves: list[Any]) -> Iterator[tuple[str, str]]:
    """Yield the moves, each with an empty name as in `GameText`. Passes are left out; `follow` inserts them."""
    for move in moves:
        word = str(move["m"]) if isinstance(move, dict) else move
        drop = _DROP.fullmatch(word)
        if drop or not _PASS.fullmatch(word):
            yield "", drop[1] if drop else word


def json_game(text: GameText) -> GameRecord:
    """Return a game that a site gives as JSON. Raises `BadInput`.

    PlayStrategy counts ranks from below. Its games are recognised by the first move, which would otherwise be illegal.
    """
    if text.fault:
        raise BadInput(text.fault)
    tags = text.tags()
    moves = [parse_move(word) for name, word in text.properties if not name]
    start, turn = START, 0
    if moves and moves[0] not in squares(START.moves):
        start, turn = _TURNED, 56
    played = [move if move == PASS else move ^ turn for move in play_moves(start, moves).moves]
    return GameRecord(START, replayed(START, played), tags.get("BLACK", ""), tags.get("WHITE", ""))


def recognise(head: bytes, size: int) -> bool:
    """Return whether a text begins as JSON."""
    return bool(re.match(rb"(?:\[\s*)*\{\s*\"|(?:\[\s*)+\"", head))
