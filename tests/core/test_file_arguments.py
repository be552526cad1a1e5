"""Every operation that names files, with every kind of file argument: what it is for, and what it refuses."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import referee
from operated import Operated

from desdaemon.book.formats import registry
from desdaemon.core.requests.request import ClientRecord
from desdaemon.protocol import satellites
from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.wire import messages

LINE = "f5d6c3"
READING = {"load", "import", "merge", "diff", "salvage", "check", "add", "answer", "schedule"}
WRITING = {"save", "export", "backup", "extract"}
FORMATS = ("x.book", "x.dat", "x.egbk3", "x.txt")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data folder, whose name looks like a pattern."""
    folder = tmp_path / "da[t]a"
    (folder / "inner").mkdir(parents=True)
    return folder


@pytest.fixture
def daemon(data: Path) -> Operated:
    daemon = Operated(data)
    daemon.final("book.new", {"discard": True, "level": 0, "depth": 6})
    daemon.final("book.store", {"moves": LINE})
    return daemon


def positions(daemon: Operated) -> int:
    return int(daemon.final("status")["book"]["positions"])


def games(folder: Path, name: str, number: int = 2) -> Path:
    path = folder / name
    lines = ["".join(referee.name(move).lower() for move in referee.random_moves(seed, 60)) for seed in range(number)]
    path.write_text("".join(line + "\n" for line in lines))
    return path


@pytest.mark.needs("book.growth")
@pytest.mark.needs("book.reports")
def test_every_operation_that_names_files_is_tested() -> None:
    named = {
        command.name
        for command in BOOK_COMMANDS
        if any(parameter.kind in ("path", "paths") for parameter in command.parameters)
    }
    assert named == READING | WRITING
    others = {
        operation.name
        for operation in messages.BASIC_OPERATIONS
        if any(argument.kind == "path" for argument in operation.arguments) and not operation.part
    }
    assert not others


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
@pytest.mark.parametrize("folder", ["", "inner/"])
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.needs("book.reports")
def test_books_are_written_and_read_again(daemon: Operated, data: Path, name: str, folder: str) -> None:
    file, number = folder + name, positions(daemon)
    daemon.final("book.save", {"file": file})
    assert (data / file).is_file()
    assert daemon.final("book.diff", {"file": file})["same"] == number if name != "x.book" else True
    daemon.final("book.new", {"discard": True, "level": 0, "depth": 6})
    if name == "x.book":
        assert daemon.final("book.diff", {"file": file})["only_second"] == number - 1
    assert daemon.final("book.merge", {"file": file})["positions"] == number
    daemon.final("book.new", {"discard": True, "level": 0, "depth": 6})
    assert daemon.final("book.load", {"discard": True, "file": file, "level": 3})["positions"] == number
    assert daemon.final("book.import", {"discard": True, "file": file})["positions"] >= number


@pytest.mark.parametrize("name", ["copy.dat", "copy.egbk3", "copy.txt", "copy", "inner/copy.txt"])
def test_books_are_exported_inside_the_data_folder(daemon: Operated, data: Path, name: str) -> None:
    number = positions(daemon)
    daemon.final("book.export", {"file": name})
    assert (data / name).stat().st_size > 0
    daemon.final("book.export", {"file": name})
    assert daemon.final("book.load", {"discard": True, "file": name})["positions"] == number if name != "copy" else True


@pytest.mark.needs("book.reports")
def test_an_overlay_leads_to_no_file_that_may_not_be_named(daemon: Operated, data: Path, tmp_path: Path) -> None:
    number = positions(daemon)
    daemon.final("book.export", {"file": "base.dat"})
    shutil.copy(data / "base.dat", tmp_path / "outside.dat")
    for base, name in ((data / "base.dat", "in.overlay"), (tmp_path / "outside.dat", "out.overlay")):
        opened = registry.open_any(base.resolve(), overlay=data / name)
        assert opened.store is not None
        opened.store.close()
    for op in ("book.load", "book.import", "book.merge", "book.diff"):
        discard = {"discard": True} if op in ("book.load", "book.import") else {}
        assert daemon.code(op, {"file": "out.overlay", **discard}) == "forbidden"
    assert daemon.final("book.diff", {"file": "in.overlay"})["same"] == number
    assert daemon.final("book.load", {"file": "in.overlay", "discard": True})["positions"] == number


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.reports")
def test_two_books_of_the_data_folder_are_compared(daemon: Operated) -> None:
    daemon.final("book.save", {"file": "a.dat"})
    daemon.final("book.save", {"file": "inner/b.txt"})
    assert daemon.final("book.diff", {"file": "a.dat", "other": "inner/b.txt"})["only_first"] == 0


@pytest.mark.posix
@pytest.mark.parametrize("op", ["book.add", "book.check"])
@pytest.mark.parametrize(
    ("files", "number"),
    [
        (["a.txt"], 2),
        (["a.txt", "inner/b.ggf.txt"], 4),
        (["inner"], 2),
        (["*.txt"], 3),
        (["inner/*"], 2),
        (["[a-b].txt", "inner"], 5),
        (["in?er/*.txt"], 2),
        (["linked.txt"], 2),
        (["."], 3),
    ],
)
@pytest.mark.needs("book.reports")
def test_games_of_files_folders_and_patterns(
    daemon: Operated, data: Path, op: str, files: list[str], number: int
) -> None:
    games(data, "a.txt")
    games(data, "b.txt", 1)
    games(data / "inner", "b.ggf.txt")
    if "linked.txt" in files or files == ["."]:
        (data / "linked.txt").symlink_to("a.txt")
        number += 2 if files == ["."] else 0
    found = daemon.final(op, {"files": files, **({"unsearched": True} if op == "book.add" else {})})
    if op == "book.add":
        assert (found["games"], found["left_out"]) == (number, 0)
        assert found["added"] > 0
    else:
        assert found["missing"] + found["good"] + found["bad"] > 0


@pytest.mark.needs("book.growth")
@pytest.mark.needs("book.reports")
def test_missing_files_are_named(daemon: Operated) -> None:
    for name in sorted(READING):
        given: dict[str, Any] = {"files": ["none.txt"]} if name in ("add", "answer", "check") else {"file": "none.txt"}
        code = daemon.code(f"book.{name}", given)
        assert code in ("not_found", "bad_request"), name
    assert daemon.code("book.add", {"files": ["none*.txt"]}) == "bad_request"
    assert daemon.code("book.add", {"files": "none.txt"}) == "bad_request"


@pytest.mark.parametrize("op", ["book.save", "book.export", "book.backup", "book.extract"])
@pytest.mark.needs("book.reports")
def test_a_wrong_name_to_write_is_no_error_of_the_daemon(op: str, daemon: Operated, data: Path) -> None:
    (data / "folder.txt").mkdir()
    assert daemon.code(op, {"file": "nowhere/copy.txt"}) == "not_found"
    assert daemon.code(op, {"file": "folder.txt"}) == "bad_request"


@pytest.mark.needs("book.packed")
@pytest.mark.needs("book.reports")
def test_what_a_book_of_this_kind_cannot_do_is_no_error_of_the_daemon(daemon: Operated, data: Path) -> None:
    daemon.final("book.export", {"file": "p.packed"})
    for overlay in ({}, {"overlay": "over"}):
        daemon.final("book.load", {"file": "p.packed", "discard": True, **overlay})
        for op in ("book.edits", "book.grade", "book.stats", "book.verify", "book.problem", "book.fix"):
            assert daemon.code(op) == "bad_request", op
        if not overlay:
            assert daemon.code("book.edit", {"move": "f5", "score": 3}) == "bad_request"
    daemon.final("book.edit", {"move": "f5", "score": 3})


OUTSIDE = ["../x.txt", "./../x.txt", "inner/../../x.txt", "~/x.txt", "/etc/passwd", "{}"]
OUTSIDE += ["out", "out/x.txt", "link.txt", "link.txt/../x.txt"]


@pytest.mark.posix
@pytest.mark.parametrize("outside", OUTSIDE)
def test_files_outside_the_data_folder_are_refused(daemon: Operated, data: Path, outside: str) -> None:
    beyond = data.parent / "beyond"
    beyond.mkdir()
    games(beyond, "x.txt")
    (data / "out").symlink_to(beyond)
    (data / "link.txt").symlink_to(beyond / "x.txt")
    name = outside.format(beyond / "x.txt")
    daemon.final("book.export", {"file": "other.dat"})
    for command in BOOK_COMMANDS:
        others: dict[str, Any] = {other.name: 1 for other in command.parameters if other.kind == "int"}
        others |= {other.name: "other.dat" for other in command.parameters if other.kind == "path"}
        for parameter in (parameter for parameter in command.parameters if parameter.kind in ("path", "paths")):
            given = [name] if parameter.kind == "paths" else name
            reply = daemon.ask(command.op, {**others, "discard": True, parameter.name: given})
            assert reply["error"]["code"] == "forbidden", (command, reply)
            assert str(beyond) not in reply["error"]["message"] or outside == "{}"
    assert sorted(path.name for path in beyond.iterdir()) == ["x.txt"]
    assert (beyond / "x.txt").read_text().count("\n") == 2


@pytest.mark.posix
@pytest.mark.parametrize("pattern", ["out/*", "*/x.txt", "l*.txt", "inner/..*/*"])
@pytest.mark.needs("book.reports")
def test_patterns_and_folders_that_lead_outside_are_refused(daemon: Operated, data: Path, pattern: str) -> None:
    beyond = data.parent / "beyond"
    beyond.mkdir()
    games(beyond, "x.txt")
    (data / "out").symlink_to(beyond)
    (data / "link.txt").symlink_to(beyond / "x.txt")
    reply = daemon.ask("book.add", {"files": [pattern]})
    assert reply["type"] == "error", reply
    assert reply["error"]["code"] in ("forbidden", "bad_request")
    (data / "inner" / "link.txt").symlink_to(beyond / "x.txt")
    assert daemon.code("book.check", {"files": ["inner"]}) == "forbidden"


def test_a_dialogue_names_any_file(tmp_path: Path) -> None:
    daemon = Operated(tmp_path / "data")
    (tmp_path / "data").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    games(elsewhere, "a.txt")
    local = ClientRecord("stdio", "admin", remote=False)
    daemon.final("book.new", {"discard": True, "level": 0, "depth": 4}, local)
    for files in ([str(elsewhere)], [f"{elsewhere}/*.txt"], [str(elsewhere / "a.txt")]):
        assert daemon.final("book.add", {"files": files, "unsearched": True}, local)["games"] == 2
    daemon.final("book.save", {"file": str(elsewhere / "b.book")}, local)


# --- what is the daemon's own


def own_files(data: Path) -> dict[str, bytes]:
    own = [path for path in data.iterdir() if path.name.startswith(("kept", "analyses"))]
    return {path.name: path.read_bytes() for path in (*own, *(data / "jobs").iterdir())}


WRITERS: dict[str, Callable[[Operated, str], dict[str, Any]]] = {
    "export": lambda daemon, name: daemon.ask("book.export", {"file": name}),
    "extract": lambda daemon, name: daemon.ask("book.extract", {"file": name}),
    "save": lambda daemon, name: daemon.ask("book.save", {"file": name}),
    "text": lambda daemon, name: daemon.ask("text", {"line": f"save {name}"}),
}


@pytest.mark.posix
@pytest.mark.parametrize("by", WRITERS)
@pytest.mark.needs("book.reports")
def test_nothing_is_written_over_files_of_the_daemon(daemon: Operated, data: Path, by: str) -> None:
    daemon.final("book.save", {"file": "other.book"})
    daemon.final("book.new", {"discard": True, "level": 0, "depth": 4})
    daemon.final("book.save", {"file": "kept.book"})
    daemon.final("book.store", {"moves": "f5f6"})
    daemon.services.cache.save(str(data / "analyses.cache"))
    (data / "jobs").mkdir()
    (data / "jobs" / "7.job").write_text("{}")
    before = own_files(data)
    assert {"kept.book", "kept.book.journal", "kept.book.lock", "analyses.cache"} <= set(before)
    (data / "link").symlink_to("kept.book")
    names = ["kept.book", "kept.book.journal", "kept.book.lock", "kept.book.1", "analyses.cache", "link"]
    names += ["jobs", "jobs/x.txt", "jobs/7.job", "inner/../kept.book"]
    names += [part.name for satellite in satellites.present("daemon_parts") for part in satellite.daemon_parts]
    for name in names:
        if by == "save" and name in ("kept.book", "link"):
            continue
        reply = WRITERS[by](daemon, name)
        assert reply["type"] == "error", (name, reply)
        assert reply["error"]["code"] == "forbidden", (name, reply)
    assert own_files(data) == before


def test_what_was_refused_leaves_everything_as_it_was(daemon: Operated, data: Path) -> None:
    daemon.final("book.save", {"file": "kept.book"})
    number = positions(daemon)
    daemon.code("book.export", {"file": "kept.book"})
    assert daemon.final("book.verify")["clean"]
    daemon.final("book.load", {"discard": True, "file": "kept.book"})
    assert positions(daemon) == number
