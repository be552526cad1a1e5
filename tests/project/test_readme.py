"""The sessions shown in the README are true, apart from how long things take."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from checkout import ROOT

PROGRAM = f"{sys.executable} -m daemon"


def sessions() -> list[tuple[str, str]]:
    """Each command shown in a console block, and what it is said to print."""
    shown = []
    for block in re.findall(
        r"^```console\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    ):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            shown.append((command, output))
    return shown


def test_links_lead_somewhere() -> None:
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("book/*.md"), *ROOT.glob("protocol/*.md")]
    for document in documents:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def without_effort(text: str) -> str:
    """The text with depth, score and first move alone left of each line of a search table."""
    return re.sub(r" +\d+:\d\d\.\d{3} +\d+ +\d+ (\w\w) .*", r" \1", text).rstrip()


@pytest.mark.parametrize(("command", "output"), sessions(), ids=[command[-40:] for command, _ in sessions()])
def test_session(command: str, output: str) -> None:
    command = re.sub(r"make -s run ARGS=(\S+)", rf"{PROGRAM} \1", command).replace(".venv/bin/desdaemon", PROGRAM)
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert without_effort(done.stdout) == without_effort(output)
