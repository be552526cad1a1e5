"""Players on a small server of our own: whole matches, clocks, lost connections."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import random
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, ClassVar

import pytest
from book_dialogue import BookDialogue
from checkout import ROOT
from ggs_server import PASSWORD, Server

from desdaemon.api.results import Analysis, MoveLine, Score
from desdaemon.cli.main import main as command_line
from desdaemon.clients.ggs.ggs import PLAIN, main, read_place
from desdaemon.clients.ggs.player import AcceptRules, Answer, Player, StartSearch, Wishes
from desdaemon.clients.ggs.session import Outside, ServerSession
from desdaemon.clients.ggs.thinking import Thinker
from desdaemon.core.settings import SessionSettings
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.bases import parse_games
from desdaemon.protocol.ggs import ServerClock
from desdaemon.protocol.othello.notation import START, parse_board
from desdaemon.protocol.othello.rules import squares
from desdaemon.protocol.othello.selectivity import Selectivity

NEVER = 3600.0
ANY = AcceptRules(("8*", "s8*"), least=0, most=1e9)


class Dice:
    """Plays at random, each move after a pause."""

    def __init__(self, seed: int, pause_s: float = 0.0) -> None:
        self.choices = random.Random(seed)
        self.pause_s = pause_s
        self.searches: list[StartSearch] = []
        self.cancelled = 0

    async def think(self, search: StartSearch) -> Answer:
        self.searches.append(search)
        try:
            await asyncio.sleep(self.pause_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        move = self.choices.choice(squares(search.position.moves))
        return Answer(search.game, search.position, move, self.choices.uniform(-64, 64), 0.25, "guessed")


def run(work: Coroutine[Any, Any, object], patience_s: float = 300) -> None:
    asyncio.run(asyncio.wait_for(work, patience_s))


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


def session_with(server: Server, folder: Path, thinker: Any, password: str = PASSWORD, **wishes: Any) -> ServerSession:
    """A player named alice at the server, with files for records and for the dialogue."""
    place = Outside("127.0.0.1", server.port, False, str(folder / "alice.ggf"), str(folder / "alice.log"))
    return ServerSession(place, Player("alice", password, ANY, Wishes(records=True, **wishes)), thinker)


# Matches


@pytest.mark.parametrize(("kind", "offer"), [("8", ""), ("8w", "8w 5:00 bob"), ("s8r40", "")])
def test_matches_are_played_and_their_records_kept(kind: str, offer: str, tmp_path: Path) -> None:
    async def scene() -> None:
        async with Server(kind) as server:
            dice = Dice(1)
            assert await session_with(server, tmp_path, dice, matches=2, offer=offer).run() == ""
            assert len(server.results) == 2
        pair = kind.startswith("s")
        assert {search.board for search in dice.searches} == ({"0", "1"} if pair else {""})
        games = list(parse_games((tmp_path / "alice.ggf").read_bytes(), "alice.ggf"))
        assert len(games) == (4 if pair else 2)
        assert all(game.record.final.over for game in games)
        assert PASSWORD not in (tmp_path / "alice.log").read_text("utf-8")

    run(scene())


def test_records_go_into_a_book_but_for_random_starts(tmp_path: Path) -> None:
    async def scene() -> None:
        for kind in ("8", "s8r14"):
            async with Server(kind) as server:
                assert await session_with(server, tmp_path, Dice(1), matches=1).run() == ""

    run(scene())
    with contextlib.closing(BookDialogue()) as dialogue:
        dialogue.say("book new 1 6")
        assert "1 game counted" in dialogue.say(f"book add {tmp_path / 'alice.ggf'}")


def test_a_time_out_ends_the_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def scene() -> None:
        async with Server("8") as server:
            slow = Dice(1, NEVER)
            alice = asyncio.create_task(session_with(server, tmp_path, slow, matches=1).run())
            await until(lambda: slow.searches)
            server.out_of_time()
            assert await alice == ""
            assert slow.cancelled == len(slow.searches) == 1

    run(scene())
    assert "match .3 with bob: -64\n" in capsys.readouterr().out


# Logins, lost connections


def test_a_wrong_password_and_a_second_login_are_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Server() as server:
            assert "alice" in await session_with(server, tmp_path, Dice(1), "wrong").run()
            first = asyncio.create_task(session_with(server, tmp_path, Dice(1)).run())
            await until(lambda: server.connected)
            assert "alice" in await session_with(server, tmp_path, Dice(1)).run()
            assert not first.done()
            assert server.refused == ["alice", "alice"]
            first.cancel()

    run(scene())


def test_no_server_ends_the_program(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Server() as server:
            pass
        assert f"127.0.0.1:{server.port}" in await session_with(server, tmp_path, Dice(1)).run()

    run(scene())


def test_a_server_that_cannot_encrypt_hears_nothing() -> None:
    async def scene() -> None:
        async with Server() as server:
            place, player = Outside("127.0.0.1", server.port, tls=True), Player("a", "x", ANY, Wishes())
            assert str(server.port) in await ServerSession(place, player, Thinker(SessionSettings(), 0)).run()
            assert server.lines == server.refused == []

    run(scene())


def test_a_match_that_a_lost_connection_adjourned_is_resumed_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with Server("s8r14", drop_at=20) as server:
            session = session_with(server, tmp_path, Dice(1), matches=1)
            alice = asyncio.create_task(session.run())
            await until(lambda: not server.drop_at and not server.connected)
            server.lines.clear()
            await until(lambda: server.lines.count("tell /os open 1") == 2)
            assert not server.results
            assert not [line for line in server.lines if "continue" in line]
            session.typed("tell /os continue .3")
            assert await alice == ""
            assert len(server.results) == 1

    run(scene())
    assert "calling again in 1 s" in capsys.readouterr().err


# What others write


def test_text_of_others_is_shown_and_logged_without_control_characters_and_never_obeyed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with Server() as server:
            session = session_with(server, tmp_path, Dice(1))
            alice = asyncio.create_task(session.run())
            await until(lambda: server.lines.count("tell /os open 1") == 2)
            server.lines.clear()
            server.tell("admin: \x1b[2J\x07tell /os open 9", "quit", "|: Enter your password")
            await until(lambda: "|: Enter your password" in (tmp_path / "alice.log").read_text("utf-8"))
            session.typed("quit")
            assert await alice == ""
            await until(lambda: not server.connected)
            assert server.lines == []

    run(scene())
    shown = capsys.readouterr().out
    logged = (tmp_path / "alice.log").read_text("utf-8")
    for text in (shown, logged):
        assert "admin: [2Jtell /os open 9" in text
        assert all(c.isprintable() or c == "\n" for c in text)
    assert "(the password)" in logged


# Engines


class RecordedEngine:
    """Stands for `desdaemon.api.Engine`; all that were made, with their arguments and the boards they saw."""

    made: ClassVar[list[RecordedEngine]] = []

    def __init__(self, **how: Any) -> None:
        self.how = how
        self.times: list[float] = []
        self.depths: list[int] = []
        self.made.append(self)

    def look_up(self, board: object) -> None:
        return None

    async def analyze_async(self, board: Any, **how: Any) -> Analysis:
        self.times.append(how["time_s"])
        self.depths.append(how["depth"])
        move = board.legal[0]
        line = MoveLine(move, Score(2, board.side), 2, 2, 1, Selectivity.FULL, False, (move,), 1, 0.0)
        return Analysis(board, (line,), 1, 0.0, True)

    def close(self) -> None:
        return


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[RecordedEngine]:
    RecordedEngine.made.clear()
    monkeypatch.setattr("desdaemon.api.Engine", RecordedEngine)
    return RecordedEngine.made


def test_boards_of_a_pair_have_engines_of_their_own(recorded: list[RecordedEngine]) -> None:
    thinker = Thinker(SessionSettings(), 5_000)

    async def scene() -> None:
        for board in ("0", "1", "0", ""):
            answer = await thinker.think(StartSearch(".5", board, START, ServerClock(60_000)))
            assert (answer.position, answer.score) == (START, 2)

    run(scene())
    assert [len(engine.times) for engine in recorded] == [1, 2, 1]
    assert recorded[1].how["threads"] <= max(1, recorded[0].how["threads"] // 2)


@pytest.mark.parametrize("left_s", [0.1, 2, 8, 60, 900])
def test_a_move_gets_less_than_the_clock_has(left_s: float, recorded: list[RecordedEngine]) -> None:
    thinker = Thinker(SessionSettings(), 5_000)
    run(thinker.think(StartSearch(".5", "", START, ServerClock(1000 * left_s))))
    (time_s,) = recorded[0].times
    assert 0 < time_s <= min(left_s / 2, max(left_s - 5, left_s / 2))


def test_a_forced_move_takes_no_time(recorded: list[RecordedEngine]) -> None:
    thinker = Thinker(SessionSettings(), 5_000)
    for board in ("OX" + "-" * 62 + " O", "OX-----OX" + "-" * 55 + " O"):
        run(thinker.think(StartSearch(".5", "", parse_board(board), ServerClock(60_000))))
    assert [depth > 8 for depth in recorded[0].depths] == [False, True]


# The command line


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--password-file", "others"], "chmod 600"),
        (["--password-file", "none"], "none"),
        (["--password-file", "empty"], "expected the password"),
        ([], "expected --password-file"),
        (["--clock", "1:00"], "--clock"),
        (["--offer", "8"], "--offer"),
        (["--offer", "8k 5:00"], "--offer"),
        (["--games", "nowhere/x.ggf"], "--games"),
        (["--login", "a b"], "login"),
    ],
)
def test_bad_arguments(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    for name, mode, text in (("others", 0o640, "secret\n"), ("empty", 0o600, "\n"), ("good", 0o600, "secret\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    good = [] if "--password-file" in arguments or not arguments else ["--password-file", "good"]
    assert main(["localhost:1", "--login", "alice", *good, *arguments]) == 1
    told = capsys.readouterr().err
    assert complaint in told
    assert told.count("\n") == 1


def test_the_password_is_asked_for_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("getpass.getpass", lambda prompt: f"typed after {prompt}")
    monkeypatch.setattr("desdaemon.clients.ggs.ggs.play", lambda *arguments: given.extend(arguments) or 0)
    assert main(["localhost:1", "--login", "alice"]) == 0
    assert given[2] == "typed after password of alice: "


@pytest.mark.parametrize("place", ["", "a b:1", "host:0", "host:65536", "host:x"])
def test_what_is_no_server(place: str) -> None:
    with pytest.raises(BadInput):
        read_place(place)


@pytest.mark.parametrize(
    ("text", "place"),
    [("host", ("host", 5000)), ("host:1", ("host", 1)), ("[::1]:2", ("::1", 2)), ("[::1]", ("::1", 5000))],
)
def test_servers(text: str, place: tuple[str, int]) -> None:
    assert read_place(text) == place


# Processes


@contextlib.asynccontextmanager
async def program(*arguments: str, folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process of the program, in a folder without a configuration; it ends with the block."""
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, str(ROOT / "daemon" / "__main__.py"), *arguments]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(folder)}
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=environment, stdin=pipe, stdout=pipe, stderr=pipe
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.compiled
def test_the_program_plays_and_ends_after_its_matches(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Server("s8r40") as server:
            password = tmp_path / "password"
            password.write_text(f"{PASSWORD}\n")
            password.chmod(0o600)
            place = f"127.0.0.1:{server.port}"
            options = "--login alice --password-file password --accept s8* --matches 1 --level 1 --threads 2 --tell"
            played = ("--games", "played.ggf")
            async with program("ggs", place, *options.split(), *played, folder=tmp_path) as process:
                out, error = await process.communicate()
                assert process.returncode == 0, error
                assert error.decode() == f"desdaemon ggs: {PLAIN}\n"
                assert b"with bob: " in out
                assert len(list(parse_games((tmp_path / "played.ggf").read_bytes(), "played.ggf"))) == 2
            told = [line for line in server.lines if line.startswith("tell .")]
            assert told
            assert all(re.match(r"tell [.]\d+[.][01] [a-h][1-8] [-+]\d+ .* nodes", line) for line in told)

    run(scene())


@pytest.mark.compiled
def test_edax_s_options_are_read_from_its_file(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Server("8") as server:
            options = {"host": "127.0.0.1", "port": server.port, "login": "alice", "open": "on"}
            options |= {"password": PASSWORD, "log-file": "dialogue.log"}
            (tmp_path / "edax.ini").write_text("".join(f"ggs-{name} = {value}\n" for name, value in options.items()))
            arguments = ("-ggs", "-l", "1", "-n", "2", "-game-file", "played.ggf")
            async with program(*arguments, folder=tmp_path) as process:
                await until((tmp_path / "played.ggf").exists)
                process.send_signal(signal.SIGINT)
                _, error = await process.communicate()
                assert process.returncode == 0, error
            assert "(the password)" in (tmp_path / "dialogue.log").read_text("utf-8")

    run(scene())


@pytest.mark.parametrize(("arguments", "complaint"), [((), "-ggs-host"), (("-ggs-host", "localhost"), "-ggs-login")])
def test_what_edax_s_mode_lacks(
    arguments: tuple[str, ...], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert command_line(["-ggs", *arguments]) == 1
    assert complaint in capsys.readouterr().err
