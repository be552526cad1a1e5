"""The daemon that most tests here share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from served import Peer, Served, serving


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
