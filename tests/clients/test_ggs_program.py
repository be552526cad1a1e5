"""The program that plays on a game server: its engines, its command line, its processes."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import psutil
import pytest
from checkout import ROOT
from full_disk import room_for
from ggs_server import PASSWORD
from ggs_table import KINDS, Dice, Table, replayed, run, until
from programs import programs
from toys import create_store

from desdaemon.api.results import Analysis, MoveLine, Score
from desdaemon.book.book import Book
from desdaemon.book.options import BookOptions
from desdaemon.book.record import START as BOOK_START
from desdaemon.book.storage.store import open_store
from desdaemon.cli.main import main as command_line
from desdaemon.clients.ggs.ggs import PLAIN, main, read_place
from desdaemon.clients.ggs.lines import BlockReader, ServerClock
from desdaemon.clients.ggs.player import End, Instruction, Save, Send, StartSearch
from desdaemon.clients.ggs.session import Outside, ServerSession
from desdaemon.clients.ggs.thinking import Thinker
from desdaemon.core.settings import SessionSettings
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import START, parse_board
from desdaemon.protocol.othello.selectivity import Selectivity

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


@pytest.mark.posix
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
        (["--book-results", "x.book"], "expected --games"),
        (["--login", "a b"], "login"),
        (["--log", "good"], '--log "good": expected another file'),
        (["--games", "x", "--log", "x"], '--log "x": expected another file than that of --games'),
    ],
)
def test_bad_arguments_are_refused_in_a_line(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    for name, mode, text in (("others", 0o640, "secret\n"), ("empty", 0o600, "\n"), ("good", 0o600, "secret\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    good = [] if "--password-file" in arguments or not arguments else ["--password-file", "good"]
    assert main(["localhost:1", "--login", "alice", *good, *arguments]) == 1
    told = capfd.readouterr().err
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
def test_wrong_addresses_of_servers_are_refused(place: str) -> None:
    with pytest.raises(BadInput):
        read_place(place)


@pytest.mark.parametrize(
    ("text", "place"),
    [("host", ("host", 5000)), ("host:1", ("host", 1)), ("[::1]:2", ("::1", 2)), ("[::1]", ("::1", 5000))],
)
def test_a_server_is_a_host_and_a_port(text: str, place: tuple[str, int]) -> None:
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
        # Waiting alone would not end while what it has written is unread.
        await process.communicate()


def write_password(folder: Path) -> None:
    """Put the password where the program finds it, with ``--password-file password``."""
    path = folder / "password"
    path.write_text(f"{PASSWORD}\n")
    path.chmod(0o600)


@pytest.mark.posix
@pytest.mark.compiled
def test_the_program_plays_and_ends_after_its_matches(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            write_password(tmp_path)
            place = f"127.0.0.1:{table.server.port}"
            options = "--login alice --password-file password --accept s8* --matches 1 --level 1 --threads 2 --tell"
            played = ("--games", "played.ggf")
            async with program("ggs", place, *options.split(), *played, folder=tmp_path) as process:
                await table.ready("alice")
                assert await table.sit("bob", Dice(2), offer="s8r40 5:00//2:00 alice", matches=1) == ""
                out, error = await process.communicate()
                assert process.returncode == 0, error
                assert error.decode() == f"desdaemon ggs: {PLAIN}\n"
                assert b"with bob: " in out
                assert len(replayed(tmp_path / "played.ggf")) == 2
            told = [line for name, line in table.server.lines if name == "alice" and line.startswith("tell .")]
            assert told
            assert all(re.match(r"tell [.]\d+[.][01] [a-h][1-8] [-+]\d+ .* nodes", line) for line in told)

    run(scene())


@pytest.mark.posix
@pytest.mark.compiled
def test_finished_games_go_into_a_book_when_told(tmp_path: Path) -> None:
    new = Book(BookOptions(level=1, min_empties=50))
    new.table.insert(*BOOK_START)
    create_store(tmp_path / "learned.book", new).close()

    async def scene() -> None:
        write_password(tmp_path)
        options = "--login alice --password-file password --accept 8* --level 1 --threads 1 --games played.ggf"
        for number, kind in enumerate(("8b", "8r14", "8w"), 1):
            async with Table(tmp_path) as table:
                arguments = (f"127.0.0.1:{table.server.port}", *options.split(), "--matches", "1")
                async with program("ggs", *arguments, "--book-results", "learned.book", folder=tmp_path) as process:
                    await table.ready("alice")
                    assert await table.sit("bob", Dice(number), offer=f"{kind} 5:00//2:00 alice", matches=1) == ""
                    _, error = await process.communicate()
                    assert process.returncode == 0, error
                    told.append(error.decode().splitlines()[-1])

    told: list[str] = []
    run(scene())
    # A random start is in no book, and the games of earlier calls are counted already.
    assert told == [f"desdaemon ggs: {count} counted in learned.book" for count in ("1 game", "0 games", "1 game")]
    with open_store(tmp_path / "learned.book", read_only=True) as store:
        table = store.book.table
        assert sum(table.results(table.find(*BOOK_START))) == 2


@pytest.mark.posix
@pytest.mark.compiled
def test_edax_s_options_are_read_from_its_file(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            options = {"host": "127.0.0.1", "port": table.server.port, "login": "alice", "open": "on"}
            options |= {"password": PASSWORD, "log-file": "dialogue.log"}
            file = tmp_path / "edax.ini"
            file.write_text("".join(f"ggs-{name} = {value}\n" for name, value in options.items()))
            file.chmod(0o600)
            arguments = ("-ggs", "-l", "1", "-n", "2", "-game-file", "played.ggf")
            async with program(*arguments, folder=tmp_path) as process:
                await table.ready("alice")
                assert await table.sit("bob", Dice(2), offer="8 5:00//2:00 alice", matches=1) == ""
                await until((tmp_path / "played.ggf").exists)
                process.send_signal(signal.SIGINT)
                _, error = await process.communicate()
                assert process.returncode == 0, error
            assert "(the password)" in (tmp_path / "dialogue.log").read_text("utf-8")

    run(scene())


@contextlib.asynccontextmanager
async def serving(answer: Any, folder: Path) -> AsyncIterator[tuple[str, ...]]:
    """Arguments of the program that call a server; ``answer`` plays it, and then the connection stays open."""
    write_password(folder)
    over = asyncio.Event()
    calls: set[asyncio.Task[None]] = set()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        calls.add(task)
        with contextlib.suppress(ConnectionError):
            await answer(reader, writer)
            await over.wait()
        writer.transport.abort()

    async with await asyncio.start_server(converse, "127.0.0.1", 0) as server:
        place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield "ggs", place, "--login", "alice", "--password-file", "password", "--threads", "1"
        over.set()
        await asyncio.gather(*calls)


async def let_in(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    for prompt in (b": Enter login", b": Enter your password"):
        writer.write(prompt + b".\r\n")
        await reader.readline()
    writer.write(b"welcome\r\nREADY\r\n")


async def with_output(out: int, arguments: tuple[str, ...], folder: Path) -> asyncio.subprocess.Process:
    """The program with a file descriptor as standard output."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "daemon" / "__main__.py"), *arguments),
        cwd=folder,
        env={**os.environ, "XDG_CONFIG_HOME": str(folder)},
        stdin=asyncio.subprocess.PIPE,
        stdout=out,
        stderr=asyncio.subprocess.PIPE,
    )


@pytest.mark.posix
def test_a_program_whose_output_nobody_reads_hears_ctrl_c(tmp_path: Path) -> None:
    told = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await let_in(reader, writer)
        # More than a program that waits would take in: 12 MB.
        for _ in range(100):
            writer.write(b"bob: %s\r\n" % (b"hello " * 1000) * 20)
            await writer.drain()
        told.set()

    async def scene() -> None:
        reading, writing = os.pipe()
        with os.fdopen(reading), os.fdopen(writing, "wb") as held:
            async with serving(answer, tmp_path) as arguments:
                process = await with_output(held.fileno(), arguments, tmp_path)
                await told.wait()
                process.send_signal(signal.SIGINT)
                await process.communicate()
                assert process.returncode == 0

    run(scene())


def test_a_wrong_password_ends_the_program_with_what_the_server_said(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b": Enter login\r\n: Enter your password\r\n")
        for _ in range(2):
            await reader.readline()
        writer.write(b"we do not know you")
        writer.close()

    async def scene() -> None:
        async with serving(answer, tmp_path) as arguments, program(*arguments, folder=tmp_path) as process:
            _, error = await process.communicate()
            assert process.returncode == 1
            assert error.count(b"\n") == 2
            assert b'it is wrong, or the login alice is in use; it said "we do not know you"' in error

    run(scene())


def test_a_server_that_does_not_read_is_given_up(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await let_in(reader, writer)
        writer.transport.pause_reading()

    async def scene() -> None:
        async with serving(answer, tmp_path) as arguments, program(*arguments, folder=tmp_path) as process:
            assert process.stdin
            assert process.stderr
            ending = asyncio.create_task(process.stderr.read(1 << 16))
            heard = b""
            while b"does not read" not in heard:
                process.stdin.write((b"tell bob " + b"x" * 2000 + b"\n") * 10)
                await process.stdin.drain()
                if ending.done():
                    heard += await ending
                    ending = asyncio.create_task(process.stderr.read(1 << 16))
            ending.cancel()

    run(scene())


@pytest.mark.posix
@pytest.mark.parametrize("host", ["a..b", f"{'a' * 64}.org", "..."])
def test_a_host_that_cannot_be_ends_the_program(host: str, tmp_path: Path) -> None:
    async def scene() -> None:
        write_password(tmp_path)
        options = ("--login", "alice", "--password-file", "password", "--threads", "1")
        async with program("ggs", host, *options, folder=tmp_path) as process:
            _, error = await process.communicate()
            assert process.returncode == 1
            assert host in error.decode()
            assert "Traceback" not in error.decode()

    run(scene())


@pytest.mark.posix
def test_a_full_disk_as_standard_output_ends_the_program(tmp_path: Path) -> None:
    async def scene() -> None:
        async with serving(let_in, tmp_path) as arguments:
            with Path("/dev/full").open("wb") as full:
                process = await with_output(full.fileno(), arguments, tmp_path)
            _, error = await process.communicate()
            assert process.returncode == 1
            assert b"standard output: No space left" in error

    run(scene())


@pytest.mark.posix
def test_files_that_find_no_room_end_no_match(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, games = tmp_path / "log", tmp_path / "games.ggf"
    session = ServerSession(Outside("ggs", 1, records=str(games), log=str(log)), None, None, print)  # type: ignore[arg-type]
    with room_for(40):
        for number in range(9):
            session._do(Save(f"(;{number};)"))
            session._do(Send(f"tell bob {number}"))
    assert games.read_text() == "".join(f"(;{number};)\n" for number in range(6))
    assert log.read_text().count("\n") == 1
    assert [line.partition(f"{tmp_path}/")[2] for line in sorted(capsys.readouterr().err.splitlines())] == [
        "games.ggf: File too large: the matches go on",
        "log: File too large: the matches go on",
    ]


@pytest.mark.posix
@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_two_programs_play_fifty_matches(kind: str, tmp_path: Path) -> None:
    matches, boards = 50, 2 if kind.startswith("s") else 1
    shown: dict[str, str] = {}

    async def scene() -> None:
        async with Table(tmp_path) as table:
            write_password(tmp_path)
            place = f"127.0.0.1:{table.server.port}"
            options = f"--password-file password --level 1 --threads 2 --matches {matches}".split()
            accept = ("--login", "alice", "--games", "alice.ggf", "--accept", "8*,s8*", "--opponents", "bob")
            offer = ("--login", "bob", "--games", "bob.ggf", "--offer", f"{kind} 5:00//2:00 alice")
            async with program("ggs", place, *options, *accept, folder=tmp_path) as alice:
                await table.ready("alice")
                async with program("ggs", place, *options, *offer, folder=tmp_path) as bob:
                    # Both at once: a program waits while nobody reads what it shows.
                    ended = await asyncio.gather(alice.communicate(), bob.communicate())
                    for name, process, (out, error) in zip(("alice", "bob"), (alice, bob), ended, strict=True):
                        assert (process.returncode, error.decode()) == (0, f"desdaemon ggs: {PLAIN}\n")
                        shown[name] = out.decode()
            assert table.server.refused == []
            assert [(result.type, result.flagged) for result in table.server.results] == [(kind, frozenset())] * matches

    run(scene(), patience_s=600)
    for name, other in (("alice", "bob"), ("bob", "alice")):
        games = replayed(tmp_path / f"{name}.ggf")
        assert len(games) == boards * matches
        assert [float(game.told) for game in games] == [game.discs for game in games]
        own = [game.discs * (1 if game.black == name else -1) for game in games]
        results = [sum(own[at : at + boards]) / boards for at in range(0, len(own), boards)]
        told = re.findall(rf"^match \S+ with {other}: (\S+)$", shown[name], re.MULTILINE)
        assert [float(result) for result in told] == results


@pytest.mark.posix
@pytest.mark.slow
def test_edax_plays_against_us(tmp_path: Path) -> None:
    (edax,) = programs("edax")
    home = next((path for path in Path(edax).resolve().parents if (path / "data" / "eval.dat").is_file()), None)
    if home is None:
        pytest.skip("edax has no data/eval.dat beside or above it")

    async def scene() -> None:
        async with Table(tmp_path) as table:
            write_password(tmp_path)
            login = f"-ggs-host 127.0.0.1 -ggs-port {table.server.port} -ggs-login edax -ggs-password {PASSWORD}"
            # Edax asks for rated matches.
            ours = f"--login alice --password-file password --accept 8*,s8* --rated --matches {len(KINDS)}"
            null = asyncio.subprocess.DEVNULL
            process = await asyncio.create_subprocess_exec(
                *(edax, "-ggs", "-l", "1", *login.split(), "-ggs-open", "1", "-game-file", str(tmp_path / "edax.ggf")),
                cwd=home,
                stdin=asyncio.subprocess.PIPE,
                stdout=null,
                stderr=null,
            )
            try:
                assert process.stdin
                place = ("ggs", f"127.0.0.1:{table.server.port}")
                async with program(
                    *place, *ours.split(), "--level", "1", "--games", "alice.ggf", folder=tmp_path
                ) as alice:
                    ended = asyncio.create_task(alice.communicate())
                    await table.ready("alice")
                    await table.ready("edax")
                    for number, kind in enumerate(KINDS, 1):
                        # Edax sends the lines of its input to the server.
                        process.stdin.write(f"tell /os ask {kind} 5:00//2:00 alice\n".encode())
                        await until(lambda number=number: len(table.server.results) == number)
                    _, error = await ended
                    assert alice.returncode == 0, error
            finally:
                process.kill()
                await process.wait()
            assert [(found.type, found.flagged) for found in table.server.results] == [(k, frozenset()) for k in KINDS]
            assert not [line for line in table.server.refused if " play " in line]

    run(scene(), patience_s=600)
    games = replayed(tmp_path / "alice.ggf")
    assert [float(game.told) for game in games] == [game.discs for game in games]


@pytest.mark.posix
@pytest.mark.parametrize(("file", "text"), [("edax.ini", "ggs-password = x"), ("config.toml", 'ggs-password = "x"')])
def test_a_password_that_others_may_read_is_not_used(
    file: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "desdaemon").mkdir()
    path = tmp_path / file if file == "edax.ini" else tmp_path / "desdaemon" / file
    path.write_text(f"{text}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    played: list[object] = []
    monkeypatch.setattr("desdaemon.clients.ggs.ggs.play", lambda *arguments: played.append(arguments[2]) or 0)
    options = ["-ggs", "-ggs-host", "localhost", "-ggs-login", "alice"]
    path.chmod(0o600)
    assert command_line(options) == 0
    assert (played, capfd.readouterr().err) == (["x"], "")
    path.chmod(0o640)
    assert command_line(options) == 1
    assert len(played) == 1
    assert "others may read the password: chmod 600 it" in capfd.readouterr().err


@pytest.mark.parametrize(("arguments", "complaint"), [((), "-ggs-host"), (("-ggs-host", "localhost"), "-ggs-login")])
def test_options_that_edax_s_mode_lacks_are_told(
    arguments: tuple[str, ...], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert command_line(["-ggs", *arguments]) == 1
    assert complaint in capfd.readouterr().err


@pytest.mark.parametrize("flood", [b"READY\n" * 40_000, b"\n" * 240_000], ids=["blocks", "empty lines"])
def test_what_the_user_types_is_heard_within_four_kilobytes_of_a_flood(
    flood: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that was read is carried out before the loop hears anything else; each block may be written to a log."""
    feed, read = BlockReader.feed, 0

    def counted(blocks: BlockReader, data: bytes) -> Any:
        nonlocal read
        if 0 < read <= 4096:
            # Connected it is; the loop calls this as soon as it calls anything.
            asyncio.get_running_loop().call_soon(session.typed, "hello")
        read += len(data)
        return feed(blocks, data)

    monkeypatch.setattr(BlockReader, "feed", counted)

    class Player:
        read_before_typed = 0

        def connected(self, now: float) -> list[Instruction]:
            return []

        def told(self, messages: object, now: float) -> list[Instruction]:
            return []

        def typed(self, line: str, now: float) -> list[Instruction]:
            self.read_before_typed = read
            return [End("heard")]

        def tick(self, now: float) -> list[Instruction]:
            return []

        def lost(self, reason: str) -> list[Instruction]:
            return [End(reason)]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(flood)
        with contextlib.suppress(OSError):
            await reader.read()
        writer.transport.abort()
        left.set()

    async def scene() -> None:
        nonlocal session
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            outside = Outside("127.0.0.1", server.sockets[0].getsockname()[1])
            session = ServerSession(outside, player, None, lambda text: None)  # type: ignore[arg-type]
            assert await session.run() == "heard"
            await left.wait()

    left = asyncio.Event()
    session: ServerSession
    player = Player()
    asyncio.run(scene())
    assert 0 < player.read_before_typed <= 3 * 4096


MATCHES = "/os: + .{0} s8r18 K{0} 5:00 8 U 0 alice\nREADY\n/os: join .{0} 8 K?\n|1 move(s)\n|to move\nREADY\n"
FLOODS = {
    "a line without end": lambda size: b"x" * 6 * size,
    "a block without end": lambda size: (b"|" + b"y" * 599 + b"\n") * (size // 100),
    "matches": lambda size: "".join(MATCHES.format(number) for number in range(size // len(MATCHES))).encode(),
    "people": lambda size: "".join(f"bob{number}: hello\nREADY\n" for number in range(size // 20)).encode(),
    "telnet": lambda size: b"\xff\xfa" * (size // 2),
}


@pytest.mark.posix
def test_floods_of_a_server_take_little_memory(tmp_path: Path) -> None:
    """One to six MB of each, in an address space with room for two: what comes in is not kept."""
    import resource

    process: asyncio.subprocess.Process
    read = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await let_in(reader, writer)
        most = psutil.Process(process.pid).memory_info().vms + (2 << 20)
        resource.prlimit(process.pid, resource.RLIMIT_AS, (most, most))
        for flood in FLOODS.values():
            writer.write(flood(1 << 20))
            await writer.drain()
            writer.write(b"\nREADY\n")
        read.set()
        await reader.read()
        writer.close()

    async def scene() -> None:
        nonlocal process
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            write_password(tmp_path)
            place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            arguments = ("--login", "alice", "--password-file", "password", "--accept", "*")
            async with program("ggs", place, *arguments, folder=tmp_path) as process:
                ended = asyncio.create_task(process.communicate())
                await asyncio.wait_for(read.wait(), 240)
                process.send_signal(signal.SIGTERM)
                _, said = await asyncio.wait_for(ended, 240)
                assert (process.returncode, b"MemoryError" in said, b"Traceback" in said) == (0, False, False), said

    run(scene())
