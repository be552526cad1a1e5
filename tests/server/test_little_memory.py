"""A daemon without memory or descriptors for anything new: each operation and line has one answer in a sentence, and
it works once there is room.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest
from served import PATIENCE_S, Peer, serving
from waits import until

from desdaemon.protocol.wire.messages import OPERATIONS

pytestmark = pytest.mark.posix

MIB = 1 << 20
VALUES: dict[str, Any] = {
    "moves": "f5d6",
    "items": [{"moves": "f5"}],
    "played": "f5d6",
    "rating": 1500,
    "file": "a.book",
    "files": ["a.txt"],
    "plies": 1,
    "depth": 1,
    "games": 1,
    "job": 1,
    "score": 0,
    "cumulative": 1,
    "leaf": 1,
    "per-move": 1,
    "move": "c3",
    "line": "undo",
    "best": "c3",
    "source": "a",
}
LINES = ("help", "hint 1", "go", "book show", "book negamax", "version", "load a.pgn", "save a.sgf", "undo")


@pytest.mark.parametrize("room", ["no descriptors", 1, 64, 150])
def test_whatever_is_asked_without_room_is_answered_in_a_sentence(tmp_path: Path, room: int | str) -> None:
    """Threads, libraries and modules that are first needed then find no room in the address space, or no descriptor."""
    # Windows has no such module.
    import resource

    with serving(tmp_path / "daemon") as daemon, Peer(daemon.ipc) as peer:
        assert peer.final("ping") == {}
        process = psutil.Process(daemon.process.pid)
        bounded = resource.RLIMIT_AS if isinstance(room, int) else resource.RLIMIT_NOFILE
        _, most = resource.prlimit(process.pid, bounded)
        least = process.memory_info().vms + room * MIB if isinstance(room, int) else 3
        resource.prlimit(process.pid, bounded, (least, most))
        for operation in OPERATIONS:
            if operation.name == "shutdown":
                continue
            args = {argument.name: VALUES[argument.name] for argument in operation.arguments if argument.required}
            error = peer.ask(operation.name, args).get("error", {})
            assert "\n" not in error.get("message", ""), (operation.name, error)
            assert "internal error" not in error.get("message", ""), (operation.name, error)
        for line in LINES:
            peer.send(line.encode())
            answer = peer.receive().decode()
            assert "Traceback" not in answer, (line, answer)
            assert "internal error" not in answer, (line, answer)
        assert peer.final("ping") == {}
        resource.prlimit(process.pid, bounded, (most, most))
        assert peer.final("analyze", {"moves": "f5", "level": 1})["moves"]
        if any(operation.name == "analyze.batch" for operation in OPERATIONS):
            assert peer.final("analyze.batch", {"items": [{"moves": "f5"}], "level": 1})["items"] == 1
        daemon.process.terminate()
        until(lambda: daemon.process.poll() is not None, PATIENCE_S)
        assert "Traceback" not in daemon.log.read_text()
