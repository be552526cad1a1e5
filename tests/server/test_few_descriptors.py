"""A daemon that may open no more files: what needs one is refused in a sentence, and works once there is room."""

from __future__ import annotations

from pathlib import Path

import pytest
from served import Peer, serving

pytestmark = pytest.mark.posix


@pytest.mark.needs("engine.people")
def test_an_operation_that_finds_no_descriptor_is_refused_until_there_are_some(tmp_path: Path) -> None:
    """Its modules are loaded with the first request."""
    # Windows has no such module.
    import resource

    asked = {"moves": "f5d6", "rating": 1500}
    with serving(tmp_path / "daemon") as daemon, Peer(daemon.ipc) as peer:
        assert peer.final("ping") == {}
        pid = daemon.process.pid
        _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, most))
        reply = peer.ask("people.get", asked)
        assert reply["error"] == {"code": "internal", "message": "Too many open files: try later"}
        assert peer.final("ping") == {}
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
        assert peer.final("people.get", asked)["moves"]
        assert "Traceback" not in daemon.log.read_text()
