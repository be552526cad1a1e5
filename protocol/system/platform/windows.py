"""Windows, by Python's library and psutil. `posix` documents each function. Tried under Wine alone."""

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
# ruff: noqa: PTH100, PTH105, PTH108, PTH118, PTH207

# Files

_CREATE_NEW, _OPEN_EXISTING, _OPEN_ALWAYS = 1, 3, 4
_SHARE_ALL = 0x1 | 0x2 | 0x4
_HELD_S, _HELD_AGAIN_S = 2.0, 0.05
"""How long, and how often, a file is renamed again that somebody holds."""

_PORTS = "123456789¹²³"
_DEVICES = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", *(f"COM{n}" for n in _PORTS), *(f"LPT{n}" for n in _PORTS)}
_LOCKED_BYTE = 1 << 30
"""Locks are mandatory on Windows: a byte far behind the content is locked, so that others can read who holds the lock.
"""


def open_file(path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """Open a file by CreateFile, because `os.open` does not ask for FILE_SHARE_DELETE, without which others cannot
    rename the open file.
    """
    import _winapi
    import msvcrt

    access = 0 if flags & os.O_WRONLY else _winapi.GENERIC_READ
    access |= _winapi.GENERIC_WRITE if flags & (os.O_WRONLY | os.O_RDWR) else 0
    making = _CREATE_NEW if flags & os.O_EXCL else _OPEN_ALWAYS if flags & os.O_CREAT else _OPEN_EXISTING
    handle = _winapi.CreateFile(os.fspath(path), access, _SHARE_ALL, _winapi.NULL, making, 0, _winapi.NULL)
    return msvcrt.open_osfhandle(handle, flags & ~(os.O_CREAT | os.O_EXCL) | os.O_BINARY | os.O_NOINHERIT)


def open_inside(folder: str, name: str) -> int:
    """Open it after looking for links on the way, of which junctions are one kind."""
    path = os.path.join(folder, name)
    if os.path.normcase(os.path.realpath(path)) != os.path.normcase(os.path.abspath(path)):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return open_file(path, os.O_RDONLY)


def reader_left(error: OSError) -> bool:
    """Return whether a write failed because nobody reads the pipe any more: the C library calls that EINVAL."""
    return isinstance(error, BrokenPipeError) or (error.errno == errno.EINVAL and error.filename is None)


def takes_output(descriptor: int, wait_s: float) -> bool:
    """True: Windows does not tell."""
    return True


def names_file(path: str | os.PathLike[str]) -> bool:
    """False for what names no file, or not the one that the user means: devices, also with a suffix, a colon, which
    begins a stream of a file, a drive without a folder, a dot or blank at the end.
    """
    import ntpath

    drive, rest = ntpath.splitdrive(os.fspath(path))
    name = ntpath.basename(rest)
    return (
        drive != "\\\\."
        and (drive[-1:] != ":" or rest[:1] in ("\\", "/"))
        and not drive.startswith("\\\\.\\")
        and name.partition(".")[0].rstrip().upper() not in _DEVICES
        and not any(letter in '<>:"|?*' or letter < " " for letter in name)
        and (name in ("", ".", "..") or name[-1] not in " .")
    )


def folded(path: str) -> str:
    return path.casefold()


def lock_file(descriptor: int) -> None:
    import msvcrt

    os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError:
        # What the error says depends on the C library: 0 in some.
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)


def sync(descriptor: int) -> None:
    os.fsync(descriptor)


def sync_data(descriptor: int) -> None:
    os.fsync(descriptor)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Do nothing: folders cannot be flushed."""


def take_place(new: str, place: str) -> None:
    """Rename ``new`` to ``place``. If the old file at ``place`` is open or mapped, it is moved aside
    first; a later call, or `remove_replaced`, removes it.

    A file in use cannot be replaced, but can be renamed if `open_file` opened it. Between the two renamings the name is
    missing for a moment. Virus scanners and OneDrive hold files for moments without permission to rename: it is tried
    for `_HELD_S` seconds.
    """
    import time

    end = time.monotonic() + _HELD_S
    while True:
        try:
            _replace(new, place)
            break
        except PermissionError:
            if time.monotonic() >= end:
                raise
            time.sleep(_HELD_AGAIN_S)
    remove_replaced(place)


def remove_replaced(place: str) -> None:
    import contextlib

    for old, _ in _moved_aside(place, "(?:-[01])?"):
        with contextlib.suppress(OSError):
            os.unlink(old)


def bring_back(place: str) -> None:
    """Rename back the file that a process had moved aside when it was killed, if nothing has taken its place. While the
    last one to move it aside is alive, it is about to put a new file there.
    """
    import contextlib

    if os.access(place, os.F_OK):
        return
    for old, process in _moved_aside(place)[:1]:
        if not alive(process):
            with contextlib.suppress(OSError):
                os.replace(old, place)


def _moved_aside(place: str, more: str = "") -> list[tuple[str, int]]:
    """Return the files that `take_place` moved aside from ``place``, the last first, with the process of each; ``more``
    is a pattern of what may stand behind the time.
    """
    import glob
    import re

    found = []
    for old in glob.glob(f"{glob.escape(place)}.*.old"):
        # The time in ns has so many digits; a copy of the user's may have a date.
        if match := re.fullmatch(rf"\.([0-9]+)-([0-9]{{18,}}){more}\.old", old.removeprefix(place)):
            found.append((int(match[2]), old, int(match[1])))
    return [(old, process) for _, old, process in sorted(found, reverse=True)]


def _replace(new: str, place: str) -> None:
    """Rename ``new`` to ``place``, once the file there is renamed if it is in use."""
    import time

    try:
        os.replace(new, place)
    except PermissionError:
        aside = f"{place}.{os.getpid()}-{time.time_ns()}.old"
        os.replace(place, aside)
        try:
            os.replace(new, place)
        except OSError:
            os.replace(aside, place)
            raise


def set_mode(descriptor: int, mode: int) -> None:
    """Do nothing: files have the access list of their folder, which in a user's profile admits nobody else."""


def is_ours(status: os.stat_result) -> bool:
    """Return true: Windows has no numeric user ids."""
    return True


def open_to_others(status: os.stat_result, what: int) -> bool:
    """Return false: permission bits mean nothing on Windows."""
    return False


def reserve(descriptor: int, size: int) -> None:
    """Set the size; NTFS then reserves the room."""
    os.ftruncate(descriptor, size)


MAPPED_FILES_CAN_BE_CUT = False


# Folders

ENVIRONMENT_HOME = "USERPROFILE"
CONFIGURATION = os.environ.get("APPDATA", "~\\AppData\\Roaming")
DATA = STATE = CACHE = os.environ.get("LOCALAPPDATA", "~\\AppData\\Local")


def user() -> str:
    return os.environ.get("USERNAME", "user")


# Memory and processors


def resident_bytes() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)


def most_resident_bytes() -> int:
    import psutil

    return int(psutil.Process().memory_info().peak_wset)


def own_bytes(process: int) -> int:
    """Return the bytes of private memory in RAM and in swap together: Windows has no separate count of each."""
    import psutil

    return int(psutil.Process(process).memory_info().private)


def open_files(process: int) -> int:
    import psutil

    return int(psutil.Process(process).num_handles())


def physical_bytes() -> int:
    import psutil

    return int(psutil.virtual_memory().total)


def page_faults() -> tuple[int, int] | None:
    """Return None: the system counts both kinds as one."""
    return None


def private_memory(size: int) -> mmap.mmap:
    import mmap

    return mmap.mmap(-1, size)


def use_large_pages(mapping: mmap.mmap) -> None:
    """Do nothing: large pages require a privilege."""


def read_single_pages(mapping: mmap.mmap, single: bool) -> None:
    """Do nothing: Windows decides which pages to read."""


def read_soon(mapping: mmap.mmap, start: int, size: int) -> None:
    """Do nothing: Windows decides which pages to read."""


def drop_pages(mapping: mmap.mmap) -> bool:
    return False


def processors() -> int:
    return os.cpu_count() or 1


def lower_thread(niceness: int) -> None:
    """Do nothing: neither Python nor psutil has a call for it."""


def lower_process(niceness: int) -> None:
    import psutil

    psutil.Process().nice(psutil.IDLE_PRIORITY_CLASS if niceness >= 15 else psutil.BELOW_NORMAL_PRIORITY_CLASS)


# Processes


def command_words(text: str) -> list[str]:
    """Return the words of a command line. A backslash is a letter of a path; both kinds of quotes enclose blanks."""
    import shlex

    reader = shlex.shlex(text, posix=True)
    reader.whitespace_split, reader.commenters, reader.escape = True, "", ""
    return list(reader)


def command_text(words: list[str]) -> str:
    """Return the command line from which `command_words` makes ``words``. A word has one kind of quotes at most."""
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    if word and not any(letter in word for letter in " \t\"'"):
        return word
    return f"'{word}'" if '"' in word else f'"{word}"'


GUARD = ""
_KILL_ON_CLOSE = 0x2000
_LIMITS, _LIMITS_BYTES, _LIMIT_FLAGS_AT = 9, 144, 16
"""JOBOBJECT_EXTENDED_LIMIT_INFORMATION: its number, its size, where its flags are."""
_SET_QUOTA_TERMINATE = 0x0101
_jobs: dict[int, int] = {}
"""By the numbers of processes, the jobs that they are in."""


def end_with_us(process: subprocess.Popen[bytes]) -> None:
    """Put the process into a job. What it starts from then on is in the job too; all end when nobody has the job's
    handle any more.
    """
    import _winapi
    import contextlib
    import ctypes
    import struct

    kernel = _kernel()
    job = kernel.CreateJobObjectW(None, None)
    limits = ctypes.create_string_buffer(_LIMITS_BYTES)
    struct.pack_into("<I", limits, _LIMIT_FLAGS_AT, _KILL_ON_CLOSE)
    kernel.SetInformationJobObject(job, _LIMITS, limits, _LIMITS_BYTES)
    # It may have ended already.
    with contextlib.suppress(OSError):
        handle = _winapi.OpenProcess(_SET_QUOTA_TERMINATE, False, process.pid)
        kernel.AssignProcessToJobObject(job, handle)
        _winapi.CloseHandle(handle)
    _jobs[process.pid] = job


def _kernel() -> Any:
    """Return the functions of jobs; handles are as wide as pointers."""
    import ctypes
    from ctypes import wintypes

    kernel = ctypes.WinDLL("kernel32")
    handle = wintypes.HANDLE
    kernel.CreateJobObjectW.restype = handle
    kernel.CreateJobObjectW.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    kernel.SetInformationJobObject.argtypes = [handle, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD]
    kernel.AssignProcessToJobObject.argtypes = [handle, handle]
    kernel.TerminateJobObject.argtypes = [handle, wintypes.UINT]
    return kernel


def own_group() -> dict[str, Any]:
    import subprocess

    return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}


def asked_child() -> dict[str, Any]:
    """Return arguments that start the child in a group of its own: `ask_to_end` can reach only a whole group."""
    return own_group()


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process of `end_with_us` and what it has started, also if it has ended by itself."""
    import _winapi
    import contextlib

    if (job := _jobs.pop(process.pid, 0)) != 0:
        _kernel().TerminateJobObject(job, 1)
        _winapi.CloseHandle(job)
    # Should it not have been put into its job.
    with contextlib.suppress(OSError):
        process.kill()


def alive(process: int) -> bool:
    """Return whether a process exists, from psutil: `os.kill` with 0 would send Ctrl-C."""
    import psutil

    return process < 1 << 32 and bool(psutil.pid_exists(process))


def ask_to_end(process: subprocess.Popen[bytes], number: int) -> None:
    """Send Ctrl-Break, the only signal that reaches another group, and only on the same console; without a console,
    kill the process.
    """
    import signal

    try:
        process.send_signal(signal.CTRL_BREAK_EVENT)
    except (OSError, SystemError):
        # CPython 3.11 raises SystemError without a console.
        process.kill()


# Signals


def ending_signals() -> tuple[int, ...]:
    """Return the signals that ask this process to end: Ctrl-C, Ctrl-Break (which `ask_to_end` sends) and SIGTERM, which
    on Windows only the process itself can raise.
    """
    import signal

    return signal.SIGINT, signal.SIGBREAK, signal.SIGTERM


def interrupt_main_thread() -> None:
    import signal

    signal.raise_signal(signal.SIGINT)


def on_signal(loop: asyncio.AbstractEventLoop, number: int, called: Callable[..., object], *arguments: object) -> None:
    """Install a signal handler that passes the call to the loop: on Windows loops have no handlers of signals."""
    import signal

    signal.signal(number, lambda *_: loop.call_soon_threadsafe(called, *arguments))


def event_loop() -> asyncio.AbstractEventLoop:
    """Return a loop other than Windows' default one, which cannot watch sockets."""
    import asyncio

    return asyncio.SelectorEventLoop()


# Sockets

HAS_IPC = False
READING_BLOCKS_LOADING = True
LONGEST_SOCKET_PATH = 0


def ipc_socket() -> socket.socket:
    raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))


def claim_port(listening: socket.socket) -> None:
    """Before `bind`, reserve the port for this process alone: SO_REUSEADDR would let two processes listen on it."""
    import socket

    listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)


def raise_open_files() -> int:
    """Return a number without end: there is no limit."""
    return sys.maxsize


def require_descriptors(count: int) -> None:
    """Do nothing: there is no limit."""


# Terminals


def line_editing() -> Any:
    """Raise `ImportError`: the console edits lines itself."""
    raise ImportError("the console edits lines itself")


def complete_with_tab(readline: Any) -> None:
    """Do nothing: it is never called, since `line_editing` returns no module."""


def terminal_state(descriptor: int) -> Any:
    return None


def hide_control_keys(descriptor: int) -> None:
    """Do nothing: the console shows no ``^C``."""


def disable_interrupts(descriptor: int) -> None:
    """Do nothing: Ctrl-C stays what it is."""


def restore_terminal(descriptor: int, state: Any) -> None:
    """Do nothing: there are no settings to restore."""


def escapes(descriptor: int) -> bool:
    """Run an empty command: the console then understands escapes (https://bugs.python.org/issue30075)."""
    return os.isatty(descriptor) and not os.system("")
