"""The tables of docs/protocol.md, made from the tables that the daemon checks requests with."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping

from markdown_tables import rows
from reply_checks import PARTIALS, REPLIES

from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.rows import Argument, Operation
from desdaemon.protocol.wire.arguments import POSITION
from desdaemon.protocol.wire.constants import LONGEST_ID
from desdaemon.protocol.wire.fields import Field
from desdaemon.protocol.wire.messages import BASIC_OPERATIONS, BOOK_OPERATIONS, ERROR_CODES, FEATURES, REPEATABLE
from desdaemon.protocol.wire.replies import BOOK_RESULTS, ENVELOPE, EVENTS, SHAPES, STOPPED

_FEW_SHARED = 2
"""Up to this many fields in common with another shape are told again."""


def revisions() -> str:
    """The revisions with the features of each."""
    added: dict[str, list[str]] = {}
    for name, feature in sorted(FEATURES.items()):
        added.setdefault(feature.revision, []).append(name)
    return rows("revision|features", [(revision, _listed(added[revision])) for revision in sorted(added)])


def features() -> str:
    """The features."""
    return "\n".join(f"- `{name}`: {feature.help}" for name, feature in FEATURES.items())


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
    """The operations for the commands of the book, a line each, after that the results that they have."""
    forms: dict[str, set[str]] = {}
    for operation in BOOK_OPERATIONS:
        for argument in operation.arguments:
            forms.setdefault(argument.name, set()).add(_book_argument(argument))
    told: set[str] = set()
    lines = []
    for operation in BOOK_OPERATIONS:
        lines.append(_book_operation(operation, told))
        # A name that stands for arguments of several types has its type each time.
        told.update(argument.name for argument in operation.arguments if len(forms[argument.name]) == 1)
    return "\n".join([*lines, "", "### Results of operations on the book", "", *_book_results()])


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
    role = f" Role: {operation.role}." if operation.role != "reader" else ""
    told = f"{operation.help}{role}{cost}{since} Final: {replied}{partial}."
    parts = [f"### {operation.name}", _wrapped(told)]
    own = [argument for argument in operation.arguments if argument not in first]
    for other in dict.fromkeys(first[argument] for argument in operation.arguments if argument in first):
        names = [argument.name for argument in operation.arguments if first.get(argument) == other]
        parts.append(_wrapped(f"Arguments as with [{other}](#{other.replace('.', '')}): {_listed(names)}."))
    if own:
        # The age of an operation is that of its arguments, unless they say otherwise.
        parts.append("\n".join(_argument_line(one, operation.since) for one in own))
    return "\n\n".join(parts)


def _wrapped(paragraph: str) -> str:
    return textwrap.fill(paragraph, 120, break_long_words=False, break_on_hyphens=False)


def _argument_line(argument: Argument, of_operation: str) -> str:
    default = "required" if argument.required else f"default: {argument.default}"
    cost = f" Cost: {argument.cost}." if argument.cost else ""
    unit = f", {argument.unit}" if argument.unit not in ("", argument.name) else ""
    since = "1.0" if argument.since == of_operation else argument.since
    meaning = f"{argument.help}{cost}{_added(since)}"
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


def _book_operation(operation: Operation, told: set[str]) -> str:
    command = next(command for command in BOOK_COMMANDS if command.op == operation.name)
    kind = "a job" if command.long or command.writes else "done at once"
    line = f"- `{operation.name}` ({operation.role}, {kind})"
    if arguments := operation.arguments[len(POSITION) :]:
        line += f": {'; '.join(f'`{one.name}`' if one.name in told else _book_argument(one) for one in arguments)}"
    results = _listed(field.name for field in BOOK_RESULTS.get(operation.name, ()))
    return f"{line} → {results}" if results else line


def _book_argument(argument: Argument) -> str:
    kinds = {"flag": "bool", "move": "a move", "path": "a file", "text": "str", "paths": "list of files"}
    kind = kinds.get(argument.kind) or _argument_type(argument)
    since = f", since {_since(argument.since)}" if argument.since != "1.0" else ""
    default = argument.default if argument.default not in ("none", "false") else ""
    given = " (required)" if argument.required else f" ({default})" if default else ""
    return f"`{argument.name}` {kind}{given}{since}"


def _book_results() -> Iterator[str]:
    """The results, each once; of those with one name but another meaning the operation is named."""
    names: dict[Field, list[str]] = {}
    for operation, fields in BOOK_RESULTS.items():
        for field in fields:
            names.setdefault(field, []).append(operation)
    for field, operations in names.items():
        alone = sum(other.name == field.name for other in names) == 1
        line = _field_line(field._replace(absent="") if field.absent == STOPPED else field)
        yield line if alone else line.replace("`,", f"` of {_listed(operations)},", 1)


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
    return "" if since == "1.0" else f"`{since}`" if since in FEATURES else since


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
