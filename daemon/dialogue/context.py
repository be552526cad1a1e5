"""The little that a command of the text protocol gets: session, settings, output, and what it can tell the dialogue."""

from __future__ import annotations

from collections.abc import Callable

from .session import Session
from .streams import DialogueOutput


class CommandContext:
    """A dialogue as its commands see it. Used by one thread."""

    def __init__(self, session: Session, output: DialogueOutput) -> None:
        self.session = session
        self.settings = session.settings
        self.output = output
        self.leaving: int | None = None
        """The exit status once the dialogue is to end, None before."""
        self.moved = False
        """Moves were played since the dialogue last looked for the end of the game."""
        self.warned = False
        """At least one warning was printed."""

    def say(self, text: str) -> None:
        """Print one line or several, and flush."""
        self.output.write(text + "\n")
        self.output.flush()

    def warn(self, message: str) -> None:
        """Print a warning of one line."""
        self.warned = True
        self.output.error(f"WARNING: {message}")


Handler = Callable[[CommandContext, str], None]
"""Carries out a command with the text after its name. Raises `BadInput`, changing nothing, and what searches raise."""
