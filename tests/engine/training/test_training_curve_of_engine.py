"""The score curve of training is that of the engine."""

from __future__ import annotations

import judge
import numpy as np
import pytest
from test_curve import boards, packed, searcher_of

from desdaemon.engine.search import Searcher
from desdaemon.engine.training.fitting import curves, features, ridge

__all__ = ["packed", "searcher_of"]

pytestmark = pytest.mark.compiled


def test_training_and_engine_read_a_curve_alike(searcher_of: dict[float | None, Searcher], packed: np.ndarray) -> None:
    weights = ridge.unpack(packed.tobytes())
    for board in boards()[:200]:
        words = np.array([board], np.uint64)
        sums = features.predict(features.index(words[:, 0], words[:, 1]), weights[60 - judge.empties(board)])
        # The engine's weights are of eighths of a disc.
        assert searcher_of[61.5].evaluate(*board) == pytest.approx(float(curves.scores(sums, 61.5)[0]), abs=1.5)
