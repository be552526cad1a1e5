"""Messages of PlayStrategy's API for bots, a fork of lichess's: challenges, and games that go on. No I/O.

Both streams have one JSON object a line. The side that moves first, Black in Othello, is ``p1``, or ``white`` where the
fork has kept the word of chess:

    {"type": "challenge", "challenge": {"id": "7pGLxJ4F", "challenger": {"id": "ann", "name": "Ann", "title": null},
     "variant": {"key": "flipello"}, "rated": false, "timeControl": {"type": "clock", "limit": 300, "increment": 3}}}
    {"type": "gameState", "moves": "P@f4 P@d3", "wtime": 298000, "btime": 300000, "status": "started"}

Source: playstrategy-api.yaml in the repository Mind-Sports-Games/api. The document has no example of Othello: moves are
read with and without ``P@``, with ranks counted from above or below, and written as the game has them so far.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.records import ClockTerms, GameRecord, PlayedMove
from desdaemon.protocol.othello.notation import START, Position, parse_move, play_moves, square_text
from desdaemon.protocol.othello.rules import PASS, squares

OTHELLO = "flipello"
"""The key of Othello among the site's variants."""

PLAYING = ("created", "started")
"""The statuses of a game that goes on."""

# A pass is a move from a square to itself.
_MOVE = re.compile(r"(?:(?P<piece>[A-Za-z])@)?(?P<square>[a-h][1-8])(?P<pass>(?P=square))?")
_SIDES = {"p1": "black", "white": "black", "p2": "white", "black": "white"}
"""The site's words for who moves first and second, and Othello's."""

_OTHER_RANKS = 56
"""Exclusive-or with a square mirrors it top to bottom."""


class Challenge(NamedTuple):
    """Somebody's wish to play; the clock is in seconds, None without one."""

    id: str
    opponent: str
    """The name in lower case."""
    bot: bool
    variant: str
    rated: bool
    clock: tuple[float, float] | None

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Challenge:
        """Return the challenge of an event. Raises `BadInput` if something is missing."""
        try:
            who, control = data["challenger"], data["timeControl"]
            clock = None
            if control["type"] == "clock":
                clock = float(control["limit"]), float(control["increment"])
            variant = str(data["variant"]["key"])
            return cls(
                str(data["id"]),
                str(who["id"]).lower(),
                who.get("title") == "BOT",
                variant,
                data["rated"] is True,
                clock,
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise BadInput("a challenge without the fields that the API has") from None


class Rules(NamedTuple):
    """The challenges to accept; nobody's by default."""

    people: bool = False
    bots: bool = False
    names: frozenset[str] = frozenset()
    """Others who are accepted, in lower case."""
    rated: bool = False
    least_s: float = 60.0
    """Seconds of the clock at the start of a game."""
    most_s: float = 3600.0

    def refusal(self, challenge: Challenge) -> str:
        """Return the API's reason for declining, "" to accept."""
        welcome = self.bots if challenge.bot else self.people
        if challenge.variant != OTHELLO:
            return "variant"
        if not welcome and challenge.opponent not in self.names:
            return "noBot" if challenge.bot else "onlyBot" if self.bots else "generic"
        if challenge.rated and not self.rated:
            return "casual"
        if challenge.clock is None:
            return "timeControl"
        if challenge.clock[0] < self.least_s:
            return "tooFast"
        return "tooSlow" if challenge.clock[0] > self.most_s else ""


class BotTurn(NamedTuple):
    """The bot is to move in the final position of ``record``, with ``left_ms`` on its clock."""

    record: GameRecord
    left_ms: float


class Over(NamedTuple):
    """The game has ended; ``winner`` is ``black``, ``white`` or "" for a draw or a game that was aborted."""

    record: GameRecord
    status: str
    winner: str


class GameTable:
    """One game as its stream has it. A state machine, for one thread."""

    def __init__(self, account: str) -> None:
        """``account`` is the bot's own id."""
        self._account = account.lower()
        self._black = True
        """The bot's side; of use only after the first message."""
        self._record = GameRecord(START, ())
        self._prefix = "P@"
        """What stands before a square in a move."""
        self._from_below = True
        """Ranks are counted from below, as in chess; then the discs of the start are mirrored."""
        self._begun = False
        """The first message has come."""

    @property
    def opponent(self) -> str:
        """The name of the other player."""
        return self._record.white if self._black else self._record.black

    def hear(self, message: Mapping[str, Any]) -> BotTurn | Over | None:
        """Take a message; chat and presence are nothing. Raises `BadInput` for a game that cannot be followed."""
        kind = message.get("type")
        state: Any = message
        if kind == "gameFull":
            self._begin(message)
            state = message.get("state")
        elif kind != "gameState" or not self._begun:
            return None
        if not isinstance(state, Mapping):
            raise BadInput("a game without its state")
        self._record = self._record._replace(moves=self._moves(str(state.get("moves", ""))))
        status = str(state.get("status", ""))
        if status not in PLAYING:
            winner = {"p1": "black", "white": "black", "p2": "white", "black": "white"}.get(
                str(state.get("winner")), ""
            )
            return Over(self._record, status, winner)
        final = self._record.final
        if final.over or final.black_to_move != self._black:
            return None
        left = state.get("wtime" if self._black else "btime", state.get("p1time" if self._black else "p2time", 0))
        if not isinstance(left, int | float):
            raise BadInput(f"a clock of {quoted(str(left))}: expected milliseconds")
        return BotTurn(self._record, float(left))

    def move_name(self, position: Position, move: int) -> str:
        """Return a move of the bot as the API takes it; a pass goes from the bot's first disc to itself."""
        if move != PASS:
            return self._prefix + self._square(move)
        first = min((square ^ _OTHER_RANKS if self._from_below else square) for square in squares(position.player))
        return square_text(first).lower() * 2

    def other_ranks(self) -> bool:
        """Count ranks from the other side, after the server has refused a first move. Returns False later in a game."""
        if self._record.moves:
            return False
        self._from_below = not self._from_below
        return True

    def _begin(self, message: Mapping[str, Any]) -> None:
        black, white = (self._player(message, *names) for names in (("p1", "white"), ("p2", "black")))
        if self._account not in (black[0], white[0]):
            raise BadInput("a game of others")
        key = message.get("variant", {}).get("key", "") if isinstance(message.get("variant"), Mapping) else ""
        if key != OTHELLO:
            raise BadInput(f"variant {quoted(str(key))}: expected {OTHELLO}")
        clock = message.get("clock")
        times = (clock.get("initial", 0), clock.get("increment", 0)) if isinstance(clock, Mapping) else (0, 0)
        terms = ClockTerms(*(float(ms) if isinstance(ms, int | float) else 0.0 for ms in times))
        self._black = black[0] == self._account
        self._record = GameRecord(START, (), black[1], white[1], terms, terms)
        self._begun = True

    @staticmethod
    def _player(message: Mapping[str, Any], *names: str) -> tuple[str, str]:
        """Return the id, in lower case, and the name of a player."""
        for name in names:
            player = message.get(name)
            if isinstance(player, Mapping):
                identity = str(player.get("id", ""))
                return identity.lower(), "".join(c for c in str(player.get("name", identity)) if c.isprintable())
        return "", ""

    def _moves(self, text: str) -> tuple[PlayedMove, ...]:
        """Return the moves of a game with the forced passes, and note how they are written."""
        plain: list[int] = []
        for token in text.split():
            found = _MOVE.fullmatch(token)
            if found is None:
                plain.append(parse_move(token))
                continue
            if not found["pass"]:
                self._prefix = f"{found['piece']}@" if found["piece"] else ""
            plain.append(PASS if found["pass"] else parse_move(found["square"]))
        if plain:
            # No first move of Black's is one in the mirrored start.
            self._from_below = not START.moves >> plain[0] & 1
        mirror = _OTHER_RANKS if self._from_below else 0
        moves = play_moves(START, [move if move == PASS else move ^ mirror for move in plain])
        return tuple(PlayedMove(move, 0.0) for move in moves)

    def _square(self, move: int) -> str:
        return square_text(move ^ _OTHER_RANKS if self._from_below else move).lower()
