"""The protocols of a dialogue (Edax's text, GTP, NBoard, XBoard, Cassio), each a thin layer over a `Session`.

Each has a module whose ``SPOKEN`` names its listener and its dialect. It is imported when the protocol is chosen, so
that other protocols cost no time at the start.
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
"""Every protocol but the text protocol, and the module of `desdaemon.dialogue` that speaks it."""

NAMES = ("text", *MODULES)


class Spoken(NamedTuple):
    """A protocol's listener, for the reader thread, and its dialect, for the dialogue's thread."""

    listener: type[InputListener]
    dialect: Callable[[Session, DialogueOutput], Dialect]


def spoken(protocol: str) -> Spoken:
    """Import a protocol of `MODULES` and return its listener and its dialect."""
    from importlib import import_module

    chosen: Spoken = import_module(f"desdaemon.dialogue.{MODULES[protocol]}").SPOKEN
    return chosen
