"""The sockets on which our programs listen: those of the table in docs/server.md, and no others."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from checkout import ROOT
from processes import two_free_ports
from waits import until

pytest.importorskip("distributed")
pytest.importorskip("tornado")
psutil = pytest.importorskip("psutil")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

COMMAND = f"{shlex.quote(sys.executable)} -P -m desdaemon"
TABLE = dict(
    re.findall(r"^\| `(desdaemon[^`]*)` \| (.*) \|$", (ROOT / "docs" / "server.md").read_text("utf-8"), re.MULTILINE)
)
PORT = re.compile(r"(?<=:)\d{4}\b")
LISTENING = "00010000"
"""The flag of such a socket in /proc/net/unix."""

READY = {
    "-cluster": "finished",
    "scheduler": "scheduler at",
    "worker": "has joined",
    "web": "?token=",
    "serve": "info listening",
    "desdaemon": "finished",
}
"""A word of a command, and what it has written once it listens: the first that it has counts."""

GIVEN = "book new 1 8\nbook deviate 1 1\n"
"""The lines for a dialogue: one with a cluster has used it then."""


def listening(process: subprocess.Popen[str]) -> set[str]:
    """The addresses on which a process and its children listen, and the file names of their local sockets."""
    family = [psutil.Process(process.pid)]
    family += family[0].children(recursive=True)
    descriptors = {str(path.readlink()) for each in family for path in Path(f"/proc/{each.pid}/fd").iterdir()}
    rows = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    tcp = [each.laddr for one in family for each in one.net_connections("inet") if each.status == "LISTEN"]
    return {f"{address.ip}:{address.port}" for address in tcp} | {
        Path(row[-1]).name for row in rows if row[3] == LISTENING and f"socket:[{row[6]}]" in descriptors
    }


@contextmanager
def started(command: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A command that has come to the point where it listens."""
    folder.mkdir()
    written = folder / "written"
    with written.open("w") as output:
        process = subprocess.Popen(
            ["sh", "-c", f"exec {command.replace('desdaemon', COMMAND, 1)}"],
            cwd=folder,
            env={**os.environ, "DESDAEMON_RUNTIME_DIR": str(folder / "run"), "XDG_DATA_HOME": str(folder / "data")},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            text=True,
        )
    try:
        assert process.stdin
        process.stdin.write(GIVEN)
        process.stdin.flush()
        ready = next(text for word, text in READY.items() if word in command.split())
        until(lambda: ready in written.read_text() or process.poll() is not None)
        assert process.poll() is None, written.read_text()
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.posix
@pytest.mark.needs("cluster")
@pytest.mark.needs("clients.web")
@pytest.mark.needs("book.growth")
def test_programs_listen_where_the_table_says_and_nowhere_else(tmp_path: Path) -> None:
    assert set(READY) <= {word for command in TABLE for word in command.split()}
    numbers = sorted({number for command in TABLE for number in PORT.findall(command)})
    ports = {number: two_free_ports() for number in numbers}
    ports |= {str(int(number) + 1): port + 1 for number, port in ports.items()}

    def on_free_ports(text: str) -> str:
        return PORT.sub(lambda number: str(ports[number[0]]), text)

    with ExitStack() as stack:
        for number, (command, documented) in enumerate(TABLE.items()):
            process = stack.enter_context(started(on_free_ports(command), tmp_path / str(number)))
            sockets = listening(process)
            if "any port" in documented:
                sockets = {address.rpartition(":")[0] for address in sockets}
            assert sockets == set(re.findall("`([^`]+)`", on_free_ports(documented))), command
