"""What reasons bring: the command `explain`, the operation `explain`, the function `desdaemon.explain`."""

from __future__ import annotations

from desdaemon.protocol.rows import READER, SEARCHES, Argument, Command, Feature, Operation, Satellite
from desdaemon.protocol.wire.arguments import POSITION
from desdaemon.protocol.wire.constants import LONGEST_MOVES

SATELLITE = Satellite(
    commands=(
        Command(
            "explain",
            (),
            "[move]",
            "Tell why a move here, or without one the last move of the game, loses discs to the best one.",
            READER,
            SEARCHES,
            asks=True,
            handler="desdaemon.engine.reasons.show:show",
        ),
    ),
    operations=(
        Operation(
            "explain",
            (
                *POSITION,
                Argument(
                    "played",
                    "text",
                    "The move that lost discs and the best play after it, as the `pv` of an analysis: `e6f4`.",
                    0,
                    LONGEST_MOVES,
                    required=True,
                    since="explain",
                ),
                Argument(
                    "best",
                    "text",
                    "The best move, and the best play after it.",
                    0,
                    LONGEST_MOVES,
                    required=True,
                    since="explain",
                ),
            ),
            READER,
            "Why a move is worse than another one, by what their lines of play show on the board.",
            cost="a few ms",
            since="explain",
            repeatable=True,
            replies=("explained",),
            handler="desdaemon.engine.reasons.operations:explain",
        ),
    ),
    features={"explain": Feature("1.6", "`explain`: why a move is worse than another one.")},
    shapes="desdaemon.engine.reasons.replies:SHAPES",
    exports={"Reason": "desdaemon.engine.reasons.api:Reason", "explain": "desdaemon.engine.reasons.api:explain"},
)
