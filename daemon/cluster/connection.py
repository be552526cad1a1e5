"""The connection to a cluster's scheduler: its address, keys for TLS, dask's settings.

Whoever can connect to a dask scheduler can run any code on its workers, and its clients unpickle the workers' answers.
So connections beyond this machine need TLS with a private certificate authority. Every holder of one of its
certificates is trusted with everything; host names are not checked.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from desdaemon.protocol.errors import BadInput, Unfinished, in_one_line, quoted
from desdaemon.protocol.system import files
from desdaemon.protocol.system.logs import message
from desdaemon.server.endpoints import is_loopback

if TYPE_CHECKING:
    from distributed import Client, Security

PORT = 8786
"""Dask's default port."""
_LAST_PORT = 65_535
_LARGEST_FILE = 1 << 20
"""Most bytes of a scheduler file."""

CONNECT_S = 10

SILENT_S = 30
"""Seconds of silence after which a worker counts as gone, and between two checks."""

_SILENT = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")
"""Loggers that are silenced: dask's first one, and those that have settings of their own."""

_KEY_FILES = ("ca.pem", "cert.pem", "key.pem")

MISSING = "the cluster needs dask.distributed: pip install distributed"


def configure() -> None:
    """Import dask and set it up for searches. Raises `BadInput` if it is not installed.

    The user's own settings of dask take precedence. Dask's log lines are not shown: this package reports itself.
    """
    try:
        import dask

        dask.config.set({"logging": dict.fromkeys(_SILENT, "critical")})
        import distributed  # noqa: F401
    except ImportError:
        raise BadInput(MISSING) from None
    warnings.filterwarnings("ignore", module="distributed|dask")
    # Dask must not move searches to other workers: it knows less about them than the window.
    scheduler = {"work-stealing": False, "worker-saturation": 1.0}
    dask.config.update_defaults(
        {
            "distributed": {
                "scheduler": scheduler,
                "worker": {"profile": {"enabled": False}},
                "admin": {"system-monitor": {"gil": {"enabled": False}}},
                "comm": {"timeouts": {"connect": f"{CONNECT_S}s"}},
            }
        }
    )


def scheduler_address(text: str) -> str:
    """Return the scheduler's address: ``text``, with ``tcp://`` before a mere HOST:PORT. If ``text`` names a scheduler
    file, return the address in that file. Raises `BadInput` if it is neither.
    """
    if "://" in text:
        return text
    path = Path(text)
    if path.is_file():
        try:
            address = files.read_json(path, _LARGEST_FILE)["address"]
        except (OSError, ValueError, KeyError, TypeError):
            address = None
        if isinstance(address, str):
            return address
        raise BadInput(f"cluster = {quoted(text)}: expected a scheduler file, made by desdaemon cluster scheduler")
    if ":" in text and "/" not in text:
        return f"tcp://{text}"
    raise BadInput(f"cluster = {quoted(text)}: expected tcp://HOST:PORT, tls://HOST:PORT or a scheduler file")


def checked_address(address: str, tls: str) -> None:
    """Raise `BadInput` unless an address is tcp:// on this machine, or tls:// with a folder of keys, ``tls``."""
    scheme = address.partition("://")[0]
    port = re.fullmatch(r"(?:tcp|tls)://\S*:(\d{1,5})", address, re.ASCII)
    if not port or int(port[1]) > _LAST_PORT:
        raise BadInput(f"{quoted(address)}: expected tcp://HOST:PORT or tls://HOST:PORT, port {_LAST_PORT} at most")
    if scheme == "tls":
        if not tls:
            raise BadInput(f"{quoted(address)}: tls:// needs a folder of keys (cluster-tls)")
    elif not is_loopback(address):
        raise BadInput(
            f"{quoted(address)}: beyond this machine use tls://: anyone who reaches a scheduler can run any code"
        )


def warn_unless_sealed(address: str) -> None:
    """Log a warning about an address without TLS."""
    if address.startswith("tcp://"):
        message(
            f"{address}: every user of this machine may run code as you; expected TLS where there are others: see "
            "desdaemon cluster keys"
        )


def make_keys(folder: Path) -> None:
    """Make a cluster's keys in a new folder, by openssl: a certificate that is its own authority. Raises `BadInput` if
    the folder exists or cannot be made, or openssl fails.
    """
    command = (
        "openssl req -x509 -newkey rsa:3072 -nodes -days 3650 -subj /CN=desdaemon -keyout key.pem -out cert.pem "
        # Strict readers, such as Python's since 3.13, want the certificate's purpose.
        "-addext keyUsage=critical,digitalSignature,keyCertSign"
    )
    named = quoted(str(folder))
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        raise BadInput(f"{named}: already exists: name a new folder") from None
    except OSError as error:
        raise BadInput(f"{named}: {error.strerror}") from None
    try:
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
        shutil.copy(folder / "cert.pem", folder / "ca.pem")
    except BaseException as error:
        # The next call is to make the folder anew.
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise BadInput(f"{named}: openssl, which makes the keys: {error.strerror}") from None
        if isinstance(error, subprocess.CalledProcessError):
            said = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise BadInput(
                f"{named}: openssl, which makes the keys: status {error.returncode}: {in_one_line(said)}"
            ) from None
        raise


def security(tls: str) -> Security | None:
    """Return the keys in the folder ``tls``, None for "". Raises `BadInput` if one is missing."""
    if not tls:
        return None
    folder = Path(tls)
    for name in _KEY_FILES:
        if not (folder / name).is_file():
            raise BadInput(f"cluster-tls = {quoted(tls)}: no {name}: expected a folder made by desdaemon cluster keys")
    from distributed import Security

    authority, certificate, key = (str(folder / name) for name in _KEY_FILES)
    each = {f"tls_{role}_{what}": file for role in ("scheduler", "worker", "client") for what, file in
            (("cert", certificate), ("key", key))}  # fmt: skip
    return Security(tls_ca_file=authority, require_encryption=True, **each)


def connect(text: str, tls: str) -> Client:
    """Return a client of the scheduler that ``text`` names; ``tls`` is the folder of keys, "" without encryption.

    Raises `BadInput` if the text names no scheduler, or the address or the keys cannot be used, and `Unfinished` if the
    scheduler does not answer or refuses.
    """
    configure()
    address = scheduler_address(text)
    checked_address(address, tls)
    from distributed import Client

    class PatientClient(Client):
        async def _start(self, timeout: Any = CONNECT_S, **options: Any) -> Any:
            """Connect, within twice `CONNECT_S`: dask waits for a greeting without limit."""
            try:
                async with asyncio.timeout(2 * CONNECT_S):
                    return await super()._start(timeout, **options)
            except BaseException:
                await self._close(fast=True)
                raise

    try:
        return PatientClient(address, security=security(tls), set_as_default=False, timeout=CONNECT_S, name="desdaemon")
    except TimeoutError:
        reason = "no scheduler answers"
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
    except Exception:
        # Dask reads whatever comes: the errors of what is no greeting are of any kind.
        reason = "what answers is no scheduler of dask"
    raise Unfinished(f"cluster {quoted(address)}: {reason}")


_CLIENTS: dict[tuple[str, str], Client] = {}
_LOCK = threading.Lock()


def client_of(text: str, tls: str) -> Client:
    """Return this process's client of a scheduler. The first call, and one after the connection was lost, connects as
    `connect` does, and logs a warning if the connection has no TLS. Any thread may call it.
    """
    with _LOCK:
        client = _CLIENTS.get((text, tls))
        if client is None or client.status != "running":
            client = _CLIENTS[text, tls] = connect(text, tls)
            warn_unless_sealed(scheduler_address(text))
        return client


def workers_of(client: Client) -> dict[str, dict[str, Any]]:
    """Return the scheduler's descriptions of its workers, by address. Raises `OSError` if the scheduler is gone."""
    scheduler = client.scheduler
    if scheduler is None:
        raise OSError("the client is closed")
    try:
        # Not `scheduler_info`: every two seconds the client replaces that by one without workers, even between the
        # answer and its return.
        workers: dict[str, dict[str, Any]] = client.sync(scheduler.identity, n_workers=-1)["workers"]
    except (RuntimeError, ValueError) as error:
        raise OSError(str(error)) from None
    return workers
