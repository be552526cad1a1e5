"""`desdaemon web`: the command line, and the gateway from start to signal."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ipaddress
import os
import re
import ssl
import webbrowser
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from desdaemon.clients.arguments import Parser
from desdaemon.clients.errors import DaemonError, told
from desdaemon.clients.programs.own_daemon import add_daemon_options, check_daemon_options, daemon_of
from desdaemon.protocol import satellites
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.rows import EDITOR, READER, WebPart, load
from desdaemon.protocol.system import files, folders, logs, platform
from desdaemon.protocol.system.output import UnreadOutput
from desdaemon.protocol.system.terminal import ElapsedTime

if TYPE_CHECKING:
    from desdaemon.clients.asynchronous import AsyncClient

    from .access import Place
    from .gateway import Part

DEFAULT_PORT = 6480
_PORTS_TRIED = 10
_LOOPBACK = ("127.0.0.1", "::1")
_NAMES_OF_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_DEVICES = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")

DESCRIPTION = """\
A board in the browser: play, see what the engine thinks of every move, walk and grow the book, go through games.
Without ENDPOINT a daemon is started for it. The address of the page is printed, and a browser opened.
"""

WITHOUT_TORNADO = "desdaemon web needs tornado: pip install tornado, or in a clone make web"


def command_line() -> Parser:
    """Return the parser of the command line."""
    parser = Parser(prog="desdaemon web", description=DESCRIPTION, allow_abbrev=False)
    add = parser.add_argument
    add_daemon_options(parser)
    add(
        "--listen",
        default="",
        metavar="ADDRESS",
        help=f"HOST, HOST:PORT or :PORT for browsers; by default this machine alone, port {DEFAULT_PORT}",
    )
    add("--host-name", action="append", default=[], metavar="NAME", help="another name that browsers use for this host")
    add("--role", choices=(READER, EDITOR), help="editor may change the book; reader beyond this machine")
    add("--watch", default="", metavar="FOLDER", help="show the pages of `desdaemon match --page FOLDER` at /match/")
    add("--tls-certificate", metavar="FILE", help="serve https with this certificate")
    add("--tls-key", metavar="FILE", help="its key, if not in the same file")
    add("--revoke", action="store_true", help="ask again the browsers that earlier starts have let in")
    add("--no-browser", action="store_true", help="do not open a browser")
    for row in _parts():
        load(row.arguments)(parser)
    return parser


def main(arguments: list[str]) -> int:
    """Serve pages until a signal. Returns 0, or 1 for an unusable daemon or address or without Tornado; a bad command
    line ends the program with status 2.
    """
    parser = command_line()
    named = parser.parse_args(arguments)
    try:
        import tornado  # noqa: F401
    except ImportError:
        logs.echo(WITHOUT_TORNADO)
        return 1
    check_daemon_options(parser, named)
    if named.tls_key and not named.tls_certificate:
        parser.error("--tls-key needs --tls-certificate")
    try:
        # Checked first, before a daemon is started or waited for.
        listen, tls = _address(named.listen), _tls(named)
        parts = [part for row in _parts() for part in [load(row.part)(parser, named)] if part]
        with daemon_of(named) as endpoint, asyncio.Runner(loop_factory=platform.event_loop) as runner:
            return runner.run(_serve(named, endpoint, *listen, tls, parts))
    except (BadInput, DaemonError) as error:
        logs.message(told(error), "desdaemon web", level="error")
        return 1


def _parts() -> list[WebPart]:
    """Return what satellites add to the gateway."""
    return [row for satellite in satellites.present("web_parts") for row in satellite.web_parts]


async def _serve(
    named: argparse.Namespace,
    endpoint: str,
    host: str,
    port: int | None,
    tls: ssl.SSLContext | None,
    parts: list[Part],
) -> int:
    from desdaemon.clients.asynchronous import AsyncClient

    from .access import lasting_key
    from .gateway import Gateway

    async def connect(timeout_s: float) -> AsyncClient:
        return await AsyncClient.connect(endpoint, key=named.key, server_key=named.server_key, timeout_s=timeout_s)

    platform.raise_open_files()
    with ElapsedTime("connecting"):
        await (await connect(5.0)).close()
    away = not _is_loopback(host)
    role = named.role or (READER if away else EDITOR)
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in platform.ending_signals():
        platform.on_signal(loop, number, ended.set)
    for place in _places(host, port, named.host_name, "https" if tls else "http"):
        key = lasting_key(Path(folders.runtime()), place.port, renew=named.revoke)
        gateway = Gateway(place, key, role, connect, named.watch, parts)
        addresses = [host] if host else list(_LOOPBACK)
        try:
            gateway.listen(addresses, tls)
            break
        except OSError as error:
            reason = error.strerror
    else:
        raise BadInput(f"--listen {quoted(named.listen or _LOOPBACK[0])}: {reason}")
    if away and not tls:
        logs.message(
            f"{host}: other machines can connect without encryption: use --tls-certificate, or a TLS proxy",
            "desdaemon web",
        )
    gateway.watch()
    address = f"{place.address}?token={gateway.token}"
    with folders.passing("web") as folder:
        # Somebody who does not read must not keep the loop from hearing a signal.
        output = UnreadOutput(1)
        output.write(f"{address}\n")
        if named.watch:
            output.write(f"{place.address}match/?token={gateway.token}\n")
        await loop.run_in_executor(None, output.close)
        if not named.no_browser and any(os.environ.get(name) for name in _DEVICES):
            await loop.run_in_executor(None, _open_browser, Path(folder), address)
        await ended.wait()
    await gateway.close()
    return 0


def _open_browser(folder: Path, address: str) -> None:
    """Open the browser, if there is one, at ``address``. The browser is given a file in ``folder`` that leads there and
    that only this user can read, because other users can see command lines.
    """
    file = folder / "desdaemon.html"
    page = f'<!DOCTYPE html><meta http-equiv="refresh" content="0;url={escape(address)}">\n'
    files.replace(file, page.encode(), mode=files.PRIVATE)
    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(file.as_uri())


def _address(text: str) -> tuple[str, int | None]:
    """Return host and port of ``--listen``; the host is "" for this machine alone, the port None if not given. Raises
    `BadInput` for other text and for a port above 65,535.
    """
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*)(?::(\d{1,5}))?", text)
    if not match or int(match[2] or 0) > 65_535:
        raise BadInput(f"--listen {quoted(text)}: expected HOST, HOST:PORT or :PORT")
    return match[1].strip("[]"), int(match[2]) if match[2] else None


def _is_loopback(host: str) -> bool:
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _places(host: str, port: int | None, names: list[str], scheme: str) -> Iterator[Place]:
    """Yield the addresses to try, one after another, until one can be listened at. With ``port`` there is one address
    (0: any free port), without it `_PORTS_TRIED`, with the ports from the default one on.

    Browsers may call the host by ``names``, by ``host`` and by the names of the loopback.
    """
    from .access import Place

    shown = f"[{host}]" if ":" in host else host
    hosts = [*names, *([shown] if host not in ("", "0.0.0.0", "::") else []), *_NAMES_OF_LOOPBACK]
    lower = tuple(dict.fromkeys(name.lower() for name in hosts))
    ports = [port] if port is not None else list(range(DEFAULT_PORT, DEFAULT_PORT + _PORTS_TRIED))
    for number in ports:
        yield Place(scheme, lower, number or _free_port(host or _LOOPBACK[0]))


def _free_port(host: str) -> int:
    """Return a port of ``host`` that was free a moment ago, for an address with port 0."""
    import socket

    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _tls(named: argparse.Namespace) -> ssl.SSLContext | None:
    if not named.tls_certificate:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(named.tls_certificate, named.tls_key)
    except (OSError, ssl.SSLError) as error:
        reason = "not a PEM file with its key" if isinstance(error, ssl.SSLError) else error.strerror
        raise BadInput(f"--tls-certificate {quoted(named.tls_certificate)}: {reason}") from None
    return context
