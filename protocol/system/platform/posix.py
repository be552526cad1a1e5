"""The POSIX side: Linux, macOS and the BSDs. What each name promises is said here; `windows` has the same names.

Functions may be called from any thread unless they say otherwise, and raise `OSError` where the system refuses.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

assert sys.platform != "win32"

if TYPE_CHECKING:
    import asyncio
    import mmap
    import socket
    import subprocess
    from collections.abc import Callable

# `pathlib` is slow to load, and a start asks for some of these.
# ruff: noqa: PTH105, PTH123

# Files


def open_file(path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """A descriptor as of `os.open`, of bytes, that no child inherits; others may replace the file meanwhile."""
    return os.open(path, flags | os.O_CLOEXEC, mode)


def lock_file(descriptor: int) -> None:
    """Lock an open file until it is closed or the process ends; raises `BlockingIOError` where another one has it."""
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def sync(descriptor: int) -> None:
    """Have a file's content on the disk itself.

    macOS' `fsync` ends when the drive has the data, perhaps in its cache alone; ``F_FULLFSYNC`` empties the cache
    (fsync(2) there). File systems of other makers may not know it.
    """
    if sys.platform == "darwin":
        import fcntl

        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError:
            os.fsync(descriptor)
    else:
        os.fsync(descriptor)


def sync_data(descriptor: int) -> None:
    """As `sync`, without what need not be there to read the content again."""
    if sys.platform == "darwin":
        sync(descriptor)
    else:
        os.fdatasync(descriptor)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Bring the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # Not F_FULLFSYNC: what was renamed was on the disk before.
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def take_place(new: str, place: str) -> None:
    """Give a file the name of another one, or a free one, in one step, also while others have that one open or mapped.

    They keep the old content.
    """
    os.replace(new, place)


def set_mode(descriptor: int, mode: int) -> None:
    """Give an open file these permissions."""
    os.fchmod(descriptor, mode)


def is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to the user of this process."""
    return status.st_uid == os.getuid()


def open_to_others(status: os.stat_result, what: int) -> bool:
    """Whether others than the owner have one of these permissions: 0o022 to write, 0o077 any."""
    return bool(status.st_mode & what)


def reserve(descriptor: int, size: int) -> None:
    """Make an empty file so large; where the system can, with room on the disk that is promised."""
    if sys.platform == "darwin":
        os.ftruncate(descriptor, size)
    else:
        os.posix_fallocate(descriptor, 0, size)


# Folders

ENVIRONMENT_HOME = "HOME"
"""The variable that says where this user's files are."""

CONFIGURATION = "~/.config"
DATA = "~/.local/share"
STATE = "~/.local/state"
CACHE = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
"""Where they are unless the variables of the XDG base directory specification name others."""


def user() -> str:
    """The user's id, for file names that users of a machine do not share."""
    return str(os.getuid())


# Memory and processors


def resident_bytes() -> int:
    """Memory of this process that is in RAM; where only the most so far is known, that. 0 where nothing is."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return most_resident_bytes()


def most_resident_bytes() -> int:
    """The most memory in RAM that this process has had."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Bytes on macOS, kilobytes on Linux and the BSDs: getrusage(2) of each.
    return most if sys.platform == "darwin" else most << 10


def own_bytes(process: int | None = None, *, swapped: bool = False) -> int:
    """Memory of a process in RAM that belongs to no file, with ``swapped`` what is in swap too; 0 where unknown."""
    wanted = ("RssAnon", "VmSwap") if swapped else ("RssAnon",)
    try:
        with open(f"/proc/{process or 'self'}/status", encoding="ascii", errors="replace") as file:
            return sum(int(line.split()[1]) << 10 for line in file if line.startswith(wanted))
    except (OSError, IndexError, ValueError):
        return 0


def open_files(process: int) -> int:
    """The number of files and sockets that a process has open; 0 where that is not known."""
    try:
        return len(os.listdir(f"/proc/{process}/fd"))  # noqa: PTH208
    except OSError:
        return 0


def physical_bytes() -> int:
    """The memory of this machine; 0 where that is not known."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def page_faults() -> tuple[int, int] | None:
    """Pages that this process had to wait for: without reading from a disk, and with. None where unknown."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_minflt, used.ru_majflt


def private_memory(size: int) -> mmap.mmap:
    """Zeroed pages of this process alone."""
    import mmap

    # Shared memory, the default, would keep its content when its pages are given back.
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def use_large_pages(mapping: mmap.mmap) -> None:
    """Have the system use large pages for private memory, where it has them."""
    if sys.platform == "linux":
        import contextlib
        import mmap

        with contextlib.suppress(OSError, ValueError):
            mapping.madvise(mmap.MADV_HUGEPAGE)


def read_single_pages(mapping: mmap.mmap, single: bool) -> None:
    """Have the system read only the pages of a mapped file that are used, or, as usual, what lies around them too."""
    import contextlib
    import mmap

    with contextlib.suppress(OSError, ValueError):
        mapping.madvise(mmap.MADV_RANDOM if single else mmap.MADV_NORMAL)


def read_soon(mapping: mmap.mmap, start: int, size: int) -> None:
    """Have the system begin to read bytes of a mapped file that are about to be used."""
    import contextlib
    import mmap

    first = start // mmap.PAGESIZE * mmap.PAGESIZE
    with contextlib.suppress(OSError, ValueError):
        mapping.madvise(mmap.MADV_WILLNEED, first, start + size - first)


def drop_pages(mapping: mmap.mmap) -> bool:
    """Give the pages of private memory back, so that it is zeros again; false where nothing happened.

    Linux alone: elsewhere ``MADV_DONTNEED`` is advice, and the content may stay (madvise(2) of macOS and POSIX).
    """
    if sys.platform == "linux":
        import mmap

        try:
            mapping.madvise(mmap.MADV_DONTNEED)
        except (OSError, ValueError):
            return False
        return True
    return False


def processors() -> int:
    """The number of processors that this process may run on, 1 at least."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def lower_thread(niceness: int) -> None:
    """Let this thread go after the process' main one, by 1 to 19 steps of niceness, where the system can.

    Linux takes a thread's number for a process' (setpriority(2)); elsewhere that number may be that of another process.
    macOS has classes for threads instead (pthread/qos.h).
    """
    import contextlib

    if sys.platform == "linux":
        import threading

        with contextlib.suppress(OSError):
            niceness += os.getpriority(os.PRIO_PROCESS, os.getpid())
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
    elif sys.platform == "darwin":
        import ctypes

        utility, background = 0x11, 0x09
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).pthread_set_qos_class_self_np(background if niceness >= 15 else utility, 0)


def lower_process(niceness: int) -> None:
    """Let this process, and children it will have, go after others; where that is refused nothing happens."""
    import contextlib

    with contextlib.suppress(OSError):
        os.nice(niceness)


# Processes

GUARD = """
import os, signal, sys
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
groups = set()
for line in sys.stdin.buffer:
    (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""
"""A Python program that ends groups when the process that feeds it (``+GROUP``, ``-GROUP``) ends in any way."""


def own_group() -> dict[str, Any]:
    """The arguments of `subprocess.Popen` for a process in a group of its own, which the keyboard's Ctrl-C does not
    reach; where the system has sessions, in one of its own.
    """
    return {"start_new_session": True}


def asked_child() -> dict[str, Any]:
    """The arguments of `subprocess.Popen` for a child that `ask_to_end` reaches, in our own group if possible."""
    return {}


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process of an own group and what it has started; nothing happens where they have ended."""
    import contextlib
    import signal

    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def alive(process: int) -> bool:
    """Whether there is a process of that number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def ask_to_end(process: subprocess.Popen[bytes], number: int) -> None:
    """Ask a child to end cleanly, by the signal of that number where there are signals."""
    process.send_signal(number)


# Signals


def ending_signals() -> tuple[int, ...]:
    """The signals that ask a process to end, the keyboard's first."""
    import signal

    return signal.SIGINT, signal.SIGTERM, signal.SIGHUP


def on_signal(loop: asyncio.AbstractEventLoop, number: int, called: Callable[..., object], *arguments: object) -> None:
    """Have a function called on a running event loop when a signal comes. Main thread only."""
    loop.add_signal_handler(number, called, *arguments)


def event_loop() -> asyncio.AbstractEventLoop:
    """A new event loop that can watch sockets, as pyzmq and tornado need it."""
    import asyncio

    return asyncio.new_event_loop()


# Sockets

HAS_IPC = True
"""Whether sockets can have paths (ipc)."""

READING_BLOCKS_LOADING = False
"""Whether a library that looks at standard input while it is loaded, as numpy's do, waits for a read of it to end."""

LONGEST_SOCKET_PATH = 107 if sys.platform == "linux" else 103
"""Bytes: sizeof(sun_path) less the zero at its end, unix(7) on Linux, unix(4) on macOS and the BSDs."""


def ipc_socket() -> socket.socket:
    """A new socket for a path; only where `HAS_IPC`."""
    import socket

    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


def claim_port(listening: socket.socket) -> None:
    """Before `bind`: take a port that a process which has ended used a moment ago, but none that is listened at."""
    import socket

    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def raise_open_files() -> None:
    """Let this process have as many open files as the system grants."""
    import contextlib
    import resource

    with contextlib.suppress(OSError, ValueError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


# Terminals


def line_editing() -> Any:
    """The module `readline`; raises `ImportError` where the system, or its terminal, edits lines itself."""
    import readline

    return readline


def complete_with_tab(readline: Any) -> None:
    """Have the tabulator complete words. macOS' Pythons may come with libedit, whose words differ from readline's."""
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")


def terminal_state(descriptor: int) -> Any:
    """The settings of a terminal, for `restore_terminal`; raises `ImportError` or an error where it is none."""
    import termios

    return termios.tcgetattr(descriptor)


def restore_terminal(descriptor: int, state: Any) -> None:
    """Leave a terminal as it was found; nothing happens where it is gone."""
    import termios

    try:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, state)
    except (OSError, ValueError, termios.error):
        return


def escapes(descriptor: int) -> bool:
    """Whether the terminal at a descriptor understands the escape sequences of ECMA-48: every one does here."""
    del descriptor
    return True
