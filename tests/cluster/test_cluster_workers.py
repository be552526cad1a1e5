"""What the owner asks the scheduler about its workers."""

from __future__ import annotations

import asyncio
from typing import Any

from desdaemon.cluster.connection import workers_of


class Scheduler:
    """One worker is there."""

    async def identity(self, n_workers: int) -> dict[str, Any]:
        return {"workers": {"tcp://127.0.0.1:9": {"last_seen": 1.0}} if n_workers < 0 else {}}


class Client:
    """dask's client, whose own account of the workers is replaced by an empty one every two seconds."""

    scheduler = Scheduler()

    def sync(self, function: Any, **how: Any) -> Any:
        return asyncio.run(function(**how))

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        return {"workers": {}}


def test_no_worker_is_missed_while_the_client_replaces_its_account() -> None:
    client: Any = Client()
    assert list(workers_of(client)) == ["tcp://127.0.0.1:9"]
