"""The tables of docs/server.md say what the code says."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from checkout import ROOT
from programs import programs

from desdaemon.clients import shell
from desdaemon.core.requests.request import ServerLimits
from desdaemon.server import keys

PAGE = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under a line that begins so, its head left out."""
    table = PAGE.split(heading, 1)[1].split("\n\n", 1)[0]
    lines = [line for line in table.splitlines()[1:] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("| ---")]


def test_the_document_states_the_limits() -> None:
    assert {row[0].strip("`"): int(row[1]) for row in rows("| limit ")} == ServerLimits()._asdict()


def test_systemd_restarts_what_the_unit_starts_and_a_container_has_a_supervisor() -> None:
    unit = (ROOT / "docs" / "desdaemon.service").read_text(encoding="utf-8")
    assert re.search(r"^Restart=(always|on-failure)$", unit, re.MULTILINE)
    assert "--supervise" not in unit
    started = re.search(r'CMD \["serve", (.*)\]', (ROOT / "docs" / "Containerfile").read_text(encoding="utf-8"))
    assert started
    assert "--supervise" in started[1]


def test_a_container_makes_its_first_key_and_is_healthy(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "Containerfile").read_text(encoding="utf-8")
    folder = str(tmp_path / "keys")
    (made,) = re.findall(r"^# podman run .* desdaemon keys (new .*)$", text, re.MULTILINE)
    (shown,) = re.findall(r"^# podman run .* --entrypoint cat desdaemon (\S+)", text, re.MULTILINE)
    assert keys.main(made.replace("/keys", folder).split()) == 0
    assert Path(shown.replace("/keys", folder)).is_file()
    (check,) = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", text, re.MULTILINE)
    program, command, *options = json.loads(check)
    assert (program, command) == ("desdaemon", "shell")
    assert shell.command_line().parse_args(options).lines == ["ping"]


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    """Once its program is there; on a fresh account no folder of the program is."""
    text = (ROOT / "docs" / "desdaemon.service").read_text(encoding="utf-8")
    writable = re.findall(r"^ReadWritePaths=(.*)$", text, re.MULTILINE)
    assert all(path.startswith("-") or path in ("%h", "%t") for paths in writable for path in paths.split())
    (verify,) = programs("systemd-analyze")
    unit = tmp_path / "desdaemon.service"
    unit.write_text(text.replace("%h/desdaemon/.venv/bin/desdaemon", "/bin/true"))
    assert "/bin/true serve" in unit.read_text()
    checked = subprocess.run([verify, "verify", unit], capture_output=True, text=True, check=False)
    assert not [line for line in checked.stderr.splitlines() if "desdaemon.service" in line], checked.stderr
