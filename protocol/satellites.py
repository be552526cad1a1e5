"""The table of satellites: folders that bring features to the core by rows, and that can be deleted.

The core names a satellite here and nowhere else. It asks for their rows with `present`; whoever removes a folder
removes its features, and the core goes on.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from desdaemon.protocol.rows import Satellite, load

SATELLITES = (
    "clients.web",
    "clients.analysis",
    "clients.match",
    "book.bench",
    "book.edax",
    "book.egaroucid",
    "book.explorer",
    "book.growth",
    "book.judge",
    "book.packed",
    "book.reports",
    "book.site",
    "book.umigame",
    "engine.people",
    "engine.reasons",
    "guis",
    "clients.bot",
    "clients.ggs",
    "cluster",
    "batches",
    "engine.training",
    "engine.counting",
    "engine.bench",
    "clients.bench",
    "clients.mcp",
    "clients.http_api",
    "clients.gamefiles",
    "extras",
)
"""The packages of satellites, below `desdaemon`. Each has a module ``rows``, whose ``SATELLITE`` is a `Satellite`."""

LIBRARIES = ("clients.pages", "clients.programs")
"""Packages that satellites share and the core does not know. They bring no rows."""


@cache
def present() -> tuple[Satellite, ...]:
    """Return the rows of the satellites that are installed."""
    found = []
    for name in SATELLITES:
        module = f"desdaemon.{name}.rows"
        try:
            # Unlike importlib's function, this one is seen by `python -X importtime`.
            found.append(__import__(module, fromlist=["SATELLITE"]).SATELLITE)
        except ModuleNotFoundError as error:
            # A satellite that is there and lacks a library of its own is a fault, and not for silence.
            if not error.name or not module.startswith(error.name):
                raise
    return tuple(found)


def loaded(place: str) -> Any:
    """Return what a satellite has at a place, ``module:name`` below `desdaemon`. Raises `BadInput` if the satellite is
    not installed.
    """
    return load(f"desdaemon.{place}")
