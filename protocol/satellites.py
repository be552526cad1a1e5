"""The table of satellites: folders that bring features to the core by rows, and that can be deleted.

The core names a satellite here and nowhere else. It asks for their rows with `present`; whoever removes a folder
removes its features, and the core goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Any, Generic, TypeVar

from desdaemon.protocol.rows import Command, Option, Satellite, Switch, load

SATELLITES = {
    "clients.web": "sub_commands",
    "clients.analysis": "sub_commands",
    "clients.match": "sub_commands",
    "book.bench": "sub_commands",
    "book.edax": "book_formats libraries",
    "book.egaroucid": "book_formats libraries",
    "book.explorer": "sub_commands options commands operations features shapes exports",
    "book.growth": "book_commands libraries",
    "book.judge": "sub_commands",
    "book.packed": "book_formats libraries",
    "book.reports": "book_commands libraries",
    "book.site": "sub_commands",
    "book.umigame": "features book_commands",
    "engine.people": "options operations features shapes choosers",
    "engine.reasons": "commands operations features shapes exports",
    "guis": "options protocols",
    "clients.bot": "sub_commands",
    "clients.ggs": "sub_commands switches",
    "cluster": "sub_commands options features searchers",
    "batches": "operations features shapes daemon_parts",
    "engine.training": "sub_commands",
    "engine.counting": "sub_commands commands switches libraries",
    "engine.bench": "sub_commands",
    "clients.bench": "sub_commands",
    "clients.mcp": "sub_commands",
    "clients.http_api": "web_parts",
    "clients.gamefiles": "commands switches opening_lists game_formats",
    "extras": "sub_commands",
}
"""The packages of satellites, below `desdaemon`, each with the kinds of rows that it brings, which are fields of
`Satellite`: a start imports those alone whose kinds it asks for. Each has a module ``rows``, whose ``SATELLITE`` is a
`Satellite`.
"""

LIBRARIES = ("clients.pages", "clients.programs")
"""Packages that satellites share and the core does not know. They bring no rows."""


@cache
def present(kind: str) -> tuple[Satellite, ...]:
    """Return the rows of the satellites that are installed and bring some of a kind: of a field of `Satellite`."""
    assert kind in Satellite.fields_in_order
    found = []
    for name, kinds in SATELLITES.items():
        if kind not in kinds.split():
            continue
        module = f"desdaemon.{name}.rows"
        try:
            # Unlike importlib's function, this one is seen by `python -X importtime`.
            found.append(__import__(module, fromlist=["SATELLITE"]).SATELLITE)
        except ModuleNotFoundError as error:
            # A satellite that is there and lacks a library of its own is a fault, and not for silence.
            if not error.name or not module.startswith(error.name):
                raise
    return tuple(found)


R = TypeVar("R", bound=Command | Option | Switch)


class _Names(dict[str, R | None]):
    """The core's rows by name. A name that is not there is looked for among the satellites' rows."""

    def __init__(self, table: Table[R], own: tuple[R, ...]) -> None:
        super().__init__((name, row) for row in own for name in (row.name, *row.aliases))
        self._table = table

    def __missing__(self, name: str) -> R | None:
        return next((row for row in self._table.theirs if name in (row.name, *row.aliases)), None)


class Table(Generic[R]):
    """The core's rows of a kind, and behind them those of the satellites.

    A satellite's rows are imported when all rows are asked for, or a name that the core does not have: the first prompt
    needs none of them.
    """

    find: Callable[[str], R | None]
    """Return the row with a name or alias; None if there is no such row."""

    def __init__(self, kind: str, own: tuple[R, ...] = ()) -> None:
        self._kind, self._own = kind, own
        # Without a call in Python for the core's names: each line of a dialogue asks for one.
        self.find = _Names(self, own).__getitem__

    @cached_property
    def theirs(self) -> tuple[R, ...]:
        """The satellites' rows."""
        return tuple(row for satellite in present(self._kind) for row in getattr(satellite, self._kind))

    def __iter__(self) -> Iterator[R]:
        yield from self._own
        yield from self.theirs


def loaded(place: str) -> Any:
    """Return what a satellite has at a place, ``module:name`` below `desdaemon`. Raises `BadInput` if the satellite is
    not installed.
    """
    return load(f"desdaemon.{place}")
