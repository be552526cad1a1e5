"""`desdaemon bench server`: that it measures; how fast is for a quiet machine."""

from __future__ import annotations

import json

import pytest
from lab import restarts, storm
from served import REAL, ROOT

from desdaemon.clients.bench import daemon, server


@pytest.fixture(autouse=True)
def checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon of this checkout, whatever is installed."""
    for module in (daemon, restarts):
        monkeypatch.setattr(module, "PROGRAM", REAL)
    monkeypatch.chdir(ROOT)


def test_figures_are_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert server.main(["--quick", "--json", "--only", "ping"]) in (0, 1)
    report = json.loads(capsys.readouterr().out)
    assert report["machine"]["processors"] >= 1
    names = [figure["name"] for figure in report["figures"]]
    assert names[0] == "ping p50, ipc"
    assert all(figure["value"] < 10**6 for figure in report["figures"])


def test_a_daemon_that_does_not_start_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "PROGRAM", (*REAL, "no-such-command"))
    assert server.main(["--only", "ping"]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)


@pytest.mark.slow
def test_kills_under_load_are_hardly_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    assert restarts.main(["--minutes", "0.6", "--interval", "6"]) == 0
    assert "kills" in capsys.readouterr().out


@pytest.mark.slow
def test_a_storm_of_two_minutes_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert storm.main(["--minutes", "2", "--connections", "500"]) == 0
    assert "answers were checked" in capsys.readouterr().out


def test_a_daemon_without_threads_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        server.main(["--threads", "0"])
    assert end.value.code == 2
    assert '--threads: "0": expected a whole number from 1 to 256' in capsys.readouterr().err
