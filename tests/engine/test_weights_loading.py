"""Weights in memory: what is refused and why, and the expansion that is kept in the cache."""

from __future__ import annotations

import os
import random
import re
import zlib
from pathlib import Path

import judge
import numpy as np
import plain_weights
import pytest

from desdaemon.core.search.loader import wrong_head
from desdaemon.engine import warmup
from desdaemon.engine.compiler import library
from desdaemon.engine.evaluation import weights
from desdaemon.engine.evaluation.network import Head, Network
from desdaemon.engine.evaluation.weights import SHIPPED, Weights, WeightsError
from desdaemon.engine.evaluation.weights_file import WEIGHTS_PER_PLY, read, read_packed, write_shipped
from desdaemon.engine.evaluation.weights_metadata import WeightsMetadata
from desdaemon.engine.layout import LANES
from desdaemon.engine.probcut import DEFAULT, ErrorModel, table
from desdaemon.engine.search import Searcher

pytestmark = pytest.mark.compiled


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(library, "cache_folder", lambda: folder)
    monkeypatch.setattr(weights, "_AFTER_S", 0)
    return folder


def checked(loaded: Weights) -> None:
    """Wait until the kept file was compared with its sums: until then a thread has it open."""
    if loaded._checked is not None:
        loaded._checked.wait()


def evaluations(loaded: Weights) -> list[float]:
    searcher = Searcher(hash_bits=10, weights=loaded)
    return [searcher.evaluate(*board) for board in judge.positions(1, 61, range(61))]


@pytest.mark.parametrize("kind", ["weights_by_lot_path", "network_by_lot_path"])
def test_fresh_and_kept_weights_are_the_same(
    engine: library.Library, kind: str, cache: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(kind)
    fresh = Weights.load(path)
    [kept] = cache.iterdir()
    expected = evaluations(fresh)
    assert len(set(expected)) > 20
    with monkeypatch.context() as patch:
        patch.setattr(weights, "read", lambda path: pytest.fail("the kept weights were not used"))
        mapped = Weights.load(path)
        assert evaluations(mapped) == expected
        assert (mapped.digest, mapped.source) == (fresh.digest, str(path))
    size = kept.stat().st_size
    # Mapped files must not change under the reader: this is another file of the same name.
    checked(mapped)
    del mapped, fresh
    kept.unlink()
    kept.write_bytes(b"\0" * (size // 2))
    assert evaluations(Weights.load(path)) == expected
    assert kept.stat().st_size == size
    assert [path.name for path in cache.iterdir()] == [kept.name]


@pytest.mark.posix
@pytest.mark.parametrize("place", [0, 1 << 24, -1])
def test_a_damaged_expansion_is_made_again_and_said_once(
    engine: library.Library,
    network_by_lot_path: Path,
    cache: Path,
    capsys: pytest.CaptureFixture[str],
    place: int,
) -> None:
    expected = evaluations(Weights.load(network_by_lot_path))
    [kept] = cache.iterdir()
    content = kept.read_bytes()
    capsys.readouterr()
    kept.unlink()
    spoilt = bytearray(content)
    # The last bytes are checksums.
    end = min(len(content), place % len(content) + 4096)
    spoilt[place % len(content) : end] = random.Random(place).randbytes(end - place % len(content))
    kept.write_bytes(spoilt)
    kept.chmod(0o600)
    loaded = Weights.load(network_by_lot_path)
    if loaded._checked is not None:
        loaded._checked.wait()
    assert evaluations(loaded) == expected
    assert kept.read_bytes() == content
    assert capsys.readouterr().err == f"desdaemon: {kept}: damaged: made again\n"
    again = Weights.load(network_by_lot_path)
    assert again._checked is not None
    again._checked.wait()
    assert evaluations(again) == expected
    assert capsys.readouterr().err == ""


def test_the_same_name_with_other_content_is_read_again(
    engine: library.Library, packed_by_lot: np.ndarray, cache: Path, tmp_path: Path
) -> None:
    path = tmp_path / "eval.weights"
    plain_weights.write(path, packed_by_lot)
    first = evaluations(Weights.load(path))
    plain_weights.write(path, -packed_by_lot)
    assert evaluations(Weights.load(path)) == [-score for score in first]


def test_files_of_the_smaller_set_are_read(
    engine: library.Library, packed_by_lot: np.ndarray, cache: Path, tmp_path: Path
) -> None:
    """Edax's file is one whose other weights are 0."""
    from desdaemon.engine.evaluation import patterns
    from desdaemon.engine.evaluation.weights_file import write_edax

    packed = packed_by_lot.copy()
    packed[:, patterns.EDAX_SIZE :] = 0
    plain_weights.write(tmp_path / "wide.weights", packed)
    write_edax(tmp_path / "eval.dat", packed.tobytes())
    found = evaluations(Weights.load(tmp_path / "eval.dat"))
    assert found == evaluations(Weights.load(tmp_path / "wide.weights"))


def test_warmup_with_check_compiles_nothing(
    engine: library.Library,
    weights_by_lot_path: Path,
    cache: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(weights, "SHIPPED", weights_by_lot_path)
    assert warmup.main(["--check"], ()) == 1
    assert capsys.readouterr().out.split()[-2:] == ["weights", "missing"]
    assert list(cache.iterdir()) == []
    assert warmup.main([], ()) == 0
    assert len(list(cache.iterdir())) == 1
    assert warmup.main(["--check"], ()) == 0
    assert "ready" in capsys.readouterr().out.splitlines()[-1]


def test_weights_are_read_without_a_cache(
    engine: library.Library, weights_by_lot_path: Path, weights_by_lot: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "cache_folder", lambda: None)
    assert evaluations(Weights.load(weights_by_lot_path)) == evaluations(weights_by_lot)


def refused(path: Path, *reasons: str) -> None:
    with pytest.raises(WeightsError) as caught:
        Weights.load(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    for reason in reasons:
        assert reason in text


def test_unreadable_files_are_refused(tmp_path: Path, cache: Path) -> None:
    refused(tmp_path / "none.dat", "No such file")
    refused(tmp_path, "directory")
    assert not list(cache.iterdir())


@pytest.mark.posix
def test_pipes_and_devices_are_not_waited_for(tmp_path: Path, cache: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        refused(path, "expected a regular file")
        assert wrong_head(str(path)) == f"{path}: can't be read: expected a regular file"


@pytest.mark.skipif(not SHIPPED.exists(), reason="no weights come with this checkout")
def test_a_wrong_bit_in_shipped_weights_is_found(tmp_path: Path, cache: Path) -> None:
    whole = bytearray(SHIPPED.read_bytes())
    path = tmp_path / "weights.xz"
    for place in (20, len(whole) // 3, len(whole) // 2):
        damaged = whole.copy()
        damaged[place] ^= 4
        path.write_bytes(damaged)
        refused(path)
    path.write_bytes(whole[: len(whole) // 2])
    refused(path, "truncated")


def test_unusable_networks_are_refused(network_by_lot: Network, tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "network.weights"
    plain_weights.write_network(path, network_by_lot)
    whole = path.read_bytes()
    head = network_by_lot.heads[60]
    largest = Head(head.bias, (32767,) * LANES, head.constant)
    for network, reason in (
        (network_by_lot._replace(bands=(0, 33, 33)), "bytes for a network of 3 bands"),
        (network_by_lot._replace(bands=(1, 33)), "bands of plies that begin at [1, 33]"),
        (network_by_lot._replace(bands=(0, 61)), "bands of plies that begin at [0, 61]"),
        (network_by_lot._replace(bands=(), lanes=b""), "bytes for a network of 0 bands"),
        (network_by_lot._replace(lanes=network_by_lot.lanes[:-1]), "bytes for a network of 2 bands"),
        (network_by_lot._replace(heads=(*network_by_lot.heads[:60], largest)), "factors of ply 60 are too large"),
    ):
        plain_weights.write_network(path, network)
        refused(path, reason)
    path.write_bytes(whole[:-2])
    refused(path, "checksum")
    path.write_bytes(whole + b"\0")
    refused(path, "checksum")
    assert not list(cache.iterdir())


@pytest.fixture(scope="module")
def quick_network(network_by_lot: Network) -> Network:
    """A network drawn by lot of which most weighs nothing, so that it is packed at once."""
    lanes, some = network_by_lot.lanes, 5000
    starts = range(0, len(lanes), WEIGHTS_PER_PLY)
    nothing = bytes(WEIGHTS_PER_PLY - some)
    return network_by_lot._replace(lanes=b"".join(lanes[start : start + some] + nothing for start in starts))


def test_a_network_is_written_and_read(quick_network: Network, tmp_path: Path) -> None:
    path = tmp_path / "network.xz"
    write_shipped(path, quick_network, {"name": "by lot", "curve": 90})
    assert read(path) == (quick_network, {"name": "by lot", "curve": 90})
    with pytest.raises(WeightsError, match=re.escape(f"{path}: holds a network")):
        read_packed(path)
    with pytest.raises(ValueError, match="bytes of lanes"):
        write_shipped(path, quick_network._replace(lanes=b""), {})


def test_a_network_of_half_the_lanes_is_read(quick_network: Network, tmp_path: Path) -> None:
    """As shipped up to n1: the lanes that it lacks weigh nothing."""
    lanes = [quick_network.lanes[k : k + WEIGHTS_PER_PLY] for k in range(0, 64 * WEIGHTS_PER_PLY, WEIGHTS_PER_PLY)]
    narrow = quick_network._replace(
        heads=tuple(Head(head.bias[:16], head.factors[:16], head.constant) for head in quick_network.heads),
        lanes=b"".join(lanes[:16] + lanes[32:48]),
    )
    path = tmp_path / "narrow.weights"
    plain_weights.write_network(path, narrow, {"name": "narrow"})
    found, record = read(path)
    assert record == {"name": "narrow"}
    assert isinstance(found, Network)
    assert found.bands == narrow.bands
    nothing = (0,) * 16
    assert found.heads == tuple(Head(h.bias + nothing, h.factors + nothing, h.constant) for h in narrow.heads)
    rest = bytes(16 * WEIGHTS_PER_PLY)
    assert found.lanes == b"".join([*lanes[:16], rest, *lanes[32:48], rest])
    # What is written again has all lanes.
    write_shipped(path, found, record)
    assert read(path) == (found, record)


ERRORS = ErrorModel(scale=21.25, bias_odd=-0.5)


@pytest.mark.parametrize(
    ("record", "metadata"),
    [
        ({"name": "any", "curve": None, "probcut": None}, WeightsMetadata()),
        ({"curve": 82.5, "probcut": ERRORS.to_record()}, WeightsMetadata(82.5, ERRORS)),
        ({"probcut": {"size": 21.25, "odd": -0.5}}, WeightsMetadata(None, ERRORS)),
    ],
)
def test_traits_come_with_the_weights_also_from_the_cache(
    engine: library.Library,
    packed_by_lot: np.ndarray,
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record: dict[str, object],
    metadata: WeightsMetadata,
) -> None:
    path = tmp_path / "some.weights"
    plain_weights.write(path, packed_by_lot, record)
    assert Weights.load(path).metadata == metadata
    [kept] = cache.iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(weights, "read", lambda path: pytest.fail("the kept weights were not used"))
        mapped = Weights.load(path)
    assert mapped.metadata == metadata
    assert Searcher(hash_bits=10, weights=mapped)._probcut == table(metadata.probcut or DEFAULT)
    # Metadata that another version of the program has kept are made again.
    checked(mapped)
    del mapped
    content = kept.read_bytes()
    kept.unlink()
    first = b'{"curve": 1}'.ljust(4096, b"\0") + content[4096 : 1 << 16]
    sum_at = len(content) - 4 * -(-len(content) // ((1 << 16) + 4))
    kept.write_bytes(
        first + content[1 << 16 : sum_at] + zlib.crc32(first).to_bytes(4, "little") + content[sum_at + 4 :]
    )
    assert Weights.load(path).metadata == metadata
    assert kept.read_bytes() == content


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        *[({"curve": bad}, "curve") for bad in ("90", 29.9, 1001, 0, -90, True, [90], float("nan"), float("inf"))],
        ({"probcut": 3}, "probcut"),
        ({"probcut": {"ceiling": 3}}, "probcut"),
        ({"probcut": {"size": "3"}}, "probcut"),
        ({"probcut": {"size": float("nan")}}, "probcut"),
        ({"probcut": {"size": 10**400}}, "probcut"),
        ({"probcut": {"size": 30000}}, "probcut"),
    ],
)
def test_weights_with_wrong_traits_are_refused(
    packed_by_lot: np.ndarray, cache: Path, tmp_path: Path, record: dict[str, object], reason: str
) -> None:
    path = tmp_path / "bad.weights"
    plain_weights.write(path, packed_by_lot, record)
    refused(path, f"the record's {reason} ")
    assert not list(cache.iterdir())
