"""The tables of docs/protocol.md, made from the tables that the daemon checks requests with."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable

from markdown_tables import cell, rows

from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.wire.book_replies import BOOK_RESULTS
from desdaemon.protocol.wire.constants import LONGEST_ID, REPEATABLE, REVISIONS
from desdaemon.protocol.wire.fields import Field
from desdaemon.protocol.wire.messages import (
    BASIC_OPERATIONS,
    BOOK_OPERATIONS,
    ERROR_CODES,
    FEATURES,
    Argument,
    Operation,
)
from desdaemon.protocol.wire.replies import ENVELOPE, EVENTS, PARTIALS, REPLIES, SHAPES


def revisions() -> str:
    """The revisions with the features of each."""
    return rows("revision|features", [(name, _listed(features)) for name, features in REVISIONS.items()])


def features() -> str:
    """The features."""
    return rows("feature|what it adds", [(f"`{name}`", cell(help)) for name, help in FEATURES.items()])


def envelope() -> str:
    """The keys of a reply."""
    return f"{_field_rows(ENVELOPE)}\n| `data` | map |  |  |  | The result, see below. |"


def repeatable() -> str:
    """The operations that may be repeated."""
    return _listed(sorted(REPEATABLE))


def errors() -> str:
    """The error codes."""
    return rows("code|when", [(f"`{code}`", cell(help)) for code, help in ERROR_CODES.items()])


def operations() -> str:
    """The operations that are no commands of the book, each with its arguments and its replies."""
    return "\n\n".join(map(_operation, BASIC_OPERATIONS))


def book_operations() -> str:
    """The operations for the commands of the book."""
    return "\n\n".join(map(_book_operation, BOOK_OPERATIONS))


def shapes() -> str:
    """The fields of each shape."""
    return "\n\n".join(f"### Shape {name}\n\n{_field_rows(fields)}" for name, fields in SHAPES.items() if fields)


def events() -> str:
    """The topics with their shapes."""
    return rows("topic|map", [(f"`{topic}`", _linked(shape)) for topic, shape in EVENTS.items()])


def _operation(operation: Operation) -> str:
    replied = " or ".join(map(_linked, REPLIES[operation.name]))
    partial = f"; partials: {_linked(PARTIALS[operation.name])}" if operation.name in PARTIALS else ""
    cost = f" Cost: {operation.cost}." if operation.cost else ""
    since = f" Since {_since(operation.since)}." if operation.since != "1.0" else ""
    told = f"{_wrapped(f'{operation.help} Role: {operation.role}.{cost}{since}')}\n\nFinal: {replied}{partial}."
    arguments = f"\n\n{_argument_rows(operation.arguments)}" if operation.arguments else ""
    return f"### {operation.name}\n\n{told}{arguments}"


def _wrapped(paragraph: str) -> str:
    return textwrap.fill(paragraph, 120, break_long_words=False, break_on_hyphens=False)


def _argument_rows(arguments: Iterable[Argument]) -> str:
    body = []
    for argument in arguments:
        default = "required" if argument.required else cell(argument.default)
        body.append(
            (
                f"`{argument.name}`",
                cell(_argument_type(argument)),
                argument.unit,
                default,
                argument.cost,
                _since(argument.since),
                cell(argument.help),
            )
        )
    return rows("argument|type|unit|default|cost|since|meaning", body)


def _argument_type(argument: Argument) -> str:
    if argument.kind == "int":
        return f"int, {argument.low} to {_number(argument.high)}"
    if argument.kind == "text":
        return f"str of at most {argument.high} characters"
    if argument.kind == "choice":
        return " or ".join(f"`{choice}`" for choice in argument.choices)
    lists = {"moves": "str", "ints": "int", "maps": "map"}
    if argument.kind in lists:
        return f"list of at most {argument.high} {lists[argument.kind]}"
    return {"id": f"int, or str of at most {LONGEST_ID} bytes", "flag": "bool", "path": "str, a file"}[argument.kind]


def _number(number: int) -> str:
    for base, exponent in ((10, 15), (10, 9), (2, 53)):
        if number == base**exponent:
            return f"{base}^{exponent}"
    return str(number)


def _book_operation(operation: Operation) -> str:
    command = next(command for command in BOOK_COMMANDS if command.op == operation.name)
    kind = "A job." if command.long or command.writes else "Done at once."
    told = _wrapped(f"{operation.help} Role: {operation.role}. {kind}")
    parts = [f"### {operation.name}", told]
    if command.parameters:
        body = []
        for parameter, argument in zip(
            command.parameters, operation.arguments[-len(command.parameters) :], strict=True
        ):
            default = "required" if parameter.required else cell(argument.default)
            body.append(
                (f"`{parameter.name}`", cell(_parameter_type(parameter.kind, argument)), default, cell(argument.help))
            )
        parts.append(rows("argument|type|default|meaning", body))
    if operation.name in BOOK_RESULTS:
        parts.append(_field_rows(BOOK_RESULTS[operation.name]))
    return "\n\n".join(parts)


def _parameter_type(kind: str, argument: Argument) -> str:
    if kind == "int":
        return f"int, {argument.low} to {argument.high}"
    if kind == "choice":
        return " or ".join(f"`{choice}`" for choice in argument.choices)
    return {"flag": "bool", "move": "str, a move", "path": "str, a file", "text": "str", "paths": "list of str, files"}[
        kind
    ]


def _field_rows(fields: Iterable[Field]) -> str:
    body = []
    for field in fields:
        missing = [f"absent: {field.absent}"] if field.absent else []
        missing += [f"nil: {field.nil}"] if field.nil else []
        shown = (f"`{field.name}`", _typed(field.type), field.unit, field.view, _since(field.since))
        body.append((*shown, cell(" ".join([field.help, *(f"({text})" for text in missing)]))))
    return rows("field|type|unit|seen by|since|meaning", body)


def _since(since: str) -> str:
    return "" if since == "1.0" else since if since in REVISIONS else f"`{since}`"


def _listed(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def _linked(shape: str) -> str:
    return f"[{shape}](#shape-{shape})" if SHAPES[shape] else "an empty map"


def _typed(type: str) -> str:
    return re.sub(r"\w+", lambda word: _linked(word[0]) if word[0] in SHAPES else word[0], type)


TABLES: dict[str, Callable[[], str]] = {
    "revisions": revisions,
    "features": features,
    "envelope": envelope,
    "repeatable": repeatable,
    "errors": errors,
    "operations": operations,
    "book-operations": book_operations,
    "shapes": shapes,
    "events": events,
}
"""By the names of their places in the document."""
