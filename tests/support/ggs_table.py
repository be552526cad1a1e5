"""Players at the small game server: real sessions with players who do not search."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import referee
from ggs_server import PASSWORD, Server

from desdaemon.clients.arguments import print_text
from desdaemon.clients.ggs.player import AcceptRules, Answer, Player, StartSearch, Wishes
from desdaemon.clients.ggs.session import Outside, ServerSession
from desdaemon.protocol.othello.rules import squares

NEVER = 3600.0
KINDS = ("8", "8b", "8w", "8r18", "s8", "s8r14", "s8r40")
ANY, NOTHING = AcceptRules(("8*", "s8*"), least=0, most=1e9), AcceptRules()


class Dice:
    """Plays at random, each move after a pause."""

    def __init__(self, seed: int, pause_s: float = 0.0) -> None:
        self.choices = random.Random(seed)
        self.pause_s = pause_s
        self.searches: list[StartSearch] = []
        self.cancelled = 0

    async def think(self, search: StartSearch) -> Answer:
        self.searches.append(search)
        try:
            await asyncio.sleep(self.pause_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        move = self.choices.choice(squares(search.position.moves))
        return Answer(search.game, search.position, move, self.choices.uniform(-64, 64), 0.25, "guessed")


def run(work: Coroutine[Any, Any, object], patience_s: float = 300) -> None:
    asyncio.run(asyncio.wait_for(work, patience_s))


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


class Replayed(NamedTuple):
    """A game of a record, replayed by the referee: its players, start and moves, the discs that Black has more at the
    end, and the result that the record tells.
    """

    black: str
    white: str
    start: str
    moves: list[str]
    discs: int
    told: str


def replayed(file: Path) -> list[Replayed]:
    """The games of a file of records; fails where one has an illegal move or ends early."""
    games = []
    for line in file.read_text("utf-8").splitlines():
        fields = dict(re.findall(r"(P[BW]|RE|BO)\[([^\]]*)\]", line))
        _, *rows, mover = fields["BO"].split()
        cells = [[{"-": 0, mover: 1}.get(square, -1) for square in row] for row in rows]
        moves = re.findall(r"([BW])\[(..)/[-\d.]+/[\d.]+\]", line)
        for colour, move in moves:
            assert colour == {"*": "B", "O": "W"}[mover]
            if move.lower() == "pa":
                assert not referee.legal_moves(cells)
                cells = referee.passed(cells)
            else:
                cells = referee.play(cells, referee.square(move))
            mover = {"*": "O", "O": "*"}[mover]
        assert referee.game_over(cells)
        discs = referee.final_score(cells) * (1 if mover == "*" else -1)
        games.append(
            Replayed(fields["PB"], fields["PW"], fields["BO"], [move for _, move in moves], discs, fields["RE"])
        )
    return games


class Table:
    """A server, and players who are tasks of the same event loop; each has files for records and for the dialogue."""

    def __init__(self, folder: Path, **server: Any) -> None:
        self.server = Server(**server)
        self.folder = folder
        self.sessions: dict[str, ServerSession] = {}
        self._tasks: list[asyncio.Task[str]] = []

    async def __aenter__(self) -> Table:
        await self.server.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.server.__aexit__(*error)

    def sit(
        self, name: str, thinker: Any, rules: AcceptRules = NOTHING, password: str = PASSWORD, **wishes: Any
    ) -> asyncio.Task[str]:
        """Let a player log in; the task ends with its session and returns the error, or ""."""
        files = (str(self.folder / f"{name}.{kind}") for kind in ("ggf", "log"))
        player = Player(name, password, rules, Wishes(records=True, **wishes))
        place = Outside("127.0.0.1", self.server.port, False, *files)
        self.sessions[name] = ServerSession(place, player, thinker, print_text)
        task = asyncio.create_task(self.sessions[name].run())
        self._tasks.append(task)
        return task

    async def ready(self, name: str, times: int = 1) -> None:
        """Wait until a player has set up the Othello service so many times; after a login it does so twice, because the
        server greets with the service.
        """
        await until(lambda: self.server.lines.count((name, "tell /os client -")) >= times)

    async def play(self, offer: str, alice: Any, bob: Any, matches: int = 1) -> None:
        """Let alice accept and bob offer until both have ended; for the colour an offer prefers bob is the first."""
        ended = self.sit("alice", alice, ANY, matches=matches)
        await self.ready("alice")
        assert await asyncio.gather(ended, self.sit("bob", bob, offer=f"{offer} alice", matches=matches)) == ["", ""]
