"""Messages of clients: requests go to `Operations`, lines to the client's text session, all else is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.core.requests.request import Data, refusal
from desdaemon.protocol.commands.text import read_line
from desdaemon.protocol.wire import codec
from desdaemon.protocol.wire.constants import LARGEST_BODY, LONGEST_LINE
from desdaemon.protocol.wire.messages import REPEATABLE, RequestError, readable_id
from desdaemon.server.transport.outbox import Outgoing
from desdaemon.server.transport.zmtp import LARGEST_ENVELOPE, MOST_ENVELOPE_FRAMES, Frame, LargeFrame

from .peers import REVOKED, SocketClient

if TYPE_CHECKING:
    from desdaemon.core.metrics import ServerMetrics
    from desdaemon.core.requests.operations import Operations

# The bytes of the key `op` and an operation's name in msgpack; of a message that was cut off, the begin of a name.
_PACKED_NAMES = sorted(codec.packed_text(name) for name in REPEATABLE)
_ASKING_NAMES = b"|".join(map(re.escape, _PACKED_NAMES))
_CUT_NAMES = b"|".join(sorted({re.escape(name[:size]) for name in _PACKED_NAMES for size in range(len(name))}))
_ASKING = re.compile(b"\xa2op(?:" + _ASKING_NAMES + b")")
# Other operations, and lines that may be about the book: too many match rather than too few. The lower case of `K` is
# also that of a sign of three bytes. A blank that is not ASCII begins with one of four bytes, with none of which a key
# of msgpack does: before one may stand the last byte of a number.
_EFFECT = re.compile(
    b"\xa2op(?!"
    + _ASKING_NAMES
    + b"|(?:"
    + _CUT_NAMES
    + b")\\Z)|[Bb](?:[Oo][Oo](?:[Kk]|\xe2\x84\xaa))?[\\s=\xc2\xe1-\xe3]"
)


def may_have_effect(unread: bytes) -> bool:
    """Return whether a message in ``unread``, bytes of a client that has gone, may have an effect besides its reply. If
    not, the messages need not be read.
    """
    return _EFFECT.search(unread) is not None


def _only_asks(body: Frame) -> bool:
    """Return whether a request of a client that has gone can be dropped, because it has no effect besides its reply.

    Thousands of requests may wait, so this one is not parsed: the operation's name is searched for.
    """
    return isinstance(body, LargeFrame) or (codec.is_structured(body) and _ASKING.search(body) is not None)


def _id_in(body: bytes) -> str | int | None:
    """Return the id of a request that is refused undecoded; ``body`` may be its beginning. None if it is not found."""
    return readable_id({"id": codec.find_value(body, "id")})


def _excess(size: int) -> RequestError:
    return RequestError("too_large", f"a body of {size} bytes: expected at most {LARGEST_BODY}")


class Incoming:
    """Reads messages and passes them to the operations. For the loop's thread; replies come from any thread."""

    def __init__(
        self, operations: Operations, health: ServerMetrics, send: Callable[[SocketClient, Outgoing], None]
    ) -> None:
        """``send`` queues a reply, from any thread."""
        self._operations = operations
        self._health = health
        self._send = send

    def take(self, peer: SocketClient, frames: tuple[Frame, ...], *, deserted: bool) -> None:
        """Carry out a message: the last of its ``frames`` is the body, those before it are the envelope, which replies
        get as it came. If ``deserted``, nobody can receive the reply, and only messages with another effect are carried
        out.
        """
        body = frames[-1]
        if deserted and _only_asks(body):
            return
        prefix = tuple(part for part in frames[:-1] if isinstance(part, bytes)) if len(frames) > 1 else ()
        try:
            if len(prefix) < len(frames) - 1:
                self._health.count("wrong frames")
                head = body.head if isinstance(body, LargeFrame) else body
                wrong = f"expected an envelope of at most {MOST_ENVELOPE_FRAMES} frames and {LARGEST_ENVELOPE} bytes"
                self._refuse(peer, (), RequestError("bad_request", wrong), _id_in(head))
            elif isinstance(body, LargeFrame):
                self._refuse(peer, prefix, _excess(body.size), _id_in(body.head))
            elif len(body) > LARGEST_BODY:
                self._refuse(peer, prefix, _excess(len(body)), _id_in(body))
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
            message = codec.decode_request(body)
        except codec.WireError as error:
            self._refuse(peer, prefix, RequestError("bad_request", str(error)), _id_in(body))
            return
        if not peer.role:
            self._refuse(peer, prefix, REVOKED, readable_id(message))
            return
        delimited = prefix[-1:] == (b"",)
        # The socket behind a broker is taken for a REQ, which takes one reply, where it sent a delimiter.
        last_only = delimited and (peer.last_only or len(prefix) > 1)

        def reply(answer: Data) -> None:
            partial = answer["type"] == "partial"
            if not (partial and last_only):
                self._send(peer, Outgoing(prefix, codec.encode(answer), partial))

        self._operations.handle(peer, message, reply, prefix[:-1] if delimited else prefix)

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
