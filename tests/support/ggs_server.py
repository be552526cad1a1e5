"""A small Generic Game Server with its Othello service, as public descriptions and recorded sessions have it.

Logins, requests, single and synchro matches, tournaments, random starts, clocks with both time-outs, adjourned matches,
records. The rules are those of `referee`. Clocks run as time does; `Server.elapse` lets time pass at once.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable
from typing import NamedTuple

import referee

PASSWORD = "secret-word"
LEAST_LOSS, FULL_LOSS = 2.0, 64.0
"""Discs by which a player loses at least after a soft time-out, and always after a hard one."""
RATINGS = {"alice": "2544"}
OTHER_RATING = "-35.2"


class Request(NamedTuple):
    """What somebody asks for, of ``opponent`` or, where that is "", of all; ``stored`` is the match to be resumed.

    ``flag`` is R for a rated match, U for an unrated one, T for one of a tournament.
    """

    challenger: str
    opponent: str
    type: str
    clock: str
    flag: str
    stored: str = ""


class Result(NamedTuple):
    """A finished match: the discs that the first of ``names`` won by, the mean of both boards of a pair, and the
    players who were out of time.
    """

    names: tuple[str, str]
    type: str
    discs: float
    flagged: frozenset[str]


class User:
    """Someone who is logged in."""

    def __init__(self, name: str, writer: asyncio.StreamWriter) -> None:
        self.name, self.writer = name, writer
        self.flag = "R"
        self.open = 0

    def tell(self, *lines: str) -> None:
        """Send a block."""
        text = "".join(f"{line}\r\n" for line in (lines[0], *(f"|{line}" for line in lines[1:]), "READY"))
        self.writer.write(text.encode())


class BoardGame:
    """A board of a match, with Black's and White's names, and what is left on their clocks, in seconds.

    The clock of one who uses the extension is ``pinned`` at 00:00, or shows what is left of it.
    """

    def __init__(
        self, id: str, names: tuple[str, str], request: Request, cells: referee.Cells, black: bool, pinned: bool
    ) -> None:
        self.id, self.names, self.request, self.pinned = id, names, request, pinned
        self.main, self.increment, self.extension = read_clock(request.clock)
        self.left = dict.fromkeys(names, self.main)
        self.flagged: list[str] = []
        """Those who were out of time, the first of them first."""
        self.cells, self.black = cells, black
        self.start = self._rows()
        self.moves: list[str] = []
        self.result: float | None = None
        """Black's discs more than White's, once the game is over."""
        self.since = 0.0
        self.timer: asyncio.TimerHandle | None = None

    @property
    def mover(self) -> str:
        return self.names[not self.black]

    def _rows(self) -> list[str]:
        signs = {1: "*" if self.black else "O", -1: "O" if self.black else "*", 0: "-"}
        return ["".join(signs[cell] for cell in row) for row in self.cells] + ["*" if self.black else "O"]

    def play(self, text: str) -> None:
        """Play a move, in the form ``f5/1.50/3.25`` or ``f5//3.25``, or raise ValueError."""
        move, score, seconds = text.lower().split("/")
        float(score or 0), float(seconds)
        if (move == "pa") != (not referee.legal_moves(self.cells)):
            raise ValueError(text)
        self.cells = referee.passed(self.cells) if move == "pa" else referee.play(self.cells, referee.square(move))
        self.moves.append(f"{'B' if self.black else 'W'}[{text}]")
        self.black = not self.black
        if referee.game_over(self.cells):
            discs = float(referee.final_score(self.cells) * (1 if self.black else -1))
            if self.flagged:
                sign = 1 if self.flagged[0] == self.names[0] else -1
                discs = sign * min(sign * discs, -LEAST_LOSS)
            self.result = discs

    def block(self, kind: str) -> list[str]:
        """The board as the service shows it: after ``join`` the start too, with the moves since then."""
        head = f"/os: {kind} {self.id} {self.request.type} K?"
        moves = [f"{number:3}: {move[2:-1]}" for number, move in enumerate(self.moves, 1)]
        now = self._shown({name: self._clock(name) for name in self.names}, self._rows())
        if kind == "update":
            return [head, *moves[-1:], *now]
        counted = f"{len(moves)} move(s)"
        if not moves:
            return [head, counted, "  0: PASS", *now]
        return [head, *self._shown(dict.fromkeys(self.names, self.main), self.start), "", counted, *moves, *now]

    def _clock(self, name: str) -> float:
        return 0.0 if self.pinned and name in self.flagged else self.left[name]

    def _shown(self, left: dict[str, float], position: list[str]) -> list[str]:
        *rows, mover = position
        added = [time_text(seconds) if seconds else "" for seconds in (self.increment, self.extension)]
        sides = [
            f"{name:8} ({rating(name)} {sign}) {time_text(left[name])},0:0/{added[0]}/{added[1]},0:0"
            for name, sign in zip(self.names, "*O", strict=True)
        ]
        squares = [f" {at} {' '.join(row)} {at}" for at, row in enumerate(rows, 1)]
        columns = "   A B C D E F G H"
        return [*sides, "", columns, *squares, columns, "", f"{mover} to move"]

    def record(self) -> str:
        *rows, mover = self.start
        names = f"PB[{self.names[0]}]PW[{self.names[1]}]TI[{self.request.clock}]TY[{self.request.type}]"
        result = f"RE[{self.result or 0.0:+.3f}{':t' if self.flagged else ''}]"
        head = f"GM[Othello]PC[GGS/os]DT[2026.11.25_12:00:00.UTC]{names}{result}"
        return f"(;{head}BO[8 {' '.join(rows)} {mover}]{''.join(self.moves)};)"


class Match:
    """A match of one board or of two. Unless it is ``running`` it is adjourned, and has the id of an archived one."""

    def __init__(self, id: str, request: Request, names: tuple[str, str], boards: list[BoardGame]) -> None:
        self.id, self.request, self.names, self.boards = id, request, names, boards
        self.running = False

    def rename(self, id: str) -> None:
        for board in self.boards:
            board.id = id + board.id.removeprefix(self.id)
        self.id = id

    @property
    def head(self) -> str:
        players = " ".join(f"{rating(name)} {name}" for name in self.names)
        return f"match {self.id} {players} {self.request.type} {self.request.flag}"


class Server:
    """The server, on one event loop. ``overtime`` is how clocks show a soft time-out: ``told`` at once, with a ``jump``
    in the next update, or ``pinned`` at 00:00.
    """

    def __init__(self, overtime: str = "told") -> None:
        self.overtime = overtime
        self.choices = random.Random(1)
        self.users: dict[str, User] = {}
        self.ghosts: set[str] = set()
        """Users whose connection has ended, and who may not yet log in again."""
        self.requests: dict[str, Request] = {}
        self.matches: dict[str, Match] = {}
        self.archive: dict[str, list[str]] = {}
        self.results: list[Result] = []
        self.lines: list[tuple[str, str]] = []
        """All lines of all users, by name."""
        self.refused: list[str] = []
        """Names of logins, and lines, that were refused."""
        self.up = True
        self.on_move: Callable[[BoardGame], None] = lambda board: None
        """What a test does after each move but the last."""
        self._number = 0
        self._conversations: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Server:
        self._listening = await asyncio.start_server(self._converse, "127.0.0.1", 0)
        self.port: int = self._listening.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listening.close()
        for match in tuple(self.matches.values()):
            self._stop(match)
        for task in tuple(self._conversations):
            task.cancel()
        await asyncio.gather(*self._conversations, return_exceptions=True)

    def _next_id(self) -> str:
        self._number += 1
        return f".{self._number}"

    # What tests do

    def drop(self, name: str, ghost: bool = False) -> None:
        """End a user's connection; a ``ghost`` stays logged in until it is taken out of `ghosts`."""
        if ghost:
            self.ghosts.add(name)
        self.users[name].writer.close()

    def service(self, up: bool) -> None:
        """Take the Othello service down, which adjourns the matches, or up."""
        self.up = up
        self.requests.clear()
        for match in tuple(self.matches.values()):
            self._stop(match)
        for user in self.users.values():
            user.tell(f": {'+' if up else '-'} /os 1")

    def tournament(self, type: str, clock: str, names: tuple[str, str]) -> None:
        """Begin a match of a tournament: nobody has asked for it."""
        self._begin(Request(names[0], names[1], type, clock, "T"))

    def elapse(self, board: BoardGame, seconds: float) -> None:
        """Let time pass for the player who has the move."""
        board.since -= seconds
        self._tick(self._match_of(board.id), board)

    # Logins

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._conversations.add(task)
        user = None
        try:
            user = await self._log_in(reader, writer)
            while user and (line := (await reader.readline()).decode().strip()) and line != "quit":
                self.lines.append((user.name, line))
                self._command(user, line)
        except ConnectionError:
            pass
        finally:
            self._conversations.discard(task)
            if user:
                self._left(user)
            writer.close()

    async def _log_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> User | None:
        """Return who has logged in; None, without a word, for a wrong password or a login in use."""
        writer.write(b": Enter login (yours, or one you'd like to use).\r\n")
        name = (await reader.readline()).decode().strip()
        writer.write(b": Enter your password.\r\n")
        password = (await reader.readline()).decode().strip()
        if password != PASSWORD or name in self.users or name in self.ghosts:
            self.refused.append(name)
            return None
        user = self.users[name] = User(name, writer)
        user.tell("A small server \x1b[1mwelcomes\x1b[0m you", "news: none")
        if self.up:
            user.tell(": + /os 1")
        return user

    def _left(self, user: User) -> None:
        del self.users[user.name]
        for match in tuple(self.matches.values()):
            if user.name in match.names and match.running:
                head = match.head
                self._stop(match)
                self._tell_players(match, f"/os: - {head} adjourned {match.id}")
        self._withdraw(user.name)

    # Requests

    def _command(self, user: User, line: str) -> None:
        words = line.split()
        if words[:2] != ["tell", "/os"] or not self.up:
            return
        try:
            match words[2:]:
                case ["trust" | "request" | "client", "+" | "-"]:
                    pass
                case ["rated", "+" | "-" as sign]:
                    user.flag = "R" if sign == "+" else "U"
                case ["open", number]:
                    user.open = int(number)
                case ["ask", id]:
                    match = self._stored(user)[id]
                    (opponent,) = {*match.names} - {user.name}
                    self._ask(match.request._replace(challenger=user.name, opponent=opponent, stored=id))
                case ["ask", type, clock, *opponent]:
                    self._ask(Request(user.name, "".join(opponent), type, clock, user.flag))
                case ["stored"]:
                    stored = self._stored(user)
                    user.tell(f"/os: stored {len(stored)}", *(f"{id} {match.head}" for id, match in stored.items()))
                case ["decline", id]:
                    self._announce("-", id, self.requests.pop(id))
                case ["accept", id]:
                    self._accept(user, id)
                case ["play", id, text]:
                    self._play(user, id, text)
                case ["look", id]:
                    user.tell(f"/os: look {id}", f"{len(self.archive[id])} {''.join(self.archive[id])}")
                case ["continue", *id]:
                    self._continue(user, id)
                case _:
                    raise ValueError("unknown")
        except (KeyError, ValueError):
            self.refused.append(line)
            user.tell(f"/os: error {line}")

    def _ask(self, request: Request) -> None:
        read_clock(request.clock)
        id = self._next_id()
        same = [
            other
            for other, asked in self.requests.items()
            if asked[2:] == request[2:] and (asked.challenger, request.challenger) == (request.opponent, asked.opponent)
        ]
        self.requests[id] = request
        self._announce("+", id, request)
        if same:
            # Two who ask each other for the same have accepted.
            self._accept(self.users[request.challenger], same[0])

    def _announce(self, sign: str, id: str, request: Request) -> None:
        against = f" {rating(request.opponent)} {request.opponent}" if request.opponent else ""
        asked = f"{rating(request.challenger)} {request.challenger} {request.clock} {request.type} {request.flag}"
        line = f"/os: {sign} {id} {asked}{against}"
        for user in self.users.values():
            if not request.opponent or user.name in (request.challenger, request.opponent):
                user.tell(line)

    def _withdraw(self, name: str) -> None:
        """Take back what a user asks for or is asked for."""
        for id in [id for id, request in self.requests.items() if name in request[:2]]:
            self._announce("-", id, self.requests.pop(id))

    def _accept(self, user: User, id: str) -> None:
        request = self.requests[id]
        if request.opponent not in ("", user.name) or request.challenger == user.name:
            raise ValueError(id)
        self._announce("-", id, self.requests.pop(id))
        if request.stored:
            self._resume(self._stored(user)[request.stored])
        else:
            self._begin(request._replace(opponent=user.name))

    def _begin(self, request: Request) -> None:
        names = (request.challenger, request.opponent)
        kind = re.fullmatch(r"(s?)8([bw]?)(?:r(\d+))?", request.type)
        if not kind:
            raise ValueError(request.type)
        cells, black = self._start(int(kind[3] or 4))
        match_id = self._next_id()
        first_is_black = kind[2] == "b" or (not kind[2] and self.choices.random() < 0.5)
        orders = [names if first_is_black else names[::-1]]
        ids = [match_id]
        if kind[1]:
            orders.append(orders[0][::-1])
            ids = [f"{match_id}.0", f"{match_id}.1"]
        pinned = self.overtime == "pinned"
        boards = [BoardGame(id, order, request, cells, black, pinned) for id, order in zip(ids, orders, strict=True)]
        self._run(Match(match_id, request, names, boards))

    def _start(self, discs: int) -> tuple[referee.Cells, bool]:
        """A position of that many discs, reached by moves at random, in which the mover has one."""
        cells, black = referee.start(), True
        while referee.empties(cells) > 64 - discs or not referee.legal_moves(cells):
            if referee.game_over(cells):
                return self._start(discs)
            moves = referee.legal_moves(cells)
            cells = referee.play(cells, self.choices.choice(moves)) if moves else referee.passed(cells)
            black = not black
        return cells, black

    # Matches

    def _tell_players(self, match: Match, *lines: str) -> None:
        for name in match.names:
            if name in self.users:
                self.users[name].tell(*lines)

    def _match_of(self, board: str) -> Match:
        return self.matches[f".{board.split('.')[1]}"]

    def _run(self, match: Match) -> None:
        """Let a match begin or go on."""
        self.matches[match.id] = match
        match.running = True
        for name in match.names:
            playing = [other for other in self.matches.values() if other.running and name in other.names]
            if len(playing) >= self.users[name].open:
                self._withdraw(name)
        self._tell_players(match, f"/os: + {match.head}")
        for board in match.boards:
            if board.result is None:
                self._tell_players(match, *board.block("join"))
                self._turn(match, board)

    def _turn(self, match: Match, board: BoardGame) -> None:
        board.since = asyncio.get_running_loop().time()
        self._tick(match, board)

    def _spend(self, board: BoardGame) -> None:
        """Take the time that has passed off the mover's clock."""
        now = asyncio.get_running_loop().time()
        board.left[board.mover] -= now - board.since
        board.since = now
        if board.timer:
            board.timer.cancel()

    def _tick(self, match: Match, board: BoardGame) -> None:
        """Let the mover's clock run on from now, unless a time-out has ended the game."""
        self._spend(board)
        mover = board.mover
        if board.left[mover] <= 0 and mover not in board.flagged:
            board.flagged.append(mover)
            board.left[mover] += board.extension
            if board.left[mover] > 0 and self.overtime == "told":
                self._tell_players(match, *board.block("update"))
        if board.left[mover] > 0:
            board.timer = asyncio.get_running_loop().call_later(board.left[mover], self._tick, match, board)
        else:
            board.result = -FULL_LOSS if board.black else FULL_LOSS
            self._ended(match, board)

    def _play(self, user: User, id: str, text: str) -> None:
        match = self._match_of(id)
        board = next(board for board in match.boards if board.id == id)
        if not match.running or board.result is not None or board.mover != user.name:
            raise ValueError("not your turn")
        self._tick(match, board)
        if board.result is not None:
            return
        board.play(text)
        board.left[user.name] += board.increment
        if board.timer:
            board.timer.cancel()
        self._tell_players(match, *board.block("update"))
        if board.result is None:
            self._turn(match, board)
            self.on_move(board)
        else:
            self._ended(match, board)

    def _ended(self, match: Match, board: BoardGame) -> None:
        if len(match.boards) > 1:
            self._tell_players(match, f"/os: end {board.id} ( {' vs. '.join(board.names)} ) {board.result:+.2f}")
        results = [(board.names[0], board.result) for board in match.boards if board.result is not None]
        if len(results) < len(match.boards):
            return
        discs = sum(discs if black == match.names[0] else -discs for black, discs in results) / len(results)
        flagged = frozenset(name for board in match.boards for name in board.flagged)
        self.results.append(Result(match.names, match.request.type, discs, flagged))
        archived = self._next_id()
        self.archive[archived] = [board.record() for board in match.boards]
        del self.matches[match.id]
        self._tell_players(match, f"/os: - {match.head} {discs:+.2f} {archived}")

    # Adjourned matches

    def _stop(self, match: Match) -> None:
        if match.running:
            match.running = False
            self._renumber(match)
            for board in match.boards:
                if board.result is None:
                    self._spend(board)

    def _stored(self, user: User) -> dict[str, Match]:
        """The adjourned matches of a user."""
        return {id: match for id, match in self.matches.items() if user.name in match.names and not match.running}

    def _continue(self, user: User, ids: list[str]) -> None:
        stored = self._stored(user)
        for match in [stored[id] for id in ids] or [*stored.values()]:
            if set(match.names) <= set(self.users):
                self._resume(match)

    def _resume(self, match: Match) -> None:
        """Go on with a match under a number of its own, as a new one has."""
        self._renumber(match)
        self._run(match)

    def _renumber(self, match: Match) -> None:
        del self.matches[match.id]
        match.rename(self._next_id())
        self.matches[match.id] = match


def rating(name: str) -> str:
    return RATINGS.get(name, OTHER_RATING)


def read_clock(text: str) -> list[float]:
    """Seconds of the three parts of ``main/increment/extension``; ValueError for other text."""
    parts = [*text.split("/"), "", ""][:3]
    return [float(sum(int(n) * 60**at for at, n in enumerate(part.split(":")[::-1]))) if part else 0 for part in parts]


def time_text(seconds: float) -> str:
    minutes, seconds = divmod(max(0, int(seconds)), 60)
    return f"{minutes:02}:{seconds:02}"
