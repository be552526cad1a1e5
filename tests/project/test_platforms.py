"""One package knows what differs between systems: no other one uses what a system has and another lacks."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from checkout import ROOT

PLATFORM = ROOT / "protocol/system/platform"
SOURCES = sorted(
    path
    for package in ("daemon", "protocol", "engine", "book", "clients")
    for path in (ROOT / package).rglob("*.py")
    if PLATFORM not in path.parents
)

MODULES = {
    *("crypt", "curses", "fcntl", "grp", "nis", "ossaudiodev", "posix", "pty", "pwd", "readline", "resource", "spwd"),
    *("syslog", "termios", "tty"),
    *("_winapi", "msvcrt", "nt", "winreg", "winsound"),
}

NAMES = {
    "os": {
        *("chown", "chroot", "ctermid", "EX_OK", "fchdir", "fchmod", "fchown", "fdatasync", "fork", "forkpty"),
        *("getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid", "getpgrp", "getpriority", "getsid"),
        *("getuid", "initgroups", "killpg", "lchown", "lockf", "mkfifo", "mknod", "nice", "O_CLOEXEC", "O_DIRECTORY"),
        *("O_DSYNC", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC", "openpty", "pidfd_open", "posix_fadvise"),
        *("posix_fallocate", "posix_spawn", "posix_spawnp", "pread", "preadv", "PRIO_PROCESS", "pwrite", "pwritev"),
        *("register_at_fork", "sched_getaffinity", "sched_setaffinity", "sched_yield", "sendfile", "setegid"),
        *("seteuid", "setgid", "setgroups", "setpgid", "setpriority", "setsid", "setuid", "statvfs", "sync"),
        *("sysconf", "tcgetpgrp", "tcsetpgrp", "ttyname", "uname", "wait3", "wait4", "waitid", "WNOHANG"),
        *("add_dll_directory", "O_BINARY", "O_NOINHERIT", "startfile"),
        # There, with another meaning on Windows: Ctrl-C, a handle, a name that is open.
        *("kill", "waitpid", "replace", "rename", "fsync"),
    },
    "signal": {
        *("CTRL_BREAK_EVENT", "CTRL_C_EVENT", "SIGALRM", "SIGBREAK", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL"),
        *("SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGUSR1", "SIGUSR2", "SIGWINCH"),
        *("alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "siginterrupt", "sigwait"),
    },
    "socket": {"AF_UNIX", "SO_EXCLUSIVEADDRUSE", "SO_REUSEADDR", "SO_REUSEPORT", "fromshare"},
    "mmap": {"MAP_ANON", "MAP_SHARED", "PROT_READ", "PROT_WRITE"},
    "subprocess": {"CREATE_NEW_PROCESS_GROUP", "STARTUPINFO"},
    "ctypes": {"WinDLL", "windll", "oledll"},
}
ARGUMENTS = ("pass_fds", "preexec_fn", "process_group", "start_new_session", "creationflags", "startupinfo")
METHODS = ("add_signal_handler", "remove_signal_handler")

USES = re.compile(
    "|".join(rf"\b{module}\.(?:{'|'.join(sorted(names))})\b" for module, names in NAMES.items())
    + rf"|\b(?:{'|'.join(ARGUMENTS)})=|\.(?:{'|'.join(METHODS)})\("
)
"""Texts, so that programs which are written as strings count too."""


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=label)
def test_what_one_system_has_is_used_in_one_place(path: Path) -> None:
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
            assert node.module not in NAMES or not NAMES[node.module] & {alias.name for alias in node.names}, (
                node.lineno
            )
        found = {name.partition(".")[0] for name in names} & MODULES
        assert not found, f"{label(path)}:{getattr(node, 'lineno', 0)} imports {found}"
    for number, line in enumerate(text.splitlines(), 1):
        used = USES.search(line)
        assert used is None or "platform.own_group" in line, f"{label(path)}:{number} uses {used and used[0]}"


def test_the_patterns_find_what_they_are_for() -> None:
    assert USES.search("os.nice(5)")
    assert USES.search("    os.killpg(group, 9)")
    assert USES.search("Popen(command, start_new_session=True)")
    assert USES.search("os.kill(pid, 0)")
    assert not USES.search("os.open(path, os.O_RDONLY)")
    assert not USES.search("process.kill()")


def public(side: str) -> dict[str, str]:
    """The public names of a side: functions with their signatures, constants without anything."""
    found = {}
    for node in ast.parse((PLATFORM / f"{side}.py").read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = f"({ast.unparse(node.args)}) -> {ast.unparse(node.returns) if node.returns else ''}"
        elif isinstance(node, ast.Assign):
            found |= {target.id: "" for target in node.targets if isinstance(target, ast.Name)}
    return {name: signature for name, signature in found.items() if not name.startswith("_")}


def test_both_sides_offer_the_same() -> None:
    assert public("posix") == public("windows")
    assert len(public("posix")) > 40


def test_the_type_checker_looks_at_all_systems() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    lint = makefile.partition("\nlint:")[2].partition("\n\n")[0]
    assert all(f" types-{system}" in lint for system in ("linux", "darwin", "win32"))
    assert "\ntypes-%:\n\t$(BIN)/mypy --platform $* " in makefile
