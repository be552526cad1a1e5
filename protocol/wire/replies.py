"""The fields of replies, as data: the documentation is made from this table, and the tests hold the daemon to it.

A shape is a map with these fields. Scores are in discs, seen by the side to move in the position asked about unless a
field says otherwise.
"""

from __future__ import annotations

from typing import NamedTuple


class Field(NamedTuple):
    """A field: ``type`` is ``int``, ``float``, ``str``, ``bool``, ``id`` or a shape's name, in brackets for a list.

    ``nil`` ones may be nil; those that are not ``always`` there are left out where the help says so.
    """

    name: str
    type: str
    help: str
    always: bool = True
    nil: bool = False

    @property
    def shown(self) -> str:
        """The type as the documentation shows it."""
        return f"{self.type} or nil" if self.nil else self.type


def _field(name: str, type: str, help: str) -> Field:
    return Field(name, type, help)


def _some(name: str, type: str, help: str) -> Field:
    return Field(name, type, help, always=False)


def _nil(name: str, type: str, help: str) -> Field:
    return Field(name, type, help, nil=True)


_BOARD = _field("board", "str", "64 squares A1, B1 … H8 of `X` `O` `-`, a blank, and the side to move.")

SHAPES: dict[str, tuple[Field, ...]] = {
    "nothing": (),
    "hello": (
        _field("name", "str", "`desdaemon`."),
        _field("version", "str", "Of the program."),
        _field("protocol", "int", "Version of the protocol, 1."),
        _field("role", "str", "Of this client: `reader`, `editor` or `admin`."),
        _field("ops", "[str]", "Operations that this client may ask for."),
        _field("features", "[str]", "What was added to version 1 of the protocol since its beginning."),
        _field("limits", "{int}", "Those of docs/server.md, and `body` `line` `multipv` `plies` `items` `results`."),
    ),
    "metrics": (_field("text", "str", "OpenMetrics."),),
    "status": (
        _field("uptime_s", "float", "Seconds since the start."),
        _field("threads", "int", "Searches at a time."),
        _field("queued", "int", "Searches that wait."),
        _field("running", "int", "Searches that run."),
        _field("nodes", "int", "Nodes of all searches that are over."),
        _field("book", "book", "The book in use."),
        _field("problems", "[str]", "What does not work at present, a line each; none where everything does."),
        _some("batches", "batches", "Absent without a data folder."),
        _field("memory_mb", "float", "Resident memory, 10^6 bytes."),
        _field("loop", "loop", "How long the thread that owns the sockets was busy with one thing."),
        _field("clients", "int", "Clients that are known."),
        _field("pid", "int", "The daemon's process."),
        _some("accounts", "[account]", "What each key has had since the start; for an admin alone."),
    ),
    "loop": (
        _field("longest_turn_ms", "float", "The longest time in which it did not look at its sockets."),
        _field("longest_request_ms", "float", "The longest time that it took to take one request."),
        _field("longest_request", "str", "The operation of that request."),
    ),
    "account": (
        _field("key", "str", "The key's name, or how clients without one come."),
        _field("requests", "int", "Requests and lines taken."),
        _field("nodes", "int", "Nodes searched for it."),
        _field("seconds", "float", "Seconds of search threads."),
        _field("in_flight", "int", "Positions, lines and jobs that it has in flight now."),
    ),
    "book": (
        _field("path", "str", "The file's name without its folder; empty for a book without a file."),
        _field("positions", "int", "Positions of the book; 0 until it is open."),
        _field("dirty", "bool", "Whether there are changes that are not on the disk (yet)."),
        _field("state", "str", "`none`, `opening`, `open`, or `failed`: the file could not be opened."),
        _field("writable", "bool", "Whether the book takes changes."),
        _field("reason", "str", "Why it does not, or could not be opened; empty otherwise."),
        _field("holder", "int", "The process that writes the book's file where that is another one; 0 otherwise."),
        _some("opening", "opening", "How far the file is read; only while `state` is `opening`."),
    ),
    "opening": (
        _field("phase", "str", "What is being done; empty before it begins."),
        _field("done", "int", "Steps of the phase that are done."),
        _field("total", "int", "Steps of the phase; 0 where that is not known."),
    ),
    "batches": (
        _field("kept", "int", "Batches whose results are kept, unfinished ones included."),
        _field("unfinished", "int", "Batches that are not over."),
    ),
    "text": (
        _field("out", "str", "What the line printed."),
        _field("err", "str", "What it complained about."),
    ),
    "legal": (
        _field("moves", "[str]", "The legal moves; `pa` where a pass is forced; none where the game is over."),
        _BOARD,
        _field("over", "bool", "Whether the game is over."),
        _field("discs", "[int]", "Black's and White's discs."),
    ),
    "analysis": (
        _some("ply", "int", "Moves played before the position, passes counted; only where `plies` were asked for."),
        _BOARD,
        _field("moves", "[move]", "Best first, at most `multipv`; none where the game is over."),
        _field("nodes", "int", "Nodes that were searched for this answer; 0 where the book or the cache gave it."),
        _field("time_ms", "float", "Milliseconds of searching; waiting for a thread is not counted."),
        _field("canonical", "str", "The position as its eight mirror images share it, the side to move as X."),
        _some("over", "bool", "True where the game is over, absent otherwise."),
        _some("score", "int", "The final score; only where the game is over."),
        _some("cached", "bool", "True where the answer was kept from before, absent otherwise."),
        _some("stopped", "bool", "True where nodes or time ended the search, absent otherwise."),
        _some("finished", "bool", "False where a cancel or the end of the daemon ended the search, absent otherwise."),
        _some(
            "done",
            "bool",
            "In partials alone: false for what is known so far, true for a ply of a game that has its answer.",
        ),
    ),
    "move": (
        _field("move", "str", "`f5`, or `pa`."),
        _field("score", "int", "Discs at the end, -64 to 64."),
        _field("lower", "int", "The score is at least this, as far as depth and selectivity go."),
        _field("upper", "int", "The score is at most this; equal to `lower` where the search of the move is complete."),
        _field("depth", "int", "Plies, this move included; the number of empty squares where it was read to the end."),
        _field("selectivity", "int", "Percent: 73, 87, 95, 98, 99, or 100 for a search that left nothing out."),
        _field("exact", "bool", "Whether the score is proved."),
        _field("source", "str", "`search` or `book`."),
        _some("level", "int", "The level of the book's score, 0 to 60; only with `source` `book`."),
        _field("pv", "str", "The expected line, this move first, `f5d6c3`."),
        _field("nodes", "int", "Nodes that this line took; 0 for the book's."),
    ),
    "game": (
        _field("plies", "[analysis]", "In the order in which they were asked for."),
        _field("nodes", "int", "Of all of them."),
        _field("time_ms", "float", "Milliseconds from the request to the answer."),
        _some("finished", "bool", "False where a cancel or the end of the daemon ended it, absent otherwise."),
    ),
    "look": (
        _field("found", "bool", "Whether the position is in the book; all else is there only if it is."),
        _some("level", "int", "Of the position, 0 to 60; -1 where there is none yet."),
        _some("score", "int or nil", "Discs; nil where there is none yet."),
        _some("lower", "int", "The score less the book's error margins."),
        _some("upper", "int", "The score plus the book's error margins."),
        _some("wins", "int", "Paths through the book to solved ends that the side to move wins."),
        _some("draws", "int", "Paths to solved draws."),
        _some("losses", "int", "Paths to solved ends that it loses."),
        _some("lines", "int", "Paths that leave the book."),
        _some("human", "bool", "Whether a score was set by hand."),
        _some("results", "results", "Games through the position."),
        _some("grade", "str", "How well the score is founded: `A` to `F`, `AA` to `AF`; empty while the book changes."),
        _some("links", "[link]", "Moves into the book, best first."),
        _some("leaf", "leaf or nil", "The best move that leaves the book; nil where every move leads into it."),
        _some("children", "[child]", "Of each legal move that the book knows, best first; only where asked for."),
    ),
    "looks": (_field("results", "[look]", "In the order of `positions`."),),
    "results": (
        _field("won", "float", "Games that the side to move won; weights, so not always whole."),
        _field("drawn", "float", "Drawn games."),
        _field("lost", "float", "Lost games."),
    ),
    "link": (
        _field("move", "str", "`f5`, or `pa`."),
        _field("score", "int", "Of the position it leads to, for the side that moves."),
    ),
    "leaf": (
        _field("move", "str", "`f5`."),
        _field("score", "int", "Of its search, for the side that moves."),
        _field("level", "int", "The level that it was searched at."),
    ),
    "child": (
        _field("move", "str", "`f5`, or `pa`. All numbers are seen by the side that plays it."),
        _field("kind", "str", "`link`: it leads into the book. `leaf`: the best of the others."),
        _nil("score", "int", "Discs; nil where there is none yet."),
        _nil("lower", "int", "As in the position it leads to; nil for a leaf."),
        _nil("upper", "int", "As in the position it leads to; nil for a leaf."),
        _field("grade", "str", "Of the position it leads to, or of the leaf's search."),
        _field("lines", "int", "Paths that leave the book behind it; 1 for a leaf."),
        _field("level", "int", "Of the position it leads to, or of the leaf's search; -1 where that is not known."),
        _field("human", "bool", "Whether the score was set by hand."),
        _field("wins", "int", "Paths behind it to solved ends that the side that plays it wins."),
        _field("draws", "int", "Paths behind it to solved draws."),
        _field("losses", "int", "Paths behind it to solved ends that it loses."),
        _field("results", "results", "Games through it."),
    ),
    "batch": (
        _field("job", "int", "The batch's number, which outlives the daemon and is never used again."),
        _field("items", "int", "Positions to be analysed."),
    ),
    "page": (
        _field("results", "[result]", "In the order in which they were found."),
        _field("cursor", "int", "The next request's `after`."),
        _field("done", "bool", "Whether there will be no more after these."),
        _field("state", "str", "`queued`, `running`, `done` or `cancelled`."),
        _field("items", "int", "Positions of the batch."),
        _field("answered", "int", "Results there are by now."),
    ),
    "result": (
        _field("item", "int", "The place in `items`, from 0, or among the positions of the file."),
        _field("id", "id", "The item's own id; without one its place, or the number of its line in the file."),
        _some("data", "analysis or game", "What `analyze` would have answered; absent where there is an `error`."),
        _some("error", "error", "Why there is no answer."),
    ),
    "error": (
        _field("code", "str", "One of those below."),
        _field("message", "str", "What is wrong, in a line."),
        _some("field", "str", "The argument to blame, where it is one."),
    ),
    "forgotten": (_field("forgotten", "bool", "True."),),
    "cleared": (_field("forgotten", "int", "Positions whose analyses were kept."),),
    "jobs": (_field("jobs", "[job]", "Oldest first; of book jobs that are over the last hundred."),),
    "job": (
        _field("job", "int", "Its number."),
        _field("op", "str", "The operation that it carries out."),
        _field("client", "str", "Who asked for it: a key's name, or how the client came."),
        _field("state", "str", "`queued`, `running`, `done`, `cancelled` or `failed`."),
        _field("phase", "str", "What is being done; empty before it begins."),
        _field("done", "int", "Steps of the phase that are done."),
        _field("total", "int", "Steps of the phase; 0 where that is not known."),
        _field("started", "float", "When it was asked for, in seconds since 1970."),
        _field("over", "bool", "Whether it is over."),
    ),
    "cancelled": (
        _field("cancelled", "bool", "Whether there was anything left to cancel."),
        _some("number", "int", "With `all`: how many requests."),
    ),
    "progress": (
        _field("job", "int", "Its number."),
        _field("phase", "str", "What is being done."),
        _field("done", "int", "Steps of the phase that are done."),
        _field("total", "int", "Steps of the phase; 0 where that is not known."),
        _nil("eta_s", "float", "Seconds left of the phase, about; nil where there is no telling."),
        _field("positions", "int", "Positions of the book by now; 0 for a batch."),
        _field("rate", "float", "Steps a second."),
    ),
    "done": (
        _field("job", "int", "Its number; 0 for what was done at once and is not listed."),
        _field("added", "int", "Positions added."),
        _field("changed", "int", "Positions changed, as far as the command counts them."),
        _field("positions", "int", "Positions of the book now."),
        _field("time_s", "float", "Seconds that it took."),
        _some("finished", "bool", "False where it was stopped; what was done by then is kept."),
        _some("text", "[str]", "What the command says in the text protocol, a line each."),
        _some("notes", "[str]", "Remarks, such as what a format could not hold."),
    ),
}
"""The fields of each shape, in the order in which they are documented."""

REPLIES: dict[str, tuple[str, ...]] = {
    "ping": ("nothing",),
    "hello": ("hello",),
    "metrics": ("metrics",),
    "status": ("status",),
    "text": ("text",),
    "analyze": ("analysis", "game"),
    "legal": ("legal",),
    "analyze.batch": ("batch",),
    "batch.results": ("page",),
    "batch.forget": ("forgotten",),
    "cache.clear": ("cleared",),
    "book.get": ("look", "looks"),
    "jobs": ("jobs",),
    "cancel": ("cancelled",),
    "shutdown": ("nothing",),
}
"""The shapes of each operation's final data; every other operation on the book answers `done`."""

PARTIALS: dict[str, str] = {"analyze": "analysis", "book": "progress"}
"""The shapes of partials."""


def faults(shape: str, data: object, *, open_ended: bool = False) -> list[str]:
    """What of ``data`` is not as the shape says, as paths with a word; ``open_ended``: more fields are allowed."""
    if not isinstance(data, dict):
        return [f"{shape}: no map"]
    fields = {field.name: field for field in SHAPES[shape]}
    found = [] if open_ended else [f"{shape}.{name}: not described" for name in data if name not in fields]
    for field in fields.values():
        if field.name not in data:
            if field.always:
                found.append(f"{shape}.{field.name}: missing")
            continue
        value = data[field.name]
        kinds = [*field.type.split(" or "), *(["nil"] if field.nil else [])]
        attempts = [_faults(f"{shape}.{field.name}", kind, value) for kind in kinds]
        if all(attempts):
            found += attempts[0]
    return found


_PLAIN: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "str": (str,),
    "bool": (bool,),
    "id": (str, int),
    "nil": (type(None),),
}


def _faults(path: str, kind: str, value: object) -> list[str]:
    if kind[0] == "[":
        if not isinstance(value, list):
            return [f"{path}: no list"]
        return [fault for item in value for fault in _faults(path, kind[1:-1], item)]
    if kind[0] == "{":
        if not isinstance(value, dict):
            return [f"{path}: no map"]
        return [fault for item in value.values() for fault in _faults(path, kind[1:-1], item)]
    if kind in SHAPES:
        return [f"{path}: {fault}" for fault in faults(kind, value)]
    fits = isinstance(value, _PLAIN[kind]) and (kind == "bool" or not isinstance(value, bool))
    return [] if fits else [f"{path}: {value!r} is no {kind}"]
