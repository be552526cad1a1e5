"""A question passes few modules and few objects on its way to the compiled search and back: a budget."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.journeys import Profiler, journeys

MODULES = {"analyze, level 12": 14, "analyze, level 4": 15, "moves": 13, "book deviate": 26}
OBJECTS = {"analyze, level 12": 10, "analyze, level 4": 10}
"""Classes of the objects that an analysis makes on its way to the engine."""


@pytest.mark.compiled
def test_a_request_passes_few_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Lines that other tests have asked about are not read again.
    monkeypatch.setattr("desdaemon.protocol.wire.positions._known", {})
    with Profiler() as profiler:
        found = {journey.name: journey for journey in journeys(tmp_path, profiler)}
    for name, most in MODULES.items():
        journey = found[name]
        assert "PendingRequest" in journey.made
        assert len(journey.modules) <= most, journey
        assert len(journey.made) <= OBJECTS.get(name, len(journey.made)), journey
        assert journey.readings == 1, journey
