"""The operations that a page may request, by role, from the protocol's tables.

Over ipc the gateway is the daemon's admin, but its pages may do less: `shutdown`, `text`, `cache.clear`, batches, and
every book command that names a file or replaces the book are refused; `SAVE` is allowed without a name.
"""

from __future__ import annotations

from typing import Any

from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.commands.book_rows import BOOK, Parameter
from desdaemon.protocol.games.formats import BASE_FORMATS
from desdaemon.protocol.rows import ADMIN, EDITOR, READER, Argument, Operation
from desdaemon.protocol.wire.constants import LONGEST_BOARD, LONGEST_MOVES
from desdaemon.protocol.wire.messages import (
    BASIC_OPERATIONS,
    BY_NAME,
    RequestError,
    allows,
    check_arguments,
    check_request,
)

LARGEST_FRAME = 256 << 10
"""Largest frame from a page, bytes."""

MOST_GAMES = 5_000
"""Most games that one request reads or writes."""

_LONGEST_NAME = 1000
_GAME = (
    Argument("number", "int", "Its place in the file.", 0, 2**53),
    Argument("board", "text", "Where it begins.", 0, LONGEST_BOARD),
    Argument("moves", "text", "`f5d6c3`.", 0, LONGEST_MOVES),
    *(Argument(name, "text", "A name.", 0, _LONGEST_NAME) for name in ("black", "white", "event")),
    Argument("date", "text", "2026-01-31, or a year.", 0, 10),
    Argument("result", "int", "Black's score.", -64, 64),
    Argument("notes", "texts", "By move.", 0, LONGEST_MOVES),
    Argument("scores", "scores", "By move, from the mover's side."),
)
_OWN = (
    Operation(
        "web.read",
        (
            Argument("name", "text", "The file's.", 0, _LONGEST_NAME),
            Argument("text", "text", "Games.", 0, LARGEST_FRAME),
            Argument("data", "text", "Games, in base64.", 0, LARGEST_FRAME),
        ),
        READER,
        "Read games.",
    ),
    Operation(
        "web.write",
        (
            Argument("format", "choice", "A format.", choices=tuple(BASE_FORMATS), required=True),
            Argument("games", "maps", "What to write.", 0, MOST_GAMES, required=True, fields=_GAME),
        ),
        READER,
        "Write games in a format.",
    ),
    Operation(
        "web.exercises",
        (Argument("text", "text", "Problems in OBF.", 0, LARGEST_FRAME, required=True),),
        READER,
        "Read exercises.",
    ),
    Operation("web.names", (), READER, "The names of openings."),
    Operation("web.start", (), READER, "A random opening of XOT."),
    Operation("web.follow", (Argument("topics", "texts", "Topics.", 0, 16, required=True),), READER, "Hear events."),
    Operation("web.commands", (), READER, "The commands on the book."),
)
"""The operations that the gateway answers itself."""

_OPERATIONS = {**BY_NAME, **{operation.name: operation for operation in _OWN}}

_BASIC = (
    *("ping", "hello", "status", "analyze", "legal", "explain"),
    *("book.get", "games.get", "people.get", "jobs", "cancel"),
)

COMMANDS = tuple(
    command for command in BOOK_COMMANDS if command.about == BOOK and command.role != ADMIN and not command.names_files
)
"""The book commands that pages may give."""

SAVE = "book.save"
"""The operation that writes the book; for a book that takes no changes the gateway names a copy."""

_NEEDED = {
    **{operation.name: operation.role for operation in BASIC_OPERATIONS if operation.name in _BASIC},
    **{operation.name: operation.role for operation in _OWN},
    **{command.op: EDITOR if command.writes else command.role for command in COMMANDS},
    SAVE: EDITOR,
}


def operations(role: str) -> list[str]:
    """Return the names of the operations that pages of a role may request."""
    return [name for name, needed in _NEEDED.items() if allows(role, needed)]


def check(message: dict[str, Any], role: str) -> tuple[str, dict[str, Any], list[str]]:
    """Return the name of a request's operation, its arguments and warnings about them. Raises `RequestError` for a
    wrong request, and for one that a page of ``role`` may not make.
    """
    operation, given = check_request(message, _OPERATIONS)
    needed = _NEEDED.get(operation.name)
    if needed is None:
        raise RequestError("forbidden", f"op = {operation.name}: expected one that a page may ask for", "op")
    if not allows(role, needed):
        raise RequestError("forbidden", f"op = {operation.name}: expected the role {needed}, this page is a {role}")
    values, warnings = check_arguments(operation, given)
    if operation.name == "cancel" and "job" in values and not allows(role, EDITOR):
        raise RequestError("forbidden", f"job: expected the role {EDITOR}, this page is a {role}", "job")
    if operation.name == SAVE and "file" in values:
        raise RequestError("forbidden", "file: a page names no files", "file")
    return operation.name, values, warnings


def command_forms(role: str) -> list[dict[str, Any]]:
    """Return a role's book commands as a page's forms need them: name, help, parameters with ranges."""
    return [
        {
            "name": command.name,
            "help": command.help,
            "writes": command.writes,
            "parameters": [_form(parameter) for parameter in command.parameters],
        }
        for command in COMMANDS
        if allows(role, _NEEDED[command.op])
    ]


def _form(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "kind": parameter.kind,
        "help": parameter.help,
        "default": parameter.default,
        "low": parameter.low,
        "high": parameter.high,
        "choices": list(parameter.choices),
        "required": parameter.required,
    }
