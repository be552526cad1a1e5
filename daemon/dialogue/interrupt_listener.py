"""The listener of a protocol: examines each line on the reader thread, before the dialogue's thread takes it.

A listener passes the lines that end a search to the `Interrupt` at once; all lines are queued for the dialogue.
"""

from __future__ import annotations

from desdaemon.protocol.commands.text import TextLine, read_line

from .interrupt import Interrupt


class InputListener:
    """Reader's part of one protocol; every method is called by the reader thread.

    ``strict``: a line that is not UTF-8 or has control characters is refused, instead of being cleaned. A line longer
    than ``longest`` bytes is refused. ``scripted``: the end of the input is that of a script, whose commands are all
    still answered; otherwise it means that the GUI has gone.
    """

    strict = True
    scripted = True
    longest = 65_536

    def __init__(self, interrupt: Interrupt) -> None:
        self.interrupt = interrupt

    def read(self, text: str) -> TextLine | None:
        """Read a line of the text protocol; it is examined next. Returns None in other protocols."""
        return None

    def hear(self, number: int, line: str) -> bool:
        """Examine an arrived line. Returns True when no more is to be read after it."""
        raise NotImplementedError

    def following(self, line: str) -> str:
        """The protocol of the lines after this one, "" when it does not change."""
        return ""

    def leave(self) -> bool:
        """Called when no more lines will be read."""
        self.interrupt.close(leaving=True)
        return True


class TextListener(InputListener):
    """Reader's part of Edax's text protocol: ``stop``, ``quit``, and the lines with which another protocol begins."""

    _line = read_line("")

    def read(self, text: str) -> TextLine:
        """See `InputListener`."""
        self._line = read_line(text)
        return self._line

    def hear(self, number: int, line: str) -> bool:
        """See `InputListener`."""
        name = self._line.name
        if name == "stop":
            self.interrupt.stop(number)
        return self.leave() if name == "quit" else False

    def following(self, line: str) -> str:
        """See `InputListener`."""
        return self._line.successor
