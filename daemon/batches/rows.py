"""What batches bring: the operations `analyze.batch`, `batch.results` and `batch.forget`, and who answers them."""

from __future__ import annotations

from desdaemon.protocol.rows import READER, Argument, DaemonPart, Feature, Operation, Satellite
from desdaemon.protocol.wire.arguments import ANALYZE, POSITION, number
from desdaemon.protocol.wire.constants import MOST_ITEMS, MOST_RESULTS

PART = "batches"
"""The folder of batches in the data folder."""

ITEM = (Argument("id", "id", "What its result is told apart by."), *POSITION)
"""The fields of a batch's item."""

_OF_ONE_REQUEST = frozenset(("board", "moves", "positions", "partial_ms", "priority", "until", "threads"))

BATCH = (
    Argument(
        "items",
        "maps",
        "Positions: maps of `id`, `board` and `moves`, each optional. Either this or `file`.",
        0,
        MOST_ITEMS,
        default="`file`",
        fields=ITEM,
    ),
    Argument("file", "path", "A file in the data folder, a position a line; takes the role admin.", default="`items`"),
    *(argument for argument in ANALYZE if argument.name not in _OF_ONE_REQUEST),
)
"""The arguments of `analyze.batch`: the positions, and the arguments of `analyze` that apply to each of them."""

_BATCH_JOB = Argument("job", "int", "Number that `analyze.batch` replied.", 0, 2**53, required=True)

SATELLITE = Satellite(
    operations=(
        Operation(
            "analyze.batch",
            BATCH,
            READER,
            "Search many positions as a job that survives a restart.",
            cost="a search for each position, when nothing else is to be done",
            since="analyze.batch",
            replies=("batch",),
            part=PART,
        ),
        Operation(
            "batch.results",
            (
                _BATCH_JOB,
                number("after", "`cursor` of the reply before.", 0, 2**53, "", "0: from the beginning"),
                number("limit", "Results of this reply at most.", 1, MOST_RESULTS, "results", str(MOST_RESULTS)),
            ),
            READER,
            "Results of a batch in the order in which they were found.",
            since="analyze.batch",
            repeatable=True,
            replies=("batch_page",),
            part=PART,
        ),
        Operation(
            "batch.forget",
            (_BATCH_JOB,),
            READER,
            "End a batch and remove its results.",
            since="analyze.batch",
            replies=("forgotten",),
            part=PART,
        ),
    ),
    features={
        "analyze.batch": Feature(
            "1.1", "`analyze.batch`, `batch.results`, `batch.forget`: jobs that survive a restart."
        )
    },
    shapes="desdaemon.batches.replies:SHAPES",
    daemon_parts=(
        DaemonPart(
            PART,
            "desdaemon.batches.batches:Batches",
            {"kept": "Batches that are kept.", "unfinished": "Batches that are not over."},
        ),
    ),
)
