"""Signals that end a command, whenever they come: none is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import pytest
from checkout import IMPORT
from pretended import PretendedDaemon
from quiet_signals import quiet_signal
from test_clients import client, daemon, endpoint  # noqa: F401
from waits import until

from desdaemon.clients import Client, ConnectionLost
from desdaemon.clients.analysis import analyze
from desdaemon.clients.programs.process_groups import StoppedBySignals

pytestmark = pytest.mark.posix


class Ended(Exception):
    """What the test's own handler of a signal raises."""


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A handler of SIGTERM that was there before the command: it ends the program."""

    def end(*_: object) -> None:
        raise Ended

    before = signal.signal(signal.SIGTERM, end)
    yield
    signal.signal(signal.SIGTERM, before)


def test_a_stop_that_is_named_after_the_signal_is_called_at_once() -> None:
    stopped = []
    with StoppedBySignals() as signals:
        signals.call(lambda: stopped.append(1))
        assert stopped == []
        signal.raise_signal(signal.SIGTERM)
        assert (signals.number, stopped) == (signal.SIGTERM, [1])
        signals.call(lambda: stopped.append(2))
        assert stopped == [1, 2]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize("arguments", [[], ["--all"]])
def test_a_signal_while_the_engine_is_loaded_ends_the_program(
    arguments: list[str], ended: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = analyze.own_engine

    def loaded(*how: Any, **more: Any) -> Any:
        signal.raise_signal(signal.SIGTERM)
        return load(*how, **more)

    monkeypatch.setattr(analyze, "own_engine", loaded)
    with pytest.raises(Ended):
        analyze.main(["f5d6", "--depth", "1", "--threads", "1", *arguments])


@pytest.mark.parametrize("arguments", [[], ["--all"]])
def test_a_signal_before_the_first_search_ends_it(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begin = analyze.analyze_game

    def begun(*how: Any) -> Any:
        signal.raise_signal(signal.SIGTERM)
        return begin(*how)

    monkeypatch.setattr(analyze, "analyze_game", begun)
    assert analyze.main(["f5d6", "--level", "60", "--threads", "1", *arguments]) == 128 + signal.SIGTERM


def test_a_signal_that_wakes_nobody_ends_a_wait_for_a_daemon(
    daemon: PretendedDaemon,  # noqa: F811
    client: Client,  # noqa: F811
) -> None:
    asked = client.analyze(level=60)
    until(lambda: daemon.held)
    with quiet_signal(client.close_soon), pytest.raises(ConnectionLost, match="the client was closed"):
        asked.result()
    with pytest.raises(ConnectionLost, match="the client was closed"):
        client.ping()


def test_a_client_that_is_closed_begins_no_other_end(client: Client) -> None:  # noqa: F811
    client.close()
    client.close_soon()


def test_an_interrupt_while_the_program_is_loaded_prints_nothing() -> None:
    script = (
        f"{IMPORT}\n"
        "from desdaemon.__main__ import program\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'desdaemon.cli.main': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "program()\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")
