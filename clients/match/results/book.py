"""The games of a match in a book: `desdaemon match --book-results FILE`.

It starts a daemon that opens the book, adds the games as `book add --unsearched` does with the option
book-learn-results on, and ends. Called by the main thread of a match only: once before the first game, to report an
unusable file at once, and once after the last.
"""

from __future__ import annotations

import json
import re
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from desdaemon.clients.match.engine_process import OWN_COMMAND, EngineFault, EngineProcess
from desdaemon.clients.match.process_groups import ProcessGroups
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import FileGame, write_games
from desdaemon.protocol.system import files

_LINE = re.compile(rb"[^\n]*\n")
_TIMEOUT_S = 3600.0


def _asked(file: str, groups: ProcessGroups, requests: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the data of the replies to requests made after the book is opened. Raises `BadInput`."""
    found = []
    process = EngineProcess([*OWN_COMMAND, "--protocol", "json", "-book-learn-results", "on"], groups=groups)
    try:
        for number, (op, args) in enumerate([("book.load", {"file": str(Path(file).resolve())}), *requests], 1):
            process.send(json.dumps({"v": 1, "id": number, "op": op, "args": args}))
            while True:
                reply = json.loads(process.until(_LINE, _TIMEOUT_S)[0][0])
                if reply["type"] == "error":
                    raise BadInput(f"--book-results {quoted(file)}: {reply['error']['message']}")
                if reply["type"] != "partial" and reply["id"] == number:
                    found.append(reply["data"])
                    break
    except EngineFault as fault:
        raise BadInput(f"--book-results {quoted(file)}: {fault}") from None
    finally:
        process.close()
    return found


def check_book(file: str, groups: ProcessGroups) -> None:
    """Raise `BadInput` unless the book can be opened and keeps changes in its file."""
    _, status = _asked(file, groups, [("status", {})])
    reason = status["book"]["reason"]
    # Only a book of our own format has a journal beside it; the results of games would be lost in another.
    if not Path(f"{Path(file).resolve()}.journal").exists():
        reason = reason or "not a book of our own format: expected one that book save wrote"
    if reason:
        raise BadInput(f"--book-results {quoted(file)}: {reason}")


def count_games(file: str, games: Sequence[FileGame], journal: str, groups: ProcessGroups) -> int:
    """Add the positions of games down to the book's depth, count their results and make the lines of lost games less
    attractive to the losers; return the number of new games.

    Nothing is searched: positions without a leaf wait for `book fix`. A file beside the ``journal``, if any, lists the
    games counted, so that a resumed match does not count them again. Raises `BadInput`.
    """
    kept = Path(f"{journal}.counted") if journal else None
    before: set[int] = set()
    if kept is not None and kept.exists():
        before = set(json.loads(kept.read_text(encoding="utf-8")))
    games = [game for game in games if game.number not in before]
    if not games:
        return 0
    with tempfile.TemporaryDirectory(prefix="desdaemon-match-") as folder:
        path = str(Path(folder) / "match.ggf")
        # Equal games of another match are other games.
        match = secrets.token_hex(8)
        write_games(path, (game._replace(event=f"{match} {game.number}") for game in games))
        _, added = _asked(file, groups, [("book.add", {"files": [path], "unsearched": True})])
    if kept is not None:
        files.replace(kept, f"{json.dumps(sorted(before | {game.number for game in games}))}\n".encode())
    return int(added["games"])
