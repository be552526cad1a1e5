"""Files of a policy made to do harm: each is refused in one line, and none gives what is no chance."""

from __future__ import annotations

import json
import lzma
import math
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from desdaemon.engine.evaluation.weights_file import WeightsError
from desdaemon.engine.people import policy
from desdaemon.engine.people.policy import CONFIGURATIONS, HIDDEN, OFTEN, PATTERNS, ROWS, SHARES, KnownOpenings


def weights(keys: list[int], starts: list[int], moves: list[int], row: float = 0.0) -> policy.PolicyWeights:
    return policy.PolicyWeights(
        array("f", [row] * (2 * HIDDEN * ROWS)),
        array("f", [row] * HIDDEN),
        array("b", bytes(9 * PATTERNS * CONFIGURATIONS)),
        KnownOpenings(array("I", keys), array("I", starts), bytes(moves)),
        {"seed": 1},
    )


GOOD: tuple[list[int], list[int], list[int]] = ([3, 5], [0, 3, 8], [0, 19, 1, len(OFTEN) - 1, 63, SHARES - 1, 0, 0])


def refused(path: Path) -> str:
    with pytest.raises(WeightsError) as error:
        policy.read(path)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300 + len(str(path))
    return str(error.value)


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    for known in (GOOD, ([], [0], [])):
        policy.write(tmp_path / "policy.xz", weights(*known))
        assert policy.read(tmp_path / "policy.xz") == weights(*known)


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (([5, 3], [0, 3, 6], [0, 19, 1] * 2), "keys"),
        (([3, 3], [0, 3, 6], [0, 19, 1] * 2), "keys"),
        (([3, 5], [0, 6, 3], [0, 19, 1]), "starts"),
        (([3, 5], [3, 0, 6], [0, 19, 1] * 2), "starts"),
        (([3, 5], [0, 2**32 - 1, 6], [0, 19, 1] * 2), "starts"),
        (([3, 5], [0, 3, 3], [0, 19, 1]), "starts"),
        (([3, 5], [0, 3, 5], [0, 19, 1, 0, 20]), "starts"),
        (([3, 5], [0, 3, 6], [0, 19, 1] * 3), "starts"),
        (([3], [0, 3], [len(OFTEN), 19, 1]), "class"),
        (([3], [0, 3], [0, 64, 1]), "square"),
        (([3], [0, 3], [0, 255, 1]), "square"),
        (([3], [0, 3], [0, 19, SHARES]), "share"),
    ],
)
def test_openings_with_wrong_links_are_refused(
    tmp_path: Path, known: tuple[list[int], list[int], list[int]], reason: str
) -> None:
    path = tmp_path / "policy.xz"
    policy.write(path, weights(*known))
    assert reason in refused(path)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 3e38])
@pytest.mark.parametrize("part", ["rows", "outputs"])
def test_weights_that_are_no_numbers_are_refused(tmp_path: Path, number: float, part: str) -> None:
    made = weights(*GOOD)
    getattr(made, part)[-1] = number
    policy.write(tmp_path / "policy.xz", made)
    assert "a weight" in refused(tmp_path / "policy.xz")


def good_content(folder: Path) -> bytes:
    policy.write(folder / "good.xz", weights(*GOOD))
    return lzma.decompress((folder / "good.xz").read_bytes())


def with_lengths(content: bytes, change: Callable[[list[Any]], Any]) -> bytes:
    line, _, rest = content.partition(b"\n")
    record = json.loads(line)
    return json.dumps({**record, "lengths": change(record["lengths"])}).encode() + b"\n" + rest


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda content: b"[" * 200_000 + b"\n" + content,
        lambda content: b'{"lengths":' * 200_000 + b"\n" + content,
        lambda content: b"[]\n" + content,
        lambda content: b'{"lengths": 5}\n' + content,
        lambda content: b'{"lengths": ' + b"9" * 5000 + b"}\n" + content,
        lambda content: content + b"x",
        lambda content: content[:-1],
        lambda content: b"",
        lambda content: b"\xff\xfe" + content,
        lambda content: with_lengths(content, lambda lengths: [-1, *lengths[1:]]),
        lambda content: with_lengths(content, lambda lengths: [10**400, *lengths[1:]]),
        lambda content: with_lengths(content, lambda lengths: ["x", *lengths[1:]]),
        lambda content: with_lengths(content, lambda lengths: [1.5, *lengths[1:]]),
        lambda content: with_lengths(content, lambda lengths: [math.inf, *lengths[1:]]),
        lambda content: with_lengths(content, lambda lengths: [*lengths, 0]),
        lambda content: with_lengths(content, lambda lengths: [*lengths[:4], 0, 0]),
        lambda content: with_lengths(content, lambda lengths: [True, *lengths[1:]]),
    ],
)
def test_files_with_wrong_heads_are_refused(tmp_path: Path, spoilt: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "policy.xz"
    path.write_bytes(lzma.compress(spoilt(good_content(tmp_path))))
    refused(path)


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda packed: packed + b"x",
        lambda packed: packed + packed,
        lambda packed: packed[:-1],
        lambda packed: lzma.compress(bytes(1 << 26)),
        lambda packed: b"",
    ],
)
def test_streams_of_wrong_length_are_refused(tmp_path: Path, spoilt: Callable[[bytes], bytes]) -> None:
    good_content(tmp_path)
    path = tmp_path / "policy.xz"
    path.write_bytes(spoilt((tmp_path / "good.xz").read_bytes()))
    refused(path)


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    refused(tmp_path)
    refused(tmp_path / "none")
