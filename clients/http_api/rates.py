"""How often somebody may ask: a bucket of requests for each address or key, which fills again with time."""

from __future__ import annotations

import ipaddress

MOST_KNOWN = 10_000
"""Most askers that are remembered; whoever asked longest ago is forgotten first."""


class Rates:
    """The buckets, by asker. Each holds a minute's requests. Times are seconds of any clock."""

    def __init__(self, most: int = MOST_KNOWN) -> None:
        self._most = most
        self._buckets: dict[str, tuple[float, float]] = {}
        """What is left in a bucket, and when that was."""

    def wait_s(self, who: str, per_minute: int, now: float) -> float:
        """Take a request out of the bucket of ``who``, who may ask ``per_minute`` times, and return 0. Return the
        seconds until there is one if it is empty.
        """
        left, since = self._buckets.pop(who, (float(per_minute), now))
        left = min(per_minute, left + max(0.0, now - since) * per_minute / 60)
        wait = 0.0 if left >= 1 else (1 - left) * 60 / per_minute if per_minute else 60.0
        self._buckets[who] = (left if wait else left - 1, now)
        if len(self._buckets) > self._most:
            del self._buckets[next(iter(self._buckets))]
        return wait


def asker(address: str) -> str:
    """Return whom an address belongs to: of IPv6 the network of 64 bits, which one household has for itself."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else str(found)
