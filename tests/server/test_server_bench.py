"""`desdaemon bench server`: that it measures; how fast is for a quiet machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import alive, gone
from served import REAL, ROOT

from desdaemon.clients.bench import daemon, server


@pytest.fixture(autouse=True)
def checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon of this checkout, whatever is installed."""
    monkeypatch.setattr(daemon, "PROGRAM", REAL)
    monkeypatch.chdir(ROOT)


def test_figures_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert server.main(["--quick", "--json", "--only", "ping", "--only", "partials"]) in (0, 1)
    report = json.loads(capsys.readouterr().out)
    assert report["machine"]["processors"] >= 1
    names = [figure["name"] for figure in report["figures"]]
    assert names[0] == "ping p50, ipc"
    assert names[-1] == "cancelling an analysis, max"
    assert all(figure["value"] < 10**6 for figure in report["figures"])


def test_a_daemon_that_does_not_start_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "PROGRAM", (*REAL, "no-such-command"))
    assert server.main(["--only", "ping"]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose sockets have paths that are short enough, in a run of several processes too."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        yield Path(folder)


@pytest.mark.parametrize(
    ("bench", "processes", "number"),
    [
        (["storm", "--minutes", "5", "--connections", "5"], 7, signal.SIGTERM),
        (["restarts", "--minutes", "5"], 3, signal.SIGINT),
    ],
)
def test_what_a_bench_has_started_ends_with_it(
    short_path: Path, bench: list[str], processes: int, number: signal.Signals
) -> None:
    """The daemon, its supervisor, and the hostile process with its floods, some of which are stopped at any time."""
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("the signal is ignored here, as in jobs of a shell in the background")
    environment = {**os.environ, "TMPDIR": str(short_path), "DESDAEMON_MARK": str(short_path)}
    command = [sys.executable, "-P", str(ROOT / "tests" / "lab"), *bench]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as running:
        until = time.monotonic() + 120
        while len(alive(str(short_path))) < processes:
            assert running.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        running.send_signal(number)
        assert running.wait(60) == 128 + number
    assert gone(str(short_path))
    assert list(short_path.iterdir()) == []
