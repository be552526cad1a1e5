"""Programs that go on for long, with standard streams that are full, left, read by nobody or closed: they go on or end
with a sentence at most, and a signal ends them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from checkout import IMPORT, ROOT
from served import PATIENCE_S, REAL, heed_signals
from waits import until

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full"),
]

_BEGUN_S = 4.0
_WORKED_S, _BUSY_START_S = 1.5, 5.0
NOWHERE = "127.0.0.1:9"
PROGRAMS = [
    (("serve", "--data", "data"), ()),
    (("web", "--no-browser", "--listen", "127.0.0.1:0"), ("clients.web",)),
    (("mcp",), ("clients.mcp",)),
    (("ggs", NOWHERE, "--login", "a", "--password-file", "secret"), ("clients.ggs", "clients.gamefiles")),
    (("bot", "secret", "--server", f"http://{NOWHERE}"), ("clients.bot",)),
    (("cluster", "scheduler", "--listen", "tcp://127.0.0.1:0"), ("daemon.cluster",)),
    (("cluster", "worker", f"tcp://{NOWHERE}"), ("daemon.cluster",)),
    (("train", "games", "games.txt", "--out", "games.npz"), ("engine.training",)),
]


GAME = "f5d6c3d3c4f4c5b3c2e3d2c6b4a3"
ENGINE = f"{sys.executable} engine.py"
THINKER = """
import os, sys, time
for line in sys.stdin:
    if line.startswith("genmove"):
        open(f"thinks-{os.getpid()}", "x").close()
        time.sleep(1000)
    print("= \\n", flush=True)
"""
"""An engine that thinks for ever about its first move, and leaves a file as it begins."""
WEIGHTS = str(ROOT / "engine" / "data" / "weights.xz")
SEARCHING = [
    (("match", ENGINE, ENGINE), ("clients.match",)),
    (("analyze", "long.txt", "--all", "--level", "50", "--threads", "1"), ("clients.analysis",)),
    (("train", "match", WEIGHTS, WEIGHTS, "--depth", "20", "--pairs", "9"), ("engine.training",)),
]
"""Programs that search for ever, or wait for such a one."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the files that the programs name."""
    (tmp_path / "secret").write_text("secret\n")
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "games.txt").write_text("f5d6c3\n" * 3)
    (tmp_path / "long.txt").write_text(f"{GAME}\n")
    (tmp_path / "engine.py").write_text(THINKER)
    return tmp_path


@contextlib.contextmanager
def outputs() -> Iterator[dict[str, int]]:
    """Descriptors that take nothing: a full disk, a pipe whose reader has left, a full pipe that nobody reads."""
    left, unread = os.pipe(), os.pipe()
    os.close(left[0])
    os.set_blocking(unread[1], False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(unread[1], bytes(1 << 12))
    os.set_blocking(unread[1], True)
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        yield {"full": full, "left": left[1], "unread": unread[1], "closed": full}
    finally:
        for descriptor in (full, left[1], *unread):
            os.close(descriptor)


def serves(process: subprocess.Popen[bytes], runtime: Path) -> bool:
    """Whether a program listens, or has ended."""
    if process.poll() is not None or (runtime / "connection.json").exists():
        return True
    with contextlib.suppress(psutil.Error):
        own = psutil.Process(process.pid)
        return any(each.status == psutil.CONN_LISTEN for each in own.net_connections("tcp"))
    return False


@pytest.mark.parametrize(
    "program",
    [pytest.param(words, marks=[pytest.mark.needs(each) for each in needed]) for words, needed in PROGRAMS],
    ids=lambda words: "-".join(words[:2]),
)
def test_a_program_that_lasts_is_ended_by_a_signal_whatever_its_outputs_are(
    folder: Path, program: tuple[str, ...]
) -> None:
    processes = {}
    with outputs() as streams:
        for mode, stream in streams.items():
            (folder / mode).mkdir(mode=0o700)
            closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"] if mode == "closed" else []
            with (folder / f"{mode}.log").open("wb") as log:
                processes[mode] = subprocess.Popen(
                    [*closed, *REAL, *program],
                    cwd=folder,
                    env={**os.environ, "DESDAEMON_RUNTIME_DIR": str(folder / mode), "PYTHONPATH": str(ROOT)},
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=log,
                )
        # The signal may come at any time; most have begun then.
        due = time.monotonic() + _BEGUN_S
        while time.monotonic() < due and not all(serves(each, folder / mode) for mode, each in processes.items()):
            time.sleep(0.1)
        for mode, process in processes.items():
            process.terminate()
            try:
                status = process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                pytest.fail(f"{mode}: a signal does not end it")
            said = (folder / f"{mode}.log").read_text()
            assert status in (0, 1, -signal.SIGTERM), (mode, status, said)
            assert "Traceback" not in said, (mode, said)
            assert "internal error" not in said, (mode, said)


@pytest.mark.parametrize(
    "program",
    [pytest.param(words, marks=[pytest.mark.needs(each) for each in needed]) for words, needed in SEARCHING],
    ids=lambda words: "-".join(word for word in words[:3] if "/" not in word and word != GAME),
)
def test_an_interrupt_ends_a_search_whose_outputs_nobody_reads(folder: Path, program: tuple[str, ...]) -> None:
    """Nobody reads both streams, or standard output alone."""
    processes = []
    with outputs() as streams, (folder / "log").open("wb") as log, contextlib.ExitStack() as ends:
        for error in (streams["unread"], log):
            process = subprocess.Popen(
                [*REAL, *program],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.DEVNULL,
                stdout=streams["unread"],
                stderr=error,
                preexec_fn=heed_signals,
            )
            ends.callback(process.wait)
            ends.callback(process.kill)
            processes.append(process)
        # What waits for a reader works no more.
        due = time.monotonic() + _BUSY_START_S
        until(
            lambda: (
                time.monotonic() > due
                or all(worked_s(each) > _WORKED_S for each in processes)
                or len([*folder.glob("thinks-*")]) == len(processes)
            )
        )
        for process in processes:
            process.send_signal(signal.SIGINT)
        for process in processes:
            assert process.wait(PATIENCE_S) == 130
    said = (folder / "log").read_text()
    assert "Traceback" not in said, said
    assert "internal error" not in said, said


SWALLOWED = """
import ctypes, sys, time
{IMPORT}from desdaemon.cli import main
from desdaemon.protocol.commands import sub_commands
from desdaemon.protocol.rows import SubCommand

@ctypes.CFUNCTYPE(None)
def called_back():
    print("called back", flush=True)
    time.sleep(1000)

def compile_main(arguments):
    called_back()
    time.sleep(1000)

row = SubCommand("compile", "", "__main__", prefix="compile_")
sub_commands.find_sub_command = lambda arguments: row
sys.exit(main.main(["compile"]))
"""
"""A sub-command in a function that LLVM calls back, and then in an ordinary wait."""


def test_an_interrupt_is_not_lost_where_no_exception_gets_through() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SWALLOWED.format(IMPORT=IMPORT)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "called back\n"
            process.send_signal(signal.SIGINT)
            output, said = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 130
    assert (output, said) == ("", "")


def worked_s(process: subprocess.Popen[bytes]) -> float:
    """Seconds of processors that a program and those that it has started have had."""
    with contextlib.suppress(psutil.Error):
        own = psutil.Process(process.pid)
        return sum(sum(each.cpu_times()[:2]) for each in (own, *own.children(recursive=True)))
    return 0.0
