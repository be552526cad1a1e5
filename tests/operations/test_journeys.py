"""A question passes few modules and few objects on its way to the compiled search and back: a budget."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.journeys import Profiler, journeys

MODULES = {"analyze, level 12": 15, "analyze, level 4": 16}
OBJECTS = 16
"""Classes of the objects that an analysis makes, plain records of boards, moves and limits included."""


@pytest.mark.compiled
def test_an_analysis_passes_few_modules(tmp_path: Path) -> None:
    with Profiler() as profiler:
        found = {journey.name: journey for journey in journeys(tmp_path, profiler)}
    for name, most in MODULES.items():
        journey = found[name]
        assert "PendingRequest" in journey.made
        assert len(journey.modules) <= most, journey
        assert len(journey.made) <= OBJECTS, journey
