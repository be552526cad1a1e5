"""The bot against a small site: challenges, whole games, broken streams, requests to slow down, restarts."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from bot_site import TOKEN, Site
from pretended_players import fake

from desdaemon.clients.bot import api
from desdaemon.clients.bot.bot import _Game
from desdaemon.clients.bot.messages import BotTurn
from desdaemon.clients.match.engine_process import command_of
from desdaemon.clients.match.engine_protocols import EngineClient, start_player
from desdaemon.protocol.games.bases import read_games
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello.notation import START
from desdaemon.protocol.othello.rules import squares

WAIT_S = 120


def until(condition: Callable[[], bool], bot: subprocess.Popen[str] | None = None) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        assert bot is None or bot.poll() is None, bot.stderr.read() if bot.stderr else ""
        time.sleep(0.02)


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "bot.token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o600)
    return path


@contextmanager
def running(site: Site, token: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "desdaemon", "bot", str(token), "--server", site.url, *options]
    bot = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
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
                until(partial(answered, site, name), bot)
        bot.send_signal(signal.SIGTERM)
        said = bot.communicate(timeout=WAIT_S)[1]
    assert bot.returncode == 0, said
    assert {game.status for game in site.games.values()} <= {"variantEnd", "draw"}
    return said


@pytest.mark.parametrize("from_below", [True, False])
def test_games_with_either_colour_are_played_to_their_end(tmp_path: Path, token: Path, from_below: bool) -> None:
    site = Site(from_below=from_below)
    said = play(site, token, 2, "--games", str(tmp_path / "games.pgn"))
    assert "ann's challenge: accepted" in said
    assert [game.bot_first for game in site.games.values()] == [True, False]
    games = list(read_games(str(tmp_path / "games.pgn")))
    assert [(game.record.black, game.record.white) for game in games] == [("TheBot", "Ann"), ("Ann", "TheBot")]
    assert all(game.record.final.over for game in games)
    # Only the first move ever may be written the wrong way.
    assert [game.refused for game in site.games.values()] == [0 if from_below else 1, 0]


@pytest.mark.parametrize("cleanly", [False, True])
def test_streams_that_end_are_asked_for_again_after_a_pause(token: Path, cleanly: bool) -> None:
    """Every stream ends in the middle of its twelfth line or after it, while two games run."""
    site = Site(breaks=12, cleanly=cleanly)
    said = play(site, token, 2, at_once=2)
    assert not site.declined
    assert sum("/api/bot/game/stream" in path for path in site.asked) > 1
    assert "trying again in 1 s" in said


def test_it_slows_down_when_told(
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


def test_challenges_beyond_the_number_of_games_come_later(token: Path) -> None:
    site = Site()
    # Before the bot comes: by the second one the first game might be over.
    site.challenge("first")
    site.challenge("second")
    site.challenge("chess", variant={"key": "standard"})
    with site.running(), running(site, token, "--accept", "people", "--engine", "self -l 1") as bot:
        until(lambda: len(site.declined) == 2, bot)
    assert site.declined == {"second": "later", "chess": "variant"}


def test_nobody_is_accepted_unless_told(token: Path) -> None:
    site = Site()
    with site.running(), running(site, token) as bot:
        site.challenge("first")
        until(lambda: bool(site.declined), bot)
    assert not site.games


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


def test_a_wrong_token_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("wrong")
    path.chmod(0o600)
    site = Site()
    with site.running(), running(site, path) as bot:
        assert bot.wait(WAIT_S) == 1
        assert bot.stderr
        assert "No such token" in bot.stderr.read()


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
    monkeypatch.setattr("desdaemon.clients.bot.bot.time", SimpleNamespace(monotonic=lambda: now))

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


@pytest.mark.slow
def test_fifty_games_are_never_lost_on_time(token: Path) -> None:
    """Of ten seconds each, two at a time, while each stream breaks off after every thirtieth line."""
    site = Site(seconds=10.0, breaks=30)
    play(site, token, 50, "--clock", "1:3600", at_once=2)
    # A busy machine has several moves in a line, so that not every game has thirty of them.
    assert sum("/api/bot/game/stream" in path for path in site.asked) > len(site.games)
