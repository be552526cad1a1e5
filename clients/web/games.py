"""Operations that the gateway answers itself, by the protocol package: reading and writing games, names of openings.

The functions are pure; `tab` calls them on a thread of its own, because large files take long.
"""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import BASE_FORMATS, FileGame, write_games
from desdaemon.protocol.games.formats import FORMATS, game_text
from desdaemon.protocol.games.pasted import parse_pasted
from desdaemon.protocol.games.records import GameRecord, follow
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import (
    START,
    Position,
    board_text,
    move_text,
    parse_board,
    parse_moves,
    play_moves,
)
from desdaemon.protocol.othello.openings import openings
from desdaemon.protocol.othello.scores import BlackScore, MoverScore

MOST_GAMES = 5_000
"""Games of one reading or writing."""

Data = dict[str, Any]


def read(args: Data) -> Data:
    """`web.read`: the games in ``text``, or in ``data`` (base64); ``name`` is the file's. Raises `BadInput`."""
    name = _text(args, "name")
    if "data" in args:
        try:
            data = base64.b64decode(_text(args, "data"), validate=True)
        except ValueError:
            raise BadInput("data: expected base64") from None
    else:
        data = _text(args, "text").encode("utf-8", "replace")
    complaints: list[str] = []
    found = parse_pasted(data, Path(name).name, complaints.append)
    if complaints and not found:
        raise BadInput(complaints[0])
    return {"games": [_as_data(game) for game in found[:MOST_GAMES]], "complaints": complaints[:100]}


def _as_data(game: FileGame) -> Data:
    record = game.record
    return {
        "number": game.number,
        "board": "" if record.initial == START else board_text(record.initial),
        "moves": "".join(move_text(played.move) for played in record.moves).lower(),
        "black": record.black,
        "white": record.white,
        "event": game.event,
        "date": game.date,
        "result": game.result,
    }


def write(args: Data) -> Data:
    """`web.write`: ``games`` in a ``format`` of `BASE_FORMATS`, as ``text`` or as ``data`` (base64). Raises `BadInput`.

    Each game has the fields that `read` answers; one game may have ``notes`` (texts) and ``scores`` (discs, from the
    mover's side), by move.
    """
    format = _text(args, "format")
    if format not in BASE_FORMATS:
        raise BadInput(f"format {quoted(format)}: expected one of {' '.join(BASE_FORMATS)}")
    given = args.get("games")
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_GAMES or not all(isinstance(g, dict) for g in given):
        raise BadInput(f"games: expected a list of 1 to {MOST_GAMES} games")
    games = [_as_game(game, number) for number, game in enumerate(given, 1)]
    if format in FORMATS:
        texts = [
            game_text(
                game.record,
                format,
                game.date,
                game.event,
                game.result,
                notes=_notes(about),
                scores=_scores(about),
            )
            for game, about in zip(games, given, strict=True)
        ]
        return {"text": ("\n" if format == "pgn" else "").join(texts)}
    with tempfile.TemporaryDirectory(prefix="desdaemon-web-") as folder:
        path = Path(folder) / f"games.{format}"
        write_games(str(path), games)
        return {"data": base64.b64encode(path.read_bytes()).decode()}


def _as_game(about: Data, number: int) -> FileGame:
    board = _text(about, "board")
    initial = parse_board(board) if board else START
    moves = play_moves(initial, parse_moves(_text(about, "moves")))
    black = initial.black_to_move
    played = follow(initial, [(black ^ bool(at % 2), move, 0.0) for at, move in enumerate(moves)])
    record = GameRecord(initial, played, _text(about, "black"), _text(about, "white"))
    result = about.get("result")
    return FileGame(
        record, number, _text(about, "event"), _text(about, "date"), BlackScore(result) if type(result) is int else None
    )


def _notes(about: Data) -> list[str]:
    return [note if isinstance(note, str) else "" for note in _list(about, "notes")]


def _scores(about: Data) -> list[MoverScore | None]:
    return [MoverScore(score) if type(score) is int else None for score in _list(about, "scores")]


def _list(args: Data, name: str) -> list[Any]:
    found = args.get(name, [])
    if not isinstance(found, list):
        raise BadInput(f"{name}: expected a list")
    return found


def _text(args: Data, name: str) -> str:
    found = args.get(name) or ""
    if not isinstance(found, str):
        raise BadInput(f"{name}: expected a text")
    return found


def names(args: Data) -> Data:
    """`web.names`: the openings that have names, by position, with their names in each language."""
    return {"openings": _openings()}


@cache
def _openings() -> list[Data]:
    found = []
    for opening in openings():
        position = START
        for move in opening.moves:
            position = position.after(move)
        named = {language: list(names) for language, names in opening.names.items()}
        found.append({"key": canonical_text(position), "names": named})
    return found


def canonical_text(position: Position) -> str:
    """A text common to a position's eight mirror images: the least of their 64 squares, ``X`` to move, ``O``, ``-``."""
    images = []
    for symmetry in range(8):
        player, opponent = (rules.transform(bits, symmetry) for bits in (position.player, position.opponent))
        images.append("".join("X" if player >> at & 1 else "O" if opponent >> at & 1 else "-" for at in range(64)))
    return min(images)


ANSWERS: dict[str, Callable[[Data], Data]] = {"web.read": read, "web.write": write, "web.names": names}
"""The operations that the gateway answers by itself."""
