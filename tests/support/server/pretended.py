"""A daemon that pretends, for what a client has to do on its own: a ROUTER and a PUB socket on a thread."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zmq

from desdaemon.protocol.wire import codec

Request = dict[str, Any]


class PretendedDaemon:
    """Answers from a table; requests without an answer are kept in `held` until the test answers them."""

    def __init__(self, endpoint: str, in_flight: int = 8) -> None:
        self.endpoint = endpoint
        self.in_flight = in_flight
        self.seen: list[Request] = []
        self.held: list[tuple[bytes, Request]] = []
        self.open = 0
        self.most_open = 0
        self.answers: dict[str, Callable[[Request], dict[str, Any]]] = {"ping": lambda request: {}, "hello": self.hello}
        self._context = zmq.Context()
        self._ends = False
        self._todo: list[tuple[bytes, bytes]] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    def hello(self, request: Request) -> dict[str, Any]:
        limits = {"in_flight": self.in_flight}
        greeting = {"name": "pretended", "version": "0", "protocol": 1, "role": "admin", "ops": ["ping"]}
        return {**greeting, "features": [], "limits": limits}

    def _serve(self) -> None:
        router = self._context.socket(zmq.ROUTER)
        router.linger = 0
        router.bind(self.endpoint)
        self._ready.set()
        while not self._ends:
            if router.poll(5):
                self._answer(*router.recv_multipart())
            while self._todo:
                client, body = self._todo.pop(0)
                router.send_multipart([client, b"", body])
        router.close()

    def _answer(self, client: bytes, *frames: bytes) -> None:
        request = codec.decode(frames[-1])
        self.seen.append(request)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        answer = self.answers.get(request["op"])
        if answer:
            self.final((client, request), answer(request))
        else:
            self.held.append((client, request))

    def reply(self, asked: tuple[bytes, Request], kind: str, **content: Any) -> None:
        """Send one reply to a request."""
        message = {"v": 1, "id": asked[1]["id"], "type": kind, "seq": 0, **content}
        self._todo.append((asked[0], codec.encode(message)))

    def final(self, asked: tuple[bytes, Request], data: dict[str, Any]) -> None:
        self.open -= 1
        self.reply(asked, "final", data=data)

    def refuse(self, asked: tuple[bytes, Request], code: str) -> None:
        self.open -= 1
        self.reply(asked, "error", error={"code": code, "message": "as the test wants it", "field": "x"})

    def operations(self) -> list[str]:
        """What was asked for so far, greetings left out."""
        return [request["op"] for request in self.seen if request["op"] != "hello"]

    def close(self) -> None:
        """Vanish, as a killed process does."""
        self._ends = True
        self._thread.join()
        self._context.destroy(linger=0)


def leave_connection_file(folder: Path, endpoint: str) -> None:
    """A connection file as a daemon of this process would write it."""
    content = {"protocol": 1, "pid": os.getpid(), "version": "0", "endpoints": [endpoint], "events": [endpoint]}
    (folder / "connection.json").write_text(json.dumps({**content, "public_key": None}))
