"""The engines that are lent out: as many as are needed, no more."""

from __future__ import annotations

import pytest

from desdaemon.core.search.loader import EngineConfig, EngineFailure, LoadedEngine
from desdaemon.core.search.workers import EnginePool


class Nothing:
    """Stands where a search would be."""

    def stop(self) -> None: ...


def test_an_engine_that_comes_back_is_lent_again() -> None:
    made: list[EngineConfig] = []

    def build(config: EngineConfig) -> LoadedEngine:
        made.append(config)
        return LoadedEngine(Nothing(), Nothing)  # type: ignore[arg-type]

    engines = EnginePool(build, 3, 16)
    first, second = engines.borrow(), engines.borrow()
    engines.give_back(first)
    engines.give_back(second)
    assert engines.borrow(id(first.searcher)) is first
    assert engines.borrow() is second
    assert made == [EngineConfig(1, 16, "", guests=2)] * 2


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (EngineFailure("no weights"), "no weights"),
        (MemoryError(), "not enough memory"),
        (ValueError("x"), "ValueError: x"),
    ],
)
def test_what_cannot_be_made_is_tried_again(error: Exception, told: str) -> None:
    def build(config: EngineConfig) -> LoadedEngine:
        raise error

    engines = EnginePool(build, 2, 16)
    for _ in range(2):
        with pytest.raises(EngineFailure, match=told):
            engines.borrow()


def test_no_more_engines_are_kept_than_can_search_at_a_time() -> None:
    engines = EnginePool(lambda config: LoadedEngine(Nothing(), Nothing), 2, 16)  # type: ignore[arg-type]
    lent = [engines.borrow() for _ in range(3)]
    for engine in lent:
        engines.give_back(engine)
    assert engines.borrow() in lent[:2]
    assert engines.borrow() in lent[:2]
    assert engines.borrow() not in lent
