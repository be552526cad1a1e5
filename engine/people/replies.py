"""The shapes of the replies of `people.get`."""

from __future__ import annotations

from desdaemon.protocol.wire.fields import Field, Shape, added

SHAPES: dict[str, Shape] = {
    "people_moves": added(
        "people",
        Field("move", "str", "The move that the strength `rating` plays.", nil="the game is over"),
        Field("moves", "[people_move]", "Legal moves, the likeliest first; `pa` alone for a forced pass."),
    ),
    "people_move": added(
        "people", Field("move", "str", "`f5`."), Field("chance", "float", "How likely it is.", "0 to 1")
    ),
}
