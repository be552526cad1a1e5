"""Structured requests: the table of operations with their arguments and roles, the error codes, and the checks.

The daemon checks requests by this table, `hello` lists it, and docs/protocol.md is made from it. Messages are dicts
here, whether they travel as msgpack or as JSON lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from desdaemon.protocol import satellites
from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.commands.book_rows import BUDGET, SEARCH, Parameter
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.notation import parse_move
from desdaemon.protocol.rows import ADMIN, EDITOR, LISTS, READER, Argument, Feature, Operation
from desdaemon.protocol.spelling import did_you_mean

from .arguments import ANALYZE, POSITION, positions
from .constants import LONGEST_ID, LONGEST_LINE, VERSION

_MOST_WARNINGS = 20
_MOST_SHOWN = 3
_KEYS = frozenset(("v", "id", "op", "args"))

FEATURES = {
    "accounts": Feature("1.1", "`accounts` in `status` for an admin: use by key; the limit `key_queue`."),
    "analyze.plies": Feature("1.0", "`plies` of a game in one `analyze`."),
    "analyze.cache": Feature("1.1", "Results are kept and replied again, with `cached`."),
    "analyze.threads": Feature(
        "1.1", "`threads` and `deterministic`: idle threads join a search, unless the request says otherwise."
    ),
    "analyze.until": Feature("1.1", "`until`: `analyze` searches ever deeper until it is cancelled."),
    "analyze.game_nodes": Feature("1.1", "`game_nodes`: a budget for all plies of a request."),
    "analyze.book.level": Feature(
        "1.1", "A book score below the level asked for is a partial, not the final; moves have `level`."
    ),
    "analyze.many": Feature("1.1", "`positions` with `analyze`: many positions in one request."),
    "cache.clear": Feature("1.1", "`cache.clear`."),
    "cancel.all": Feature("1.1", "`all` with `cancel`."),
    "cancel.data": Feature("1.1", "Errors that end an `analyze` carry `data`; `keep` with `cancel` makes it a final."),
    "book": Feature("1.0", "`book.get`, and operations for the commands of the book."),
    "book.budget": Feature(
        "1.1",
        "`time`, `nodes` and `positions` for book commands that grow; progress of the whole; jobs go on "
        "after a restart.",
    ),
    "book.get.children": Feature("1.1", "`children` with `book.get`."),
    "book.get.many": Feature("1.1", "`positions` with `book.get`: many look-ups in one request."),
    "book.reopen": Feature("1.1", "`book.reopen`: a book that another process writes is read again."),
    "envelopes": Feature("1.6", "Frames before the body come back as they came: brokers, `ZMQ_REQ_CORRELATE`."),
    "events": Feature("1.0", "Events on a PUB socket."),
    "jobs": Feature("1.0", "`jobs`, and `job` with `cancel`."),
    "metrics": Feature("1.0", "`metrics`."),
    "status.problems": Feature("1.1", "`status` has `problems`, and why the book takes no changes."),
    "text": Feature("1.0", "`text`, and bare lines of the text protocol."),
    "text.partials": Feature("1.2", "`partials` with `text`."),
    **{name: feature for satellite in satellites.present("features") for name, feature in satellite.features.items()},
}
"""The features of version 1 of the protocol, by the names that `hello` lists."""

ROLES = (READER, EDITOR, ADMIN)
"""Roles in ascending order: each includes those before it."""

ERROR_CODES = {
    "bad_request": "The request cannot be read, or an argument is missing or of the wrong kind.",
    "unsupported_version": "`v` is not 1.",
    "unknown_op": "There is no such operation.",
    "bad_position": "`board` cannot be read as a board.",
    "illegal_move": "A move is not legal where it is played or asked for (commands on the book: `bad_request`).",
    "not_found": "There is no such job or file, no book or index of games, or nothing in it.",
    "duplicate_id": "A request with this id is still in flight.",
    "busy": "A limit of requests or positions in flight is reached: try later.",
    "cancelled": "By `cancel`, or because its client has gone; a running job by `shutdown` too.",
    "too_large": "The body is longer than 1 MiB, a text than allowed, or `positions` times `multipv` or `games` is too "
    "many.",
    "forbidden": "The role does not allow it, the key was revoked, or a file is outside the data folder.",
    "shutting_down": "The daemon is shutting down.",
    "internal": "An unexpected error in the daemon, a disk that takes no writes, or an engine that cannot be loaded.",
}


class RequestError(Exception):
    """An error reply: a code of `ERROR_CODES`, a message of one line, and the argument at fault or ""."""

    def __init__(self, code: str, message: str, field: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field

    def data(self) -> dict[str, str]:
        """Return the ``error`` map of a reply."""
        fields = {"code": self.code, "message": self.message}
        return {**fields, "field": self.field} if self.field else fields


def _book_argument(parameter: Parameter) -> Argument:
    """Return the argument of an operation for a parameter of a book command."""
    default = "false" if parameter.kind == "flag" else "none" if parameter.default is None else str(parameter.default)
    return Argument(
        parameter.name,
        parameter.kind,
        parameter.help,
        parameter.low,
        parameter.high,
        parameter.choices,
        parameter.required,
        default="" if parameter.required else default,
        since="book.budget" if parameter in BUDGET else "1.0",
    )


BASIC_OPERATIONS = (
    Operation("ping", (), READER, "Reply at once, whatever is searching.", repeatable=True, replies=("nothing",)),
    Operation(
        "hello", (), READER, "Tell who the daemon is, and what this client may do.", repeatable=True, replies=("hello",)
    ),
    Operation(
        "metrics", (), READER, "Counters and latencies as OpenMetrics text.", repeatable=True, replies=("metrics",)
    ),
    Operation("status", (), READER, "State of threads, queue, book and memory.", repeatable=True, replies=("status",)),
    Operation(
        "text",
        (
            Argument("line", "text", "A line of the text protocol.", 0, LONGEST_LINE, required=True),
            Argument(
                "partials",
                "flag",
                "Send what the line prints as it is printed, and the progress of its job on the book.",
                default="false",
                cost="a message each",
                since="text.partials",
            ),
        ),
        READER,
        "Run a line of the text protocol in this client's own session.",
        cost="the command's",
        replies=("text",),
        partial="printed",
    ),
    Operation(
        "analyze",
        ANALYZE,
        READER,
        "Search a position, several of a game, or a list of them.",
        cost="a search for each position",
        repeatable=True,
        replies=("analysis", "game", "analyses"),
        partial="analysis",
    ),
    Operation("legal", POSITION, READER, "The legal moves of a position.", repeatable=True, replies=("legal",)),
    Operation(
        "cache.clear", (), ADMIN, "Remove the analyses that are kept.", since="cache.clear", replies=("cleared",)
    ),
    Operation(
        "book.get",
        (
            *POSITION,
            Argument(
                "children",
                "flag",
                "Add what the book knows of each legal move.",
                default="false",
                cost="a look-up for each legal move",
                since="book.get.children",
            ),
            positions("book.get.many"),
        ),
        READER,
        "What the book knows of a position, or of several.",
        cost="the grade follows all good lines from the position: the longest near the root of a large book",
        repeatable=True,
        replies=("book_position", "book_positions"),
    ),
    Operation(
        "jobs",
        (),
        READER,
        "Book jobs that wait, run or have ended recently, and the batches that are kept.",
        repeatable=True,
        replies=("jobs",),
    ),
    Operation(
        "cancel",
        (
            Argument("target", "id", "A request of this client.", default="`job` or `all`"),
            Argument(
                "job", "int", "A job; takes an editor, or the key of a batch.", 0, 2**53, default="`target` or `all`"
            ),
            Argument("all", "flag", "Every request of this client.", default="false", since="cancel.all"),
            Argument(
                "keep",
                "flag",
                "End analyses with a final of what was found instead of an error.",
                default="false",
                since="cancel.data",
            ),
        ),
        READER,
        "Cancel a request or a job: exactly one of `target`, `job` and `all`.",
        replies=("cancelled",),
    ),
    Operation("shutdown", (), ADMIN, "End the daemon; everything is saved.", replies=("nothing",)),
    *(operation for satellite in satellites.present("operations") for operation in satellite.operations),
)

BOOK_OPERATIONS = tuple(
    Operation(
        command.op,
        (*POSITION, *(_book_argument(parameter) for parameter in command.parameters)),
        command.role,
        command.help,
        partial="progress",
    )
    for command in BOOK_COMMANDS
    if command.about != SEARCH
)

OPERATIONS = (*BASIC_OPERATIONS, *BOOK_OPERATIONS)
REPEATABLE = frozenset(operation.name for operation in OPERATIONS if operation.repeatable)
"""Operations that change neither the book nor the client's session."""
BY_NAME = {operation.name: operation for operation in OPERATIONS}
_ARGUMENTS = {operation.name: {argument.name: argument for argument in operation.arguments} for operation in OPERATIONS}


def allows(role: str, needed: str) -> bool:
    """Return whether a client with ``role`` may do what needs the role ``needed``."""
    return ROLES.index(role) >= ROLES.index(needed)


def is_id(value: object) -> bool:
    """Return whether a value can be the id of a request."""
    if isinstance(value, str):
        try:
            return len(value) <= LONGEST_ID and len(value.encode()) <= LONGEST_ID
        except UnicodeEncodeError:
            # JSON can hold half of a surrogate pair, which UTF-8 cannot encode.
            return False
    return type(value) is int and 0 <= value < 1 << 64


def readable_id(message: dict[str, Any]) -> str | int | None:
    """Return the id of a message; None if it has no id or one that no reply could repeat."""
    id = message.get("id")
    return id if is_id(id) else None


def check_request(
    message: dict[str, Any], operations: Mapping[str, Operation] = BY_NAME
) -> tuple[Operation, dict[str, Any]]:
    """Return the operation of a request, one of ``operations``, and its unchecked arguments, {} if it has none; raises
    `RequestError`.
    """
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
    operation = operations.get(name)
    if operation is None:
        meant = did_you_mean(name, operations, "one of those that hello lists")
        raise RequestError("unknown_op", f"op = {quoted(name)}: {meant}", "op")
    args = message.get("args")
    # PHP writes an empty map as an empty list.
    if args is None or args == []:
        return operation, {}
    if not isinstance(args, dict):
        raise RequestError("bad_request", f"args = {_shown(args)}: expected a map", "args")
    return operation, args


def unknown_keys(message: dict[str, Any]) -> list[str]:
    """Return warnings, at most `_MOST_WARNINGS`, about keys of a request other than `v`, `id`, `op` and `args`."""
    if message.keys() <= _KEYS:
        return []
    unknown = [key for key in message if key not in _KEYS]
    return [f"unknown key {quoted(key)}: arguments are in args" for key in unknown[:_MOST_WARNINGS]]


def check_arguments(operation: Operation, args: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the known arguments, and warnings about unknown ones (at most `_MOST_WARNINGS`) and about unknown fields.

    Raises `RequestError` for a wrong value, and if a required argument is missing. An argument that is nil counts as
    not given. Defaults are not filled in.
    """
    values: dict[str, Any] = {}
    warnings: list[str] = []
    arguments = _ARGUMENTS.get(operation.name) or {argument.name: argument for argument in operation.arguments}
    for name, value in args.items():
        argument = arguments.get(name)
        if argument is None:
            if len(warnings) < _MOST_WARNINGS:
                warnings.append(f"{operation.name} has no argument {quoted(str(name))}")
        elif value is not None:
            _check(argument, value)
            values[argument.name] = value
            if argument.fields:
                warnings += _check_maps(argument, value)
    for argument in arguments.values():
        if argument.required and argument.name not in values:
            raise RequestError(
                "bad_request", f"{argument.name} is missing: expected {argument.expected}", argument.name
            )
    return values, warnings


def _check(argument: Argument, value: Any) -> None:
    """Raise `RequestError` unless a value has the argument's kind and is within its bounds and choices."""
    if argument.kind == "text" and isinstance(value, str):
        if len(value) > argument.high:
            message = f"{argument.name} of {len(value)} characters: expected at most {argument.high}"
            raise RequestError("too_large", message, argument.name)
    elif not _fits(argument, value):
        message = f"{argument.name} = {_shown(value)}: expected {argument.expected}"
        raise RequestError("bad_request", message, argument.name)


def _fits(argument: Argument, value: Any) -> bool:
    """Return whether a value has the argument's kind and is within its bounds and choices. Not for kind ``text``, which
    `_check` checks itself.
    """
    kind = argument.kind
    if kind == "int":
        return type(value) is int and argument.low <= value <= argument.high
    if kind == "flag":
        return isinstance(value, bool)
    if kind == "id":
        return is_id(value)
    if kind in LISTS:
        return (
            isinstance(value, list) and len(value) <= argument.high and all(type(item) is LISTS[kind] for item in value)
        )
    if kind == "scores":
        return isinstance(value, list) and all(
            item is None or (type(item) is int and -64 <= item <= 64) for item in value
        )
    if kind == "paths":
        return isinstance(value, list) and value != [] and all(isinstance(name, str) and name for name in value)
    if not isinstance(value, str):
        return False
    if kind == "choice":
        return value in argument.choices
    if kind == "move":
        try:
            parse_move(value)
        except BadInput:
            return False
    return kind in ("path", "move") and value != ""


def _check_maps(argument: Argument, items: list[dict[str, Any]]) -> list[str]:
    """Return one warning if any maps of a list have unknown fields, else []. Raises `RequestError` for a field of the
    wrong kind or out of its bounds.
    """
    for index, item in enumerate(items):
        try:
            check_fields(argument.fields, item)
        except RequestError as error:
            raise in_list(argument.name, index, RequestError("bad_request", error.message)) from None
    names = [field.name for field in argument.fields]
    allowed = frozenset(names)
    if all(item.keys() <= allowed for item in items):
        return []
    return [f"{argument.name}: a map has keys other than {', '.join(names[:-1])} and {names[-1]}"]


def check_fields(fields: tuple[Argument, ...], item: dict[str, Any]) -> None:
    """Raise `RequestError` if a field of a map has the wrong kind or is out of its bounds."""
    for field in fields:
        value = item.get(field.name)
        if value is not None:
            _check(field, value)


def in_list(name: str, number: int, error: RequestError) -> RequestError:
    """Return an error about an item of the list argument ``name``: the name and the item's ``number`` come before the
    message of ``error``, and the field at fault is the list.
    """
    return RequestError(error.code, f"{name} {number}: {error.message}", name)


def _shown(value: object) -> str:
    if isinstance(value, list):
        more = ["..."] if len(value) > _MOST_SHOWN else []
        return f"[{', '.join([*(_kind(item) for item in value[:_MOST_SHOWN]), *more])}]"
    return _kind(value)


def _kind(value: object) -> str:
    """Return a value for an error message: a scalar as text, any other value as its kind, such as ``a list``."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 64 else "a number beyond 64 bits"
    if value is None or isinstance(value, float):
        return "nil" if value is None else str(value)
    return {"list": "a list", "dict": "a map", "bytes": "binary data"}.get(type(value).__name__, "an extension type")
