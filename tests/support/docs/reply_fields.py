"""Fields of replies as data, and the check of a map against them. Used by the documents and the tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

MOVER = "mover"
"""Point of view: the side to move in the position asked about."""

PLAYER = "player"
"""Point of view: the side that plays the move that the map is about."""


REVISIONS = {
    "1.0": ("analyze.plies", "book", "events", "jobs", "metrics", "text"),
    "1.1": (
        "accounts",
        "analyze.batch",
        "analyze.book.level",
        "analyze.cache",
        "analyze.game_nodes",
        "analyze.many",
        "analyze.threads",
        "analyze.until",
        "book.budget",
        "book.get.children",
        "book.get.many",
        "book.reopen",
        "cache.clear",
        "cancel.all",
        "cancel.data",
        "cluster",
        "status.problems",
    ),
    "1.2": ("text.partials",),
    "1.3": ("games",),
    "1.4": ("people",),
    "1.5": ("book.umigame",),
}
"""Revisions of docs/protocol.md, oldest first, with the features that each of them added."""


class Field(NamedTuple):
    """A field of a map.

    ``type`` is ``int``, ``float``, ``str``, ``bool``, ``id`` (a request's id: int or str) or the name of a shape;
    ``[x]`` is a list of x, ``{x}`` a map from strings to x, ``x or y`` either. ``unit`` is that of a number, and
    ``view`` the side that a score or a result is seen from (`MOVER`, `PLAYER`, "" where it has no side). ``absent`` and
    ``nil`` explain when the field is missing or nil, "" where it never is. ``since`` is the feature or the revision
    that added it.
    """

    name: str
    type: str
    help: str
    unit: str = ""
    view: str = ""
    absent: str = ""
    nil: str = ""
    since: str = "1.0"


Shape = tuple[Field, ...]
Shapes = Mapping[str, Shape]

_PLAIN: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "str": (str,),
    "bool": (bool,),
    "id": (str, int),
}


def faults(shapes: Shapes, fields: Iterable[Field], data: object, path: str) -> list[str]:
    """The differences of ``data`` from a map of these fields: ``path.field: what`` for each missing, unknown or wrong
    one.
    """
    if not isinstance(data, dict):
        return [f"{path}: expected a map"]
    known = {field.name: field for field in fields}
    found = [f"{path}.{name}: unknown" for name in data if name not in known]
    for field in known.values():
        place = f"{path}.{field.name}"
        if field.name not in data:
            found += [] if field.absent else [f"{place}: missing"]
        elif data[field.name] is None:
            found += [] if field.nil else [f"{place}: nil"]
        else:
            attempts = [_value_faults(shapes, kind, data[field.name], place) for kind in field.type.split(" or ")]
            found += [] if [] in attempts else attempts[0]
    return found


def _value_faults(shapes: Shapes, kind: str, value: object, path: str) -> list[str]:
    if kind[0] == "[":
        if not isinstance(value, list):
            return [f"{path}: expected a list"]
        return [fault for item in value for fault in _value_faults(shapes, kind[1:-1], item, path)]
    if kind[0] == "{":
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            return [f"{path}: expected a map from strings"]
        return [fault for item in value.values() for fault in _value_faults(shapes, kind[1:-1], item, path)]
    if kind in shapes:
        return faults(shapes, shapes[kind], value, path)
    fits = isinstance(value, _PLAIN[kind]) and (kind == "bool" or not isinstance(value, bool))
    return [] if fits else [f"{path}: expected {kind}, not {value!r}"]
