"""Messages of PlayStrategy's API for bots, a fork of lichess's: challenges, and games that go on. No I/O.

Both streams have one JSON object a line. The side that moves first, Black in Othello, is ``p1``, or ``white`` where the
fork has kept the word of chess:

    {"type": "challenge", "challenge": {"id": "7pGLxJ4F", "challenger": {"id": "ann", "name": "Ann", "title": null},
     "variant": {"key": "flipello"}, "rated": false, "timeControl": {"type": "clock", "limit": 300, "increment": 3}}}
    {"type": "gameState", "moves": "P@f4 P@d3", "wtime": 298000, "btime": 300000, "status": "started"}

Source: playstrategy-api.yaml in the repository Mind-Sports-Games/api. The document has no example of Othello: moves are
read with and without ``P@``, with ranks counted from above or below, and written in the way of the moves so far.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.records import ClockTerms, GameRecord, PlayedMove, plain_name
from desdaemon.protocol.othello.notation import START, Position, parse_move, play_moves, square_text
from desdaemon.protocol.othello.rules import PASS, squares

OTHELLO = "flipello"
"""The site's key of Othello among its variants."""

_START_PLACEMENTS = ("8/8/8/3pP3/3Pp3/8/8/8", "8/8/8/3Pp3/3pP3/8/8/8")
"""The start of Othello in the site's FEN, as it is and mirrored top to bottom."""

PLAYING = ("created", "started")
"""Statuses of a game in play."""

# A pass is written as a move from a square to itself.
_MOVE = re.compile(r"(?:(?P<piece>[A-Za-z])@)?(?P<square>[a-h][1-8])(?P<pass>(?P=square))?")
_SIDES = {"p1": "black", "white": "black", "p2": "white", "black": "white"}
"""The sides, by the site's words for the players who move first and second."""

_OTHER_RANKS = 56
"""Exclusive-or with this mirrors a square top to bottom."""


class Challenge(NamedTuple):
    """A challenge to a game; ``clock`` is the seconds at the start and the seconds added with each move; None: no
    clock.
    """

    id: str
    opponent: str
    """The challenger's id in lower case."""
    bot: bool
    variant: str
    rated: bool
    clock: tuple[float, float] | None
    usual_start: bool = True
    """Whether the game begins with the position that Othello begins with."""

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Challenge:
        """Return the challenge in the ``challenge`` object of an event. Raises `BadInput` if a field is missing or
        wrong.
        """
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
                _is_start(data.get("initialFen")),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise BadInput("a challenge without the fields that the API has") from None


class Rules(NamedTuple):
    """The rules by which challenges are accepted; the defaults accept none. Only games of Othello with a clock of
    ``least_s`` to ``most_s`` seconds at the start can be accepted.
    """

    people: bool = False
    bots: bool = False
    names: frozenset[str] = frozenset()
    """Other players who are accepted, by name in lower case."""
    rated: bool = False
    least_s: float = 60.0
    most_s: float = 3600.0

    def refusal(self, challenge: Challenge) -> str:
        """Return the API's reason for declining a challenge; "" to accept."""
        welcome = self.bots if challenge.bot else self.people
        if challenge.variant != OTHELLO or not challenge.usual_start:
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
    """The bot is to move in the last position of ``record``, with ``left_ms`` on its clock."""

    record: GameRecord
    left_ms: float


class Over(NamedTuple):
    """The game has ended; ``status`` is the site's word for how. ``winner`` is ``black`` or ``white``, "" for a draw or
    an aborted game.
    """

    record: GameRecord
    status: str
    winner: str


class GameTable:
    """One game, followed by the messages of its stream. A state machine, for one thread."""

    def __init__(self, account: str) -> None:
        """``account`` is the bot's own id."""
        self._account = account.lower()
        self._black = True
        """Whether the bot is Black; meaningless before the first message."""
        self._record = GameRecord(START, ())
        self._prefix = "P@"
        """The text before the square of a move."""
        self._from_below = True
        """Whether ranks are counted from below, as in chess; then the initial discs are mirrored."""
        self._begun = False
        """Whether the first message has come."""
        self._answered = -1
        """The number of moves in the last position that the bot has moved in, as far as this stream shows."""

    def hear(self, message: Mapping[str, Any]) -> BotTurn | Over | None:
        """Note a message of the game's stream. Returns the bot's turn or the end of the game; None for all other
        messages, such as chat, the opponent's turn, a position that the bot has moved in, and any before the first
        ``gameFull``.

        Raises `BadInput` for another variant, another initial position, a game of others, and for a game that cannot be
        read.
        """
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
            return Over(self._record, status, _SIDES.get(str(state.get("winner")), ""))
        if self._record.final.must_pass and self._record.final.black_to_move != self._black:
            # The opponent's pass may be left out. If it is not, the site refuses the move, and the pass comes.
            self._record = self._record._replace(moves=(*self._record.moves, PlayedMove(PASS, 0.0)))
        final, count = self._record.final, len(self._record.moves)
        if final.over or final.black_to_move != self._black or count <= self._answered:
            return None
        left = state.get("wtime" if self._black else "btime", state.get("p1time" if self._black else "p2time", 0))
        return BotTurn(self._record, _ms(left))

    def moved(self) -> None:
        """Note that the site has taken the bot's move: messages of this stream about positions up to the last one, such
        as those about a draw that was offered meanwhile, are no turns.
        """
        self._answered = len(self._record.moves)

    def move_name(self, position: Position, move: int) -> str:
        """Return a move in the API's notation.

        A pass is the lowest square, in the API's coordinates, with a disc of the side to move, written twice: ``d4d4``.
        """
        if move != PASS:
            return self._prefix + self._square(move)
        first = min((square ^ _OTHER_RANKS if self._from_below else square) for square in squares(position.player))
        return square_text(first).lower() * 2

    def other_ranks(self) -> bool:
        """Count ranks from the opposite side from now on. Call this when the server has refused the first move of a
        game. If the game has moves already, this changes nothing and returns False, otherwise it returns True.
        """
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
        fen = message.get("initialFen")
        if not _is_start(fen):
            raise BadInput(f"initial position {quoted(str(fen))}: expected that of Othello")
        clock = message.get("clock")
        times = (clock.get("initial", 0), clock.get("increment", 0)) if isinstance(clock, Mapping) else (0, 0)
        terms = ClockTerms(*map(_ms, times))
        self._black = black[0] == self._account
        self._record = GameRecord(START, (), black[1], white[1], terms, terms)
        self._begun = True
        self._answered = -1

    @staticmethod
    def _player(message: Mapping[str, Any], *names: str) -> tuple[str, str]:
        """Return the id, in lower case, and the name of the player under the first of the keys ``names`` that the
        message has. Both are "" if it has none.
        """
        for name in names:
            player = message.get(name)
            if isinstance(player, Mapping):
                identity = str(player.get("id", ""))
                return identity.lower(), plain_name(str(player.get("name", identity)))
        return "", ""

    def _moves(self, text: str) -> tuple[PlayedMove, ...]:
        """Return the moves in the site's text, forced passes added, and note how the site writes them, for `move_name`.
        Raises `BadInput` for text that is no move and for an illegal move.
        """
        plain: list[int] = []
        for token in text.split():
            match = _MOVE.fullmatch(token)
            if match is None:
                plain.append(parse_move(token))
                continue
            if not match["pass"]:
                self._prefix = f"{match['piece']}@" if match["piece"] else ""
            plain.append(PASS if match["pass"] else parse_move(match["square"]))
        if plain:
            # In the mirrored start Black has no first move that is legal in the standard one.
            self._from_below = not START.moves >> plain[0] & 1
        mirror = _OTHER_RANKS if self._from_below else 0
        moves = play_moves(START, [move if move == PASS else move ^ mirror for move in plain]).moves
        return tuple(PlayedMove(move, 0.0) for move in moves)

    def _square(self, move: int) -> str:
        return square_text(move ^ _OTHER_RANKS if self._from_below else move).lower()


def _is_start(fen: object) -> bool:
    """Return whether ``fen`` stands for the position that Othello begins with; None and "" do."""
    return fen in (None, "", "startpos") or re.split(r"[\[ ]", str(fen))[0] in _START_PLACEMENTS


def _ms(value: object) -> float:
    """Return a time in ms. Raises `BadInput` if it is no number, or more than ten years."""
    if not isinstance(value, int | float) or not abs(value) < 3e11:
        raise BadInput(f"a clock of {quoted(str(value)[:40])}: expected milliseconds")
    return float(value)
