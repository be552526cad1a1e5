"""docs/cluster.md as a new user follows it, in an empty folder; its recipes as far as one machine goes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from checkout import ROOT
from cluster_processes import TIMEOUT

pytest.importorskip("distributed")
yaml = pytest.importorskip("yaml")

TEXT = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
PORT = "18786"


def blocks() -> list[str]:
    """The indented blocks of the document, as one would copy them."""
    found = re.findall(r"(?:^    .*\n|^\n(?=    ))+", TEXT, re.MULTILINE)
    return [re.sub(r"^ {4}", "", block, flags=re.MULTILINE).strip() + "\n" for block in found]


def block(piece: str) -> str:
    """The block with a piece in it."""
    (found,) = [each for each in blocks() if piece in each]
    return found


def commands(piece: str) -> list[str]:
    """The commands of a block, for this machine and a port that is free."""
    lines = block(piece).replace("10.0.0.1", "127.0.0.1").replace("8786", PORT).replace("\\\n", " ").splitlines()
    return [line.partition(" # ")[0].strip() for line in lines if line]


def scheduler_first(piece: str) -> tuple[str, str, str]:
    scheduler, worker, owner = commands(piece)
    assert "cluster scheduler" in scheduler
    assert "cluster worker" in worker
    return scheduler, worker, owner


class Folder:
    """An empty folder, and programs in it that go on until the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._running: list[subprocess.Popen[str]] = []
        programs = path / "programs"
        programs.mkdir()
        # As installed: the name, and nothing of this checkout's environment.
        program = programs / "desdaemon"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m desdaemon "$@"\n')
        program.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": str(path)}

    def go_on(self, command: str, until: str, **environment: str) -> None:
        """Begin a command, and wait for a piece of what it tells."""
        process = subprocess.Popen(
            ["sh", "-c", f"exec {command}"],
            cwd=self.path,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._running.append(process)
        assert process.stderr
        told = []
        for line in process.stderr:
            told.append(line)
            if until in line:
                return
        raise AssertionError("".join(told))

    def run(self, command: str, given: str = "") -> str:
        done = subprocess.run(
            ["sh", "-e", "-c", command],
            cwd=self.path,
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def close(self) -> None:
        for process in reversed(self._running):
            process.kill()
            process.wait()
            assert process.stderr
            process.stderr.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with closing(Folder(tmp_path)) as found:
        yield found


BOOK = "book new 4 10\nbook save my.book\nbook deviate 2 4\nquit\n"


def test_the_book_of_the_document_is_begun_by_commands_there_are() -> None:
    given = block("book save my.book")
    assert [line.split()[:2] for line in given.splitlines()] == [line.split()[:2] for line in BOOK.splitlines()[:-1]]


@pytest.mark.slow
def test_on_one_machine(folder: Folder) -> None:
    scheduler, worker, owner = scheduler_first("cluster worker tcp://127.0.0.1:8786 --threads 4")
    folder.go_on(scheduler.replace("scheduler", f"scheduler --listen tcp://127.0.0.1:{PORT}"), "scheduler at")
    folder.go_on(worker, "has joined")
    folder.go_on(worker, "has joined")
    said = folder.run(owner, BOOK)
    assert "my.book: No such file or directory" in said
    assert "Book deviate 2 4...finished" in said
    again = folder.run(owner, "book deviate 2 4\nquit\n")
    assert "No such file" not in again
    assert "finished: 0 positions added, 0 searches" in again
    status = folder.run(f"desdaemon cluster status tcp://127.0.0.1:{PORT}")
    assert status.count("same program") == 2
    assert folder.run(f"desdaemon cluster check tcp://127.0.0.1:{PORT}").count("right") == 2


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_two_machines_slurm_and_a_match(folder: Folder) -> None:
    folder.run("\n".join(commands("openssl req -x509")))
    assert {"ca.pem", "ca-key.pem", "cert.pem", "key.pem"} <= {
        path.name for path in (folder.path / "certificates").iterdir()
    }
    scheduler, worker, owner = scheduler_first("--nice 10")
    listening, submitted = commands("sbatch workers.sh")
    assert listening.startswith(scheduler)
    (folder.path / "shared").mkdir()
    folder.go_on(listening.removesuffix("&"), "scheduler at")
    folder.go_on(worker, "has joined")
    script = block("#SBATCH --array")
    assert submitted == "sbatch workers.sh"
    (folder.path / "workers.sh").write_text(script)
    folder.go_on("sh workers.sh", "worker 7 has joined", SLURM_ARRAY_TASK_ID="7", SLURM_CPUS_PER_TASK="2")
    assert "finished" in folder.run(owner, BOOK)
    match = (
        commands("desdaemon match")[0].replace("400", "2").replace("level 12", "level 1").replace("level 14", "level 2")
    )
    assert "2 games" in folder.run(match) or "lost by fault: none" in folder.run(match)
    status = folder.run(f"desdaemon cluster status tls://127.0.0.1:{PORT} --tls certificates")
    assert "\n7  " in f"\n{status}"
    assert status.count("same program") == 2


def test_the_manifests_for_kubernetes_fit_together() -> None:
    """Parsed, and held against each other and the command line; no cluster has read them."""
    from desdaemon.cluster.cluster import command_line

    scheduler, service, worker = yaml.safe_load_all(block("kind: Deployment"))
    assert [each["kind"] for each in (scheduler, service, worker)] == ["Deployment", "Service", "Deployment"]
    options = []
    for deployment in (scheduler, worker):
        spec = deployment["spec"]
        assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
        (container,) = spec["template"]["spec"]["containers"]
        (mount,) = container["volumeMounts"]
        (volume,) = spec["template"]["spec"]["volumes"]
        assert mount["name"] == volume["name"]
        assert f"secret generic {volume['secret']['secretName']}" in TEXT
        program, sub_command, *words = container["command"]
        assert (program, sub_command) == ("desdaemon", "cluster")
        options.append(command_line().parse_args(words))
        assert options[-1].tls == mount["mountPath"]
    assert service["spec"]["selector"] == scheduler["spec"]["selector"]["matchLabels"]
    (port,) = service["spec"]["ports"]
    assert options[0].listen == f"tls://0.0.0.0:{port['port']}"
    assert options[1].cluster == f"tls://{service['metadata']['name']}:{port['port']}"


def test_the_script_for_slurm_is_a_shells() -> None:
    subprocess.run(["sh", "-n"], input=block("#SBATCH --array"), text=True, check=True)
