"""Books where nothing can be written: full disks, folders and file systems for reading only."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from book_dialogue import BookDialogue
from toys import contents, small_book

from desdaemon.book.errors import ReadOnly, WriteFailed
from desdaemon.book.formats.registry import load, open_any
from desdaemon.book.record import START
from desdaemon.book.storage.store import create_store, journal_path, open_store


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


def test_after_a_full_disk_everything_in_memory_can_be_written_elsewhere(
    disk: Path, tmp_path: Path, dialogue: BookDialogue
) -> None:
    path = disk / "b.book"
    dialogue.do("book new 1 12", f"book save {path}", "book deviate 1 2")
    filler = fill(disk)
    problem = dialogue.refused("book deviate 3 5")
    assert "No space left on device" in problem
    known = len(dialogue.book)
    # What only looks still answers, and says that the last changes are in memory alone.
    for command in ("book info", "book stats", "book verify", "book show", f"book diff {path}.copy"):
        if "diff" in command:
            shutil.copy(path, tmp_path / "copy.book")
            command = f"book diff {tmp_path / 'copy.book'}"
        assert "in memory alone" in dialogue.do(command), command
    assert "in memory alone" in dialogue.refused("book new 1 6")
    dialogue.do(f"book export {tmp_path / 'e.txt'}", f"book export {tmp_path / 'e.dat'}")
    assert len(load(tmp_path / "e.dat").book) == len(load(tmp_path / "e.txt").book) == known
    answer = dialogue.do(f"book save {tmp_path / 'elsewhere.book'}")
    assert "is the book in use from now on" in answer
    assert "in memory alone" not in dialogue.do("book verify")
    dialogue.do("book deviate 3 5")
    wanted = contents(dialogue.book)
    dialogue.do("book new 1 6")
    with open_store(tmp_path / "elsewhere.book") as store:
        assert contents(store.book) == wanted
    assert not list(disk.glob("*.new"))
    # The old one can be opened where it is, although nothing can be written there.
    with open_store(path, read_only=None) as store:
        assert len(store.book) <= known
    assert not list(disk.glob("*.torn-*"))
    filler.unlink()


def test_room_made_means_that_the_next_command_works(disk: Path, dialogue: BookDialogue) -> None:
    path = disk / "b.book"
    dialogue.do("book new 1 12", f"book save {path}")
    filler = fill(disk)
    assert "No space left on device" in dialogue.refused("book deviate 3 5")
    filler.unlink()
    assert "in memory alone" not in dialogue.do("book deviate 3 5")
    wanted = contents(dialogue.book)
    dialogue.do("book new 1 6")
    with open_store(path) as store:
        assert contents(store.book) == wanted
        assert store.notes == []


def test_a_torn_journal_on_a_full_disk_is_read_and_kept_and_written_to_once_there_is_room(disk: Path) -> None:
    path = disk / "b.book"
    with create_store(path, small_book()) as store:
        store.book.edit(*START, 19, 5)
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
        opened.book.edit(*START, 26, 4)
    assert log.read_bytes() == content
    assert not list(disk.glob("*.torn-*"))
    filler.unlink()
    opened.book.edit(*START, 26, 4)
    wanted = contents(opened.book)
    opened.store.close()
    assert log.with_name(log.name + ".torn-1").read_bytes() == b"torn" * 1000
    with open_store(path) as store:
        assert contents(store.book) == wanted


def test_a_book_on_a_file_system_for_reading_is_opened_for_reading(disk: Path, dialogue: BookDialogue) -> None:
    path = disk / "b.book"
    with create_store(path, small_book()) as store:
        store.book.edit(*START, 19, 5)
        wanted = contents(store.book)
    journal_path(path).with_name("b.book.journal").open("ab").write(b"torn")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(WriteFailed, match="Read-only file system"):
        open_store(path)
    opened = open_any(path)
    assert contents(opened.book) == wanted
    assert any("opened for reading" in note and "Read-only file system" in note for note in opened.notes)
    with pytest.raises(ReadOnly, match="Read-only file system"):
        opened.book.edit(*START, 26, 4)
    dialogue.do(f"book load {path}")
    for command in ("book info", "book stats", "book verify", "book lines", "book show"):
        dialogue.do(command)
    assert "Read-only file system" in dialogue.refused("book deviate")
    assert "Read-only file system" in dialogue.refused("book save")


READER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from desdaemon.book.formats.registry import open_any
opened = open_any(Path(sys.argv[1]))
print(len(opened.book), opened.store.reason, opened.notes)
"""


@pytest.mark.parametrize("writable", ["", "lock", "journal lock"])
def test_a_book_in_a_folder_of_somebody_else_is_opened_for_reading(writable: str, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    path = folder / "b.book"
    with create_store(path, small_book()) as store:
        store.book.edit(*START, 19, 5)
        positions = len(store.book)
    if "journal" in writable:
        with journal_path(path).open("ab") as stream:
            stream.write(b"torn")
    for name in ("lock", "journal"):
        folder.joinpath(f"b.book.{name}").chmod(0o666 if name in writable else 0o444)
    folder.chmod(0o555)
    before = {entry.name: entry.read_bytes() for entry in folder.iterdir()}
    command = [sys.executable, "-c", READER, str(path), *sys.path]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("no setpriv to become somebody else with")
        for place in (tmp_path, *tmp_path.parents):
            if place.stat().st_mode & 0o005 != 0o005:
                place.chmod(place.stat().st_mode | 0o055)
        command = ["setpriv", "--reuid=65534", "--clear-groups", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{positions} ")
    if writable != "journal lock" or "torn" in done.stdout:
        assert "Permission denied" in done.stdout
    assert "opened for reading" in done.stdout
    folder.chmod(0o755)
    after = {entry.name: entry.read_bytes() for entry in folder.iterdir()}
    assert {name: after[name] for name in before if not name.endswith("lock")} == {
        name: content for name, content in before.items() if not name.endswith("lock")
    }
    assert set(after) == set(before)
