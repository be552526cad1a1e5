"""The measurements measure what they say."""

from pathlib import Path

import pytest

from desdaemon.book.bench import cli as bench
from desdaemon.book.errors import OutOfRange


def test_every_figure_is_printed(tmp_path: Path) -> None:
    found = list(bench.run(4, tmp_path))
    assert [measure.name for measure in found if measure.seconds is None] == [
        "memory",
        "import .txt, memory beyond the book",
    ]
    others = ("open and first look-up", "import .egbk3, whole games", "info", "fix after one changed leaf")
    assert {measure.positions for measure in found if measure.name not in others} == {79}
    assert next(measure.positions for measure in found if measure.name == others[1]) > 1000
    assert all(str(measure).strip() for measure in found)
    assert len({measure.name for measure in found}) == len(found) >= 10
    with pytest.raises(OutOfRange, match="plies"):
        next(bench.run(0, tmp_path))


def test_a_clock_that_stands_still_gives_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one of 64 ticks a second does for a small book."""
    monkeypatch.setattr("time.thread_time", lambda: 1.5)
    first = next(bench.run(2, tmp_path))
    assert "enumerate" in str(first)
    assert first.data()["name"] == "enumerate"
