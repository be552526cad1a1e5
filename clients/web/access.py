"""Access to the gateway: the names by which browsers may call it, and the key of its cookies."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import NamedTuple

from desdaemon.protocol.system import files, platform

_KEY_BYTES = 32
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Place(NamedTuple):
    """The gateway's own address: ``scheme`` ``http`` or ``https``, and the ``hosts`` that a Host header may name.

    Hosts are written as in a URL: ``localhost``, ``127.0.0.1``, ``[::1]``.
    """

    scheme: str
    hosts: tuple[str, ...]
    port: int

    @property
    def address(self) -> str:
        """The page's address, without the token."""
        return f"{self.scheme}://{self.hosts[0]}{self._port_text}/"

    @property
    def _port_text(self) -> str:
        return "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"

    def knows_host(self, header: str) -> bool:
        """Return whether a Host header is one of ``hosts`` with the port; the scheme's default port may be left out.
        This refuses a foreign page whose name leads here (DNS rebinding).
        """
        given = header.strip().lower()
        return any(given in (f"{host}{self._port_text}", f"{host}:{self.port}") for host in self.hosts)

    def knows_origin(self, origin: str, host: str) -> bool:
        """Return whether an Origin header is that of the gateway's page; ``host`` is the request's Host header."""
        return bool(origin) and self.knows_host(host) and origin.strip().lower() == f"{self.scheme}://{host}".lower()


def lasting_key(folder: Path, port: int, *, renew: bool = False) -> bytes:
    """Return the key for the cookies of a port, kept in ``folder`` (mode 0600) so that pages survive restarts.

    With ``renew`` a new key replaces the old one, whose cookies are then refused. If the folder is not this user's
    alone or cannot be written, every start has a new key.
    """
    path = folder / f"web-{port}.key"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        described = folder.stat()
        if not platform.is_ours(described) or platform.open_to_others(described, 0o077):
            return secrets.token_bytes(_KEY_BYTES)
        if renew:
            path.unlink(missing_ok=True)
        elif path.exists():
            with files.open_regular(path) as file:
                old_key = file.read(_KEY_BYTES + 1)
            if len(old_key) == _KEY_BYTES:
                return old_key
        key = secrets.token_bytes(_KEY_BYTES)
        files.replace(path, key, mode=files.PRIVATE)
        return key
    except OSError:
        return secrets.token_bytes(_KEY_BYTES)
