"""The bot against a small site: challenges, whole games, broken streams, requests to slow down, restarts."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bot_site import TOKEN, Site
from held_pipe import full_pipe
from pretended_players import fake

from desdaemon.clients.bot import api
from desdaemon.clients.bot.bot import Bot, _Game
from desdaemon.clients.bot.messages import BotTurn, Rules, Seeking
from desdaemon.clients.programs.engine_process import command_of
from desdaemon.clients.programs.engine_protocols import EngineClient, start_player
from desdaemon.clients.programs.process_groups import ProcessGroups
from desdaemon.protocol.games.bases import read_games
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello.notation import START
from desdaemon.protocol.othello.rules import squares

WAIT_S = 120


def until(condition: Callable[[], bool], bot: subprocess.Popen[str] | None = None, told: object = "") -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, told
        assert bot is None or bot.poll() is None, bot.stderr.read() if bot.stderr else ""
        time.sleep(0.02)


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "bot.token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o600)
    return path


@contextmanager
def running(site: Site, token: Path, *options: str, says: int = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "desdaemon", "bot", str(token), "--server", site.url, *options]
    bot = subprocess.Popen(command, stderr=says, stdin=subprocess.DEVNULL, text=True)
    try:
        yield bot
    finally:
        bot.kill()
        bot.communicate()


def finished(site: Site) -> int:
    return sum(game.status != "started" for game in list(site.games.values()))


def answered(site: Site, name: str) -> bool:
    """The game of a challenge is over, or it was declined."""
    return name in site.declined or (name in site.games and site.games[name].status != "started")


def play(site: Site, token: Path, games: int, *options: str, at_once: int = 1) -> str:
    """Play that many games, ``at_once`` at a time, and end the bot; returns what it said."""
    options = ("--accept", "people", "--engine", "self -l 1", "--most", str(at_once), *options)
    with site.running(), running(site, token, *options) as bot:
        challenges = itertools.count()
        while finished(site) < games:
            names = [f"game{next(challenges)}" for _ in range(at_once)]
            for name in names:
                site.challenge(name)
            # The site may know of the end of a game before the bot does.
            for name in names:
                until(partial(answered, site, name), bot, site)
        bot.send_signal(signal.SIGTERM)
        said = bot.communicate(timeout=WAIT_S)[1]
    assert bot.returncode == 0, said
    assert [game.shown for game in site.games.values() if game.status not in ("variantEnd", "draw")] == [], said
    return said


@pytest.mark.posix
def test_games_with_either_colour_are_played_to_their_end(tmp_path: Path, token: Path) -> None:
    """No move is sent out of turn: a pass of either side is a move of its own."""
    site = Site()
    with site.news:
        site.challenge("nobody", challenger=None)
    said = play(site, token, 4, "--games", str(tmp_path / "games.pgn"))
    assert site.declined["nobody"] == "noAnon"
    assert "ann's challenge: accepted" in said
    assert [game.bot_first for game in site.games.values()] == [True, False] * 2
    assert any(move[:2] == move[2:] for game in site.games.values() for move in game.moves)
    games = list(read_games(str(tmp_path / "games.pgn")))
    assert [(game.record.black, game.record.white) for game in games] == [("TheBot", "Ann"), ("Ann", "TheBot")] * 2
    assert all(game.record.final.over for game in games)
    assert [game.refused for game in site.games.values()] == [0] * 4


@pytest.mark.posix
@pytest.mark.parametrize("cleanly", [False, True])
def test_streams_that_end_are_asked_for_again_after_a_pause(token: Path, cleanly: bool) -> None:
    """Every stream ends in the middle of its twelfth line or after it, while two games run."""
    site = Site(breaks=12, cleanly=cleanly)
    said = play(site, token, 2, at_once=2)
    assert not site.declined
    assert sum("/api/bot/game/stream" in path for path in site.asked) > 1
    assert "trying again in 1 s" in said


@pytest.mark.posix
def test_the_bot_slows_down_when_the_site_says_so(
    token: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In this process, where a minute can be made short."""

    monkeypatch.setattr(api, "SLOW_DOWN_S", 0.05)
    site = Site(slow_down=2)
    lines: list[str] = []
    with site.running():
        client = api.Api(site.url, TOKEN, lines.append, threading.Event())
        site.challenge("one")
        site.challenge("two")
        for name in ("one", "two"):
            client.post(f"/api/challenge/{name}/decline", {"reason": "later"})
    assert site.declined == {"one": "later", "two": "later"}
    assert site.posts == 3
    assert len(lines) == 1
    assert "told to slow down" in lines[0]


@pytest.mark.parametrize(("said", "pause"), [("7", "7 s"), ("0", "1 s"), ("9999999", "600 s"), ("soon", "60 s")])
def test_it_slows_down_for_as_long_as_the_site_says(said: str, pause: str) -> None:
    site, lines, closing = Site(slow_down=1, retry_after=said), list[str](), threading.Event()

    def tell(line: str) -> None:
        lines.append(line)
        closing.set()

    with site.running():
        client = api.Api(site.url, TOKEN, tell, closing)
        with pytest.raises(InterruptedError):
            client.post("/api/challenge/one/decline")
    assert lines == [f"127.0.0.1: told to slow down: trying again in {pause}"]


@pytest.mark.posix
def test_challenges_beyond_the_number_of_games_come_later(token: Path) -> None:
    site = Site()
    # Before the bot comes: by the second one the first game might be over.
    site.challenge("first")
    site.challenge("second")
    site.challenge("chess", variant={"key": "standard"})
    with site.running(), running(site, token, "--accept", "people", "--engine", "self -l 1") as bot:
        until(lambda: len(site.declined) == 2, bot)
    assert site.declined == {"second": "later", "chess": "variant"}


@pytest.mark.posix
def test_no_challenge_is_accepted_without_a_rule(token: Path) -> None:
    site = Site()
    with site.running(), running(site, token) as bot:
        site.challenge("first")
        until(lambda: bool(site.declined), bot)
    assert not site.games


@pytest.mark.posix
def test_a_game_is_taken_up_after_a_kill(token: Path) -> None:
    site = Site()
    with site.running():
        options = ("--accept", "people", "--engine", "self -l 1")
        with running(site, token, *options) as bot:
            site.challenge("first")
            until(lambda: bool(site.games) and len(site.games["first"].moves) > 5, bot)
        with running(site, token, *options) as bot:
            until(lambda: finished(site) == 1, bot)
    assert site.games["first"].status != "outoftime"


@pytest.mark.posix
def test_an_account_of_a_person_is_made_a_bot_only_when_told(token: Path) -> None:
    site = Site()
    site.title = ""
    with site.running():
        with running(site, token) as bot:
            assert bot.wait(WAIT_S) == 1
            assert bot.stderr
            assert "is not a bot's account" in bot.stderr.read()
        with running(site, token, "--upgrade", "--accept", "people") as bot:
            until(lambda: site.title == "BOT", bot)


@pytest.mark.posix
def test_a_wrong_token_ends_the_program(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("wrong")
    path.chmod(0o600)
    site = Site()
    with site.running(), running(site, path) as bot:
        assert bot.wait(WAIT_S) == 1
        assert bot.stderr
        assert "No such token" in bot.stderr.read()


@pytest.mark.posix
@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_token_that_others_may_read_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from desdaemon.clients.bot.bot import main

    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o644)
    with pytest.raises(SystemExit, match="2"):
        main([str(path)])
    assert "others may read this token" in capsys.readouterr().err
    path.chmod(0o600)
    path.write_text("sch\u00f6n")
    with pytest.raises(SystemExit, match="2"):
        main([str(path)])
    assert "expected a token of ASCII" in capsys.readouterr().err
    path.write_text(TOKEN)
    with pytest.raises(SystemExit, match="2"):
        main([str(path), "--server", "http://example.org"])
    assert "expected https" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([str(path), "--server", "https://example.org:99999"])
    assert "expected https" in capsys.readouterr().err


TOLD_LEFT = {
    "gtp": r"time_left black ([\d.]+) 0",
    "nboard": r"set game .*TI\[0:([\d.]+)",
    "text": r"game-time ([\d.]+)",
}


@pytest.mark.parametrize("protocol", list(TOLD_LEFT))
def test_an_engine_is_told_the_site_s_clock_before_each_move(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Less what is kept back, and less what its start took."""
    log = tmp_path / "log"
    now = 0.0
    monkeypatch.setattr("desdaemon.clients.bot.bot.time", SimpleNamespace(perf_counter=lambda: now))

    def start() -> EngineClient:
        nonlocal now
        now += 3.0
        return start_player(command_of(fake(protocol)), protocol, log=log)

    game = _Game(api.Api("https://localhost", TOKEN, print, threading.Event()), "one", "thebot", start)
    moves: tuple[PlayedMove, ...] = ()
    for left_ms in (60_000.0, 40_000.0, 500.0):
        moves += (PlayedMove(game._chosen(BotTurn(GameRecord(START, moves), left_ms)), 0.0),)
        moves += (PlayedMove(squares(GameRecord(START, moves).final.moves)[0], 0.0),)
    assert game._player
    game._player.close()
    told = [float(found) for found in re.findall(TOLD_LEFT[protocol], log.read_text())]
    assert told == [56.5, 39.5, 0.1]


class Script(api.Api):
    """The site as a list of what its streams say; posts are noted in ``posts``, and answered by ``refuse``."""

    def __init__(
        self, streams: dict[str, list[dict[str, Any]]], refuse: Callable[[str], str] = lambda path: ""
    ) -> None:
        super().__init__("https://localhost", TOKEN, print, threading.Event())
        self.streams, self.refuse = streams, refuse
        self.posts: list[str] = []

    def get(self, path: str) -> Any:
        return {"id": "thebot", "title": "BOT"}

    def post(self, path: str, form: Mapping[str, str] | None = None) -> None:
        self.posts.append(path + "".join(f" {value}" for value in (form or {}).values()))
        if said := self.refuse(path):
            raise api.ApiRefusal(400, said)

    def lines(self, path: str) -> Iterator[dict[str, Any]]:
        yield from self.streams[path]
        raise InterruptedError


def states(*moves: str, end: str = "") -> list[dict[str, Any]]:
    """The stream of a game in which the bot has Black: its state after each of these moves, written together."""
    times = {"wtime": 60_000, "btime": 60_000}
    said: list[dict[str, Any]] = [{"type": "gameState", "moves": one, **times, "status": "started"} for one in moves]
    players = {"p1": {"id": "thebot", "name": "TheBot"}, "p2": {"id": "ann", "name": "Ann"}}
    said[0] = {"type": "gameFull", "variant": {"key": "flipello"}, **players, "state": said[0]}
    return said + ([{**said[-1], "type": "gameState", "moves": moves[-1], "status": end}] if end else [])


def scripted(script: Script, *, engine: str = "first", games: str = "", most: int = 1) -> Bot:
    """A bot that accepts people; its engine plays the first or last legal move in reading order."""
    return Bot(script, Rules(people=True), command_of(fake("gtp", engine)), "gtp", ProcessGroups(), most, games)


def heard(bot: Bot) -> None:
    """Let the bot hear all that its script says, and its games end."""
    with pytest.raises(InterruptedError):
        bot.run()
    bot.finish()


EVENTS, GAME = "/api/stream/event", "/api/bot/game/stream/one"
START_ONE = {"type": "gameStart", "game": {"id": "one"}}


def test_a_move_is_not_thought_about_again_when_its_state_comes_again(tmp_path: Path) -> None:
    """As it does where a draw is offered."""
    script = Script({EVENTS: [START_ONE], GAME: states("", "", "P@d6", "P@d6 P@c6", "P@d6 P@c6", end="resign")})
    heard(scripted(script))
    assert len([path for path in script.posts if "/move/" in path]) == 2


def test_a_first_move_whose_answer_is_lost_does_not_end_the_game(tmp_path: Path) -> None:
    """It is sent again and refused."""
    played = ["P@d6", "P@d6 P@c6"]
    script = Script(
        {EVENTS: [START_ONE], GAME: states("", *played, end="resign")},
        lambda path: "Not your turn" if "/move/" in path and len(script.posts) <= 1 else "",
    )
    heard(scripted(script, games=str(tmp_path / "games.txt")))
    assert len(script.posts) == 2
    assert [len(game.record.moves) for game in read_games(str(tmp_path / "games.txt"))] == [2]


def test_an_engine_that_fails_resigns_and_the_game_is_kept(tmp_path: Path) -> None:
    """The third time that it fails at one move."""
    script = Script({EVENTS: [START_ONE], GAME: states("P@d6 P@c6", end="resign")})
    heard(scripted(script, engine="crash", games=str(tmp_path / "games.txt")))
    assert script.posts == ["/api/bot/game/one/resign"]
    assert len(list(read_games(str(tmp_path / "games.txt")))) == 1


def challenge(name: str) -> dict[str, Any]:
    return {
        "type": "challenge",
        "challenge": {
            "id": name,
            "challenger": {"id": "ann", "name": "Ann", "title": None},
            "variant": {"key": "flipello"},
            "rated": False,
            "timeControl": {"type": "clock", "limit": 300, "increment": 0},
        },
    }


def test_a_game_that_never_begins_keeps_its_place_for_a_while_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a rematch, whose game has another id than what was accepted, or an aborted game."""
    now = 0.0

    def events() -> Iterator[dict[str, Any]]:
        nonlocal now
        for name in ("a", "b", "c"):
            yield challenge(name)
            now += 20

    monkeypatch.setattr("desdaemon.clients.bot.bot.time", SimpleNamespace(monotonic=lambda: now))
    script = Script({EVENTS: events(), "/api/bot/game/stream/c": []})  # type: ignore[dict-item]
    heard(scripted(script))
    assert script.posts == ["/api/challenge/a/accept", "/api/challenge/b/decline later", "/api/challenge/c/accept"]


def test_a_rematch_and_its_game_take_one_place() -> None:
    """The challenge has the id of the finished game, and its game another."""
    held = threading.Event()

    def events() -> Iterator[dict[str, Any]]:
        yield START_ONE
        until(lambda: "one" in bot._finished)
        yield challenge("one")
        yield {"type": "gameStart", "game": {"id": "two"}}
        yield challenge("three")
        held.set()

    def rematch() -> Iterator[dict[str, Any]]:
        held.wait(WAIT_S)
        yield from states("P@d6 P@c6", end="resign")

    streams = {EVENTS: events(), GAME: states("P@d6 P@c6", end="resign"), "/api/bot/game/stream/two": rematch()}
    script = Script(streams)  # type: ignore[arg-type]
    script.streams["/api/bot/game/stream/three"] = []
    bot = scripted(script, most=2)
    heard(bot)
    assert [path for path in script.posts if "challenge" in path] == [
        "/api/challenge/one/accept",
        "/api/challenge/three/accept",
    ]


def test_a_game_that_begins_after_ctrl_c_is_played(tmp_path: Path) -> None:
    """Its challenge was accepted before; the stream of events is read no more."""
    script = Script({EVENTS: [challenge("one")], GAME: states("", end="aborted")})
    heard(scripted(script))
    assert script.posts == ["/api/challenge/one/accept", "/api/bot/game/one/move/P@d6"]


def test_ctrl_c_before_the_first_answer_ends_the_program() -> None:
    scripted(Script({})).finish()


def test_a_finished_game_is_kept_once(tmp_path: Path) -> None:
    """Although an event about it comes late."""
    script = Script({GAME: states("P@d6 P@c6", end="resign")})
    bot = scripted(script, games=str(tmp_path / "games.txt"))
    for _ in range(2):
        script.streams[EVENTS] = [START_ONE]
        heard(bot)
    assert len(list(read_games(str(tmp_path / "games.txt")))) == 1


def test_what_strangers_send_is_shown_without_control_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = challenge("one")
    strange["challenge"]["challenger"]["id"] = "ann\x1b[2J"
    strange["challenge"]["rated"] = True
    heard(scripted(Script({EVENTS: [strange]})))
    said = capsys.readouterr().err
    assert "ann" in said
    assert "\x1b" not in said


@pytest.mark.parametrize("slow_answers_s", [0.0, 0.5])
def test_the_bot_challenges_others_one_at_a_time(slow_answers_s: float) -> None:
    """By rating, those first whose turn is longest ago, and nobody while a game is played; also where the site declines
    a challenge before it has told its id.
    """
    site = Site()
    site.slow_answers_s = slow_answers_s
    for name, rating in (("strong", 2300), ("weak", 900), ("fair", 1600), ("good", 1700)):
        site.users[name] = {"id": name, "title": "BOT", "perfs": {"flipello": {"rating": rating}}}
    site.users["thebot"] = {"id": "thebot", "title": "BOT"}
    site.willing = {"good"}
    with site.running():
        client = api.Api(site.url, TOKEN, print, threading.Event())
        groups = ProcessGroups()
        seeking = Seeking(bots=True, every_s=0.3, limit_s=120, increment_s=2, least=1000, most=2000)
        bot = Bot(client, Rules(), command_of(fake("gtp")), "gtp", groups, 4, "", seeking)

        def run() -> None:
            with contextlib.suppress(InterruptedError, api.ApiRefusal):
                bot.run()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        until(lambda: len(site.offered) >= 4, told=site.offered)
        assert [name for name, _ in site.offered[:4]] == ["fair", "good", "fair", "good"]
        assert set(site.offered[0][1].split("&")) == {
            "variant=flipello", "rated=false", "clock.limit=120", "clock.increment=2"
        }  # fmt: skip
        # The next challenge came when the game before it was over.
        assert site.games["offer2"].status != "started"
        bot._leaving.set()
        client._closing.set()
        groups.stop()


@pytest.mark.parametrize(
    "user", [None, 5, {}, {"id": "\ud800"}, {"id": "ann", "perfs": []}, {"id": "ann", "perfs": None}]
)
def test_users_that_cannot_be_read_are_not_challenged(user: object) -> None:
    assert Seeking(bots=True).choice([user, {"id": "bob"}], "thebot", []) == "bob"


@pytest.mark.posix
@pytest.mark.parametrize("options", [("--offer", "5"), ("--offer", "0+3"), ("--rating", "9:1"), ("--challenge", "a/b")])
def test_unreadable_rules_for_challenges_are_refused(
    token: Path, options: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    from desdaemon.clients.bot.bot import main

    with pytest.raises(SystemExit, match="2"):
        main([str(token), *options])
    assert options[1] in capsys.readouterr().err


# Whatever the site sends is bounded


@pytest.mark.parametrize("name", ["\ud800", "\udfff\x00", "a/../b", "", 5, None])
def test_a_strange_id_is_told_and_the_next_challenge_answered(name: object, capsys: pytest.CaptureFixture[str]) -> None:
    strange = challenge("one")
    strange["challenge"]["id"] = name
    begun = {"type": "gameStart", "game": {"id": name}}
    script = Script({EVENTS: [strange, begun, {**challenge("two"), "type": "challenge"}]})
    bot = Bot(script, Rules(), command_of(fake("gtp")), "gtp", ProcessGroups(), 1, "")
    heard(bot)
    assert script.posts == ["/api/challenge/two/decline generic"]
    assert capsys.readouterr().err.count("an event that cannot be read") == 2


@pytest.mark.parametrize("game", [None, "x", 5, [], {}, {"gameId": "one"}])
@pytest.mark.parametrize("kind", ["gameStart", "challengeDeclined"])
def test_an_event_without_its_fields_is_told_in_words(
    game: object, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = Bot(Script({}), Rules(), command_of(fake("gtp")), "gtp", ProcessGroups(), 1, "")
    for event in ({"type": kind}, {"type": kind, "game": game, "challenge": game}):
        bot._take(event)
        assert capsys.readouterr().err.endswith("an event that cannot be read: no game or challenge with an id in it\n")


@pytest.mark.parametrize("most", [1, 3])
def test_games_that_the_site_starts_are_played_so_many_at_a_time(most: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Those without a place wait, a hundred at most."""
    gate = threading.Event()
    playing: set[str] = set()
    at_once: list[int] = []

    def stream(name: str) -> Iterator[dict[str, Any]]:
        playing.add(name)
        at_once.append(len(playing))
        gate.wait(WAIT_S)
        playing.remove(name)
        yield states("", end="aborted")[0] | {"state": {"moves": "", "status": "aborted"}}

    names = [f"game{number}" for number in range(300)]
    script = Script({EVENTS: [{"type": "gameStart", "game": {"id": name}} for name in names]})
    script.streams |= {f"/api/bot/game/stream/{name}": stream(name) for name in names}  # type: ignore[misc]
    before = threading.active_count()
    bot = scripted(script, most=most)
    with pytest.raises(InterruptedError):
        bot.run()
    assert threading.active_count() - before <= most + 1
    gate.set()
    bot.finish()
    assert max(at_once) <= most
    assert len(at_once) == most + 100
    assert capsys.readouterr().err.count("is not played: 100 games wait already") == 300 - len(at_once)


@pytest.mark.posix
@pytest.mark.parametrize("unanswered", ["/game/game0/move", "/(accept|decline)$"])
def test_a_request_without_an_answer_blocks_no_other_game(token: Path, unanswered: str) -> None:
    site = Site(unanswered=unanswered)
    options = ("--accept", "people", "--engine", "self -l 1", "--most", "2")
    with site.running():
        if "accept" in unanswered:
            site.challenge("asked")
        site.start("game0")
        with running(site, token, *options) as bot:
            if "accept" not in unanswered:
                until(lambda: "/api/bot/game/stream/game0" in site.asked, bot, site)
                site.start("game1")
            name = "game1" if "game1" in site.games else "game0"
            until(lambda: site.games[name].status != "started", bot, site)
    assert site.games[name].status in ("variantEnd", "draw")


@contextmanager
def speaking(answer: Iterator[bytes]) -> Iterator[api.Api]:
    """A site that answers every request with these pieces."""
    closing = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def speak(one: socket.socket) -> None:
            with contextlib.suppress(OSError), one:
                one.recv(4096)
                for piece in answer:
                    one.sendall(piece)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=speak, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield api.Api(f"http://127.0.0.1:{server.getsockname()[1]}", TOKEN, print, closing)
        closing.set()
        server.shutdown(socket.SHUT_RDWR)


def slowly(text: bytes) -> Iterator[bytes]:
    """Without end, a byte at a time."""
    yield text
    while True:
        time.sleep(0.05)
        yield b"a"


@pytest.mark.parametrize("text", [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n{"])
def test_an_answer_that_never_ends_is_not_waited_for(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "SILENCE_S", 0.3)
    monkeypatch.setattr(api, "PATIENCE_S", 0.1)
    with speaking(slowly(text)) as client, pytest.raises(api.ApiSilence, match="no answer"):
        client.post("/api/challenge/one/decline")


@pytest.mark.parametrize("size", [b"f" * 16, b"-5", b"zz", b"1" * 70_000])
def test_a_chunk_of_an_impossible_size_breaks_its_stream_off(size: bytes) -> None:
    """It ends neither the bot nor the game."""
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + size + b'\r\n{"type": 1}\n'
    with speaking(iter([answer])) as client, pytest.raises(api._Later):
        next(client._stream("/api/stream/event"))


@pytest.mark.parametrize("line", [b"\n", b'{"type": "chatLine"}\n'])
def test_a_game_without_news_is_given_up(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its stream may be as alive as it likes."""
    monkeypatch.setattr("desdaemon.clients.bot.bot._FIRST_STATE_S", 0.3)

    def alive() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        while True:
            time.sleep(0.02)
            yield line

    def never() -> EngineClient:
        raise AssertionError

    with speaking(alive()) as client, pytest.raises(api.ApiSilence, match="nothing new"):
        _Game(client, "one", "thebot", never).play(print)


@pytest.mark.posix
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_program_whose_output_nobody_reads_plays_on(token: Path) -> None:
    site = Site()
    with site.running(), full_pipe() as pipe, running(site, token, says=pipe) as bot:
        site.challenge("one")
        until(lambda: bool(site.declined), bot)
        bot.send_signal(signal.SIGTERM)
        assert bot.wait(WAIT_S) == 0


def test_streams_are_read_in_any_pieces() -> None:
    """Chunks end in the middle of lines and of letters, empty lines keep it alive, unknown messages pass through."""
    texts = [{"type": "chatLine", "text": "Größe ⚫ 🂡"}, {"type": "x"}, {"type": "gameState", "moves": "ß"}]
    body = b"\n\n".join(json.dumps(one, ensure_ascii=False).encode() for one in texts) + b"\n"
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer += b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    closing = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as one:
                one.recv(4096)
                for at in range(0, len(answer), 7):
                    one.sendall(answer[at : at + 7])

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        client = api.Api(f"http://127.0.0.1:{server.getsockname()[1]}", TOKEN, print, closing)
        assert list(itertools.islice(client.lines("/api/stream/event"), 3)) == texts
        thread.join()


def test_all_requests_wait_when_the_site_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that is asked for again too, not the refused post alone."""
    monkeypatch.setattr(api, "SLOW_DOWN_S", 0.5)
    site = Site(slow_down=1)
    told = threading.Event()
    closing = threading.Event()
    with site.running():
        client = api.Api(site.url, TOKEN, lambda text: told.set(), closing)

        def post() -> None:
            with contextlib.suppress(InterruptedError):
                client.post("/api/challenge/one/decline")

        thread = threading.Thread(target=post, daemon=True)
        thread.start()
        assert told.wait(WAIT_S)
        before = time.monotonic()
        site.slow_down = 0
        client.get("/api/account")
        assert time.monotonic() - before > 0.3
        closing.set()
        thread.join()


@pytest.mark.posix
@pytest.mark.slow
def test_fifty_games_are_never_lost_on_time(token: Path) -> None:
    """Two at a time, while each stream breaks off after every thirtieth line.

    Of ten seconds each, five of fifty were lost where ten other programs wanted the processor.
    """
    site = Site(seconds=30.0, breaks=30)
    play(site, token, 50, "--clock", "1:3600", at_once=2)
    assert sum(game.refused for game in site.games.values()) == 0
    # A busy machine has several moves in a line, so that not every game has thirty of them.
    assert sum("/api/bot/game/stream" in path for path in site.asked) > len(site.games)


def test_the_site_of_the_tests_says_what_the_real_one_says() -> None:
    site = Site()

    def asked(method: str, path: str, lines: int = 1) -> tuple[int, list[bytes]]:
        connection = http.client.HTTPConnection("127.0.0.1", site.server.server_port, timeout=WAIT_S)
        connection.request(method, path, headers={"Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        found = answer.status, [answer.readline() for _ in range(lines)]
        connection.close()
        return found

    with site.running():
        site.start("one")
        _, (first, alive) = asked("GET", "/api/bot/game/stream/one", 2)
        told = json.loads(first)
        assert (told["p1"]["id"], told["p2"]["id"], told["initialFen"]) == ("thebot", "ann", "startpos")
        assert not {"white", "black"} & {*told}
        assert alive == b"\n"
        _, (event,) = asked("GET", EVENTS)
        assert json.loads(event)["game"]["compat"]["bot"]
        moves = "/api/bot/game/one/move/"
        for text, status in (("f5", 500), ("f5f6", 500), ("p@d3", 500), ("c3c3", 400), ("P@a1", 400), ("P@f4", 200)):
            assert asked("POST", moves + text)[0] == status, text
        site.games["one"].status = "resign"
        status, (error,) = asked("POST", f"{moves}P@d3")
        assert (status, "Not your turn" in json.loads(error)["error"]) == (400, True)
