"""What docs/remote-analysis.md shows is carried out, command by command, and true."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from served import ROOT, heed_signals
from waits import until

TEXT = (ROOT / "docs" / "remote-analysis.md").read_text("utf-8")
# What only a person with two machines can do, or what needs the network.
ELSEWHERE = ("git clone", "make ", "scp ", "cd clients/examples/node", "node ")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def commands() -> list[tuple[str, str]]:
    """Each command that is shown, and what it is said to print."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^(?:strong|laptop)\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def free_ports() -> int:
    """A port that is free with the next one."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("", 0))
            port: int = first.getsockname()[1]
            try:
                second.bind(("", port + 1))
            except OSError:
                continue
            return port


class Reader:
    """Somebody who has both machines in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_ports()
        (folder / ".venv" / "bin").mkdir(parents=True)
        program = folder / ".venv" / "bin" / "desdaemon"
        start = f"import runpy, sys; sys.path.insert(0, {str(ROOT)!r}); runpy.run_module('daemon', run_name='__main__')"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{start}" "$@"\n')
        program.chmod(0o755)
        names = {"XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data", "DESDAEMON_RUNTIME_DIR": "run"}
        paths = {name: str(folder / part) for name, part in names.items()}
        self.environment = {**os.environ, **paths, "PYTHONPATH": str(folder / "python")}
        (folder / "python").mkdir()
        (folder / "python" / "desdaemon.py").write_text(
            f"import importlib, sys\nsys.path.insert(0, {str(ROOT)!r})\npackage = importlib.import_module('daemon')\n"
            f"package.__path__.append({str(ROOT)!r})\nsys.modules['desdaemon'] = package\n"
        )

    def here(self, text: str) -> str:
        return text.replace("6464", str(self.port)).replace("tcp://strong", "tcp://127.0.0.1")

    def run(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", self.here(command)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    def serve(self, command: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("wb") as log:
            process = subprocess.Popen(
                self.here(command).split(),
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=heed_signals,
            )
        until(lambda: (self.folder / "run" / "connection.json").exists() or process.poll() is not None)
        assert process.poll() is None, (self.folder / "log").read_text()
        return process


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    reader = Reader(tmp_path_factory.mktemp("doc"))
    servers = []
    for command, output in commands():
        if " serve " in command:
            servers.append(reader.serve(command))
        elif " keys " in command:
            assert reader.run(command) == output
    yield reader
    for server in servers:
        server.terminate()
        assert server.wait(60) == 0


def proved(line: str) -> str:
    """What of a line cannot come out otherwise: equal moves may be shown in any order, and so may their lines."""
    found = re.match(r"^( *\d+  [XO] \w\w +[+-]\d+) .* exact ", line)
    return found[1] if found else line


def test_a_game_is_analysed_in_fewer_than_ten_commands(reader: Reader) -> None:
    first = [command for command, _ in commands() if "shell" not in command]
    assert first.index(next(command for command in first if " analyze " in command)) < 9


def test_the_commands_print_what_is_shown(reader: Reader) -> None:
    for command, output in commands():
        if command.startswith(ELSEWHERE) or " serve " in command or " keys " in command:
            continue
        printed = iter([proved(line) for line in reader.run(command).splitlines()])
        for line in output.splitlines():
            # In order, with others between them.
            assert line == "..." or proved(line) in printed, (command, line)


def test_the_python_programs_run(reader: Reader) -> None:
    for number, block in enumerate(blocks("python")):
        program = reader.folder / f"program{number}.py"
        program.write_text(reader.here(block))
        assert reader.run(f"{sys.executable} {program}")


def test_the_examples_run(reader: Reader) -> None:
    examples = ROOT / "clients" / "examples"
    given = f"--endpoint tcp://127.0.0.1:{reader.port} --key laptop.key"
    printed = reader.run(f"{sys.executable} {examples}/analyze_game.py f5d6c3d3 --level 2 {given}")
    assert len(re.findall(r"^ +\d  played", printed, re.MULTILINE)) == 5
    reader.run(".venv/bin/desdaemon shell -c 'book new 1 8' -c 'play f5d6' -c 'book store'")
    assert "ply 2: 4 positions" in reader.run(f"{sys.executable} {examples}/book_lines.py 2")
    assert "positions in all" not in reader.run(f"{sys.executable} {examples}/book_lines.py 0")
    before = reader.run(f"{sys.executable} {examples}/book_lines.py 2")
    assert "book.store" in reader.run(f"{sys.executable} {examples}/watch_job.py")
    assert reader.run(f"{sys.executable} {examples}/book_lines.py 2") == before
    assert "positions added in" in reader.run(f"{sys.executable} {examples}/watch_job.py --deviate 0 0")


def test_the_python_programs_have_the_types_that_they_need(tmp_path: Path) -> None:
    """What is shown, and the examples, under `mypy --strict`."""
    mypy = pytest.importorskip("mypy.api")
    programs = [tmp_path / f"program{number}.py" for number in range(len(blocks("python")))]
    for program, block in zip(programs, blocks("python"), strict=True):
        program.write_text(block)
    examples = sorted((ROOT / "clients" / "examples").glob("*.py"))
    for program in (*programs, *examples):
        printed, complained, status = mypy.run(
            ["--strict", "--follow-imports=silent", f"--cache-dir={tmp_path / 'cache'}", str(program)]
        )
        assert (status, complained) == (0, ""), (program.name, printed)
