"""Keys and roles, and files outside the data folder."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgpack
import pytest
import zmq
from served import PATIENCE_S, REAL, ROOT, Peer, Served, serving
from waits import until

from desdaemon.clients import Client, DaemonError
from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.commands.options import OPTIONS
from desdaemon.protocol.commands.text import COMMANDS
from desdaemon.protocol.wire.messages import OPERATIONS


def keys(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*REAL, "keys", *arguments, "--keys", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A daemon with keys, and three clients that it knows."""
    folder = tmp_path_factory.mktemp("k")
    for role in ("reader", "editor", "admin"):
        done = keys(folder / "keys", "new", role, "--role", role, "--file", str(folder / f"{role}.key"))
        assert done.returncode == 0, done.stderr
    with serving(folder, "--keys", str(folder / "keys"), "--bind", "tcp://127.0.0.1:0") as served:
        with Peer(served.ipc) as admin:
            admin.final("book.new", {"level": 1, "depth": 10})
            admin.final("book.save", {"file": "kept.book"})
        yield served


def key_file(served: Served, name: str) -> Path:
    return served.data.parent / f"{name}.key"


def client(served: Served, name: str) -> Client:
    return Client.connect(served.tcp, key=key_file(served, name))


@pytest.mark.posix
def test_the_role_comes_with_the_key(locked: Served) -> None:
    for role in ("reader", "editor", "admin"):
        assert key_file(locked, role).stat().st_mode & 0o777 == 0o600
        with client(locked, role) as found:
            assert found.hello.role == role
            assert found.request("ping") == {}
            assert found.analyze(level=1).result().moves


@pytest.mark.needs("book.growth")
def test_a_reader_changes_nothing_and_ends_nothing(locked: Served) -> None:
    with client(locked, "reader") as reader:
        before, known = reader.status()["book"]["positions"], reader.book_get(moves="f5d6")
        for op, args in (("book.store", {"moves": "f5d6"}), ("shutdown", {}), ("cancel", {"job": 1})):
            with pytest.raises(DaemonError) as caught:
                reader.request(op, args)
            assert caught.value.code == "forbidden", op
        for operation in OPERATIONS:
            if operation.role != "reader":
                with pytest.raises(DaemonError) as caught:
                    reader.request(operation.name, {"depth": 1, "file": "kept.book"})
                assert caught.value.code == "forbidden", operation.name
        for line in ("book store", "book deviate 1 1", "book load kept.book", "save x.txt"):
            reader.text("play f5")
            with pytest.raises(DaemonError) as caught:
                reader.text(line)
            assert caught.value.code == "forbidden", line
            command = line.rpartition(" ")[0] if line.startswith("save") else " ".join(line.split()[:2])
            assert caught.value.message.startswith(f"{command} needs the role "), caught.value.message
        assert (reader.status()["book"]["positions"], reader.book_get(moves="f5d6")) == (before, known)


def test_an_editor_changes_the_book_and_names_no_files(locked: Served) -> None:
    with client(locked, "editor") as editor:
        assert editor.book("store", moves="f5d6c3").result().added > 0
        for op in ("shutdown", "book.save", "book.load"):
            with pytest.raises(DaemonError, match="forbidden"):
                editor.request(op, {"file": "kept.book"})


def exchanged(text: str, name: str, key: str) -> str:
    """A key file with one key exchanged."""
    lines = [f'{name}-key = "{key}"\n' if line.startswith(name) else line for line in text.splitlines(True)]
    return "".join(lines)


@pytest.mark.posix
def test_no_key_a_strange_key_and_a_wrong_server_key_are_refused(locked: Served) -> None:
    stranger = [part.decode() for part in zmq.curve_keypair()]
    good = key_file(locked, "reader").read_text()
    file = locked.data.parent / "other.key"
    with pytest.raises(DaemonError) as caught:
        Client.connect(locked.tcp, timeout_s=10)
    assert caught.value.code in ("forbidden", "no_daemon")
    for names in (("public", "secret"), ("server",)):
        changed = good
        for name, key in zip(names, stranger, strict=False):
            changed = exchanged(changed, name, key)
        file.write_text(changed)
        file.chmod(0o600)
        with pytest.raises(DaemonError) as caught:
            Client.connect(locked.tcp, key=file, timeout_s=1)
        assert caught.value.code in ("forbidden", "no_daemon")
    with client(locked, "reader") as reader:
        assert reader.request("ping") == {}


def test_peers_without_a_key_get_no_answer(locked: Served) -> None:
    with zmq.Context() as context, context.socket(zmq.DEALER) as bare, context.socket(zmq.SUB) as events:
        bare.linger = events.linger = 0
        bare.connect(locked.tcp)
        bare.send(b"moves")
        events.connect(locked.events(locked.tcp))
        events.subscribe("")
        assert not bare.poll(500)
        assert not events.poll(100)


def test_an_encrypted_body_reaches_its_limit(locked: Served) -> None:
    """Up to 1 MiB it is answered; a longer one closes the connection, and what is sent on the next one is answered."""

    def body(size: int, number: int) -> bytes:
        head: bytes = msgpack.packb({"v": 1, "id": number, "op": "ping", "x": bytes(1 << 16)})
        return bytes(msgpack.packb({"v": 1, "id": number, "op": "ping", "x": bytes((1 << 16) + size - len(head))}))

    with Peer(locked.tcp, keys=curve(key_file(locked, "reader"))) as peer, Peer(locked.ipc) as admin:
        for number, (size, closes) in enumerate((((1 << 20) - 9, False), (1 << 20, False), ((1 << 20) + 100, True)), 1):
            before = breaches(admin)
            peer.send(body(size, number))
            if closes:
                until(lambda before=before: breaches(admin) == before + 1)  # type: ignore[misc]
            else:
                assert peer.reply()["id"] == number
        peer.send(body(100_000, 9))
        assert peer.reply()["id"] == 9


def breaches(admin: Peer) -> int:
    """How many connections broke the protocol, by the metrics."""
    found = re.search(r'_total\{what="protocol violations"\} (\d+)$', admin.final("metrics")["text"], re.MULTILINE)
    return int(found[1]) if found else 0


def refused(client: Client) -> bool:
    try:
        client.ping()
    except DaemonError as error:
        return error.code == "forbidden"
    return False


def test_a_revoked_key_opens_nothing(locked: Served) -> None:
    folder = locked.data.parent
    assert keys(folder / "keys", "new", "guest", "--file", str(folder / "guest.key")).returncode == 0
    with client(locked, "guest") as guest:
        assert guest.hello.role == "reader"
        assert "guest" in keys(folder / "keys", "list").stdout
        assert keys(folder / "keys", "revoke", "guest").returncode == 0
        # On the connection that is open, too, though perhaps a moment later.
        until(lambda: refused(guest))
    assert "guest" not in keys(folder / "keys", "list").stdout
    with pytest.raises(DaemonError):
        Client.connect(locked.tcp, key=folder / "guest.key", timeout_s=1)


def curve(file: Path) -> tuple[bytes, bytes, bytes]:
    """Public, secret and the daemon's key of a key file."""
    found = dict(re.findall(r'^(\S+) = "(.*)"$', file.read_text(), re.MULTILINE))
    return found["public-key"].encode(), found["secret-key"].encode(), found["server-key"].encode()


def test_a_revoked_key_hears_no_more_events_and_what_it_had_in_flight_ends(locked: Served) -> None:
    folder = locked.data.parent
    file = folder / "leaving.key"
    assert keys(folder / "keys", "new", "leaving", "--file", str(file)).returncode == 0
    with (
        zmq.Context() as context,
        context.socket(zmq.SUB) as events,
        context.socket(zmq.SUB) as others,
        Peer(locked.tcp, keys=curve(file)) as peer,
        Peer(locked.ipc) as admin,
    ):
        events.linger = 0
        events.curve_publickey, events.curve_secretkey, events.curve_serverkey = curve(file)
        for socket, endpoint in ((events, locked.tcp), (others, locked.ipc)):
            socket.subscribe("job.")
            socket.connect(locked.events(endpoint))
            until(lambda socket=socket: admin.final("book.info") and socket.poll(100))  # type: ignore[misc]
        running = peer.request("analyze", {"level": 60, "book": "ignore"})
        pinged = peer.request("ping")
        reply = peer.reply()
        assert (reply["id"], reply["type"]) == (pinged, "final"), reply
        assert keys(folder / "keys", "revoke", "leaving").returncode == 0
        ended = peer.replies(running)[-1]
        assert (ended["error"]["code"], ended["id"]) == ("forbidden", running)
        wanted = peer.request("ping")
        reply = peer.reply()
        assert (reply["id"], reply["error"]["code"]) == (wanted, "forbidden")
        until(lambda: admin.final("status")["running"] == 0)
        for socket in (events, others):
            while socket.poll(200):
                socket.recv_multipart()
        admin.final("book.info")
        assert others.poll(1000 * PATIENCE_S)
        assert not events.poll(300)


def test_a_key_is_given_exactly_where_one_is_wanted(locked: Served, tmp_path: Path) -> None:
    with serving(tmp_path, "--bind", "tcp://127.0.0.1:0") as open_to_all:
        with pytest.raises(DaemonError, match="does not use keys"):
            Client.connect(open_to_all.tcp, key=key_file(locked, "reader"), timeout_s=30)
        with pytest.raises(DaemonError, match="needs a key"):
            Client.connect(locked.tcp, timeout_s=30)


def test_failed_handshakes_are_logged_once_with_their_number(locked: Served) -> None:
    before = locked.log.read_text().count("handshakes refused")
    endpoint = locked.tcp.removeprefix("tcp://").split(":")
    for _ in range(100):
        with socket.create_connection((endpoint[0], int(endpoint[1])), PATIENCE_S) as raw:
            raw.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert raw.recv(1 << 16)
    with Peer(locked.ipc) as admin:
        assert 'incidents_total{what="handshakes refused"}' in admin.final("metrics")["text"]
    assert locked.log.read_text().count("handshakes refused") <= before + 2


def test_a_refused_key_is_logged_with_its_address(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    for name in ("guest", "other"):
        assert keys(folder, "new", name, "--file", str(tmp_path / f"{name}.key")).returncode == 0
    assert keys(folder, "revoke", "guest").stdout == "guest may connect no more\n"
    public = curve(tmp_path / "guest.key")[0].decode()
    with serving(tmp_path, "--keys", str(folder), "--bind", "tcp://127.0.0.1:0") as served:
        with pytest.raises(DaemonError):
            Client.connect(served.tcp, key=tmp_path / "guest.key", timeout_s=10)
        until(lambda: f"{public} from 127.0.0.1" in served.log.read_text())


# --- files

OUTSIDE = (
    "../secret",
    "../../secret",
    "/etc/passwd",
    "link",
    "link/../x",
    "folder/../../secret",
    "./../secret",
    "x\0y",
)


def outside_names(served: Served) -> list[str]:
    secret = served.data.parent / "secret"
    secret.write_text("c4e3f5b4f3\n")
    for name, target in (("link", secret), ("out", served.data.parent)):
        if not (served.data / name).is_symlink():
            (served.data / name).symlink_to(target)
    return [*OUTSIDE, str(secret), "out/secret", "~/secret", "~root/secret", "file://" + str(secret), "*", "../*"]


def state_outside(served: Served) -> dict[str, tuple[int, int]]:
    """Every file beside the data folder that a client has no business with."""
    parent = served.data.parent
    skip = (served.data, served.runtime, served.log, parent / "keys")
    return {
        str(file): (file.stat().st_size, file.stat().st_mtime_ns)
        for file in parent.rglob("*")
        if file.is_file() and not any(file.is_relative_to(folder) for folder in skip)
    }


@pytest.mark.posix
def test_no_text_command_leaves_the_data_folder(locked: Served) -> None:
    names = [name for name in outside_names(locked) if "\0" not in name]
    before = state_outside(locked)
    filed = [command.name for command in COMMANDS if "file" in command.parameters]
    filed += [f"book {command.name}" for command in BOOK_COMMANDS if any("path" in p.kind for p in command.parameters)]
    filed += [option.name for option in OPTIONS if option.kind == "path"]
    assert {"load", "save", "book load", "eval-file", "book-file"} <= set(filed)
    with Peer(locked.ipc) as admin:
        for word in filed:
            for name in names:
                reply = admin.ask("text", {"line": f"{word} {name}"})
                if reply["type"] == "error":
                    assert reply["error"]["code"] == "forbidden", (word, name, reply)
                    continue
                data = reply["data"]
                assert "root:" not in data["out"] + data["err"]
                assert "c4e3f5b4" not in (data["out"] + data["err"]).lower(), (word, name, data)
        admin.final("text", {"line": "book load kept.book --discard"})
    assert state_outside(locked) == before


@pytest.mark.posix
def test_a_list_of_keys_that_became_a_pipe_or_a_folder_keeps_no_daemon_from_its_work(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    keys(folder, "new", "anna")
    with serving(tmp_path / "daemon", "--bind", "tcp://127.0.0.1:0", "--keys", str(folder)) as served:
        for make in (os.mkfifo, os.mkdir):
            (folder / "allowed").rename(folder / "kept")
            make(folder / "allowed", 0o700)
            time.sleep(0.5)
            with Peer(served.ipc) as peer:
                assert peer.final("ping") == {}
            (folder / "allowed").unlink() if make is os.mkfifo else (folder / "allowed").rmdir()
            (folder / "kept").rename(folder / "allowed")
        assert "mistake" not in served.log.read_text()
