"""The POSIX side: Linux, macOS and the BSDs. It documents what each function guarantees; `windows` has the same names.

Functions may be called from any thread unless they say otherwise, and raise `OSError` if the system refuses.
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
    """Open a file as `os.open` does, binary and not inherited by children; the file may be replaced while it is
    open.
    """
    return os.open(path, flags | os.O_CLOEXEC, mode)


def lock_file(descriptor: int) -> None:
    """Lock an open file until it is closed or the process ends; raises `BlockingIOError` if another process has it."""
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def sync(descriptor: int) -> None:
    """Write a file's content to the disk itself.

    macOS' `fsync` returns when the drive has the data, perhaps only in its cache; ``F_FULLFSYNC`` empties the cache
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
    """As `sync`, without metadata that is not needed to read the content."""
    if sys.platform == "darwin":
        sync(descriptor)
    else:
        os.fdatasync(descriptor)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Write the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # No F_FULLFSYNC is needed: the content was on the disk before the renaming.
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def take_place(new: str, place: str) -> None:
    """Rename a file, replacing another one if there is one, in one step, even while others have that one open or
    mapped.

    They keep the old content.
    """
    os.replace(new, place)


def set_mode(descriptor: int, mode: int) -> None:
    """Set the permissions of an open file."""
    os.fchmod(descriptor, mode)


def is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to the user of this process."""
    return status.st_uid == os.getuid()


def open_to_others(status: os.stat_result, what: int) -> bool:
    """Return whether users other than the owner have one of these permissions: 0o022 to write, 0o077 any."""
    return bool(status.st_mode & what)


def reserve(descriptor: int, size: int) -> None:
    """Make an empty file ``size`` bytes long, with room reserved on the disk if the system can do that."""
    if sys.platform == "darwin":
        os.ftruncate(descriptor, size)
    else:
        os.posix_fallocate(descriptor, 0, size)


# Folders

ENVIRONMENT_HOME = "HOME"
"""The environment variable with the home folder of this user."""

CONFIGURATION = "~/.config"
DATA = "~/.local/share"
STATE = "~/.local/state"
CACHE = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
"""Cache folder, unless the variables of the XDG base directory specification name another."""


def user() -> str:
    """Return the user's id, for file names that users of a machine must not share."""
    return str(os.getuid())


# Memory and processors


def resident_bytes() -> int:
    """Return this process's memory in RAM; its peak if only that is known, 0 if nothing is."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return most_resident_bytes()


def most_resident_bytes() -> int:
    """Return the peak of this process's memory in RAM."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Bytes on macOS, kilobytes on Linux and the BSDs: getrusage(2) of each.
    return most if sys.platform == "darwin" else most << 10


def own_bytes(process: int | None = None, *, swapped: bool = False) -> int:
    """Return a process's memory in RAM that belongs to no file, with ``swapped`` including swap; 0 if unknown."""
    wanted = ("RssAnon", "VmSwap") if swapped else ("RssAnon",)
    try:
        with open(f"/proc/{process or 'self'}/status", encoding="ascii", errors="replace") as file:
            return sum(int(line.split()[1]) << 10 for line in file if line.startswith(wanted))
    except (OSError, IndexError, ValueError):
        return 0


def open_files(process: int) -> int:
    """Return the number of files and sockets that a process has open; 0 if unknown."""
    try:
        return len(os.listdir(f"/proc/{process}/fd"))  # noqa: PTH208
    except OSError:
        return 0


def physical_bytes() -> int:
    """Return the memory of this machine; 0 if unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def page_faults() -> tuple[int, int] | None:
    """Return this process's page faults without and with reading from a disk. None if unknown."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_minflt, used.ru_majflt


def private_memory(size: int) -> mmap.mmap:
    """Return zeroed pages that only this process uses."""
    import mmap

    # Shared memory, the default, would keep its content when its pages are given back.
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def use_large_pages(mapping: mmap.mmap) -> None:
    """Make the system use large pages for private memory, if it has them."""
    if sys.platform == "linux":
        import contextlib
        import mmap

        with contextlib.suppress(OSError, ValueError):
            mapping.madvise(mmap.MADV_HUGEPAGE)


def read_single_pages(mapping: mmap.mmap, single: bool) -> None:
    """Make the system read only the used pages of a mapped file; with ``single`` false, as usual, also pages around
    them.
    """
    import contextlib
    import mmap

    with contextlib.suppress(OSError, ValueError):
        mapping.madvise(mmap.MADV_RANDOM if single else mmap.MADV_NORMAL)


def read_soon(mapping: mmap.mmap, start: int, size: int) -> None:
    """Make the system begin to read bytes of a mapped file that will be used soon."""
    import contextlib
    import mmap

    first = start // mmap.PAGESIZE * mmap.PAGESIZE
    with contextlib.suppress(OSError, ValueError):
        mapping.madvise(mmap.MADV_WILLNEED, first, start + size - first)


def drop_pages(mapping: mmap.mmap) -> bool:
    """Return the pages of private memory to the system, so that it is zeros again; false if nothing happened.

    Linux only: elsewhere ``MADV_DONTNEED`` is advice, and the content may stay (madvise(2) of macOS and POSIX).
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
    """Return the number of processors that this process may run on, at least 1."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def lower_thread(niceness: int) -> None:
    """Lower the priority of this thread below the process's main one, by 1 to 19 steps of niceness, if the system can.

    Linux accepts a thread's number as a process's (setpriority(2)); elsewhere that number may belong to another
    process. macOS has classes for threads instead (pthread/qos.h).
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
    """Lower the priority of this process and its future children; does nothing if that is refused."""
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
"""A Python program that ends process groups when the process that feeds it (``+GROUP``, ``-GROUP``) ends in any way."""


def own_group() -> dict[str, Any]:
    """Return arguments of `subprocess.Popen` for a process in its own group, which the keyboard's Ctrl-C does not
    reach; in its own session if the system has sessions.
    """
    return {"start_new_session": True}


def asked_child() -> dict[str, Any]:
    """Return arguments of `subprocess.Popen` for a child that `ask_to_end` reaches, in our own group if possible."""
    return {}


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with its own group and everything it has started; does nothing if they have ended."""
    import contextlib
    import signal

    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def alive(process: int) -> bool:
    """Whether there is a process with that number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def ask_to_end(process: subprocess.Popen[bytes], number: int) -> None:
    """Ask a child to end cleanly, by the signal of that number if the system has signals."""
    process.send_signal(number)


# Signals


def ending_signals() -> tuple[int, ...]:
    """Return the signals that ask a process to end, the keyboard's first."""
    import signal

    return signal.SIGINT, signal.SIGTERM, signal.SIGHUP


def on_signal(loop: asyncio.AbstractEventLoop, number: int, called: Callable[..., object], *arguments: object) -> None:
    """Make a running event loop call a function when a signal comes. Main thread only."""
    loop.add_signal_handler(number, called, *arguments)


def event_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop that can watch sockets, as pyzmq and tornado need it."""
    import asyncio

    return asyncio.new_event_loop()


# Sockets

HAS_IPC = True
"""Whether sockets can have paths (ipc)."""

READING_BLOCKS_LOADING = False
"""Whether loading a library that looks at standard input, as numpy's do, waits for a pending read of it."""

LONGEST_SOCKET_PATH = 107 if sys.platform == "linux" else 103
"""Bytes: sizeof(sun_path) less the zero at its end, unix(7) on Linux, unix(4) on macOS and the BSDs."""


def ipc_socket() -> socket.socket:
    """Return a new socket for a path; only if `HAS_IPC`."""
    import socket

    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


def claim_port(listening: socket.socket) -> None:
    """Before `bind`: allow a port that was in use a moment ago by a process that has ended, but not one that is
    in use.
    """
    import socket

    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def raise_open_files() -> None:
    """Raise the limit of open files as far as the system permits."""
    import contextlib
    import resource

    with contextlib.suppress(OSError, ValueError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


# Terminals


def line_editing() -> Any:
    """Return the module `readline`; raises `ImportError` if the system, or its terminal, edits lines itself."""
    import readline

    return readline


def complete_with_tab(readline: Any) -> None:
    """Make the tabulator complete words. macOS' Pythons may use libedit, which is configured in other words than
    readline.
    """
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")


def terminal_state(descriptor: int) -> Any:
    """Return the settings of a terminal, for `restore_terminal`; raises `ImportError`, or an error if it is no
    terminal.
    """
    import termios

    return termios.tcgetattr(descriptor)


def hide_control_keys(descriptor: int) -> None:
    """Make a terminal show no ``^C``, which would shift the line that is written next."""
    import termios

    state = termios.tcgetattr(descriptor)
    state[3] &= ~termios.ECHOCTL
    termios.tcsetattr(descriptor, termios.TCSADRAIN, state)


def restore_terminal(descriptor: int, state: Any) -> None:
    """Restore the settings of a terminal; does nothing if it is gone."""
    import termios

    try:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, state)
    except (OSError, ValueError, termios.error):
        return


def escapes(descriptor: int) -> bool:
    """Whether the terminal at a descriptor understands the escape sequences of ECMA-48; on this side all do."""
    del descriptor
    return True
