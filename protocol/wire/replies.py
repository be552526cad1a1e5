"""The shapes of replies and events: docs/protocol.md, the client's types and the tests come from them.

The row of an operation names the shapes of its replies. The daemon builds its replies by hand; the tests check every
reply against these tables.
"""

from __future__ import annotations

from desdaemon.protocol import satellites
from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.rows import load

from .fields import MOVER, PLAYER, Field, Shape, added

JOB_RESULT: Shape = (
    Field("job", "int", "Number of the job; 0: done at once, and not listed by `jobs`."),
    Field("added", "int", "Positions added.", "positions"),
    Field("changed", "int", "Positions changed, where the command counts them; else 0.", "positions"),
    Field("positions", "int", "Positions of the book now.", "positions"),
    Field("time_s", "float", "Time that the job ran.", "s"),
    Field(
        "finished",
        "bool",
        "Whether the command reached its end; false: it was stopped, and what was done is kept.",
        absent="the command cannot be stopped half-way, and reached its end",
        since="1.1",
    ),
    Field(
        "text",
        "[str]",
        "What the command prints in the text protocol, a line each.",
        absent="it prints nothing",
        since="1.1",
    ),
    Field("notes", "[str]", "Remarks, such as what a file format has no place for.", absent="none", since="1.1"),
)
"""The fields that the final data of every operation on the book has."""

STOPPED = "the command was stopped before it"


def unless_stopped(*fields: Field) -> Shape:
    """Return a result's own fields, which are absent when the command was stopped."""
    return tuple(field._replace(absent=field.absent or STOPPED) for field in fields)


_BOARD = Field("board", "str", "64 squares from A1 to H8, a blank, the side to move, see [Values](#values).")
_JOB = Field("job", "int", "Number of the job.")
_DONE = Field("done", "int", "Steps of the phase that are done.", "steps")
_TOTAL = Field("total", "int", "Steps of the phase; 0: not known.", "steps")


_NO_ROUNDS = "no rounds, or none yet"

_WORKERS = (
    Field("workers", "int", "Workers that search beside the daemon.", "workers", absent="there are none", since="1.1"),
    Field("slots", "int", "Searches that workers do at once.", "searches", absent="there are none", since="1.1"),
    Field("busy", "float", "Part of workers' time in searches.", "0 to 1", absent="there are none", since="1.1"),
)

_WHOLE: Shape = (
    Field("step", "str", "Step of a schedule, in words.", absent="no schedule", since="book.budget"),
    Field("round", "int", "Round of the command.", "rounds", absent=_NO_ROUNDS, since="book.budget"),
    Field("added", "int", "Positions added since the job began.", "positions", absent=_NO_ROUNDS, since="book.budget"),
    Field("searches", "int", "Searches since the job began.", "searches", absent=_NO_ROUNDS, since="book.budget"),
    Field("budget", "float", "Spent part of the job's budget.", "0 to 1", absent="it has none", since="book.budget"),
)
"""The progress of a whole job, before a restart too."""

_NO_RESULT = "not over, failed, or a batch"

_PROGRESS: Shape = (
    _JOB,
    Field("phase", "str", "Name of the phase; empty before the first one."),
    _DONE,
    _TOTAL,
    Field("eta_s", "float", "Estimated rest of the phase.", "s", nil="not known"),
    Field("positions", "int", "Positions of the book; 0 for a batch, and before the first progress.", "positions"),
    Field("rate", "float", "Speed in the phase.", "steps/s", since="1.1"),
    *_WORKERS,
    *_WHOLE,
)
"""A partial of a job on the book; an event of a job has these too."""

SHAPES: dict[str, Shape] = {
    "nothing": (),
    "hello": (
        Field("name", "str", "`desdaemon`."),
        Field("version", "str", "Version of the program."),
        Field("protocol", "int", "Version of the protocol: 1."),
        Field("role", "str", "Role of this client: `reader`, `editor` or `admin`."),
        Field("ops", "[str]", "Operations that this client may ask for."),
        Field("features", "[str]", "Features that this daemon has, see [Features](#features)."),
        Field("limits", "{int}", "Limits by name, see [Load](#load)."),
    ),
    "metrics": (Field("text", "str", "OpenMetrics text, ending with `# EOF`."),),
    "status": (
        Field("uptime_s", "float", "Time since the start.", "s"),
        Field("threads", "int", "Search threads.", "threads"),
        Field("queued", "int", "Searches that wait for a thread.", "searches"),
        Field("running", "int", "Searches that have a thread.", "searches"),
        Field("nodes", "int", "Nodes of all finished searches but those of book jobs.", "nodes"),
        Field("book", "book", "The book in use."),
        Field("problems", "[str]", "Present failures, a line each; empty while all works.", since="status.problems"),
        Field("memory_mb", "float", "Resident memory of the process.", "10^6 bytes"),
        Field("loop", "loop", "Longest times of the thread that owns the sockets.", since="1.1"),
        Field("clients", "int", "Clients that are known, connected or not.", "clients", since="1.1"),
        Field("pid", "int", "Process id of the daemon.", since="1.1"),
        Field(
            "accounts",
            "[account]",
            "Use of the daemon by key since its start.",
            absent="the client is not an admin, or this is an event",
            since="accounts",
        ),
    ),
    "loop": (
        Field("longest_turn_ms", "float", "Longest time between two reads of the sockets.", "ms", since="1.1"),
        Field("longest_request_ms", "float", "Longest time to take one request.", "ms", since="1.1"),
        Field("longest_request", "str", "Operation of that request; empty before the first one.", since="1.1"),
    ),
    "account": (
        Field("key", "str", "Name of the key; `ipc`, `tcp` or `stdio` for clients without one.", since="accounts"),
        Field("requests", "int", "Requests and text lines taken.", "requests", since="accounts"),
        Field("nodes", "int", "Nodes searched, but those of book jobs.", "nodes", since="accounts"),
        Field("seconds", "float", "Time of search threads.", "s", since="accounts"),
        Field("in_flight", "int", "Positions, lines and jobs without a final.", "positions", since="accounts"),
    ),
    "book": (
        Field("path", "str", "File name without its folder; empty: the book has no file."),
        Field("positions", "int", "Positions; 0 until the book is open.", "positions"),
        Field("dirty", "bool", "Whether there are changes that are not on the disk yet."),
        Field(
            "state",
            "str",
            "`none`, `opening`, `open`, or `failed` (the file could not be opened).",
            since="status.problems",
        ),
        Field("writable", "bool", "Whether the book takes changes.", since="status.problems"),
        Field("reason", "str", "Why it takes no changes, or could not be opened; else empty.", since="status.problems"),
        Field(
            "holder",
            "int",
            "Process id of another process that writes the book's file; 0: none does.",
            since="status.problems",
        ),
        Field(
            "opening",
            "opening",
            "Progress of reading the file.",
            absent="`state` is not `opening`",
            since="status.problems",
        ),
    ),
    "opening": added(
        "status.problems",
        Field("phase", "str", "Name of the phase; empty before the first one."),
        _DONE,
        _TOTAL,
    ),
    "text": (
        Field("out", "str", "Output of the line, with its newlines."),
        Field("err", "str", "Error messages of the line; empty: none."),
    ),
    "printed": added(
        "text.partials",
        Field("at", "int", "Characters of `out` before these.", "characters"),
        Field("out", "str", "What the line has printed since the partial before, with its newlines."),
        Field("progress", "str", "Progress of the line's job on the book, for people.", absent="no news of it"),
    ),
    "legal": (
        Field("moves", "[str]", "Legal moves; `pa` alone where a pass is forced; empty where the game is over."),
        _BOARD,
        Field("over", "bool", "Whether neither side has a legal move."),
        Field("discs", "[int]", "Discs of Black, discs of White.", "discs"),
    ),
    "analysis": (
        Field("ply", "int", "Place in the game, 0 before the first move.", "plies", absent="no `plies` were asked for"),
        Field(
            "item",
            "int",
            "Place in `positions`, from 0.",
            absent="no `positions` were asked for",
            since="analyze.many",
        ),
        _BOARD,
        Field(
            "moves",
            "[move]",
            "At most `multipv`, best first; empty where the game is over, or `book` `only` has none.",
        ),
        Field("nodes", "int", "Nodes searched for this reply; 0: from the book or the cache.", "nodes"),
        Field("time_ms", "float", "Time searched, without time in the queue.", "ms"),
        Field("canonical", "str", "The position as its eight mirror images share it, the side to move as `X`."),
        Field("over", "bool", "True: the game is over.", absent="it is not", since="1.1"),
        Field("score", "int", "Final score of a game that is over.", "discs", MOVER, absent="not `over`", since="1.1"),
        Field("cached", "bool", "True: answered from the cache.", absent="it was not", since="analyze.cache"),
        Field(
            "threads",
            "int",
            "Threads that searched together: a score that is not exact may be another one the next time.",
            "threads",
            absent="one thread, or no search",
            since="analyze.threads",
        ),
        Field(
            "deterministic",
            "bool",
            "True: asked for, by the request or by the daemon's option.",
            absent="it was not",
            since="analyze.threads",
        ),
        Field(
            "stopped",
            "bool",
            "True: `nodes`, `time_ms` or `game_nodes` ended the search before its depth.",
            absent="it reached its depth",
            since="analyze.game_nodes",
        ),
        Field(
            "finished",
            "bool",
            "False: a cancel or the end of the daemon ended the search.",
            absent="neither did",
            since="cancel.data",
        ),
        Field(
            "done",
            "bool",
            "False: a preliminary result. True: the result of one ply of a game, or of one of `positions`.",
            absent="this is no partial",
        ),
    ),
    "move": (
        Field("move", "str", "`f5`, or `pa`."),
        Field("score", "int", "Expected final disc difference, -64 to 64.", "discs", MOVER),
        Field("lower", "int", "The score is at least this, within depth and selectivity.", "discs", MOVER),
        Field("upper", "int", "The score is at most this; equal to `lower` after a full search.", "discs", MOVER),
        Field("depth", "int", "Plies searched, this move included; all empty squares: to the end.", "plies"),
        Field("selectivity", "int", "73, 87, 95, 98, 99, or 100: no branch was left out.", "percent"),
        Field("exact", "bool", "Whether the score is proved."),
        Field("source", "str", "`search` or `book`."),
        Field(
            "level",
            "int",
            "Level of the book's score, 0 to 60.",
            "level",
            absent="`source` is `search`",
            since="analyze.book.level",
        ),
        Field("pv", "str", "Principal variation, this move first: `f5d6c3`."),
        Field("nodes", "int", "Nodes of this move's search; 0 for the book's.", "nodes"),
    ),
    "game": (
        Field("plies", "[analysis]", "In the order in which they were asked for."),
        Field("nodes", "int", "Nodes of all plies.", "nodes"),
        Field("time_ms", "float", "Time from the request to this reply.", "ms"),
        Field(
            "finished",
            "bool",
            "False: a cancel or the end of the daemon ended it; `plies` are those that have a result.",
            absent="neither did",
            since="cancel.data",
        ),
    ),
    "analyses": added(
        "analyze.many",
        Field("results", "[analysis]", "In the order of `positions`."),
        Field("nodes", "int", "Nodes of all positions.", "nodes"),
        Field("time_ms", "float", "Time from the request to this reply.", "ms"),
        Field(
            "finished",
            "bool",
            "False: a cancel or the end of the daemon ended it; `results` are those that were found.",
            absent="neither did",
        ),
    ),
    "book_position": (
        Field("found", "bool", "Whether the book knows the position; if not, there is no other field."),
        Field(
            "level",
            "int",
            "Level of the position, 0 to 60; -1: none yet, or its moves alone are known.",
            "level",
            absent="not `found`",
        ),
        Field("score", "int", "Score.", "discs", MOVER, absent="not `found`", nil="none yet"),
        Field("lower", "int", "Score minus the book's error margins.", "discs", MOVER, absent="not `found`"),
        Field("upper", "int", "Score plus the book's error margins.", "discs", MOVER, absent="not `found`"),
        Field("wins", "int", "Paths through the book to solved wins.", "paths", MOVER, absent="not `found`"),
        Field("draws", "int", "Paths to solved draws.", "paths", absent="not `found`"),
        Field("losses", "int", "Paths to solved losses.", "paths", MOVER, absent="not `found`"),
        Field("lines", "int", "Paths that leave the book.", "paths", absent="not `found`"),
        Field("human", "bool", "Whether a score was set by hand.", absent="not `found`", since="1.1"),
        Field("results", "results", "Games through the position.", absent="not `found`", since="1.1"),
        Field(
            "grade",
            "str",
            "Grade of the score: `A` to `F`, `AA` to `AF`; empty while the book changes.",
            absent="not `found`",
        ),
        Field("links", "[link]", "Moves to positions of the book, best first.", absent="not `found`"),
        Field("leaf", "leaf", "Best move that leaves the book.", absent="not `found`", nil="every move is a link"),
        Field(
            "children",
            "[child]",
            "Legal moves that the book knows, best first.",
            absent="not asked for",
            since="book.get.children",
        ),
    ),
    "book_positions": (Field("results", "[book_position]", "In the order of `positions`.", since="book.get.many"),),
    "results": (
        Field("won", "float", "Wins, weighted.", "games", MOVER, since="1.1"),
        Field("drawn", "float", "Draws, weighted.", "games", since="1.1"),
        Field("lost", "float", "Losses, weighted.", "games", MOVER, since="1.1"),
    ),
    "link": (
        Field("move", "str", "`f5`, or `pa`."),
        Field("score", "int", "Score of the position it leads to.", "discs", PLAYER),
    ),
    "leaf": (
        Field("move", "str", "`f5`."),
        Field("score", "int", "Score of its search.", "discs", PLAYER),
        Field("level", "int", "Level of its search.", "level"),
    ),
    "child": added(
        "book.get.children",
        Field("move", "str", "`f5`, or `pa`."),
        Field("kind", "str", "`link`: to a position of the book. `leaf`: the best of the other moves."),
        Field("score", "int", "Score.", "discs", PLAYER, nil="none yet"),
        Field("lower", "int", "Score minus the book's error margins.", "discs", PLAYER, nil="a leaf"),
        Field("upper", "int", "Score plus the book's error margins.", "discs", PLAYER, nil="a leaf"),
        Field("grade", "str", "Grade of the position it leads to, or of the leaf's search."),
        Field("lines", "int", "Paths behind it that leave the book; 1 for a leaf.", "paths"),
        Field("level", "int", "Level of the position it leads to, or of the leaf's search; -1: not known.", "level"),
        Field("human", "bool", "Whether the score was set by hand."),
        Field("wins", "int", "Paths behind it to solved wins.", "paths", PLAYER),
        Field("draws", "int", "Paths behind it to solved draws.", "paths"),
        Field("losses", "int", "Paths behind it to solved losses.", "paths", PLAYER),
        Field("results", "results", "Games through it; won and lost are the player's."),
    ),
    "error": (
        Field("code", "str", "One of [the codes](#errors)."),
        Field("message", "str", "One line for people; its wording may change."),
        Field(
            "field",
            "str",
            "Argument, or key of the request, to blame; `file` for one of `files`.",
            absent="no single one is",
        ),
    ),
    "cleared": added("cache.clear", Field("forgotten", "int", "Positions whose analyses were removed.", "positions")),
    "jobs": (Field("jobs", "[job]", "Oldest first; of finished book jobs the last hundred."),),
    "job": (
        _JOB,
        Field("op", "str", "Operation."),
        Field("client", "str", "Client that asked for it: a key's name, or the transport with a number or identity."),
        Field("state", "str", "`queued`, `running`, `done`, `cancelled` or `failed`."),
        Field("phase", "str", "Name of the phase; empty before the first one.", since="1.1"),
        _DONE,
        _TOTAL,
        *_WHOLE,
        Field("started", "float", "Time of the request.", "s since 1970"),
        Field("over", "bool", "Whether `state` is a final one.", since="1.1"),
        Field("result", "str", "Last line of what it printed, or its error.", absent="none yet", since="book.budget"),
    ),
    "cancelled": (
        Field("cancelled", "bool", "Whether there was anything to cancel."),
        Field(
            "number",
            "int",
            "Requests that were cancelled.",
            "requests",
            absent="`all` was not asked for",
            since="cancel.all",
        ),
    ),
    "progress": _PROGRESS,
    "job_result": JOB_RESULT,
    "job_event": (
        *_PROGRESS,
        Field("op", "str", "Operation."),
        Field("client", "str", "Client that asked for it."),
        Field("state", "str", "`queued`, `running`, `done`, `cancelled` or `failed`."),
        Field("changed", "int", "As in [job_result](#shape-job_result).", "positions", absent=_NO_RESULT),
        Field("time_s", "float", "As in [job_result](#shape-job_result).", "s", absent="not over, or a batch"),
    ),
}
for _satellite in satellites.present("shapes"):
    for _name, _shape in load(_satellite.shapes).items():
        SHAPES[_name] = SHAPES.get(_name, ()) + _shape
"""The fields of each shape, by its name."""

BOOK_RESULTS = {row.op: unless_stopped(*row.results) for row in BOOK_COMMANDS if row.results}
"""The fields beside `JOB_RESULT`, by operation on the book; operations that are not here add none."""

SHAPES["book_event"] = (
    *SHAPES["book"],
    Field("job", "int", "Number of the job that has ended."),
    Field("op", "str", "Its operation."),
)

EVENTS = {"job.<id>": "job_event", "book": "book_event", "status": "status"}
"""The shapes of events, by topic."""

ENVELOPE = (
    Field("v", "int", "Version of the protocol: 1."),
    Field("id", "id", "The id of the request.", nil="the request's id could not be read, or there is no request"),
    Field("type", "str", "`partial`, `final` or `error`."),
    Field("seq", "int", "0, 1, 2 … within the request."),
    Field("error", "error", "Reason of the failure.", absent="`type` is not `error`"),
    Field("warnings", "[str]", "Unknown arguments and keys, at most 20 of each.", absent="there are none"),
)
"""The keys of a reply beside `data`."""
