"""Messages byte for byte: what clients of the first days sent still works, and what they were replied is still sent.

The file was recorded from a daemon and is never written again: an addition gets messages of its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from operated import Operated
from reply_checks import event_faults, reply_faults
from waits import until

from desdaemon.protocol.wire import codec, messages
from desdaemon.protocol.wire.messages import BY_NAME
from desdaemon.protocol.wire.replies import SHAPES

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden_messages.json").read_text("utf-8"))
SINCE = {*messages.FEATURES, *(feature.revision for feature in messages.FEATURES.values())}
"""The features and revisions that this daemon has; those of a satellite may be gone."""
EXCHANGES: list[dict[str, Any]] = [found for found in GOLDEN["exchanges"] if found["since"] in SINCE]
RECORDED_IN_OTHER_FORMS = {"ping in longer forms of msgpack: map 16, str 8, uint 16"}


def name(exchange: dict[str, Any]) -> str:
    return str(exchange["name"])


def is_same(recorded: dict[str, Any]) -> None:
    body = bytes.fromhex(recorded["hex"])
    assert codec.decode(body) == recorded["message"]
    assert codec.encode(recorded["message"]) == body


def known(data: Any) -> Any:
    """Data without the numbers of satellites that are gone."""
    return {name: value for name, value in data.items() if name != "batches" or "batches" in SHAPES}


@pytest.mark.parametrize("exchange", EXCHANGES, ids=name)
def test_recorded_messages_are_read_and_written_the_same(exchange: dict[str, Any]) -> None:
    request = exchange["request"]
    assert codec.is_structured(bytes.fromhex(request["hex"]))
    if exchange["name"] in RECORDED_IN_OTHER_FORMS:
        assert codec.decode(bytes.fromhex(request["hex"])) == request["message"]
    else:
        is_same(request)
    op = request["message"]["op"]
    for reply in exchange["replies"]:
        is_same(reply)
        message = reply["message"]
        if op == "status":
            message = {**message, "data": known(message["data"])}
        assert reply_faults(op if op in BY_NAME else None, message) == []


@pytest.mark.parametrize("event", GOLDEN["events"], ids=lambda event: event["topic"])
def test_recorded_events_are_as_the_tables_say(event: dict[str, Any]) -> None:
    is_same(event)
    assert event_faults(event["topic"], known(event["message"])) == []


@pytest.fixture
def daemon(tmp_path: Path) -> Operated:
    return Operated(tmp_path)


def replied(daemon: Operated, exchange: dict[str, Any]) -> list[dict[str, Any]]:
    """What the daemon replies to a recorded request, until its final or error."""
    replies: list[dict[str, Any]] = []
    message = codec.decode(bytes.fromhex(exchange["request"]["hex"]))
    daemon.services.operations.handle(daemon.client, message, replies.append)
    until(lambda: replies and replies[-1]["type"] != "partial")
    return replies


@pytest.mark.parametrize("exchange", [found for found in EXCHANGES if found["exact"]], ids=name)
def test_the_same_bytes_are_replied(daemon: Operated, exchange: dict[str, Any]) -> None:
    replies = replied(daemon, exchange)
    assert [codec.encode(reply).hex() for reply in replies] == [reply["hex"] for reply in exchange["replies"]]


REFUSED = [found for found in EXCHANGES if found["replies"][-1]["message"].get("error", {}).get("field")]


@pytest.mark.parametrize("exchange", REFUSED, ids=name)
def test_the_same_requests_are_refused(daemon: Operated, exchange: dict[str, Any]) -> None:
    """With the same code and field; messages are for people and may change."""
    recorded = exchange["replies"][-1]["message"]
    reply = replied(daemon, exchange)[-1]
    assert (reply["id"], reply["type"], reply["seq"]) == (recorded["id"], "error", 0)
    assert {name: reply["error"][name] for name in ("code", "field")} == {
        name: recorded["error"][name] for name in ("code", "field")
    }
