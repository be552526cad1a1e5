"""The engines that are lent out: as many as are needed, no more."""

from __future__ import annotations

import pytest

from desdaemon.core.search.loader import EngineConfig, EngineFailure, LoadedEngine
from desdaemon.core.search.workers import EnginePool


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (EngineFailure("no weights"), "no weights"),
        (MemoryError(), "not enough memory"),
        (ValueError("x"), "ValueError: x"),
    ],
)
def test_a_worker_that_cannot_be_made_is_tried_again(error: Exception, told: str) -> None:
    def build(config: EngineConfig) -> LoadedEngine:
        raise error

    engines = EnginePool(build, 2, 16)
    for _ in range(2):
        with pytest.raises(EngineFailure, match=told):
            engines.borrow()
