"""The command line of `desdaemon serve`."""

from __future__ import annotations

import math
import os
import shutil

from desdaemon.core.paths import keys_folder
from desdaemon.core.requests.request import ServerLimits
from desdaemon.core.settings import SessionSettings
from desdaemon.protocol.commands.options import whole_number
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.system import folders, platform
from desdaemon.protocol.system.logs import LEVELS
from desdaemon.protocol.system.platform import processors
from desdaemon.protocol.wire.connection import default_endpoint
from desdaemon.server.backups import BackupPlan
from desdaemon.server.endpoints import is_loopback, metrics_address
from desdaemon.server.keys import KeyStore
from desdaemon.server.server import ServeOptions

from .arguments import UnusableFile, UsageError, configured

USAGE = """\
desdaemon serve [--bind ENDPOINT ...] [--ipc PATH|none] [--keys FOLDER]
                [--insecure] [--data FOLDER] [--limit NAME=NUMBER ...]
                [--supervise] [--metrics HOST:PORT] [--on-job-end COMMAND]
                [--backup-every HOURS] [--backup-keep N] [--backup-bytes LIMIT]
                [--log-level LEVEL] [--log-format text|json] [OPTION ...]

  --bind ENDPOINT      listen on TCP too, such as tcp://127.0.0.1:6464; events
                       are on the next port
  --ipc PATH|none      where local clients connect; by default desdaemon.sock
                       in the runtime folder (Windows: loopback TCP with a key)
  --keys FOLDER        let in over TCP only clients with a key (see desdaemon
                       keys); needed beyond this machine
  --insecure           listen beyond this machine without keys
  --data FOLDER        where analyses, and files that clients name, are kept
  --limit NAME=NUMBER  {limits}
  --supervise          restart the daemon within a second when it dies
  --metrics HOST:PORT  answer GET /metrics over HTTP, such as on 127.0.0.1:9464
  --on-job-end COMMAND
                       run when a job that grows the book has ended, with a
                       line of JSON about it as its input, for 60 s at most
  --backup-every HOURS
                       copy the book to backups/ in the data folder so often
  --backup-keep N      copies to keep, 7; the oldest goes first
  --backup-bytes LIMIT
                       the copies together, without limit; the newest stays
  --log-level LEVEL    {levels}; debug: each request's end
  --log-format FORMAT  text or json
  OPTION               as of the text protocol: -book-file FILE, -level 21,
                       -n-tasks 2, -hash-table-size 21 ...
"""
USAGE = USAGE.format(
    limits=f"\n{'':23}".join(
        " ".join(ServerLimits._fields[first : first + 4]) for first in range(0, len(ServerLimits._fields), 4)
    ),
    levels=" ".join(LEVELS),
)

_WITH_VALUE = ("--bind", "--ipc", "--keys", "--data", "--limit", "--metrics", "--log-level", "--log-format",
    "--on-job-end", "--backup-every", "--backup-keep", "--backup-bytes",
)  # fmt: skip


class Unservable(BadInput):
    """Valid options with which no client could reach the daemon."""


def read_options(arguments: list[str]) -> tuple[SessionSettings, ServeOptions]:
    """Return the settings and the options of the server; `n-tasks` becomes the number of searches at a time, each with
    one thread. Raises `BadInput` for wrong options, `Unservable` if nobody could connect.
    """
    given, insecure, rest = split_options(arguments)
    try:
        invocation = configured(rest, section="serve")
    except (UsageError, UnusableFile) as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        raise BadInput(f"{error.filename}: {error.strerror}") from None
    if invocation.switch or invocation.protocol != "text":
        raise BadInput("desdaemon serve takes no protocol, and no switch such as -solve that stands in place of one")
    settings = invocation.settings
    slots = settings.n_tasks or processors()
    settings.n_tasks = 1
    return settings, serve_options(given, insecure, slots)


def split_options(arguments: list[str]) -> tuple[dict[str, list[str]], bool, list[str]]:
    """Return the server's options with their values by name, whether ``--insecure`` is given, and all other arguments.
    Raises `BadInput` for an option without its value.
    """
    given: dict[str, list[str]] = {}
    rest: list[str] = []
    insecure = False
    waiting = list(reversed(arguments))
    while waiting:
        argument = waiting.pop()
        name, equals, value = argument.partition("=")
        if argument == "--insecure":
            insecure = True
        elif name in _WITH_VALUE:
            if not equals and not waiting:
                raise BadInput(f"{name}: expected a value after it")
            given.setdefault(name, []).append(value if equals else waiting.pop())
        else:
            rest.append(argument)
    return given, insecure, rest


def serve_options(given: dict[str, list[str]], insecure: bool, slots: int) -> ServeOptions:
    """Return the server's options from the first two results of `split_options`; ``slots`` searches run at a time.
    Raises `BadInput` for wrong values, `Unservable` if nobody could connect.
    """

    def last(name: str, default: str) -> str:
        return given.get(name, [default])[-1]

    tcp = given.get("--bind", [])
    keys = last("--keys", "")
    # Absolute, because the daemon works in its data folder.
    folder = os.path.abspath(keys or keys_folder())  # noqa: PTH100
    away = not all(is_loopback(endpoint) for endpoint in tcp)
    encrypted = bool(keys) or (away and not insecure and KeyStore(folder).there)
    if encrypted and tcp and not KeyStore(folder).there:
        raise BadInput(
            f"--keys {quoted(folder)}: no client can connect yet: desdaemon keys new NAME --keys FOLDER makes a key"
        )
    ipc = last("--ipc", default_endpoint())
    if not platform.HAS_IPC and given.get("--ipc") and ipc != "none":
        raise BadInput(f"--ipc {quoted(ipc)}: sockets have no paths on this system: expected none")
    if ipc == "none" and not tcp:
        raise Unservable("--ipc none needs --bind ENDPOINT: nobody could connect")
    metrics = last("--metrics", "")
    level, format = last("--log-level", "info"), last("--log-format", "text")
    if level not in LEVELS:
        raise BadInput(f"--log-level {quoted(level)}: expected one of {' '.join(LEVELS)}")
    if format not in ("text", "json"):
        raise BadInput(f"--log-format {quoted(format)}: expected text or json")
    return ServeOptions(
        ipc="" if ipc == "none" else ipc if ipc.startswith(("ipc:", "tcp:")) else f"ipc://{os.path.abspath(ipc)}",  # noqa: PTH100
        tcp=tcp,
        keys_folder=folder,
        encrypted=encrypted and bool(tcp),
        insecure=insecure,
        data_folder=os.path.abspath(last("--data", folders.data())),  # noqa: PTH100
        limits=_limits(given.get("--limit", [])),
        log_level=level,
        log_format=format,
        slots=slots,
        on_job_end=_command(last("--on-job-end", "")),
        backups=BackupPlan(
            _number(last("--backup-every", "0"), "--backup-every", 0),
            int(_number(last("--backup-keep", "7"), "--backup-keep", 1)),
            int(_number(last("--backup-bytes", "0"), "--backup-bytes", 0)),
        ),
        metrics=metrics_address(metrics, insecure=insecure) if metrics else None,
    )


def _command(text: str) -> tuple[str, ...]:
    """Return the words of a command, as `platform.command_words` splits them. Raises `BadInput` if there is no such
    program.
    """
    try:
        words = tuple(platform.command_words(text))
    except ValueError as error:
        raise BadInput(f"--on-job-end {quoted(text)}: {error}") from None
    if words and shutil.which(words[0]) is None:
        raise BadInput(f"--on-job-end {quoted(text)}: no such program: {quoted(words[0])}")
    return words


def _number(text: str, name: str, least: int) -> float:
    """Return the number that ``text`` spells. Raises `BadInput`, with the option's ``name``, for other text and for a
    number below ``least``.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value < math.inf:
        raise BadInput(f"{name} {quoted(text)}: expected a number from {least} on")
    return value


def _limits(texts: list[str]) -> ServerLimits:
    limits = ServerLimits()
    for text in texts:
        name, _, value = text.partition("=")
        number = whole_number(value)
        if name not in ServerLimits._fields or number is None or number < 0:
            expected = " ".join(ServerLimits._fields)
            raise BadInput(f"--limit {quoted(text)}: expected NAME=NUMBER with one of {expected}")
        limits = limits._replace(**{name: number})
    return limits
