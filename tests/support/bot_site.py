"""A small site that says what PlayStrategy says to bots: accounts, challenges, games against a random player.

It keeps the rules and the clocks itself. A move is ``P@`` and a square with ranks counted from below; a pass, also the
other player's, is a move of its own that comes a moment later, and a game ends with the second pass in a row or on a
full board. A rematch is a challenge with the id of the finished game, and its own game has another. Broken streams,
refusals to slow down and requests that are never answered can be asked for.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import referee

TOKEN = "secret-word"


class Game:
    """A game between the bot and the random player; the side that moves first is p1."""

    def __init__(self, name: str, bot_first: bool, seconds: float, seed: int) -> None:
        self.name, self.bot_first = name, bot_first
        self.cells = referee.start()
        self.first_moves = True
        """The side that moves first is to move."""
        self.moves: list[str] = []
        self.left = [seconds, seconds]
        self.status, self.winner = "started", ""
        self.since = time.monotonic()
        self.news = threading.Condition()
        self.random = random.Random(seed)
        self.refused = 0
        if not bot_first:
            self.reply()

    @property
    def shown(self) -> str:
        """For the message of a test that fails."""
        clocks = ", ".join(f"{left:.1f} s" for left in self.left)
        turn = "the bot" if self.bots_turn else "Ann"
        return f"{self.name}: {self.status}, {len(self.moves)} moves, {turn} to move, {clocks}, {self.refused} refused"

    @property
    def bots_turn(self) -> bool:
        return self.first_moves == self.bot_first

    def written(self, move: int | None) -> str:
        """As the site writes a move: a pass from the lowest own disc to itself."""
        if move is None:
            return self.text(min(at ^ 56 for at in range(64) if self.cells[at // 8][at % 8] == referee.MINE)) * 2
        return f"P@{self.text(move ^ 56)}"

    @staticmethod
    def text(square: int) -> str:
        return f"{'abcdefgh'[square % 8]}{square // 8 + 1}"

    def options(self) -> dict[str, int | None]:
        moves: list[int | None] = list(referee.legal_moves(self.cells))
        return {self.written(move): move for move in moves or [None]}

    def play(self, text: str) -> tuple[int, str]:
        """The bot's move: the status of the answer, and what is wrong with it or ""."""
        with self.news:
            if not re.fullmatch(r"P@[a-h][1-8]|([a-h][1-8])\1", text):
                found = 500, "Something went wrong."
            elif self.status != "started" or not self.bots_turn:
                found = 400, "Not your turn, or game already over"
            elif text not in self.options():
                found = 400, "Invalid move"
            else:
                self.make(text)
                self.news.notify_all()
                return 200, ""
            self.refused += 1
            return found

    def reply_soon(self) -> None:
        """Ann's move, after her state has been shown."""
        time.sleep(0.02)
        with self.news:
            if self.status == "started" and not self.bots_turn:
                self.reply()
                self.news.notify_all()

    def reply(self) -> None:
        self.make(self.random.choice(sorted(self.options())))

    def make(self, text: str) -> None:
        now = time.monotonic()
        side = 0 if self.first_moves else 1
        self.left[side] -= now - self.since
        self.since = now
        if self.left[side] < 0:
            self.status, self.winner = "outoftime", "p2" if side == 0 else "p1"
            return
        move = self.options()[text]
        self.cells = referee.passed(self.cells) if move is None else referee.play(self.cells, move)
        self.first_moves = not self.first_moves
        self.moves.append(text)
        passed_twice = [one[:2] == one[2:] for one in self.moves[-2:]] == [True, True]
        if passed_twice or not referee.empties(self.cells) or len({cell for row in self.cells for cell in row}) < 3:
            first = referee.final_score(self.cells) * (1 if self.first_moves else -1)
            self.status, self.winner = ("variantEnd", "p1" if first > 0 else "p2") if first else ("draw", "")

    def state(self) -> dict[str, Any]:
        times = {"wtime": int(1000 * self.left[0]), "btime": int(1000 * self.left[1]), "winc": 0, "binc": 0}
        state = {"type": "gameState", "moves": " ".join(self.moves), **times, "status": self.status}
        return {**state, "winner": self.winner} if self.winner else state

    def full(self) -> dict[str, Any]:
        bot, other = {"id": "thebot", "name": "TheBot", "title": "BOT"}, {"id": "ann", "name": "Ann"}
        first, second = (bot, other) if self.bot_first else (other, bot)
        return {
            "type": "gameFull",
            "id": self.name,
            "variant": {"key": "flipello", "name": "Othello"},
            "clock": {"initial": 60000, "increment": 0},
            "p1": first,
            "p2": second,
            "initialFen": "startpos",
            "state": self.state(),
        }


class Site:
    """The site. ``breaks``: every stream ends abruptly after this many lines, 0 for never."""

    def __init__(
        self,
        *,
        breaks: int = 0,
        cleanly: bool = False,
        slow_down: int = 0,
        retry_after: str = "",
        seconds: float = 600.0,
        unanswered: str = "",
    ) -> None:
        self.breaks, self.slow_down, self.seconds = breaks, slow_down, seconds
        self.retry_after = retry_after
        """What a refusal to slow down says; "" for nothing."""
        self.unanswered = unanswered
        """A pattern of the paths of posts that are never answered; "" for none."""
        self.ended = threading.Event()
        self.cleanly = cleanly
        """Streams end between two lines, not in the middle of one."""
        self.title = "BOT"
        self.games: dict[str, Game] = {}
        self.users: dict[str, dict[str, Any]] = {}
        """Users who are online, by id."""
        self.willing: set[str] = set()
        """Those who accept a challenge; others decline it."""
        self.offered: list[tuple[str, str]] = []
        """The bot's challenges: to whom, and the form."""
        self.refused: list[str] = []
        self.slow_answers_s = 0.0
        """How long the answer to a challenge takes."""
        self.waiting: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.declined: dict[str, str] = {}
        self.posts = 0
        self.news = threading.Condition(threading.RLock())
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"site": self}))
        self.server.daemon_threads = True

    def __repr__(self) -> str:
        return "\n".join(game.shown for game in self.games.values() if game.status == "started")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    @contextmanager
    def running(self) -> Iterator[Site]:
        thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.ended.set()
            self.server.shutdown()
            thread.join()
            self.server.server_close()

    def challenge(self, name: str, **changes: Any) -> None:
        challenge = {
            "id": name,
            "status": "created",
            "challenger": {"id": "ann", "name": "Ann", "title": None},
            "variant": {"key": "flipello", "name": "Othello"},
            "rated": False,
            "timeControl": {"type": "clock", "limit": 300, "increment": 0},
            **changes,
        }
        with self.news:
            self.waiting.append(challenge)
            self.news.notify_all()

    def events(self) -> list[dict[str, Any]]:
        """What a new stream of events begins with: games that go on, and challenges."""
        running = [
            {"type": "gameStart", "game": {"id": name, "compat": {"bot": True, "board": True}}}
            for name, game in self.games.items()
            if game.status == "started"
        ]
        declined = [{"type": "challengeDeclined", "challenge": {"id": name}} for name in self.refused]
        return running + declined + [{"type": "challenge", "challenge": challenge} for challenge in self.waiting]

    def offer(self, user: str, form: str) -> dict[str, Any]:
        with self.news:
            self.offered.append((user, form))
            name = f"offer{len(self.offered)}"
            if user in self.willing:
                self.start(name)
            else:
                self.refused.append(name)
            self.news.notify_all()
        return {"challenge": {"id": name, "status": "created"}}

    def accept(self, name: str) -> bool:
        with self.news:
            if not any(challenge["id"] == name for challenge in self.waiting):
                return False
            self.waiting = [challenge for challenge in self.waiting if challenge["id"] != name]
            self.start(f"{name}again" if name in self.games else name)
        return True

    def start(self, name: str) -> None:
        """Start a game, also without a challenge."""
        with self.news:
            number = len(self.games)
            self.games[name] = Game(name, number % 2 == 0, self.seconds, number)
            self.news.notify_all()

    def decline(self, name: str, reason: str) -> bool:
        with self.news:
            self.waiting = [challenge for challenge in self.waiting if challenge["id"] != name]
            self.declined[name] = reason
            self.news.notify_all()
        return True


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def log_message(self, *_: object) -> None:
        return

    def do_GET(self) -> None:
        site = self.site
        site.asked.append(self.path)
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.answer(401, {"error": "No such token"})
        elif self.path == "/api/account":
            self.answer(200, {"id": "thebot", "title": site.title} if site.title else {"id": "thebot"})
        elif self.path == "/api/bot/online":
            self.answer(200, *site.users.values())
        elif found := re.fullmatch(r"/api/user/(\w+)", self.path):
            self.answer(200, site.users[found[1]])
        elif self.path == "/api/stream/event":
            self.stream_events()
        elif found := re.fullmatch(r"/api/bot/game/stream/(\w+)", self.path):
            self.stream_game(site.games[found[1]])
        else:
            self.answer(404, {"error": "Not found."})

    def do_POST(self) -> None:
        site = self.site
        body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        site.posts += 1
        if site.slow_down and site.posts % site.slow_down == 0:
            self.answer(429, {"error": "Too many requests"}, retry_after=site.retry_after)
            return
        path = unquote(self.path)
        if site.unanswered and re.search(site.unanswered, path):
            site.ended.wait()
            return
        if found := re.fullmatch(r"/api/challenge/(\w+)/(accept|decline)", path):
            reason = body.partition("reason=")[2]
            done = site.accept(found[1]) if found[2] == "accept" else site.decline(found[1], reason)
        elif found := re.fullmatch(r"/api/bot/game/(\w+)/move/(\S+)", path):
            game = site.games[found[1]]
            status, error = game.play(found[2])
            self.answer(status, {"error": error} if error else {"ok": True})
            if not error:
                game.reply_soon()
            return
        elif found := re.fullmatch(r"/api/challenge/(\w+)", path):
            answer = site.offer(found[1], body)
            # What becomes of a challenge may be told before the challenge is.
            time.sleep(site.slow_answers_s)
            self.answer(200, answer)
            return
        elif path == "/api/bot/account/upgrade":
            site.title, done = "BOT", True
        else:
            done = False
        self.answer(200 if done else 400, {"ok": True} if done else {"error": "it cannot be done"})

    def answer(self, status: int, *data: dict[str, Any], retry_after: str = "") -> None:
        body = b"".join(json.dumps(one).encode() + b"\n" for one in data)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(body)

    def begin(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.left = self.site.breaks

    def line(self, data: dict[str, Any] | None) -> bool:
        """Write a line of a stream, an empty one to keep it alive. Returns False when the stream is to break."""
        text = json.dumps(data) + "\n" if data else "\n"
        self.left -= 1
        broken = self.left == 0
        try:
            self.wfile.write(text[: len(text) // 2 if broken and not self.site.cleanly else None].encode())
            self.wfile.flush()
        except OSError:
            return False
        return not broken

    def stream_events(self) -> None:
        self.begin()
        told: set[tuple[str, str]] = set()
        """What goes on and has been told of; an id may come again, with a rematch."""
        while True:
            with self.site.news:
                events = self.site.events()
            shown = {(event["type"], event.get("game", event.get("challenge"))["id"]): event for event in events}
            for event in (event for which, event in shown.items() if which not in told):
                if not self.line(event):
                    return
            told = {*shown}
            if not self.line(None):
                return
            with self.site.news:
                self.site.news.wait(0.1)

    def stream_game(self, game: Game) -> None:
        self.begin()
        with game.news:
            message, shown = game.full(), len(game.moves)
        while True:
            if not self.line(message):
                return
            with game.news:
                if game.status == "started":
                    game.news.wait(0.2)
                elif message and message.get("status", message.get("state", {}).get("status")) != "started":
                    return
                moved = len(game.moves) != shown or game.status != "started"
                message, shown = (game.state() if moved else None), len(game.moves)
