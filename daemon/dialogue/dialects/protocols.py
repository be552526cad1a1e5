"""The table of dialects: the protocols in which a dialogue can be held.

Each has a module whose ``SPOKEN`` names its listener and its dialect. The module is imported when the protocol is
chosen, so that other protocols cost no time at the start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.dialogue.interrupt_listener import InputListener

if TYPE_CHECKING:
    from desdaemon.dialogue.output import DialogueOutput
    from desdaemon.dialogue.session import Session

    from .dialect import Dialect

MODULES = {
    "gtp": "gtp",
    "nboard": "nboard",
    "xboard": "xboard",
    "cassio": "cassio",
    "json": "json_lines",
}
"""Every protocol but the text protocol, and the module that speaks it."""

NAMES = ("text", *MODULES)


class Spoken(NamedTuple):
    """A protocol's listener, for the reader thread, and its dialect, for the dialogue's thread."""

    listener: type[InputListener]
    dialect: Callable[[Session, DialogueOutput], Dialect]


def spoken(protocol: str) -> Spoken:
    """The listener and the dialect of a protocol of `MODULES`."""
    from importlib import import_module

    found: Spoken = import_module(f"desdaemon.dialogue.dialects.{MODULES[protocol]}").SPOKEN
    return found
