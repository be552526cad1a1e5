"""What the product writes to files is there whole or not at all: a full disk or a kill never cuts an old file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import ROOT

DIRECTORIES = ("protocol", "engine", "book", "daemon", "clients")
OPENING = {"open", "fdopen", "open_file"}
FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC"}
METHODS = {"write_text", "write_bytes", "tofile", "truncate"}
FUNCTIONS = {
    "np": {"save", "savez", "savez_compressed", "savetxt"},
    "os": {"truncate", "ftruncate"},
    "shutil": {"copy", "copy2", "copyfile", "move"},
    "tempfile": {"NamedTemporaryFile", "mkstemp", "mkdtemp", "TemporaryDirectory"},
    "readline": {"write_history_file", "append_history_file"},
}

EXCEPTIONS = {
    "protocol/system/files.py": "the writer itself",
    "protocol/system/folders.py": "folders that pass, which the next start removes where a process was killed",
    "protocol/system/output.py": "the null device",
    "protocol/system/locks.py": "a lock holds nothing but the id of its process",
    "protocol/system/platform/posix.py": "opens what others ask for",
    "protocol/system/platform/windows.py": "opens what others ask for",
    "book/storage/journal.py": "appended to, with checksums; a torn end is moved to a new file",
    "book/storage/snapshot.py": "one field in place, written at once",
    "clients/arguments.py": "the null device",
    "clients/match/results/journal.py": "appended to; a torn line is played again",
    "clients/programs/engine_process.py": "the log of a program, appended to",
    "clients/bench/daemon.py": "the log of a daemon in a folder of its own",
    "clients/shell.py": "readline's history",
    "daemon/dialogue/terminal.py": "readline's history",
    "daemon/dialogue/log_files.py": "a log, appended to",
    "daemon/dialogue/stdio.py": "the null device",
    "daemon/cli/main.py": "the null device",
    "daemon/cluster/connection.py": "new keys in a new folder",
    "daemon/batches/files.py": "appended to, with checksums; a torn line is overwritten",
    "daemon/core/books/job_journal.py": "takes the number of a new job, whose file is then replaced",
    "daemon/server/keys.py": "takes the name of a new file, which is then replaced",
    "engine/compiler/perf_map.py": "this process's map for perf, appended to",
}


def writes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The lines where a file is opened for writing or written, and how."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        function = call.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        owner = getattr(function.value, "id", "") if isinstance(function, ast.Attribute) else ""
        named = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)}
        if name in OPENING:
            texts = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
            modes = [set(text) for text in texts if isinstance(text, str) and set(text) <= set("rwaxbt+")]
            if named & FLAGS or any(mode & set("wax+") for mode in modes):
                yield call.lineno, name
        elif name in METHODS or name in FUNCTIONS.get(owner, ()):
            yield call.lineno, name


def product() -> list[Path]:
    return [path for directory in DIRECTORIES for path in sorted((ROOT / directory).rglob("*.py"))]


def test_files_are_written_by_the_one_writer() -> None:
    found = {str(path.relative_to(ROOT)): list(writes(ast.parse(path.read_text("utf-8")))) for path in product()}
    wrong = {path: lines for path, lines in found.items() if lines and path not in EXCEPTIONS}
    assert not wrong, "write by protocol/system/files.py, or say here why not"
    assert not [path for path in EXCEPTIONS if not found.get(path)], "no exception any more"


@pytest.mark.parametrize(
    "line",
    [
        'open(name, "w")',
        'Path(name).open("ab")',
        'path.open(mode="r+b")',
        'path.open("wb" if new else "rb")',
        "os.open(name, os.O_WRONLY | os.O_TRUNC)",
        "platform.open_file(name, os.O_RDWR)",
        "path.write_text(text)",
        "(folder / name).write_bytes(data)",
        "np.savez(name, rows=rows)",
        "shutil.copy(old, new)",
        "tempfile.TemporaryDirectory()",
    ],
)
def test_each_way_to_write_a_file_is_found(line: str) -> None:
    assert list(writes(ast.parse(line)))


@pytest.mark.parametrize("line", ['open(name, "rb")', "path.open()", "os.open(name, os.O_RDONLY)", "rows.copy()"])
def test_reading_is_not_taken_for_writing(line: str) -> None:
    assert not list(writes(ast.parse(line)))
