"""The engine's libraries, weights and searchers for these tests.

Everything works without the shipped weights and without reference data: exact scores do not depend on weights, and
for the rest weights drawn by lot are as good as any.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import plain_weights
import pytest
from checkout import IMPORT
from table_entries import probe_library, switch_off

from desdaemon.engine.compiler import INTERPRETED, library
from desdaemon.engine.evaluation.network import Head, Network
from desdaemon.engine.evaluation.weights import SHIPPED, Weights
from desdaemon.engine.evaluation.weights_file import WEIGHTS_PER_PLY
from desdaemon.engine.exports import SPEC
from desdaemon.engine.layout import LANES, PLIES
from desdaemon.engine.search import Searcher


@pytest.fixture(scope="session")
def engine() -> library.Library:
    """The compiled engine."""
    return library.load(SPEC)


@pytest.fixture(scope="session")
def inner() -> library.Library:
    """The engine's inner kernels, compiled for these tests (see `probe`)."""
    return probe_library()


@pytest.fixture(scope="session")
def packed_by_lot() -> np.ndarray:
    """Packed weights [61 plies][233434], at most 0.4 discs each, so that scores stay far from 64."""
    drawn = np.random.default_rng(1).integers(-50, 51, (PLIES, WEIGHTS_PER_PLY))
    return drawn.astype("<i2")


@pytest.fixture(scope="session")
def weights_by_lot_path(packed_by_lot: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of weights drawn by lot."""
    path = tmp_path_factory.mktemp("weights") / "by-lot.weights"
    plain_weights.write(path, packed_by_lot)
    return path


def _loaded(path: Path) -> Weights:
    """Weights of which nothing is left in the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        folder = path.parent if INTERPRETED else None
        patch.setattr(library, "cache_folder", lambda: folder)
        if INTERPRETED:
            # Laying weights out takes kernels that run as Python an hour.
            code = IMPORT + "from desdaemon.engine.evaluation.weights import Weights; Weights.load(sys.argv[1])"
            environment = {**os.environ, "DESDAEMON_KERNELS": "", "DESDAEMON_CACHE_DIR": str(folder)}
            subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=True)
        return Weights.load(path)


@pytest.fixture(scope="session")
def weights_by_lot(weights_by_lot_path: Path, engine: library.Library) -> Weights:
    """Weights drawn by lot; nothing of them is left in the user's cache."""
    return _loaded(weights_by_lot_path)


@pytest.fixture(scope="session")
def network_by_lot() -> Network:
    """A network of two bands of plies drawn by lot, its lanes such that hidden ones are often cut off, and its scores
    far from 64."""
    lot = np.random.default_rng(2)
    lanes = lot.integers(-30, 31, (2, LANES, WEIGHTS_PER_PLY), np.int8)
    lanes[:, :2] = lot.integers(-5, 6, (2, 2, WEIGHTS_PER_PLY), np.int8)
    heads = [
        Head(
            tuple(lot.integers(-64, 129, LANES).tolist()),
            tuple(lot.integers(-900, 901, LANES).tolist()),
            int(lot.integers(-(1 << 22), 1 << 22)),
        )
        for _ in range(PLIES)
    ]
    return Network((0, 33), tuple(heads), lanes.tobytes())


@pytest.fixture(scope="session")
def network_by_lot_path(network_by_lot: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of that network."""
    path = tmp_path_factory.mktemp("network") / "by-lot.weights"
    plain_weights.write_network(path, network_by_lot)
    return path


@pytest.fixture(scope="session")
def searcher_of_network(network_by_lot_path: Path, engine: library.Library) -> Searcher:
    """One thread and a small table with the network drawn by lot."""
    return Searcher(hash_bits=16, weights=_loaded(network_by_lot_path))


@pytest.fixture(scope="session")
def weights(request: pytest.FixtureRequest) -> Weights:
    """The weights that come with the program, or some drawn by lot where it has none."""
    if SHIPPED.exists():
        return Weights.load()
    by_lot: Weights = request.getfixturevalue("weights_by_lot")
    return by_lot


@pytest.fixture(scope="session")
def _searcher(weights: Weights) -> Searcher:
    return Searcher(hash_bits=16, weights=weights)


@pytest.fixture
def searcher(_searcher: Searcher) -> Searcher:
    """One thread and a small table, empty."""
    _searcher.clear()
    switch_off(_searcher, 0)
    return _searcher


@pytest.fixture(scope="session")
def _searcher_by_lot(weights_by_lot: Weights) -> Searcher:
    return Searcher(hash_bits=16, weights=weights_by_lot)


@pytest.fixture
def searcher_by_lot(_searcher_by_lot: Searcher) -> Searcher:
    """The same with weights drawn by lot."""
    _searcher_by_lot.clear()
    return _searcher_by_lot
