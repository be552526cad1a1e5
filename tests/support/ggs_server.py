"""A small Generic Game Server with the Othello service, as the public descriptions have it.

Logins, requests, single and synchro matches with random starts, clocks with both time-outs, adjourned matches, records.
It knows the rules from `referee`. Its clocks run ``speed`` times as fast as time.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable
from typing import NamedTuple

import referee

PASSWORD = "secret-word"


def clock_ms(text: str) -> list[float]:
    """Milliseconds of `main/increment/extension`."""
    found = []
    for field in (*text.split("/"), "", "")[:3]:
        seconds = 0.0
        for part in field.split(":") if field else []:
            seconds = 60 * seconds + float(part)
        found.append(1000 * seconds)
    return found


def time_text(ms: float) -> str:
    minutes, seconds = divmod(max(0, int(ms // 1000)), 60)
    return f"{minutes:02}:{seconds:02}"


class User:
    """Someone who is logged in."""

    def __init__(self, name: str, writer: asyncio.StreamWriter) -> None:
        self.name, self.writer = name, writer
        self.rated = True
        self.open = 0

    def tell(self, *lines: str) -> None:
        """Send a block."""
        text = "".join(f"{line}\r\n" for line in (lines[0], *(f"|{line}" for line in lines[1:]), "READY"))
        self.writer.write(text.encode())


class Request(NamedTuple):
    challenger: str
    opponent: str
    type: str
    clock: str
    rated: bool


class Result(NamedTuple):
    """A finished match: its names, and its result as the first of them sees it."""

    id: str
    names: tuple[str, str]
    type: str
    result: float
    flagged: frozenset[str]


class BoardGame:
    """One board of a match; the players by whether they are Black."""

    def __init__(self, id: str, players: dict[bool, str], cells: referee.Cells, black: bool, clock: str) -> None:
        self.id, self.players, self.clock = id, players, clock_ms(clock)
        self.cells, self.black = cells, black
        self.start = self.squares
        self.start_black = black
        self.left = dict.fromkeys(players.values(), self.clock[0])
        self.flagged: set[str] = set()
        self.moves: list[tuple[bool, str]] = []
        self.since = 0.0
        self.timer: asyncio.TimerHandle | None = None
        self.result: float | None = None

    @property
    def mover(self) -> str:
        return self.players[self.black]

    @property
    def squares(self) -> str:
        signs = {1: "*" if self.black else "O", -1: "O" if self.black else "*", 0: "-"}
        return "".join(signs[cell] for row in self.cells for cell in row)

    def block(self, kind: str, type: str) -> list[str]:
        """The board as the service shows it."""
        last = f"{len(self.moves):3}: {self.moves[-1][1]}" if self.moves else "  0: PASS"
        lines = [f"/os: {kind} {self.id} {type} K?", f"{len(self.moves)} move(s)", last]
        extra = [time_text(ms) if ms else "" for ms in self.clock]
        for black in (True, False):
            clock = f"{time_text(self.left[self.players[black]])},0:0/{extra[1]}/{extra[2]},0:0"
            lines.append(f"{self.players[black]:8} (1720.0 {'*' if black else 'O'}) {clock}")
        lines += ["", "   A B C D E F G H"]
        lines += [f" {at + 1} {' '.join(self.squares[8 * at : 8 * at + 8])} {at + 1}" for at in range(8)]
        return [*lines, "   A B C D E F G H", "", f"{'*' if self.black else 'O'} to move"]

    def record(self, type: str) -> str:
        moves = "".join(f"{'B' if black else 'W'}[{text}]" for black, text in self.moves)
        rows = " ".join(self.start[at : at + 8] for at in range(0, 64, 8))
        names = f"PB[{self.players[True]}]PW[{self.players[False]}]"
        board = f"BO[8 {rows} {'*' if self.start_black else 'O'}]"
        head = f"GM[Othello]PC[GGS/os]DT[2026.11.25_12:00:00.UTC]{names}RE[{self.result or 0:+.3f}]TY[{type}]"
        return f"(;{head}{board}{moves};)"


class MatchGame:
    """A match of one board, or of two."""

    def __init__(self, id: str, request: Request, names: tuple[str, str], boards: list[BoardGame]) -> None:
        self.id, self.request, self.names, self.boards = id, request, names, boards
        self.running = False


class Server:
    """The server; all on one event loop."""

    def __init__(self, seed: int = 0, speed: float = 1.0) -> None:
        self.choices = random.Random(seed)
        self.speed = speed
        self.users: dict[str, User] = {}
        self.requests: dict[str, Request] = {}
        self.matches: dict[str, MatchGame] = {}
        self.archive: dict[str, list[str]] = {}
        self.results: list[Result] = []
        self.lines: list[tuple[str, str]] = []
        """All lines of all users, by name."""
        self.refused: list[str] = []
        self.on_move: Callable[[BoardGame], None] = lambda board: None
        self._number = 0
        self._listening: asyncio.Server | None = None
        self._conversations: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Server:
        self._listening = await asyncio.start_server(self._converse, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._listening
        self._listening.close()
        for match in self.matches.values():
            self._stop(match)
        for task in tuple(self._conversations):
            task.cancel()
        await asyncio.gather(*self._conversations, return_exceptions=True)

    @property
    def port(self) -> int:
        assert self._listening
        port: int = self._listening.sockets[0].getsockname()[1]
        return port

    def _next(self) -> str:
        self._number += 1
        return f".{self._number}"

    # Logins

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._conversations.add(task)
        user = None
        try:
            user = await self._login(reader, writer)
            while user and (line := await reader.readline()):
                if line.strip() == b"quit":
                    break
                self.lines.append((user.name, line.decode().strip()))
                self._command(user, line.decode().split())
        except ConnectionError:
            pass
        finally:
            self._conversations.discard(task)
            if user and self.users.get(user.name) is user:
                del self.users[user.name]
                self._gone(user)
            writer.close()

    async def _login(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> User | None:
        while True:
            writer.write(b": Enter login (yours, or one you'd like to use).\r\n")
            name = (await reader.readline()).decode().strip()
            writer.write(b": Enter your password.\r\n")
            password = (await reader.readline()).decode().strip()
            if not password:
                return None
            if password == PASSWORD and name not in self.users:
                break
            self.refused.append(name)
        user = self.users[name] = User(name, writer)
        user.tell("A small server \x1b[1mwelcomes\x1b[0m you", "news: none")
        user.tell(": + /os 1")
        return user

    def drop(self, name: str) -> None:
        """End a user's connection."""
        self.users[name].writer.close()

    # Commands

    def _command(self, user: User, words: list[str]) -> None:
        if words[:2] != ["tell", "/os"]:
            return
        name, *rest = words[2:]
        handler = getattr(self, f"_{name}", None)
        if handler is None:
            user.tell(f"/os: error unknown command {name}")
            return
        try:
            handler(user, *rest)
        except (TypeError, KeyError, ValueError) as error:
            user.tell(f"/os: error {name}: {error!r}")

    def _trust(self, user: User, sign: str) -> None:
        pass

    _request = _client = _trust

    def _rated(self, user: User, sign: str) -> None:
        user.rated = sign == "+"

    def _open(self, user: User, number: str) -> None:
        user.open = int(number)

    def _ask(self, user: User, type: str, clock: str, opponent: str = "") -> None:
        request = Request(user.name, opponent, type, clock, user.rated)
        id = self._next()
        self.requests[id] = request
        self._announce("+", id, request)

    def _announce(self, sign: str, id: str, request: Request) -> None:
        against = f" 1650.0 {request.opponent}" if request.opponent else ""
        rated = "R" if request.rated else "U"
        line = f"/os: {sign} {id} 1720.0 {request.challenger} {request.clock} {request.type} {rated}{against}"
        for user in self.users.values():
            if not request.opponent or user.name in (request.challenger, request.opponent):
                user.tell(line)

    def _decline(self, user: User, id: str) -> None:
        self._announce("-", id, self.requests.pop(id))

    def _accept(self, user: User, id: str) -> None:
        request = self.requests.pop(id)
        self._announce("-", id, request)
        names = (request.challenger, user.name)
        if any(set(names) & set(match.names) for match in self.matches.values() if match.running):
            user.tell("/os: error accept: already playing")
            return
        type = re.fullmatch(r"(s?)8([bw]?)(?:r(\d+))?", request.type)
        if not type or names[0] == names[1]:
            user.tell(f"/os: error accept: type {request.type}")
            return
        cells, black = self._start(int(type[3] or 4))
        colours = [type[2] == "b" or (type[2] == "" and self.choices.random() < 0.5)]
        colours += [not colours[0]] if type[1] else []
        match_id = self._next()
        boards = []
        for number, first_is_black in enumerate(colours):
            players = {first_is_black: names[0], not first_is_black: names[1]}
            board_id = f"{match_id}.{number}" if type[1] else match_id
            boards.append(BoardGame(board_id, players, cells, black, request.clock))
        self._begin(MatchGame(match_id, request, names, boards))

    def _start(self, discs: int) -> tuple[referee.Cells, bool]:
        cells, black = referee.start(), True
        for _ in range(discs - 4):
            moves = referee.legal_moves(cells)
            cells = referee.play(cells, self.choices.choice(moves)) if moves else referee.passed(cells)
            black = not black
        return cells, black

    # Matches

    def _tell_players(self, match: MatchGame, *lines: str) -> None:
        for name in match.names:
            if name in self.users:
                self.users[name].tell(*lines)

    def _head(self, match: MatchGame) -> str:
        rated = "R" if match.request.rated else "U"
        return f"match {match.id} 1720.0 {match.names[0]} 1650.0 {match.names[1]} {match.request.type} {rated}"

    def _begin(self, match: MatchGame) -> None:
        self.matches[match.id] = match
        match.running = True
        self._tell_players(match, f"/os: + {self._head(match)}")
        for board in match.boards:
            if board.result is None:
                self._tell_players(match, *board.block("join", match.request.type))
                self._turn(match, board)

    def _turn(self, match: MatchGame, board: BoardGame) -> None:
        loop = asyncio.get_running_loop()
        board.since = loop.time()
        pause = board.left[board.mover] / 1000 / self.speed
        board.timer = loop.call_later(pause, self._out_of_time, match, board)

    def _spend(self, board: BoardGame) -> None:
        if board.timer:
            board.timer.cancel()
            board.timer = None
            board.left[board.mover] -= 1000 * self.speed * (asyncio.get_running_loop().time() - board.since)

    def _out_of_time(self, match: MatchGame, board: BoardGame) -> None:
        mover = board.mover
        self._spend(board)
        if mover not in board.flagged and board.clock[2]:
            board.flagged.add(mover)
            board.left[mover] = board.clock[2]
            self._tell_players(match, *board.block("update", match.request.type))
            self._turn(match, board)
            return
        board.flagged.add(mover)
        board.result = -64.0 if board.black else 64.0
        self._over(match)

    def _play(self, user: User, id: str, text: str) -> None:
        match = self.matches[id if id in self.matches else id.rpartition(".")[0]]
        board = next(board for board in match.boards if board.id == id)
        move, score, seconds = text.split("/")
        if board.mover != user.name or board.result is not None or not match.running:
            user.tell(f"/os: error play {id} not your turn")
            return
        float(score), float(seconds)
        must_pass = not referee.legal_moves(board.cells)
        if (move == "pa") != must_pass:
            raise ValueError("a pass")
        cells = referee.passed(board.cells) if must_pass else referee.play(board.cells, referee.square(move))
        self._spend(board)
        board.left[user.name] += board.clock[1]
        board.moves.append((board.black, text))
        board.cells, board.black = cells, not board.black
        self._tell_players(match, *board.block("update", match.request.type))
        if referee.game_over(board.cells):
            score_of_mover = referee.final_score(board.cells)
            board.result = float(score_of_mover if board.black else -score_of_mover)
            self._over(match)
        else:
            self._turn(match, board)
            self.on_move(board)

    def _over(self, match: MatchGame) -> None:
        if any(board.result is None for board in match.boards):
            return
        self._stop(match)
        seen = [(board.result or 0) * (1 if board.players[True] == match.names[0] else -1) for board in match.boards]
        result = sum(seen) / len(seen)
        flagged = frozenset(name for board in match.boards for name in board.flagged)
        self.results.append(Result(match.id, match.names, match.request.type, result, flagged))
        archived = self._next()
        self.archive[archived] = [board.record(match.request.type) for board in match.boards]
        del self.matches[match.id]
        self._tell_players(match, f"/os: - {self._head(match)} {result:+.2f} {archived}")

    def _look(self, user: User, id: str) -> None:
        games = self.archive[id]
        user.tell(f"/os: look {id}", f"{len(games)} {''.join(games)}")

    # Adjourned matches

    def _stop(self, match: MatchGame) -> None:
        match.running = False
        for board in match.boards:
            self._spend(board)

    def _gone(self, user: User) -> None:
        for match in self.matches.values():
            if user.name in match.names and match.running:
                self._stop(match)
                self._tell_players(match, f"/os: - {self._head(match)} adjourned")
        for id in [id for id, request in self.requests.items() if request.challenger == user.name]:
            del self.requests[id]

    def _continue(self, user: User, id: str) -> None:
        match = self.matches[id]
        if user.name not in match.names or match.running or any(name not in self.users for name in match.names):
            raise ValueError(id)
        self._begin(match)
