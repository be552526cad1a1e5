"""Structured requests and replies: the operations with their arguments and roles, the error codes, the checks.

One table serves the daemon, `hello`, the documentation and the tests. The messages are dicts, whether they travel as
msgpack or as JSON lines.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from desdaemon.protocol.commands.book import BOOK_COMMANDS, Parameter
from desdaemon.protocol.commands.options import expected_value
from desdaemon.protocol.errors import quoted

VERSION = 1
"""Of the protocol; it does not change for additions, which `FEATURES` names. `wire` has it too, without this table."""

LARGEST_BODY = 1 << 20
"""Bytes of a request."""

LONGEST_ID = 64
"""Bytes of an id that is text."""

LONGEST_LINE = 65_536
"""Characters of a line of the text protocol."""

LONGEST_BOARD = 512
LONGEST_MOVES = 1024
MOST_LINES = 64
MOST_PLIES = 128
MOST_ITEMS = 20_000
"""Positions of a batch in one request."""

MOST_LINES_OF_FILE = 100_000
"""Positions of a batch in a file."""

MOST_POSITIONS = 1000
"""Positions of one `book.get`."""

MOST_RESULTS = 1000
"""Results of a batch in one reply."""

_MOST_WARNINGS = 20
_MOST_SHOWN = 3
_KEYS = frozenset(("v", "id", "op", "args"))

FEATURES = {
    "accounts": "`accounts` in `status`, for an admin: what each key has had; limits by key.",
    "analyze.plies": "`plies` of a game in one `analyze`.",
    "analyze.cache": "What was found is kept and answered again, `cached`.",
    "analyze.until": "`until`: `analyze` goes ever deeper until it is cancelled.",
    "analyze.game_nodes": "`game_nodes`: a budget for all plies of a request.",
    "analyze.book.level": "A book below the level asked for is the first partial, not the answer; moves tell `level`.",
    "analyze.batch": "`analyze.batch`, `batch.results`, `batch.forget`: jobs that survive a restart.",
    "cache.clear": "`cache.clear`.",
    "cancel.all": "`all` with `cancel`.",
    "cancel.data": "Errors that end an `analyze` have `data`, what was found; `keep` with `cancel` makes it a final.",
    "book": "`book.get`, and operations for the commands of the book.",
    "book.get.children": "`children` with `book.get`.",
    "book.get.many": "`positions` with `book.get`: many look-ups in one request.",
    "book.reopen": "`book.reopen`: a book that another process writes is read anew.",
    "events": "Events on a PUB socket.",
    "jobs": "`jobs`, and `job` with `cancel`.",
    "metrics": "`metrics`.",
    "status.problems": "`status` says what does not work, and why the book takes no changes.",
    "text": "`text`, and bare lines of the text protocol.",
}
"""What was added to version 1 since its beginning, by the names that `hello` tells."""

READER, EDITOR, ADMIN = "reader", "editor", "admin"
ROLES = (READER, EDITOR, ADMIN)
"""Each may do what those before it may."""

ERROR_CODES = {
    "bad_request": "The request cannot be read, or an argument is missing or of the wrong kind.",
    "unsupported_version": "`v` is not 1.",
    "unknown_op": "There is no such operation.",
    "bad_position": "`board` is no board.",
    "illegal_move": "A move is not legal where it is played or asked for.",
    "not_found": "There is no such job, no book, or nothing in it.",
    "duplicate_id": "A request of that id is still in flight.",
    "busy": "Too much is in flight or waiting: try later.",
    "cancelled": "The request was cancelled.",
    "too_large": "The body is longer than 1 MiB, or a text than allowed.",
    "forbidden": "The role does not allow it, or a file is outside the data folder.",
    "shutting_down": "The daemon is about to end.",
    "internal": "A mistake in the daemon, its disk is full, or its engine cannot be had; the log has more.",
}


class RequestError(Exception):
    """Why a request is refused: a code of `ERROR_CODES`, one line, and the argument to blame or ""."""

    def __init__(self, code: str, message: str, field: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field

    def data(self) -> dict[str, str]:
        """The ``error`` map of a reply."""
        found = {"code": self.code, "message": self.message}
        return {**found, "field": self.field} if self.field else found


class Argument(NamedTuple):
    """An argument of an operation.

    ``kind`` is ``int`` (``low``..``high``), ``text`` (at most ``high`` characters), ``choice`` (of ``choices``),
    ``moves``, ``ints`` or ``maps`` (lists of at most ``high`` texts, numbers or maps), ``id`` (of a request), ``path``
    (a file in the data folder) or ``flag``; those of book commands are checked with the command.
    """

    name: str
    kind: str
    help: str
    low: int = 0
    high: int = 0
    choices: tuple[str, ...] = ()
    required: bool = False

    @property
    def expected(self) -> str:
        """What a value has to be, for messages."""
        known = expected_value(self.kind, self.low, self.high, self.choices)
        if known:
            return known
        if self.kind == "text":
            return f"a text of at most {self.high} characters"
        if self.kind == "path":
            return "the name of a file"
        if self.kind == "id":
            return f"a text of at most {LONGEST_ID} bytes or a whole number from 0 to 2^64 - 1"
        things = {"moves": "moves", "ints": "whole numbers", "maps": "maps"}
        return f"a list of at most {self.high} {things[self.kind]}" if self.kind in things else "true or false"


class Operation(NamedTuple):
    """An operation: its name, its arguments, the least role that may ask for it, and what it does in a sentence."""

    name: str
    arguments: tuple[Argument, ...]
    role: str
    help: str

    def argument(self, name: str) -> Argument | None:
        """The argument of that name."""
        return next((argument for argument in self.arguments if argument.name == name), None)


POSITION = (
    Argument("board", "text", "64 squares and the side to move; the standard start unless given.", 0, LONGEST_BOARD),
    Argument("moves", "text", "Moves played from it, `f5d6c3`; forced passes may be left out.", 0, LONGEST_MOVES),
)

ANALYZE = (
    *POSITION,
    Argument("plies", "ints", "Analyse the positions after so many of the moves, each.", 0, MOST_PLIES),
    Argument("level", "int", "Strength, as Edax's levels; the daemon's unless given.", 0, 60),
    Argument("depth", "int", "Plies, instead of a level.", 0, 60),
    Argument("selectivity", "int", "Percent: 73, 87, 95, 98, 99 or 100.", 73, 100),
    Argument("nodes", "int", "At most so many nodes.", 1, 10**15),
    Argument("time_ms", "int", "At most so many milliseconds of searching.", 1, 10**9),
    Argument("multipv", "int", "So many moves, best first; 1 unless given.", 1, MOST_LINES),
    Argument("allow", "moves", "Look at these moves only.", 0, MOST_LINES),
    Argument("avoid", "moves", "Leave these moves out.", 0, MOST_LINES),
    Argument("book", "choice", "What to do with the book.", choices=("use", "ignore", "only")),
    Argument("partial_ms", "int", "Tell what is known so far at this interval.", 1, 10**9),
    Argument("priority", "int", "Among the requests of this client; higher first, 0 unless given.", -1000, 1000),
    Argument("until", "choice", "Search ever deeper until this happens.", choices=("cancelled",)),
    Argument("game_nodes", "int", "At most so many nodes for all `plies` together.", 1, 10**15),
)

_OF_ONE_REQUEST = frozenset(("board", "moves", "partial_ms", "priority", "until"))

BATCH = (
    Argument("items", "maps", "Positions: maps of `id`, `board` and `moves`, each optional.", 0, MOST_ITEMS),
    Argument("file", "path", "Instead of `items`: a file in the data folder, a position a line; takes an admin."),
    *(argument for argument in ANALYZE if argument.name not in _OF_ONE_REQUEST),
)
"""Arguments of `analyze.batch`: what is asked about, then those of `analyze` that hold for each item."""

_BATCH_JOB = Argument("job", "int", "What `analyze.batch` answered.", 0, 2**53, required=True)


def _book_argument(parameter: Parameter) -> Argument:
    """For the table; `book_commands.values_by_name` checks the values."""
    return Argument(parameter.name, "book", parameter.help, required=parameter.required)


BASIC_OPERATIONS = (
    Operation("ping", (), READER, "Answered at once, whatever is searching."),
    Operation("hello", (), READER, "Who this is, and what this client may do how often."),
    Operation("metrics", (), READER, "Counters and latencies as OpenMetrics text."),
    Operation("status", (), READER, "What the daemon is doing."),
    Operation(
        "text",
        (Argument("line", "text", "A line of the text protocol.", 0, LONGEST_LINE, required=True),),
        READER,
        "Carry out a line of the text protocol on this client's own board.",
    ),
    Operation("analyze", ANALYZE, READER, "Search a position, or several of a game."),
    Operation("legal", POSITION, READER, "The legal moves of a position."),
    Operation("analyze.batch", BATCH, READER, "Search many positions as a job that survives a restart."),
    Operation(
        "batch.results",
        (
            _BATCH_JOB,
            Argument("after", "int", "The `cursor` of the reply before; 0, the default, is the beginning.", 0, 2**53),
            Argument("limit", "int", "At most so many results; 1000 unless given.", 1, MOST_RESULTS),
        ),
        READER,
        "Results of a batch in the order in which they were found.",
    ),
    Operation("batch.forget", (_BATCH_JOB,), READER, "End a batch and remove its results."),
    Operation("cache.clear", (), ADMIN, "Forget the analyses that are kept."),
    Operation(
        "book.get",
        (
            *POSITION,
            Argument("children", "flag", "Tell of every legal move what the book knows where it leads."),
            Argument("positions", "maps", "Instead: maps of `board` and `moves`, each optional.", 0, MOST_POSITIONS),
        ),
        READER,
        "What the book knows of a position, or of several.",
    ),
    Operation("jobs", (), READER, "The book jobs that wait, run, or ended lately, and the batches that are kept."),
    Operation(
        "cancel",
        (
            Argument("target", "id", "A request of this client."),
            Argument("job", "int", "A job; takes an editor, or whoever asked for the batch.", 0, 2**53),
            Argument("all", "flag", "Every request of this client."),
            Argument("keep", "flag", "End analyses with a final of what was found instead of an error."),
        ),
        READER,
        "End a request or a job.",
    ),
    Operation("shutdown", (), ADMIN, "End the daemon; everything is saved."),
)

BOOK_OPERATIONS = tuple(
    Operation(
        command.op,
        (*POSITION, *(_book_argument(parameter) for parameter in command.parameters)),
        command.role,
        command.help,
    )
    for command in BOOK_COMMANDS
    if not command.dialogue
)

BATCH_OPERATIONS = frozenset(("analyze.batch", "batch.results", "batch.forget"))
"""Those that need a data folder."""

OPERATIONS = (*BASIC_OPERATIONS, *BOOK_OPERATIONS)
_BY_NAME = {operation.name: operation for operation in OPERATIONS}
_ARGUMENTS = {operation.name: {argument.name: argument for argument in operation.arguments} for operation in OPERATIONS}
_REQUIRED = {
    operation.name: [found for found in operation.arguments if found.required and found.kind != "book"]
    for operation in OPERATIONS
}


def find_operation(name: str) -> Operation | None:
    """The operation of that name."""
    return _BY_NAME.get(name)


def allows(role: str, needed: str) -> bool:
    """Whether a role may do what takes the role ``needed``."""
    return ROLES.index(role) >= ROLES.index(needed)


def is_id(value: object) -> bool:
    """Whether a value can be the id of a request."""
    if isinstance(value, str):
        try:
            return len(value) <= LONGEST_ID and len(value.encode()) <= LONGEST_ID
        except UnicodeEncodeError:
            # JSON can hold half of a surrogate pair, which is no text.
            return False
    return type(value) is int and 0 <= value < 1 << 64


def readable_id(message: dict[str, Any]) -> str | int | None:
    """The id of a message, None where it has none that could be echoed."""
    found = message.get("id")
    return found if is_id(found) else None


def check_request(message: dict[str, Any]) -> tuple[Operation, dict[str, Any]]:
    """The operation of a request and its arguments as they came; raises `RequestError`."""
    if not is_id(message.get("id")):
        raise RequestError(
            "bad_request", "id: expected a text of at most 64 bytes or a whole number up to 2^64 - 1", "id"
        )
    version = message.get("v")
    if type(version) is not int:
        raise RequestError("bad_request", f"v = {_shown(version)}: expected {VERSION}", "v")
    if version != VERSION:
        raise RequestError("unsupported_version", f"v = {version}: expected {VERSION}", "v")
    name = message.get("op")
    if not isinstance(name, str):
        raise RequestError("bad_request", f"op = {_shown(name)}: expected the name of an operation", "op")
    operation = _BY_NAME.get(name)
    if operation is None:
        raise RequestError("unknown_op", f"op = {quoted(name)}: expected one of those that hello lists", "op")
    args = message.get("args")
    if args is None:
        return operation, {}
    if not isinstance(args, dict):
        raise RequestError("bad_request", f"args = {_shown(args)}: expected a map", "args")
    return operation, args


def unknown_keys(message: dict[str, Any]) -> list[str]:
    """A warning for each key of a request that means nothing beside `v`, `id`, `op` and `args`."""
    if message.keys() <= _KEYS:
        return []
    unknown = [key for key in message if key not in _KEYS]
    return [f"unknown key {quoted(key)}: arguments are in args" for key in unknown[:_MOST_WARNINGS]]


def check_arguments(operation: Operation, args: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The arguments that are given and known, checked, and a warning for each unknown one; raises `RequestError`.

    An argument of nil counts as not given.
    """
    values: dict[str, Any] = {}
    warnings: list[str] = []
    arguments = _ARGUMENTS[operation.name]
    for name, value in args.items():
        argument = arguments.get(name)
        if argument is None:
            if len(warnings) < _MOST_WARNINGS:
                warnings.append(f"{operation.name} has no argument {quoted(str(name))}")
        elif value is not None:
            values[argument.name] = _checked(argument, value)
    for argument in _REQUIRED[operation.name]:
        if argument.name not in values:
            raise RequestError(
                "bad_request", f"{argument.name} is missing: expected {argument.expected}", argument.name
            )
    return values, warnings


def _checked(argument: Argument, value: Any) -> Any:
    if argument.kind == "book":
        return value
    if argument.kind in ("text", "path"):
        fits = isinstance(value, str)
        if argument.kind == "text" and fits and len(value) > argument.high:
            raise RequestError(
                "too_large",
                f"{argument.name} of {len(value)} characters: expected at most {argument.high}",
                argument.name,
            )
    elif argument.kind == "int":
        fits = type(value) is int and argument.low <= value <= argument.high
    elif argument.kind == "choice":
        fits = isinstance(value, str) and value in argument.choices
    elif argument.kind == "id":
        fits = is_id(value)
    elif argument.kind == "flag":
        fits = isinstance(value, bool)
    else:
        kind = {"moves": str, "ints": int, "maps": dict}[argument.kind]
        fits = isinstance(value, list) and len(value) <= argument.high and all(type(item) is kind for item in value)
    if not fits:
        message = f"{argument.name} = {_shown(value)}: expected {argument.expected}"
        raise RequestError("bad_request", message, argument.name)
    return value


def _shown(value: object) -> str:
    if isinstance(value, list):
        more = ["..."] if len(value) > _MOST_SHOWN else []
        return f"[{', '.join([*(_kind(item) for item in value[:_MOST_SHOWN]), *more])}]"
    return _kind(value)


def _kind(value: object) -> str:
    """A value that has no parts, or what kind of value it is."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 64 else "a number beyond 64 bits"
    if value is None or isinstance(value, float):
        return "nil" if value is None else str(value)
    return {"list": "a list", "dict": "a map", "bytes": "binary data"}.get(type(value).__name__, "an extension type")
