"""`desdaemon serve --supervise`: when it restarts, what it passes on, and clients that go on over kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from served import PATIENCE_S, REAL, ROOT, Served, serving
from waits import until

from desdaemon.clients import Client, ConnectionLost
from desdaemon.server.supervisor import Policy, RestartDecision

# --- the policy


def test_a_daemon_that_ends_by_itself_is_not_restarted() -> None:
    assert Policy().ended(0, ready=True, asked=False) == RestartDecision(False, status=0)
    assert Policy().ended(-15, ready=True, asked=True) == RestartDecision(False, status=0)


@pytest.mark.parametrize(("status", "told"), [(1, 1), (2, 2), (-9, 1)])
def test_a_daemon_that_never_was_ready_is_not_restarted(status: int, told: int) -> None:
    assert Policy().ended(status, ready=False, asked=False) == RestartDecision(False, status=told)


@given(st.lists(st.tuples(st.sampled_from((-9, -6, -11, 1, 3)), st.booleans()), max_size=60))
def test_a_daemon_that_was_ready_is_restarted_at_once(ends: list[tuple[int, bool]]) -> None:
    policy = Policy()
    assert policy.ended(-6, ready=True, asked=False) == RestartDecision(True, 0.0)
    failures, last = 0, 0.0
    for restarted, (status, ready) in enumerate(ends, 2):
        verdict = policy.ended(status, ready=ready, asked=False)
        failures = 0 if ready else failures + 1
        assert verdict.restart == (failures < 20)
        if not verdict.restart:
            assert verdict.status == 1
            return
        assert policy.restarts == restarted
        assert verdict.pause_s == 0 if ready else last <= verdict.pause_s <= 5
        last = verdict.pause_s


# --- processes


def daemon_pid(served: Served) -> int:
    try:
        return int(json.loads((served.runtime / "connection.json").read_text())["pid"])
    except (OSError, ValueError):
        return 0


@pytest.mark.posix
def test_a_killed_daemon_is_restarted_and_clients_go_on(tmp_path: Path) -> None:
    with serving(tmp_path, "--supervise") as served, Client.connect(served.ipc, patience_s=60) as client:
        supervisor, first = served.process.pid, daemon_pid(served)
        assert first != supervisor
        analysis = client.analyze(moves="f5d6c3", level=60, book="ignore", partial_ms=5)
        next(iter(analysis))
        os.kill(first, signal.SIGKILL)
        # The request is repeated to the next daemon, which searches anew.
        until(lambda: daemon_pid(served) not in (0, first))
        assert client.ping(timeout_s=60) >= 0
        until(lambda: client.status()["running"] == 1)
        assert "desdaemon_restarts_total 1" in client.metrics()
        assert analysis.cancel()
        client.text("level 60")
        searching = client.start("text", {"line": "go"})
        until(lambda: client.status()["running"] == 1)
        os.kill(daemon_pid(served), signal.SIGKILL)
        with pytest.raises(ConnectionLost, match="not repeated"):
            searching.result()
        assert client.legal(moves="f5").moves
        assert served.end() == 0
    assert served.log.read_text().count("daemon died") == 2


@pytest.mark.posix
def test_a_signal_ends_daemon_and_supervisor(tmp_path: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with serving(tmp_path / number.name, "--supervise") as served:
            child = daemon_pid(served)
            served.process.send_signal(number)
            assert served.process.wait(PATIENCE_S) == 0
            assert not Path(f"/proc/{child}").exists()


def test_a_shutdown_ends_daemon_and_supervisor(tmp_path: Path) -> None:
    with serving(tmp_path, "--supervise") as served:
        with Client.connect(served.ipc) as client:
            client.shutdown()
        assert served.process.wait(PATIENCE_S) == 0


@pytest.mark.posix
def test_a_group_that_is_killed_leaves_no_daemon(tmp_path: Path) -> None:
    """As `desdaemon web` ends the one that it has started, also when it is killed itself."""
    with serving(tmp_path, "--supervise") as served:
        child = daemon_pid(served)
        assert os.getpgid(child) == os.getpgid(served.process.pid)
        served.kill()
        os.kill(child, signal.SIGTERM)
        until(lambda: not Path(f"/proc/{child}").exists())


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*REAL, "serve", "--data", str(tmp_path / "data"), *arguments],
        cwd=ROOT,
        env={**os.environ, "DESDAEMON_RUNTIME_DIR": str(tmp_path / "run")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("supervised", [(), ("--supervise",)])
def test_a_daemon_that_could_do_nothing_is_not_started(tmp_path: Path, supervised: tuple[str, ...]) -> None:
    (tmp_path / "eval").write_bytes(b"DESDEVAL" + bytes(100))
    for arguments, status, said in (
        (("--ipc", "none"), 1, "--bind"),
        (("-eval-file", str(tmp_path / "missing")), 1, "missing: can't be read: No such file"),
        (("-eval-file", str(tmp_path / "eval")), 1, "eval: "),
        (("--nonsense",), 2, "nonsense"),
        (("--metrics", "0.0.0.0:0"), 2, "--insecure"),
        (("--metrics", "x"), 2, "127.0.0.1:9464"),
    ):
        done = run(tmp_path, *supervised, *arguments)
        assert (done.returncode, done.stdout) == (status, ""), (arguments, done.stderr)
        assert said in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_the_supervisor_itself_stays_small() -> None:
    code = "import sys, desdaemon.cli.serve, desdaemon.server.supervisor; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert not {"numpy", "msgpack", "zmq", "desdaemon.server.server"} & set(done.stdout.split()), done.stderr


def test_many_connections_that_come_and_go_leave_nothing(tmp_path: Path) -> None:
    """A text session is the dearest that a client can have; those that nobody can come back to end at once."""
    with serving(tmp_path) as served, Client.connect(served.ipc) as first:
        first.text("play f5")

        def live(count: int) -> None:
            for _ in range(count):
                with Client.connect(served.ipc) as client:
                    client.text("play f5d6")
                    client.text("moves")

        threads = [threading.Thread(target=live, args=(25,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        until(lambda: first.status()["clients"] == 1)
        assert first.text("moves")[0]
