"""Operations that the gateway answers itself: games and exercises, names of openings, a random opening.

The functions keep no state; `tab` calls them on another thread, because large files take long.
"""

from __future__ import annotations

import base64
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from desdaemon.clients.programs.openings import listed_lines
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import FileGame, write_games
from desdaemon.protocol.games.formats import FORMATS, game_text
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello.notation import (
    START,
    board_text,
    move_text,
    moves_text,
    parse_board,
    parse_moves,
    play_moves,
)
from desdaemon.protocol.othello.obf import parse_problem, problem_lines
from desdaemon.protocol.othello.openings import line_of, openings
from desdaemon.protocol.system import folders

from .allowed import MOST_GAMES
from .pasted import parse_pasted

_DATE = re.compile(r"(\d{4}(-\d\d(-\d\d)?)?)?", re.ASCII)

Data = dict[str, Any]


def read(args: Data) -> Data:
    """Answer `web.read`: the games of a file called ``name`` in ``text`` or ``data`` (base64), at most `MOST_GAMES`.

    ``complaints`` has a line for each unreadable game, at most 100. Raises `BadInput` if there are only such games.
    """
    if "data" in args:
        try:
            data = base64.b64decode(args["data"], validate=True)
        except ValueError:
            raise BadInput("data: expected base64") from None
    else:
        data = args.get("text", "").encode("utf-8", "replace")
    complaints: list[str] = []
    games = parse_pasted(data, Path(args.get("name", "")).name, complaints.append, MOST_GAMES)
    if complaints and not games:
        raise BadInput(complaints[0])
    return {"games": [_as_data(game) for game in games], "complaints": complaints[:100]}


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


def exercises(args: Data) -> Data:
    """Answer `web.exercises`: at most `MOST_GAMES` problems of ``text`` (OBF), those with scored moves, and their
    remarks. ``complaints`` has a line for each unreadable problem, at most 100. Raises `BadInput` without problems.
    """
    found, complaints = [], []
    for number, line in problem_lines(args["text"].splitlines()):
        try:
            problem = parse_problem(line)
        except BadInput as error:
            complaints.append(f"line {number}: {error}")
            continue
        if problem and problem.scores:
            scores = {move_text(move).lower(): score for move, score in problem.scores.items()}
            about = line.partition("%")[2].strip()
            found.append({"board": board_text(problem.position), "scores": scores, "about": about})
    if not found:
        raise BadInput(complaints[0] if complaints else "no exercise there: expected OBF, positions with scored moves")
    return {"exercises": found[:MOST_GAMES], "complaints": complaints[:100]}


def write(args: Data) -> Data:
    """Answer `web.write`: ``games`` in a ``format`` of `BASE_FORMATS`, as ``text``, or as ``data`` (base64) if the
    format is binary.

    The arguments have passed `allowed.check`. Raises `BadInput` without games, for a board, move or date that is wrong,
    and for a game that the format cannot express.
    """
    format, given = args["format"], args["games"]
    if not given:
        raise BadInput("games: expected at least one")
    games = [_as_game(game, number) for number, game in enumerate(given, 1)]
    if format in FORMATS:
        texts = [
            game_text(
                game.record,
                format,
                game.date,
                game.event,
                game.result,
                notes=about.get("notes") or (),
                scores=about.get("scores") or (),
            )
            for game, about in zip(games, given, strict=True)
        ]
        return {"text": ("\n" if format == "pgn" else "").join(texts)}
    with folders.passing("games") as folder:
        path = Path(folder) / f"games.{format}"
        try:
            write_games(str(path), games)
        except BadInput as error:
            raise BadInput(str(error).replace(f"{folder}{os.sep}", "")) from None
        return {"data": base64.b64encode(path.read_bytes()).decode()}


def _as_game(about: Data, number: int) -> FileGame:
    texts = {name: about.get(name) or "" for name in ("board", "moves", "black", "white", "event", "date")}
    if not _DATE.fullmatch(texts["date"]):
        raise BadInput(f"game {number}: date {quoted(texts['date'])}: expected one such as 2026-01-31, or a year")
    initial = parse_board(texts["board"]) if texts["board"] else START
    moves = play_moves(initial, parse_moves(texts["moves"])).moves
    record = GameRecord(initial, tuple(PlayedMove(move, 0.0) for move in moves), texts["black"], texts["white"])
    return FileGame(record, number, texts["event"], texts["date"], about.get("result"))


def names(args: Data) -> Data:
    """Answer `web.names`: the moves of named openings, with their names by language."""
    return {"openings": [{"moves": moves_text(one.moves), "names": one.names} for one in openings()]}


def start(args: Data) -> Data:
    """Answer `web.start`: the moves of a random opening of XOT, or of matches if that list is missing."""
    try:
        return {"moves": moves_text(line_of("xot"))}
    except BadInput:
        return {"moves": random.choice(listed_lines())}


ANSWERS: dict[str, Callable[[Data], Data]] = {
    "web.read": read,
    "web.write": write,
    "web.exercises": exercises,
    "web.names": names,
    "web.start": start,
}
"""The operations that are answered without the tab or the daemon."""
