"""The loop of the sockets, over real ones, of a daemon whose engine pretends."""

from __future__ import annotations

import threading
from pathlib import Path

from operated import Operated

from desdaemon.core.requests.request import ServerLimits
from desdaemon.server.endpoints import open_acceptors
from desdaemon.server.sockets import Sockets


class Loop:
    """The sockets of an operated daemon, on a thread."""

    def __init__(self, folder: Path, limits: ServerLimits) -> None:
        self.daemon = Operated(folder, limits=limits)
        services = self.daemon.services
        self.acceptors = open_acceptors(f"ipc://{folder}/s", ["tcp://127.0.0.1:0"], None, insecure=False)
        self.ipc, self.tcp = (acceptor.endpoints[0] for acceptor in self.acceptors)
        self.sockets = Sockets(self.acceptors, services.operations, services.texts, services.health, lambda: None)
        self.thread = threading.Thread(target=self.sockets.run)
        self.thread.start()

    @property
    def counters(self) -> dict[str, int]:
        return self.daemon.services.health.counters

    @property
    def searching(self) -> int:
        return self.daemon.services.scheduler.running + self.daemon.services.scheduler.queued

    def close(self) -> None:
        self.sockets.stop()
        self.thread.join()
        # Endless searches of clients that have just left.
        for peer in self.sockets.peers:
            self.daemon.services.operations.drop(peer)
