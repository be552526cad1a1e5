"""Batches whose positions are in a file of the data folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from operated import Operated


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data folder, whose name looks like a pattern."""
    folder = tmp_path / "da[t]a"
    (folder / "inner").mkdir(parents=True)
    return folder


@pytest.fixture
def daemon(data: Path) -> Operated:
    return Operated(data)


def test_a_batch_is_read_from_a_file(daemon: Operated, data: Path) -> None:
    board = "-" * 27 + "OX" + "-" * 6 + "XO" + "-" * 27
    lines = ["# positions", "", "f5", board + " X", json.dumps({"id": "mine", "moves": "f5d6"}), "a1", "{broken"]
    (data / "inner" / "positions.txt").write_text("\n".join(lines))
    job = daemon.final("analyze.batch", {"file": "inner/positions.txt", "depth": 2, "book": "ignore"})
    assert job["items"] == 5
    found: list[dict[str, Any]] = []
    while not (page := daemon.final("batch.results", {"job": job["job"], "after": len(found)}))["done"]:
        found += page["results"]
    found += page["results"]
    by_id = {result["id"]: result for result in found}
    assert set(by_id) == {3, 4, "mine", 6, 7}
    assert by_id["mine"]["data"]["board"] == daemon.final("legal", {"moves": "f5d6"})["board"]
    assert {by_id[3]["error"]["code"] if "error" in by_id[3] else "ok"} == {"ok"}
    assert by_id[6]["error"]["code"] == "illegal_move"
    assert by_id[7]["error"]["code"] == "bad_request"


def test_files_that_hold_no_batch_are_refused(daemon: Operated, data: Path) -> None:
    (data / "empty").write_text("# nothing\n\n")
    assert daemon.code("analyze.batch", {"file": "empty"}) == "bad_request"
    assert daemon.code("analyze.batch", {"file": "missing"}) == "not_found"
    assert daemon.code("analyze.batch", {"file": "inner"}) == "bad_request"
    assert daemon.code("analyze.batch", {"file": "empty", "items": []}) == "bad_request"
    assert daemon.code("analyze.batch") == "bad_request"


@pytest.mark.posix
@pytest.mark.parametrize("name", ["../x.txt", "inner/../../x.txt", "/etc/passwd", "~/x.txt", "out/x.txt", "link.txt"])
def test_files_outside_the_data_folder_are_refused(daemon: Operated, data: Path, name: str) -> None:
    beyond = data.parent / "beyond"
    beyond.mkdir()
    (beyond / "x.txt").write_text("f5\n")
    (data / "out").symlink_to(beyond)
    (data / "link.txt").symlink_to(beyond / "x.txt")
    assert daemon.code("analyze.batch", {"file": name}) == "forbidden"
