"""Tables whose memory lies in files: the same books come out."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from book_dialogue import BookDialogue
from synthetic_book import synthetic_book
from toys import contents, create_store

from desdaemon.book.errors import WriteFailed
from desdaemon.book.formats import registry
from desdaemon.book.memory import table_memory
from desdaemon.book.memory.arena import ARENA, PIECE
from desdaemon.book.record import PositionEntry
from desdaemon.book.storage import snapshot
from desdaemon.book.storage.store import open_store
from desdaemon.engine.compiler import INTERPRETED

ROWS = 40_000


@pytest.fixture
def no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """From here on nearly all of a table goes into files."""
    monkeypatch.setattr(table_memory, "_ALONE", 0)
    monkeypatch.setattr(ARENA, "limit", 1)
    monkeypatch.setattr(ARENA, "folder", tmp_path)
    monkeypatch.setattr(snapshot, "INDEXED_FROM", 0)
    before = ARENA.in_files
    yield
    # A test that was broken off, with kernels run as Python, still has its book.
    assert INTERPRETED or ARENA.in_files == before


def test_a_book_in_files_is_the_same_book(tmp_path: Path, no_memory: None) -> None:
    before = ARENA.in_files
    book = synthetic_book(ROWS, 1)
    assert ARENA.in_files == before + PIECE
    wanted = contents(book)
    path, copy = tmp_path / "b.book", tmp_path / "c.book"
    create_store(path, book).close()
    registry.save(copy, book)
    del book
    assert ARENA.in_files == before
    with open_store(path) as store:
        assert contents(store.book) == wanted
        store.book.put(store.book.table.entry(3)._replace(score=5, lower=5, upper=5, level=70, flags=1))
        store.book.forget_state()
        store.book.negamax()
        # All records may change: they are where the system can write them out.
        assert ARENA.in_files == before + PIECE
        store.book.put(PositionEntry(1, 1 << 40, score=1, lower=1, upper=1, level=70, flags=1))
        changed = contents(store.book)
    assert len(changed) == len(wanted) + 1
    with open_store(path) as store:
        assert contents(store.book) == changed
    loaded = registry.load(copy)
    assert contents(loaded.book) == wanted
    del loaded
    assert sorted(place.name for place in tmp_path.iterdir()) == ["b.book", "b.book.journal", "b.book.lock", "c.book"]


def test_a_file_without_room_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ARENA, "limit", 1)
    monkeypatch.setattr(ARENA, "folder", tmp_path / "missing")
    used = ARENA.in_files, ARENA.used
    with pytest.raises(WriteFailed, match="no room for"):
        ARENA.piece(PIECE)
    assert (ARENA.in_files, ARENA.used) == used


def test_the_option_bounds_memory_and_the_files_are_beside_the_book(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialogue: BookDialogue
) -> None:
    monkeypatch.setattr(ARENA, "limit", 0)
    monkeypatch.setattr(ARENA, "folder", Path("/"))
    dialogue.both("book-memory 3")
    dialogue.both("book new 1 4")
    assert ARENA.limit == 3 << 20
    dialogue.both(f"book save {tmp_path / 'b.book'}")
    assert ARENA.folder == tmp_path
    dialogue.both("book-memory 0")
    dialogue.both("book info")
    assert ARENA.limit == 0
