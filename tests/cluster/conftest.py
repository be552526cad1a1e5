"""A cluster for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from cluster_processes import Cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler with two workers of one thread; modules that need others define their own."""
    with closing(Cluster(tmp_path_factory.mktemp("cluster"))) as found:
        found.add("one", "two")
        yield found
