"""The operation `explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import Position, parse_moves, play_moves
from desdaemon.protocol.wire.messages import RequestError
from desdaemon.protocol.wire.positions import last_position

from .explain import reasons

if TYPE_CHECKING:
    from desdaemon.core.requests.operations import OperationContext
    from desdaemon.core.requests.request import Data, PendingRequest


def explain(context: OperationContext, request: PendingRequest) -> Data:
    """Return why the first move of ``played`` is worse than that of ``best``; raises `RequestError`."""
    position = last_position(request.values)
    played, best = (_line(position, name, request.values[name]) for name in ("played", "best"))
    return {
        "reasons": [
            {
                **reason._asdict(),
                "squares": list(reason.squares),
                "played": [round(each, 2) for each in reason.played],
                "best": [round(each, 2) for each in reason.best],
            }
            for reason in reasons(position, played, best)
        ]
    }


def _line(position: Position, name: str, text: str) -> list[int]:
    """Return the moves of the argument ``name``; raises `RequestError`."""
    try:
        moves = parse_moves(text)
    except BadInput as error:
        raise RequestError("bad_request", str(error), name) from None
    if not moves:
        raise RequestError("bad_request", f"{name} is empty: expected moves such as e6f4", name)
    try:
        return play_moves(position, moves).moves
    except BadInput as error:
        raise RequestError("illegal_move", str(error), name) from None
