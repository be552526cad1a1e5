"""Games for a book: `--book-results FILE` of `desdaemon match` and `desdaemon ggs`.

A daemon opens the book, adds the games as `book add --unsearched` does with the option book-learn-results on, and ends.
The main thread calls this before the first game, to report an unusable file at once, and after the last.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import FileGame, write_games
from desdaemon.protocol.system import files, folders

from .engine_process import OWN_COMMAND, EngineFault, EngineProcess
from .process_groups import ProcessGroups

_LINE = re.compile(rb"[^\n]*\n")
_TIMEOUT_S = 3600.0


def _asked(file: str, groups: ProcessGroups, requests: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Start a daemon, open the book ``file``, make the requests and end the daemon. Returns the data of the finals,
    that of opening the book first. Raises `BadInput` for an error, or if the daemon fails.
    """
    replies = []
    process = EngineProcess([*OWN_COMMAND, "--protocol", "json", "-book-learn-results", "on"], groups=groups)
    try:
        for number, (op, args) in enumerate([("book.load", {"file": os.path.realpath(file)}), *requests], 1):
            process.send(json.dumps({"v": 1, "id": number, "op": op, "args": args}))
            while True:
                reply = json.loads(process.until(_LINE.match, _TIMEOUT_S)[0][0])
                if reply["type"] == "error":
                    raise BadInput(f"--book-results {quoted(file)}: {reply['error']['message']}")
                if reply["type"] != "partial" and reply["id"] == number:
                    replies.append(reply["data"])
                    break
    except EngineFault as fault:
        raise BadInput(f"--book-results {quoted(file)}: {fault}") from None
    finally:
        process.close()
    return replies


def check_book(file: str, groups: ProcessGroups) -> None:
    """Raise `BadInput` unless the book can be opened and keeps changes in its file."""
    _, status = _asked(file, groups, [("status", {})])
    reason = status["book"]["reason"]
    # Only a book of desdaemon's own format has a journal beside it; others would lose the results.
    if not Path(f"{os.path.realpath(file)}.journal").exists():
        reason = reason or "not a book of our own format: expected one that book save wrote"
    if reason:
        raise BadInput(f"--book-results {quoted(file)}: {reason}")


def count_file(file: str, path: str, groups: ProcessGroups) -> int:
    """Count the results of the games of the file ``path`` in the book ``file``, those that are not counted yet. Returns
    their number.

    Adds the games' positions down to the book's depth and makes lines of lost games less attractive to the losers.
    Nothing is searched: positions without a leaf wait for `book fix`. The book must have passed `check_book`: one of
    another format loses the results without an error. Raises `BadInput` if the book or ``path`` cannot be used.
    """
    _, added = _asked(file, groups, [("book.add", {"files": [os.path.realpath(path)], "unsearched": True})])
    return int(added["counted"])


def count_games(file: str, games: Sequence[FileGame], journal: str, groups: ProcessGroups) -> int:
    """Count the results of ``games`` in the book ``file``, as `count_file` does. Returns the number of games that were
    not counted before. A file beside the ``journal``, if any, lists the games counted, so that a resumed match does not
    count them again. Raises `BadInput` if the book or that file cannot be used.
    """
    list_file = Path(f"{journal}.counted") if journal else None
    counted: set[int] = set()
    try:
        if list_file is not None and list_file.exists():
            counted = set(json.loads(list_file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        raise BadInput(f"{quoted(str(list_file))}: expected the numbers of the games that are counted") from None
    games = [game for game in games if game.number not in counted]
    if not games:
        return 0
    with folders.passing("match") as folder:
        path = str(Path(folder) / "match.ggf")
        # A number makes them differ from equal games of other matches.
        match = secrets.token_hex(8)
        write_games(path, (game._replace(event=f"{match} {game.number}") for game in games))
        added = count_file(file, path, groups)
    if list_file is not None:
        try:
            files.replace(list_file, f"{json.dumps(sorted(counted | {game.number for game in games}))}\n".encode())
        except OSError as error:
            raise BadInput(f"{quoted(str(list_file))}: {error.strerror}") from None
    return added
