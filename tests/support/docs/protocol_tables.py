"""The tables of docs/protocol.md, made from the tables that the daemon checks requests with."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from book_reply_tables import BOOK_RESULTS, STOPPED
from markdown_tables import rows
from reply_fields import REVISIONS, Field
from reply_tables import ENVELOPE, EVENTS, PARTIALS, REPLIES, SHAPES

from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.wire.constants import LONGEST_ID, REPEATABLE
from desdaemon.protocol.wire.messages import (
    BASIC_OPERATIONS,
    BOOK_OPERATIONS,
    ERROR_CODES,
    FEATURES,
    POSITION,
    Argument,
    Operation,
)

_Entry = TypeVar("_Entry", Argument, Field)

_FEW_SHARED = 2
"""Up to this many fields in common with another shape are told again."""


def revisions() -> str:
    """The revisions with the features of each."""
    return rows("revision|features", [(name, _listed(features)) for name, features in REVISIONS.items()])


def features() -> str:
    """The features."""
    return "\n".join(f"- `{name}`: {help}" for name, help in FEATURES.items())


def envelope() -> str:
    """The keys of a reply."""
    return f"{_field_lines(ENVELOPE)}\n- `data`, map: The result, see below."


def repeatable() -> str:
    """The operations that may be repeated."""
    return _listed(sorted(REPEATABLE))


def errors() -> str:
    """The error codes."""
    return "\n".join(f"- `{code}`: {help}" for code, help in ERROR_CODES.items())


def operations() -> str:
    """The operations that are no commands of the book, each with its arguments and its replies."""
    first: dict[Argument, str] = {}
    parts = []
    for operation in BASIC_OPERATIONS:
        parts.append(_operation(operation, first))
        first = dict.fromkeys(operation.arguments, operation.name) | first
    return "\n\n".join(parts)


def book_operations() -> str:
    """The operations for the commands of the book, after the arguments and results that several of them share."""
    arguments = _shared([_book_arguments(operation) for operation in BOOK_OPERATIONS])
    results = _shared([BOOK_RESULTS.get(operation.name, ()) for operation in BOOK_OPERATIONS])
    shared = [
        "### Arguments of several operations",
        "\n".join(map(_book_argument, arguments)),
        "### Results of several operations",
        "\n".join(map(_book_result, results)),
    ]
    return "\n\n".join([*shared, *(_book_operation(operation, arguments, results) for operation in BOOK_OPERATIONS)])


def shapes() -> str:
    """The fields of each shape."""
    return "\n\n".join(f"### Shape {name}\n\n{_shape(name, fields)}" for name, fields in SHAPES.items() if fields)


def events() -> str:
    """The topics with their shapes."""
    return rows("topic|map", [(f"`{topic}`", _linked(shape)) for topic, shape in EVENTS.items()])


def _operation(operation: Operation, first: Mapping[Argument, str]) -> str:
    replied = " or ".join(map(_linked, REPLIES[operation.name]))
    partial = f"; partials: {_linked(PARTIALS[operation.name])}" if operation.name in PARTIALS else ""
    cost = f" Cost: {operation.cost}." if operation.cost else ""
    since = f" Since {_since(operation.since)}." if operation.since != "1.0" else ""
    told = f"{operation.help} Role: {operation.role}.{cost}{since} Final: {replied}{partial}."
    parts = [f"### {operation.name}", _wrapped(told)]
    own = [argument for argument in operation.arguments if argument not in first]
    for other in dict.fromkeys(first[argument] for argument in operation.arguments if argument in first):
        names = [argument.name for argument in operation.arguments if first.get(argument) == other]
        parts.append(_wrapped(f"Arguments as with [{other}](#{other.replace('.', '')}): {_listed(names)}."))
    if own:
        parts.append("\n".join(map(_argument_line, own)))
    return "\n\n".join(parts)


def _wrapped(paragraph: str) -> str:
    return textwrap.fill(paragraph, 120, break_long_words=False, break_on_hyphens=False)


def _argument_line(argument: Argument) -> str:
    default = "required" if argument.required else f"default: {argument.default}"
    cost = f" Cost: {argument.cost}." if argument.cost else ""
    unit = f", {argument.unit}" if argument.unit not in ("", argument.name) else ""
    meaning = f"{argument.help}{cost}{_added(argument.since)}"
    return f"- `{argument.name}`, {_argument_type(argument)}{unit} ({default}): {meaning}"


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
    for base, exponent in ((10, 15), (10, 10), (10, 9), (2, 53)):
        if number == base**exponent:
            return f"{base}^{exponent}"
    return str(number)


def _book_arguments(operation: Operation) -> tuple[Argument, ...]:
    """The arguments beside the position."""
    return operation.arguments[len(POSITION) :]


def _shared(groups: Iterable[tuple[_Entry, ...]]) -> list[_Entry]:
    """The entries that several groups have; of two with one name the more frequent."""
    counts = Counter(entry for group in groups for entry in group)
    names: dict[str, _Entry] = {}
    for entry, count in counts.most_common():
        if count > 1:
            names.setdefault(entry.name, entry)
    return list(names.values())


def _book_operation(operation: Operation, arguments: list[Argument], results: list[Field]) -> str:
    command = next(command for command in BOOK_COMMANDS if command.op == operation.name)
    kind = "a job" if command.long or command.writes else "done at once"
    own, fields = _book_arguments(operation), BOOK_RESULTS.get(operation.name, ())
    told = f"{operation.help} ({operation.role}, {kind})"
    if names := [argument.name for argument in own if argument in arguments]:
        told += f" Arguments: {_listed(names)}."
    if names := [field.name for field in fields if field in results]:
        told += f" Results: {_listed(names)}."
    parts = [f"### {operation.name}", _wrapped(told)]
    if lines := [_book_argument(argument) for argument in own if argument not in arguments]:
        parts.append("\n".join(lines))
    if lines := [_book_result(field) for field in fields if field not in results]:
        parts += ["Results:", "\n".join(lines)]
    return "\n\n".join(parts)


def _book_argument(argument: Argument) -> str:
    default = "required" if argument.required else f"default: {argument.default}"
    kind = _parameter_type(argument.kind, argument)
    return f"- `{argument.name}`, {kind} ({default}): {argument.help}{_added(argument.since)}"


def _book_result(field: Field) -> str:
    return _field_line(field._replace(absent="") if field.absent == STOPPED else field)


def _parameter_type(kind: str, argument: Argument) -> str:
    if kind == "int":
        return f"int, {argument.low} to {_number(argument.high)}"
    if kind == "choice":
        return " or ".join(f"`{choice}`" for choice in argument.choices)
    return {"flag": "bool", "move": "str, a move", "path": "str, a file", "text": "str", "paths": "list of str, files"}[
        kind
    ]


def _shape(name: str, fields: tuple[Field, ...]) -> str:
    """The fields of a shape, after those that it has in common with an earlier one, and the age of the rest."""
    told = []
    earlier = list(SHAPES)[: list(SHAPES).index(name)]
    other = max(earlier, key=lambda other: len(set(fields) & set(SHAPES[other])), default="")
    if other and len(shared := [field for field in fields if field in SHAPES[other]]) > _FEW_SHARED:
        told.append(_wrapped(f"As in [{other}](#shape-{other}): {_listed(field.name for field in shared)}."))
        fields = tuple(field for field in fields if field not in shared)
    ages = {field.since for field in fields}
    if len(ages) == 1 and ages != {"1.0"}:
        told.append(f"Since {_since(ages.pop())}.")
        fields = tuple(field._replace(since="1.0") for field in fields)
    return "\n\n".join([*told, _field_lines(fields)])


def _field_lines(fields: Iterable[Field]) -> str:
    return "\n".join(map(_field_line, fields))


def _field_line(field: Field) -> str:
    return f"- `{field.name}`, {_field_type(field)}: {_meaning(field)}"


def _field_type(field: Field) -> str:
    """The type with the unit and the side that the value is seen by."""
    unit = "" if field.unit == field.name else field.unit
    return ", ".join(filter(None, (_typed(field.type), unit, field.view)))


def _meaning(field: Field) -> str:
    absent = f" (absent: {field.absent})" if field.absent else ""
    nil = f" (nil: {field.nil})" if field.nil else ""
    return f"{field.help}{absent}{nil}{_added(field.since)}"


def _added(since: str) -> str:
    return "" if since == "1.0" else f" Since {_since(since)}."


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
