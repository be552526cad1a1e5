"""The daemon of a program: one that its command line names, or one that is started for it, whose socket is removed at
the end and whose data are kept.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from desdaemon.clients.arguments import Parser, whole
from desdaemon.clients.connection import started
from desdaemon.clients.errors import NoDaemon
from desdaemon.clients.programs.engine_process import OWN_COMMAND
from desdaemon.clients.programs.process_groups import GROUPS
from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.configuration import configuration_path, configure
from desdaemon.protocol.commands.options import BUILTIN_BOOK
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.system import folders, platform
from desdaemon.protocol.system.terminal import ElapsedTime
from desdaemon.protocol.wire.connection import ConnectionFile

if TYPE_CHECKING:
    import argparse

_OURS = ("book", "threads", "eval_file")
_START_S = 300.0
"""Seconds for the start; the first one on a machine compiles the engine."""

_END_S = 20.0


def add_daemon_options(parser: Parser) -> None:
    """Add the arguments that name a daemon, or say what the daemon is like that is started."""
    add = parser.add_argument
    add("endpoint", nargs="?", metavar="ENDPOINT", help="of a daemon that runs, such as tcp://host:6464")
    add("--key", metavar="FILE", help="this client's key for that daemon, made by `desdaemon keys new`")
    add("--server-key", metavar="KEY", help="that daemon's public key, if the key file lacks it")
    add("--book", metavar="FILE", help="the book of the daemon that is started; by default the one that ships")
    add("--threads", type=whole(1, 256), metavar="N", help="search threads of the daemon that is started")
    add("--eval-file", metavar="FILE", help="evaluation weights of the daemon that is started")


def check_daemon_options(parser: Parser, named: argparse.Namespace) -> None:
    """End the program with status 2 if those arguments contradict each other."""
    for name in _OURS if named.endpoint else ("key", "server_key"):
        if getattr(named, name) is not None:
            parser.error(f"--{name.replace('_', '-')} {'excludes' if named.endpoint else 'needs'} an ENDPOINT")


@contextlib.contextmanager
def daemon_of(named: argparse.Namespace) -> Iterator[str]:
    """Yield, in a context manager, the endpoint of the daemon to use: the one that the options name, or a new daemon's.

    A new daemon ends with the block, its key becomes ``named.key``, and its book is made if the file is missing. Raises
    `NoDaemon` if daemon or book cannot be made.
    """
    if named.endpoint:
        yield named.endpoint
        return
    book = usual_book() if named.book is None else named.book
    if book not in ("", BUILTIN_BOOK):
        book = os.path.abspath(book)  # noqa: PTH100
        if not os.path.exists(book):  # noqa: PTH110
            make_book(book)
    options = ["-book-file", book] if book else []
    options += ["-n", str(named.threads)] if named.threads else []
    options += ["-eval-file", named.eval_file] if named.eval_file else []
    with own_daemon(options) as daemon:
        named.key = daemon.key_file
        yield daemon.endpoints[0]


def usual_book() -> str:
    """Return what ``--book`` is if nobody names a book: the one that ships, or "" if the configuration file names one
    or cannot be used. The daemon reports that.
    """
    path = configuration_path()
    if not os.path.isfile(path):  # noqa: PTH113
        return BUILTIN_BOOK
    try:
        names, _ = configure(SessionSettings(), path, "serve")
    except (BadInput, OSError):
        return ""
    return "" if "book-file" in names else BUILTIN_BOOK


def make_book(path: str) -> None:
    """Make a new book in the file ``path``, by another process. Raises `NoDaemon` if that fails."""
    lines = f'book new\nbook save "{path}"\nquit\n'
    with ElapsedTime("making the book"):
        done = subprocess.run([*OWN_COMMAND, "-q", "-n", "1"], input=lines, capture_output=True, encoding="utf-8")
    if not os.path.isfile(path):  # noqa: PTH113
        raise NoDaemon(f"--book {path}: it cannot be made: {done.stderr.strip()[-300:]}")


@contextlib.contextmanager
def own_daemon(options: Sequence[str] = ()) -> Iterator[ConnectionFile]:
    """Run `desdaemon serve --supervise` with ``options`` as a child process in the block. Its socket is in a temporary
    folder, if the system has sockets in files, and its log goes to standard error.

    The daemon ends with the block, after 20 seconds by force, or with this process, even if that is killed; changes of
    its book are on the disk already. Raises `NoDaemon` if it ends or does not listen within `_START_S` seconds.
    """
    with folders.passing("own") as folder:
        # The default data folder may belong to a running daemon.
        command = [*OWN_COMMAND, "serve", "--supervise", "--data", str(Path(folders.data()) / "web")]
        command += ["--log-level", "warning", *options]
        try:
            # The connection file of a daemon that runs already stays as it is.
            process = GROUPS.start(command, None, {**os.environ, "DESDAEMON_RUNTIME_DIR": folder})
        except OSError as error:
            raise NoDaemon(f"{sys.executable}: {error.strerror}") from None
        try:
            try:
                with ElapsedTime("starting a daemon"):
                    connection = started(process, Path(folder) / "connection.json", _START_S)
            except NoDaemon as error:
                raise NoDaemon(f"{error.message}: see its messages above") from None
            yield connection
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    platform.ask_to_end(process, signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_END_S)
            GROUPS.end(process)
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()
