"""The measurements measure what they say."""

import json
from pathlib import Path

import pytest
from lab import large_book

from desdaemon.book.errors import OutOfRange
from desdaemon.book.reports import bench
from desdaemon.book.storage.arena import ARENA


def test_every_figure_is_there(tmp_path: Path) -> None:
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


def test_a_large_book_is_made_worked_on_and_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert large_book.main(["3000", "--memory", "64K", "--folder", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["rows"], told["memory"]) == (3000, 1 << 16)
    names = [figure["name"] for figure in told["figures"]]
    for part in (
        "open and first look-up",
        "look-ups",
        "deviate",
        "fix",
        "verify",
        "export .dat",
        "import .dat",
        "save",
    ):
        assert any(name.startswith(part) for name in names), part
    assert sum(figure["largest_s"] is not None for figure in told["figures"]) >= 8
    assert list(tmp_path.iterdir()) == []
    assert ARENA.limit == 0
