"""The use of the daemon by key: requests, nodes, and seconds of search threads. Any thread."""

from __future__ import annotations

import threading
from collections.abc import Hashable


def account_of(client: str) -> str:
    """The key in a client's name: the part before the number of its connection."""
    return client.partition("/")[0]


class Account:
    """The sums of one key since the start of the process."""

    __slots__ = ("nodes", "requests", "seconds")

    def __init__(self) -> None:
        self.requests = 0
        self.nodes = 0
        self.seconds = 0.0


class Accounts:
    """The account of each key, and one for each way to connect without a key. Any thread."""

    def __init__(self) -> None:
        self._accounts: dict[Hashable, Account] = {}
        self._lock = threading.Lock()

    def asked(self, key: Hashable) -> None:
        """Count a request of a key."""
        with self._lock:
            self._account(key).requests += 1

    def searched(self, key: Hashable, nodes: int) -> None:
        """Count the nodes of a finished search, or of a turn of one."""
        with self._lock:
            self._account(key).nodes += nodes

    def ran(self, key: Hashable, seconds: float) -> None:
        """Count seconds of search threads."""
        if seconds:
            with self._lock:
                self._account(key).seconds += seconds

    def _account(self, key: Hashable) -> Account:
        account = self._accounts.get(key)
        if account is None:
            account = self._accounts[key] = Account()
        return account

    def listed(self) -> list[tuple[str, Account]]:
        """All accounts, ordered by name."""
        with self._lock:
            return sorted((str(key), account) for key, account in self._accounts.items())
