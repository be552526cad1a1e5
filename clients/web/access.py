"""Access to the gateway: the token in the address, the cookie that it is exchanged for, Host and Origin.

Used by `gateway` on the event loop's thread. HTTP appears here only as the values of four headers.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from desdaemon.protocol.system import files, platform

COOKIE_AGE_S = 30 * 86_400
"""Seconds that a cookie is good for."""

_KEY_BYTES = 32
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Place(NamedTuple):
    """The gateway's own address: ``scheme`` is ``http`` or ``https``, ``hosts`` the allowed names in a Host header.

    A name is as in an address: ``localhost``, ``127.0.0.1``, ``[::1]``.
    """

    scheme: str
    hosts: tuple[str, ...]
    port: int

    @property
    def address(self) -> str:
        """The address of the page, without the token."""
        return f"{self.scheme}://{self.hosts[0]}{self._port_text}/"

    @property
    def _port_text(self) -> str:
        return "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"

    def knows_host(self, header: str) -> bool:
        """Whether a Host header names this place, which a page of another name, rebound by DNS to here, cannot send."""
        given = header.strip().lower()
        return any(given in (f"{host}{self._port_text}", f"{host}:{self.port}") for host in self.hosts)

    def knows_origin(self, origin: str, host: str) -> bool:
        """Whether an Origin header is that of our own page, as asked for under the name in ``host``."""
        return bool(origin) and self.knows_host(host) and origin.strip().lower() == f"{self.scheme}://{host}".lower()


class Access:
    """The token of this start, and cookies signed with a key that outlives it.

    ``key`` is the secret (32 bytes); ``now`` gives seconds since 1970.
    """

    def __init__(self, key: bytes, now: Callable[[], float] = time.time) -> None:
        self.token = secrets.token_urlsafe(_KEY_BYTES)
        self._key = key
        self._now = now

    def knows_token(self, given: str) -> bool:
        """Whether that is the token of this start."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    def cookie(self) -> str:
        """A new cookie's value: when it was given out, and the signature of that."""
        issued = str(int(self._now()))
        return f"{issued}.{self._signature(issued)}"

    def knows_cookie(self, given: str) -> bool:
        """Whether that is a cookie signed with our key that is not too old."""
        issued, _, signature = given.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(issued).encode()):
            return False
        return -60 < self._now() - int(issued) < COOKIE_AGE_S

    def _signature(self, issued: str) -> str:
        return hmac.new(self._key, issued.encode(), hashlib.sha256).hexdigest()


def lasting_key(folder: Path, port: int, *, renew: bool = False) -> bytes:
    """The key that signs the cookies of a port, kept in ``folder`` (mode 0600) so that pages outlive the gateway.

    With ``renew`` a new one takes the place of the old, whose cookies are then refused. In a folder that is not this
    user's alone, or that cannot be written, nothing is kept: the key is new at each start.
    """
    path = folder / f"web-{port}.key"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        described = folder.stat()
        if not platform.is_ours(described) or platform.open_to_others(described, 0o077):
            return secrets.token_bytes(_KEY_BYTES)
        if renew:
            path.unlink(missing_ok=True)
        elif path.exists() and len(kept := path.read_bytes()) == _KEY_BYTES:
            return kept
        key = secrets.token_bytes(_KEY_BYTES)
        files.replace(path, key, mode=files.PRIVATE)
        return key
    except OSError:
        return secrets.token_bytes(_KEY_BYTES)
