"""The part of a Generic Game Server that one player meets: "bob", who asks for matches and plays at random.

It has no clocks; `out_of_time` says that one has run out. The rules are those of `referee`.
"""

from __future__ import annotations

import asyncio
import random
import re

import referee

PASSWORD = "secret-word"
CLOCK = "05:00/00:02/02:00"


class BoardGame:
    """A board of the match, with Black's and White's names."""

    def __init__(self, id: str, names: tuple[str, str], cells: referee.Cells, black: bool) -> None:
        self.id, self.names = id, names
        self.cells, self.black = cells, black
        self.start = self._rows()
        self.moves: list[str] = []

    @property
    def mover(self) -> str:
        return self.names[not self.black]

    @property
    def over(self) -> bool:
        return referee.game_over(self.cells)

    @property
    def result(self) -> int:
        """Black's discs more than White's."""
        return referee.final_score(self.cells) * (1 if self.black else -1)

    def _rows(self) -> list[str]:
        signs = {1: "*" if self.black else "O", -1: "O" if self.black else "*", 0: "-"}
        return ["".join(signs[cell] for cell in row) for row in self.cells] + ["*" if self.black else "O"]

    def play(self, text: str) -> None:
        """Play a move, in the form ``f5/1.50/3.25``, or raise ValueError."""
        move = text.partition("/")[0]
        if (move == "pa") != (not referee.legal_moves(self.cells)):
            raise ValueError(text)
        self.cells = referee.passed(self.cells) if move == "pa" else referee.play(self.cells, referee.square(move))
        self.moves.append(f"{'B' if self.black else 'W'}[{text}]")
        self.black = not self.black

    def block(self, kind: str, type: str) -> list[str]:
        """The board as the service shows it."""
        *rows, mover = self._rows()
        clock = CLOCK.replace("/", ",0:0/") + ",0:0"
        last = f"{len(self.moves):3}: {self.moves[-1][2:-1]}" if self.moves else "  0: PASS"
        sides = [f"{name:8} (1720.0 {sign}) {clock}" for name, sign in zip(self.names, "*O", strict=True)]
        squares = [f" {at} {' '.join(row)} {at}" for at, row in enumerate(rows, 1)]
        columns = "   A B C D E F G H"
        head = [f"/os: {kind} {self.id} {type} K?", f"{len(self.moves)} move(s)", last]
        return [*head, *sides, "", columns, *squares, columns, "", f"{mover} to move"]

    def record(self, type: str) -> str:
        *rows, mover = self.start
        names = f"PB[{self.names[0]}]PW[{self.names[1]}]RE[{self.result:+.3f}]"
        head = f"GM[Othello]PC[GGS/os]DT[2026.11.25_12:00:00.UTC]{names}TY[{type}]"
        return f"(;{head}BO[8 {' '.join(rows)} {mover}]{''.join(self.moves)};)"


class Server:
    """The server, on one event loop; bob asks for matches of ``type`` whenever the player is open for one."""

    def __init__(self, type: str = "", drop_at: int = 0) -> None:
        self.type, self.drop_at = type, drop_at
        self.choices = random.Random(1)
        self.lines: list[str] = []
        self.refused: list[str] = []
        self.results: list[float] = []
        self.boards: list[BoardGame] = []
        self.connected = 0
        self._opened = 0
        self._writer: asyncio.StreamWriter | None = None
        self._conversations: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Server:
        self._listening = await asyncio.start_server(self._converse, "127.0.0.1", 0)
        self.port: int = self._listening.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listening.close()
        for task in tuple(self._conversations):
            task.cancel()
        await asyncio.gather(*self._conversations, return_exceptions=True)

    def tell(self, *lines: str) -> None:
        """Send a block."""
        assert self._writer
        text = "".join(f"{line}\r\n" for line in (lines[0], *(f"|{line}" for line in lines[1:]), "READY"))
        self._writer.write(text.encode())

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._conversations.add(task)
        try:
            given = [b": Enter login (yours, or one you'd like to use).\r\n", b": Enter your password.\r\n"]
            name, password = "", ""
            while password != PASSWORD or self.connected:
                if name:
                    self.refused.append(name)
                writer.write(given[0])
                name = (await reader.readline()).decode().strip()
                writer.write(given[1])
                password = (await reader.readline()).decode().strip()
                if not password:
                    return
            self.connected, self._opened, self._writer = 1, 0, writer
            self.tell("A small server \x1b[1mwelcomes\x1b[0m you", "news: none")
            self.tell(": + /os 1")
            while (line := (await reader.readline()).decode().strip()) and line != "quit":
                self.lines.append(line)
                self._command(line.split())
        except ConnectionError:
            pass
        finally:
            self._conversations.discard(task)
            if self._writer is writer:
                self.connected, self._writer = 0, None
            writer.close()

    def _command(self, words: list[str]) -> None:
        match words:
            case ["tell", "/os", "open", "1"]:
                # After the login, and once the player hears that the service is there.
                self._opened += 1
                if self._opened > 1 and self.type and not self.boards:
                    self.tell(f"/os: + .1 1720.0 bob {CLOCK} {self.type} U 1720.0 alice")
            case ["tell", "/os", "accept", ".1"]:
                self._begin()
            case ["tell", "/os", "ask", self.type, _, "bob"]:
                self._begin()
            case ["tell", "/os", "continue", ".3"]:
                self._join()
            case ["tell", "/os", "play", id, text]:
                board = next(board for board in self.boards if board.id == id)
                assert board.mover == "alice"
                self._played(board, text)
            case ["tell", "/os", "look", ".9"]:
                games = [board.record(self.type) for board in self.boards]
                self.boards = []
                self.tell("/os: look .9", f"{len(games)} {''.join(games)}")

    def _head(self) -> str:
        return f"match .3 1720.0 alice 1650.0 bob {self.type} U"

    def _begin(self) -> None:
        kind = re.fullmatch(r"(s?)8([bw]?)(?:r(\d+))?", self.type)
        assert kind
        cells, black = referee.start(), True
        for _ in range(int(kind[3] or 4) - 4):
            moves = referee.legal_moves(cells)
            cells = referee.play(cells, self.choices.choice(moves)) if moves else referee.passed(cells)
            black = not black
        ids = (".3.0", ".3.1") if kind[1] else (".3",)
        orders = (("bob", "alice"), ("alice", "bob")) if kind[2] != "w" else (("bob", "alice"),)
        self.boards = [BoardGame(id, names, cells, black) for id, names in zip(ids, orders, strict=False)]
        self._join()

    def _join(self) -> None:
        self.tell(f"/os: + {self._head()}")
        for board in self.boards:
            self.tell(*board.block("join", self.type))
            if board.mover == "bob" and not board.over:
                self._reply(board)

    def _reply(self, board: BoardGame) -> None:
        moves = referee.legal_moves(board.cells)
        self._played(board, f"{referee.name(self.choices.choice(moves)) if moves else 'pa'}/0.00/0.25")

    def _played(self, board: BoardGame, text: str) -> None:
        board.play(text)
        if len(board.moves) == self.drop_at and self._writer:
            self.drop_at = 0
            self._writer.close()
            return
        self.tell(*board.block("update", self.type))
        if all(board.over for board in self.boards):
            self._end(sum(board.result * (1 if board.names[0] == "alice" else -1) for board in self.boards))
        elif board.mover == "bob" and not board.over:
            self._reply(board)

    def _end(self, discs: float) -> None:
        self.results.append(discs / len(self.boards))
        self.tell(f"/os: - {self._head()} {self.results[-1]:+.2f} .9")

    def out_of_time(self) -> None:
        """Say that alice has lost by time."""
        self._end(-64)
