"""`python tests/lab games INDEX FILE`: positions that `games.get` answers in a second of one processor's time.

The positions are drawn from the games of FILE, with boards as clients send them, 1000 a request; decoding the request
and encoding the reply are included, sockets are not.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from desdaemon.book.explorer.operations import get
from desdaemon.book.explorer.rows import GAMES_FILE
from desdaemon.core.requests.operations import OperationContext
from desdaemon.core.settings import SessionSettings
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.games.bases import read_games
from desdaemon.protocol.othello.notation import board_text
from desdaemon.protocol.wire import codec
from desdaemon.protocol.wire.constants import MOST_POSITIONS

KINDS: dict[str, dict[str, Any]] = {
    "all games": {},
    "a filter by years": {"from_year": 1990},
    "three games": {"games": 3},
}
REPEATS = 5


def boards(path: str, number: int) -> list[str]:
    """That many positions of a file's games, by lot, from the start to the end."""
    lots = random.Random(1)
    games = [game.record for game in read_games(path, lambda line: None)]
    found: list[str] = []
    while len(found) < number:
        record = lots.choice(games)
        position = record.initial
        for played in record.moves[: lots.randrange(len(record.moves))]:
            position = position.after(played.move)
        found.append(board_text(position))
    return found


def main(arguments: Sequence[str]) -> int:
    """Print the best rate of some repeats for each kind of request."""
    parser = Parser(prog="python tests/lab games", description=__doc__)
    parser.add_argument("index", metavar="INDEX")
    parser.add_argument("file", metavar="FILE")
    asked = parser.parse_args(list(arguments))
    settings = SessionSettings()
    settings.set(GAMES_FILE, asked.index)
    context = OperationContext(settings, re.compile("(?!)"))
    for kind, values in KINDS.items():
        rates = []
        for _ in range(REPEATS):
            items = [{"board": board} for board in boards(asked.file, MOST_POSITIONS)]
            body = codec.encode({"v": 1, "id": 1, "op": "games.get", "args": {"positions": items, **values}})
            begun = time.thread_time()
            request: Any = SimpleNamespace(values=codec.decode(body)["args"], over=False)
            codec.encode({"v": 1, "id": 1, "type": "final", "seq": 0, "data": get(context, request)})
            rates.append(MOST_POSITIONS / (time.thread_time() - begun))
        sys.stdout.write(f"{kind}: {max(rates):.0f} positions/s\n")
    return 0
