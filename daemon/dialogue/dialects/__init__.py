"""The protocols of a dialogue: Edax's text, GTP, NBoard, XBoard, Cassio and JSON, each a thin layer over a `Session`.

The ``SPOKEN`` of a protocol's module names its listener and its dialect. The module is imported when the protocol is
chosen, so that the others cost no time at the start.
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
    """How a protocol is spoken: the listener is for the reader thread, the dialect for the dialogue's thread."""

    listener: type[InputListener]
    dialect: Callable[[Session, DialogueOutput], Dialect]


def spoken(protocol: str) -> Spoken:
    """Return how a protocol of `MODULES` is spoken; imports its module."""
    from importlib import import_module

    chosen: Spoken = import_module(f"desdaemon.dialogue.{MODULES[protocol]}").SPOKEN
    return chosen
