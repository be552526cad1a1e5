"""`desdaemon shell` with a daemon that searches."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from served import ROOT, Peer, Served, heed_signals
from waits import until

LINES = [part for line in ("level 60", "book-usage off", "verbose 2", "hint", "moves") for part in ("-c", line)]


@pytest.mark.posix
def test_an_interrupt_shows_what_was_found(daemon: Served) -> None:
    with (
        subprocess.Popen(
            [sys.executable, "-m", "daemon", "shell", daemon.ipc, *LINES],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_signals,
        ) as process,
        Peer(daemon.ipc) as peer,
    ):
        assert process.stdout is not None
        # Rows come while it searches.
        header, _, row = [process.stdout.readline() for _ in range(3)]
        assert "depth|score" in header
        assert int(row.split()[0].partition("@")[0]) < 60
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (err, process.returncode) == ("", 0)
        assert "f5" in out.lower().splitlines()[-1]
        until(lambda: peer.final("status")["running"] == 0)


def test_a_game_is_played_through_a_pipe(daemon: Served) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "daemon", "shell", daemon.tcp],
        cwd=ROOT,
        input="level 1\nplay f5d6\nnonsense\nmoves\nshutdown\nquit\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "C3" in done.stdout.upper()
    assert [word in done.stderr for word in ("nonsense", "shutdown")] == [True, True]
