"""The decisions of a player on the server: a state machine.

Each method of `Player` takes an event (the beginning or end of the connection, a message of the server, an answer of
the engine, a line of the user, the time) and returns instructions for the loop around it. ``now`` is in seconds, clocks
are in ms.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple, TypeVar

from desdaemon.clients.ggs import lines as ggs
from desdaemon.protocol.othello.notation import Position, move_text
from desdaemon.protocol.othello.rules import PASS

KEEP_ALIVE_S = 60.0
PENDING_S = 60.0
"""Seconds to wait for a match that was accepted or requested."""
LONGEST_WAIT_S = 300.0
"""Longest pause before the server is called again, seconds."""
LOGIN_S = 60.0
"""Seconds that the server may take to ask for login and password, and then again to let the player in."""
_MOST_SAID = 500
"""Most characters of the server's words in the message about a login."""
_MOST_BOARDS = 16
"""Most boards and matches of this player's own at a time: for one more the oldest is forgotten."""
_MOST_RESUMED = 10
"""Most adjourned matches that are asked for at once."""
_OUTSIDE, _ENTERED, _WELCOMED, _ONLINE = range(4)
"""The stages of a login: before the password, after it, after the server's first message then, and when all is set up.
"""
_FLAG_MS = 1_000.0
"""A clock that rises by more than this beyond its increment, in ms, was extended, because its player was out of time.
"""

_T = TypeVar("_T")


class AcceptRules(NamedTuple):
    """The rules by which requests for a match are accepted.

    ``types`` are patterns without the colour, such as ``s8r1[0-9]``; without any, no request is accepted. ``least`` and
    ``most`` bound the clock at the beginning, in ms. ``opponents`` are casefolded names; if there are none, anyone may
    ask. With ``rated``, rated matches are accepted too.
    """

    types: tuple[str, ...] = ()
    least: float = 60_000.0
    most: float = 1_800_000.0
    opponents: tuple[str, ...] = ()
    rated: bool = False

    def accept(self, request: ggs.Request) -> bool:
        """Return whether to accept another player's request."""
        type = request.type._replace(colour="").text
        return (
            request.type.playable
            and any(fnmatchcase(type, pattern) for pattern in self.types)
            and self.least <= request.clock.main <= self.most
            and (not self.opponents or request.challenger.casefold() in self.opponents)
            and (self.rated or not request.rated)
        )


class Wishes(NamedTuple):
    """Further wishes of the user.

    ``offer`` is a request to make whenever idle, as the server reads it (``s8r14 5:00//2:00``), or "". After
    ``matches`` matches the program ends; with 0 it goes on. With ``tell``, searches are reported on each board's
    channel. With ``records``, the server is asked for the records of finished games. With ``resume``, opponents are
    asked to go on with adjourned matches whenever idle.
    """

    offer: str = ""
    matches: int = 0
    tell: bool = False
    records: bool = False
    resume: bool = False


class Connect(NamedTuple):
    """Connect to the server after ``after_s`` seconds."""

    after_s: float


class Send(NamedTuple):
    """Send a line; the log hides a ``secret`` one."""

    line: str
    secret: bool = False


class StartSearch(NamedTuple):
    """Search a position of ``game``, with the mover's clock as the server has it; ``board`` is "0" or "1" of a pair, or
    "" for a single board.
    """

    game: str
    board: str
    position: Position
    clock: ggs.ServerClock


class StopSearch(NamedTuple):
    """Stop the search that runs for a game."""

    game: str


class Show(NamedTuple):
    """Show a text of the server or, with ``ours``, a message of this program."""

    text: str
    ours: bool = False


class Save(NamedTuple):
    """Append ``ggf``, the record of a game, to the file for records."""

    ggf: str


class End(NamedTuple):
    """End the program; ``reason`` is an error, or ""."""

    reason: str = ""


Instruction = Connect | Send | StartSearch | StopSearch | Show | Save | End


class Answer(NamedTuple):
    """The engine's move in ``position`` of ``game``, with its score in discs for the side that moves, the seconds it
    took, and a report of the search.
    """

    game: str
    position: Position
    move: int
    score: float
    seconds: float
    told: str = ""


class _OwnBoard:
    """A board on which this player plays."""

    def __init__(self) -> None:
        self.position: Position | None = None
        self.searching = False
        self.score = 0.0
        self.clocks: dict[bool, ggs.ServerClock] = {}
        """Of Black (True) and White, as is ``late``."""
        self.late: set[bool] = set()
        """Who has been out of time."""


class Player:
    """A player on the server, as a state machine. It plays one match at a time, unless the user accepts more."""

    def __init__(self, login: str, password: str, rules: AcceptRules, wishes: Wishes) -> None:
        self._login, self._password, self._rules, self._wishes = login, password, rules, wishes
        self._name = login.casefold()
        self._games: dict[str, _OwnBoard] = {}
        self._matches: dict[str, None] = {}
        """Matches that have begun, the oldest first."""
        self._failures = 0
        self._admitted = False
        """Whether the server has let this player in, with this password, once."""
        self._since: float | None = None
        """When the connection was opened, or the password sent; None without a connection."""
        self._said = ""
        """What the server has said since the password."""
        self._stage = _OUTSIDE
        self._sent = 0.0
        self._waits_until = 0.0
        self._asked = ""
        self._records = 0
        self._played = 0

    # The connection

    def connected(self, now: float) -> list[Instruction]:
        """Note that the connection is open; the server speaks first, so this returns no instructions."""
        self._sent, self._waits_until = now, 0.0
        self._stage, self._since = _OUTSIDE, now
        return []

    def lost(self, reason: str) -> list[Instruction]:
        """Note that the connection has ended or was refused. Returns instructions to stop the searches and to connect
        again after a pause. The pause is 1 s at first and doubles each time until a login, up to `LONGEST_WAIT_S`.

        If the server has not let this player in yet, the program ends with ``reason``; after its last match it ends
        too.
        """
        stage, self._stage, self._since = self._stage, _OUTSIDE, None
        if stage in (_ENTERED, _WELCOMED):
            said = f'; it said "{self._said}"' if self._said else ""
            reason += f", after the password: it is wrong, or the login {self._login} is in use{said}"
        if not self._admitted:
            return [End(reason)]
        if self._done:
            return [*self._leave(), End()]
        instructions: list[Instruction] = self._leave()
        self._records = 0
        if self._matches:
            instructions.append(Show("adjourned matches go on when you or the opponent resume them", ours=True))
        self._matches.clear()
        pause = min(LONGEST_WAIT_S, 2.0**self._failures)
        self._failures += 1
        return [*instructions, Show(f"{reason}; calling again in {pause:g} s", ours=True), Connect(pause)]

    def tick(self, now: float) -> list[Instruction]:
        """Return instructions that are due at ``now``: to send a line that keeps the connection alive, and the repeated
        offer. Before the login only a server that takes longer than `LOGIN_S` is given up.

        After the last match it ends the program, waiting at most `PENDING_S` for a match record that is still to come.
        """
        if self._stage < _ONLINE:
            if self._since is None or now - self._since < LOGIN_S:
                return []
            asked = "has not asked for a password" if self._stage == _OUTSIDE else "has not let us in"
            return self.lost(f"the server {asked} for {LOGIN_S:g} s")
        if self._done and now >= self._waits_until:
            return [End()]
        instructions: list[Instruction] = self._offer(now)
        if now - self._sent >= KEEP_ALIVE_S:
            self._sent = now
            instructions.append(Send(ggs.open_line(self._wanted)))
        return instructions

    @property
    def _wanted(self) -> int:
        """The number of matches to accept now, 0 or 1."""
        return int(bool(self._rules.types or self._wishes.offer or self._wishes.resume) and not self._matches)

    def _leave(self, id: str = "") -> list[Instruction]:
        """Forget the games of a match or a board, or all games; return instructions to stop their searches."""
        left = [game for game in self._games if id in ("", game, game.rpartition(".")[0])]
        return [StopSearch(game) for game in left if self._games.pop(game).searching]

    # Messages

    def told(self, message: ggs.Message, now: float) -> list[Instruction]:
        """Note a message of the server. Returns the instructions that follow from it."""
        match message:
            case ggs.Prompt():
                return self._prompt(message.wanted, now)
            case ggs.Ready():
                return self._ready(now)
        if self._stage == _ENTERED:
            self._stage = _WELCOMED
        match message:
            case ggs.Service():
                return self._service(message.up, now)
            case ggs.Request():
                return self._request(message, now)
            case ggs.ServerMatch():
                return self._match(message, now)
            case ggs.ServerBoard():
                return self._board(message)
            case ggs.BoardEnd():
                return [Show(message.text), *self._leave(message.id)] if message.id in self._games else []
            case ggs.Stored():
                return self._resume(message)
            case ggs.Records():
                return self._record(message.games)
            case ggs.Complaint() | ggs.Words():
                if self._stage < _ONLINE:
                    self._said = " ".join(f"{self._said} {message.text}".split())[-_MOST_SAID:]
                return [Show(message.text)]

    def _prompt(self, wanted: str, now: float) -> list[Instruction]:
        if self._stage == _OUTSIDE and wanted == "login":
            return [Send(self._login)]
        if self._stage == _OUTSIDE:
            self._stage, self._since, self._said = _ENTERED, now, ""
            return [Send(self._password, secret=True)]
        # After a lost connection the server may think for a while that the login is in use.
        return self.lost(f"the server asks for the {wanted} again")

    def _ready(self, now: float) -> list[Instruction]:
        # The first `Ready` follows the prompt for the password.
        if self._stage != _WELCOMED:
            return []
        self._stage, self._admitted = _ONLINE, True
        self._failures = 0
        return [*map(Send, ggs.SET_UP), *self._service(True, now)]

    def _service(self, up: bool, now: float) -> list[Instruction]:
        if self._stage < _ONLINE:
            return []
        instructions = self._leave()
        self._matches.clear()
        if not up:
            self._waits_until = 0.0
            return [*instructions, Show("the Othello service is down", ours=True)]
        lines = (*ggs.SERVICE_SET_UP, ggs.rated_line(self._rules.rated), ggs.open_line(self._wanted))
        return [*instructions, *map(Send, lines), *self._offer(now)]

    def _offer(self, now: float) -> list[Instruction]:
        if self._matches or now < self._waits_until:
            return []
        lines = [ggs.STORED] if self._wishes.resume else []
        if self._wishes.offer:
            lines += [ggs.rated_line(self._rules.rated), f"tell /os ask {self._wishes.offer}"]
        if lines:
            self._waits_until = now + PENDING_S
        return [*map(Send, lines)]

    def _resume(self, stored: ggs.Stored) -> list[Instruction]:
        """Ask for the adjourned matches. The first that begins makes the server withdraw the other requests."""
        if not self._wishes.resume or self._matches:
            return [Show(stored.text)]
        return [Send(ggs.resume_line(number)) for number in stored.numbers[:_MOST_RESUMED]]

    def _request(self, request: ggs.Request, now: float) -> list[Instruction]:
        if request.challenger.casefold() == self._name:
            return []
        if not request.open:
            if request.id == self._asked:
                self._asked, self._waits_until = "", 0.0
            return []
        shown = f"{request.challenger} asks for {request.type.text} {ggs.clock_text(request.clock)}"
        instructions: list[Instruction] = [Show(f"{shown}, {'rated' if request.rated else 'unrated'} ({request.id})")]
        ours = request.opponent.casefold() == self._name
        if not self._rules.types or (request.opponent and not ours):
            return instructions
        if self._rules.accept(request) and not self._matches and not (self._asked and now < self._waits_until):
            self._asked, self._waits_until = request.id, now + PENDING_S
            instructions.append(Send(f"tell /os accept {request.id}"))
        elif ours:
            instructions.append(Send(f"tell /os decline {request.id}"))
        return instructions

    def _match(self, match: ggs.ServerMatch, now: float) -> list[Instruction]:
        place = self._place(match.names)
        if place is None:
            return []
        what = f"match {match.id} with {match.names[1 - place]}"
        if match.begins:
            return [Show(f"{what}, {match.type.text}"), *self._begin(match.id, match.type)]
        won = match.result if not place or match.result is None else -match.result
        ended = f"{what} has ended without a result" if won is None else f"{what}: {won:+g}"
        instructions = [*self._leave(match.id), Show(ended)]
        if match.id not in self._matches:
            # It was given up before it began.
            return instructions
        del self._matches[match.id]
        self._played += won is not None
        if self._wishes.records and match.archive and won is not None:
            self._records += 1
            instructions.append(Send(f"tell /os look {match.archive}"))
        self._waits_until = now + PENDING_S if self._records and self._done else 0.0
        if not self._done:
            instructions.append(Send(ggs.open_line(self._wanted)))
        return [*instructions, *self.tick(now)]

    def _begin(self, match: str, type: ggs.GameType) -> list[Instruction]:
        if match in self._matches:
            return []
        _make_room(self._matches)
        self._matches[match] = None
        self._asked = ""
        instructions: list[Instruction] = [Send(ggs.open_line(0))]
        if not type.playable:
            # A tournament or the other side of an adjourned match may begin one.
            told = f"{match}: this program does not play {type.text}: its moves are up to you"
            instructions.append(Show(told, ours=True))
        return instructions

    @property
    def _done(self) -> bool:
        return 0 < self._wishes.matches <= self._played

    def _place(self, names: tuple[str, str]) -> int | None:
        return next((place for place, name in enumerate(names) if name.casefold() == self._name), None)

    def _record(self, games: tuple[str, ...]) -> list[Instruction]:
        if not self._records:
            return [Show(game) for game in games]
        self._records -= 1
        instructions: list[Instruction] = [Save(game) for game in games]
        return [*instructions, End()] if self._done and not self._records else instructions

    def typed(self, line: str, now: float) -> list[Instruction]:
        """Return instructions to send a line of the user, or to end the program after ``quit``. Before the login other
        lines are refused.
        """
        if line == "quit":
            return [*([Send(line)] if self._stage == _ONLINE else []), End()]
        if self._stage < _ONLINE:
            return [Show("not logged in yet", ours=True)]
        self._sent = now
        return [Send(line)]

    # Boards

    def _board(self, board: ggs.ServerBoard) -> list[Instruction]:
        names = (board.sides[0].name, board.sides[1].name)
        place = self._place(names)
        if place is None:
            return [Show(_line(board))]
        forgotten = [] if board.id in self._games else _make_room(self._games)
        game = self._games.setdefault(board.id, _OwnBoard())
        instructions: list[Instruction] = [StopSearch(id) for id, old in forgotten if old.searching]
        instructions += [Show(_line(board)), *self._flags(game, board)]
        if board.joined:
            instructions += self._begin(board.id.rpartition(".")[0] or board.id, board.type)
        if not board.type.playable:
            return instructions
        if game.searching:
            if game.position == board.position:
                return instructions
            game.searching = False
            instructions.append(StopSearch(board.id))
        game.position = board.position
        mine = board.sides[place]
        if board.position.over or mine.black != board.position.black_to_move:
            return instructions
        if board.position.must_pass:
            return [*instructions, Send(ggs.play_line(board.id, PASS, game.score, 0.0))]
        game.searching = True
        return [*instructions, StartSearch(board.id, board.id[1:].partition(".")[2], board.position, mine.clock)]

    def _flags(self, game: _OwnBoard, board: ggs.ServerBoard) -> list[Instruction]:
        """Note both clocks. Returns a message about each player who is out of time and can no longer win: the clock has
        been extended, or stands at zero.
        """
        instructions: list[Instruction] = []
        for side in board.sides:
            old = game.clocks.get(side.black)
            overtime = old and (side.clock.main <= 0 or side.clock.main > old.main + old.increment + _FLAG_MS)
            if overtime and side.black not in game.late:
                game.late.add(side.black)
                instructions.append(Show(f"{board.id}: {side.name} was out of time and can no longer win", ours=True))
            game.clocks[side.black] = side.clock
        return instructions

    def found(self, answer: Answer) -> list[Instruction]:
        """Return instructions to play the engine's move and, if the user wishes, to send its report; none if the board
        has changed since the search began.
        """
        game = self._games.get(answer.game)
        if game is None or not game.searching or game.position != answer.position:
            return []
        game.searching = False
        game.score = answer.score
        instructions: list[Instruction] = [Send(ggs.play_line(answer.game, answer.move, answer.score, answer.seconds))]
        if self._wishes.tell:
            instructions.append(Send(f"tell {answer.game} {answer.told}"))
        return instructions


def _make_room(own: dict[str, _T]) -> list[tuple[str, _T]]:
    """Forget the oldest of a player's boards or matches if there is no room for one more; return it with its name."""
    oldest = next(iter(own)) if len(own) >= _MOST_BOARDS else None
    return [] if oldest is None else [(oldest, own.pop(oldest))]


def _line(board: ggs.ServerBoard) -> str:
    """Return a report such as ``.5.0 12: f5 +3.00 4.2 s, alice 04:12, bob 03:58``; before the first move it has the
    board's id and the clocks alone.
    """
    clocks = ", ".join(f"{side.name} {ggs.time_text(side.clock.main)}" for side in board.sides)
    if board.last is None:
        return f"{board.id} {clocks}"
    last = board.last
    score = "" if last.score is None else f" {last.score:+.2f}"
    return f"{board.id} {last.ply}: {move_text(last.move).lower()}{score} {last.ms / 1000:g} s, {clocks}"
