"""Where sockets have no paths, as on Windows: the daemon listens on the loopback device, and its own user has a key."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from served import Served

from desdaemon.cli.serve_options import serve_options
from desdaemon.clients.blocking import Client
from desdaemon.clients.errors import ConnectionLost, DaemonError
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.system import platform
from desdaemon.server.keys import KeyStore

WITHOUT_IPC = (
    sys.executable,
    "-c",
    "import sys\n"
    "from desdaemon.protocol.system import platform\n"
    "platform.HAS_IPC = False\n"
    "from desdaemon.cli.main import main\n"
    "sys.exit(main(sys.argv[1:]))\n",
)


@pytest.mark.posix
def test_a_client_finds_the_daemon_and_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = tmp_path / "keys"
    served = Served(tmp_path, "--keys", str(keys), program=WITHOUT_IPC)
    try:
        [endpoint] = served.connection["endpoints"]
        assert endpoint.startswith("tcp://127.0.0.1:")
        key = Path(served.connection["key_file"])
        assert key == keys / "local.key"
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        monkeypatch.setenv("DESDAEMON_RUNTIME_DIR", str(served.runtime))
        with Client.connect() as client:
            assert client.hello.role == "admin"
            assert client.request("analyze", {"moves": "f5", "level": 1})
        with pytest.raises((ConnectionLost, DaemonError)):
            Client.connect(endpoint, timeout_s=2.0)
    finally:
        served.process.terminate()
        served.process.wait(30)


def test_the_key_is_made_once_and_again_when_it_is_lost(tmp_path: Path) -> None:
    store = KeyStore(str(tmp_path / "keys"))
    path = store.local()
    first = path.read_text()
    assert store.local() == path
    assert path.read_text() == first
    path.unlink()
    assert store.local().read_text() != first
    assert [(known.name, known.role) for known in store.allowed().values()] == [("local", "admin")]


def test_options_need_no_paths_for_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "HAS_IPC", False)
    keys = {"--keys": [str(tmp_path)]}
    assert serve_options(keys, False, 1).ipc == "tcp://127.0.0.1:0"
    with pytest.raises(BadInput, match="no paths on this system"):
        serve_options({**keys, "--ipc": [os.fspath(tmp_path / "sock")]}, False, 1)
