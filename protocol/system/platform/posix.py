"""Linux, macOS and the BSDs. This documents what each function guarantees; `windows` has the same names.

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
# ruff: noqa: PTH105, PTH123, PTH206

# Files


def open_file(path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """Open a file as `os.open` does, binary and not inherited by children. It may be replaced while it is open."""
    return os.open(path, flags | os.O_CLOEXEC, mode)


def open_inside(folder: str, name: str) -> int:
    """Open the file ``name`` of ``folder``, an absolute path, to be read, without following a link anywhere on the way
    and without waiting, as the opening of a pipe would. Raises `OSError`. What was opened may be no regular file.
    """
    # Linux needs no permission to list the folders on the way.
    safely = os.O_NOFOLLOW | os.O_CLOEXEC
    way = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | safely
    descriptor = os.open(os.sep, way)
    try:
        for part in folder.split(os.sep):
            if part:
                above, descriptor = descriptor, os.open(part, way, dir_fd=descriptor)
                os.close(above)
        return os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | safely, dir_fd=descriptor)
    finally:
        os.close(descriptor)


def reader_left(error: OSError) -> bool:
    """Return whether a write failed because nobody reads the pipe any more."""
    return isinstance(error, BrokenPipeError)


def takes_output(descriptor: int, wait_s: float) -> bool:
    """Return whether a descriptor takes output, or is closed; a reader has ``wait_s`` seconds to make room."""
    import select

    try:
        return bool(select.select([], [descriptor], [], wait_s)[1])
    except (OSError, ValueError):
        return True


def names_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file can have this name: false for the names that the system keeps for devices and the like."""
    return True


def folded(path: str) -> str:
    """Return a text that is the same for all spellings of a path that name one file: upper and lower case, and both
    forms of accents, are alike where macOS's file systems are made as usual.
    """
    if sys.platform == "darwin":
        import unicodedata

        return unicodedata.normalize("NFC", path).casefold()
    return path


def lock_file(descriptor: int) -> None:
    """Lock an open file until it is closed or the process ends; raises `BlockingIOError` if it is locked already."""
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def sync(descriptor: int) -> None:
    """Write a file's content to the disk itself.

    On macOS `fsync` returns when the drive has the data, perhaps only in its cache; ``F_FULLFSYNC`` empties the cache
    (fsync(2)), but not every file system knows it.
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
    """Write a file's content to the disk itself, but not metadata, such as times, that reading does not need."""
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
    """Rename the file ``new`` to ``place`` in one step, replacing the file there; processes that have the old file open
    or mapped keep its content.
    """
    os.replace(new, place)


def remove_replaced(place: str) -> None:
    """Remove the files that `take_place` moved aside from ``place``, unless somebody still uses them: here none."""


def bring_back(place: str) -> None:
    """Bring back the file that `take_place` moved aside from ``place`` before its process was killed: here none."""


def set_mode(descriptor: int, mode: int) -> None:
    """Set the permissions of an open file."""
    os.fchmod(descriptor, mode)


def is_ours(status: os.stat_result) -> bool:
    """Return whether a file or folder belongs to the user of this process."""
    return status.st_uid == os.getuid()


def open_to_others(status: os.stat_result, what: int) -> bool:
    """Return whether users other than the owner have one of the permissions ``what``: 0o022 to write, 0o077 any."""
    return bool(status.st_mode & what)


def reserve(descriptor: int, size: int) -> None:
    """Extend an empty file to ``size`` bytes, with the room reserved on the disk if the system can do that."""
    if sys.platform == "darwin":
        os.ftruncate(descriptor, size)
    else:
        os.posix_fallocate(descriptor, 0, size)


MAPPED_FILES_CAN_BE_CUT = True
"""Whether another program can cut a file that this one has mapped."""


# Folders

ENVIRONMENT_HOME = "HOME"
"""The environment variable that holds this user's home folder."""

CONFIGURATION = "~/.config"
DATA = "~/.local/share"
STATE = "~/.local/state"
CACHE = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
"""The folder of caches unless the XDG variables name another."""


def user() -> str:
    """Return the user's id, for names of files that users of a machine must not share."""
    return str(os.getuid())


# Memory and processors


def resident_bytes() -> int:
    """Return this process's memory in RAM, in bytes, or its peak if nothing else is known."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return most_resident_bytes()


def most_resident_bytes() -> int:
    """Return the peak of this process's memory in RAM, in bytes."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Bytes on macOS, kilobytes on Linux and the BSDs: getrusage(2) of each.
    return most if sys.platform == "darwin" else most << 10


def own_bytes(process: int) -> int:
    """Return how many bytes a process has in RAM, without those of mapped files; 0 if unknown."""
    try:
        with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as file:
            return sum(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon"))
    except (OSError, IndexError, ValueError):
        return 0


def open_files(process: int) -> int:
    """Return how many files and sockets a process has open; 0 if unknown."""
    try:
        return len(os.listdir(f"/proc/{process}/fd"))  # noqa: PTH208
    except OSError:
        return 0


def physical_bytes() -> int:
    """Return this machine's memory in bytes; 0 if unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def page_faults() -> tuple[int, int] | None:
    """Return this process's page faults without and with a read from disk; None if unknown."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_minflt, used.ru_majflt


def private_memory(size: int) -> mmap.mmap:
    """Return ``size`` bytes of zeroed memory that only this process uses."""
    import mmap

    # Shared memory, the default, would keep its content when its pages are given back.
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def use_large_pages(mapping: mmap.mmap) -> None:
    """Ask the system to use large pages for private memory."""
    if sys.platform == "linux":
        import contextlib
        import mmap

        with contextlib.suppress(OSError, ValueError):
            mapping.madvise(mmap.MADV_HUGEPAGE)


def read_single_pages(mapping: mmap.mmap, single: bool) -> None:
    """Ask the system to read only the used pages of a mapped file; with ``single`` false also those around them."""
    import contextlib
    import mmap

    with contextlib.suppress(OSError, ValueError):
        mapping.madvise(mmap.MADV_RANDOM if single else mmap.MADV_NORMAL)


def read_soon(mapping: mmap.mmap, start: int, size: int) -> None:
    """Ask the system to begin to read ``size`` bytes of a mapped file, from the offset ``start``."""
    import contextlib
    import mmap

    first = start // mmap.PAGESIZE * mmap.PAGESIZE
    with contextlib.suppress(OSError, ValueError):
        mapping.madvise(mmap.MADV_WILLNEED, first, start + size - first)


def drop_pages(mapping: mmap.mmap) -> bool:
    """Give the pages of private memory back to the system, so that they read as zeros. Returns false if it may have
    failed.

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
    """Return the number of processors that this process may use, at least 1."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def lower_thread(niceness: int) -> None:
    """Lower this thread's priority below that of the main thread, by 1 to 19 steps of niceness, if the system can.

    Linux accepts a thread's id for a process's (setpriority(2)), other systems do not. On macOS the thread's class is
    lowered instead (pthread/qos.h); elsewhere nothing happens.
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
    """Lower the priority of this process and its future children; do nothing if that is refused.

    At 19 it runs only while nothing else wants a processor, where the system can (SCHED_IDLE of Linux). There a session
    is a group, and niceness counts within it alone (sched(7)). The group is lowered too if this process leads it: else
    the shell that started it, and all that it starts later, would be slow for good.
    """
    import contextlib

    with contextlib.suppress(OSError):
        os.nice(niceness)
        if niceness == 19 and sys.platform == "linux":
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
            if os.getsid(0) != os.getpid():
                return
            descriptor = os.open("/proc/self/autogroup", os.O_WRONLY)
            try:
                os.write(descriptor, b"19")
            finally:
                os.close(descriptor)


# Processes


def command_words(text: str) -> list[str]:
    """Return the words of a command line as this system's users write it; no shell runs it. Raises `ValueError` for an
    open quote.
    """
    import shlex

    return shlex.split(text)


def command_text(words: list[str]) -> str:
    """Return the command line from which `command_words` makes ``words``."""
    import shlex

    return shlex.join(words)


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
"""A Python program that kills process groups when the process that writes ``+GROUP`` and ``-GROUP`` to it has ended;
empty where `end_with_us` does it.
"""


def end_with_us(process: subprocess.Popen[bytes]) -> None:
    """Have a child and what it starts end with this process, where the system can: here `GUARD` sees to it."""


def own_group() -> dict[str, Any]:
    """Return arguments of `subprocess.Popen` for a process in its own group, which Ctrl-C does not reach."""
    return {"start_new_session": True}


def asked_child() -> dict[str, Any]:
    """Return arguments of `subprocess.Popen` for a child that `ask_to_end` can reach, in our own group if possible."""
    return {}


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the group of a process that was started with `own_group`; do nothing if all in it have ended."""
    import contextlib
    import signal

    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def alive(process: int) -> bool:
    """Return whether a process with this number exists."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def ask_to_end(process: subprocess.Popen[bytes], number: int) -> None:
    """Ask a child to end cleanly, by the signal ``number`` if the system has signals."""
    process.send_signal(number)


# Signals


def ending_signals() -> tuple[int, ...]:
    """Return the signals that ask a process to end, the keyboard's first."""
    import signal

    return signal.SIGINT, signal.SIGTERM, signal.SIGHUP


def interrupt_main_thread() -> None:
    """Interrupt the main thread as Ctrl-C does, also where it waits. Any thread may call it."""
    import signal
    import threading

    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def on_signal(loop: asyncio.AbstractEventLoop, number: int, called: Callable[..., object], *arguments: object) -> None:
    """Make a running event loop call a function at a signal. Main thread only."""
    loop.add_signal_handler(number, called, *arguments)


def event_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop that can watch sockets, as pyzmq and tornado require. Raises `OSError` if there are too
    few descriptors.
    """
    import asyncio

    # A loop that finds none half-way prints a traceback when it is freed.
    require_descriptors(3)
    return asyncio.new_event_loop()


# Sockets

HAS_IPC = True
"""Whether sockets can be files (endpoints ``ipc://PATH``)."""

READING_BLOCKS_LOADING = False
"""Whether importing numpy, whose libraries look at standard input, waits for another thread's read of standard input.
"""

LONGEST_SOCKET_PATH = 107 if sys.platform == "linux" else 103
"""Most bytes of a socket's path: those of ``sun_path`` without the zero at its end, unix(7) on Linux, unix(4) on macOS
and the BSDs.
"""


def ipc_socket() -> socket.socket:
    """Return a new Unix socket, not bound yet. Call it only if `HAS_IPC`."""
    import socket

    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


def claim_port(listening: socket.socket) -> None:
    """Prepare a socket for `bind`: it may then bind a port whose last process has just ended, but not a port in use."""
    import socket

    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


_MOST_FILES = 10240
"""What macOS permits where no limit is set: OPEN_MAX, setrlimit(2)."""


def raise_open_files() -> int:
    """Raise the limit of open files as far as the system permits; return it."""
    import contextlib
    import resource

    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # A limit above what the system permits is refused as a whole.
    for wanted in (most, max(now, _MOST_FILES)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
            return wanted if wanted >= 0 else sys.maxsize
    return now


def require_descriptors(count: int) -> None:
    """Raise `OSError` if ``count`` more descriptors cannot be opened: some libraries abort the process then."""
    opened: list[int] = []
    try:
        for _ in range(count):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    finally:
        for descriptor in opened:
            os.close(descriptor)


# Terminals


def line_editing() -> Any:
    """Return the module `readline`; raises `ImportError` without it, as on a system that edits lines itself."""
    import readline

    return readline


def complete_with_tab(readline: Any) -> None:
    """Make the tabulator key complete words. ``readline`` may be libedit, as on macOS, which needs another command."""
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")


def terminal_state(descriptor: int) -> Any:
    """Return the settings of a terminal for `restore_terminal`; raises `ImportError` or `termios.error`."""
    import termios

    return termios.tcgetattr(descriptor)


def hide_control_keys(descriptor: int) -> None:
    """Make a terminal show no ``^C``, which would shift the line that is written next, until `restore_terminal`: take
    the `terminal_state` first. Raises `termios.error`.
    """
    _unset(descriptor, "ECHOCTL")


def disable_interrupts(descriptor: int) -> None:
    """Make Ctrl-C at a terminal a key like any other, until `restore_terminal`: take the `terminal_state` first. Raises
    `termios.error`.
    """
    _unset(descriptor, "ISIG")


def _unset(descriptor: int, flag: str) -> None:
    import termios

    state = termios.tcgetattr(descriptor)
    state[3] &= ~getattr(termios, flag)
    termios.tcsetattr(descriptor, termios.TCSADRAIN, state)


def restore_terminal(descriptor: int, state: Any) -> None:
    """Restore the settings of a terminal; do nothing if it is gone."""
    import termios

    try:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, state)
    except (OSError, ValueError, termios.error):
        return


def escapes(descriptor: int) -> bool:
    """Return whether the terminal at a descriptor understands the escape sequences of ECMA-48: here always true."""
    del descriptor
    return True
