"""The book's file, journal and lock: crashes, cuts, flipped bits, full disks, two writers."""

import errno
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkout import SUPPORT
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from toys import contents, copied, create_store, set_results, small_book, spread

from desdaemon.book.book import Book
from desdaemon.book.editing.by_hand import edit
from desdaemon.book.errors import Locked, ReadOnly, Unreadable, WriteFailed
from desdaemon.book.memory.files import MappedFile
from desdaemon.book.options import Rule
from desdaemon.book.record import START, PositionEntry
from desdaemon.book.storage import journal, replay, snapshot
from desdaemon.book.storage.store import GROUP_SECONDS, Store, journal_path, lock_path, open_store
from desdaemon.protocol.system import platform


def grown() -> Book:
    book = small_book()
    spread(book, 2)
    return book


def human(key: int) -> PositionEntry:
    """A position that negamax leaves as it is."""
    return PositionEntry(key, 1 << 50, score=1, lower=1, upper=1, level=70, flags=1)


def reopened(path: Path) -> list[tuple[int, ...]]:
    with open_store(path) as store:
        return contents(store.book)


@pytest.mark.parametrize("can", [False, True])
def test_a_mapped_file_is_looked_at_again_only_where_it_can_be_cut(
    can: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "b.book"
    path.write_bytes(bytes(9))
    file = MappedFile(path, os.open(path, os.O_RDONLY), 10)
    monkeypatch.setattr(platform, "MAPPED_FILES_CAN_BE_CUT", can)
    assert (file.damage is not None) == can


def test_a_saved_book_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    book = grown()
    with create_store(path, book) as store:
        assert contents(store.book) == contents(book)
    with open_store(path) as store:
        assert contents(store.book) == contents(book)
        assert store.book.options == book.options
        assert store.notes == []
        spread(store.book, 4)
        set_results(store.book, 3, (1.5, 2.0, 3.25))
        store.book.options = store.book.options._replace(verbosity=1)
        later = contents(store.book)
        assert later != contents(book)
    with open_store(path) as store:
        assert contents(store.book) == later
        assert store.book.table.results(3) == (1.5, 2.0, 3.25)
        assert store.book.options.verbosity == 1
        store.save()
        assert store.journal_bytes == journal.HEADER.size
    assert reopened(path) == later
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["b.book", "b.book.1", "b.book.journal", "b.book.lock"]
    with open_store(path) as store:
        assert store.book.table.results(3) == (1.5, 2.0, 3.25)


def test_backups_are_numbered_and_limited(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    with create_store(path, small_book()) as store:
        for verbosity in range(1, 6):
            store.book.options = store.book.options._replace(verbosity=verbosity)
            store.save()
    for number, verbosity in ((1, 4), (2, 3), (3, 2)):
        assert snapshot.read(path.with_name(f"b.book.{number}"))[1].options.verbosity == verbosity
    assert not path.with_name("b.book.4").exists()


def test_nothing_is_written_that_was_not_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    create_store(path, grown()).close()
    before = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
    with open_store(path):
        pass
    with open_store(path, read_only=True):
        pass
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == before


def test_an_existing_file_is_never_taken_for_a_new_book(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    path.write_text("precious")
    with pytest.raises(Unreadable, match=r"b\.book"):
        open_store(path)
    assert path.read_text() == "precious"
    with pytest.raises(Unreadable, match="no such file"):
        open_store(tmp_path / "none.book")
    assert not (tmp_path / "none.book.lock").exists()


def test_a_second_writer_is_told_who_is_first(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    with create_store(path, grown()) as store:
        with pytest.raises(Locked, match=f"process {os.getpid()}") as caught:
            open_store(path)
        assert caught.value.pid == os.getpid()
        with open_store(path, read_only=None) as reader:
            assert reader.read_only
            assert reader.holder == os.getpid()
            assert contents(reader.book) == contents(store.book)
            with pytest.raises(ReadOnly):
                reader.save()
            before = contents(reader.book)
            with pytest.raises(ReadOnly, match="for reading only"):
                reader.book.put(PositionEntry(1, 2))
            with pytest.raises(ReadOnly):
                edit(reader.book, *START, None, 3)
            with pytest.raises(ReadOnly):
                reader.book.negamax()
            with pytest.raises(ReadOnly):
                reader.book.options = reader.book.options.at_level(1)
            with pytest.raises(ReadOnly):
                reader.book.remove(np.ones(len(reader.book), np.uint8))
            assert contents(reader.book) == before
    with open_store(path, read_only=None) as store:
        assert not store.read_only


def test_a_journal_of_another_book_is_refused(tmp_path: Path) -> None:
    first, second = tmp_path / "a.book", tmp_path / "b.book"
    with create_store(first, small_book()) as store:
        store.book.put(human(1))
    create_store(second, small_book()).close()
    shutil.copy(second, first)
    with pytest.raises(Unreadable, match="another book"):
        open_store(first)


def journaled(tmp_path: Path) -> tuple[Path, list[list[tuple[int, ...]]], list[int]]:
    """A book with some journal entries; the contents and the journal's size after each."""
    path = tmp_path / "b.book"
    states, sizes = [], []
    with create_store(path, small_book()) as store:
        states.append(contents(store.book))
        sizes.append(store.journal_bytes)
        for key in range(3, 9):
            store.book.put(PositionEntry(key, 1 << 40, score=key, lower=key, upper=key, level=70, flags=1))
            store.commit()
            states.append(contents(store.book))
            sizes.append(store.journal_bytes)
    return path, states, sizes


def test_a_journal_cut_at_every_byte_gives_a_prefix_and_keeps_the_rest(tmp_path: Path) -> None:
    path, states, sizes = journaled(tmp_path)
    log = journal_path(path)
    content = log.read_bytes()
    assert len(content) == sizes[-1]
    for size in range(len(content)):
        if size < journal.HEADER.size:
            with pytest.raises(Unreadable, match="header"):
                journal.scan(log, content[:size])
            continue
        whole = max(k for k, end in enumerate(sizes) if end <= size)
        found = journal.scan(log, content[:size])
        assert (len(found.frames), found.end, found.torn) == (whole, sizes[whole], size - sizes[whole])
        if size % 10:
            continue
        log.write_bytes(content[:size])
        with open_store(path) as store:
            assert contents(store.book) == states[whole]
            assert len(store.notes) == (found.torn > 0)
        assert log.read_bytes() == content[: sizes[whole]]
        aside = log.with_name(log.name + ".torn-1")
        if found.torn:
            assert aside.read_bytes() == content[sizes[whole] : size]
            aside.unlink()
        assert not aside.exists()
    log.write_bytes(content[:10])
    with pytest.raises(Unreadable, match="header"):
        open_store(path)
    assert log.read_bytes() == content[:10]


def test_flipped_bits_are_told_from_a_torn_end_but_in_the_last_entry(tmp_path: Path) -> None:
    path, _, sizes = journaled(tmp_path)
    log = journal_path(path)
    content = log.read_bytes()
    for byte in range(len(content)):
        for bit in (byte % 8, (byte + 3) % 8):
            flipped = bytearray(content)
            flipped[byte] ^= 1 << bit
            if byte < sizes[-2]:
                with pytest.raises(Unreadable):
                    journal.scan(log, bytes(flipped))
            else:
                assert journal.scan(log, bytes(flipped)).end == sizes[-2]
    # Two entries in a row, and an entry that lost some bytes: what follows them proves itself.
    for spoilt in (
        content[: sizes[1] + 30] + b"?" * (sizes[3] - sizes[1] - 40) + content[sizes[3] - 10 :],
        content[: sizes[1] + 30] + content[sizes[1] + 35 :],
    ):
        with pytest.raises(Unreadable, match="later ones follow it"):
            journal.scan(log, spoilt)
    # A crash leaves a beginning, whatever is behind it in the file system's block.
    assert journal.scan(log, content[: sizes[2] + 50] + bytes(4000)).end == sizes[2]


def test_a_crafted_journal_is_refused_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of headers of the next entry, each of which claims all that follows."""
    headers = 3000
    content = bytearray(journal._header(7, 0))
    for number in (1, *[2] * headers):
        rest = journal.FRAME.size * (headers + 1) + len(journal._header(7, 0)) - len(content) - journal.FRAME.size
        content += journal.FRAME.pack(rest, journal.FrameKind.STATES, number, 1, 0)
    summed = 0
    checksum = journal._checksum

    def counted(length: int, *rest: Any) -> int:
        nonlocal summed
        summed += length
        return checksum(length, *rest)

    monkeypatch.setattr(journal, "_checksum", counted)
    with pytest.raises(Unreadable, match="entry 1 is damaged, and later ones follow it"):
        journal.scan(Path("x"), bytes(content))
    assert summed < 40 * len(content)


@given(st.binary(max_size=200), st.booleans())
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_a_journal_a_torn_end_or_refused(content: bytes, whole_header: bool) -> None:
    head = journal._header(7, 3) if whole_header else b""
    try:
        found = journal.scan(Path("x"), head + content)
    except Unreadable:
        return
    assert found.end + found.torn == len(head + content)
    assert found.frames == []


def test_changes_that_belong_together_wait_for_their_end(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    with create_store(path, small_book()) as store:
        store.commit()
        before = journal_path(path).read_bytes()
        with store.book.together():
            store.book.put(PositionEntry(1, 1 << 40, score=1, level=1))
            # The thread that writes groups wants its turn meanwhile.
            time.sleep(3 * GROUP_SECONDS)
            store.commit()
            assert journal_path(path).read_bytes() == before
        store.commit()
        assert len(journal_path(path).read_bytes()) > len(before)


def test_a_long_journal_is_called_bloated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("desdaemon.book.storage.store.BLOATED", 1000)
    path = tmp_path / "b.book"
    with create_store(path, small_book()) as store:
        assert not store.bloated
        store.book.options = store.book.options._replace(verbosity=1)
        for _ in range(path.stat().st_size // 60000 + 1):
            for key in range(1, 1000):
                store.book.put(PositionEntry(key, 1 << 40, level=1))
            store.commit()
        assert store.bloated
        store.save()
        assert not store.bloated


def test_a_book_cut_at_every_byte_or_flipped_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    create_store(path, small_book()).close()
    content = path.read_bytes()
    rng = random.Random(1)
    sizes = [*range(300), *rng.sample(range(len(content)), 60), len(content) - 1]
    for size in sizes:
        path.write_bytes(content[:size])
        with pytest.raises(Unreadable):
            open_store(path)
        assert path.stat().st_size == size
    for byte in [*range(0, 200, 3), *rng.sample(range(len(content)), 100)]:
        flipped = bytearray(content)
        flipped[byte] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(Unreadable) as caught:
            open_store(path)
        assert str(path) in str(caught.value)
        # Its traceback keeps the file mapped, and Windows then lets nobody write it.
        del caught


def test_a_crash_between_file_and_journal_is_recovered(tmp_path: Path) -> None:
    path, states, _ = journaled(tmp_path)
    old = journal_path(path).read_bytes()
    with open_store(path) as store:
        store.save()
    # As if the crash came after the new file and before the new journal.
    journal_path(path).write_bytes(old)
    assert reopened(path) == states[-1]
    journal_path(path).unlink()
    assert reopened(path) == states[-1]


def test_a_file_that_somebody_replaced_is_noticed(tmp_path: Path) -> None:
    path, other = tmp_path / "b.book", tmp_path / "other.book"
    create_store(other, grown()).close()
    with create_store(path, small_book()) as store:
        assert store.intrusion == ""
        store.book.put(human(5))
        store.commit()
        assert store.intrusion == ""
        wanted = contents(store.book)
        shutil.copy(other, path.with_name("copy"))
        path.with_name("copy").replace(path)
        foreign = path.read_bytes()
        assert "another file than the one that was opened" in store.intrusion
        store.save()
        assert store.intrusion == ""
        assert path.with_name("b.book.1").read_bytes() == foreign
        with path.open("r+b") as stream:
            stream.truncate(path.stat().st_size - 1)
        assert "another program wrote to this file" in store.intrusion
        path.unlink()
        assert "removed or renamed" in store.intrusion
        store.save()
    assert reopened(path) == wanted


def test_a_reader_is_told_to_read_again_what_the_writer_changes(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    with create_store(path, small_book()) as writer, open_store(path, read_only=None) as reader:
        assert not reader.locked
        assert reader.intrusion == ""
        writer.book.put(human(5))
        writer.commit()
        assert "has changed since it was opened: book reopen reads it again" in reader.intrusion
        writer.save()
        assert "has changed since it was opened: book reopen reads it again" in reader.intrusion


def test_a_journal_that_somebody_removed_takes_no_changes_until_the_book_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    with create_store(path, small_book()) as store:
        store.book.put(human(5))
        store.commit()
        journal_path(path).unlink()
        store.book.put(human(6))
        with pytest.raises(WriteFailed, match="another process removed or replaced this journal"):
            store.commit()
        with pytest.raises(ReadOnly):
            store.book.put(human(7))
        store.save()
        store.book.put(human(7))
        wanted = contents(store.book)
    assert len(wanted) == 4
    assert reopened(path) == wanted


def test_where_locks_hold_nothing_the_second_writer_is_refused_and_no_change_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "lock_file", lambda descriptor: None)
    path = tmp_path / "b.book"
    two = create_store(path, small_book())
    two.book.put(human(5))
    two.commit()
    with open_store(path) as one, open_store(path) as three:
        one.book.put(human(6))
        one.commit()
        # What it would write has the first one's change, and lacks the second's.
        for write in (two.fold, two.save):
            with pytest.raises(WriteFailed, match="has changes of another process"):
                write()
        three.book.put(human(7))
        for write in (three.commit, three.save):
            with pytest.raises(WriteFailed, match="has changes of another process"):
                write()
        one.save()
        one.book.put(human(8))
        one.commit()
        for store in (two, three):
            with pytest.raises(WriteFailed, match="has changes of another process"):
                store.save()
        three.rescued()
        two.close()
        wanted = contents(one.book)
    assert len(wanted) == 4
    assert reopened(path) == wanted


@pytest.mark.parametrize("read_only", [None, False])
def test_a_book_that_cannot_be_locked_is_not_written(
    read_only: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "b.book"
    create_store(path, small_book()).close()

    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(platform, "lock_file", refuse)
    told = r"b\.book\.lock: the file system has no lock for it \(No locks available\)"
    if read_only is False:
        with pytest.raises(WriteFailed, match=told):
            open_store(path, read_only=False)
        return
    with open_store(path, read_only=None) as store:
        assert re.search(told, store.reason)
        with pytest.raises(ReadOnly):
            store.book.put(human(5))


def test_a_failed_write_makes_the_book_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, states, _ = journaled(tmp_path)
    store = open_store(path)

    def full(handle: int, data: memoryview) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("desdaemon.book.storage.journal.os.write", full)
        store.book.put(PositionEntry(99, 1 << 50))
        with pytest.raises(WriteFailed, match="No space left"):
            store.commit()
        assert store.read_only
        assert "No space left" in store.failure
        assert store.unwritten
        before = contents(store.book)
        assert len(before) == len(states[-1]) + 1
        with pytest.raises(ReadOnly, match="No space left"):
            store.book.put(PositionEntry(100, 1 << 50))
        assert contents(store.book) == before
        with pytest.raises(WriteFailed):
            store.close()
    assert reopened(path) == states[-1]


def test_room_made_means_that_the_next_change_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _, _ = journaled(tmp_path)
    with open_store(path) as store:
        with monkeypatch.context() as patched:
            written = os.write

            def half(handle: int, data: memoryview) -> int:
                if len(data) < 60:
                    raise OSError(28, "No space left on device")
                return written(handle, data[:50])

            patched.setattr("desdaemon.book.storage.journal.os.write", half)
            store.book.put(human(99))
            with pytest.raises(WriteFailed, match="No space left"):
                store.commit()
        store.book.put(human(100))
        assert not store.read_only
        assert not store.unwritten
        store.commit()
        wanted = contents(store.book)
    with open_store(path) as store:
        assert store.notes == []
        assert contents(store.book) == wanted


def test_an_unexpected_error_while_committing_is_logged_and_refuses_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, states, _ = journaled(tmp_path)
    store = open_store(path)
    with monkeypatch.context() as patched:

        def broken(*_: object) -> None:
            raise MemoryError("no memory for that")

        patched.setattr("desdaemon.book.storage.observers.JournalObserver.collect", broken)
        store.book.put(human(99))
        until = time.monotonic() + 60
        while not store.read_only and time.monotonic() < until:
            time.sleep(0.01)
        assert "no memory for that" in store.failure
        with pytest.raises(ReadOnly, match="no memory for that"):
            store.book.put(PositionEntry(100, 1 << 50))
        said = ""
        while "Traceback" not in said and time.monotonic() < until:
            time.sleep(0.01)
            said += capsys.readouterr().err
        assert said.startswith("desdaemon: ")
        assert "no memory for that" in said
    # The thread is still there: what failed is written by and by.
    store.book.put(human(101))
    until = time.monotonic() + 30
    while store.journal_bytes == path.stat().st_size and time.monotonic() < until:
        time.sleep(0.01)
    wanted = contents(store.book)
    store.close()
    assert len(wanted) == len(states[-1]) + 2
    assert reopened(path) == wanted


class StoreModel(RuleBasedStateMachine):
    """The store against a dictionary, with saves, closes and crashes."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(os.environ["BOOK_TEST_FOLDER"]) / f"{time.monotonic_ns()}"
        self.folder.mkdir()
        self.path = self.folder / "b.book"
        self.model: dict[tuple[int, int], tuple[int, ...]] = {}
        self.store: Store

    @initialize()
    def begin(self) -> None:
        self.store = create_store(self.path, Book())

    @rule(key=st.integers(1, 40), score=st.integers(-64, 64), wide=st.booleans())
    def put(self, key: int, score: int, wide: bool) -> None:
        # A human's score: negamax, which a reopened book runs, leaves it alone. Counts follow from leaves: none here.
        entry = PositionEntry(key, key << 40, 0, 0, 0, 0, score, score, score, 70 if wide else 60, flags=1)
        self.store.book.put(entry)
        self.model[entry.player, entry.opponent] = entry

    @rule(modulus=st.integers(2, 5))
    def remove(self, modulus: int) -> None:
        table = self.store.book.table
        marked = np.array([table.entry(row).player % modulus == 0 for row in range(len(table))], np.uint8)
        self.store.book.remove(marked)
        self.model = {key: entry for key, entry in self.model.items() if key[0] % modulus}

    @rule()
    def save(self) -> None:
        self.store.save()

    @rule()
    def close(self) -> None:
        self.store.close()
        self.store = open_store(self.path)

    @rule(torn=st.binary(max_size=60))
    def crash(self, torn: bytes) -> None:
        self.store.commit()
        copy = self.folder / "copy"
        copy.mkdir()
        for name in (self.path, journal_path(self.path)):
            shutil.copy(name, copy / name.name)
        self.store.close()
        for name in (self.path, journal_path(self.path)):
            (copy / name.name).replace(name)
        copy.rmdir()
        with journal_path(self.path).open("ab") as stream:
            stream.write(torn)
        self.store = open_store(self.path)

    @invariant()
    def same(self) -> None:
        if hasattr(self, "store"):
            assert {entry[:2]: entry for entry in contents(self.store.book)} == self.model

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
        shutil.rmtree(self.folder)


@pytest.mark.usefixtures("_store_folder")
class TestStoreModel(StoreModel.TestCase):
    settings = settings(max_examples=15, stateful_step_count=15, deadline=None)


@pytest.fixture
def _store_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOK_TEST_FOLDER", str(tmp_path))


WRITER = """
import sys
sys.path[:0] = sys.argv[2:]
import checkout
from pathlib import Path
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.record import PositionEntry
from desdaemon.book.storage.store import open_store
from toys import toy

store = open_store(Path(sys.argv[1]))
print("open", flush=True)
number = sum(1 for row in range(len(store.book)) if store.book.table.entry(row).opponent == 1 << 40)
while True:
    number += 1
    store.book.put(PositionEntry(number, 1 << 40, score=1, lower=1, upper=1, level=70, flags=1))
    store.commit()
    print(number, flush=True)
    if number % 50 == 0:
        store.save(backups=1)
"""


@pytest.mark.posix
def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    create_store(path, small_book()).close()
    rng = random.Random(2)
    acknowledged = 0
    for _ in range(8):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(SUPPORT)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
        time.sleep(rng.uniform(0, 0.15))
        writer.send_signal(signal.SIGKILL)
        lines = writer.stdout.read().split("\n")[:-1]
        writer.wait()
        writer.stdout.close()
        if lines:
            acknowledged = int(lines[-1])
        with open_store(path) as store:
            found = {entry[0] for entry in contents(store.book) if entry[1] == 1 << 40}
        assert set(range(1, acknowledged + 1)) <= found
        assert len(found) <= acknowledged + 1
        acknowledged = len(found)
    assert acknowledged > 0
    assert lock_path(path).exists()


@pytest.mark.parametrize("fixed", [False, True])
def test_a_large_book_is_opened_without_a_pass_over_it(
    fixed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "b.book"
    store = create_store(path, small_book())
    spread(store.book, 3)
    store.save()
    store.book.options = store.book.options._replace(rule=Rule.EGAROUCID)
    if fixed:
        store.book.negamax()
    store.close()
    expected = copied(store.book)
    expected.negamax()
    monkeypatch.setattr(replay, "AT_OPENING", 1)
    with open_store(path) as opened:
        assert opened.book.options.rule is Rule.EGAROUCID
        assert opened.book.stale
        opened.fold()
    with open_store(path) as opened:
        # The file says it too.
        assert opened.book.stale
        opened.book.catch_up()
        assert contents(opened.book) == contents(expected)
    monkeypatch.undo()
    with open_store(path) as again:
        assert not again.book.stale
        assert contents(again.book) == contents(expected)


@pytest.mark.parametrize("rules", [(Rule.EGAROUCID,), (Rule.EGAROUCID, Rule.EDAX, Rule.EGAROUCID)])
def test_scores_after_another_rule_are_those_that_were_told(rules: tuple[Rule, ...], tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    store = create_store(path, small_book())
    spread(store.book, 3)
    store.save()
    for change, wanted in enumerate(rules):
        # Under Egaroucid's rule a position without links keeps the score that it has, here that of its new leaf.
        for entry in contents(store.book):
            if entry.has_leaf:
                store.book.put(entry._replace(leaf_score=(5 * entry.leaf_score + 7 + change) % 17))
        store.commit()
        store.book.negamax()
        store.book.options = store.book.options._replace(rule=wanted)
        store.book.negamax()
    expected = contents(store.book)
    store.close()
    with open_store(path) as opened:
        assert contents(opened.book) == expected
