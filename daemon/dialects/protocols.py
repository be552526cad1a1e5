"""The protocols that a dialogue can be held in.

Each has a module of its own whose ``SPOKEN`` says who hears its lines and who answers them; it is loaded when the
protocol is wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from .interrupt_listener import InputListener

if TYPE_CHECKING:
    from desdaemon.session.session import Session

    from .dialogue import Dialect
    from .output import DialogueOutput

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
    """The listener of a protocol and its dialect."""

    listener: type[InputListener]
    dialect: Callable[[Session, DialogueOutput], Dialect]


def spoken(protocol: str) -> Spoken:
    """The listener and the dialect of a protocol of `MODULES`."""
    from importlib import import_module

    found: Spoken = import_module(f"desdaemon.dialects.{MODULES[protocol]}").SPOKEN
    return found
