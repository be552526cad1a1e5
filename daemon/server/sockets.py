"""The loop that owns the sockets: reads messages, dispatches them, sends replies, and never blocks.

One thread runs it. Others put replies into its inbox and wake it up. A reply that a client does not read waits in the
client's outbox, which is bounded; from a client whose outbox is half full nothing more is read. `ReadingOrder` decides
which connection is read from next.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from desdaemon.core.requests.operations import Operations
from desdaemon.core.requests.request import Data, PendingRequest, refusal
from desdaemon.protocol.commands.text import read_line
from desdaemon.protocol.wire import codec
from desdaemon.protocol.wire.constants import LARGEST_BODY, LONGEST_LINE, REPEATABLE
from desdaemon.protocol.wire.messages import RequestError, readable_id
from desdaemon.server.handshakes import GIVES_WAY_S, HandshakeTable
from desdaemon.server.transport.connection import RECEIVED_AT_ONCE, accepted
from desdaemon.server.transport.outbox import ByteTotal, Outgoing, SendQueue
from desdaemon.server.transport.poller import LEFT, READ, WRITE, Poller
from desdaemon.server.transport.zmtp import Frame, SocketKind, Violation

from .endpoints import Acceptor
from .peers import REVOKED, ServedConnection, SocketClient, SocketClients
from .reading_order import MESSAGES_IN_TURN, Rank, ReadingOrder

if TYPE_CHECKING:
    from desdaemon.core.metrics import ServerMetrics
    from desdaemon.dialogue.text_sessions import TextSessions

_ACCEPTED_AT_ONCE = 32
_CHORES_S = 0.25
_KEYS_S = 0.02
_HANDSHAKE_S = 10.0
_MOST_HANDSHAKES, _MOST_OF_AN_ADDRESS = 1024, 512
_LARGEST_HELD = 64 << 20
_EVENTS_KEPT, _EVENT_BYTES_KEPT = 256, 1 << 20
_REFUSALS_LOGGED_S = 60.0
_LAST_WORDS_S = 0.4
# As msgpack has `op` and its value.
_ASKING_NAMES = b"|".join(re.escape(codec.packed_text(name)) for name in sorted(REPEATABLE))
_ASKING = re.compile(b"\xa2op(?:" + _ASKING_NAMES + b")")
# The other operations, and lines about the book, read generously: `K` is also the lower case of a sign of three bytes.
_EFFECT = re.compile(b"\xa2op(?!" + _ASKING_NAMES + b")|[Bb](?:[Oo][Oo](?:[Kk]|\xe2\x84\xaa))?[\\s=\x80-\xff]")
_LOOKED_THROUGH = 1 << 20
_SILENCE_S = 0.1


class Sockets:
    """The loop over all sockets. `publish`, `in_flight` and `stop` may be called from any thread, the rest from the
    loop's.
    """

    def __init__(
        self,
        acceptors: list[Acceptor],
        operations: Operations,
        texts: TextSessions,
        health: ServerMetrics,
        chores: Callable[[], None],
        poller: Poller | None = None,
    ) -> None:
        """``chores`` is called a few times a second."""
        self.poller = poller or Poller()
        """Others may register sockets of their own before `run`."""
        self.peers = SocketClients(operations, texts, health, self._close)
        self._acceptors = acceptors
        self._operations = operations
        self._health = health
        self._chores = chores
        health.loop_busy = lambda: self.poller.woke > 0
        self._connections: set[ServedConnection] = set()
        self._handshaking: HandshakeTable[ServedConnection] = HandshakeTable(_MOST_HANDSHAKES, _MOST_OF_AN_ADDRESS)
        self._subscribers: list[set[ServedConnection]] = [set() for _ in acceptors]
        self._order: ReadingOrder[ServedConnection] = ReadingOrder(time.monotonic)
        self._dirty: dict[ServedConnection, None] = {}
        self._events = ByteTotal()
        """What subscribers have not read. An event is one object for all of them: it takes no room from replies."""
        self._buffer = memoryview(bytearray(RECEIVED_AT_ONCE))
        self._holding: dict[ServedConnection, None] = {}
        self._held = 0
        self._refusals: dict[str, int] = {}
        self._refusals_logged = -_REFUSALS_LOGGED_S
        self._paused: list[tuple[socket.socket, Callable[[int], None]]] = []
        self._inbox: deque[tuple[SocketClient | None, Outgoing]] = deque()
        # A pair of sockets, not a pipe: not every system can wait for a pipe together with sockets.
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_in.setblocking(False)
        self._wake_out.setblocking(False)
        # Any thread may wake the loop at any time, so that the pair is closed with the last reference to this.
        weakref.finalize(self, _close_all, self._wake_in, self._wake_out)
        self._woken = False
        self._thread = 0
        self._stopping = False
        self._next_chores = 0.0
        self._next_look_at_keys = 0.0
        self._received = 0.0
        self.poller.register(self._wake_in.fileno(), READ, self._on_wake)
        for acceptor in acceptors:
            for listening, kind in acceptor.listening:
                handler = partial(self._on_listening, acceptor, listening, kind)
                self.poller.register(listening.fileno(), READ, handler)

    # For every thread

    def publish(self, topic: str, data: Data) -> None:
        """Send an event to all subscribers of its topic."""
        self._inbox.append((None, Outgoing((topic.encode(),), codec.encode(data), True)))
        self._wake()

    def in_flight(self) -> list[PendingRequest]:
        """All requests whose final or error has not been sent yet."""
        return self.peers.in_flight()

    def stop(self) -> None:
        """End the loop, after the inbox has been sent and messages received by now have been answered."""
        self._stopping = True
        self._wake()

    def _wake(self) -> None:
        if not self._woken:
            self._woken = True
            with contextlib.suppress(OSError):
                self._wake_out.send(b"x")

    # The loop

    def run(self) -> None:
        """Run the loop until `stop`."""
        self._thread = threading.get_ident()
        while not self._stopping or self._inbox:
            self._turn()
        # What was sent in one go with a `shutdown` may not even have been read.
        now = self._received = time.monotonic()
        until = now + _LAST_WORDS_S
        while now < until and (self._inbox or self._order or now - self._received < _SILENCE_S):
            self._turn()
            now = time.monotonic()
        until = now + _LAST_WORDS_S
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
            self._health.longest_turn_s = max(self._health.longest_turn_s, time.monotonic() - self.poller.woke)
        except Exception:
            self._health.mistake("loop")

    def _on_wake(self, mask: int) -> None:
        with contextlib.suppress(BlockingIOError):
            self._wake_in.recv(4096)
        self._woken = False
        self._send_inbox()

    # Connections come and go

    def _on_listening(self, acceptor: Acceptor, listening: socket.socket, kind: SocketKind, mask: int) -> None:
        now = time.monotonic()
        for _ in range(_ACCEPTED_AT_ONCE):
            if not self._make_room(now):
                # The others wait in the system's queue.
                self._pause(acceptor, listening, kind)
                return
            try:
                found = accepted(listening)
            except OSError as error:
                self._out_of_descriptors(acceptor, listening, kind, error)
                return
            if found is None:
                return
            peer, address = found
            if not self._make_room(now, address):
                self._count_refusal("too many of an address")
                peer.close()
                continue
            connection = ServedConnection(acceptor, kind, peer)
            connection.reading = True
            self.poller.register(peer.fileno(), READ, partial(self._on_connection, connection))
            self._connections.add(connection)
            self._handshaking.add(connection, address, now)
            self._dirty[connection] = None

    def _make_room(self, now: float, address: str = "") -> bool:
        """Return whether there is room for one more handshake, from ``address`` if given, after ending a late one."""
        while self._handshaking.is_full(address):
            late = self._handshaking.oldest(now, GIVES_WAY_S, address)
            if late is None:
                return False
            self._refuse_handshake(late, "too many")
        return True

    def _out_of_descriptors(
        self, acceptor: Acceptor, listening: socket.socket, kind: SocketKind, error: OSError
    ) -> None:
        """Accept nothing until the next chores, and close a connection without a finished handshake."""
        self._count_refusal(error.strerror or "no descriptors")
        self._pause(acceptor, listening, kind)
        oldest = self._handshaking.oldest(time.monotonic(), 0.0)
        if oldest is not None:
            self._refuse_handshake(oldest, "too many")

    def _pause(self, acceptor: Acceptor, listening: socket.socket, kind: SocketKind) -> None:
        self.poller.unregister(listening.fileno())
        self._paused.append((listening, partial(self._on_listening, acceptor, listening, kind)))

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
        self._order.put(connection, Rank.FRESH if connection.conversation.open else Rank.HANDSHAKE)

    def _hang_up(self, connection: ServedConnection) -> None:
        """Handle the end of a connection by its peer; messages sent before it may still be unread."""
        connection.broken = True
        connection.blocked = False
        self._unwatch(connection)
        if connection.deserted and self._has_nothing_to_do(connection):
            self._close(connection)
        else:
            self._order.put(connection, Rank.BEHIND)

    def _has_nothing_to_do(self, connection: ServedConnection) -> bool:
        """Whether no message that a disconnected peer left behind must be carried out."""
        conversation = connection.conversation
        while not connection.ended and conversation.kept < _LOOKED_THROUGH:
            connection.receive(self._buffer)
        unread = conversation.unread
        return connection.ended and unread is not None and _EFFECT.search(unread) is None

    def _note_held(self, connection: ServedConnection) -> None:
        """Count large messages that have arrived in part, and the bytes that they hold."""
        kept = connection.conversation.kept
        held = kept if kept > RECEIVED_AT_ONCE else 0
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
            self._close(next(iter(self._holding)))

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
        self._handshaking.discard(connection)
        self._subscribers[self._acceptors.index(connection.acceptor)].discard(connection)
        self._dirty.pop(connection, None)
        self._holding.pop(connection, None)
        self._held -= connection.held
        connection.held = 0
        connection.close()

    def _refuse_handshake(self, connection: ServedConnection, reason: str) -> None:
        self._count_refusal(reason)
        connection.flush()
        self._close(connection)

    def _count_refusal(self, reason: str) -> None:
        self._refusals[reason] = self._refusals.get(reason, 0) + 1
        self._health.count("handshakes refused")

    def _log_refusals(self, now: float) -> None:
        """Log refused connections, at most one line a minute."""
        if self._refusals and now - self._refusals_logged >= _REFUSALS_LOGGED_S:
            self._refusals_logged = now
            reasons = ", ".join(f"{reason} {number}" for reason, number in sorted(self._refusals.items()))
            self._health.log.warning("handshakes refused", number=sum(self._refusals.values()), reasons=reasons)
            self._refusals.clear()

    # What they say

    def _serve(self) -> None:
        """Handle waiting requests for a few milliseconds, some of each kind of connection in each turn."""
        self._apply_key_changes(time.monotonic())
        for connection, quantum, until in self._order.round():
            self._serve_one(connection, quantum, until)

    def _serve_one(self, connection: ServedConnection, quantum: int, until: float) -> None:
        """Handle up to ``quantum`` messages; after ``until`` only the first."""
        if connection.broken and not connection.ended and not connection.conversation.has_input:
            # The last that a peer sent before it left is in the system's buffer.
            connection.receive(self._buffer)
        try:
            self._consume(connection, quantum, until)
        except Violation as violation:
            if connection.conversation.open:
                self._health.count("protocol violations")
                self._close(connection)
            else:
                self._refuse_handshake(connection, str(violation))
            return
        self._note_held(connection)
        if connection.closed:
            return
        more = connection.conversation.has_input
        if more and connection.crowded and not connection.broken:
            connection.blocked = True
        elif more or (connection.broken and not connection.ended):
            self._order.put(connection, Rank.BEHIND)
        elif connection.ended:
            self._close(connection)
            return
        self._watch(connection, reading=not more, writing=connection.writing)
        self._dirty[connection] = None
        self._flush_one(connection)

    def _consume(self, connection: ServedConnection, quantum: int, until: float) -> None:
        conversation = connection.conversation
        if not conversation.open:
            # Only a few steps, after each of which the peer may have to answer.
            quantum = MESSAGES_IN_TURN
        for _ in range(quantum):
            if connection.crowded and not connection.broken:
                return
            frames = conversation.next()
            if frames is None:
                return
            if frames:
                self._take(connection, frames)
            elif conversation.open and connection in self._handshaking:
                self._welcome(connection)
                return
            if connection.closed or time.monotonic() >= until:
                return

    def _welcome(self, connection: ServedConnection) -> None:
        """Handle the end of a handshake."""
        self._handshaking.discard(connection)
        if connection.kind is SocketKind.REQUESTS:
            self.peers.joined(connection, time.monotonic())
        else:
            connection.outbox = SendQueue(_EVENTS_KEPT, _EVENT_BYTES_KEPT, self._events)
            self._subscribers[self._acceptors.index(connection.acceptor)].add(connection)

    def _take(self, connection: ServedConnection, frames: tuple[Frame, ...]) -> None:
        peer, body = connection.peer, frames[-1]
        if peer is None or (connection.deserted and _is_lost(body)):
            return
        peer.seen = self._received
        prefix: tuple[bytes, ...] = ()
        if len(frames) == 2 and frames[0] == b"":
            prefix = (b"",)
        elif len(frames) != 1:
            self._health.count("wrong frames")
            wrong = RequestError("bad_request", "expected one frame, or an empty one and one")
            self._refuse(peer, (b"",) if frames[0] == b"" else (), wrong)
            return
        try:
            if isinstance(body, int) or (codec.is_structured(body) and len(body) > LARGEST_BODY):
                size = body if isinstance(body, int) else len(body)
                excess = RequestError("too_large", f"a body of {size} bytes: expected at most {LARGEST_BODY}")
                self._refuse(peer, prefix, excess)
            elif codec.is_structured(body):
                self._take_request(peer, prefix, body)
            elif peer.role:
                self._take_text(peer, prefix, body)
            else:
                self._refuse(peer, prefix, REVOKED)
        except Exception:
            self._health.mistake("message")

    def _take_request(self, peer: SocketClient, prefix: tuple[bytes, ...], body: bytes) -> None:
        try:
            message = codec.decode(body)
        except codec.WireError as error:
            self._refuse(peer, prefix, RequestError("bad_request", str(error)))
            return
        if not peer.role:
            self._refuse(peer, prefix, REVOKED, readable_id(message))
            return
        last_only = bool(prefix) and peer.last_only

        def reply(answer: Data) -> None:
            partial = answer["type"] == "partial"
            if not (partial and last_only):
                self._send(peer, Outgoing(prefix, codec.encode(answer), partial))

        self._operations.handle(peer, message, reply)

    def _take_text(self, peer: SocketClient, prefix: tuple[bytes, ...], body: bytes) -> None:
        def reply(text: str) -> None:
            self._send(peer, Outgoing(prefix, text.encode("utf-8", "backslashreplace"), False))

        if len(body) > LONGEST_LINE:
            self._health.refused("too_large")
            reply(f"WARNING: a line of {len(body)} bytes: expected at most {LONGEST_LINE}\n")
            return
        try:
            line = read_line(body.decode())
        except UnicodeDecodeError:
            self._health.refused("bad_request")
            reply("WARNING: expected a msgpack map or a line of UTF-8 text\n")
            return
        if peer.departed and line.asks:
            return
        peer.lines += 1
        self._operations.handle_text(peer, peer.lines, line, reply)

    def _refuse(
        self, peer: SocketClient, prefix: tuple[bytes, ...], error: RequestError, identity: str | int | None = None
    ) -> None:
        self._health.refused(error.code)
        self._send(peer, Outgoing(prefix, codec.encode(refusal(identity, error)), False))

    # A few times a second

    def _apply_key_changes(self, now: float) -> None:
        """Close connections of revoked keys. Checked at intervals: checking before each batch of messages would be
        costly.
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
        for listening, handler in self._paused:
            self.poller.register(listening.fileno(), READ, handler)
        self._paused.clear()
        while (late := self._handshaking.oldest(now, _HANDSHAKE_S)) is not None:
            self._refuse_handshake(late, "took too long")
        self._apply_key_changes(now)
        self.peers.tidy(now)
        self._log_refusals(now)

    # Replies

    def _send(self, peer: SocketClient, reply: Outgoing) -> None:
        """Queue a reply for the loop. Any thread."""
        if threading.get_ident() == self._thread:
            # What other threads have said before comes before.
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
        # One that comes back within its grace gets what it missed.
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


def _is_lost(body: Frame) -> bool:
    """Whether a structured or too large message can be dropped after its client has gone: nothing but a reply follows.

    Thousands of them may wait, so only the name of the operation is looked for.
    """
    return isinstance(body, int) or (codec.is_structured(body) and _ASKING.search(body) is not None)


def _close_all(*sockets: socket.socket) -> None:
    for each in sockets:
        each.close()
