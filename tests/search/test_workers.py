"""The searches that are lent out: as many as are needed, no more."""

from __future__ import annotations

import pytest

from desdaemon.core.search.loader import EngineConfig, EngineFailure, LoadedEngine
from desdaemon.core.search.workers import EnginePool


class Nothing:
    """Stands where a search would be."""

    def stop(self) -> None: ...


def test_no_search_is_made_only_to_see_that_there_are_any() -> None:
    made: list[EngineConfig] = []

    def build(config: EngineConfig) -> LoadedEngine:
        made.append(config)
        return LoadedEngine(Nothing(), Nothing)  # type: ignore[arg-type]

    engines = EnginePool(build, 2, 16)
    engines.assure(1)
    lent = engines.borrow()
    for _ in range(3):
        engines.assure(1)
    assert len(made) == 1
    engines.give_back(lent)
    assert engines.borrow() is lent
    engines.assure(2)
    assert [config.threads for config in made] == [1, 2]


def test_what_cannot_be_made_is_tried_again() -> None:
    def build(config: EngineConfig) -> LoadedEngine:
        raise EngineFailure("no weights")

    engines = EnginePool(build, 2, 16)
    for _ in range(2):
        with pytest.raises(EngineFailure):
            engines.assure(1)


def test_no_more_searches_are_kept_than_can_search_at_a_time() -> None:
    engines = EnginePool(lambda config: LoadedEngine(Nothing(), Nothing), 2, 16)  # type: ignore[arg-type]
    first, second, third = (engines.borrow() for _ in range(3))
    wide = engines.borrow(2)
    for lent in (first, second, third):
        engines.give_back(lent)
    engines.give_back(wide, 2)
    assert engines.borrow(2) is wide
    assert engines.borrow() is third
    assert engines.borrow() not in (first, second)
