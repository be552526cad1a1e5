"""What the reader thread does with a line, before the dialogue gets to it.

A listener tells the `Interrupt` at once what ends a search; everything else waits for its turn.
"""

from __future__ import annotations

from desdaemon.protocol.commands.text import find_command, split_line, successor
from desdaemon.session.interrupt import Interrupt


class InputListener:
    """How the lines of one protocol are heard.

    ``strict`` ones want every line to be clean text; a line of more than ``longest`` bytes is refused. ``scripted``
    says what the end of the input means: the end of a script that waits for all answers, or else that the program at
    the other end has gone.
    """

    strict = True
    scripted = True
    longest = 65_536

    def __init__(self, interrupt: Interrupt) -> None:
        self.interrupt = interrupt

    def hear(self, number: int, line: str) -> bool:
        """The line of that number has come; True when no more is to be read after it."""
        raise NotImplementedError

    def following(self, line: str) -> str:
        """The protocol that the next line is in, "" when it stays this one."""
        return ""

    def leave(self) -> bool:
        """No line is to be read any more."""
        self.interrupt.close(leaving=True)
        return True


class TextListener(InputListener):
    """Edax's text protocol: ``stop``, ``quit``, and the lines that another protocol begins with."""

    def hear(self, number: int, line: str) -> bool:
        """See `InputListener`."""
        command = find_command(split_line(line)[0])
        if command and command.name == "stop":
            self.interrupt.stop(number)
        return self.leave() if command and command.name == "quit" else False

    def following(self, line: str) -> str:
        """See `InputListener`."""
        return successor(line)
