"""A dialogue held in the process of the test, with a pretended engine."""

from __future__ import annotations

from collected import Collected
from fake_engine import FakeControl, FakeSearcher

from desdaemon.core.search.loader import EngineSource, LoadedEngine
from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.session import Session
from desdaemon.protocol.commands.options import OPTIONS
from desdaemon.protocol.othello.notation import board_text


def session_of(searcher: FakeSearcher, settings: SessionSettings | None = None) -> Session:
    """A session whose engine is this one."""
    return Session(settings or SessionSettings(), EngineSource(lambda config: LoadedEngine(searcher, FakeControl)))


def give(settings: SessionSettings, values: dict[str, object]) -> None:
    """Give options of the core, named as attributes of the settings, and of satellites their values."""
    for name, value in values.items():
        if hasattr(settings, name):
            setattr(settings, name, value)
        else:
            option = OPTIONS.find(name.replace("_", "-"))
            assert option
            settings.set(option, str(value))


class InProcess:
    """The session of a dialogue, and what the dialogue has written."""

    def __init__(self, searcher: FakeSearcher | None = None, **values: object) -> None:
        settings = SessionSettings()
        give(settings, values)
        self.searcher = searcher or FakeSearcher()
        self.session = Session(settings, EngineSource(lambda config: LoadedEngine(self.searcher, FakeControl)))
        self.output = Collected()

    def written(self) -> str:
        """What came since the last time, without a word on standard error."""
        out, err = self.output.take()
        assert err == ""
        return out

    @property
    def board(self) -> str:
        return board_text(self.session.game.position)
