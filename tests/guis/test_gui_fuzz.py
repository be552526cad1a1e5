"""No line of a GUI makes a dialogue fail, hang or change its board without being understood: as test_fuzz.py."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fuzzing import GGF, Fuzz
from gui_fuzzing import LINES
from hypothesis import given, settings
from test_fuzz import QUIET, SEEDS, takes_junk, talk


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, for lines that write files."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("protocol", LINES)
@settings(max_examples=40, **QUIET)  # type: ignore[arg-type]
@given(seed=SEEDS)
def test_a_thousand_random_lines_of_a_gui_do_no_harm(protocol: str, seed: int) -> None:
    talk(protocol, seed)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", LINES)
@settings(max_examples=400, **QUIET)  # type: ignore[arg-type]
@given(seed=SEEDS)
def test_ten_thousand_random_lines_of_a_gui_do_no_harm(protocol: str, seed: int) -> None:
    talk(protocol, seed)


@pytest.mark.parametrize("protocol", LINES)
def test_a_process_takes_a_guis_junk_and_leaves_in_order(protocol: str) -> None:
    takes_junk(protocol)


def test_a_broken_game_is_refused_as_a_whole() -> None:
    fuzz = Fuzz("nboard")
    r = random.Random(1)
    fuzz.feed(b"set game " + GGF.replace("{square}", "F5", 1).replace("{square}", "D6").encode(), r)
    before = fuzz.state
    for broken in ("A1", "Z9", "F5", "", "PA", "D6]B[D6"):
        text = GGF.replace("{square}", "F5", 1).replace("{square}", broken).replace("{number}", "1")
        fuzz.feed(f"set game {text}".encode(), r)
        assert fuzz.state == before
