"""Standard streams that are closed, full or read by nobody: each program ends with a sentence at most, no traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import IMPORT

from desdaemon.protocol.commands.sub_commands import SUB_COMMANDS
from desdaemon.server.keys import KeyStore

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full"),
]

LINES = {
    "-q": "play f5\nquit\n",
    "-gtp": "name\nquit\n",
    "-json": '{"v":1,"id":1,"op":"ping"}\n',
    "-nboard": "nboard 2\nping 1\nquit\n",
    "-xboard": "xboard\nprotover 2\nquit\n",
    "-cassio": "ENGINE-PROTOCOL init\nENGINE-PROTOCOL quit\n",
}
PROGRAMS = [
    *([*command.name.split(), "--help"] for command in SUB_COMMANDS),
    ["--version"],
    ["--help"],
    ["help", "book"],
    ["perft", "3"],
    ["count", "games", "3"],
    ["completions", "bash"],
    ["completions", "man"],
    ["analyze", "f5d6", "--list"],
    ["analyze", "f5d6", "--depth", "1", "--threads", "1"],
    ["analyze", "f5d6", "--depth", "1", "--threads", "1", "--all", "--csv", "-"],
    ["exercises", "f5.txt", "--level", "1", "--threads", "1", "--lines", "both"],
    ["games", "index", "f5.txt", "--out", "games.index"],
    ["keys", "list", "--keys", "keys"],
    *([protocol] for protocol in LINES),
]

MODES = ("full", "unbuffered", "unread", "closed")

SCRIPT = """
import importlib, io, json, os, sys
from desdaemon.api import Engine
from desdaemon.cli.main import program
from desdaemon.protocol.commands.sub_commands import SUB_COMMANDS
from desdaemon.server.keys import KeyStore
Engine(threads=1, hash_bits=12).evaluate("f5")
for command in SUB_COMMANDS:
    importlib.import_module(command.module)
def run(mode, arguments, text):
    with open("in", "w") as file:
        file.write(text)
    open("err", "w").close()
    child = os.fork()
    if child == 0:
        reading, unread = os.pipe()
        os.close(reading)
        os.dup2(os.open("in", os.O_RDONLY), 0)
        os.dup2(unread if mode == "unread" else os.open("/dev/full", os.O_WRONLY), 1)
        os.dup2(os.open("err", os.O_WRONLY), 2)
        sys.stdin, sys.stdout, sys.stderr = (open(number, "w" if number else "r", closefd=False) for number in range(3))
        if mode == "unbuffered":
            sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), write_through=True)
        if mode == "closed":
            sys.stdin = sys.stdout = sys.stderr = None
            os.closerange(0, 3)
        sys.argv = ["desdaemon", *arguments]
        program()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, open("err").read()
modes, programs = map(json.loads, sys.argv[1:])
print(json.dumps([[mode, arguments, *run(mode, arguments, text)] for mode in modes for arguments, text in programs]))
"""


def test_every_program_ends_in_a_line_without_its_streams(tmp_path: Path) -> None:
    (tmp_path / "f5.txt").write_text("f5d6c3\n")
    KeyStore(str(tmp_path / "keys")).new("phone", "reader")
    asked = [(arguments, LINES.get(arguments[0], "")) for arguments in PROGRAMS]
    done = subprocess.run(
        [sys.executable, "-c", IMPORT + SCRIPT, json.dumps(MODES), json.dumps(asked)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    for mode, arguments, status, said in json.loads(done.stdout):
        if mode == "closed":
            assert (status, said) == (0, ""), (arguments, mode)
        elif mode == "unread":
            assert (status, said) == (1, ""), (arguments, mode)
        else:
            assert (status, said.count("\n")) == (1, 1), (arguments, mode, said)
            assert said.endswith(": standard output: No space left on device\n"), (arguments, mode)
