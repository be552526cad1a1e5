"""The Windows side of `desdaemon.protocol.system.platform`, on a system that is made up.

Its calls are those of kernel32 and msvcrt with the rules of Microsoft's documentation: who has a file open without
FILE_SHARE_DELETE keeps others from renaming it, nobody replaces a file that is open, locks are mandatory.
"""

from __future__ import annotations

import ctypes
import errno
import importlib.util
import os
import signal
import socket
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from checkout import ROOT

from desdaemon.protocol.system import files, locks
from desdaemon.protocol.system import platform as our_side

ACCESS_DENIED, SHARING_VIOLATION, INVALID_PARAMETER = 5, 32, 87
SHARE_DELETE = 0x4
NO_HANDLE = ctypes.c_void_p(-1).value


class Call:
    """A function of a library, which takes ``restype`` and ``argtypes`` as those of ctypes do."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)


class Kernel32:
    """The calls that we make, over real files and processes that are made up."""

    def __init__(self) -> None:
        self.error = 0
        self.open: dict[int, tuple[str, int]] = {}
        self.locked: dict[str, int] = {}
        self.refuse_moves_to: set[str] = set()
        self.processes: dict[int, str] = {}
        self.jobs: dict[int, list[int]] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.mode = 0
        self.CreateFileW = Call(self._create_file)
        self.MoveFileExW = Call(self._move)
        self.OpenProcess = Call(self._open_process)
        self.WaitForSingleObject = Call(lambda handle, _: 0x102 if self.processes[handle] == "runs" else 0)
        self.TerminateProcess = Call(lambda handle, _: self.processes.update({handle: "ended"}) or 1)
        self.CloseHandle = Call(lambda handle: 1)
        self.CreateJobObjectW = Call(self._create_job)
        self.SetInformationJobObject = Call(lambda *arguments: 1)
        self.AssignProcessToJobObject = Call(lambda job, process: self.jobs[job].append(process) or 1)
        self.TerminateJobObject = Call(
            lambda job, _: [self.processes.update({each: "ended"}) for each in self.jobs[job]] and 1
        )
        self.GetCurrentProcess = Call(lambda: -1)
        self.GetCurrentThread = Call(lambda: -2)
        self.SetPriorityClass = Call(lambda *arguments: self.calls.append(("process", *arguments)) or 1)
        self.SetThreadPriority = Call(lambda *arguments: self.calls.append(("thread", *arguments)) or 1)
        self.K32GetProcessMemoryInfo = Call(self._memory)
        self.GlobalMemoryStatusEx = Call(self._physical)
        self.GetStdHandle = Call(lambda number: number)
        self.GetConsoleMode = Call(self._console_mode)
        self.SetConsoleMode = Call(lambda handle, mode: setattr(self, "mode", mode) or 1)

    def _create_file(
        self, name: str, access: int, share: int, _: Any, disposition: int, flags: int, template: Any
    ) -> int | None:
        made = {1: os.O_CREAT | os.O_EXCL, 2: os.O_CREAT | os.O_TRUNC, 3: 0, 4: os.O_CREAT, 5: os.O_TRUNC}[disposition]
        how = {0x80000000: os.O_RDONLY, 0x40000000: os.O_WRONLY}.get(access, os.O_RDWR)
        try:
            descriptor = os.open(name, made | how, 0o666)
        except OSError as error:
            self.error = {errno.ENOENT: 2, errno.EEXIST: 80}.get(error.errno or 0, ACCESS_DENIED)
            return NO_HANDLE
        # The number of one that was closed: its lock went with it.
        self.locked = {each: holder for each, holder in self.locked.items() if holder != descriptor}
        self.open[descriptor] = name, share
        return descriptor

    def _users(self, name: str) -> list[int]:
        """The shares of those who have a file open."""
        for descriptor in list(self.open):
            try:
                os.fstat(descriptor)
            except OSError:
                del self.open[descriptor]
        return [share for each, share in self.open.values() if each == name]

    def _move(self, old: str, new: str, flags: int) -> int:
        assert flags == 0x1 | 0x8
        if new in self.refuse_moves_to or self._users(new):
            self.error = ACCESS_DENIED
            return 0
        if any(not share & SHARE_DELETE for share in self._users(old)):
            self.error = SHARING_VIOLATION
            return 0
        Path(old).rename(new)
        self.open = {number: (new if name == old else name, share) for number, (name, share) in self.open.items()}
        return 1

    def unlink(self, path: Any) -> None:
        """`os.unlink` of a file that is open marks it, and keeps its name: here it is refused."""
        if self._users(os.fspath(path)):
            raise PermissionError(errno.EACCES, "in use")
        os.remove(path)  # noqa: PTH107  it stands for os.unlink itself

    def _open_process(self, access: int, _: bool, process: int) -> int:
        if process not in self.processes:
            self.error = INVALID_PARAMETER
            return 0
        if self.processes[process] == "another user's":
            self.error = ACCESS_DENIED
            return 0
        return process

    def _create_job(self, *_: Any) -> int:
        self.jobs[len(self.jobs) + 100] = []
        return len(self.jobs) + 99

    def _memory(self, _: int, found: Any, size: int) -> int:
        counters = found._obj
        assert size == ctypes.sizeof(counters) == (72 if sys.maxsize > 1 << 32 else 40)
        counters.resident, counters.most_resident = 10 << 20, 30 << 20
        return 1

    def _physical(self, found: Any) -> int:
        assert found._obj.length == ctypes.sizeof(found._obj) == 64
        found._obj.physical = 8 << 30
        return 1

    def _console_mode(self, handle: int, found: Any) -> int:
        found._obj.value = self.mode
        return 1


@pytest.fixture
def kernel() -> Kernel32:
    return Kernel32()


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch, kernel: Kernel32) -> ModuleType:
    def locking(descriptor: int, mode: int, count: int) -> None:
        assert mode == 2
        assert count == 1
        assert os.lseek(descriptor, 0, os.SEEK_CUR) > 1 << 20, "the content would be locked too"
        name = kernel.open[descriptor][0]
        kernel._users(name)
        if kernel.locked.get(name) in kernel.open:
            raise OSError(errno.EACCES, "locked")
        kernel.locked[name] = descriptor

    msvcrt = SimpleNamespace(LK_NBLCK=2, locking=locking, open_osfhandle=lambda handle, flags: handle)
    monkeypatch.setitem(sys.modules, "msvcrt", msvcrt)
    for name, value in (
        ("WinDLL", lambda name, use_last_error: kernel),
        ("get_last_error", lambda: kernel.error),
        ("FormatError", lambda code: f"error {code}"),
    ):
        monkeypatch.setattr(ctypes, name, value, raising=False)
    monkeypatch.setattr(os, "O_BINARY", 0, raising=False)
    monkeypatch.setattr(os, "O_NOINHERIT", 0, raising=False)
    monkeypatch.setenv("APPDATA", "/profile/roaming")
    monkeypatch.setenv("LOCALAPPDATA", "/profile/local")
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    spec = importlib.util.spec_from_file_location("windows_side", ROOT / "protocol/system/platform/windows.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "platform", "win32")
        spec.loader.exec_module(module)
    monkeypatch.setattr(os, "unlink", kernel.unlink)
    return module


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch, windows: ModuleType) -> ModuleType:
    """The modules over the platform work on the made-up system."""
    monkeypatch.setattr(files, "platform", windows)
    monkeypatch.setattr(locks, "platform", windows)
    return windows


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "book"
    path.write_bytes(b"old")
    return path


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced(everywhere: ModuleType, place: Path) -> None:
    files.replace(place, b"new")
    assert place.read_bytes() == b"new"
    files.replace(place.with_name("other"), b"first")
    assert left(place.parent) == ["book", "other"]


def test_who_has_the_old_content_open_keeps_it(everywhere: ModuleType, place: Path) -> None:
    descriptor = everywhere.open_file(place, os.O_RDONLY)
    files.replace(place, b"new")
    assert place.read_bytes() == b"new"
    assert os.read(descriptor, 10) == b"old"
    [aside] = [name for name in left(place.parent) if name != "book"]
    assert aside.startswith("book.")
    assert aside.endswith(".old")
    os.close(descriptor)
    files.replace(place, b"newest")
    assert left(place.parent) == ["book"], "what was moved aside goes when nobody uses it any more"


def test_a_file_that_another_program_holds_stays_as_it_was(
    everywhere: ModuleType, kernel: Kernel32, place: Path
) -> None:
    descriptor = os.open(place, os.O_RDONLY)
    kernel.open[descriptor] = str(place), 0x1 | 0x2
    with pytest.raises(OSError, match=f"error {SHARING_VIOLATION}"):
        files.replace(place, b"new")
    assert place.read_bytes() == b"old"
    assert left(place.parent) == ["book"]
    os.close(descriptor)
    files.replace(place, b"new")
    assert place.read_bytes() == b"new"


def test_a_file_comes_back_where_the_new_one_cannot_take_its_name(
    everywhere: ModuleType, kernel: Kernel32, place: Path
) -> None:
    descriptor = everywhere.open_file(place, os.O_RDONLY)
    move = kernel.MoveFileExW

    def second_fails(old: str, new: str, flags: int) -> int:
        if old.endswith(".new"):
            kernel.error = ACCESS_DENIED
            return 0
        return int(move(old, new, flags))

    kernel.MoveFileExW = Call(second_fails)
    with pytest.raises(OSError, match=f"error {ACCESS_DENIED}"):
        files.replace(place, b"new")
    assert place.read_bytes() == b"old"
    assert left(place.parent) == ["book"]
    os.close(descriptor)


def test_files_are_opened_as_asked(windows: ModuleType, kernel: Kernel32, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(OSError, match="error 2"):
        windows.open_file(path, os.O_RDONLY)
    descriptor = windows.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    assert kernel.open[descriptor] == (str(path), 0x1 | 0x2 | 0x4)
    assert windows.write_at(descriptor, b"content", 2) == 7
    os.close(descriptor)
    with pytest.raises(OSError, match="error 80"):
        windows.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    descriptor = windows.open_file(path, os.O_RDWR)
    assert windows.read_at(descriptor, 3, 2) == b"con"
    os.close(descriptor)


def test_a_lock_is_held_by_one(everywhere: ModuleType, tmp_path: Path) -> None:
    first = locks.FileLock(tmp_path / "lock")
    with pytest.raises(locks.Held) as refused:
        locks.FileLock(tmp_path / "lock")
    assert refused.value.holder == os.getpid(), "who has it can be read although locks are mandatory"
    first.release()
    locks.FileLock(tmp_path / "lock").release()


def test_processes_are_looked_for_and_ended(windows: ModuleType, kernel: Kernel32) -> None:
    kernel.processes = {4: "another user's", 10: "runs", 11: "ended"}
    assert [windows.alive(number) for number in (4, 10, 11, 12)] == [True, True, False, False]
    windows.kill(10)
    assert not windows.alive(10)
    with pytest.raises(ProcessLookupError):
        windows.kill(12)
    with pytest.raises(OSError, match="error 5"):
        windows.kill(4)


class Child:
    """What `subprocess.Popen` is there."""

    def __init__(self, kernel: Kernel32, number: int) -> None:
        self.pid = self._handle = number
        self._kernel = kernel
        self.signals: list[Any] = []
        kernel.processes[number] = "runs"

    def poll(self) -> int | None:
        return None if self._kernel.processes[self.pid] == "runs" else 1

    def kill(self) -> None:
        self._kernel.processes[self.pid] = "killed"

    def send_signal(self, number: Any) -> None:
        self.signals.append(number)


def test_a_group_ends_with_its_job(windows: ModuleType, kernel: Kernel32, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "CTRL_BREAK_EVENT", "break", raising=False)
    monkeypatch.setattr("subprocess.CREATE_NEW_PROCESS_GROUP", 0x200, raising=False)
    assert windows.own_group() == windows.asked_child() == {"creationflags": 0x200}
    child, alone = Child(kernel, 20), Child(kernel, 21)
    windows.contain(child)
    kernel.jobs[100].append(30)
    kernel.processes[30] = "runs"
    windows.ask_to_end(child, signal.SIGTERM)
    assert child.signals == ["break"]
    windows.end_group(child)
    windows.end_group(child)
    assert kernel.processes == {20: "ended", 21: "runs", 30: "ended"}
    windows.end_group(alone)
    assert kernel.processes[21] == "killed"
    assert not windows.GUARD


def test_priorities(windows: ModuleType, kernel: Kernel32) -> None:
    windows.lower_thread(5)
    windows.lower_thread(19)
    windows.lower_process(5)
    windows.lower_process(19)
    assert kernel.calls == [("thread", -2, -1), ("thread", -2, -2), ("process", -1, 0x4000), ("process", -1, 0x40)]


def test_memory(windows: ModuleType) -> None:
    assert windows.resident_bytes() == 10 << 20
    assert windows.most_resident_bytes() == 30 << 20
    assert windows.physical_bytes() == 8 << 30
    assert windows.page_faults() is None


def test_a_port_is_for_one(windows: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", -5, raising=False)
    options: list[tuple[int, ...]] = []
    windows.claim_port(SimpleNamespace(setsockopt=lambda *found: options.append(found)))
    assert options == [(socket.SOL_SOCKET, -5, 1)]


def test_a_console_is_told_to_understand_escapes(
    windows: ModuleType, kernel: Kernel32, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)
    kernel.mode = 0x3
    assert windows.escapes(2)
    assert kernel.mode == 0x7
    assert not windows.escapes(1)


def test_folders_are_those_of_the_profile(windows: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    from desdaemon.protocol.system import folders

    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "DESDAEMON_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("USERPROFILE", "/profile")
    monkeypatch.setattr(folders, "platform", windows)
    assert folders.configuration() == "/profile/roaming/desdaemon"
    assert folders.data() == "/profile/local/desdaemon"
    assert next(folders.caches()) == "/profile/local/desdaemon"


def test_our_side_knows_where_a_socket_path_ends(tmp_path: Path) -> None:
    limit = our_side.LONGEST_SOCKET_PATH
    for length, fits in ((limit, True), (limit + 1, False)):
        path = f"{tmp_path}/".ljust(length, "x")
        with our_side.ipc_socket() as found:
            if fits:
                found.bind(path)
            else:
                with pytest.raises(OSError, match="too long"):
                    found.bind(path)
