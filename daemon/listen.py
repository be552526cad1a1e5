"""What the reader thread does with a line of each protocol, before the dialogue gets to it.

A listener tells the `Interrupt` at once what ends a search; everything else waits for its turn.
"""

from __future__ import annotations

from desdaemon.protocol.commands import find_command, split_line, successor

from .interrupt import Interrupt


class Listener:
    """How the lines of one protocol are heard. ``strict`` ones want every line to be clean text."""

    strict = True

    def __init__(self, interrupt: Interrupt) -> None:
        self.interrupt = interrupt

    def hear(self, number: int, line: str) -> bool:
        """The line of that number has come; True when no more is to be read after it."""
        raise NotImplementedError

    def following(self, line: str) -> Listener:
        """Who listens from the next line on."""
        return self

    def _leave(self) -> bool:
        self.interrupt.close(leaving=True)
        return True


class TextListener(Listener):
    """Edax's text protocol: ``stop``, ``quit``, and the lines that another protocol begins with."""

    def hear(self, number: int, line: str) -> bool:
        """See `Listener`."""
        command = find_command(split_line(line)[0])
        if command and command.name == "stop":
            self.interrupt.stop(number)
        return self._leave() if command and command.name == "quit" else False

    def following(self, line: str) -> Listener:
        """See `Listener`."""
        protocol = successor(line)
        return LISTENERS[protocol](self.interrupt) if protocol else self


class GtpListener(Listener):
    """GTP: ``quit``, and GoGui's comment ``# interrupt``."""

    strict = False

    def hear(self, number: int, line: str) -> bool:
        """See `Listener`."""
        if line.split() == ["#", "interrupt"]:
            self.interrupt.stop(number)
        words = line.split("#", 1)[0].split()
        if words and words[0].isdecimal():
            del words[0]
        return self._leave() if words[:1] == ["quit"] else False


class NBoardListener(Listener):
    """NBoard: ``ping`` and ``stop`` end any search, a hint and an analysis end when any other line comes."""

    strict = False

    def __init__(self, interrupt: Interrupt) -> None:
        super().__init__(interrupt)
        self._open_ended = 0

    def hear(self, number: int, line: str) -> bool:
        """See `Listener`."""
        word = (line.lower().split(None, 1) or [""])[0]
        if not word:
            return False
        if word in ("quit", "exit"):
            return self._leave()
        if word in ("ping", "stop"):
            self.interrupt.stop(number, abandon=True)
        elif self._open_ended:
            self.interrupt.stop(number, only=self._open_ended)
        self._open_ended = number if word in ("hint", "analyze", "analyse") else 0
        return False


LISTENERS: dict[str, type[Listener]] = {"text": TextListener, "gtp": GtpListener, "nboard": NBoardListener}
