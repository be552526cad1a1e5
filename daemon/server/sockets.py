"""The loop that owns the sockets: takes messages, hands them on, sends replies, and never waits for anybody.

One thread runs it. Others leave what they have to say in its inbox and wake it up. A reply that a client does not read
waits in the client's outbox, which is bounded: its oldest partials go first.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import zmq

from desdaemon.operations.registry import Client, Data, Operations, Request, refusal
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.wire import codec
from desdaemon.protocol.wire.messages import LARGEST_BODY, LONGEST_LINE, RequestError

from .endpoints import Arrival, Door, Porter

if TYPE_CHECKING:
    from .metrics import Health
    from .text_sessions import Texts

_AT_A_TIME = 100
_LONGEST_BATCH_S = 0.005
_RETRY_S = 0.005
_RETRIED = 50
_CHORES_S = 0.25
_LAST_WORDS_S = 0.3
_SILENCE_S = 0.03
LARGEST_OUTBOXES = 64 << 20
"""Bytes of all clients' outboxes together."""


class Outgoing(NamedTuple):
    """A reply that waits to be sent."""

    prefix: tuple[bytes, ...]
    body: bytes
    partial: bool


class Peer(Client):
    """A client of a socket, by its identity there."""

    def __init__(self, door: Door, identity: bytes) -> None:
        super().__init__(f"{door.name}/{identity.hex()[:16]}", door.role)
        self.door = door
        self.identity = identity
        self.connection = -1
        self.user = ""
        self.kind = ""
        self.seen = 0.0
        self.gone: float | None = None
        """Since when it has no connection."""
        self.dropped = False
        """Whether what it had in flight was ended because it has gone."""
        self.lines = 0
        self.outbox: deque[Outgoing] | None = None
        self.outbox_bytes = 0


class Sockets:
    """See the module. `publish`, `in_flight` and `stop` are for every thread, everything else for the loop's own."""

    def __init__(
        self,
        doors: list[Door],
        porter: Porter | None,
        operations: Operations,
        texts: Texts,
        health: Health,
        chores: Callable[[], None],
    ) -> None:
        """``chores`` is called a few times a second."""
        self._doors = doors
        self._porter = porter
        self._operations = operations
        self._limits = operations.limits
        self._texts = texts
        self._health = health
        self._chores = chores
        self._peers: dict[tuple[int, bytes], Peer] = {}
        self._connections: list[dict[int, Peer]] = [{} for _ in doors]
        self._stalled: dict[Peer, None] = {}
        self._outbox_bytes = 0
        self._inbox: deque[tuple[Peer | None, Outgoing]] = deque()
        self._wake_in, self._wake_out = os.pipe()
        os.set_blocking(self._wake_in, False)
        os.set_blocking(self._wake_out, False)
        self._woken = False
        self._thread = 0
        self._stopping = False
        self._next_chores = 0.0
        self._received = 0.0
        self._poller = zmq.Poller()
        for door in doors:
            self._poller.register(door.socket, zmq.POLLIN)
            self._poller.register(door.monitor, zmq.POLLIN)
        if porter:
            self._poller.register(porter.socket, zmq.POLLIN)
        self._poller.register(self._wake_in, zmq.POLLIN)

    # For every thread

    def publish(self, topic: str, data: Data) -> None:
        """Tell all who have subscribed to events of that topic."""
        self._inbox.append((None, Outgoing((topic.encode(),), codec.encode(data), True)))
        self._wake()

    def in_flight(self) -> list[Request]:
        """All requests whose final or error has not been handed over yet."""
        return [
            request
            for peer in list(self._peers.values())
            for request in (*list(peer.requests.values()), *list(peer.parting))
        ]

    def stop(self) -> None:
        """End the loop, when what is in the inbox has been sent and what clients have sent by now was answered."""
        self._stopping = True
        self._wake()

    def _wake(self) -> None:
        if not self._woken:
            self._woken = True
            with contextlib.suppress(BlockingIOError, OSError):
                os.write(self._wake_out, b"x")

    # The loop

    def run(self) -> None:
        """Until `stop`."""
        self._thread = threading.get_ident()
        while not self._stopping or self._inbox:
            self._turn()
        # What was sent in one go with a `shutdown` may not even have been read.
        now = self._received = time.monotonic()
        until = now + _LAST_WORDS_S
        while now < until and (self._inbox or now - self._received < _SILENCE_S):
            self._turn()
            now = time.monotonic()
        until = now + _LAST_WORDS_S
        while self._stalled and time.monotonic() < until:
            self._retry()
            time.sleep(_RETRY_S)
        self._stopping = True
        for door in self._doors:
            door.close(linger_ms=300)
        if self._porter:
            self._porter.socket.close(linger=0)

    def _turn(self) -> None:
        now = time.monotonic()
        wait = _RETRY_S if self._stalled or self._stopping else max(0.0, self._next_chores - now)
        ready = dict(self._poller.poll(int(wait * 1000) + 1))
        try:
            if self._porter and self._porter.socket in ready:
                self._porter.answer()
            for number, door in enumerate(self._doors):
                if door.monitor in ready:
                    self._part(number, door)
                if door.socket in ready:
                    self._receive(number, door)
            if self._wake_in in ready:
                self._empty_inbox()
            if self._stalled:
                self._retry()
            if time.monotonic() >= self._next_chores:
                self._next_chores = time.monotonic() + _CHORES_S
                self._tidy()
                self._chores()
        except Exception:
            self._health.mistake("loop")

    def _receive(self, number: int, door: Door) -> None:
        until = time.monotonic() + _LONGEST_BATCH_S
        for _ in range(_AT_A_TIME):
            try:
                arrival = door.receive()
            except zmq.Again:
                return
            self._received = time.monotonic()
            try:
                self._take(number, door, arrival)
            except Exception:
                self._health.mistake("message")
            if self._received > until:
                return

    def _take(self, number: int, door: Door, arrival: Arrival) -> None:
        peer = self._peers.get((number, arrival.identity))
        if peer is None or peer.gone is not None or peer.connection != arrival.connection or peer.user != arrival.user:
            peer = self._greet(number, door, arrival, peer)
        peer.seen = self._received
        prefix = arrival.prefix
        last_only = bool(prefix) and arrival.kind == "REQ"
        body = arrival.body
        if body is None:
            self._health.count("wrong frames")
            self._refuse(peer, prefix, RequestError("bad_request", "expected one frame, or an empty one and one"))
            return
        if not peer.role:
            self._refuse(peer, prefix, RequestError("forbidden", "this key was taken back"))
            return
        if not codec.is_structured(body):
            self._take_text(peer, prefix, body)
            return
        if len(body) > LARGEST_BODY:
            excess = RequestError("too_large", f"a body of {len(body)} bytes: expected at most {LARGEST_BODY}")
            self._refuse(peer, prefix, excess)
            return
        try:
            message = codec.decode(body)
        except codec.WireError as error:
            self._refuse(peer, prefix, RequestError("bad_request", str(error)))
            return

        def reply(answer: Data) -> None:
            partial = answer["type"] == "partial"
            if not (partial and last_only):
                self._send(peer, Outgoing(prefix, codec.encode(answer), partial))

        self._operations.handle(peer, message, reply)

    def _take_text(self, peer: Peer, prefix: tuple[bytes, ...], body: bytes) -> None:
        def reply(text: str) -> None:
            self._send(peer, Outgoing(prefix, text.encode("utf-8", "backslashreplace"), False))

        if len(body) > LONGEST_LINE:
            self._health.refused("too_large")
            reply(f"WARNING: a line of {len(body)} bytes: expected at most {LONGEST_LINE}\n")
            return
        try:
            line = body.decode()
        except UnicodeDecodeError:
            self._health.refused("bad_request")
            reply("WARNING: expected a msgpack map or a line of UTF-8 text\n")
            return
        peer.lines += 1
        self._operations.handle_text(peer, peer.lines, line, reply)

    def _refuse(self, peer: Peer, prefix: tuple[bytes, ...], error: RequestError) -> None:
        self._health.refused(error.code)
        self._send(peer, Outgoing(prefix, codec.encode(refusal(None, error)), False))

    # Who is there

    def _greet(self, number: int, door: Door, arrival: Arrival, peer: Peer | None) -> Peer:
        """A client that is new, or has a new connection."""
        self._part(number, door)
        if peer is not None and peer.user != arrival.user:
            self._forget(peer)
            peer = None
        if peer is None:
            if len(self._peers) >= self._limits.clients:
                self._make_room()
            peer = self._peers[(number, arrival.identity)] = Peer(door, arrival.identity)
            self._health.clients = len(self._peers)
        name, peer.role = arrival.user[:8], ""
        with contextlib.suppress(BadInput):
            name, peer.role = door.role_of(arrival.user)
        if arrival.user:
            peer.name = name
        peer.user = arrival.user
        peer.dropped = False
        self._connect(self._connections[number], door, peer, arrival.connection)
        return peer

    def _connect(self, connections: dict[int, Peer], door: Door, peer: Peer, connection: int) -> None:
        if connections.get(peer.connection) is peer:
            del connections[peer.connection]
        if connection not in door.connections:
            # What a client has sent arrives even after its connection has ended.
            peer.connection = -1
            peer.gone = peer.gone or time.monotonic()
            return
        former = connections.get(connection)
        if former is not None:
            former.connection = -1
            former.gone = time.monotonic()
        peer.connection = connection
        peer.gone = None
        connections[connection] = peer
        if peer.outbox:
            self._stalled[peer] = None

    def _part(self, number: int, door: Door) -> None:
        """Note whose connections have ended."""
        for connection in door.closed_connections():
            if connection < 0:
                self._health.count("handshakes refused")
                self._health.log.warning("handshake refused", door=door.name)
                continue
            peer = self._connections[number].pop(connection, None)
            if peer is not None and peer.connection == connection:
                peer.gone = time.monotonic()
                peer.connection = -1

    def _make_room(self) -> None:
        """Forget the client that was seen last the longest ago, of those that have gone if there are any."""
        oldest = min(self._peers.values(), key=lambda peer: (peer.gone is None, peer.seen))
        self._health.count("clients forgotten")
        self._forget(oldest)

    def _forget(self, peer: Peer) -> None:
        self._operations.drop(peer)
        self._texts.forget(peer)
        self._empty_outbox(peer)
        number = self._doors.index(peer.door)
        if self._connections[number].get(peer.connection) is peer:
            del self._connections[number][peer.connection]
        self._peers.pop((number, peer.identity), None)
        self._health.clients = len(self._peers)

    def _tidy(self) -> None:
        """End what vanished clients have in flight, and forget those that stay away."""
        now = time.monotonic()
        if self._porter and self._porter.refused:
            self._health.count("keys refused", self._porter.refused)
            self._health.log.warning("keys refused", number=self._porter.refused)
            self._porter.refused = 0
        for peer in list(self._peers.values()):
            if peer.door.keys is not None:
                self._renew_role(peer)
            if peer.gone is None:
                continue
            away = now - peer.gone
            if away >= self._limits.grace_s and not peer.dropped:
                peer.dropped = True
                self._operations.drop(peer)
                self._empty_outbox(peer)
            if away >= (self._limits.session_s if peer.texts is not None else self._limits.grace_s):
                self._forget(peer)

    def _renew_role(self, peer: Peer) -> None:
        with contextlib.suppress(BadInput):
            peer.role = peer.door.role_of(peer.user)[1]
        if not peer.role and peer.requests:
            self._operations.drop(peer)

    # Replies

    def _send(self, peer: Peer, reply: Outgoing) -> None:
        """A reply, from any thread."""
        if threading.get_ident() == self._thread:
            # What other threads have said before comes before.
            if self._inbox:
                self._send_inbox()
            self._deliver(peer, reply)
        else:
            self._inbox.append((peer, reply))
            self._wake()

    def _empty_inbox(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_in, 4096)
        self._woken = False
        self._send_inbox()

    def _send_inbox(self) -> None:
        while self._inbox:
            peer, reply = self._inbox.popleft()
            if peer is not None:
                self._deliver(peer, reply)
            else:
                for door in self._doors:
                    door.publish(reply.prefix[0], reply.body)

    def _deliver(self, peer: Peer, reply: Outgoing) -> None:
        if peer.outbox:
            self._keep(peer, reply)
            return
        try:
            peer.door.send(peer.identity, reply.prefix, reply.body)
        except zmq.Again:
            self._keep(peer, reply)
        except zmq.ZMQError:
            # It has no connection now; a client that comes back within its grace gets what it missed.
            if not peer.dropped:
                self._keep(peer, reply)

    def _keep(self, peer: Peer, reply: Outgoing) -> None:
        if peer.outbox is None:
            peer.outbox = deque()
        peer.outbox.append(reply)
        peer.outbox_bytes += len(reply.body)
        self._outbox_bytes += len(reply.body)
        self._stalled[peer] = None
        limits = self._limits
        while peer.outbox and (
            len(peer.outbox) > limits.backlog
            or (peer.outbox_bytes > limits.backlog_bytes and len(peer.outbox) > 1)
            or self._outbox_bytes > LARGEST_OUTBOXES
        ):
            self._drop_oldest(peer)

    def _drop_oldest(self, peer: Peer) -> None:
        assert peer.outbox is not None
        at = next((at for at, reply in enumerate(peer.outbox) if reply.partial), 0)
        size = len(peer.outbox[at].body)
        self._health.count("partials dropped" if peer.outbox[at].partial else "replies dropped")
        del peer.outbox[at]
        peer.outbox_bytes -= size
        self._outbox_bytes -= size

    def _empty_outbox(self, peer: Peer) -> None:
        self._outbox_bytes -= peer.outbox_bytes
        peer.outbox, peer.outbox_bytes = None, 0
        self._stalled.pop(peer, None)

    def _retry(self) -> None:
        """Send what waits to some of those who did not read, the others next time."""
        for peer in list(itertools.islice(self._stalled, _RETRIED)):
            del self._stalled[peer]
            while peer.outbox:
                reply = peer.outbox[0]
                try:
                    peer.door.send(peer.identity, reply.prefix, reply.body)
                except zmq.ZMQError:
                    break
                peer.outbox.popleft()
                peer.outbox_bytes -= len(reply.body)
                self._outbox_bytes -= len(reply.body)
            if not peer.outbox:
                self._empty_outbox(peer)
            elif peer.gone is None:
                self._stalled[peer] = None
