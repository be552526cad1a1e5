"""The daemon that most tests here share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from looped import Loop
from served import Peer, Served, serving

from desdaemon.core.requests.request import ServerLimits


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("d"), "--bind", "tcp://127.0.0.1:0") as served:
        with Peer(served.ipc) as admin:
            admin.final("book.new", {"level": 1, "depth": 20})
            admin.final("book.save", {"file": "shared.book"})
        yield served


@pytest.fixture
def admin(daemon: Served) -> Iterator[Peer]:
    with Peer(daemon.ipc) as peer:
        yield peer


@pytest.fixture
def editor(daemon: Served) -> Iterator[Peer]:
    with Peer(daemon.tcp) as peer:
        yield peer


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Loop]]:
    """Makes loops of sockets with other limits than the usual ones."""
    loops: list[Loop] = []

    def made(**limits: int) -> Loop:
        loops.append(Loop(tmp_path, ServerLimits(**limits)))
        return loops[-1]

    yield made
    for loop in loops:
        loop.close()
        assert loop.counters.get("mistakes", 0) == 0
