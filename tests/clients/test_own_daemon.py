"""The daemon that `desdaemon web` and `desdaemon mcp` start for themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from waits import until
from watched_terminal import watch

from desdaemon.clients.errors import NoDaemon
from desdaemon.clients.programs import own_daemon
from desdaemon.protocol.system import logs


def test_a_terminal_shows_how_long_a_daemon_takes_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    watch(monkeypatch)

    def started(*_: object) -> None:
        until(lambda: "starting a daemon: 0 s" in capsys.readouterr().err)
        raise NoDaemon("as the test wants it")

    monkeypatch.setattr(own_daemon, "started", started)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(NoDaemon, match="as the test wants it"), own_daemon.own_daemon():
        pass
    assert capsys.readouterr().err.endswith(logs.WIPED)
