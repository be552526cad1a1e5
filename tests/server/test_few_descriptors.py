"""A daemon that may open no more files: what needs one is refused in a sentence, and works once there is room."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from raw_zmtp import RawPeer
from served import PATIENCE_S, Peer, serving

pytestmark = pytest.mark.posix

COMMAND = [sys.executable, "-m", "daemon"]


@pytest.mark.needs("engine.people")
def test_an_operation_that_finds_no_descriptor_is_refused_until_there_are_some(tmp_path: Path) -> None:
    """Its modules are loaded with the first request."""
    # Windows has no such module.
    import resource

    asked = {"moves": "f5d6", "rating": 1500}
    with serving(tmp_path / "daemon") as daemon, Peer(daemon.ipc) as peer:
        assert peer.final("ping") == {}
        pid = daemon.process.pid
        _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, most))
        reply = peer.ask("people.get", asked)
        assert reply["error"] == {"code": "internal", "message": "Too many open files: try later"}
        assert peer.final("ping") == {}
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
        assert peer.final("people.get", asked)["moves"]
        assert "Traceback" not in daemon.log.read_text()


def test_clients_that_say_nothing_leave_descriptors_to_others(tmp_path: Path) -> None:
    """There is room for a quarter as many as there may be open files."""
    program = ("sh", "-c", 'ulimit -n 200; exec "$@"', "sh", *COMMAND)
    with serving(tmp_path / "daemon", program=program) as daemon, contextlib.ExitStack() as silent:
        with Peer(daemon.ipc) as peer:
            assert peer.final("hello")["limits"]["clients"] == 50
        for kind in (b"SUB", b"DEALER"):
            endpoint = daemon.ipc + "-events" if kind == b"SUB" else daemon.ipc
            for _ in range(300):
                silent.enter_context(RawPeer(endpoint).greet(kind))
            with Peer(daemon.ipc) as peer:
                assert peer.final("legal")["moves"]


@pytest.mark.parametrize("program", [["serve", "--bind", "tcp://127.0.0.1:0"], ["ggs", "127.0.0.1:9", "--login", "a"]])
@pytest.mark.needs("clients.ggs")
@pytest.mark.needs("clients.gamefiles")
def test_a_program_that_finds_no_descriptors_ends_in_a_line(tmp_path: Path, program: list[str]) -> None:
    (tmp_path / "password").write_text("secret\n")
    (tmp_path / "password").chmod(0o600)
    files = ["--data", str(tmp_path)] if program[0] == "serve" else ["--password-file", str(tmp_path / "password")]
    for most in (7, 8):
        done = subprocess.run(
            ["sh", "-c", f'ulimit -n {most}; exec "$@"', "sh", *COMMAND, *program, *files],
            cwd=ROOT,
            env={**os.environ, "DESDAEMON_RUNTIME_DIR": str(tmp_path / "run")},
            input="",
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert "Too many open files" in done.stderr or "Connect call failed" in done.stderr, done.stderr
