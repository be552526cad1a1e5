"""No line makes a dialogue fail, hang or change its board without being understood: a thousand lines for each protocol.

``make acceptance`` tries ten thousand.
"""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from collected import Collected
from fake_engine import FakeControl
from fuzzing import Fuzz, Quick, line
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from in_process import session_of
from live import converse

from desdaemon.core.search import loader
from desdaemon.core.search.loader import LoadedEngine
from desdaemon.dialogue.dialects import spoken
from desdaemon.dialogue.interrupt import Interrupt
from desdaemon.dialogue.streams import InputLine, LineQueue, LineReader, TextListener

LINES = 25
"""A dialogue."""


def takes_junk(protocol: str) -> None:
    """A process answers lines that nobody should write, and leaves in order."""
    r = random.Random(protocol)
    data = b"\n".join(line(protocol, r) for _ in range(60)).replace(b"quit", b"quid")
    done = converse(data, f"-{protocol}", "-level", "2")
    assert done.returncode == 0
    assert b"Traceback" not in done.stdout + done.stderr


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path) -> Iterator[None]:
    """A folder of its own, for lines that write files."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield
    os.chdir(before)


def talk(protocol: str, seed: int) -> None:
    r = random.Random(seed)
    fuzz = Fuzz(protocol)
    for _ in range(LINES):
        if not fuzz.feed(line(protocol, r), r):
            fuzz = Fuzz(protocol)


SEEDS = st.integers(0, 2**64)
QUIET = {"suppress_health_check": list(HealthCheck), "database": None}


@settings(max_examples=40, **QUIET)  # type: ignore[arg-type]
@given(seed=SEEDS)
def test_a_thousand_random_lines_do_no_harm(seed: int) -> None:
    talk("text", seed)


@pytest.mark.slow
@settings(max_examples=400, **QUIET)  # type: ignore[arg-type]
@given(seed=SEEDS)
def test_ten_thousand_random_lines_do_no_harm(seed: int) -> None:
    talk("text", seed)


def talk_json(seed: int) -> None:
    """Every line has a reply that is an object with a type, and the dialogue ends."""
    r = random.Random(seed)
    said = [line("json", r) for _ in range(LINES)]
    output = Collected()
    made = spoken("json")
    source = LineQueue()
    session = session_of(Quick())
    reader = LineReader(source, made.listener(session.interrupt))
    for data in said:
        reader.feed(data + b"\n")
    reader.close()
    assert made.dialect(session, output).run(source) == 0
    out, err = output.take()
    assert "Traceback" not in err
    replies = [json.loads(reply) for reply in out.splitlines()]
    assert all(reply["type"] in ("partial", "final", "error") for reply in replies)
    assert not any(reply["type"] == "error" and reply["error"]["code"] == "internal" for reply in replies), out
    assert len([reply for reply in replies if reply["type"] != "partial"]) <= LINES


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "build_engine", lambda config: LoadedEngine(Quick(), FakeControl))


@settings(max_examples=40, **QUIET)  # type: ignore[arg-type]
@given(seed=SEEDS)
def test_a_thousand_random_lines_of_json_do_no_harm(pretended: None, seed: int) -> None:
    talk_json(seed)


@pytest.mark.slow
@settings(max_examples=400, **QUIET)  # type: ignore[arg-type]
@given(seed=SEEDS)
def test_ten_thousand_random_lines_of_json_do_no_harm(pretended: None, seed: int) -> None:
    talk_json(seed)


class ShortLines(TextListener):
    """Refuses what is longer than a few bytes."""

    longest = 12


def lines_of(parts: list[bytes]) -> list[InputLine]:
    """The items that a reader makes of what it receives, part by part."""
    source = LineQueue()
    reader = LineReader(source, ShortLines(Interrupt()))
    for part in parts:
        if not reader.feed(part):
            break
    reader.close()
    found: list[InputLine] = []
    while (item := source.peek()) is not None:
        assert source.get() is item
        found.append(item)
    return found


PIECES = st.sampled_from(
    [b"\n", b"\r\n", b"go", b"hint 3", b"\xff", b"\xc3\xa4", b"\t", b"\x07", b"quit\n", b"stop\n", b"x" * 30]
)


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=30), st.lists(st.integers(0, 200), max_size=12))
def test_lines_do_not_depend_on_how_they_arrive(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    parts = [data[begin:end] for begin, end in itertools.pairwise(places)]
    found = lines_of(parts)
    assert found == lines_of([data]) == lines_of([data[at : at + 1] for at in range(len(data))])
    assert [item.number for item in found] == list(range(1, len(found) + 1))
    texts = [item.text for item in found]
    assert None not in texts[:-1]
    # The end of the input is told unless a quit was the last that was read.
    assert texts[-1] is None or texts[-1].split() == ["quit"]


def test_a_process_takes_junk_and_leaves_in_order() -> None:
    for protocol in ("text", "json"):
        takes_junk(protocol)
