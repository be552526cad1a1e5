"""Files with right checksums and wrong content: each is read or refused in one line, and nothing else happens."""

import struct
from collections.abc import Callable
from pathlib import Path

import format_fuzz
import numpy as np
import pytest
from toys import create_store, set_results

from desdaemon.book.editing.add import enumerate_book
from desdaemon.book.errors import Unreadable
from desdaemon.book.options import BookOptions
from desdaemon.book.record import START
from desdaemon.book.storage import snapshot

pytestmark = pytest.mark.compiled


def spoilt(cases: int) -> None:
    counts, faults = format_fuzz.run(cases, format_fuzz.NAMES)
    assert not faults
    assert all(sum(found.values()) == cases for found in counts.values())
    assert sum(found["read"] for found in counts.values()) > cases
    assert sum(found["refused"] for found in counts.values()) > cases


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
@pytest.mark.needs("book.reports")
@pytest.mark.needs("clients.gamefiles")
# Windows waits for sockets alone by `select`.
@pytest.mark.posix
def test_spoilt_files_of_every_format_are_read_or_refused() -> None:
    spoilt(5)


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
@pytest.mark.needs("book.reports")
@pytest.mark.needs("clients.gamefiles")
@pytest.mark.slow
def test_many_spoilt_files_of_every_format_are_read_or_refused() -> None:
    spoilt(2000)


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A book with an index and results."""
    monkeypatch.setattr(snapshot, "INDEXED_FROM", 0)
    made = enumerate_book(3, BookOptions(level=2, min_empties=57))
    set_results(made, 1, (1.0, 2.0, 3.0))
    create_store(tmp_path / "b.book", made).close()
    return tmp_path / "b.book"


def change(path: Path, spoil: Callable[[bytearray, snapshot.SnapshotHeader], None]) -> None:
    data = bytearray(path.read_bytes())
    spoil(data, snapshot.read_header(path, bytes(data), None))
    path.write_bytes(format_fuzz.sealed_book(data))


@pytest.mark.parametrize(
    ("at", "kind", "value", "reason"),
    [
        (32, "<Q", 1 << 40, "contradict"),
        (32, "<Q", (1 << 64) - 1, "contradict"),
        (24, "<Q", (1 << 64) - 1, "contradict"),
        (40, "<Q", (1 << 64) - 8, "contradict"),
        (48, "<Q", 0, "contradict"),
        (56, "<Q", 1 << 59, "contradict"),
        (64, "<Q", 4096, "contradict"),
        (88, "<I", 1 << 31, "contradict"),
        (144, "<Q", 4096, "contradict"),
        (96, "<i", 61, "level is 61, not 0..60"),
        (100, "<i", -1, "number of empties is -1"),
        (104, "<i", (1 << 31) - 1, "midgame error is 2147483647"),
        (108, "<i", -(1 << 31), "endcut error is -2147483648"),
        (116, "<i", 2, "rule is 2"),
    ],
)
def test_the_headers_numbers_fit_each_other(book: Path, at: int, kind: str, value: int, reason: str) -> None:
    change(book, lambda data, header: struct.pack_into(kind, data, at, value))
    for check in (True, False):
        with pytest.raises(Unreadable, match=reason):
            snapshot.read(book, check=check)


@pytest.mark.parametrize(("at", "value"), [(0, 1 << 63), (8, 1), (8, (1 << 64) - 1), (16, 14), (16, 1 << 63)])
def test_a_segment_has_its_place_and_a_free_slot(book: Path, at: int, value: int) -> None:
    change(book, lambda data, header: struct.pack_into("<Q", data, header.segments_at + 24 * 5 + at, value))
    for check in (True, False):
        with pytest.raises(Unreadable, match=r"impossible numbers|has .* positions"):
            snapshot.read(book, check=check)


@pytest.mark.parametrize(("at", "value"), [(35, 61), (35, 128), (36, 66), (36, 255), (38, 99), (39, 8), (32, 128)])
def test_impossible_numbers_in_a_record_are_seen_beside_the_checksum(book: Path, at: int, value: int) -> None:
    def spoil(data: bytearray, header: snapshot.SnapshotHeader) -> None:
        data[snapshot.PAGE + at] = value

    change(book, spoil)
    with pytest.raises(Unreadable, match="position 0 has impossible numbers"):
        snapshot.read(book)
    with pytest.raises(Unreadable, match="impossible numbers"):
        snapshot.read(book, check=False)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 1e300])
def test_results_of_games_are_numbers_of_games(book: Path, value: float) -> None:
    change(book, lambda data, header: struct.pack_into("<d", data, header.results_at + 24, value))
    for check in (True, False):
        with pytest.raises(Unreadable, match="impossible numbers"):
            snapshot.read(book, check=check)


def test_a_sound_file_is_never_refused(book: Path) -> None:
    change(book, lambda data, header: None)
    table = snapshot.read(book)[0].table
    assert table.results(1) == (1.0, 2.0, 3.0)
    assert table.find(*START) >= 0
    assert np.isfinite(table.results_of(np.arange(len(table))).view(np.float64)).all()
