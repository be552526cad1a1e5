"""The one book of the process: the scheduler's turns, remote callers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from toys import contents

from desdaemon.core.books.allowed_files import Files, Forbidden
from desdaemon.core.books.jobs import CANCELLED, BookJob, BookJobs
from desdaemon.core.books.running import run_command
from desdaemon.core.books.service import Books, Caller
from desdaemon.core.search.scheduler import Lease, Purpose
from desdaemon.core.settings import SessionSettings
from desdaemon.engine.compiler import library
from desdaemon.protocol.commands.book import BOOK_COMMANDS, complete, find_book_command, parse_line
from desdaemon.protocol.errors import BadInput

ME = Caller("me", SessionSettings())


def start(books: Books, line: str, caller: Caller = ME) -> BookJob:
    return run_command(books, *parse_line(line), caller)


def done(books: Books, line: str, caller: Caller = ME) -> BookJob:
    job = start(books, line, caller)
    assert job.wait(60)
    if job.failure is not None:
        raise job.failure
    return job


@pytest.fixture
def books() -> Iterator[Books]:
    made = Books(BookJobs())
    yield made
    assert made.jobs.close(30)
    made.close(discard=True)


class OneSlot:
    """A scheduler that takes its only slot away from every other search."""

    slots = 1

    def __init__(self) -> None:
        self.leases = 0
        self._lock = threading.Lock()

    @contextmanager
    def turn_of(self, item: Lease, abandoned: Callable[[], bool]) -> Iterator[None]:
        assert item.purpose is Purpose.BOOK
        with self._lock:
            self.leases += 1
            item.interrupted = self.leases % 2 == 1
            if item.interrupted:
                assert item.interrupt is not None
                item.interrupt()
            yield
            item.waiting, item.again = item.again, False


@pytest.mark.needs("book.growth")
def test_a_search_that_gave_way_is_searched_again(books: Books) -> None:
    done(books, "new 2 7")
    done(books, "deviate 3 6")
    scheduler: Any = OneSlot()
    other = Books(BookJobs(), scheduler=scheduler)
    done(other, "new 2 7")
    searches = done(other, "deviate 3 6").result["searches"]
    assert scheduler.leases > 1.5 * searches
    assert contents(other.book) == contents(books.book)
    other.jobs.close()
    other.close(discard=True)


@pytest.mark.parametrize(
    ("missing", "line"),
    [
        *(("book", line) for line in ("load builtin", "import builtin", "new 2 7", "enumerate 3", "load x.book")),
        ("book", "salvage x.book"),
        ("engine", "new 2 7"),
    ],
)
@pytest.mark.needs("book.reports")
def test_a_job_that_waits_for_the_compiler_ends_when_it_is_cancelled(
    books: Books, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done(books, "new 2 7")
    done(books, "save x.book")
    done(books, "new 2 7")
    kept = books.book
    compiling, compiled = threading.Event(), threading.Event()

    def compile_for_long(spec: library.Spec) -> None:
        compiling.set()
        compiled.wait()

    monkeypatch.setattr(library, "load", compile_for_long)
    monkeypatch.setattr(library, "_loaded", {name: one for name, one in library._loaded.items() if name != missing})
    try:
        job = start(books, f"{line} --discard")
        assert compiling.wait(60)
        assert not job.over
        job.cancel()
        assert job.wait(60)
        assert job.state == CANCELLED
        assert books.book is kept
    finally:
        compiled.set()


def test_the_table_is_consistent() -> None:
    names = [name for command in BOOK_COMMANDS for name in (command.name, *command.aliases)]
    assert len(names) == len(set(names))
    for command in BOOK_COMMANDS:
        assert command.help.endswith(".")
        parameters = [parameter.name for parameter in command.parameters]
        assert len(parameters) == len(set(parameters))
        if any(parameter.kind in ("path", "paths") for parameter in command.parameters):
            assert command.role == "admin"
        elif command.writes:
            assert command.role in ("editor", "admin")
        for parameter in command.parameters:
            assert parameter.help.endswith(".")
            if parameter.kind == "int" and parameter.default is not None:
                assert parameter.low <= parameter.default <= parameter.high


@pytest.mark.needs("book.growth")
def test_a_line_gives_each_parameter_a_value() -> None:
    command = find_book_command("deviate")
    assert command is not None
    budget = {"time": None, "nodes": None, "positions": None}
    assert complete(command, {"relative": 1}) == {"relative": 1, "absolute": 4, **budget}
    assert parse_line("deviate 1") == (command, {"relative": 1, "absolute": 4, **budget})
    for bad in ("x", "1.5", "true", "1 66", '""'):
        with pytest.raises(BadInput, match=r"book deviate, (relative|absolute)"):
            parse_line(f"deviate {bad}")
    for bad in ("edit", "edit f5", "edit f9 4", "edit f5 65", "delete x", 'delete ""', 'save ""', "adjust grey"):
        with pytest.raises(BadInput, match=r"^book (edit|delete|save|adjust)[,:]"):
            parse_line(bad)
    assert parse_line("adjust BLACK")[1] == {"loser": "black"}
    assert parse_line("delete")[1] == {"move": None}


def test_a_named_parameter_may_stand_anywhere() -> None:
    files = {"files": ["a.wtb", "b"], "played": 7, "unsearched": False}
    for line in ("add a.wtb b --played 7", "add --played 7 a.wtb b", "add a.wtb --played 7 b"):
        assert parse_line(line)[1] == files, line
    assert parse_line("add a")[1] == {"files": ["a"], "played": 1, "unsearched": False}
    for line in ("add a --played", "add a --played 0", "add a --played b"):
        with pytest.raises(BadInput, match="book add, played"):
            parse_line(line)


@pytest.mark.needs("book.reports")
def test_names_of_files_may_hold_blanks() -> None:
    with pytest.raises(BadInput, match="one too many"):
        parse_line("diff my own book.dat")
    for line, file, level, discard in (
        ("my own book.dat", "my own book.dat", 1, False),
        ("my own book 2 7", "my own book 2", 7, False),
        ("7 --discard", "7", 1, True),
        ('"my own 7"', "my own 7", 1, False),
    ):
        loaded = {"file": file, "level": level, "discard": discard, "overlay": None}
        assert parse_line(f"load {line}")[1] == loaded
    assert parse_line('load "my own book.dat"')[1]["file"] == "my own book.dat"
    assert parse_line("import my own book.dat")[1]["file"] == "my own book.dat"
    added = {"files": ["a b.wtb", "c.ggf"], "played": 1, "unsearched": True}
    assert parse_line('add "a b.wtb" c.ggf --unsearched')[1] == added
    merged = {"file": "other.dat", "keep-ours": True, "into": False}
    assert parse_line("merge other.dat --keep-ours")[1] == merged


def test_only_the_book_s_own_files_are_protected(tmp_path: Path) -> None:
    files, book = Files(None), tmp_path / "my.book"
    for name in ("my.book.txt", "my.book2", "my.book.egbk3", "my.book.old", "my"):
        files.check_target(tmp_path / name, book)
    for name in ("my.book", "my.book.journal", "my.book.journal.torn-1", "my.book.lock", "my.book.1", "my.book.12"):
        with pytest.raises(Forbidden):
            files.check_target(tmp_path / name, book)


@pytest.mark.posix
def test_the_root_is_no_file_to_write(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/")
    for path in (Path("/"), tmp_path / "link"):
        with pytest.raises(Forbidden, match="expected the name of a file"):
            Files(None).check_target(path)


@pytest.mark.parametrize("name", ["MY.book", "My.Book.JOURNAL", "my.book.Lock", "Jobs/1.json", "other.Journal"])
def test_a_file_in_use_is_known_in_other_letters_where_they_name_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS and Windows."""
    monkeypatch.setattr("desdaemon.protocol.system.platform.folded", str.casefold)
    files = Files(None)
    files.reserved = (tmp_path / "jobs",)
    (tmp_path / "Jobs").mkdir()
    (tmp_path / "other.Journal").touch()
    with pytest.raises(Forbidden):
        files.check_target(tmp_path / name, tmp_path / "my.book")
