"""The shapes of the replies of `explain`."""

from __future__ import annotations

from desdaemon.protocol.wire.fields import Field, Shape, added

from .kinds import KINDS

SHAPES: dict[str, Shape] = {
    "explained": added(
        "explain", Field("reasons", "[reason]", "What explains most first; empty where nothing was found.")
    ),
    "reason": added(
        "explain",
        Field("kind", "str", f"What was counted: {'; '.join(f'`{kind}`, {what}' for kind, what in KINDS.items())}."),
        Field("discs", "float", "Loss that such a difference explains on average.", "discs"),
        Field("text", "str", 'A sentence; "you" are the side that moves.'),
        Field("played", "[float]", "What was counted after the move played: for its side, for the other side."),
        Field("best", "[float]", "The same after the best move."),
        Field("squares", "[str]", "Squares that it is about: `f5`."),
    ),
}
