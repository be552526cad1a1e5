"""The kind of row that describes a field of a reply."""

from __future__ import annotations

from typing import NamedTuple

MOVER = "mover"
"""Point of view: the side to move in the position asked about."""

PLAYER = "player"
"""Point of view: the side that plays the move that the map is about."""


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
"""The fields of a map, in the order in which they are documented."""


def added(since: str, *fields: Field) -> Shape:
    """Return the fields of a shape that the feature or revision ``since`` added as a whole."""
    return tuple(field._replace(since=since) for field in fields)
