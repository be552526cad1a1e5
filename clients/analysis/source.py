"""The two sources of analyses: a daemon as a child process, and a running daemon."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from desdaemon.clients.errors import DaemonError, NoDaemon, from_reply
from desdaemon.clients.match import engine_process
from desdaemon.clients.match.engine_process import EngineFault, EngineProcess
from desdaemon.clients.match.process_groups import GROUPS, ProcessGroups

if TYPE_CHECKING:
    from desdaemon.clients.blocking import Client

Data = Mapping[str, Any]

_LINE = re.compile(rb"[^\n]*\n")
_A_DAY_S = 86_400.0
_AT_ONCE = 32
"""Requests in flight; a server allows a client 64 by default."""


class ChildDaemon:
    """`desdaemon --protocol json` as a child process with options of its own; ended by `close`."""

    def __init__(self, options: Sequence[str] = (), groups: ProcessGroups = GROUPS) -> None:
        """Raises `NoDaemon`."""
        command = [*engine_process.OWN_COMMAND, "--protocol", "json", *options]
        try:
            self._process = EngineProcess(command, quiet=False, groups=groups)
        except EngineFault as fault:
            raise NoDaemon(str(fault)) from None
        self._number = 0
        try:
            hello = self._ask([("hello", {})], lambda data: None)[0]
        except DaemonError:
            self.close()
            raise
        self.engine = f"{hello['name']} {hello['version']}"

    def analyze(self, requests: Sequence[Data], on_partial: Callable[[Data], None]) -> list[Data]:
        """See `game.AnalysisSource`."""
        return self._ask([("analyze", args) for args in requests], on_partial)

    def _ask(self, requests: Sequence[tuple[str, Data]], on_partial: Callable[[Data], None]) -> list[Data]:
        first = self._number
        self._number += len(requests)
        finals: dict[int, Data] = {}
        try:
            self._process.send(
                *(
                    json.dumps({"v": 1, "id": first + at, "op": op, "args": args})
                    for at, (op, args) in enumerate(requests)
                )
            )
            while len(finals) < len(requests):
                found, _ = self._process.until(_LINE, _A_DAY_S)
                reply = json.loads(found[0])
                if reply["type"] == "error":
                    raise from_reply(reply["error"])
                if reply["type"] == "partial":
                    on_partial(reply["data"])
                else:
                    finals[reply["id"] - first] = reply["data"]
        except EngineFault as fault:
            raise NoDaemon(f"the daemon started for the analysis is gone: {fault}") from None
        return [finals[at] for at in range(len(requests))]

    def close(self) -> None:
        """End the process."""
        self._process.close()


class RemoteDaemon:
    """A running daemon, reached by the client library."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.engine = f"{client.hello.name} {client.hello.version}"

    def analyze(self, requests: Sequence[Data], on_partial: Callable[[Data], None]) -> list[Data]:
        """See `game.AnalysisSource`."""
        finals: list[Data] = []
        for at in range(0, len(requests), _AT_ONCE):
            handles = [self._client.start("analyze", dict(args)) for args in requests[at : at + _AT_ONCE]]
            for handle in handles:
                for partial in handle:
                    on_partial(partial)
                finals.append(handle.result())
        return finals

    def close(self) -> None:
        """Close the client."""
        self._client.close()
