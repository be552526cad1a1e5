"""The operation `people.get`: the moves that people of a rating choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from desdaemon.protocol.othello.notation import square_text
from desdaemon.protocol.wire.positions import read_line

from . import moves as people

if TYPE_CHECKING:
    from desdaemon.core.requests.operations import OperationContext
    from desdaemon.core.requests.request import Data, PendingRequest


def get(context: OperationContext, request: PendingRequest) -> Data:
    """Return how likely people of the ``rating`` are to choose each move, and the move that the strength ``rating``
    plays. ``seed`` 0 draws another move each time.
    """
    line, rating, seed = read_line(request.values), request.values["rating"], request.values.get("seed", 0)
    position = line.last
    if not position.moves:
        forced = ["pa"] if position.must_pass else []
        return {"move": forced[0] if forced else None, "moves": [{"move": move, "chance": 1.0} for move in forced]}
    found = people.chances(position.player, position.opponent, rating, line.moves)
    moves = [
        {"move": square_text(move).lower(), "chance": round(chance, 4)}
        for move, chance in sorted(found.items(), key=lambda item: -item[1])
    ]
    move = people.drawn_move(found, position.player, position.opponent, rating, seed)
    return {"move": square_text(move).lower(), "moves": moves}
