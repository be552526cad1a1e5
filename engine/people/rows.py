"""What people's moves bring: the options `strength`, `strength-seed` and `contempt`, the operation `people.get`."""

from __future__ import annotations

from desdaemon.protocol.rows import READER, Argument, Chooser, Feature, Operation, Option, Satellite
from desdaemon.protocol.wire.arguments import POSITION, number

LEAST_RATING, GREATEST_RATING = 100, 2700
"""The range of strengths, on the scale of the ratings of WTHOR's players."""
LEAST_KNOWN = 800
"""The least rating of people whose moves are known; below it the policy's moves are mixed with a beginner's."""

STRENGTH = Option(
    "strength",
    (),
    "int",
    f"Play and err as people of this rating do, {LEAST_RATING} to {GREATEST_RATING}, without book; 0 is off.",
    LEAST_RATING,
    GREATEST_RATING,
    edax=False,
    off=True,
    default=0,
)
STRENGTH_SEED = Option(
    "strength-seed",
    (),
    "int",
    "Seed of the moves that strength draws; 0 makes them different each time.",
    0,
    10**9,
    edax=False,
    default=0,
)

CONTEMPT = Option(
    "contempt",
    (),
    "int",
    "Outside of the book, at most this many discs below the best, play the move whose second-best reply loses most.",
    0,
    64,
    edax=False,
    default=0,
)

SATELLITE = Satellite(
    options=(STRENGTH, STRENGTH_SEED, CONTEMPT),
    operations=(
        Operation(
            "people.get",
            (
                *POSITION,
                Argument(
                    "rating",
                    "int",
                    "Of the people, on the scale of the option `strength`.",
                    LEAST_RATING,
                    GREATEST_RATING,
                    required=True,
                    since="people",
                ),
                number(
                    "seed",
                    "The same seed draws the same `move`; 0: another one each time.",
                    0,
                    10**9,
                    "",
                    "0",
                    since="people",
                ),
            ),
            READER,
            "How likely people of a rating are to choose each move, and the move that the option `strength` plays.",
            cost="a few ms",
            since="people",
            repeatable=True,
            replies=("people_moves",),
            handler="desdaemon.engine.people.operations:get",
        ),
    ),
    features={"people": Feature("1.4", "`people.get`: the moves that people of a rating choose.")},
    shapes="desdaemon.engine.people.replies:SHAPES",
    choosers=(
        Chooser(STRENGTH, "desdaemon.engine.people.moves:choose"),
        Chooser(CONTEMPT, "desdaemon.engine.people.contempt:choose", searches=True),
    ),
)
