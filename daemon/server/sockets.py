"""The loop that owns the sockets: it reads messages, has them carried out, sends replies, and never blocks.

One thread runs the loop; others put replies into its inbox and wake it. Replies that a client does not read wait in its
bounded outbox; while that is half full nothing more is read from the client.

`Newcomers` accepts connections, `ReadingOrder` chooses which to read, `Incoming` parses messages, `SocketClients` has
the clients.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from desdaemon.core.requests.operations import Operations
from desdaemon.core.requests.request import Data, PendingRequest
from desdaemon.protocol.wire import codec
from desdaemon.server.transport.connection import RECEIVED_AT_ONCE
from desdaemon.server.transport.outbox import ByteTotal, Outgoing, SendQueue
from desdaemon.server.transport.poller import LEFT, READ, WRITE, Poller
from desdaemon.server.transport.zmtp import Frame, SocketKind, Violation

from .endpoints import Acceptor
from .heap import RETURNED_EVERY_S, return_memory
from .incoming import Incoming, may_have_effect
from .newcomers import Newcomers
from .peers import ServedConnection, SocketClient, SocketClients
from .reading_order import MESSAGES_IN_TURN, Rank, ReadingOrder

if TYPE_CHECKING:
    from desdaemon.core.metrics import ServerMetrics
    from desdaemon.dialogue.text_sessions import TextSessions

_CHORES_S = 0.25
_KEYS_S = 0.02
_LARGEST_HELD = 64 << 20
_EVENTS_KEPT, _EVENT_BYTES_KEPT = 256, 1 << 20
_LOOKED_THROUGH = 1 << 20
"""Most bytes left by a peer that are searched for messages with an effect; if it left more, all messages are read."""

_LAST_WORDS_S, _SILENCE_S = 2.0, 0.1
"""Seconds at the end of the loop in which data may still arrive and is answered: in all, which takes a peer that goes
on sending or a machine that is busy, and without anything new.
"""
_LAST_ANSWERS_S = 0.4
"""Seconds after that in which answers are still sent, to peers that are slow to read them."""


class Sockets:
    """The loop over all sockets. Its thread calls all methods, other threads only `publish`, `in_flight` and `stop`."""

    def __init__(
        self,
        acceptors: list[Acceptor],
        operations: Operations,
        texts: TextSessions,
        health: ServerMetrics,
        chores: Callable[[], None],
        poller: Poller | None = None,
    ) -> None:
        """``chores`` is called a few times a second, on the loop's thread."""
        self.poller = poller or Poller()
        self.peers = SocketClients(operations, texts, health, self._close)
        self._acceptors = acceptors
        self._newcomers = Newcomers(acceptors, self.poller, health, self._on_arrival, self._close)
        self._incoming = Incoming(operations, health, self._send)
        self._health = health
        self._chores = chores
        health.loop_busy = lambda: self.poller.woke > 0
        self._connections: set[ServedConnection] = set()
        """All connections that are not closed."""
        self._subscribers: list[dict[ServedConnection, None]] = [{} for _ in acceptors]
        """For each acceptor its connections for events whose handshake is over, the oldest first."""
        self._most_subscribers = operations.limits.clients
        self._order: ReadingOrder[ServedConnection] = ReadingOrder(time.perf_counter)
        self._dirty: dict[ServedConnection, None] = {}
        """Connections that may have something to send now, in a dict for its order."""
        self._events = ByteTotal()
        """Bytes of events that subscribers have not read; replies are counted elsewhere."""
        self._buffer = memoryview(bytearray(RECEIVED_AT_ONCE))
        self._holding: dict[ServedConnection, None] = {}
        """All and only connections with ``held`` > 0, the one that began its large message first at the front."""
        self._held = 0
        """Sum of ``held`` over all connections, bytes."""
        self._inbox: deque[tuple[SocketClient | None, Outgoing]] = deque()
        """Replies from other threads, and events, which have no client (None)."""
        # Sockets, because not every system can wait for a pipe together with sockets.
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_in.setblocking(False)
        self._wake_out.setblocking(False)
        # Not closed by `run`: any thread may wake the loop at any time. The pair is closed with the last reference to
        # this object.
        weakref.finalize(self, _close_all, self._wake_in, self._wake_out)
        self._woken = False
        """Whether a byte is on its way through the pair of sockets that wakes the loop; any thread sets it."""
        self._thread = 0
        """`threading.get_ident` of the loop's thread; 0 before `run`."""
        self._stopping = False
        self._next_chores = 0.0
        self._next_look_at_keys = 0.0
        self._next_return = time.monotonic() + RETURNED_EVERY_S
        self._received = 0.0
        """Time when bytes were last received."""
        self.poller.register(self._wake_in.fileno(), READ, self._on_wake)

    # For every thread

    def publish(self, topic: str, data: Data) -> None:
        """Send an event to all subscribers of its topic. Any thread may call it."""
        self._inbox.append((None, Outgoing((topic.encode(),), codec.encode(data), True)))
        self._wake()

    def in_flight(self) -> list[PendingRequest]:
        """Return all requests whose final or error was not sent yet. Any thread may call it."""
        return self.peers.in_flight()

    def stop(self) -> None:
        """End the loop once the inbox is sent and the messages received so far are answered. Any thread may call it."""
        self._stopping = True
        self._wake()

    def _wake(self) -> None:
        if not self._woken:
            self._woken = True
            with contextlib.suppress(OSError):
                self._wake_out.send(b"x")

    # The loop

    def run(self) -> None:
        """Run the loop until `stop`; then answer what has arrived, for at most some seconds, and close all sockets."""
        self._thread = threading.get_ident()
        while not self._stopping or self._inbox:
            self._turn()
        # Messages sent together with a `shutdown` may still be on their way.
        now = self._received = time.monotonic()
        until = now + _LAST_WORDS_S
        while now < until and (self._inbox or self._order or now - self._received < _SILENCE_S):
            self._turn()
            now = time.monotonic()
        until = now + _LAST_ANSWERS_S
        while time.monotonic() < until and any(connection.unsent for connection in self._connections):
            self._turn()
        for acceptor in self._acceptors:
            acceptor.close()
        for connection in list(self._connections):
            self._close(connection)
        self.poller.close()

    def _turn(self) -> None:
        idle = not (self._order or self._stopping)
        wait = max(0.0, self._next_chores - time.monotonic()) if idle else 0.0 if self._order else 0.002
        try:
            self.poller.poll(wait)
            if self._order:
                self._serve()
            self._flush()
            if time.monotonic() >= self._next_chores:
                self._next_chores = time.monotonic() + _CHORES_S
                self._tidy()
                self._chores()
                self._flush()
            self._health.longest_turn_s = max(self._health.longest_turn_s, time.perf_counter() - self.poller.woke)
        except Exception:
            self._health.mistake("loop")

    def _on_wake(self, mask: int) -> None:
        with contextlib.suppress(BlockingIOError):
            self._wake_in.recv(4096)
        self._woken = False
        self._send_inbox()

    # Connections

    def _on_arrival(self, connection: ServedConnection) -> None:
        connection.reading = True
        self.poller.register(connection.socket.fileno(), READ, partial(self._on_connection, connection))
        self._connections.add(connection)
        self._dirty[connection] = None

    def _on_connection(self, connection: ServedConnection, mask: int) -> None:
        if mask & WRITE:
            self._dirty[connection] = None
        if mask & READ and connection.reading:
            self._receive(connection)
        elif mask & LEFT:
            self._hang_up(connection)

    def _receive(self, connection: ServedConnection) -> None:
        connection.receive(self._buffer)
        self._received = time.monotonic()
        self._note_held(connection)
        if connection.closed:
            return
        if connection.ended:
            self._hang_up(connection)
        else:
            self._order.put(connection, Rank.FRESH if connection.conversation.open else Rank.HANDSHAKE)

    def _hang_up(self, connection: ServedConnection) -> None:
        """Note that a peer has closed its connection. If it cannot come back for replies and nothing that it sent has
        another effect, the connection is closed at once, otherwise after the messages that it sent were handled.
        """
        if self._order.has_departed(connection):
            return
        connection.broken = True
        connection.blocked = False
        self._unwatch(connection)
        if not connection.ended:
            # A peer may take no replies and go on sending.
            connection.stop_input()
        if self._has_nothing_to_do(connection):
            self._close(connection)
        else:
            self._note_held(connection)
            self._order.put(connection, Rank.ABANDONED)

    def _has_nothing_to_do(self, connection: ServedConnection) -> bool:
        """Receive up to `_LOOKED_THROUGH` bytes that a peer sent before it went. Returns True if no message in them
        need be carried out, False if one may have to be.
        """
        conversation = connection.conversation
        while not connection.ended and conversation.kept < _LOOKED_THROUGH:
            connection.receive(self._buffer)
        if not connection.ended or not conversation.has_input:
            return connection.ended
        unread = conversation.unread
        return connection.deserted and unread is not None and not may_have_effect(unread)

    def _note_held(self, connection: ServedConnection) -> None:
        """Update the number of bytes held for unfinished large messages, and for departed peers. While it exceeds
        `_LARGEST_HELD`, close the connection that has held some longest; the last to depart if all have departed.
        """
        size = connection.conversation.kept
        held = size if size > RECEIVED_AT_ONCE and not connection.closed else 0
        if held == connection.held:
            return
        if not connection.held:
            self._holding[connection] = None
        elif not held:
            self._holding.pop(connection, None)
        self._held += held - connection.held
        connection.held = held
        while self._held > _LARGEST_HELD:
            self._health.count("unfinished messages dropped")
            present = (held for held in self._holding if not self._order.has_departed(held))
            self._close(next(present, next(reversed(self._holding))))

    def _watch(self, connection: ServedConnection, *, reading: bool, writing: bool) -> None:
        if connection.watched and (reading, writing) != (connection.reading, connection.writing):
            connection.reading, connection.writing = reading, writing
            self.poller.modify(connection.socket.fileno(), (READ if reading else 0) | (WRITE if writing else 0))

    def _unwatch(self, connection: ServedConnection) -> None:
        if connection.watched:
            connection.watched = False
            self.poller.unregister(connection.socket.fileno())

    def _close(self, connection: ServedConnection) -> None:
        if connection.closed:
            return
        self._unwatch(connection)
        self.peers.left(connection, time.monotonic())
        self._connections.discard(connection)
        self._order.discard(connection)
        self._newcomers.leave(connection)
        self._subscribers[self._acceptors.index(connection.acceptor)].pop(connection, None)
        self._dirty.pop(connection, None)
        self._holding.pop(connection, None)
        self._held -= connection.held
        connection.held = 0
        connection.close()

    # Messages

    def _serve(self) -> None:
        """Carry out messages for a few milliseconds, some of each rank of `ReadingOrder`."""
        self._apply_key_changes(time.monotonic())
        for connection, quantum, until in self._order.round():
            self._serve_one(connection, quantum, until)

    def _serve_one(self, connection: ServedConnection, quantum: int, until: float) -> None:
        """Carry out up to ``quantum`` messages of a connection, but begin none after the first once ``until`` has come
        (`time.perf_counter`). If it has more, queue it for its next turn; close it if it has ended or broken the
        protocol.
        """
        if connection.broken and not connection.ended and not connection.conversation.has_input:
            # Messages that the peer sent just before it left may still be in the system's buffer.
            connection.receive(self._buffer)
        try:
            self._consume(connection, quantum, until)
        except Violation as violation:
            if connection.conversation.open:
                self._health.count("protocol violations")
                self._close(connection)
            else:
                self._newcomers.refuse(connection, str(violation))
            return
        self._note_held(connection)
        if connection.closed:
            return
        more = connection.conversation.has_input
        if more and connection.crowded and not connection.broken:
            connection.blocked = True
        elif connection.ended and not more:
            self._close(connection)
            return
        elif more and not connection.broken:
            self._order.put(connection, Rank.BEHIND)
        self._watch(connection, reading=not more, writing=connection.writing)
        self._dirty[connection] = None
        self._flush_one(connection)

    def _consume(self, connection: ServedConnection, quantum: int, until: float) -> None:
        conversation = connection.conversation
        if not conversation.open:
            # All steps of a handshake: there are few, and the peer waits for an answer between them.
            quantum = MESSAGES_IN_TURN
        for _ in range(quantum):
            if connection.crowded and not connection.broken:
                return
            frames = conversation.next()
            if frames is None:
                return
            if frames:
                self._take(connection, frames)
            elif conversation.open and connection in self._newcomers:
                self._welcome(connection)
                return
            if connection.closed or time.perf_counter() >= until:
                return

    def _welcome(self, connection: ServedConnection) -> None:
        """Make a peer whose handshake is over a client or a subscriber."""
        self._newcomers.leave(connection)
        if connection.kind is SocketKind.REQUESTS:
            self.peers.joined(connection, time.monotonic())
        else:
            connection.outbox = SendQueue(_EVENTS_KEPT, _EVENT_BYTES_KEPT, self._events)
            subscribers = self._subscribers[self._acceptors.index(connection.acceptor)]
            if len(subscribers) >= self._most_subscribers:
                self._health.count("clients forgotten")
                self._close(next(iter(subscribers)))
            subscribers[connection] = None
        if connection.broken and self._has_nothing_to_do(connection):
            self._close(connection)

    def _take(self, connection: ServedConnection, frames: tuple[Frame, ...]) -> None:
        if connection.peer is not None:
            connection.peer.seen = self._received
            self._incoming.take(connection.peer, frames, deserted=connection.deserted)

    # A few times a second

    def _apply_key_changes(self, now: float) -> None:
        """Apply changed lists of keys: clients get their new roles, subscribers whose key was revoked are disconnected.
        Looks at the files every `_KEYS_S` only, because each look is a system call.
        """
        if now < self._next_look_at_keys:
            return
        self._next_look_at_keys = now + _KEYS_S
        for number, acceptor in enumerate(self._acceptors):
            if acceptor.keys_changed():
                self.peers.renew_roles(acceptor)
                for connection in list(self._subscribers[number]):
                    if not acceptor.admits(connection.conversation.user):
                        self._close(connection)

    def _tidy(self) -> None:
        now = time.monotonic()
        if now >= self._next_return:
            self._next_return = now + RETURNED_EVERY_S
            return_memory()
        self._newcomers.tidy(now)
        self._apply_key_changes(now)
        self.peers.tidy(now)

    # Replies

    def _send(self, peer: SocketClient, reply: Outgoing) -> None:
        """Queue a reply for a client. Any thread may call it."""
        if threading.get_ident() == self._thread:
            # Replies that other threads have queued before go first.
            if self._inbox:
                self._send_inbox()
            self._deliver(peer, reply)
        else:
            self._inbox.append((peer, reply))
            self._wake()

    def _send_inbox(self) -> None:
        while self._inbox:
            peer, reply = self._inbox.popleft()
            if peer is not None:
                self._deliver(peer, reply)
            else:
                self._publish(reply)

    def _publish(self, event: Outgoing) -> None:
        for subscribers in self._subscribers:
            for connection in subscribers:
                if connection.outbox is not None and connection.conversation.wants(event.prefix[0]):
                    connection.outbox.put(event)
                    self._dirty[connection] = None

    def _deliver(self, peer: SocketClient, reply: Outgoing) -> None:
        if peer.connection is None and (peer.dropped or not peer.named):
            return
        # A client with a routing id that comes back in time gets the replies it has missed.
        for dropped in peer.outbox.put(reply):
            self.peers.count_dropped(partial=dropped.partial)
        self.peers.relieve()
        if peer.connection is not None:
            self._dirty[peer.connection] = None

    def _flush(self) -> None:
        while self._dirty:
            dirty, self._dirty = self._dirty, {}
            for connection in dirty:
                self._flush_one(connection)

    def _flush_one(self, connection: ServedConnection) -> None:
        self._dirty.pop(connection, None)
        if connection.closed:
            return
        everything = connection.broken or connection.flush()
        if connection.broken:
            self._hang_up(connection)
            return
        if connection.blocked and not connection.crowded:
            connection.blocked = False
            self._order.put(connection, Rank.BEHIND)
        self._watch(connection, reading=connection.reading, writing=not everything)


def _close_all(*sockets: socket.socket) -> None:
    for each in sockets:
        each.close()
