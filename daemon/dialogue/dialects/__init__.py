"""The protocols of a dialogue: Edax's text, GTP, NBoard, XBoard, Cassio and JSON, each a thin layer over a `Session`.

Each module in `MODULES` has a constant ``SPOKEN``, with the protocol's listener and dialect. It is imported when the
protocol is chosen, so that the others cost no time at the start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from desdaemon.dialogue.dialects.dialect import Dialect
    from desdaemon.dialogue.session import Session
    from desdaemon.dialogue.streams import DialogueOutput, InputListener

MODULES = {
    "gtp": "dialects.gtp",
    "nboard": "dialects.nboard",
    "xboard": "dialects.xboard",
    "cassio": "dialects.cassio",
    "json": "json_lines",
}
"""The module that speaks each protocol other than the text protocol, relative to `desdaemon.dialogue`."""

NAMES = ("text", *MODULES)


class Spoken(NamedTuple):
    """A protocol's listener class, for the reader thread; and what makes its dialect, for the dialogue's thread."""

    listener: type[InputListener]
    dialect: Callable[[Session, DialogueOutput], Dialect]


def spoken(protocol: str) -> Spoken:
    """Return the ``SPOKEN`` of a protocol of `MODULES`; imports its module."""
    from importlib import import_module

    chosen: Spoken = import_module(f"desdaemon.dialogue.{MODULES[protocol]}").SPOKEN
    return chosen
