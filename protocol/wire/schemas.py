"""JSON schemas of arguments and replies, for interfaces that describe themselves in that form."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from desdaemon.protocol.rows import LISTS, Argument

from .fields import Shape
from .replies import SHAPES

Schema = dict[str, Any]

_PLAIN = {"int": "integer", "float": "number", "str": "string", "bool": "boolean", "flag": "boolean"}
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")


def arguments_schema(arguments: Iterable[Argument]) -> Schema:
    """Return the schema of a map of arguments, none of them a list of maps; a map with other keys does not match."""
    arguments = tuple(arguments)
    return {
        "type": "object",
        "properties": {argument.name: argument_schema(argument) for argument in arguments},
        "required": [argument.name for argument in arguments if argument.required],
        "additionalProperties": False,
    }


def argument_schema(argument: Argument) -> Schema:
    """Return the schema of the value of an argument, of any kind but ``maps`` and ``scores``."""
    help = _told(argument.help, f"Default: {argument.default}." if argument.default else "")
    if argument.kind in LISTS:
        item = "integer" if argument.kind == "ints" else "string"
        return {"type": "array", "items": {"type": item}, "maxItems": argument.high, "description": help}
    schema: Schema = {"type": _PLAIN.get(argument.kind, "string"), "description": help}
    if argument.kind == "int":
        schema |= {"minimum": argument.low, "maximum": argument.high}
    elif argument.kind == "text":
        schema |= {"maxLength": argument.high}
    elif argument.kind == "choice":
        schema |= {"enum": list(argument.choices)}
    return schema


def reply_schema(shape: str) -> Schema:
    """Return the schema of a reply's data, which has the shape of that name. Newer daemons may add keys."""
    return fields_schema(SHAPES[shape])


def fields_schema(fields: Shape) -> Schema:
    """Return the schema of a map with these fields."""
    return {
        "type": "object",
        "properties": {field.name: _field_schema(field.type, field.help, nil=bool(field.nil)) for field in fields},
        "required": [field.name for field in fields if not field.absent],
    }


def _field_schema(type: str, help: str, *, nil: bool) -> Schema:
    schema: Schema
    if type[0] in "[{":
        inner = _field_schema(type[1:-1], "", nil=False)
        schema = (
            {"type": "array", "items": inner} if type[0] == "[" else {"type": "object", "additionalProperties": inner}
        )
    elif type in SHAPES:
        schema = reply_schema(type)
    else:
        schema = {"type": _PLAIN[type]}
    if nil:
        schema["type"] = [schema["type"], "null"]
    return {**schema, "description": _told(help)} if help else schema


def _told(*sentences: str) -> str:
    return _LINK.sub(r"\1", " ".join(filter(None, sentences))).replace("`", "")
