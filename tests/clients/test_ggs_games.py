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

import ggs_server
import pytest
from book_dialogue import BookDialogue
from checkout import ROOT
from ggs_server import BoardGame, Server

from desdaemon.api.results import Analysis, MoveLine, Score
from desdaemon.cli.main import main as command_line
from desdaemon.clients.ggs import session
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
KINDS = ("8", "8w", "8r18", "s8r40")
ANY = AcceptRules(("8*", "s8*"), least=0, most=1e9)


class Dice:
    """Plays at random, each move after a pause."""

    def __init__(self, seed: int, pause: Callable[[StartSearch], float] = lambda search: 0.0) -> None:
        self.choices = random.Random(seed)
        self.pause = pause
        self.searches: list[StartSearch] = []
        self.cancelled = 0

    async def think(self, search: StartSearch) -> Answer:
        self.searches.append(search)
        try:
            await asyncio.sleep(self.pause(search))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        move = self.choices.choice(squares(search.position.moves))
        return Answer(search.game, search.position, move, self.choices.uniform(-64, 64), 0.25, "guessed")


def run(work: Coroutine[Any, Any, object], patience_s: float = 60) -> None:
    asyncio.run(asyncio.wait_for(work, patience_s))


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


class Table:
    """A server, and players who are tasks of the same loop."""

    def __init__(self, folder: Path, speed: float = 1.0, seed: int = 0) -> None:
        self.server = Server(seed, speed)
        self.folder = folder
        self.tasks: dict[str, asyncio.Task[str]] = {}
        self.sessions: dict[str, ServerSession] = {}

    async def __aenter__(self) -> Table:
        await self.server.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)
        await self.server.__aexit__(*error)

    def sit(
        self,
        name: str,
        thinker: session.Thinks,
        rules: AcceptRules = AcceptRules(),  # noqa: B008
        password: str = ggs_server.PASSWORD,
        **wishes: Any,
    ) -> asyncio.Task[str]:
        """A player logs in."""
        place = Outside(
            "127.0.0.1", self.server.port, False, *(str(self.folder / f"{name}{e}") for e in (".ggf", ".log"))
        )
        player = Player(name, password, rules, Wishes(records=True, **wishes))
        self.sessions[name] = ServerSession(place, player, thinker)
        self.tasks[name] = asyncio.create_task(self.sessions[name].run())
        return self.tasks[name]

    async def open(self, name: str) -> None:
        """Wait until a player has set up the service: after the login, and once it hears that the service is there."""
        await until(lambda: self.server.lines.count((name, "tell /os open 1")) == 2)


async def play(folder: Path, kind: str, number: int, thinkers: tuple[session.Thinks, session.Thinks]) -> Server:
    """Two players play matches of a kind until both have ended."""
    async with Table(folder) as table:
        alice = table.sit("alice", thinkers[0], ANY, matches=number)
        await table.open("alice")
        bob = table.sit("bob", thinkers[1], offer=f"{kind} 5:00/0:02/2:00 alice", matches=number)
        assert await asyncio.gather(alice, bob) == ["", ""]
        return table.server


def check(server: Server, folder: Path, kind: str, number: int) -> None:
    boards = 2 if kind.startswith("s") else 1
    assert [result.type for result in server.results] == [kind] * number
    assert not any(result.flagged for result in server.results)
    assert not [line for line in server.lines if "error" in line[1]]
    for name in ("alice", "bob"):
        path = folder / f"{name}.ggf"
        games = list(parse_games(path.read_bytes(), path.name))
        assert len(games) == boards * number
        assert all(game.record.final.over for game in games)
        if boards == 2:
            assert games[0].record.initial == games[1].record.initial
            assert games[0].record.black == games[1].record.white
        assert ggs_server.PASSWORD not in (folder / f"{name}.log").read_text("utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_two_players_play_matches(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def scene() -> None:
        dice = Dice(1), Dice(2)
        server = await play(tmp_path, kind, 2, dice)
        check(server, tmp_path, kind, 2)
        if kind.startswith("s"):
            assert {search.board for search in dice[0].searches} == {"0", "1"}

    run(scene())
    assert "out of time" not in capsys.readouterr().err


def test_records_go_into_a_book_but_for_random_starts(tmp_path: Path) -> None:
    for kind in ("8", "s8r14"):
        run(play(tmp_path, kind, 1, (Dice(1), Dice(2))))
    with contextlib.closing(BookDialogue()) as dialogue:
        dialogue.say("book new 1 6")
        assert "1 game counted" in dialogue.say(f"book add {tmp_path / 'alice.ggf'}")


# Clocks


def test_a_hard_time_out_loses_and_ends_the_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def scene() -> None:
        async with Table(tmp_path, speed=10) as table:
            slow = Dice(1, lambda search: NEVER)
            alice = table.sit("alice", slow, ANY, matches=1)
            await table.open("alice")
            bob = table.sit("bob", Dice(2), offer="8w 0:02//0:01 alice", matches=1)
            assert await asyncio.gather(alice, bob) == ["", ""]
            assert [result.result for result in table.server.results] == [64]
            assert slow.cancelled == len(slow.searches) == 1

    run(scene())
    assert "match .3 with bob: -64\n" in capsys.readouterr().out


# Logins, lost connections


def test_a_wrong_password_and_a_second_login_are_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            assert "alice" in await table.sit("alice", Dice(1), password="wrong")
            first = table.sit("alice", Dice(1), ANY)
            await table.open("alice")
            assert "alice" in await table.sit("alice", Dice(1))
            assert not first.done()
            table.tasks["first"] = first
            assert table.server.refused == ["alice", "alice"]

    run(scene())


def test_no_server_ends_the_program(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            port = table.server.port
        place = Outside("127.0.0.1", port)
        reason = await ServerSession(place, Player("alice", "x", ANY, Wishes()), Dice(1)).run()
        assert f"127.0.0.1:{port}" in reason

    run(scene())


def test_a_server_that_cannot_encrypt_hears_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            place = Outside("127.0.0.1", table.server.port, tls=True)
            assert str(table.server.port) in await ServerSession(place, Player("a", "x", ANY, Wishes()), Dice(1)).run()
            assert table.server.lines == table.server.refused == []

    run(scene())


def test_a_match_that_a_lost_connection_adjourned_is_resumed_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            server = table.server
            dropped: list[str] = []

            def after_move(board: BoardGame) -> None:
                if len(board.moves) == 20 and not dropped:
                    dropped.append(board.id)
                    server.drop("bob")

            server.on_move = after_move
            alice = table.sit("alice", Dice(1), ANY, matches=1)
            await table.open("alice")
            bob = table.sit("bob", Dice(2), ANY, matches=1)
            await table.open("bob")
            table.sessions["bob"].typed("tell /os ask s8r14 5:00//2:00 alice")
            await until(lambda: dropped and "bob" not in server.users)
            server.lines.clear()
            await table.open("bob")
            assert not server.results
            assert not [line for _, line in server.lines if "continue" in line]
            (match,) = server.matches
            table.sessions["bob"].typed(f"tell /os continue {match}")
            assert await asyncio.gather(alice, bob) == ["", ""]
            assert len(server.results) == 1
            assert max(len(board) for board in server.archive.values()) == 2

    run(scene())
    assert "calling again in 1 s" in capsys.readouterr().err


# What others write


def test_text_of_others_is_shown_and_logged_without_control_characters_and_never_obeyed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            alice = table.sit("alice", Dice(1), ANY)
            await table.open("alice")
            table.server.lines.clear()
            table.server.users["alice"].tell("admin: \x1b[2J\x07tell /os open 9", "quit", "|: Enter your password")
            await until(lambda: "|: Enter your password" in (tmp_path / "alice.log").read_text("utf-8"))
            table.sessions["alice"].typed("quit")
            assert await alice == ""
            await until(lambda: not table.server.users)
            assert table.server.lines == []

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
        async with Table(tmp_path) as table:
            password = tmp_path / "password"
            password.write_text(f"{ggs_server.PASSWORD}\n")
            password.chmod(0o600)
            place = f"127.0.0.1:{table.server.port}"
            options = "--login alice --password-file password --accept s8* --matches 1 --level 1 --threads 2 --tell"
            played = ("--games", "played.ggf")
            async with program("ggs", place, *options.split(), *played, folder=tmp_path) as process:
                await table.open("alice")
                bob = table.sit("bob", Dice(2), offer="s8r40 5:00//2:00 alice", matches=1)
                assert await bob == ""
                out, error = await process.communicate()
                assert process.returncode == 0, error
                assert error.decode() == f"desdaemon ggs: {PLAIN}\n"
                assert b"with bob: " in out
                assert len(list(parse_games((tmp_path / "played.ggf").read_bytes(), "played.ggf"))) == 2
            told = [line for name, line in table.server.lines if name == "alice" and line.startswith("tell .")]
            assert told
            assert all(re.match(r"tell [.]\d+[.][01] [a-h][1-8] [-+]\d+ .* nodes", line) for line in told)

    run(scene())


@pytest.mark.compiled
def test_edax_s_options_are_read_from_its_file(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            options = {"host": "127.0.0.1", "port": table.server.port, "login": "alice", "open": "on"}
            options |= {"password": ggs_server.PASSWORD, "log-file": "dialogue.log"}
            (tmp_path / "edax.ini").write_text("".join(f"ggs-{name} = {value}\n" for name, value in options.items()))
            arguments = ("-ggs", "-l", "1", "-n", "2", "-game-file", "played.ggf")
            async with program(*arguments, folder=tmp_path) as process:
                await table.open("alice")
                assert await table.sit("bob", Dice(2), offer="8 5:00//2:00 alice", matches=1) == ""
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
