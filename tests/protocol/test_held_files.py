"""Files that somebody holds, as Windows lets a book, a virus scanner or OneDrive do."""

from __future__ import annotations

import ast
import errno
import importlib
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
from checkout import ROOT

from desdaemon.book.errors import WriteFailed
from desdaemon.book.memory.files import keeping_backups, replacing, tidy
from desdaemon.core.books.allowed_files import Files, Forbidden
from desdaemon.protocol.system import files, platform


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The functions of Windows; those that need no Windows can be called."""
    monkeypatch.setattr(sys, "platform", "win32")
    return importlib.import_module("desdaemon.protocol.system.platform.windows")


class Holder:
    """Lets a file be renamed only after so many tries."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tries: int) -> None:
        self.left = tries
        self.replace = os.replace
        monkeypatch.setattr(os, "replace", self)

    def __call__(self, source: str, target: str) -> None:
        self.left -= 1
        if self.left >= 0:
            raise PermissionError(13, "Access is denied", target)
        self.replace(source, target)


def test_a_file_that_is_held_for_a_moment_is_replaced(
    windows: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, place = tmp_path / "new", tmp_path / "place"
    new.write_text("new")
    place.write_text("old")
    Holder(monkeypatch, 6)
    windows.take_place(str(new), str(place))
    assert place.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def test_a_file_that_stays_held_is_left_as_it_was(
    windows: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, place = tmp_path / "new", tmp_path / "place"
    new.write_text("new")
    place.write_text("old")
    Holder(monkeypatch, 10**9)
    monkeypatch.setattr(windows, "_HELD_S", 0.1)
    with pytest.raises(PermissionError):
        windows.take_place(str(new), str(place))
    assert (place.read_text(), new.read_text()) == ("old", "new")


def test_a_writer_killed_between_its_two_renamings_leaves_the_old_file(
    windows: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, place = tmp_path / "new", tmp_path / "a.book"
    new.write_text("new")
    place.write_text("old")
    (tmp_path / f"a.book.4711-{10**18}.old").write_text("older")
    replace = os.replace

    def killed(source: str, target: str) -> None:
        if target == str(place):
            raise PermissionError if place.exists() else KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            windows.take_place(str(new), str(place))
    assert not place.exists()
    monkeypatch.setattr(windows, "alive", lambda process: process == os.getpid())
    windows.bring_back(str(place))
    assert not place.exists(), "its writer is alive"
    monkeypatch.setattr(windows, "alive", lambda process: False)
    windows.bring_back(str(place))
    assert place.read_text() == "old"
    windows.bring_back(str(place))
    windows.remove_replaced(str(place))
    assert {path.name for path in tmp_path.iterdir()} == {"a.book", "new"}


def test_backups_are_kept_though_no_file_with_content_can_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup may be the file of the book in use, which is mapped: only `take_place` gets past it."""

    def refuse(self: Path, *arguments: object, **more: object) -> None:
        if self.exists():
            raise PermissionError(13, "Access is denied", str(self))

    book = tmp_path / "a.book"
    monkeypatch.setattr(Path, "unlink", refuse)
    monkeypatch.setattr(Path, "replace", refuse)
    for number in range(7):
        (tmp_path / "new").write_text(f"{number}")
        with keeping_backups(book, 3):
            platform.take_place(str(tmp_path / "new"), str(book))
    kept = {path.name: path.read_text() for path in tmp_path.iterdir() if path.suffix != ".old"}
    assert kept == {"a.book": "6", "a.book.1": "5", "a.book.2": "4", "a.book.3": "3"}


@pytest.mark.parametrize("reason", [errno.EPERM, errno.EOPNOTSUPP])
def test_backups_are_kept_where_a_file_has_one_name(
    reason: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on FAT, exFAT and many network disks."""

    def refuse(source: Path, target: Path) -> None:
        raise OSError(reason, os.strerror(reason), source, None, target)

    monkeypatch.setattr(os, "link", refuse)
    book = tmp_path / "a.book"
    for number in range(5):
        with replacing(book) as stream:
            stream.write(b"%d" % number)
    kept = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert kept == {"a.book": "4", "a.book.1": "3", "a.book.2": "2", "a.book.3": "1"}


def test_a_folder_is_not_kept_as_a_backup(tmp_path: Path) -> None:
    with keeping_backups(tmp_path / "."):
        pass
    with pytest.raises(WriteFailed, match="is a folder"), replacing(tmp_path):
        pass


def test_backups_that_a_killed_writer_was_about_to_remove_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a moment ago may be of a writer that is alive."""
    book = tmp_path / "a.book"
    left = [tmp_path / f"a.book.{4711}-{10**18}-{number}.old" for number in (0, 1)]
    names = (
        "a.book",
        "a.book.1",
        "a.book.old",
        "a.book.2026-11-1.old",
        "a.book.2026-11-30-1.old",
        f"b.book.1-{10**18}-0.old",
    )
    others = [tmp_path / name for name in names]
    for path in (*left, *others):
        path.touch()
    tidy(book)
    assert set(tmp_path.iterdir()) == {*left, *others}
    monkeypatch.setattr("desdaemon.book.memory.files._MOMENT_S", -1.0)
    tidy(book)
    assert set(tmp_path.iterdir()) == {*others}


@pytest.mark.parametrize("held", ["a.book", "a.book.1", "a.book.2", "a.book.3"])
@pytest.mark.parametrize("backups", [1, 2, 3])
def test_a_save_that_fails_costs_no_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backups: int, held: str
) -> None:
    """A file that is held can neither be renamed nor replaced."""
    book = tmp_path / "a.book"

    def content() -> dict[str, str]:
        return {path.name: path.read_text() for path in tmp_path.iterdir()}

    def save(text: str) -> None:
        with replacing(book) as stream:
            stream.write(text.encode())

    for number in range(backups + 1):
        save(f"{number}")
    before = content()
    replace = os.replace

    def refuse(source: str, target: str) -> None:
        if held in (Path(source).name, Path(target).name) and (tmp_path / held).exists():
            raise PermissionError(13, "Access is denied", target)
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        if held in before:
            with pytest.raises(WriteFailed):
                save("never")
            assert content() == before
    save("at last")
    assert content()["a.book.1"] == before["a.book"]


def test_only_files_that_were_moved_aside_are_removed(windows: ModuleType, tmp_path: Path) -> None:
    kept = {"a.book", "a.book.mine.old", f"b.book.123-{10**18}.old", "a.book.old", "a.book.2026-11.old"}
    for name in (*kept, f"a.book.123-{10**18}.old", f"a.book.123-{10**18}-1.old"):
        (tmp_path / name).touch()
    windows.remove_replaced(str(tmp_path / "a.book"))
    assert {path.name for path in tmp_path.iterdir()} == kept


@pytest.mark.parametrize(
    "name",
    [
        *("NUL", "nul.book", "C:\\books\\aux.book", "com1", "LPT9.txt", "con .book", "books/prn", "CONOUT$"),
        *("a:b.book", "C:", "C:\\books\\a:b.book", "mine:b.book", "\\\\.\\NUL", "\\\\.\\C:\\a.book"),
        *("what?.book", "tab\t.book", "a.book.", "a.book "),
    ],
)
def test_names_that_no_file_has_on_windows_are_refused(
    windows: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(platform, "names_file", windows.names_file)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(files.NotAFile, match="is no name that a file can have here: expected the name of a file"):
        files.replace(name, b"content")
    with pytest.raises(Forbidden, match="is no name that a file can have here: expected the name of a file"):
        Files(None).check_target(Path(name))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.book:stream", "games/a.sgf::$DATA", "games:x/a.sgf", "NUL", "con.d/a.sgf", "a?:b"])
def test_remote_names_of_streams_and_devices_are_refused_on_windows(
    windows: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(platform, "names_file", windows.names_file)
    (tmp_path / "a.book").write_text("")
    found = Files(str(tmp_path))
    for use in (found.path, found.matching):
        with pytest.raises(Forbidden, match="expected the name of a file"):
            use(name, remote=True)
    with pytest.raises(Forbidden, match="expected the name of a file"):
        found.allow(str(tmp_path / name))
    assert found.matching("?.b*", remote=True) == [tmp_path.resolve() / "a.book"]


@pytest.mark.parametrize(
    "name",
    [
        *("a.book", "C:\\books\\a.book", "c:/a.book", "\\\\server\\books\\a.book", "\\\\?\\C:\\a.book", ".", ".."),
        *("aux2.book", "console", "com10.book", "null", "a.nul", "../a.book", "Bücher/Größe 8.book"),
    ],
)
def test_ordinary_names_are_taken_on_windows(windows: ModuleType, name: str) -> None:
    assert windows.names_file(name)


def test_a_second_lock_of_a_file_is_refused_with_words(tmp_path: Path) -> None:
    first, second = (platform.open_file(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    platform.lock_file(first)
    with pytest.raises(BlockingIOError) as caught:
        platform.lock_file(second)
    assert (caught.value.errno, bool(caught.value.strerror)) == (errno.EAGAIN, True)
    os.close(first)
    platform.lock_file(second)
    os.close(second)


@pytest.mark.parametrize(
    "part",
    [
        pytest.param("clients/match", marks=pytest.mark.needs("clients.match")),
        pytest.param("clients/ggs/thinking.py", marks=pytest.mark.needs("clients.ggs")),
        "daemon/dialogue",
        "daemon/core/search",
        "daemon/core/metrics.py",
        "book/memory/table_memory.py",
    ],
)
def test_clocks_of_games_searches_and_turns_tick_finely(part: str) -> None:
    """`time.monotonic` goes on by 15.6 ms at a time on Windows; times of both are not to be mixed."""
    for path in (ROOT / part).rglob("*.py") if (ROOT / part).is_dir() else [ROOT / part]:
        assert "monotonic" not in path.read_text("utf-8"), path


def test_files_of_books_are_opened_so_that_they_can_be_replaced() -> None:
    """By `platform.open_file` alone; `test_portable_sources.py` looks for `os.open` everywhere."""
    for path in (ROOT / "book/storage").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                assert node.func.attr != "open", f"{path}: line {node.lineno}"


def test_a_reader_that_has_left_is_told_from_other_failures(windows: ModuleType) -> None:
    gone, full = OSError(errno.EINVAL, "Invalid argument"), OSError(errno.ENOSPC, "No space left on device")
    file = OSError(errno.EINVAL, "Invalid argument", "a:b.book")
    assert [windows.reader_left(error) for error in (gone, full, file, BrokenPipeError())] == [True, False, False, True]
    assert [platform.reader_left(error) for error in (full, file, BrokenPipeError())] == [False, False, True]
