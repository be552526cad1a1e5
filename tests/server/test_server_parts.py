"""The parts of the server that need no process of their own: cache, keys, folders, log, notices."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import stat
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zmq
from checkout import IMPORT
from hypothesis import given, settings
from hypothesis import strategies as st

from desdaemon.cli.serve_options import read_options
from desdaemon.clients import DaemonError, connect
from desdaemon.core.paths import confined, private_folder
from desdaemon.core.requests.analysis_cache import _MAGIC, AnalysisCache, _packed
from desdaemon.core.requests.request import ServerLimits
from desdaemon.engine.result import Line
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position
from desdaemon.protocol.othello.rules import canonical_with_symmetry as canonical
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.system import files, platform
from desdaemon.protocol.system.locks import FileLock
from desdaemon.protocol.system.logs import Log
from desdaemon.server import keys as key_module
from desdaemon.server import server
from desdaemon.server.endpoints import Acceptor, is_loopback, open_acceptors
from desdaemon.server.keys import KeyStore
from desdaemon.server.keys import main as keys_main

MOST_A_SECOND = 20

# --- the runtime folder


def test_a_runtime_folder_that_cannot_be_locked_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(platform, "lock_file", refuse)
    with pytest.raises(BadInput) as error:
        server._hold(str(tmp_path))
    told = "the file system has no lock for it (No locks available): expected one that has locks"
    assert str(error.value) == f"{tmp_path / 'daemon.lock'}: {told}"


# --- the cache of analyses


def found(position: Position, depth: int, percent: int = 100, number: int = 1) -> tuple[Line, ...]:
    moves = rules.squares(position.moves)[:number]
    return tuple(
        Line(move, 3 - at, 3 - at, 3 - at, depth, Selectivity(percent), (move,), 100, 1.5, position.empties)
        for at, move in enumerate(moves)
    )


def game(seed: int, plies: int) -> Position:
    choice = random.Random(seed)
    position = START
    for _ in range(plies):
        if position.over:
            break
        position = position.after(rules.PASS if position.must_pass else choice.choice(rules.squares(position.moves)))
    return position


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(0, 50), st.integers(0, 7))
def test_a_kept_answer_holds_for_every_image(seed: int, plies: int, symmetry: int) -> None:
    position = game(seed, plies)
    if not position.moves:
        return
    cache = AnalysisCache(1 << 20)
    lines = found(position, 8, number=3)
    cache.put(canonical(*position[:2]), lines)
    player, opponent = (rules.transform(discs, symmetry) for discs in position[:2])
    image = cache.get(canonical(player, opponent), 3, 8, 100)
    assert image is not None
    assert [line.score for line in image] == [line.score for line in lines]
    turned = [rules.transform_move(line.move, symmetry) for line in lines]
    if len({rules.transform(position.player, each) for each in range(8)}) == 8:
        assert [line.move for line in image] == turned
    else:
        # A board that is its own image may be turned by any symmetry that leads there.
        assert all(rules.legal_moves(player, opponent) >> line.move & 1 for line in image)
    assert all(line.pv[0] == line.move for line in image)


def test_a_kept_answer_is_as_deep_and_sure_as_asked() -> None:
    cache = AnalysisCache(1 << 20)
    cache.put(canonical(*START[:2]), found(START, 10, 87, 2))
    assert cache.get(canonical(*START[:2]), 2, 10, 87)
    assert cache.get(canonical(*START[:2]), 1, 4, 73)
    assert cache.get(canonical(*START[:2]), 1, 11, 73) is None
    assert cache.get(canonical(*START[:2]), 1, 10, 95) is None
    assert cache.get(canonical(*START[:2]), 3, 10, 73) is None
    cache.put(canonical(*START[:2]), found(START, 6, 87, 2))
    assert cache.get(canonical(*START[:2]), 2, 10, 87)


@pytest.mark.posix
def test_the_cache_is_bounded_and_drops_the_oldest(tmp_path: Path) -> None:
    cache = AnalysisCache(20_000)
    positions = [game(seed, 20) for seed in range(300)]
    for position in positions:
        cache.put(canonical(*position[:2]), found(position, 5))
    assert 20 < len(cache) < 100
    assert cache.get(canonical(*positions[-1][:2]), 1, 5, 100)
    assert cache.get(canonical(*positions[0][:2]), 1, 5, 100) is None
    file = str(tmp_path / "kept")
    cache.save(file)
    assert stat.S_IMODE(Path(file).stat().st_mode) == 0o600
    smaller = AnalysisCache(10_000)
    assert smaller.load(file) == ""
    assert 0 < len(smaller) < len(cache)
    assert smaller.get(canonical(*positions[-1][:2]), 1, 5, 100)


def test_a_cache_that_is_used_while_it_is_written_comes_back_whole(tmp_path: Path) -> None:
    cache = AnalysisCache(700_000)
    boards = {(1 << 63 | number, 1 << 62): number % 40 for number in range(1, 3000)}
    for board, depth in boards.items():
        cache.put(canonical(*board), found(Position(*board, True), depth))
    known = len(cache)
    assert known > 2500
    adding = threading.Thread(
        target=lambda: [
            cache.put(canonical(1 << 63 | 1 << 20 | number, 1 << 62), found(START, 7)) for number in range(2000)
        ]
    )
    adding.start()
    file = str(tmp_path / "kept")
    cache.save(file)
    adding.join()
    again = AnalysisCache(700_000)
    assert again.load(file) == ""
    assert known - 2000 <= len(again) <= known + 2000
    assert sum(again.get(canonical(*board), 1, depth, 100) is not None for board, depth in boards.items()) > 500


def test_a_file_that_is_damaged_or_of_other_weights_is_begun_anew(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    cache = AnalysisCache(1 << 20, "these")
    assert cache.load(str(file)) == ""
    cache.put(canonical(*START[:2]), found(START, 10))
    cache.save(str(file))
    assert not cache.changed
    again = AnalysisCache(1 << 20, "these")
    assert again.load(str(file)) == ""
    assert again.get(canonical(*START[:2]), 1, 10, 100)
    other = AnalysisCache(1 << 20, "those")
    assert "other weights" in other.load(str(file))
    assert len(other) == 0
    data = file.read_bytes()
    for at in range(0, len(data), 7):
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        broken = AnalysisCache(1 << 20, "these")
        assert broken.load(str(file))
        assert len(broken) == 0
    with pytest.raises(OSError, match="No such file"):
        cache.save(str(tmp_path / "nowhere" / "kept"))
    assert cache.changed
    file.write_bytes(data[:-1])
    assert "damaged" in AnalysisCache(1 << 20, "these").load(str(file))


ENTRY = _packed(found(START, 10), 0)
_EMPTY, _SHORT = (struct.pack("<H16x", size) for size in (0, 9))
_OTHER_MOVE, _OTHER_PERCENT = (ENTRY[:at] + b"\x63" + ENTRY[at + 1 :] for at in (0, 5))


def _entry(content: bytes, number: int = 0) -> bytes:
    return struct.pack("<HQQ", len(content), number, 0) + content


@pytest.mark.parametrize(
    "body",
    [bytes(1 << 24), b"\5", b"\xff\xff" + bytes(16), b"nonsense", _entry(ENTRY) + _EMPTY, _SHORT + bytes(9)]
    + [_entry(part) for part in (ENTRY[:-1], ENTRY + b"\0", _OTHER_MOVE, b"\xff" + ENTRY[1:], bytes(24))],
)
def test_a_file_whose_digest_is_right_is_not_trusted(body: bytes, tmp_path: Path) -> None:
    """A small one may hold any number of bytes, and an entry end before its end."""
    data = _MAGIC + bytes(16) + (body if body == b"nonsense" else zlib.compress(body))
    (tmp_path / "kept").write_bytes(data + blake2b(data, digest_size=16).digest())
    cache = AnalysisCache(1 << 20)
    cache._origin = bytes(16)
    assert "damaged" in cache.load(str(tmp_path / "kept"))
    assert len(cache) == 0
    cache.put(canonical(*START[:2]), found(START, 10))
    assert len(cache) == 1


def test_entries_that_come_twice_count_once(tmp_path: Path) -> None:
    data = _MAGIC + bytes(16) + zlib.compress(_entry(ENTRY) * 90)
    (tmp_path / "kept").write_bytes(data + blake2b(data, digest_size=16).digest())
    cache = AnalysisCache(10_000)
    cache._origin = bytes(16)
    assert cache.load(str(tmp_path / "kept")) == ""
    positions = [game(seed, 20) for seed in range(9)]
    for position in positions:
        cache.put(canonical(*position[:2]), found(position, 5))
    assert len(cache) == 10


_FIRST, _SECOND = found(START, 10, number=2)


@pytest.mark.parametrize(
    "lines",
    [
        [_FIRST._replace(move=0, pv=(0,))],
        [_FIRST._replace(move=rules.PASS, pv=(rules.PASS,))],
        [_FIRST._replace(pv=(_SECOND.move,))],
        [_FIRST._replace(pv=(_FIRST.move, _FIRST.move))],
        [_FIRST._replace(pv=(_FIRST.move, 200))],
        [_FIRST._replace(pv=())],
        [_FIRST, _FIRST],
        [_FIRST._replace(score=65, lower=65, upper=65)],
        [_FIRST._replace(score=5)],
        [_FIRST._replace(time_ms=float("nan"))],
        [_FIRST._replace(time_ms=-1.0)],
        [_FIRST._replace(depth=61)],
    ],
    ids=[
        *("illegal", "pass", "other first move", "illegal later", "no square", "no line", "twice"),
        *("65 discs", "outside its bounds", "no time", "negative time", "too deep"),
    ],
)
def test_answers_of_a_file_that_cannot_be_are_not_given(lines: list[Line], tmp_path: Path) -> None:
    """They are forgotten when asked for; those beside them are given, and later searches of the position kept."""
    start, other = canonical(*START[:2]), game(1, 9)
    beside = canonical(*other[:2])
    cache = AnalysisCache(1 << 20)
    cache.put(start, tuple(lines))
    cache.put(beside, found(other, 9))
    cache.save(str(tmp_path / "kept"))
    again = AnalysisCache(1 << 20)
    assert again.load(str(tmp_path / "kept")) == ""
    assert again.get(start, len(lines), 8, 100) is None
    assert again.get(beside, 1, 9, 100) == found(other, 9)
    again.put(start, found(START, 4))
    assert again.get(start, 1, 4, 100) == found(START, 4)


READ_CACHE = f"""{IMPORT}
import psutil, resource
from desdaemon.core.requests.analysis_cache import AnalysisCache
cache = AnalysisCache(8 << 20)
cache._origin = bytes(16)
most = psutil.Process().memory_info().vms + (60 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
print(cache.load(sys.argv[1]), len(cache))
"""


@pytest.mark.posix
def test_a_file_of_very_many_entries_takes_little_memory(tmp_path: Path) -> None:
    """Some hundred KB of entries that would be 80 MB, in an address space with room for 60: a cache of 8 may take four
    times as much unpacked.
    """
    file = tmp_path / "kept"
    body = b"".join(_entry(ENTRY, number) for number in range(300_000))
    data = _MAGIC + bytes(16) + zlib.compress(body, 1)
    file.write_bytes(data + blake2b(data, digest_size=16).digest())
    done = subprocess.run([sys.executable, "-c", READ_CACHE, str(file)], capture_output=True, text=True)
    assert done.stdout == f"{file}: damaged: begun again 0\n", done.stderr


# --- keys


@pytest.mark.posix
def test_a_list_of_keys_that_others_can_change_lets_nobody_in(tmp_path: Path) -> None:
    keys = KeyStore(str(tmp_path / "keys"))
    keys.new("anna", "admin")
    assert len(keys.allowed()) == 1
    (tmp_path / "keys" / "allowed").chmod(0o620)
    with pytest.raises(BadInput, match="others can change"):
        keys.allowed()


@pytest.mark.posix
def test_keys_are_made_listed_and_taken_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "keys")
    assert keys_main(["new", "anna", "--role", "editor", "--keys", folder]) == 0
    file = tmp_path / "keys" / "anna.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    for path in (tmp_path / "keys").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    keys = KeyStore(folder)
    ((public, client),) = keys.allowed().items()
    assert (client.name, client.role) == ("anna", "editor")
    assert f'public-key = "{public}"' in file.read_text()
    assert f'server-key = "{keys.server()[0]}"' in file.read_text()
    assert keys_main(["new", "anna", "--keys", folder]) == 1
    assert keys_main(["allow", "bert", zmq.curve_keypair()[0].decode(), "--keys", folder]) == 0
    assert {client.name: client.role for client in keys.allowed().values()} == {"anna": "editor", "bert": "reader"}
    capsys.readouterr()
    assert keys_main(["list", "--keys", folder]) == 0
    listed = capsys.readouterr().out
    assert "anna" in listed
    assert keys.server()[1] not in listed
    capsys.readouterr()
    assert keys_main(["revoke", "anna", "--keys", folder]) == 0
    assert capsys.readouterr().out == "anna may connect no more\n"
    assert [client.name for client in keys.allowed().values()] == ["bert"]
    assert keys_main(["revoke", "anna", "--keys", folder]) == 1
    for wrong in (["new", "../x"], ["new", "x", "--role", "king"], ["allow", "x", "short"], ["new", "server"]):
        assert keys_main([*wrong, "--keys", folder]) == 1
    assert keys_main(["nonsense"]) == 2


def test_keys_that_were_never_made_are_not_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert keys_main(["list", "--keys", str(tmp_path / "mistyped")]) == 1
    assert "mistyped: no keys there" in capsys.readouterr().err.replace('"', "")
    assert not (tmp_path / "mistyped").exists()


def test_keys_that_are_made_and_taken_back_at_the_same_time_are_all_counted(tmp_path: Path) -> None:
    folder = str(tmp_path / "keys")
    with ThreadPoolExecutor(8) as threads:
        # As many processes would: each reads the list before it writes it. The first ones make the server's key.
        list(threads.map(lambda number: KeyStore(folder).new(f"k{number}", "reader"), range(24)))
        list(threads.map(lambda number: KeyStore(folder).revoke(f"k{number}"), range(12)))
    assert sorted(key.name for key in KeyStore(folder).allowed().values()) == [f"k{number}" for number in range(12, 24)]


def test_a_list_of_keys_that_cannot_be_written_is_told_and_no_key_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "keys"
    KeyStore(str(folder)).new("anna", "admin")
    replace = files.replace

    def full(path: Path, *arguments: Any, **options: Any) -> None:
        if path.name == "allowed":
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(path, *arguments, **options)

    monkeypatch.setattr(files, "replace", full)
    for command in (["new", "bert"], ["revoke", "anna"]):
        assert keys_main([*command, "--keys", str(folder)]) == 1
        assert capsys.readouterr().err == f"desdaemon keys: {folder / 'allowed'}: No space left on device\n"
    assert not (folder / "bert.key").exists()


def test_a_change_waits_for_another_process_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "keys"
    KeyStore(str(folder)).new("anna", "admin")
    lock = FileLock(folder / "allowed.lock")
    monkeypatch.setattr(key_module, "_PATIENCE_S", 0.05)
    with pytest.raises(BadInput, match=f"process {os.getpid()} is changing the keys"):
        KeyStore(str(folder)).revoke("anna")
    lock.release()
    KeyStore(str(folder)).revoke("anna")


def test_a_key_that_came_and_went_between_two_looks_is_noticed(tmp_path: Path) -> None:
    folder = str(tmp_path / "keys")
    mine = KeyStore(folder)
    mine.new("anna", "admin")
    acceptor = Acceptor("", "reader", KeyStore(folder))
    assert acceptor.keys_changed()
    assert not acceptor.keys_changed()
    mine.new("bert", "editor")
    (bert,) = (key.public for key in mine.allowed().values() if key.name == "bert")
    assert acceptor.role_of(bert) == ("bert", "editor")
    mine.revoke("bert")
    assert acceptor.keys_changed()
    assert acceptor.role_of(bert)[1] == ""
    assert not acceptor.keys_changed()


@pytest.mark.posix
def test_a_list_that_cannot_be_used_for_a_while_is_noticed_twice(tmp_path: Path) -> None:
    keys = KeyStore(str(tmp_path / "keys"))
    keys.new("anna", "admin")
    acceptor = Acceptor("", "reader", keys)
    acceptor.keys_changed()
    for mode in (0o622, 0o600):
        (tmp_path / "keys" / "allowed").chmod(mode)
        assert acceptor.keys_changed()
        assert not acceptor.keys_changed()


@pytest.mark.posix
def test_a_secret_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    keys = KeyStore(str(tmp_path / "keys"))
    keys.server()
    (tmp_path / "keys" / "server.key").chmod(0o644)
    with pytest.raises(BadInput, match="chmod"):
        keys.server()


NO_Z85 = "#" * 40
"""Of legal characters, but five of them are a number beyond 32 bits."""


@pytest.mark.parametrize("wrong", ["public-key", "secret-key"])
@pytest.mark.parametrize("value", [NO_Z85, "", "x" * 39, "'" * 40, "0" * 40])
def test_a_server_with_a_key_that_is_none_or_does_not_fit_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: str, value: str
) -> None:
    folder = tmp_path / "keys"
    KeyStore(str(folder)).new("anna", "admin")
    path = folder / "server.key"
    text = path.read_text()
    old = text.partition(f'{wrong} = "')[2].partition('"')[0]
    path.write_text(text.replace(old, value))
    with pytest.raises(BadInput, match=r"server\.key"):
        open_acceptors("", ["tcp://127.0.0.1:0"], KeyStore(str(folder)), insecure=False)
    assert keys_main(["new", "bert", "--keys", str(folder)]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_key_that_is_no_z85_is_not_let_in(tmp_path: Path) -> None:
    keys = KeyStore(str(tmp_path / "keys"))
    keys.new("anna", "admin")
    with pytest.raises(BadInput, match="Z85"):
        keys.allow("bert", NO_Z85, "reader")
    with (tmp_path / "keys" / "allowed").open("a") as file:
        file.write(f"bert reader {NO_Z85}\n")
    with pytest.raises(BadInput, match="line 3"):
        keys.allowed()


def test_a_client_with_keys_that_do_not_fit_is_told(tmp_path: Path) -> None:
    keys = KeyStore(str(tmp_path / "keys"))
    path = keys.new("anna", "admin")
    text = path.read_text()
    for name in ("public-key", "secret-key", "server-key"):
        old = text.partition(f'{name} = "')[2].partition('"')[0]
        path.write_text(text.replace(old, NO_Z85))
        with pytest.raises(DaemonError, match="key"):
            connect("tcp://127.0.0.1:1", key=path)


@pytest.mark.posix
def test_a_list_of_keys_that_cannot_be_read_lets_nobody_in(tmp_path: Path) -> None:
    keys = KeyStore(str(tmp_path))
    (tmp_path / "allowed").write_text("anna editor\n")
    (tmp_path / "allowed").chmod(0o600)
    with pytest.raises(BadInput, match="line 1"):
        keys.allowed()


def _folder(path: Path) -> None:
    path.mkdir(0o700)


def _pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _large(path: Path) -> None:
    path.write_bytes(b"#" * (1 << 21))
    path.chmod(0o600)


@pytest.mark.posix
@pytest.mark.parametrize("make", [_folder, _pipe, _large, _endless])
def test_what_is_no_list_of_keys_and_no_key_is_refused_and_not_waited_for(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    keys = KeyStore(str(tmp_path))
    client = keys.new("anna", "admin")
    for name in ("allowed", "server.key"):
        (tmp_path / name).unlink()
        make(tmp_path / name)
    with pytest.raises(BadInput, match="allowed"):
        keys.allowed()
    with pytest.raises(BadInput, match=r"server\.key"):
        keys.server()
    client.unlink()
    make(client)
    with pytest.raises(DaemonError, match=r"anna\.key"):
        connect("tcp://127.0.0.1:1", key=client)


# --- folders, log, notices


@pytest.mark.posix
@pytest.mark.parametrize("name", ["", "/x", "..", "a/../../b", "~", "~x/y", "a\0b", "out/x", "out", "pipe", "x" * 5000])
def test_names_that_lead_out_are_refused(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    with pytest.raises(BadInput):
        confined(name, str(folder))
    assert confined("new/x", str(folder)) == folder / "new" / "x"


@pytest.mark.posix
def test_a_folder_that_others_need_is_not_made_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    for folder in (tmp_path, Path("/")):
        mode = folder.stat().st_mode
        with pytest.raises(BadInput, match="expected a folder of this user"):
            private_folder(str(folder))
        assert folder.stat().st_mode == mode


@pytest.mark.posix
def test_a_private_folder_belongs_to_its_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    private_folder(str(folder))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o755)
    private_folder(str(folder))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(BadInput):
        private_folder(str(tmp_path / "link"))


def test_lines_of_the_log_have_their_form(tmp_path: Path) -> None:
    file = tmp_path / "log"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
    log = Log("info", "json", descriptor)
    log.write("debug", "unseen", {})
    log.info("seen", what='a "b"\n', number=3)
    Log("info", "text", descriptor).warning("seen", what='a "b"\n', number=3)
    first, second = file.read_text().splitlines()
    assert {"level": "info", "event": "seen", "what": 'a "b"\n', "number": 3}.items() <= json.loads(first).items()
    assert second.endswith(' warning seen what="a \\"b\\"\\n" number=3')
    for _ in range(10 * MOST_A_SECOND):
        log.error("flood")
    os.close(descriptor)
    assert len(file.read_text().splitlines()) <= 2 + 2 * MOST_A_SECOND


def test_each_endpoint_tells_who_can_reach_it() -> None:
    for endpoint in ("tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1", "tcp://127.8.9.1:1"):
        assert is_loopback(endpoint)
    for endpoint in (
        "tcp://*:1",
        "tcp://0.0.0.0:1",
        "tcp://127.example.org:1",
        "tcp://192.168.0.1:1",
        "tcp://[::]:1",
        "tcp://1270.0.0.1:1",
    ):
        assert not is_loopback(endpoint)


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "127.0.0.1:6464",
        "ipc://x",
        "tcp://:1",
        "tcp://127.0.0.1",
        "tcp://127.0.0.1:*",
        "tcp://127.0.0.1:65535",
        "tcp://127.0.0.1:99999",
        "tcp://127.0.0.1:1;127.0.0.1:2",
        "tcp://127.0.0.1;0.0.0.0:1",
    ],
)
def test_addresses_where_nobody_can_listen_are_refused(endpoint: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="such as tcp://127"):
        open_acceptors(f"ipc://{tmp_path}/s", [endpoint], None, insecure=True)


def test_nobody_listens_beyond_the_machine_without_keys(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="keys"):
        open_acceptors("", ["tcp://*:0"], None, insecure=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--bind"],
        ["--limit", "nonsense=3"],
        ["--limit", "queue=-1"],
        ["--limit", "queue"],
        ["--log-level", "loud"],
        ["--log-format", "xml"],
        ["--bind", "tcp://127.0.0.1:0", "--keys", "/nowhere/at/all"],
        ["-solve", "x"],
        ["-nonsense"],
    ],
)
def test_bad_command_lines_are_refused_in_a_line(arguments: list[str]) -> None:
    with pytest.raises(BadInput):
        read_options(arguments)


def test_a_command_line_is_understood(tmp_path: Path) -> None:
    line = f"--bind=tcp://127.0.0.1:0 -n 3 --limit queue=7 -l 9 --ipc none --data {tmp_path}"
    settings, options = read_options(line.split())
    assert (settings.level, settings.n_tasks, options.slots) == (9, 1, 3)
    assert (options.ipc, options.tcp, options.encrypted) == ("", ["tcp://127.0.0.1:0"], False)
    assert options.limits == ServerLimits(queue=7)
    assert options.data_folder == str(tmp_path)


def test_folders_are_those_of_the_command_line_wherever_the_daemon_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative --keys was once read in the data folder: another server key was made there, which refused everyone."""
    monkeypatch.chdir(tmp_path)
    KeyStore("keys").new("laptop", "reader")
    _, options = read_options(["--keys", "keys", "--data", "data", "--bind", "tcp://127.0.0.1:6464"])
    assert (options.keys_folder, options.data_folder) == (str(tmp_path / "keys"), str(tmp_path / "data"))


# --- signals


def test_a_signal_that_comes_before_the_server_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the sockets are being opened there is nothing to end yet."""
    handlers: dict[int, Any] = {}
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    done: list[str] = []
    starting = SimpleNamespace(start=lambda: done.append("start"), end=lambda: done.append("end"))
    signals = server._Signals()
    signals.start(starting)  # type: ignore[arg-type]
    assert done == ["start"]
    early = server._Signals()
    handlers[signal.SIGTERM](signal.SIGTERM, None)
    early.start(starting)  # type: ignore[arg-type]
    assert done == ["start", "start", "end"]
