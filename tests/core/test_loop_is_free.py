"""What takes long is not done by the thread that takes requests, and what that thread does is bounded."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from operated import Operated

from desdaemon.book.book import Book
from desdaemon.core.requests import analysis
from desdaemon.protocol.wire import codec


def spied(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[int]:
    """The threads that call a function from now on."""
    threads: list[int] = []
    real: Callable[..., Any] = getattr(owner, name)

    def noted(*args: Any, **named: Any) -> Any:
        threads.append(threading.get_ident())
        return real(*args, **named)

    monkeypatch.setattr(owner, name, noted)
    return threads


LONG = [
    ("book.info", {}, Book, "counts"),
    ("analyze", {"moves": "f5d6c3d3c4", "plies": [0, 1, 2, 3, 4, 5], "depth": 2}, analysis, "read_questions"),
    ("analyze", {"positions": [{"moves": "f5"}] * 100, "depth": 2}, analysis, "read_questions"),
]


@pytest.mark.parametrize(("op", "args", "owner", "name"), LONG, ids=lambda value: str(value)[:40])
def test_what_takes_long_is_done_beside_the_loop(
    daemon: Operated, monkeypatch: pytest.MonkeyPatch, op: str, args: dict[str, Any], owner: Any, name: str
) -> None:
    threads = spied(monkeypatch, owner, name)
    daemon.final(op, args)
    assert threads
    assert threading.get_ident() not in threads


def test_of_thousands_of_unknown_keys_few_are_named(daemon: Operated) -> None:
    unknown = {f"unknown {number}": 0 for number in range(4096)}
    assert len(daemon.ask("legal", unknown)["warnings"]) == 20
    assert len(daemon.ask("legal", {}, **{f"key {number}": 0 for number in range(4000)})["warnings"]) == 20


def test_longer_lists_than_any_operation_takes_are_not_decoded() -> None:
    for what in (["f5"] * 100_000, {str(number): 0 for number in range(5000)}):
        body = msgpack.packb({"v": 1, "id": 1, "op": "legal", "args": {"moves": what}})
        with pytest.raises(codec.WireError):
            codec.decode_request(body)
