"""A mapped book that another program cuts while it is in use: the process goes on, and says so."""

import functools
import os
from pathlib import Path

import pytest
from checkout import IMPORT
from mapped_file import used_after
from synthetic_book import synthetic_book

from desdaemon.book.formats import registry
from desdaemon.book.memory import files
from desdaemon.book.storage import snapshot

pytestmark = pytest.mark.posix

USER = (
    IMPORT
    + """
import sys
from pathlib import Path
from desdaemon.book.errors import BookError
from desdaemon.book.record import START
from desdaemon.book.storage import store

store.CHECKED_AT_OPEN = int(sys.argv[2])
with store.open_store(Path(sys.argv[1]), read_only=None) as opened:
    book = opened.book
    changed = book.entry(*START)
    if sys.argv[3] == "checked":
        book.table.check_all()
    print(book.table.mapped_file is not None, flush=True)
    sys.stdin.readline()
    looks = (
        lambda: book.entry(*START),
        lambda: book.moves_on(*START),
        lambda: book.table.entry(5),
        lambda: book.table.results(5),
        lambda: book.negamax(),
        lambda: book.put(changed._replace(leaf_score=5)),
        lambda: book.table.gather_index(),
        lambda: book.table.find_many(book.table.keys()),
    )
    for number, look in enumerate(looks):
        try:
            print(number, look(), flush=True)
        except BookError as error:
            print(number, error, flush=True)
    print("cut" in opened.damage, flush=True)
"""
)


@pytest.mark.parametrize(
    ("rest", "at_open", "checked"), [(0, 1 << 40, "checked"), (0, 0, "unchecked"), (9000, 0, "checked")]
)
def test_a_book_that_is_cut_while_it_is_mapped_ends_nobody(
    rest: int, at_open: int, checked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "INDEXED_FROM", 1)
    path = tmp_path / "mapped.book"
    registry.write_native(path, synthetic_book(900, 1))
    change = functools.partial(os.truncate, path, rest)
    out, err = used_after(USER, str(path), str(at_open), checked, change=change)
    assert out.splitlines()[0] in ("0 None", "0 ")
    assert out.splitlines()[-1] == "True", out
    assert err.count("another program cut this file since it was opened") == 1, err


def test_a_file_in_use_is_asked_for_once_in_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many look-ups together ask the system once; after a moment they ask again, and then believe what it said."""
    path = tmp_path / "mapped.book"
    path.write_bytes(bytes(100))
    now, asked, size = 1.0, 0, 100
    monkeypatch.setattr(files.time, "perf_counter", lambda: now)
    real = os.fstat

    def fstat(descriptor: int) -> os.stat_result:
        nonlocal asked
        asked += 1
        return real(descriptor)

    monkeypatch.setattr(files.os, "fstat", fstat)
    mapped = files.MappedFile(path, os.open(path, os.O_RDONLY), size)
    assert [mapped.damage for _ in range(9)] == [None] * 9
    assert asked == 1
    os.truncate(path, 50)
    now += 2 * files.CHECKED_S
    assert [mapped.damage is None for _ in range(9)] == [False] * 9
    assert asked == 2
