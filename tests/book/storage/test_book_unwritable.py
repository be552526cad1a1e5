"""Books where nothing can be written: full disks, folders and file systems for reading only."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from book_dialogue import BookDialogue
from toys import contents, create_store, small_book

from desdaemon.book.editing.by_hand import edit
from desdaemon.book.errors import ReadOnly, WriteFailed
from desdaemon.book.formats.registry import load, open_any
from desdaemon.book.record import START
from desdaemon.book.storage.store import journal_path, open_store


def mounted(folder: Path, size: str) -> None:
    """A file system of its own at ``folder``; the test is skipped where none can be mounted."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("no file system can be mounted here")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system."""
    folder = tmp_path / "disk"
    mounted(folder, "2m")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


def fill(folder: Path) -> Path:
    """Take all room of a file system by one file."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as stream:
        try:
            while stream.write(bytes(1 << 12)):
                pass
        except OSError:
            pass
    assert os.statvfs(folder).f_bavail == 0
    return filler


def do(dialogue: BookDialogue, *lines: str) -> str:
    """Say some lines, none of which is complained about; the last answer."""
    answer = ""
    for line in lines:
        answer, complaint = dialogue.both(line)
        assert complaint == "" or "opened for reading" in complaint or "without a leaf" in complaint, complaint
    return answer


def problem_of(dialogue: BookDialogue, line: str) -> str:
    """What is complained about a line."""
    _, complaint = dialogue.both(line)
    assert complaint
    return complaint


@pytest.mark.needs("book.growth")
@pytest.mark.posix
@pytest.mark.needs("book.reports")
def test_after_a_full_disk_everything_in_memory_can_be_written_elsewhere(
    disk: Path, tmp_path: Path, dialogue: BookDialogue
) -> None:
    path = disk / "b.book"
    do(dialogue, "book new 1 12", f"book save {path}", "book deviate 1 2")
    filler = fill(disk)
    problem = problem_of(dialogue, "book deviate 3 5")
    assert "No space left on device" in problem
    known = len(dialogue.book)
    # What only looks still answers, and says that the last changes are in memory alone.
    for command in ("book info", "book stats", "book verify", "book show", f"book diff {path}.copy"):
        if "diff" in command:
            shutil.copy(path, tmp_path / "copy.book")
            command = f"book diff {tmp_path / 'copy.book'}"
        assert "only in memory" in do(dialogue, command), command
    assert "only in memory" in problem_of(dialogue, "book new 1 6")
    do(dialogue, f"book export {tmp_path / 'e.txt'}", f"book export {tmp_path / 'e.dat'}")
    assert len(load(tmp_path / "e.dat").book) == len(load(tmp_path / "e.txt").book) == known
    answer = do(dialogue, f"book save {tmp_path / 'elsewhere.book'}")
    assert "is the book in use from now on" in answer
    assert "only in memory" not in do(dialogue, "book verify")
    do(dialogue, "book deviate 3 5")
    wanted = contents(dialogue.book)
    do(dialogue, "book new 1 6")
    with open_store(tmp_path / "elsewhere.book") as store:
        assert contents(store.book) == wanted
    assert not list(disk.glob("*.new"))
    # The old one can be opened where it is, although nothing can be written there.
    with open_store(path, read_only=None) as store:
        assert len(store.book) <= known
    assert not list(disk.glob("*.torn-*"))
    filler.unlink()


@pytest.mark.posix
def test_a_torn_journal_on_a_full_disk_is_read_and_kept_and_written_to_once_there_is_room(disk: Path) -> None:
    path = disk / "b.book"
    with create_store(path, small_book()) as store:
        edit(store.book, *START, 19, 5)
        store.book.negamax()
        before = contents(store.book)
    log = journal_path(path)
    with log.open("ab") as stream:
        stream.write(b"torn" * 1000)
    filler = fill(disk)
    content = log.read_bytes()
    with pytest.raises(WriteFailed, match="No space left"):
        open_store(path)
    opened = open_any(path)
    assert opened.store is not None
    assert contents(opened.book) == before
    assert any("opened for reading" in note and "No space left" in note for note in opened.notes)
    with pytest.raises(ReadOnly, match="No space left"):
        edit(opened.book, *START, 26, 4)
    assert log.read_bytes() == content
    assert not list(disk.glob("*.torn-*"))
    filler.unlink()
    edit(opened.book, *START, 26, 4)
    opened.book.negamax()
    wanted = contents(opened.book)
    opened.store.close()
    assert log.with_name(log.name + ".torn-1").read_bytes() == b"torn" * 1000
    with open_store(path) as store:
        assert contents(store.book) == wanted


@pytest.mark.needs("book.growth")
@pytest.mark.posix
@pytest.mark.needs("book.reports")
def test_a_book_on_a_file_system_for_reading_is_opened_for_reading(disk: Path, dialogue: BookDialogue) -> None:
    path = disk / "b.book"
    with create_store(path, small_book()) as store:
        edit(store.book, *START, 19, 5)
        store.book.negamax()
        wanted = contents(store.book)
    with journal_path(path).open("ab") as stream:
        stream.write(b"torn")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(WriteFailed, match="Read-only file system"):
        open_store(path)
    opened = open_any(path)
    assert contents(opened.book) == wanted
    assert any("opened for reading" in note and "Read-only file system" in note for note in opened.notes)
    with pytest.raises(ReadOnly, match="Read-only file system"):
        edit(opened.book, *START, 26, 4)
    assert opened.store is not None
    opened.store.close()
    do(dialogue, f"book load {path}")
    for command in ("book info", "book stats", "book verify", "book lines", "book show"):
        do(dialogue, command)
    assert "Read-only file system" in problem_of(dialogue, "book deviate")
    assert "Read-only file system" in problem_of(dialogue, "book save")


@contextlib.contextmanager
def somebody_else() -> Iterator[None]:
    """Not the superuser, whom no permission stops."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.posix
@pytest.mark.parametrize("writable", ["", "lock", "lock journal"])
def test_a_book_in_a_folder_of_somebody_else_is_opened_for_reading(writable: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "b.book"
        with create_store(path, small_book()) as store:
            edit(store.book, *START, 19, 5)
            store.book.negamax()
            wanted = contents(store.book)
        with journal_path(path).open("ab") as stream:
            stream.write(b"torn")
        for part in ("lock", "journal"):
            folder.joinpath(f"b.book.{part}").chmod(0o666 if part in writable else 0o444)
        folder.chmod(0o555)
        before = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.suffix != ".lock"}
        with somebody_else():
            opened = open_any(path)
            assert contents(opened.book) == wanted
            assert any("opened for reading" in note and "Permission denied" in note for note in opened.notes)
            with pytest.raises(ReadOnly, match="Permission denied"):
                edit(opened.book, *START, 26, 4)
            assert opened.store is not None
            opened.store.close()
        folder.chmod(0o755)
        assert {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.suffix != ".lock"} == before
