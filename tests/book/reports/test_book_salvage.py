"""Salvage of damaged books."""

from pathlib import Path

import pytest
from toys import contents, create_store, grown

from desdaemon.book.errors import Unreadable
from desdaemon.book.record import START, PositionEntry
from desdaemon.book.reports.salvage import salvage
from desdaemon.book.storage.store import journal_path


def test_the_whole_parts_of_a_damaged_book_are_saved(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    book = grown(2)
    for key in range(1, 6_000):
        position = book.table.canonical(*START[:1], START[1] | key << 45)[:2]
        book.put(PositionEntry(*position, score=1, lower=1, upper=1, level=70, flags=1))
    with create_store(path, book) as store:
        store.book.put(store.book.table.entry(0)._replace(score=9, level=70, flags=1))
        store.commit()
        store.book.options = store.book.options._replace(verbosity=3)
    content = path.read_bytes()
    known = {entry[:2]: entry[6:10] for entry in contents(book)}

    def found() -> dict[tuple[int, ...], tuple[int, ...]]:
        return {entry[:2]: entry[6:10] for entry in contents(salvage(path).book)}

    untouched = found()
    assert len(untouched) == len(known)
    assert salvage(path).notes == []
    assert salvage(path).book.options.verbosity == 3
    # The second block of the records is spoilt.
    at = 4096 + (1 << 16) + 1000
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    saved = salvage(path)
    assert "block 1" in saved.notes[0]
    assert (1 << 16) // 40 <= saved.lost <= (1 << 16) // 40 + 2
    assert all(untouched[key] == fields for key, fields in found().items() if key != START)
    # Cut in the middle of the records.
    path.write_bytes(content[: 4096 + 1000 * 40 + 7])
    saved = salvage(path)
    assert saved.lost == len(known) - 1000
    assert len(saved.notes) == 2
    # A damaged journal gives what is before the damage.
    path.write_bytes(content)
    log = journal_path(path)
    spoilt = bytearray(log.read_bytes())
    spoilt[-3] ^= 1
    log.write_bytes(spoilt)
    saved = salvage(path)
    assert saved.lost == 0
    assert saved.book.options.verbosity == 0
    assert "cannot be read" in saved.notes[0]
    other = tmp_path / "other"
    for begin, problem in (
        (b"DESBOOK", "ends inside the header"),
        (b"EGAROUCID", "not a book: begins with b'EGAROUCI'"),
    ):
        other.write_bytes(begin)
        with pytest.raises(Unreadable, match=problem):
            salvage(other)
    log.unlink()
    log.mkdir()
    assert "Is a directory" in salvage(path).notes[0]
    path.write_bytes(content[:12] + b"\0\0\0\0" + content[16:])
    with pytest.raises(Unreadable, match="header"):
        salvage(path)
