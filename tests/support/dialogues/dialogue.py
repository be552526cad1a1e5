"""Drives a text dialogue in the test's own process, with the engine that pretends."""

from __future__ import annotations

from collected import Collected
from fake_engine import FakeSearcher, build_fake
from in_process import give

from desdaemon.core.search.loader import EngineSource
from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.dialects.text import TextDialect
from desdaemon.dialogue.session import Session
from desdaemon.dialogue.streams import InputLine
from desdaemon.protocol.othello.notation import board_text


class Script:
    """A source whose lines are all there from the beginning."""

    def __init__(self, *lines: str) -> None:
        self.items = [InputLine(number, line) for number, line in enumerate(lines, 1)]

    def get(self) -> InputLine:
        return self.items.pop(0) if self.items else InputLine(0, None)

    def peek(self) -> InputLine | None:
        return self.items[0] if self.items else InputLine(0, None)


class Dialogue:
    """A session without prompts: `say` a line, get what it answered."""

    def __init__(self, **settings: object) -> None:
        values = SessionSettings()
        values.verbose = 0
        give(values, settings)
        self.session = Session(values, EngineSource(build_fake))
        self.output = Collected()
        self.text = TextDialect(self.session, self.output)

    def say(self, line: str) -> str:
        """The answer to a line that is understood."""
        out, err = self.both(line)
        assert err == ""
        return out

    def refused(self, line: str) -> str:
        """The one line of complaint about a line; the state has to stay what it was."""
        before = self.state
        out, err = self.both(line)
        assert out == ""
        assert err.count("\n") == 1
        assert err.endswith("\n")
        assert len(err) < 400
        assert self.state == before
        return err

    def both(self, line: str) -> tuple[str, str]:
        """Answers and complaints."""
        self.text.execute(line)
        self.text.settle()
        return self.output.take()

    def run(self, *lines: str) -> str:
        """The whole dialogue with boards and prompts, up to the end of the input."""
        assert self.text.run(Script(*lines), lambda: None) == 0
        return self.output.take()[0]

    @property
    def board(self) -> str:
        """The board on display."""
        return board_text(self.session.game.position)

    @property
    def state(self) -> object:
        """All that a refused line must not change."""
        game, settings = self.session.game, self.session.settings
        return game.initial, game.position, list(game.moves), settings.listed(), self.text.leaving

    @property
    def searcher(self) -> FakeSearcher:
        """The engine behind it."""
        searcher = self.session.engine().searcher
        assert isinstance(searcher, FakeSearcher)
        return searcher
