"""The protocols of a dialogue: Edax's text and those of `PROTOCOLS`, each a thin layer over a `Session`.

Each has a constant of its module, ``SPOKEN``, with the protocol's listener and dialect. The module is imported when the
protocol is chosen, so that the others cost no time at the start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.protocol.commands.text import PROTOCOLS
from desdaemon.protocol.rows import DialogueProtocol, load

if TYPE_CHECKING:
    from desdaemon.dialogue.dialects.dialect import Dialect
    from desdaemon.dialogue.session import Session
    from desdaemon.dialogue.streams import DialogueOutput, InputListener

TEXT = DialogueProtocol("text", "")
BY_NAME = {protocol.name: protocol for protocol in (TEXT, *PROTOCOLS)}
NAMES = tuple(BY_NAME)


class Spoken(NamedTuple):
    """A protocol's listener class, for the reader thread; and what makes its dialect, for the dialogue's thread."""

    listener: type[InputListener]
    dialect: Callable[[Session, DialogueOutput], Dialect]


def spoken(protocol: str) -> Spoken:
    """Return the ``SPOKEN`` of a protocol of `PROTOCOLS`; imports its module."""
    chosen: Spoken = load(BY_NAME[protocol].spoken)
    return chosen
