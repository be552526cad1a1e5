"""Programs that write results, killed while they do: every file is the old one or the new one, whole."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from checkout import ROOT
from lab import kills
from lab.findings import Findings

pytestmark = [pytest.mark.posix, pytest.mark.compiled, pytest.mark.needs("clients.analysis")]


@pytest.fixture(autouse=True)
def checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of this checkout, whatever is installed."""
    monkeypatch.setattr(kills, "PROGRAM", [sys.executable, str(Path(ROOT, "daemon", "__main__.py"))])


def test_a_killed_analysis_leaves_each_file_whole() -> None:
    findings = Findings()
    kills.kills(findings, 1, ("analyze",))
    assert findings.faults == []
    assert findings.counts["files, each whole"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", kills.PROGRAMS)
def test_twenty_kills_leave_each_file_whole(name: str) -> None:
    findings = Findings()
    kills.kills(findings, 20, (name,))
    assert findings.faults == []
    assert findings.counts["kills"] >= 10
