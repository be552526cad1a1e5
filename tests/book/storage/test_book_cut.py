"""A mapped book that another program cuts while it is in use: the process goes on, and says so."""

import subprocess
import sys
from pathlib import Path

import pytest
from checkout import IMPORT
from synthetic_book import synthetic_book

from desdaemon.book.formats import registry
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
    with subprocess.Popen(
        [sys.executable, "-P", "-c", USER, str(path), str(at_open), checked],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        with path.open("r+b") as file:
            file.truncate(rest)
        out, err = process.communicate("\n", timeout=300)
    assert process.returncode == 0, (process.returncode, out, err)
    assert out.splitlines()[0] in ("0 None", "0 ")
    assert out.splitlines()[-1] == "True", out
    assert err.count("another program cut this file since it was opened") == 1, err
