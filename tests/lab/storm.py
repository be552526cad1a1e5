"""`python tests/lab storm`: attacks of hostile peers on a daemon, and polite clients that check each answer.

It starts a daemon of its own in folders of its own, `peers` and `programs` as processes, and clients of the library
that know every answer beforehand: also that to an argument of the wrong kind, and where a session has left that deletes
a position. Each minute gives a row: the waits of the polite clients, wrong or missing answers, the least memory that
the daemon had, and its descriptors.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from desdaemon.clients.arguments import Parser
from desdaemon.clients.asynchronous import AsyncClient
from desdaemon.clients.bench.daemon import BenchDaemon, random_line
from desdaemon.clients.errors import DaemonError
from desdaemon.clients.results import Data
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position, board_text, move_text, parse_moves, play_moves
from desdaemon.protocol.system import logs, platform
from desdaemon.protocol.wire.messages import OPERATIONS

from . import peers
from .signals import ended_by_signals

_POLITE = 8
_PATIENCE_S = 300.0
_PROGRAMS_S = 1200.0
"""How long the last programs may take after the end: their patience stands still while the machine has no time."""
_BUSY_S = 0.05
_PAUSE_S = 0.02
_LEAST_ROWS = 10
_LOOK_S = 0.5
"""Between two looks at the daemon's memory."""

_GROWTH_MB = 4
"""What the daemon's memory may rise by in the second half of a storm: rows differ by some 2 MB when nothing fills."""
_FILLED_MB, _FILL_S = 1, 120.0
_BOOK_LINES = 40
_REFUSED_S = 3.0
_FLOOD = 3_000
_PLIES_TO_BOARD, _PLIES_FROM_BOARD = 22, 4
_SAMPLES = {str: "f5", list: [], dict: {}, bool: True, int: 3, float: 0.5, bytes: b"f5"}
_TYPES = {"int": int, "flag": bool, "text": str, "choice": str, "path": str, "move": str}
"""For each kind of argument the type of its values; `id` has two, the others are lists."""


class Minute(NamedTuple):
    """The figures of a minute: milliseconds of new connections, short requests, text and analyses, answers, faults, and
    the daemon: its memory, descriptors and the clients that it knows.
    """

    joins: list[float]
    short: list[float]
    texts: list[float]
    analyses: list[float]
    wrong: int
    busy: int
    memory_mb: float
    """The least in the minute."""
    descriptors: int
    clients: int
    after_s: float
    """Seconds since the storm began: on a busy machine a row takes longer than a minute."""


class _Polite:
    """Clients that know the answers to their requests beforehand and check them."""

    def __init__(self, daemon: BenchDaemon) -> None:
        self.daemon = daemon
        self.end = 0.0
        self.joins: list[float] = []
        self.short: list[float] = []
        self.texts: list[float] = []
        self.analyses: list[float] = []
        self.faults: list[str] = []
        self.busy = 0
        self.answers = 0
        self.departed = 0
        self.deleted = 0
        self.stored: list[tuple[str, str]] = []
        """Acknowledged stores that stay: the board and the line from it."""
        self.late: list[tuple[str, str]] = []
        """What sessions deleted that have left, if it still was there after `_PATIENCE_S`."""
        self._book: dict[str, int] = {}
        self._wrong_arguments = _wrong_arguments()

    async def learn(self) -> None:
        """Store lines in the book and keep its data of their positions."""
        async with await AsyncClient.connect(self.daemon.ipc) as client:
            lines = [random_line(random.Random(seed), 8) for seed in range(_BOOK_LINES)]
            for line in lines:
                await client.book("store", moves=line)
            for known in {line[:cut] for line in lines for cut in range(2, len(line) + 1, 2)}:
                look = await client.book_get(moves=known)
                if look.found and look.score is not None:
                    self._book[known] = look.score

    async def ask(self, number: int) -> None:
        """One client's requests, sometimes several at a time, with pauses and new connections."""
        dice = random.Random(number)
        endpoint = (self.daemon.ipc, self.daemon.tcp)[number % 2]
        while time.monotonic() < self.end:
            began = time.monotonic()
            try:
                async with await AsyncClient.connect(endpoint, timeout_s=_PATIENCE_S) as client:
                    self.joins.append(1000 * (time.monotonic() - began))
                    for _ in range(dice.randrange(20, 200)):
                        if time.monotonic() >= self.end:
                            return
                        await asyncio.gather(*[self._check(client, dice) for _ in range(dice.choice((1, 1, 1, 4)))])
                        await asyncio.sleep(_PAUSE_S)
                    if client.connections != 1:
                        self._fault("a connection was lost")
            except (DaemonError, OSError) as error:
                self._fault(f"{type(error).__name__} {error}")

    def _fault(self, what: str) -> None:
        self.faults.append(what)
        logs.message(what, "lab storm", level="error")

    async def _check(self, client: AsyncClient, dice: random.Random) -> None:
        kinds = (self._ping, self._legal, self._legal, self._look, self._look, self._text, self._analyse, self._harm)
        kind = dice.choice(kinds)
        times = self.analyses if kind == self._analyse else self.texts if kind == self._text else self.short
        while True:
            began = time.monotonic()
            try:
                wrong = await asyncio.wait_for(kind(client, dice), _PATIENCE_S)
            except TimeoutError:
                self._fault(f"no answer to {kind.__name__} within {_PATIENCE_S:.0f} s")
                return
            except DaemonError as error:
                if error.code == "busy":
                    self.busy += 1
                    await asyncio.sleep(_BUSY_S)
                    continue
                self._fault(f"{kind.__name__}: {error}")
                return
            times.append(1000 * (time.monotonic() - began))
            self.answers += 1
            if wrong:
                self._fault(f"a wrong answer to {kind.__name__}: {wrong}")
            return

    async def _ping(self, client: AsyncClient, dice: random.Random) -> str:
        found = await client.request("ping")
        return "" if found == {} else str(found)

    async def _legal(self, client: AsyncClient, dice: random.Random) -> str:
        line = random_line(dice, dice.randrange(40))
        moves = (await client.legal(moves=line)).moves
        return "" if set(moves) == _legal_moves(line) else f"{line}: {moves}"

    async def _look(self, client: AsyncClient, dice: random.Random) -> str:
        line = dice.choice(list(self._book))
        look = await client.book_get(moves=line)
        return "" if look.found and look.score == self._book[line] else f"{line}: {look}"

    async def _text(self, client: AsyncClient, dice: random.Random) -> str:
        # One line is one request, so that what is asked beside it does not matter.
        out, err = await client.text("version")
        return "" if "desdaemon" in (out + err).lower() else out + err

    async def _analyse(self, client: AsyncClient, dice: random.Random) -> str:
        line = random_line(dice, dice.randrange(4, 40))
        found = await client.analyze(moves=line, level=3, book="ignore")
        legal = _legal_moves(line)
        right = not legal if found.best is None else found.best.move in legal and abs(found.best.score) <= 64
        return "" if right else f"{line}: {found}"

    async def _harm(self, client: AsyncClient, dice: random.Random) -> str:
        op, name, value = dice.choice(self._wrong_arguments)
        asked = f"{op} with {name} = {value!r}"
        try:
            await client.request(op, {name: value})
        except DaemonError as error:
            if error.code == "busy":
                raise
            # Over TCP, without a key, nobody is an admin.
            right = (("bad_request", name), ("forbidden", "op"))
            return "" if (error.code, error.field) in right else f"{asked}: {error}"
        return f"{asked} was carried out"

    async def depart(self) -> None:
        """Sessions that leave behind a flood, a line about the book their last."""
        dice = random.Random("depart")
        async with await AsyncClient.connect(self.daemon.ipc, timeout_s=_PATIENCE_S) as client:
            while time.monotonic() < self.end:
                try:
                    await self._depart(client, dice)
                except (DaemonError, OSError) as error:
                    self._fault(f"a session that leaves: {type(error).__name__} {error}")
                await asyncio.sleep(dice.random())

    async def store(self) -> None:
        """Store lines that stay, far from those that others look up."""
        dice = random.Random("store")
        async with await AsyncClient.connect(self.daemon.tcp, timeout_s=_PATIENCE_S) as client:
            while time.monotonic() < self.end:
                line = random_line(dice, _PLIES_TO_BOARD + _PLIES_FROM_BOARD)
                board = board_text(_position_after(line[: 2 * _PLIES_TO_BOARD]))
                line = line[2 * _PLIES_TO_BOARD :]
                try:
                    await _until_taken(client, "book.store", {"board": board, "moves": line})
                    self.stored.append((board, line))
                except (DaemonError, OSError) as error:
                    self._fault(f"a store: {type(error).__name__} {error}")
                await asyncio.sleep(dice.random())

    async def count_stored(self, positions: int) -> None:
        """Look up all that was acknowledged; the book, which had ``positions``, has nothing else that is new."""
        async with await AsyncClient.connect(self.daemon.ipc, timeout_s=_PATIENCE_S) as client:
            until = time.monotonic() + _PATIENCE_S
            for board, line in self.late:
                while (stays := await self._is_stored(client, board, line)) and time.monotonic() < until:
                    await asyncio.sleep(_BUSY_S)
                self.deleted += not stays
                if stays:
                    self._fault("a session left behind a flood, and its line about the book was not carried out")
            lost = [line for board, line in self.stored if not await self._is_stored(client, board, line)]
            if lost:
                self._fault(f"{len(lost)} acknowledged stores are lost")
            more = await _positions(client) - positions - (_PLIES_FROM_BOARD + 1) * len(self.stored)
            if more:
                self._fault(f"{more} positions more in the book than were stored and not deleted")

    async def _depart(self, client: AsyncClient, dice: random.Random) -> None:
        """One session deletes a position of its own, far from those that others look up; then remove the others."""
        line = random_line(dice, _PLIES_TO_BOARD + _PLIES_FROM_BOARD)
        board = board_text(_position_after(line[: 2 * _PLIES_TO_BOARD]))
        line = line[2 * _PLIES_TO_BOARD :]
        ways = [line[:cut] for cut in range(0, len(line) + 1, 2)]
        await _until_taken(client, "book.store", {"board": board, "moves": line})
        flood = dice.choice(("ping", "moves", "hint 5"))
        lines = [f"setboard {board}", f"play {line}", dice.choice(("book delete", "b delete", "BOOK delete"))]
        leave = partial(peers.leave_behind_flood, self.daemon.ipc, flood, _FLOOD, lines, _PATIENCE_S)
        while not await asyncio.to_thread(leave):
            # Among more handshakes than there is room for its own was ended.
            await asyncio.sleep(_BUSY_S)
        self.departed += 1
        # Of more lines than one client may have waiting some are refused, and none behind them is carried out.
        until = time.monotonic() + (_REFUSED_S if flood == "moves" else _PATIENCE_S)
        while (stays := await self._is_stored(client, board, line)) and time.monotonic() < until:
            await asyncio.sleep(_BUSY_S)
        self.deleted += not stays
        if not await self._is_stored(client, None, ""):
            self._fault(f"a session left behind {flood}, and the start was deleted")
        for way in ways[:-1]:
            if not await self._is_stored(client, board, way):
                self._fault(f"a session left behind {flood}, and {board} {way} was deleted instead of {line}")
            await _until_taken(client, "book.delete", {"board": board, "moves": way})
        if stays and flood != "moves":
            # On a busy machine its turn has not come yet.
            self.late.append((board, line))
        elif stays:
            # Its own line may come late after all.
            with contextlib.suppress(DaemonError):
                await _until_taken(client, "book.delete", {"board": board, "moves": line})

    async def _is_stored(self, client: AsyncClient, board: str | None, moves: str) -> bool:
        look = await _until_taken(client, "book.get", {"moves": moves, **({"board": board} if board else {})})
        self.answers += 1
        return bool(look["found"])


async def _until_taken(client: AsyncClient, op: str, args: Data) -> Data:
    while True:
        try:
            return await client.request(op, args, timeout_s=_PATIENCE_S)
        except DaemonError as error:
            if error.code != "busy":
                raise
            await asyncio.sleep(_BUSY_S)


async def _positions(client: AsyncClient) -> int:
    return int((await client.status())["book"]["positions"])


def _wrong_arguments() -> list[tuple[str, str, Any]]:
    """Each argument of each operation, with values that are none of its kind."""
    return [
        (operation.name, argument.name, value)
        for operation in OPERATIONS
        for argument in operation.arguments
        for type_, value in _SAMPLES.items()
        if type_ not in ((str, int) if argument.kind == "id" else (_TYPES.get(argument.kind, list),))
    ]


def _position_after(line: str) -> Position:
    position = START
    for move in play_moves(START, parse_moves(line)).moves:
        position = position.after(move)
    return position


def _legal_moves(line: str) -> set[str]:
    position = _position_after(line)
    if position.must_pass:
        return {"pa"}
    return {move_text(move).lower() for move in rules.squares(position.moves)}


def _row(number: int, minute: Minute) -> str:
    """The row of a minute; of new connections only the longest wait."""

    def times(values: list[float]) -> str:
        if not values:
            return f"{'-':>8}{'-':>8}{'-':>9}"
        ordered = sorted(values)
        p50, p99 = (ordered[int(part * (len(ordered) - 1))] for part in (0.5, 0.99))
        return f"{p50:8.1f}{p99:8.1f}{ordered[-1]:9.1f}"

    answers = len(minute.short) + len(minute.texts) + len(minute.analyses)
    return (
        f"{number:6}{answers:9}{max(minute.joins, default=0.0):9.1f}"
        f"{times(minute.short)}   {times(minute.texts)}   {times(minute.analyses)}"
        f"{minute.wrong:7}{minute.busy:6}"
        f"{minute.memory_mb:8.1f}{minute.descriptors:7}{minute.clients:8}"
    )


HEAD = (
    f"{'':15}{'joining':>9}{'short requests, ms':>25}   {'lines of text, ms':>25}   {'analyses of level 3, ms':>25}\n"
    f"{'minute':>6}{'answers':>9}{'longest':>9}"
    + "   ".join([f"{'p50':>8}{'p99':>8}{'longest':>9}"] * 3)
    + f"{'wrong':>7}{'busy':>6}{'MB':>8}{'files':>7}{'clients':>8}"
)


async def _storm(daemon: BenchDaemon, polite: _Polite, seconds: float) -> list[Minute]:
    polite.end = time.monotonic() + seconds
    async with await AsyncClient.connect(daemon.ipc, timeout_s=_PATIENCE_S) as client:
        positions = await _positions(client)
    clients = (polite.depart(), polite.store(), *map(polite.ask, range(_POLITE)))
    tasks = [asyncio.ensure_future(client) for client in clients]
    minutes: list[Minute] = []
    began = time.monotonic()
    end = began + seconds
    seen = busy = faults = 0
    sys.stdout.write(HEAD + "\n")
    sys.stdout.flush()
    at = (0, 0, 0, 0)
    while time.monotonic() < end:
        least_mb = await _least_memory_mb(daemon, min(60.0, max(0.1, end - time.monotonic())))
        status = await _status(daemon)
        if daemon.process.poll() is not None:
            polite._fault(f"the daemon ended with status {daemon.process.returncode}")
            break
        now = len(polite.joins), len(polite.short), len(polite.texts), len(polite.analyses)
        wrong, much = len(polite.faults) - faults, polite.busy - busy
        minutes.append(
            Minute(
                polite.joins[at[0] :],
                polite.short[at[1] :],
                polite.texts[at[2] :],
                polite.analyses[at[3] :],
                wrong,
                much,
                least_mb,
                platform.open_files(daemon.process.pid),
                int(status.get("clients", 0)),
                time.monotonic() - began,
            )
        )
        at, faults, busy, seen = now, len(polite.faults), polite.busy, seen + 1
        sys.stdout.write(_row(seen, minutes[-1]) + "\n")
        sys.stdout.flush()
    done, late = await asyncio.wait(tasks, timeout=_PATIENCE_S)
    for task in late:
        task.cancel()
        polite._fault("a client still waits at the end")
    for task in done:
        task.result()
    if daemon.process.poll() is None:
        await polite.count_stored(positions)
        await _tell_kept(daemon)
    return minutes


async def _status(daemon: BenchDaemon) -> Data:
    """What the daemon says of itself; nothing where it does not answer."""
    with contextlib.suppress(DaemonError, OSError):
        async with await AsyncClient.connect(daemon.ipc, timeout_s=_PATIENCE_S) as client:
            return await client.status()
    return {}


async def _least_memory_mb(daemon: BenchDaemon, seconds: float) -> float:
    """Wait, and return the least memory that the daemon had meanwhile, which is what it keeps. Bursts need some MB
    more, and their holes in the heap go back each minute only.
    """
    least, end = math.inf, time.monotonic() + seconds
    while (now := time.monotonic()) < end and daemon.process.poll() is None:
        least = min(least, platform.own_bytes(daemon.process.pid) / (1 << 20))
        await asyncio.sleep(min(_LOOK_S, end - now))
    return least


async def _tell_kept(daemon: BenchDaemon) -> None:
    """Tell how much of the daemon's memory it keeps on purpose: book, clients, analyses."""
    status = await _status(daemon)
    memory_mb = platform.own_bytes(daemon.process.pid) / (1 << 20)
    async with await AsyncClient.connect(daemon.ipc, timeout_s=_PATIENCE_S) as client:
        analyses = (await client.request("cache.clear"))["forgotten"]
    sys.stdout.write(
        f"\nat the end {memory_mb:.1f} MB: {status['book']['positions']} positions, {status['clients']} clients and "
        f"{analyses} analyses are kept\n"
    )


def command_line() -> Parser:
    """The command line."""
    parser = Parser("lab storm", description="Hostile peers, and polite clients that check every answer.")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long; 60 unless given")
    parser.add_argument("--connections", type=int, default=2_000, help="connections of the crowd; 2000 unless given")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="search threads of the daemon")
    return parser


def main(arguments: list[str]) -> int:
    """Run the storm; the exit status is 1 where an answer was wrong or missing, or memory or descriptors grew."""
    named = command_line().parse_args(arguments)
    seconds = 60 * named.minutes
    try:
        with (
            ended_by_signals(),
            tempfile.TemporaryDirectory() as folder,
            BenchDaemon(Path(folder), named.threads) as daemon,
        ):
            # Each connection takes a descriptor in the daemon and two in this process.
            platform.raise_open_files()
            polite = _Polite(daemon)
            asyncio.run(_fill_tables(daemon))
            asyncio.run(polite.learn())
            arguments = [str(seconds), str(named.connections), ",".join(daemon.connection.endpoints)]
            arguments.append(",".join(daemon.connection.events))
            with _beside("programs", str(seconds), daemon.connection.endpoints[0]) as programs:
                # The board waits for a few seconds only for a daemon to answer.
                assert programs.stdout
                programs.stdout.readline()
                foe = _beside("peers", *arguments)
                try:
                    minutes = asyncio.run(_storm(daemon, polite, seconds))
                    deeds = foe.communicate(timeout=_PATIENCE_S)[0].decode()
                    acts = programs.communicate(timeout=_PROGRAMS_S)[0].decode()
                finally:
                    # And the processes that they have started, stopped ones too.
                    platform.end_group(foe)
                    platform.end_group(programs)
            log = (Path(folder) / "log").read_text(errors="replace")
    except DaemonError as error:
        logs.message(str(error), "lab storm", level="error")
        return 1
    mistakes = log.count("mistake")
    problems = [
        *polite.faults,
        *(["programs did what they must not"] if programs.returncode else []),
        *(["the daemon logged mistakes"] if mistakes else []),
        *_growth(minutes),
    ]
    sys.stdout.write(f"\n{polite.answers} answers were checked; hostile: {deeds}")
    sys.stdout.write(
        f"{polite.departed} sessions left behind a flood, {polite.deleted} positions were deleted by them, "
        f"{len(polite.late)} of them late\n"
    )
    sys.stdout.write(f"{len(polite.stored)} stores were acknowledged and looked up at the end\nprograms: {acts}")
    sys.stdout.write(f"{len(log.splitlines())} lines were logged\n")
    if not problems:
        sys.stdout.write("nothing lost, none wrong, memory and descriptors flat\n")
    for problem in sorted(set(problems)):
        sys.stdout.write(f"failed: {problem}\n")
    if mistakes:
        logs.echo(log[-4000:])
    return int(bool(problems))


def _beside(*arguments: str) -> subprocess.Popen[bytes]:
    """Start another experiment of this folder, in a group of its own."""
    command = [sys.executable, "-P", str(Path(__file__).parent), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, **platform.own_group())


async def _fill_tables(daemon: BenchDaemon) -> None:
    """Search until the tables of all search threads are full, 64 MB for two: a busy machine fills them in hours."""

    def memory_mb() -> float:
        return platform.own_bytes(daemon.process.pid) / (1 << 20)

    began, before = memory_mb(), 0.0
    until = time.monotonic() + _FILL_S
    async with await AsyncClient.connect(daemon.ipc, timeout_s=_PATIENCE_S) as client:
        lines = [random_line(random.Random(f"fill {number}"), 6) for number in range(daemon.threads)]
        searches = [client.analyze(moves=line, level=60, book="ignore") for line in lines]
        while time.monotonic() < until and (memory_mb() > before + _FILLED_MB or memory_mb() < began + _FILLED_MB):
            before = memory_mb()
            await asyncio.sleep(2)
        for search in searches:
            await search.cancel()
    sys.stdout.write(
        f"the tables of {daemon.threads} threads are full: {began:.1f} MB before, {memory_mb():.1f} MB now\n"
    )


def _rise_mb(minutes: list[Minute]) -> tuple[float, float]:
    """Return by how much memory rose in these rows, along the line that fits them best, and their hours."""
    hours = [minute.after_s / 3600 for minute in minutes]
    middle, mean = (sum(values) / len(minutes) for values in (hours, [minute.memory_mb for minute in minutes]))
    spread = sum((hour - middle) ** 2 for hour in hours)
    slope = sum((hour - middle) * (row.memory_mb - mean) for hour, row in zip(hours, minutes, strict=True)) / spread
    return slope * (hours[-1] - hours[0]), hours[-1] - hours[0]


def _growth(minutes: list[Minute]) -> list[str]:
    """The growth of memory and descriptors in the second half: what fills does so in the first. Prints what it was."""
    if len(minutes) < _LEAST_ROWS:
        return []
    parts = minutes[: len(minutes) // 2], minutes[len(minutes) // 2 :]
    rise, hours = _rise_mb(parts[1])
    sys.stdout.write(
        f"in the second half, {60 * hours:.0f} minutes, memory rose by {rise:.1f} MB, {rise / hours:.1f} MB an hour\n"
    )
    files = [max(minute.descriptors for minute in part) for part in parts]
    found = []
    if rise > _GROWTH_MB:
        found.append(f"memory rose by more than {_GROWTH_MB} MB in the second half")
    if files[1] > 1.2 * files[0]:
        found.append(f"descriptors grew from {files[0]} to {files[1]}")
    return found
