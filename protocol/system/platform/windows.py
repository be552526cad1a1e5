"""The Windows side, written from Microsoft's and Python's documentation. See `posix` for what each name promises.

Calls that Python does not offer go to kernel32 by ctypes. It has run on a simulated system only (docs/platforms.md).
"""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, Any

assert sys.platform == "win32"

if TYPE_CHECKING:
    import asyncio
    import mmap
    import socket
    import subprocess
    from collections.abc import Callable

# `pathlib` is slow to load, and a start asks for some of these.
# ruff: noqa: PTH108, PTH118, PTH208

_ACCESS_DENIED, _SHARING_VIOLATION, _LOCK_VIOLATION, _USER_MAPPED_FILE = 5, 32, 33, 1224
_IN_USE = (_ACCESS_DENIED, _SHARING_VIOLATION, _LOCK_VIOLATION, _USER_MAPPED_FILE)

_loaded: Any = None


def _kernel32() -> Any:
    global _loaded
    if _loaded is None:
        import ctypes
        from ctypes import wintypes

        library = ctypes.WinDLL("kernel32", use_last_error=True)
        handle, number = wintypes.HANDLE, wintypes.DWORD
        # Without these a handle would be cut to 32 bits.
        library.CreateFileW.restype = handle
        library.CreateFileW.argtypes = wintypes.LPCWSTR, number, number, wintypes.LPVOID, number, number, handle
        library.MoveFileExW.argtypes = wintypes.LPCWSTR, wintypes.LPCWSTR, number
        library.OpenProcess.restype = handle
        library.OpenProcess.argtypes = number, wintypes.BOOL, number
        library.WaitForSingleObject.argtypes = handle, number
        library.TerminateProcess.argtypes = library.TerminateJobObject.argtypes = handle, wintypes.UINT
        library.CloseHandle.argtypes = (handle,)
        library.CreateJobObjectW.restype = handle
        library.CreateJobObjectW.argtypes = wintypes.LPVOID, wintypes.LPCWSTR
        library.SetInformationJobObject.argtypes = handle, ctypes.c_int, wintypes.LPVOID, number
        library.AssignProcessToJobObject.argtypes = handle, handle
        library.GetCurrentProcess.restype = library.GetCurrentThread.restype = handle
        library.SetPriorityClass.argtypes = handle, number
        library.SetThreadPriority.argtypes = handle, ctypes.c_int
        library.K32GetProcessMemoryInfo.argtypes = handle, wintypes.LPVOID, number
        library.GetStdHandle.restype = handle
        library.GetStdHandle.argtypes = (number,)
        library.GetConsoleMode.argtypes = handle, wintypes.LPVOID
        library.SetConsoleMode.argtypes = handle, number
        library.GlobalMemoryStatusEx.argtypes = (wintypes.LPVOID,)
        _loaded = library
    return _loaded


def _failure(*names: str) -> OSError:
    """The error of the last call, as Python's own functions would raise it."""
    import ctypes

    code = ctypes.get_last_error()
    return OSError(0, ctypes.FormatError(code).strip(), names[0] if names else None, code, *names[1:2])


# Files

_GENERIC_READ, _GENERIC_WRITE = 0x80000000, 0x40000000
_SHARE_ALL = 0x1 | 0x2 | 0x4
_FLAG_NORMAL = 0x80
_CREATE_NEW, _CREATE_ALWAYS, _OPEN_EXISTING, _OPEN_ALWAYS, _TRUNCATE_EXISTING = 1, 2, 3, 4, 5
_REPLACE_EXISTING, _WRITE_THROUGH = 0x1, 0x8

_LOCKED_BYTE = 1 << 30
"""Locks are mandatory: a byte far behind the content is locked, so that others can read who has the lock."""

_PAUSES_S = (0.01, 0.05, 0.2)
"""Scanners and indexers open a new file for moments."""


def open_file(path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """See `posix`. `os.open` would share the file for reading and writing, not for replacing (FILE_SHARE_DELETE)."""
    import ctypes
    import msvcrt

    access = {os.O_RDONLY: _GENERIC_READ, os.O_WRONLY: _GENERIC_WRITE}.get(
        flags & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR), _GENERIC_READ | _GENERIC_WRITE
    )
    if flags & os.O_CREAT:
        truncating = _CREATE_ALWAYS if flags & os.O_TRUNC else _OPEN_ALWAYS
        disposition = _CREATE_NEW if flags & os.O_EXCL else truncating
    else:
        disposition = _TRUNCATE_EXISTING if flags & os.O_TRUNC else _OPEN_EXISTING
    name = os.fspath(path)
    handle = _kernel32().CreateFileW(name, access, _SHARE_ALL, None, disposition, _FLAG_NORMAL, None)
    if handle is None or handle == ctypes.c_void_p(-1).value:
        raise _failure(name)
    kept = flags & (os.O_APPEND | os.O_RDONLY | os.O_WRONLY | os.O_RDWR)
    return msvcrt.open_osfhandle(handle, kept | os.O_BINARY | os.O_NOINHERIT)


def lock_file(descriptor: int) -> None:
    """See `posix`."""
    import msvcrt

    before = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EDEADLK):
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
        raise
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)


def read_at(descriptor: int, length: int, place: int) -> bytes:
    """See `posix`."""
    os.lseek(descriptor, place, os.SEEK_SET)
    return os.read(descriptor, length)


def write_at(descriptor: int, data: bytes, place: int) -> int:
    """See `posix`."""
    os.lseek(descriptor, place, os.SEEK_SET)
    return os.write(descriptor, data)


def sync(descriptor: int) -> None:
    """See `posix`: FlushFileBuffers, which empties the drive's cache too."""
    os.fsync(descriptor)


def sync_data(descriptor: int) -> None:
    """See `posix`."""
    os.fsync(descriptor)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """See `posix`. Folders cannot be flushed; `take_place` returns when the name is on the disk."""


def take_place(new: str, place: str) -> None:
    """See `posix`.

    A file that somebody has open, or mapped, cannot be replaced, but those that `open_file` has opened can be renamed:
    it is moved aside, and removed when it can be. Between the two moves, for a moment, there is no file of the name;
    where the second one fails the first is taken back.
    """
    import time

    for pause in (*_PAUSES_S, None):
        code = _move(new, place)
        if not code:
            _sweep(place)
            return
        if code not in _IN_USE:
            raise _failure(new, place)
        if pause is not None:
            time.sleep(pause)
    aside = f"{place}.{os.getpid()}-{time.monotonic_ns()}.old"
    if _move(place, aside):
        raise _failure(new, place)
    if _move(new, place):
        error = _failure(new, place)
        _move(aside, place)
        raise error
    _sweep(place)


def _move(old: str, new: str) -> int:
    """Rename on the disk; 0 or the system's error."""
    import ctypes

    if _kernel32().MoveFileExW(old, new, _REPLACE_EXISTING | _WRITE_THROUGH):
        return 0
    return ctypes.get_last_error()


def _sweep(place: str) -> None:
    """Remove what was moved aside and is used no more."""
    folder, name = os.path.split(place)
    try:
        found = [each for each in os.listdir(folder or ".") if each.startswith(f"{name}.") and each.endswith(".old")]
    except OSError:
        return
    for each in found:
        try:
            os.unlink(os.path.join(folder, each))
        except OSError:
            continue


def set_mode(descriptor: int, mode: int) -> None:
    """See `posix`. Files have the access list of their folder, which in a user's profile lets nobody else in."""


def is_ours(status: os.stat_result) -> bool:
    """See `posix`. Numbers of users are not known here."""
    return True


def open_to_others(status: os.stat_result, what: int) -> bool:
    """See `posix`. The permission bits say nothing here."""
    return False


def reserve(descriptor: int, size: int) -> None:
    """See `posix`. NTFS gives a file its room when it gets its size."""
    os.ftruncate(descriptor, size)


def forget_cached(descriptor: int) -> None:
    """See `posix`."""


# Folders

ENVIRONMENT_HOME = "USERPROFILE"
CONFIGURATION = os.environ.get("APPDATA", "~\\AppData\\Roaming")
DATA = STATE = CACHE = os.environ.get("LOCALAPPDATA", "~\\AppData\\Local")


def user() -> str:
    """See `posix`."""
    return os.environ.get("USERNAME", "user")


# Memory and processors


def _memory_counters() -> Any:
    """PROCESS_MEMORY_COUNTERS of this process; None where the call fails."""
    import ctypes

    class Counters(ctypes.Structure):
        _fields_ = (
            ("cb", ctypes.c_uint32),
            ("page_faults", ctypes.c_uint32),
            ("most_resident", ctypes.c_size_t),
            ("resident", ctypes.c_size_t),
            *((f"quota{number}", ctypes.c_size_t) for number in range(4)),
            ("committed", ctypes.c_size_t),
            ("most_committed", ctypes.c_size_t),
        )

    found = Counters(ctypes.sizeof(Counters))
    library = _kernel32()
    done = library.K32GetProcessMemoryInfo(library.GetCurrentProcess(), ctypes.byref(found), found.cb)
    return found if done else None


def resident_bytes() -> int:
    """See `posix`."""
    found = _memory_counters()
    return int(found.resident) if found is not None else 0


def most_resident_bytes() -> int:
    """See `posix`."""
    found = _memory_counters()
    return int(found.most_resident) if found is not None else 0


def own_bytes(process: int | str = "self", *, swapped: bool = False) -> int:
    """See `posix`; of this process alone."""
    found = _memory_counters() if process in ("self", os.getpid()) else None
    return int(found.committed if swapped else found.resident) if found is not None else 0


def open_files(process: int) -> int:
    """See `posix`."""
    return 0


def physical_bytes() -> int:
    """See `posix`."""
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            ("physical", ctypes.c_uint64),
            *((f"other{number}", ctypes.c_uint64) for number in range(6)),
        )

    found = Status(ctypes.sizeof(Status))
    return int(found.physical) if _kernel32().GlobalMemoryStatusEx(ctypes.byref(found)) else 0


def page_faults() -> tuple[int, int] | None:
    """See `posix`. The system counts both kinds as one."""
    return None


def private_memory(size: int) -> mmap.mmap:
    """See `posix`."""
    import mmap

    return mmap.mmap(-1, size)


def use_large_pages(mapping: mmap.mmap) -> None:
    """See `posix`. Large pages are for programs with a privilege of their own."""


def read_single_pages(mapping: mmap.mmap, single: bool) -> None:
    """See `posix`. Windows decides by itself what to read."""


def read_soon(mapping: mmap.mmap, start: int, size: int) -> None:
    """See `posix`."""


def drop_pages(mapping: mmap.mmap) -> bool:
    """See `posix`."""
    return False


def processors() -> int:
    """See `posix`."""
    return os.cpu_count() or 1


_PRIORITY_BELOW_NORMAL, _PRIORITY_LOWEST = -1, -2
_CLASS_BELOW_NORMAL, _CLASS_IDLE = 0x4000, 0x40


def lower_thread(niceness: int) -> None:
    """See `posix`."""
    library = _kernel32()
    library.SetThreadPriority(
        library.GetCurrentThread(), _PRIORITY_LOWEST if niceness >= 15 else _PRIORITY_BELOW_NORMAL
    )


def lower_process(niceness: int) -> None:
    """See `posix`."""
    library = _kernel32()
    library.SetPriorityClass(library.GetCurrentProcess(), _CLASS_IDLE if niceness >= 15 else _CLASS_BELOW_NORMAL)


# Processes

GUARD = ""
_KILL_ON_JOB_CLOSE = 0x2000
_EXTENDED_LIMITS = 9
_SYNCHRONIZE, _TERMINATE = 0x00100000, 0x1
_WAIT_TIMEOUT, _INVALID_PARAMETER = 0x102, 87

_jobs: dict[int, int] = {}
"""The job object of each contained process. The system closes the handles with this process, which ends the jobs."""


def own_group() -> dict[str, Any]:
    """See `posix`."""
    import subprocess

    return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}


def asked_child() -> dict[str, Any]:
    """See `posix`: in a group of its own, which alone can be asked."""
    return own_group()


def contain(process: subprocess.Popen[bytes]) -> None:
    """See `posix`: a job object. What the process starts in its first moments is not in it."""
    import ctypes

    class JobLimits(ctypes.Structure):
        _fields_ = (
            ("process_time", ctypes.c_int64),
            ("job_time", ctypes.c_int64),
            ("flags", ctypes.c_uint32),
            ("least_working_set", ctypes.c_size_t),
            ("most_working_set", ctypes.c_size_t),
            ("most_processes", ctypes.c_uint32),
            ("affinity", ctypes.c_size_t),
            ("priority", ctypes.c_uint32),
            ("scheduling", ctypes.c_uint32),
            *((f"io{number}", ctypes.c_uint64) for number in range(6)),
            *((f"memory{number}", ctypes.c_size_t) for number in range(4)),
        )

    library = _kernel32()
    job = library.CreateJobObjectW(None, None)
    if not job:
        raise _failure()
    limits = JobLimits(flags=_KILL_ON_JOB_CLOSE)
    size = ctypes.sizeof(limits)
    done = library.SetInformationJobObject(job, _EXTENDED_LIMITS, ctypes.byref(limits), size)
    handle = int(process._handle)  # type: ignore[attr-defined]  # Python offers no other way to it.
    if not done or not library.AssignProcessToJobObject(job, handle):
        error = _failure()
        library.CloseHandle(job)
        if process.poll() is None:
            raise error
        return
    _jobs[process.pid] = job


def end_group(process: subprocess.Popen[bytes]) -> None:
    """See `posix`."""
    job = _jobs.pop(process.pid, 0)
    if job:
        library = _kernel32()
        library.TerminateJobObject(job, 1)
        library.CloseHandle(job)
    elif process.poll() is None:
        process.kill()


def alive(process: int) -> bool:
    """See `posix`. `os.kill` with 0 would be Ctrl-C here."""
    import ctypes

    library = _kernel32()
    handle = library.OpenProcess(_SYNCHRONIZE, False, process)
    if not handle:
        return ctypes.get_last_error() != _INVALID_PARAMETER
    try:
        return bool(library.WaitForSingleObject(handle, 0) == _WAIT_TIMEOUT)
    finally:
        library.CloseHandle(handle)


def kill(process: int) -> None:
    """See `posix`."""
    import ctypes

    library = _kernel32()
    handle = library.OpenProcess(_TERMINATE, False, process)
    if not handle:
        if ctypes.get_last_error() == _INVALID_PARAMETER:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
        raise _failure()
    try:
        library.TerminateProcess(handle, 1)
    finally:
        library.CloseHandle(handle)


def suspend(process: int) -> None:
    """See `posix`."""
    raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))


def resume(process: int) -> None:
    """See `posix`."""
    raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))


def ask_to_end(process: subprocess.Popen[bytes], number: int) -> None:
    """See `posix`: Ctrl-Break, which alone reaches another group, and only one with the same console."""
    import signal

    process.send_signal(signal.CTRL_BREAK_EVENT)


# Signals


def ending_signals() -> tuple[int, ...]:
    """See `posix`. Ctrl-Break is what `ask_to_end` sends; SIGTERM never comes from outside."""
    import signal

    return signal.SIGINT, signal.SIGBREAK, signal.SIGTERM


def on_signal(loop: asyncio.AbstractEventLoop, number: int, called: Callable[..., object], *arguments: object) -> None:
    """See `posix`. Event loops take no signals here."""
    import signal

    signal.signal(number, lambda *_: loop.call_soon_threadsafe(called, *arguments))


def event_loop() -> asyncio.AbstractEventLoop:
    """See `posix`: not the usual one here, which watches no sockets."""
    import asyncio

    return asyncio.SelectorEventLoop()


# Sockets

HAS_IPC = False
READING_BLOCKS_LOADING = True
LONGEST_SOCKET_PATH = 0


def ipc_socket() -> socket.socket:
    """See `posix`."""
    raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))


def claim_port(listening: socket.socket) -> None:
    """See `posix`. SO_REUSEADDR would let two processes listen at one port here."""
    import socket

    listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)


def raise_open_files() -> None:
    """See `posix`. There is no limit to raise."""


# Terminals

_STANDARD_HANDLES = {0: -10, 1: -11, 2: -12}
_ESCAPES_ON = 0x4


def line_editing() -> Any:
    """See `posix`: the console edits lines and keeps those of the process."""
    raise ImportError("the console edits lines itself")


def complete_with_tab(readline: Any) -> None:
    """See `posix`."""


def terminal_state(descriptor: int) -> Any:
    """See `posix`."""
    return None


def restore_terminal(descriptor: int, state: Any) -> None:
    """See `posix`."""


def escapes(descriptor: int) -> bool:
    """See `posix`: consoles since Windows 10 understand them once they are told to."""
    import ctypes
    from ctypes import wintypes

    if descriptor not in _STANDARD_HANDLES or not os.isatty(descriptor):
        return False
    library = _kernel32()
    handle = library.GetStdHandle(_STANDARD_HANDLES[descriptor] & 0xFFFFFFFF)
    mode = wintypes.DWORD()
    if not library.GetConsoleMode(handle, ctypes.byref(mode)):
        return False
    return bool(mode.value & _ESCAPES_ON or library.SetConsoleMode(handle, mode.value | _ESCAPES_ON))
