"""docs/zmtp.md: every function that is said to keep a line of the specifications is there."""

from __future__ import annotations

import importlib
import re
from functools import reduce

import pytest
from checkout import ROOT

ROWS = re.findall(r"^\| (.+) \| (`.+`\)) \|$", (ROOT / "docs" / "zmtp.md").read_text(), re.MULTILINE)


def test_the_document_has_rows() -> None:
    assert len(ROWS) > 30


@pytest.mark.parametrize(("demand", "kept"), ROWS, ids=[demand[:40] for demand, _ in ROWS])
def test_each_demand_names_existing_functions(demand: str, kept: str) -> None:
    places = re.findall(r"`(\w+)\.py` \(([^)]+)\)", kept)
    assert places, demand
    for file, names in places:
        module = importlib.import_module(f"desdaemon.server.transport.{file}")
        for name in re.findall(r"`([\w.]+)`", names):
            assert callable(reduce(getattr, name.split("."), module)), name
