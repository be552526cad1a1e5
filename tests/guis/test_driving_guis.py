"""The GUIs of driving_guis.txt with desdaemon in the place of their engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_driving_programs import Talk, drive, name, talks

TALKS = talks(Path(__file__).with_name("driving_guis.txt"))


@pytest.mark.parametrize("talk", TALKS, ids=name)
def test_the_driver_finds_the_line_it_waits_for(talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    drive(talk)
