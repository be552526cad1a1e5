"""A GTP dialogue held in the process of the test."""

from __future__ import annotations

import re

from fake_engine import FakeSearcher
from in_process import InProcess

from desdaemon.guis.gtp import GtpDialect

ANSWER = re.compile(r"[=?][0-9]*(?: [^\n]+|)(?:\n[^\n]+)*\n\n")


class Talk(InProcess):
    """A GTP dialogue in this process."""

    def __init__(self, searcher: FakeSearcher | None = None, **values: object) -> None:
        super().__init__(searcher, **values)
        self.gtp = GtpDialect(self.session, self.output)

    def raw(self, line: str) -> str:
        self.gtp.execute(line)
        return self.written()

    def say(self, line: str) -> str:
        """The text of a successful answer."""
        out = self.raw(line)
        assert ANSWER.fullmatch(out), out
        assert out.startswith("="), out
        return out[1:].strip()

    def fails(self, line: str) -> str:
        """The text of a failure, which changed nothing."""
        before = self.state
        out = self.raw(line)
        assert ANSWER.fullmatch(out), out
        assert out.startswith("?"), out
        assert out.count("\n") == 2
        assert self.state == before
        return out[1:].strip()

    @property
    def state(self) -> object:
        game = self.session.game
        clocks = {black: (clock.left, clock.left_stones) for black, clock in self.session.clocks.items()}
        return game.position, list(game.moves), clocks, self.gtp.leaving

    def play(self, moves: str) -> None:
        """Play a line of moves, passes left out."""
        for move in re.findall("..", moves):
            position = self.session.game.position
            black = position.black_to_move != position.must_pass
            self.say(f"play {'black' if black else 'white'} {move}")
