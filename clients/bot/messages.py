"""Messages of PlayStrategy's API for bots, a fork of lichess's: challenges, and games that go on. No I/O.

Both streams have one JSON object a line. The side that moves first, Black in Othello, is ``p1``:

    {"type": "challenge", "challenge": {"id": "7pGLxJ4F", "challenger": {"id": "ann", "name": "Ann", "title": null},
     "variant": {"key": "flipello"}, "rated": false, "timeControl": {"type": "clock", "limit": 300, "increment": 3}}}
    {"type": "gameState", "moves": "P@f4 P@d3", "wtime": 298000, "btime": 300000, "status": "started"}

Ranks are counted from below, so that the initial discs are mirrored. A pass is the lowest square, counted so, with a
disc of the side that passes, written twice (``c3c3``), and always a move of its own; a game ends with the second pass
in a row or on a full board. Sources: playstrategy-api.yaml in the repository Mind-Sports-Games/api; the modules bot and
challenge of Mind-Sports-Games/lila; the test of Flipello in Mind-Sports-Games/strategygames.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.records import ClockTerms, GameRecord, PlayedMove, plain_name
from desdaemon.protocol.othello.notation import START, Position, illegal_move, parse_move, square_text
from desdaemon.protocol.othello.rules import PASS, squares

OTHELLO = "flipello"
"""The site's key of Othello among its variants."""

_START_PLACEMENT = "8/8/8/3pP3/3Pp3/8/8/8"
"""The start of Othello in the site's FEN."""

PLAYING = ("created", "started")
"""Statuses of a game in play."""

_MOVE = re.compile(r"P@([a-h][1-8])")
_PASS = re.compile(r"([a-h][1-8])\1")
_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")

_MOST_MOVES = 200
"""Most moves of a game: 60, the passes between them, and some at the end."""
_LONGEST_NAME = 100
"""Most characters of a player's name or of a status."""

_SIDES = {"p1": "black", "p2": "white"}
"""The sides, by the site's words for the players who move first and second."""

_OTHER_RANKS = 56
"""Exclusive-or with this mirrors a square top to bottom."""


def site_id(value: object) -> str:
    """Return an id of the site, of a challenge or a game. Raises `BadInput` for anything else."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise BadInput(f"{quoted(str(value)[:40])} is no id")
    return value


class Challenge(NamedTuple):
    """A challenge to a game; ``clock`` is the seconds at the start and the seconds added with each move; None: no
    clock.
    """

    id: str
    opponent: str
    """The challenger's id in lower case; "" for somebody without an account."""
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
            anonymous = {"id": "", "title": None}
            who = anonymous if who is None else who
            clock = None
            if control["type"] == "clock":
                # A clock with a delay has that in place of an increment.
                clock = float(control["limit"]), float(control.get("increment") or control.get("delay") or 0)
            variant = str(data["variant"]["key"])
            return cls(
                site_id(data["id"]),
                site_id(who["id"]).lower() if who["id"] else "",
                who.get("title") == "BOT",
                variant,
                data["rated"] is not False,
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
        if not challenge.opponent:
            return "noAnon"
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
        # What is no number is in no range.
        return "" if challenge.clock[0] <= self.most_s else "tooSlow"


class Seeking(NamedTuple):
    """The rules by which the bot challenges others while it is idle, to Othello with one clock."""

    names: tuple[str, ...] = ()
    """Whom it challenges, by id in lower case."""
    bots: bool = False
    """Whether it challenges every bot that is online."""
    every_s: float = 1800.0
    """Seconds without a game, and since the last challenge, before it challenges."""
    limit_s: int = 300
    increment_s: int = 3
    least: float = 0.0
    most: float = 4000.0
    """The ratings in Othello that suit, ends included; who has none counts as 1500."""
    rated: bool = False

    @property
    def form(self) -> dict[str, str]:
        """The fields of a challenge."""
        clock = {"clock.limit": str(self.limit_s), "clock.increment": str(self.increment_s)}
        return {"variant": OTHELLO, "rated": "true" if self.rated else "false", **clock}

    def choice(self, users: list[Any], account: str, tried: Sequence[str]) -> str:
        """Return the id of the user to challenge, of the site's descriptions ``users``, or "" for none: one who was not
        ``tried``, or else whose turn is longest ago.
        """
        suiting = []
        for user in users:
            try:
                rating = user.get("perfs", {}).get(OTHELLO, {}).get("rating", 1500)
                if self.least <= rating <= self.most and site_id(user["id"]).lower() != account.lower():
                    suiting.append(user["id"].lower())
            except (AttributeError, BadInput, KeyError, TypeError):
                continue
        last = {name: number for number, name in enumerate(tried)}
        return min(suiting, key=lambda name: last.get(name, -1), default="")


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
        self.position = START
        """The position after all moves, among them passes after the end."""
        self.count = 0
        """The number of moves, with those passes."""
        self.left_s = 0.0
        """The seconds on both clocks."""
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
        self._play(str(state.get("moves", "")))
        status = state.get("status") or PLAYING[-1]
        status = str(status.get("name", "") if isinstance(status, Mapping) else status)[:_LONGEST_NAME]
        if status not in PLAYING:
            return Over(self._record, status, _SIDES.get(str(state.get("winner")), ""))
        times = _ms(state.get("wtime", 0)), _ms(state.get("btime", 0))
        self.left_s = sum(times) / 1000
        # Who has no disc cannot write a pass.
        if self.position.black_to_move != self._black or self.count <= self._answered or not self.position.player:
            return None
        return BotTurn(self._record, times[0 if self._black else 1])

    def moved(self) -> None:
        """Note that the site has taken the bot's move: messages of this stream about positions up to the last one, such
        as those about a draw that was offered meanwhile, are no turns.
        """
        self._answered = self.count

    @staticmethod
    def move_name(position: Position, move: int) -> str:
        """Return a move in the site's notation. Who passes must have a disc."""
        if move != PASS:
            return f"P@{square_text(move ^ _OTHER_RANKS).lower()}"
        return square_text(min(square ^ _OTHER_RANKS for square in squares(position.player))).lower() * 2

    def _begin(self, message: Mapping[str, Any]) -> None:
        black, white = (self._player(message, side) for side in ("p1", "p2"))
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
    def _player(message: Mapping[str, Any], side: str) -> tuple[str, str]:
        """Return the id, in lower case, and the name of a player; both are "" for none."""
        player = message.get(side)
        if not isinstance(player, Mapping):
            return "", ""
        identity = str(player.get("id", ""))
        return identity.lower(), plain_name(str(player.get("name", identity))[:_LONGEST_NAME])

    def _play(self, text: str) -> None:
        """Note the moves in the site's text. Raises `BadInput` for text that is no move and for an illegal move."""
        position, moves = START, []
        words = text.split(maxsplit=_MOST_MOVES)
        if len(words) > _MOST_MOVES:
            # Passes after the end would keep it for ever.
            raise BadInput(f"more than {_MOST_MOVES} moves")
        for number, word in enumerate(words, 1):
            over = position.over
            if _PASS.fullmatch(word) and not position.moves:
                move = PASS
                position = Position(position.opponent, position.player, not position.black_to_move)
            elif placed := _MOVE.fullmatch(word):
                move = parse_move(placed[1]) ^ _OTHER_RANKS
                if not position.moves >> move & 1:
                    raise BadInput(illegal_move(position, move, number))
                position = position.after(move)
            else:
                raise BadInput(f"{quoted(word)} (move {number}) is no move here")
            if not over:
                moves.append(PlayedMove(move, 0.0))
        self._record = self._record._replace(moves=tuple(moves))
        self.position, self.count = position, len(words)


def _is_start(fen: object) -> bool:
    """Return whether ``fen`` stands for the position that Othello begins with; None and "" do."""
    return fen in (None, "", "startpos") or re.split(r"[\[ ]", str(fen))[0] == _START_PLACEMENT


def _ms(value: object) -> float:
    """Return a time in ms; null, of a game without a clock, is 0. Raises `BadInput` if it is no number, or more than
    ten years.
    """
    value = 0 if value is None else value
    if not isinstance(value, int | float) or not abs(value) < 3e11:
        raise BadInput(f"a clock of {quoted(str(value)[:40])}: expected milliseconds")
    return float(value)
