"""`python tests/lab hostile`: what others can do to the programs besides attacking a socket.

`policy`: files of people's moves with bytes changed. `liar`: workers of a cluster whose answers are wrong. `backups`: a
daemon killed while it copies its book. `tls`: game servers whose TLS fails. `locks`: two daemons with one book, on a
file system whose locks fail or hold nothing. `kills`: programs killed while they write their results. Each prints what
was tried and what came of it, and a line for each fault.
"""

from __future__ import annotations

import contextlib
import lzma
import os
import random
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from cluster_processes import Cluster
from synthetic_book import synthetic_book

from desdaemon.book.book import Book
from desdaemon.book.editing.engine_evaluator import HASH_BITS, Searches
from desdaemon.book.errors import BookError
from desdaemon.book.formats import registry
from desdaemon.book.options import BookOptions
from desdaemon.book.record import START as BOOK_START
from desdaemon.clients import Client, DaemonError, connect
from desdaemon.clients.arguments import Parser
from desdaemon.clients.bench.daemon import PROGRAM, random_line
from desdaemon.clients.connection import started
from desdaemon.clients.errors import NoDaemon
from desdaemon.engine.bench.problems import random_problems
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.protocol.othello.notation import START, Position, parse_moves, play_moves
from desdaemon.protocol.othello.rules import canonical

from .findings import Findings
from .kills import kills
from .signals import ended_by_signals

_START_S = 240.0
_END_S = 300.0
"""Seconds within which a program must have ended; its own limits are 30 and 60."""
_BOOK_ROWS = 300_000
_STORED_PLIES = 8
_SEARCHES = 30_000
"""Most searches of a job in which a liar must be named."""


# Workers that lie


def liar(findings: Findings, times: int) -> None:
    """Workers that lie always or in one of twenty answers, beside a right one or alone, ``times`` jobs each."""
    for names in (("liar",), ("liar", "right"), ("seldom", "right")):
        with tempfile.TemporaryDirectory() as folder, closing(Cluster(Path(folder))) as cluster:
            for name in names:
                (cluster.start(name) if name == "right" else cluster.strange(name)).until("has joined")
            jobs = [_job(cluster, names[0], seed) for seed in range(times)]
            how = f"{names[0]} {'beside a right worker' if len(names) > 1 else 'alone'}"
            for answers, wrong, named in jobs:
                findings.expect(named, f"{how}: not named after {answers} answers, {wrong} of them wrong")
                findings.counts["jobs"] += 1
                findings.counts["liars named"] += named
            answers, wrong, _ = max(jobs)
            sys.stdout.write(f"  {how}: named after {answers} answers at most, {wrong} of them wrong\n")
            sys.stdout.flush()


def _job(cluster: Cluster, name: str, seed: int) -> tuple[int, int, bool]:
    """Search until a worker is named. Returns the answers taken, the wrong ones among them, whether it was named."""
    from desdaemon.cluster.connection import connect as connect_cluster
    from desdaemon.cluster.identity import identity
    from desdaemon.cluster.pool import ClusterSearches, Line
    from desdaemon.cluster.window import Search, WorkerAnswer

    weights = Weights.load()
    own = Searches(weights=weights)
    notes: list[str] = []

    def here(search: object) -> WorkerAnswer | None:
        assert isinstance(search, Search)
        found = own(*search[:4])
        return None if found is None else WorkerAnswer(found, 1.0)

    def line(search: Search) -> Line[bool]:
        answer = yield search
        return answer is not None and answer.found != own(*search[:4])

    def lines() -> Iterator[Line[bool]]:
        for problem in random_problems(_SEARCHES, 30, seed):
            if told():
                return
            yield line(Search(*problem.position[:2], 1))

    def told() -> bool:
        return any(note.startswith(f"cluster: worker {name} answered") for note in notes)

    client = connect_cluster(str(cluster.file), "")
    try:
        answers = wrong = 0
        searches = ClusterSearches(client, identity(weights), here, hash_bits=HASH_BITS, note=notes.append)
        with closing(searches.follow(lines())) as results:
            for lied in results:
                answers, wrong = answers + 1, wrong + lied
                # Of a worker alone nobody takes over what it has not answered yet.
                if told():
                    break
        return answers, wrong, told()
    finally:
        client.close(timeout=1)  # type: ignore[no-untyped-call]


# Backups under kills


@contextmanager
def _daemon(folder: Path, book: Path, code: str = "") -> Iterator[tuple[subprocess.Popen[bytes], Client]]:
    """A daemon on a book, with all else in ``folder``, and a client; it is killed at the end. With ``code`` that is run
    in its process first.
    """
    (folder / "data").mkdir(parents=True, exist_ok=True)
    connection = folder / "run" / "connection.json"
    connection.unlink(missing_ok=True)
    program: tuple[str, ...] = tuple(PROGRAM)
    if code:
        program = (sys.executable, "-P", "-c", f"{code}\nfrom desdaemon.cli.main import program\nprogram()")
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [*program, "serve", "--data", str(folder / "data"), "-book-file", str(book), "-l", "1", "-n", "1"],
            env={**os.environ, "DESDAEMON_RUNTIME_DIR": str(folder / "run")},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        try:
            endpoint = started(process, connection, _START_S).endpoints[0]
        except NoDaemon as error:
            raise NoDaemon(f"{error.message}: {(folder / 'log').read_text()[-500:]}") from None
        with connect(endpoint, timeout_s=_START_S, patience_s=1.0) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()


def backups(findings: Findings, times: int) -> None:
    """A daemon that is killed while it copies its book and stores lines, at a random moment, ``times`` times."""
    dice = random.Random("backups")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        book = folder / "kept.book"
        registry.write_native(book, synthetic_book(_BOOK_ROWS, 1))
        with _daemon(folder, book) as (_, client):
            began = time.monotonic()
            client.request("book.backup", {"file": "same.book"}, timeout_s=_END_S)
            usual_s = time.monotonic() - began
        stored: list[str] = []
        for number in range(times):
            target = folder / "data" / ("same.book" if number % 2 else f"copy-{number}.book")
            there = target.exists()
            with _daemon(folder, book) as (process, client):
                client.request("book.get", {"moves": "f5"}, timeout_s=_START_S)
                storing = threading.Thread(target=_store_until_killed, args=(client, dice.random(), stored))
                storing.start()
                backup = client.start("book.backup", {"file": target.name})
                time.sleep(1.5 * usual_s * dice.random())
                process.kill()
                storing.join()
                findings.counts["kills"] += 1
                with contextlib.suppress(DaemonError):
                    backup.result(0.0)
                    findings.counts["backups acknowledged"] += 1
                    findings.expect(target.exists(), f"{target.name} was acknowledged, and is absent")
            kind = "backups whole" if target.exists() else "backups absent"
            findings.counts[kind] += 1
            findings.expect(target.exists() or not there, f"{target.name}: the earlier backup has gone")
            if target.exists():
                _check(findings, target)
            lost = _missing(_check(findings, book), stored)
            findings.expect(not lost, f"{len(lost)} acknowledged lines are lost")
        with _daemon(folder, book) as (_, client):
            client.request("book.backup", {"file": "same.book"}, timeout_s=_END_S)
        left = [path.name for place in (folder, folder / "data") for path in place.glob(".*.new")]
        findings.expect(not left, f"left behind: {', '.join(left)}")
        findings.counts["lines acknowledged, all found"] = len(stored)


def _store_until_killed(client: Client, seed: float, stored: list[str]) -> None:
    dice = random.Random(seed)
    with contextlib.suppress(DaemonError):
        while True:
            line = random_line(dice, _STORED_PLIES)
            client.request("book.store", {"moves": line}, timeout_s=_END_S)
            stored.append(line)


def _check(findings: Findings, path: Path) -> Book | None:
    """Return a book that opens and whose blocks match their checksums; else note a fault."""
    try:
        opened = registry.open_any(path)
        assert opened.store is not None
        opened.store.check()
        opened.store.close()
    except BookError as error:
        findings.expect(False, f"{path.name}: {error}")
        return None
    return opened.book


def _missing(book: Book | None, lines: list[str]) -> list[str]:
    """Return the lines whose last position a book lacks."""
    if book is None:
        return lines
    ends = {line: play_moves(START, parse_moves(line)).last for line in lines}
    return [line for line, end in ends.items() if book.table.find(*canonical(end.player, end.opponent)) < 0]


# TLS of a game server


def tls(findings: Findings, times: int) -> None:
    """Each way in which TLS can fail, ``times`` times: the program ends by itself, with a sentence and status 1."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "password").write_text("secret-word\n")
        (folder / "password").chmod(0o600)
        good = _certificate(folder, "good", "IP:127.0.0.1", 2)
        expired = _certificate(folder, "expired", "IP:127.0.0.1", -1)
        other = _certificate(folder, "other", "DNS:board", 2)
        ways: dict[str, tuple[Path, _Serve, tuple[str, ...]]] = {
            "a self-signed certificate": (other, _sealed(good), ("--tls",)),
            "an expired one": (expired, _sealed(expired), ("--tls",)),
            "one of another host": (other, _sealed(other), ("--tls",)),
            "a plain server at a TLS port": (good, _reading(_greet), ("--tls",)),
            "TLS at a plain port": (good, _sealed(good), ()),
            "closed before the handshake": (good, _reading(lambda peer: None), ("--tls",)),
            "closed in the handshake": (good, _reading(lambda peer: peer.recv(1 << 12)), ("--tls",)),
            "reset in the handshake": (good, _reading(_reset), ("--tls",)),
            "nonsense in the handshake": (good, _reading(lambda peer: peer.sendall(os.urandom(999))), ("--tls",)),
            "half a record for ever": (good, _reading(_trickle), ("--tls",)),
            "silence in the handshake": (good, _reading(_silent), ("--tls",)),
            "closed after the handshake": (good, _sealed(good, lambda peer: None), ("--tls",)),
            "silence after the handshake": (good, _sealed(good, _silent), ("--tls",)),
        }
        for way, (trusted, serve, options) in ways.items():
            for _ in range(times):
                said = _play(findings, way, folder, trusted, serve, options)
                sys.stdout.write(f"  {way}: {said}\n")
                sys.stdout.flush()


_Serve = Callable[[socket.socket], object]


def _play(findings: Findings, way: str, folder: Path, trusted: Path, serve: _Serve, options: tuple[str, ...]) -> str:
    """Call a server of this kind by `desdaemon ggs`; return the sentence with which that ends."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    peer, _ = listening.accept()
                    threading.Thread(target=serve, args=(peer,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        place = f"127.0.0.1:{listening.getsockname()[1]}"
        began = time.monotonic()
        try:
            done = subprocess.run(
                [*PROGRAM, "ggs", place, "--login", "alice", "--password-file", "password", *options],
                cwd=folder,
                env={**os.environ, "SSL_CERT_FILE": str(trusted)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_END_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            findings.expect(False, f"{way}: it did not end")
            return "nothing"
    findings.counts["calls"] += 1
    lines = done.stderr.splitlines() if options else done.stderr.splitlines()[1:]
    findings.expect(done.returncode == 1, f"{way}: status {done.returncode}")
    findings.expect(len(lines) == 1, f"{way}: {done.stderr[-600:]}")
    return f"{' '.join(lines)[-150:].replace(place, 'HOST:PORT')} ({time.monotonic() - began:.0f} s)"


def _certificate(folder: Path, kind: str, names: str, days: int) -> Path:
    """Make a certificate of its own with its key, in one file."""
    key, asked, made = (folder / f"{kind}.{end}" for end in ("key", "csr", "pem"))
    (folder / "names").write_text(f"subjectAltName={names}")
    for command in (
        f"req -newkey rsa:2048 -nodes -subj /CN={kind} -keyout {key} -out {asked}",
        f"x509 -req -in {asked} -signkey {key} -days {days} -extfile {folder / 'names'} -out {made}",
    ):
        subprocess.run(["openssl", *command.split()], check=True, capture_output=True)
    made.write_bytes(made.read_bytes() + key.read_bytes())
    return made


def _reading(behave: _Serve) -> _Serve:
    def serve(peer: socket.socket) -> None:
        with contextlib.suppress(OSError), peer:
            behave(peer)

    return serve


def _sealed(certificate: Path, behave: _Serve = lambda peer: peer.recv(1)) -> _Serve:
    """A server with TLS that then behaves like this."""

    def serve(peer: socket.socket) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        with contextlib.suppress(OSError), context.wrap_socket(peer, server_side=True) as sealed:
            behave(sealed)

    return serve


def _greet(peer: socket.socket) -> None:
    peer.sendall(b": Enter login (yours, or one you'd like to use).\r\n")
    _silent(peer)


def _reset(peer: socket.socket) -> None:
    peer.recv(1 << 12)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def _trickle(peer: socket.socket) -> None:
    peer.sendall(b"\x16\x03\x03\x40\x00")
    while True:
        peer.sendall(b"\x02")
        time.sleep(0.2)


def _silent(peer: socket.socket) -> None:
    while peer.recv(1 << 12):
        pass


# File systems without locks

_LOCKS = """
import os
from desdaemon.protocol.system import platform
real = platform.lock_file
def lock_file(descriptor):
    if "/shared/" not in os.readlink(f"/proc/self/fd/{{descriptor}}"):
        real(descriptor)
    elif {number}:
        raise OSError({number}, os.strerror({number}))
platform.lock_file = lock_file
"""


def locks(findings: Findings, times: int) -> None:
    """Two daemons that store lines in one book, where locks fail and where they hold nothing, ``times`` lines each."""
    import errno

    for how, number in (("ENOLCK", errno.ENOLCK), ("ENOTSUP", errno.ENOTSUP), ("locks that hold nothing", 0)):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            book = folder / "shared" / "kept.book"
            book.parent.mkdir()
            new = Book(BookOptions(level=1, min_empties=40))
            new.table.insert(*BOOK_START)
            registry.write_native(book, new)
            stored: list[str] = []
            refused: Counter[str] = Counter()
            code = _LOCKS.format(number=number)
            with (
                _daemon(folder / "one", book, code) as (one, first),
                _daemon(folder / "two", book, code) as (two, second),
            ):
                for seed in range(times):
                    for client in (first, second):
                        line = random_line(random.Random(f"{how} {len(stored)} {seed}"), _STORED_PLIES)
                        try:
                            client.request("book.store", {"moves": line}, timeout_s=_END_S)
                            stored.append(line)
                        except DaemonError as error:
                            refused[str(error).replace(str(folder), "")] += 1
                for process in (one, two):
                    process.terminate()
                    process.wait(_END_S)
            lost = _missing(_check(findings, book), stored)
            findings.expect(not lost, f"{how}: {len(lost)} of {len(stored)} acknowledged lines are lost")
            findings.expect(refused, f"{how}: nobody was told")
            findings.counts[f"{how}: lines acknowledged, all found"] = len(stored)
            findings.counts[f"{how}: lines refused"] = refused.total()
            for sentence, count in refused.most_common():
                sys.stdout.write(f"  {how}, {count} times: {sentence}\n")
            for log in (folder / "one" / "log", folder / "two" / "log"):
                findings.expect("mistake" not in log.read_text(), f"{how}: {log.read_text()[-600:]}")


# Weights of the moves that people choose


def policy(findings: Findings, times: int) -> None:
    """The shipped file of people's moves with bytes changed, ``times`` of each kind: refused, or asked for moves."""
    from desdaemon.engine.evaluation.weights_file import WeightsError
    from desdaemon.engine.people.policy import SHIPPED, HumanPolicy, read

    dice = random.Random("policy")
    shipped = SHIPPED.read_bytes()
    content = lzma.decompress(shipped)
    head = content.index(b"\n") + 1

    def changed(data: bytes, first: int, end: int) -> bytes:
        spoilt = bytearray(data)
        for _ in range(dice.choice((1, 2, 50))):
            spoilt[dice.randrange(first, end)] = dice.randrange(256)
        return bytes(spoilt)

    kinds: dict[str, Callable[[], bytes]] = {
        "packed": lambda: changed(shipped, 0, len(shipped)),
        "record": lambda: lzma.compress(changed(content, 0, head), preset=0),
        "numbers": lambda: lzma.compress(changed(content, head, len(content)), preset=0),
        "openings": lambda: lzma.compress(changed(content, len(content) * 9 // 10, len(content)), preset=0),
        "length": lambda: lzma.compress(content[: dice.randrange(len(content))], preset=0),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.xz"
        for kind, spoil in kinds.items():
            for _ in range(times):
                path.write_bytes(spoil())
                findings.counts["files"] += 1
                try:
                    people = HumanPolicy(read(path))
                except WeightsError:
                    findings.counts["refused"] += 1
                    continue
                except Exception as error:
                    findings.expect(False, f"{kind}: {type(error).__name__}: {error}")
                    continue
                for plies in (0, 4, 30):
                    position = _after(random_line(dice, plies))
                    found = people.probabilities(position.player, position.opponent, 1500.0)
                    findings.expect(abs(sum(found.values()) - 1) < 1e-3, f"{kind}: {found}")
                findings.counts["used, with moves that add up"] += 1


def _after(line: str) -> Position:
    return play_moves(START, parse_moves(line)).last


PARTS = {
    "policy": (policy, 20),
    "liar": (liar, 3),
    "backups": (backups, 20),
    "tls": (tls, 1),
    "locks": (locks, 10),
    "kills": (kills, 20),
}
"""Each part, and how often it tries each thing."""


def main(arguments: list[str]) -> int:
    """Run the parts; the exit status is 1 where one did not behave as it should."""
    parser = Parser("lab hostile", description="Lying workers, kills, failing TLS, failing locks.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=f"{', '.join(PARTS)}; else all")
    parser.add_argument("--times", type=int, help="how often each thing is tried")
    named = parser.parse_args(arguments)
    failed = False
    with ended_by_signals():
        for name in named.parts or PARTS:
            part, usual = PARTS[name]
            findings = Findings()
            part(findings, named.times or usual)
            counts = ", ".join(f"{count} {what}" for what, count in findings.counts.items())
            sys.stdout.write(f"{name}: {counts}\n")
            sys.stdout.writelines(f"failed: {fault}\n" for fault in findings.faults)
            sys.stdout.flush()
            failed |= bool(findings.faults)
    return int(failed)
