"""The shapes of the replies about batches."""

from __future__ import annotations

from desdaemon.protocol.wire.fields import Field, Shape, added

SHAPES: dict[str, Shape] = {
    "status": added(
        "analyze.batch",
        Field(
            "batches",
            "batches",
            "Batches of all keys.",
            absent="the daemon has no data folder",
        ),
    ),
    "batches": added(
        "analyze.batch",
        Field("kept", "int", "Batches whose results are kept, unfinished ones included.", "batches"),
        Field("unfinished", "int", "Batches that are queued or running.", "batches"),
    ),
    "batch": added(
        "analyze.batch",
        Field("job", "int", "Number of the batch; it survives restarts and is never used again."),
        Field("items", "int", "Positions to be analysed.", "positions"),
    ),
    "batch_page": added(
        "analyze.batch",
        Field("results", "[batch_result]", "In the order in which they were found."),
        Field("cursor", "int", "`after` of the next request."),
        Field("done", "bool", "Whether there will be no results after these."),
        Field("state", "str", "`queued`, `running`, `done` or `cancelled`."),
        Field("items", "int", "Positions of the batch.", "positions"),
        Field("answered", "int", "Positions that have a result or an error.", "positions"),
    ),
    "batch_result": added(
        "analyze.batch",
        Field("item", "int", "Place in `items`, or among the positions of the file, from 0."),
        Field("id", "id", "The item's `id`; without one its place, or its line number in the file."),
        Field("data", "analysis or game", "The final data of `analyze`.", absent="there is an `error`"),
        Field("error", "error", "Reason why there is no data.", absent="there is `data`"),
    ),
    "forgotten": added("analyze.batch", Field("forgotten", "bool", "True.")),
}
