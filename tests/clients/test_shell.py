"""`desdaemon shell` as a process, against a daemon that pretends."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from checkout import SUPPORT
from pretended import PretendedDaemon, leave_connection_file
from waits import until
from watched_terminal import watch

from desdaemon.clients.shell import Shell
from desdaemon.clients.shell import main as shell_main
from desdaemon.protocol.system import logs

pytestmark = pytest.mark.posix

SCRIPT = str(SUPPORT / "fake_daemon.py")


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PretendedDaemon]:
    monkeypatch.setenv("DESDAEMON_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    pretended = PretendedDaemon(f"ipc://{tmp_path}/d")
    pretended.answers["text"] = answer
    leave_connection_file(tmp_path, pretended.endpoint)
    yield pretended
    pretended.close()


def answer(request: dict[str, Any]) -> dict[str, Any]:
    line = request["args"]["line"]
    return {"out": "", "err": f'"{line}"?'} if "bad" in line else {"out": f"<{line}>\n", "err": ""}


def shell(*arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, "shell", *arguments], input=typed, capture_output=True, text=True, timeout=60
    )


def lines(daemon: PretendedDaemon) -> list[str]:
    return [request["args"]["line"] for request in daemon.seen if request["op"] == "text"]


def test_one_line_is_answered_and_the_shell_ends(daemon: PretendedDaemon) -> None:
    done = shell("-c", "hint 3", "-c", "bad one", "-c", "moves")
    assert (done.stdout, done.stderr, done.returncode) == ("<hint 3>\n<moves>\n", '"bad one"?\n', 1)
    done = shell(daemon.endpoint, "-c", "hint 3")
    assert (done.stdout, done.stderr, done.returncode) == ("<hint 3>\n", "", 0)


def test_lines_of_a_pipe_are_answered_until_quit(daemon: PretendedDaemon) -> None:
    done = shell(typed="play f5\n\nhint\nquit\nmoves\n")
    assert (done.stdout, done.stderr, done.returncode) == ("<play f5>\n<hint>\n", "", 0)


def test_operations_are_answered_as_json(daemon: PretendedDaemon) -> None:
    daemon.answers["legal"] = lambda request: {"moves": request["args"].get("moves", "")}
    done = shell("--json", "-c", 'legal {"moves": "f5"}', "-c", "ping")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"type": "final", "data": {"moves": "f5"}},
        {"type": "final", "data": {}},
    ]
    assert (done.stderr, done.returncode) == ("", 0)
    for line in ("legal {", "legal 3", "legal " + "[" * 50_000):
        done = shell("--json", "-c", line)
        assert (done.stdout, done.returncode, done.stderr.count("\n")) == ("", 1, 1)
        assert "expected a JSON map" in done.stderr


def test_a_missing_daemon_and_bad_command_lines_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESDAEMON_RUNTIME_DIR", str(tmp_path))
    for arguments, status in (((), 1), (("ipc:///nowhere/at/all", "--timeout", "0.1"), 1), (("--nonsense",), 2)):
        done = shell(*arguments)
        assert (done.stdout, done.returncode, done.stderr.count("\n")) == ("", status, 1), done.stderr
        assert done.stderr.startswith("desdaemon shell: ")


def test_a_wait_for_the_daemon_is_told_at_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    watch(monkeypatch)
    assert shell_main([f"ipc://{tmp_path}/nobody", "--timeout", "0.5"]) == 1
    shown = capsys.readouterr().err
    assert "connecting: 0 s" in shown
    assert "no answer within" in shown.rpartition(logs.WIPED)[2]


def test_a_daemon_that_has_gone_is_told_and_waited_for_as_long_as_asked(daemon: PretendedDaemon) -> None:
    with subprocess.Popen(
        [sys.executable, SCRIPT, "shell", "--timeout", "0.5"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("moves\n")
        process.stdin.flush()
        assert process.stdout.readline() == "<moves>\n"
        daemon.close()
        time.sleep(0.5)
        out, err = process.communicate("moves\n", timeout=25)
        assert (out, process.returncode) == ("", 1)
        assert err == "The daemon is away: waiting for it.\nthe daemon has been away for 0.5 s\n"
    assert "expected" in shell("--timeout", "nan", "-c", "moves").stderr


def test_an_interrupt_stops_and_a_second_one_cancels(daemon: PretendedDaemon) -> None:
    del daemon.answers["text"]
    daemon.answers["cancel"] = lambda request: {"cancelled": True}
    with subprocess.Popen(
        [sys.executable, SCRIPT, "shell", "-c", "go", "-c", "moves"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            until(lambda: lines(daemon) == ["go"])
            process.send_signal(signal.SIGINT)
            until(lambda: lines(daemon) == ["go", "stop"])
            process.send_signal(signal.SIGINT)
            until(lambda: "cancel" in daemon.operations())
            go, stop = daemon.held
            daemon.refuse(go, "cancelled")
            daemon.final(stop, {"out": "", "err": ""})
            until(lambda: lines(daemon)[-1] == "moves")
            daemon.final(daemon.held[-1], {"out": "F5", "err": ""})
            out, err = process.communicate(timeout=30)
            assert (out, process.returncode) == ("F5\n", 1)
            assert err == "as the test wants it\n"
        finally:
            process.kill()


@pytest.mark.parametrize("structured", [False, True])
def test_an_interrupt_while_a_line_is_sent_counts_once_it_is_sent(structured: bool) -> None:
    class Interrupting:
        connected = True
        connections = 1
        hello = SimpleNamespace(features=[])
        warnings: tuple[str, ...] = ()
        done: list[str]

        def __init__(self) -> None:
            self.done = []

        def start(self, op: str, args: dict[str, Any]) -> Any:
            self.done.append(args.get("line", op))
            if len(self.done) == 1:
                signal.raise_signal(signal.SIGINT)
            return self

        def __iter__(self) -> Iterator[dict[str, Any]]:
            return iter(())

        def cancel(self, *, keep: bool) -> None:
            self.done.append("cancel")

        def result(self) -> dict[str, Any]:
            return {"out": "", "err": ""}

    client: Any = Interrupting()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert Shell(client, structured=structured).run(iter(["go"])) == 0
    finally:
        signal.signal(signal.SIGINT, before)
    assert client.done == ["go", "cancel" if structured else "stop"]


def test_a_terminal_does_not_obey_what_a_daemon_writes(daemon: PretendedDaemon) -> None:
    daemon.answers["text"] = lambda request: {"out": "\x1b]0;title\x07\tF5\n", "err": "\x1b[2J no\x9b1m\n"}
    done = shell("-c", "hint 1")
    assert (done.stdout, done.stderr) == ("\\x1b]0;title\\x07\tF5\n", "\\x1b[2J no\\x9b1m\n")


def test_what_a_line_prints_is_shown_at_once(daemon: PretendedDaemon) -> None:
    daemon.answers["hello"] = lambda request: {**daemon.hello(request), "features": ["text.partials"]}
    del daemon.answers["text"]
    with subprocess.Popen(
        [sys.executable, SCRIPT, "shell", "-c", "hint 3"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        until(lambda: bool(daemon.held))
        asked = daemon.held[0]
        assert asked[1]["args"] == {"line": "hint 3", "partials": True}
        daemon.reply(asked, "partial", data={"at": 0, "out": "one\n"})
        assert process.stdout.readline() == "one\n"
        # The second one was lost on its way.
        daemon.reply(asked, "partial", data={"at": 8, "out": "three\n"})
        daemon.final(asked, {"out": "one\ntwo\nthree\nfour\n", "err": ""})
        assert process.communicate(timeout=30)[0] == "two\nthree\nfour\n"
        assert process.returncode == 0


def test_partials_that_make_no_sense_are_left_out(daemon: PretendedDaemon) -> None:
    del daemon.answers["text"]
    with subprocess.Popen(
        [sys.executable, SCRIPT, "shell", "-c", "hint"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        until(lambda: bool(daemon.held))
        for data in ({}, {"at": "x", "out": "y"}, {"at": 0, "out": 1}, {"at": 0, "out": "one\n", "progress": 1}):
            daemon.reply(daemon.held[0], "partial", data=data)
        daemon.final(daemon.held[0], {"out": "one\ntwo\n", "err": ""})
        assert process.communicate(timeout=30) == ("one\ntwo\n", "")
        assert process.returncode == 0


def test_a_terminal_shows_the_progress_of_a_job(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Busy:
        connections = 1
        connected = True
        hello = SimpleNamespace(features=("text.partials",))

        def start(self, op: str, args: dict[str, Any]) -> Busy:
            assert args == {"line": "book schedule steps", "partials": True}
            return self

        def __iter__(self) -> Iterator[dict[str, Any]]:
            yield {"at": 0, "out": "", "progress": "Book deviate...round 1, search 3/9 done"}
            yield {"at": 0, "out": "step 1\n"}

        def result(self) -> dict[str, Any]:
            return {"out": "step 1\nstep 2\n", "err": ""}

    monkeypatch.setattr("desdaemon.protocol.system.terminal.watched", lambda: True)
    client: Any = Busy()
    assert Shell(client, structured=False).run(iter(["book schedule steps"])) == 0
    out, err = capsys.readouterr()
    assert out == "step 1\nstep 2\n"
    assert err == "\r\x1b[KBook deviate...round 1, search 3/9 done\r\x1b[K"


@pytest.mark.parametrize("structured", [False, True])
def test_a_terminal_shows_how_long_a_silent_command_takes(
    structured: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent:
        connections = 1
        connected = True
        hello = SimpleNamespace(features=("text.partials",))
        warnings = ()

        def start(self, op: str, args: dict[str, Any]) -> Silent:
            return self

        def __iter__(self) -> Iterator[dict[str, Any]]:
            until(lambda: ": 0 s" in capsys.readouterr().err)
            yield {"at": 0, "out": "half of a line"}
            assert capsys.readouterr().err.endswith(logs.WIPED)

        def result(self) -> dict[str, Any]:
            return {"out": "half of a line\n", "err": ""}

    watch(monkeypatch)
    client: Any = Silent()
    assert Shell(client, structured=structured).run(iter(["perft"])) == 0
    assert capsys.readouterr().err in ("", logs.WIPED)


def test_a_terminal_has_history_and_completion(daemon: PretendedDaemon, tmp_path: Path) -> None:
    for typed, wanted in ((b"hin\t3\nbook dev\t2 4\n\x04", ["hint 3", "book deviate 2 4"]), (b"\x1b[A\n\x04", [])):
        controller, terminal = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, SCRIPT, "shell"],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env={**os.environ, "TERM": "xterm"},
        )
        os.close(terminal)
        seen = b""
        while b"desdaemon> " not in seen:
            seen += os.read(controller, 1000)
        os.write(controller, typed)
        try:
            while seen := os.read(controller, 1000):
                pass
        except OSError:
            pass
        assert process.wait(30) == 0
        os.close(controller)
        assert lines(daemon)[: len(wanted)] == wanted
    assert lines(daemon)[-1] == "book deviate 2 4"
    history = tmp_path / "state" / "desdaemon" / "shell_history"
    assert history.stat().st_mode & 0o777 == 0o600
