"""The helpers of the operating system that every package uses: files, folders, locks, messages."""

from __future__ import annotations

import ast
import contextlib
import errno
import importlib
import json
import logging
import os
import pty
import signal
import stat
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import IMPORT, ROOT
from full_disk import room_for

from desdaemon.protocol.system import files, folders, locks, logs, platform
from desdaemon.protocol.system.output import MOST_WAITING, UnreadOutput

pytestmark = pytest.mark.posix

# --- files


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.replace(path, b"first")
    path.chmod(0o640)
    with contextlib.suppress(RuntimeError), files.replacing(path) as stream:
        stream.write(b"sec")
        raise RuntimeError
    assert path.read_bytes() == b"first"
    with files.replacing(path) as stream:
        stream.write(b"second")
        stream.flush()
        assert path.read_bytes() == b"first"
    assert path.read_bytes() == b"second"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    files.replace(tmp_path / "secret", b"", mode=files.PRIVATE)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "secret"]


@pytest.mark.parametrize("failing", ["write", "fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"first")

    def refused(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def write() -> None:
        with files.replacing(path) as stream:
            stream.write(b"second")
            if failing == "write":
                refused()

    with monkeypatch.context() as patched:
        if failing != "write":
            patched.setattr(files.os, failing, refused)
        with pytest.raises(OSError, match="No space left"):
            write()
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_content_and_name_are_on_the_disk_in_this_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def renamed(old: str, new: str) -> None:
        done.append("name")
        replace(old, new)

    monkeypatch.setattr(files.os, "fsync", synced)
    monkeypatch.setattr(files.os, "replace", renamed)

    @contextlib.contextmanager
    def around() -> Iterator[None]:
        done.append("before")
        yield
        done.append("after")

    with files.replacing(tmp_path / "file", around=around()) as stream:
        stream.write(b"content")
    assert done == ["file", "before", "name", "after", "folder"]


KILLED = f"""
{IMPORT}
import os, signal
from desdaemon.protocol.system import files
with files.replacing(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_writer_left_goes_and_what_is_being_written_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    subprocess.run([sys.executable, "-c", KILLED, str(path), "killed"], check=False)
    (left,) = tmp_path.iterdir()
    command = [sys.executable, "-c", KILLED, str(path), "not yet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin
        assert writer.stdout
        assert writer.stdout.readline() == "writing\n"
        assert not left.exists()
        files.replace(path, b"old")
        files.tidy(tmp_path)
        writer.stdin.close()
    assert writer.returncode == 0
    assert path.read_bytes() == b"half"
    assert list(tmp_path.iterdir()) == [path]


KEPT = f"""
{IMPORT}
import os, signal
from desdaemon.protocol.system import folders
with folders.passing("test", sys.argv[1]) as folder:
    print(folder, flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_passing_folder_of_a_killed_process_goes_and_one_in_use_stays(tmp_path: Path) -> None:
    """Those of other users, links and folders of other purposes stay too."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "desdaemon-test-link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "desdaemon-test-new").mkdir()
    (tmp_path / "desdaemon-other-1").mkdir()
    others = set(tmp_path.iterdir())
    with subprocess.Popen(
        [sys.executable, "-c", KEPT, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdin
        assert writer.stdout
        used = Path(writer.stdout.readline().strip())
        (used / "file").touch()
        with folders.passing("test", tmp_path) as own:
            assert set(tmp_path.iterdir()) == {*others, used, Path(own)}
        writer.stdin.close()
    assert writer.returncode == -signal.SIGKILL
    assert set(tmp_path.iterdir()) == {*others, used}
    with folders.passing("test", tmp_path) as own:
        assert set(tmp_path.iterdir()) == {*others, Path(own)}
    os.utime(tmp_path / "desdaemon-test-new", (0, 0))
    with folders.passing("test", tmp_path):
        assert not (tmp_path / "desdaemon-test-new").exists()
    assert (tmp_path / "elsewhere").exists()


def test_names_like_those_of_new_files_are_left_alone(tmp_path: Path) -> None:
    names = [".x.new", "x.1-2.new", ".x.1-2.new.old", ".x.1-a.new", ".x"]
    for name in names:
        (tmp_path / name).touch()
    os.mkfifo(tmp_path / ".x.1-2.new")
    files.replace(tmp_path / "x", b"")
    assert {entry.name for entry in tmp_path.iterdir()} == {*names, ".x.1-2.new", "x"}


def test_an_appended_text_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.append(path, b"old ")
    files.append(path, b"text ")
    with room_for(4096), pytest.raises(OSError, match="File too large"):
        files.append(path, bytes(5000))
    assert path.read_bytes() == b"old text "


def test_a_test_with_little_room_tears_no_bytecode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "of_some_size.py").write_text(f"value = {'x' * 9000!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with room_for(4096):
        importlib.import_module("of_some_size")
    del sys.modules["of_some_size"]
    assert len(importlib.import_module("of_some_size").value) == 9000
    assert not sys.dont_write_bytecode


def test_links_are_followed_and_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    files.replace(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        with pytest.raises(files.NotAFile) as refused:
            files.replace(tmp_path / name, b"new")
        assert refused.value.filename == str(tmp_path / name), "or it would be taken for standard output"


@pytest.mark.posix
@pytest.mark.timeout(60)
def test_what_takes_the_place_of_a_file_before_it_is_opened_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, opened = tmp_path / "file", platform.open_file

    def exchanged(place: str, flags: int, mode: int = 0o666) -> int:
        path.unlink()
        os.mkfifo(path)
        return opened(place, flags, mode)

    path.write_bytes(b"old")
    with files.open_regular(path) as stream:
        assert stream.read() == b"old"
    monkeypatch.setattr(platform, "open_file", exchanged)
    with pytest.raises(OSError, match="expected a regular file"):
        files.open_regular(str(path))


def test_two_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([65 + number]) * 100_000 for number in range(8)]
    threads = [
        threading.Thread(target=lambda content=content: [files.replace(path, content) for _ in range(10)])
        for content in contents
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


# --- folders


def test_folders_follow_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME", "RUNTIME_DIR")
    for name in names:
        monkeypatch.delenv(f"XDG_{name}", raising=False)
        monkeypatch.delenv(f"DESDAEMON_{name}", raising=False)
    monkeypatch.delenv("DESDAEMON_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", "/elsewhere/user")
    for _ in range(2):
        assert folders.configuration() == "/elsewhere/user/.config/desdaemon"
        assert folders.data() == "/elsewhere/user/.local/share/desdaemon"
        assert folders.state() == "/elsewhere/user/.local/state/desdaemon"
        assert next(folders.caches()).startswith("/elsewhere/user/")
        assert f"desdaemon-{os.getuid()}" in folders.runtime()
        # The specification has programs ignore relative paths.
        for name in names:
            monkeypatch.setenv(f"XDG_{name}", f"x/{name}")
    for name in names:
        monkeypatch.setenv(f"XDG_{name}", f"/x/{name}")
    found = [folders.configuration(), folders.data(), folders.state(), next(folders.caches()), folders.runtime()]
    assert found == [
        f"/x/{name}/desdaemon" for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME", "RUNTIME_DIR")
    ]
    monkeypatch.setenv("DESDAEMON_CACHE_DIR", "/y")
    monkeypatch.setenv("DESDAEMON_RUNTIME_DIR", "/z")
    assert (list(folders.caches()), folders.runtime()) == (["/y"], "/z")


# --- locks


def test_a_lock_tells_who_holds_it(tmp_path: Path) -> None:
    lock = locks.FileLock(tmp_path / "lock")
    with pytest.raises(locks.Held) as held:
        locks.FileLock(tmp_path / "lock")
    assert held.value.holder == os.getpid()
    lock.release()
    locks.FileLock(tmp_path / "lock").release()
    code = IMPORT + (
        "import sys, time\nfrom desdaemon.protocol.system.locks import FileLock\n"
        "FileLock(sys.argv[1])\nprint(flush=True)\ntime.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, tmp_path / "lock"], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with pytest.raises(locks.Held) as held:
            locks.FileLock(tmp_path / "lock")
        assert held.value.holder == child.pid
        child.kill()
        child.wait()
    locks.FileLock(tmp_path / "lock").release()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP])
def test_where_a_file_system_has_no_locks_the_file_is_named_and_files_are_written(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(platform, "lock_file", refuse)
    with pytest.raises(OSError, match="the file system has no lock for it") as error:
        locks.FileLock(tmp_path / "lock")
    assert (error.value.errno, error.value.filename) == (number, str(tmp_path / "lock"))
    with locks.alone(tmp_path / "lock"):
        files.replace(tmp_path / "file", b"old")
    files.replace(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "lock"]


# --- messages


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A log of JSON in a file, installed for the length of a test."""
    monkeypatch.setattr(logs, "_log", None)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setattr(logging.getLogger(), "handlers", logging.getLogger().handlers[:])
    path = tmp_path / "log"
    with path.open("wb") as stream:
        logs.install(logs.Log(format="json", descriptor=stream.fileno()))
        yield path


def test_all_messages_go_through_the_log(log: Path, capfd: pytest.CaptureFixture[str]) -> None:
    logs.message("the book is full", level="error", event="book")
    logs.message("no such file", "desdaemon serve")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning(UserWarning("old"), UserWarning, "x.py", 3)
    logging.getLogger("library").warning("something %s", "odd")
    thread = threading.Thread(target=lambda: [][0], name="unlucky")
    thread.start()
    thread.join()
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["level"], line["event"]) for line in told] == [
        ("error", "book"),
        ("warning", "message"),
        ("warning", "warning"),
        ("warning", "library"),
        ("error", "thread ended"),
    ]
    assert told[0]["reason"] == "the book is full"
    assert (told[1]["program"], told[1]["text"]) == ("desdaemon serve", "no such file")
    assert told[2]["reason"] == "UserWarning: old"
    assert told[3]["reason"] == "something odd"
    assert told[4]["thread"] == "unlucky"
    assert "IndexError" in told[4]["trace"]
    assert capfd.readouterr().err == ""


def test_without_a_daemon_a_message_is_a_line_of_its_program(capsys: pytest.CaptureFixture[str]) -> None:
    logs.message("no such file", "desdaemon count")
    logs.message("a compiler is missing")
    assert capsys.readouterr().err == "desdaemon count: no such file\ndesdaemon: a compiler is missing\n"


def test_messages_go_where_a_dialogue_wants_them(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    logs.redirect(said.append)
    try:
        logs.message("a line")
    finally:
        logs.redirect(None)
    assert said == ["a line"]
    assert capsys.readouterr().err == ""


def test_progress_is_for_terminals_only(capfd: pytest.CaptureFixture[str]) -> None:
    code = IMPORT + (
        "from desdaemon.protocol.system.terminal import ProgressLine\n"
        "line = ProgressLine()\nline.show('x' * 500)\nline.show('half')\nline.clear()\nline.clear()"
    )
    master, slave = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stderr=slave, check=True)
    os.close(slave)
    seen = os.read(master, 1 << 16).decode()
    os.close(master)
    assert seen.count("\r\x1b[K") == 3
    assert "\r\x1b[Khalf\r\x1b[K" in seen
    assert max(map(len, seen.split("\r\x1b[K"))) < 500
    subprocess.run([sys.executable, "-c", code], check=True)
    assert capfd.readouterr().err == ""


def test_a_message_takes_the_place_of_a_line_of_progress() -> None:
    """And is not glued to its end; the next line of progress comes below."""
    code = IMPORT + (
        "from desdaemon.protocol.system import logs\n"
        "from desdaemon.protocol.system.terminal import ProgressLine\n"
        "line = ProgressLine()\nline.show('half')\nlogs.message('a word')\nlogs.message('two')\nline.show('more')"
    )
    master, slave = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stderr=slave, check=True)
    os.close(slave)
    seen = os.read(master, 1 << 16).decode()
    os.close(master)
    assert seen == "\r\x1b[Khalf\r\x1b[Kdesdaemon: a word\r\ndesdaemon: two\r\n\r\x1b[Kmore"


HOMES = {"protocol/system/logs.py", "protocol/system/terminal.py"}


def uses_of_standard_error(path: Path) -> Iterator[int]:
    """Lines that write to standard error by themselves, or log by other means."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in {("sys", "stderr"), ("sys", "__stderr__"), ("warnings", "warn")}:
                yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "sys":
            if any(alias.name == "stderr" for alias in node.names):
                yield node.lineno
        elif isinstance(node, ast.Import) and any(alias.name == "logging" for alias in node.names):
            yield node.lineno


def test_only_one_module_writes_to_standard_error() -> None:
    found = [
        f"{name}:{line}"
        for package in ("daemon", "engine", "book", "clients", "protocol")
        for path in sorted((ROOT / package).rglob("*.py"))
        if (name := path.relative_to(ROOT).as_posix()) not in HOMES
        for line in uses_of_standard_error(path)
    ]
    assert found == []


def test_a_mistake_that_repeats_is_logged_whole_once() -> None:
    def told(value: object) -> str:
        try:
            len(value)  # type: ignore[arg-type]
        except TypeError as error:
            return logs.trace(error)
        return "no mistake"

    texts = [text for text in (told(number) for number in range(1000)) if text]
    assert texts[0].startswith("Traceback")
    assert [text.rpartition(", ")[2] for text in texts[1:]] == ["10 times", "100 times", "1000 times"]
    assert all("\n" not in text and "test_system.py" in text for text in texts[1:])


def test_a_file_that_cannot_be_written_is_named_and_not_the_one_beside_it(tmp_path: Path) -> None:
    """Root may write anywhere: what fails is made to fail."""
    with pytest.raises(FileNotFoundError) as caught:
        files.replace(tmp_path / "none" / "x", b"")
    assert caught.value.filename == str(tmp_path / "none" / "x")

    def taken(new: str, place: str) -> None:
        raise PermissionError(13, "Permission denied", new, None, place)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files.platform, "take_place", taken)
        with pytest.raises(PermissionError) as refused:
            files.replace(tmp_path / "x", b"")
    assert str(tmp_path / "x") in str(refused.value)
    assert ".new" not in str(refused.value)
    assert not list(tmp_path.iterdir())


# --- priorities

LOWERED = """
import os, threading
from desdaemon.protocol.system import platform

def lower():
    for steps in (5, 5, 19):
        platform.lower_thread(steps)
        print(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

os.nice(12)
thread = threading.Thread(target=lower)
thread.start()
thread.join()
print(os.getpriority(os.PRIO_PROCESS, 0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no niceness of its own")
def test_a_lowered_thread_goes_after_its_process_however_low_that_is() -> None:
    """With `nice -n 12 desdaemon serve` the searches would otherwise go before the loop that all clients wait for."""
    done = subprocess.run([sys.executable, "-P", "-c", IMPORT + LOWERED], capture_output=True, text=True, check=True)
    base = os.getpriority(os.PRIO_PROCESS, 0)
    assert done.stdout.split() == [str(min(19, base + steps)) for steps in (17, 17, 31, 12)]


# --- output


def test_the_limit_of_open_files_rises_where_no_limit_is_too_much_as_on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    unlimited, asked = (1 << 63) - 1, []

    def set_limit(kind: int, limits: tuple[int, int]) -> None:
        asked.append(limits)
        if limits[0] > 10240:
            raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr("resource.getrlimit", lambda kind: (256, unlimited))
    monkeypatch.setattr("resource.setrlimit", set_limit)
    platform.raise_open_files()
    assert asked == [(unlimited, unlimited), (10240, unlimited)]


def test_output_without_a_reader_stops_nobody_and_tells_what_was_lost() -> None:
    reading, writing = os.pipe()
    output = UnreadOutput(writing)
    lines = [f"{number:06}\n" for number in range(4 * MOST_WAITING // 7)]
    for line in lines:
        output.write(line)
    with os.fdopen(reading, "rb") as pipe, os.fdopen(writing, "wb"):
        found = []
        for line in pipe:
            found.append(line.decode())
            if "dropped" in found[-1]:
                break
        *kept, told = found
        assert kept == lines[: len(kept)]
        assert MOST_WAITING <= 7 * len(kept) < 2 * MOST_WAITING
        assert told == f"... lines dropped because nobody was reading: {len(lines) - len(kept)}\n"
        output.write("read again\n")
        assert pipe.readline() == b"read again\n"
        output.close()


def test_output_that_nobody_reads_does_not_keep_a_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"""{IMPORT}
import sys
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.output import UnreadOutput

with logs.without_waiting():
    output = UnreadOutput(1)
    for _ in range(100_000):
        output.write("an answer\\n")
        logs.message("a message")
    output.close()
sys.exit(7)
"""
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, program], stdout=pipe, stderr=pipe) as process:
        assert process.wait(120) == 7


def test_output_ends_quietly_with_its_reader_and_fails_on_a_full_disk() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe, Path("/dev/full").open("wb") as full:
        unread, failing = UnreadOutput(pipe.fileno()), UnreadOutput(full.fileno())
        for _ in range(3):
            unread.write("text\n")
        unread.close()
        failing.write("text\n")
        with pytest.raises(OSError, match="No space left"):
            failing.close()
        with pytest.raises(OSError, match="No space left"):
            failing.write("more\n")


@pytest.mark.posix
@pytest.mark.skipif(sys.platform != "linux", reason="other systems lack the class")
def test_the_lowest_priority_is_that_of_idle_time() -> None:
    """It is that of a session's other processes only where the lowered one leads the session."""
    code = IMPORT + (
        "import os\n"
        "from desdaemon.protocol.system import platform\n"
        "group = '/proc/self/autogroup'\n"
        "read = lambda: open(group).read().split()[-1] if os.path.exists(group) else '-'\n"
        "before = read()\n"
        "platform.lower_process(19)\n"
        "print(os.sched_getscheduler(0) == os.SCHED_IDLE, os.nice(0), before, read())\n"
    )
    program = [sys.executable, "-P", "-c", code]
    leader = subprocess.run(program, capture_output=True, text=True, check=True, start_new_session=True)
    *found, before, after = leader.stdout.split()
    assert found == ["True", "19"]
    assert after == ("19" if before != "-" else "-")
    shell = ["sh", "-c", '"$@"; exit', "sh", *program]
    child = subprocess.run(shell, capture_output=True, text=True, check=True, start_new_session=True)
    *found, before, after = child.stdout.split()
    assert found == ["True", "19"]
    assert after == before


def test_what_is_left_is_told_from_what_is_written_where_locks_hold_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "lock_file", lambda descriptor: None)
    dead, living = "99999999999999999999", str(os.getppid())
    names = [f".a.{dead}-1.new", f".a.{os.getpid()}-0.new", f".a.{living}-1.new", f".a.{living}-2.new"]
    for name in names:
        (tmp_path / name).touch()
    # Nobody has written to it for long: the number is another's now.
    os.utime(tmp_path / names[2], (0, 0))
    with files.replacing(tmp_path / "a") as stream:
        stream.write(b"a")
        files.tidy(tmp_path)
        assert names[3] in (left := {path.name for path in tmp_path.iterdir()})
        assert len(left) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"a", names[3]}
