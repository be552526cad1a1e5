"""Clients on other releases of libzmq, and on the npm package `zeromq`, which bring their own ZMTP and CURVE.

The libraries come from pyzmq's wheels, whose Python need not be this one: only the library inside is loaded. Slow,
because they are fetched from the indexes of packages; where these do not answer, the tests are skipped.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import ROOT
from served import Served, serving

from desdaemon.server.keys import KeyStore

pytestmark = pytest.mark.slow

PATIENCE_S = 300
RELEASES = {
    "4.2.5": ("17.1.2", "37"),
    "4.3.2": ("19.0.2", "38"),
    "4.3.4": ("25.1.2", "311"),
    "4.3.5": ("27.1.0", "312"),
}
"""libzmq's, with the pyzmq that has it inside and a Python that there is a wheel for."""

NODE_PACKAGE = "zeromq@6.5.0"

EXPECTED = {
    "legal": ["f4", "d6", "f6"],
    "delimiter": True,
    "long": 4,
    "text": True,
    "analysis": "final",
    "event": ["status", True],
}

CONVERSATION = """
const zmq = require("zeromq");
const [endpoint, events, serverKey, publicKey, secretKey] = process.argv.slice(2);
const keys = serverKey ? { curveServerKey: serverKey, curvePublicKey: publicKey, curveSecretKey: secretKey } : {};
const options = { ...keys, linger: 0, receiveTimeout: 30000 };
const request = (id, op, args) => JSON.stringify({ v: 1, id, op, args });
(async () => {
  const dealer = new zmq.Dealer({ ...options, routingId: "me", heartbeatInterval: 100 });
  dealer.connect(endpoint);
  await dealer.send("play f5d6");
  await dealer.receive();
  await dealer.send(["", "moves"]);
  const reply = await dealer.receive();
  const asker = new zmq.Request(options);
  asker.connect(endpoint);
  let answered = 0;
  for (let number = 0; number < 100; number++) {
    await asker.send("verbose 0");
    answered += (await asker.receive()).length;
  }
  const subscriber = new zmq.Subscriber(options);
  subscriber.connect(events);
  subscriber.subscribe("status");
  const [topic] = await subscriber.receive();
  console.log(JSON.stringify([reply.length, reply[0].length, answered, topic.toString()]));
  process.exit(0);
})();
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("clear"), "--bind", "tcp://127.0.0.1:0") as found:
        yield found


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, list[str]]]:
    """A daemon that asks for keys; the daemon's public key, and the pair of a client."""
    folder = tmp_path_factory.mktemp("locked")
    file = KeyStore(str(folder / "keys")).new("anna", "editor")
    lines = dict(line.split(" = ") for line in file.read_text().splitlines() if " = " in line)
    with serving(folder, "--bind", "tcp://127.0.0.1:0", "--keys", str(folder / "keys")) as found:
        yield found, [lines[name].strip('"') for name in ("server-key", "public-key", "secret-key")]


def fetched(release: str, folder: Path) -> Path:
    """The library of a release."""
    pyzmq, python = RELEASES[release]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
    command += ["--python-version", python, "-d", str(folder), f"pyzmq=={pyzmq}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    wheels = list(folder.glob("*.whl"))
    if not wheels:
        pytest.skip(f"pyzmq {pyzmq} cannot be fetched: {done.stderr[-200:]}")
    zipfile.ZipFile(wheels[0]).extractall(folder)
    return next(path for path in folder.rglob("libzmq-*.so*"))


def talk(library: Path, served: Served, keys: list[str]) -> dict[str, object]:
    program = ROOT / "tests" / "support" / "server" / "any_libzmq.py"
    command = [sys.executable, str(program), str(library), served.tcp, served.events(served.tcp), *keys]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("release", RELEASES)
def test_releases_of_libzmq_are_answered(
    release: str, daemon: Served, locked: tuple[Served, list[str]], tmp_path: Path
) -> None:
    library = fetched(release, tmp_path)
    assert talk(library, daemon, []) == {"version": release, **EXPECTED}
    assert talk(library, *locked) == {"version": release, **EXPECTED}


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_the_zeromq_package_of_node_is_answered(
    daemon: Served, locked: tuple[Served, list[str]], tmp_path: Path
) -> None:
    (tmp_path / "package.json").write_text("{}")
    command = ["npm", "install", "--no-audit", "--no-fund", NODE_PACKAGE]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode:
        pytest.skip(f"{NODE_PACKAGE} cannot be fetched: {done.stderr[-200:]}")
    (tmp_path / "talk.js").write_text(CONVERSATION)
    for served, keys in ((daemon, list[str]()), locked):
        spoken = ["node", "talk.js", served.tcp, served.events(served.tcp), *keys]
        done = subprocess.run(spoken, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr
        frames, delimiter, _, topic = json.loads(done.stdout)
        assert (frames, delimiter, topic) == (2, 0, "status")
