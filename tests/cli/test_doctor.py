"""`desdaemon doctor` on machines where nothing is wrong, and on others."""

from __future__ import annotations

import json
import lzma
import os
import shutil
import socket
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from checkout import ROOT
from toys import small_book
from watched_terminal import watch

from desdaemon.book.formats import registry
from desdaemon.engine.compiler import library
from desdaemon.extras.doctor import FAULT, OK, WARNING, Finding, engine, installation
from desdaemon.extras.doctor import doctor as command
from desdaemon.protocol.system import logs

CHECKS = ["version", "python", "system", "processor", "memory", "configuration", "cache", "compiled code", "weights"]
CHECKS += ["book", "runtime folder", "daemon", "keys", "terminal"]


def doctor(*arguments: str, **environment: str) -> tuple[int, dict[str, Finding]]:
    """The status, and the findings by their checks."""
    done = subprocess.run(
        [sys.executable, "-m", "daemon", "doctor", "--json", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert not done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["status"] == done.returncode
    findings = [Finding(**found) for found in report["findings"]]
    assert all(found.mend for found in findings if found.state != OK), "every fault says how to mend it"
    return done.returncode, {found.check: found for found in findings}


def here(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Finding]]:
    """The same in this process, without what is compiled or searched."""
    status = command.main(["--quick", "--json", *arguments])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, {found["check"]: Finding(**found) for found in report["findings"]}


@pytest.fixture
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No daemon and no configuration of the user's."""
    monkeypatch.setenv("DESDAEMON_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.mark.compiled
def test_a_healthy_machine_has_no_fault(apart: Path) -> None:
    library.load(engine.ENGINE)
    status, found = doctor()
    assert status == 0
    assert not [each for each in found.values() if each.state == FAULT]
    assert set(CHECKS) <= found.keys()
    assert found["compiler"].state == OK
    assert found["daemon"].text == "none runs"
    assert list(apart.iterdir()) == [], "nothing is made"


@pytest.mark.posix
@pytest.mark.parametrize("kind", ["read-only", "a file"])
def test_a_cache_that_cannot_be_written_is_reported(apart: Path, kind: str) -> None:
    folder = "/proc/desdaemon" if kind == "read-only" else str(apart / "file")
    (apart / "file").touch()
    status, found = doctor("--quick", DESDAEMON_CACHE_DIR=folder)
    assert status == 0, "everything works, and takes longer"
    assert found["cache"].state == WARNING
    assert "DESDAEMON_CACHE_DIR" in found["cache"].mend
    assert found["compiled code"].text.startswith("not in the cache")


def test_no_room_for_compiled_code_is_reported(
    apart: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = namedtuple("usage", ("total", "used", "free"))
    monkeypatch.setenv("DESDAEMON_CACHE_DIR", str(apart / "cache"))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(10 << 30, 10 << 30, 3 << 20))
    assert command.main(["--quick"]) == 0
    said = capsys.readouterr().out
    assert "3 MiB free, expected 160: what is compiled may not be kept" in said
    assert "make room" in said

    def full(**named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    [found] = engine.cache()
    assert found.state == WARNING
    assert "No space left on device" in found.text


@pytest.mark.compiled
def test_a_processor_without_avx2_is_reported(apart: Path) -> None:
    status, found = doctor(NUMBA_CPU_NAME="x86-64-v2", DESDAEMON_CACHE_DIR=str(apart / "cache"))
    assert status == 0
    assert found["processor"].state == WARNING
    assert "plain code (NUMBA_CPU_NAME set): no AVX2" in found["processor"].text
    assert found["compiler"].state == OK, "plain code was compiled and is right"


@pytest.mark.compiled
def test_code_that_the_processor_cannot_run_is_reported(apart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CPU_NAME", "sapphirerapids")
    monkeypatch.setattr(engine, "_COMPILE", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    found = engine.compiler()
    assert found == Finding(
        "compiler",
        FAULT,
        "ended by SIGILL",
        "unset NUMBA_CPU_NAME and NUMBA_CPU_FEATURES: they ask for what this processor lacks",
    )
    monkeypatch.setattr(engine, "_COMPILE", "raise ImportError('no llvmlite')")
    assert engine.compiler().text == "status 1: ImportError: no llvmlite"
    monkeypatch.setattr(engine, "_COMPILE", "print(8201)")
    assert engine.compiler().state == FAULT


def test_a_missing_weights_file_is_reported(apart: Path) -> None:
    status, found = doctor("--quick", "--eval-file", str(apart / "none.dat"))
    assert status == 1
    assert found["weights"].state == FAULT
    assert "none.dat" in found["weights"].text
    assert "-eval-file" in found["weights"].mend


def test_the_configured_files_are_looked_at(apart: Path) -> None:
    folder = apart / "config" / "desdaemon"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('eval-file = "/nowhere/eval.dat"\n')
    found = installation.configuration()
    assert found[1:] == ("/nowhere/eval.dat", "")
    (folder / "config.toml").write_text("no-such-option = 5\n")
    states = {each.state for each in installation.configuration()[0]}
    assert states & {WARNING, FAULT}


def test_a_taken_port_is_reported(apart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        endpoint = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        status, found = here(capsys, "--bind", endpoint)
        assert status == 1
        assert found["port"].state == FAULT
        assert endpoint in found["port"].text
    status, found = here(capsys, "--bind", "tcp://127.0.0.1:0")
    assert status == 0
    status, found = here(capsys, "--bind", "udp://nonsense")
    assert status == 1


def test_a_missing_or_wrong_book_is_reported(apart: Path) -> None:
    assert engine.book(str(apart / "none.book")).state == FAULT
    assert engine.book("/").state == FAULT
    (apart / "text.book").write_text("no book\n")
    assert engine.book(str(apart / "text.book")).state == FAULT


def test_the_shipped_book_or_its_absence_is_reported(apart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = apart / "starter.txt.xz"
    monkeypatch.setattr("desdaemon.book.formats.registry.SHIPPED", shipped)
    assert engine.book("").text == "none is configured; none ships either"
    assert engine.book("builtin") == Finding("book", FAULT, "builtin: this installation has no book of its own")
    shipped.write_bytes(lzma.compress(b""))
    assert engine.book("builtin").state == FAULT
    registry.save(shipped, small_book())
    assert "-book-file builtin" in engine.book("").text
    assert engine.book("builtin").text.endswith(": 1 position")


def test_a_path_too_long_for_a_socket_is_reported(apart: Path) -> None:
    status, found = doctor("--quick", DESDAEMON_RUNTIME_DIR=str(apart / ("x" * 110)))
    assert status == 1
    assert "DESDAEMON_RUNTIME_DIR" in found["runtime folder"].mend


def test_a_missing_or_old_library_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"numba": "0.60.0", "numpy": "", "msgpack": "1.1.2", "pyzmq": "27.0"}
    monkeypatch.setattr(installation, "_version", lambda name: versions.get(name, ""))
    found = {each.check: each for each in installation.libraries()}
    assert found["numba"].state == found["numpy"].state == FAULT
    assert found["numba"].mend.startswith("pip install 'numba>=")
    assert found["msgpack"].state == found["pyzmq"].state == OK
    assert found["extra web"].mend == "if wanted: pip install tornado"


def test_a_library_for_another_system_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = ["numpy>=2.0", "pynacl>=1.5; sys_platform == 'win32'", 'tornado>=6.5; extra == "web"']
    monkeypatch.setattr(installation.metadata, "requires", lambda name: listed)
    monkeypatch.setattr(installation, "_version", lambda name: "3.0" if name == "numpy" else "")
    states = {}
    for system in ("linux", "win32"):
        monkeypatch.setattr("desdaemon.extras.doctor.installation.sys.platform", system)
        states[system] = {each.check: each.state for each in installation.libraries()}
    assert "pynacl" not in states["linux"]
    assert states["win32"]["pynacl"] == FAULT
    assert states["linux"]["numpy"] == OK


def test_the_report_is_readable_by_people(
    apart: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(apart))
    assert command.main(["--quick", "--eval-file", str(apart / "none.dat")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("1 fault, ")
    assert str(apart) not in "\n".join(lines), "the name of the home folder is left out"
    [weights] = [line for line in lines if line.startswith("fault")]
    assert weights.split()[1] == "weights"
    assert lines[lines.index(weights) + 1].strip().startswith("-> ")


def test_a_long_check_is_told_at_a_terminal(
    apart: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    watch(monkeypatch)
    command.main(["--quick"])
    told = capsys.readouterr()
    assert "checking: 0 s" in told.err
    assert told.err.endswith(logs.WIPED)
    assert "checking" not in told.out


def test_reading_its_command_line_imports_nothing_heavy() -> None:
    code = "import sys; from desdaemon.extras.doctor import doctor; doctor.command_line()\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"numpy", "numba", "zmq", "llvmlite", "desdaemon.engine.search"} & set(done.stdout.split())


def test_the_commit_is_that_of_the_checkout_or_of_pips_record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    record = '{"url": "https://example.org/x", "vcs_info": {"vcs": "git", "commit_id": "0123456789abcdef"}}'
    for told, shown in ((record, "commit 0123456789,"), ('{"url": "x"}', "commit unknown"), (None, "commit unknown")):
        monkeypatch.setattr(
            installation.metadata, "distribution", lambda name, told=told: SimpleNamespace(read_text=lambda file: told)
        )
        assert shown in next(installation.program()).text
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    who = ["-c", "user.name=x", "-c", "user.email=x"]
    subprocess.run(["git", "-C", str(tmp_path), *who, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    head = subprocess.run(["git", "-C", str(tmp_path), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    assert f"commit {head.stdout[:10]}," in next(installation.program()).text
