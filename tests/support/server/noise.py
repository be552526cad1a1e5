"""Messages that no client means to send: a repeatable stream of them from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgpack

from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.commands.text import COMMANDS
from desdaemon.protocol.wire.messages import OPERATIONS

# A command that works for long is refused or cancelled like any other; these would end the dialogue of the test itself.
_LEFT_OUT = ("quit", "shutdown")
OPS = [operation.name for operation in OPERATIONS if operation.name not in _LEFT_OUT]
LINES = [command.name for command in COMMANDS if command.name not in _LEFT_OUT]
LINES += [f"book {command.name}" for command in BOOK_COMMANDS]
NAMES = ["board", "moves", "plies", "level", "depth", "selectivity", "nodes", "time_ms", "multipv", "allow", "avoid"]
NAMES += ["book", "partial_ms", "priority", "line", "target", "job", "file", "files", "relative", "absolute", "move"]
START = "---------------------------OX------XO--------------------------- X"


class Noise:
    """`message` gives the frames of one message; ``MEBIBYTE`` ones are rare, for they take time."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._kinds: list[tuple[int, Callable[[], list[bytes]]]] = [
            (20, self._any_bytes),
            (20, self._almost_msgpack),
            (10, self._nested),
            (5, self._large_map),
            (40, self._odd_request),
            (40, self._odd_arguments),
            (15, self._line),
            (15, self._frames),
            (10, self._replayed),
        ]

    def message(self) -> list[bytes]:
        """The frames of the next message."""
        if self._random.random() < 0.0005:
            return [self._huge()]
        weights = [weight for weight, _ in self._kinds]
        return self._random.choices(self._kinds, weights)[0][1]()

    def _any_bytes(self) -> list[bytes]:
        return [self._random.randbytes(self._random.randrange(200))]

    def _almost_msgpack(self) -> list[bytes]:
        body = bytearray(msgpack.packb(self._request()))
        for _ in range(self._random.randrange(1, 4)):
            if body:
                body[self._random.randrange(len(body))] = self._random.randrange(256)
        return [bytes(body[: self._random.randrange(1, len(body) + 1)])]

    def _nested(self) -> list[bytes]:
        depth = self._random.choice((10, 100, 1_000, 50_000))
        opening = self._random.choice((b"\x91", b"\x81\xa1a", b"\x81\x91"))
        return [b"\x81\xa4args" + opening * depth + self._random.choice((b"", b"\x90", b"\xc0"))]

    def _large_map(self) -> list[bytes]:
        kind = self._random.randrange(3)
        if kind == 0:
            return [b"\xdf" + self._random.randbytes(4) + self._random.randbytes(20)]
        count = self._random.randrange(10_000)
        if kind == 1:
            return [msgpack.packb({"v": 1, "id": 1, "op": "ping", "args": {str(number): 0 for number in range(count)}})]
        return [b"\x81\xa4args\xdc" + count.to_bytes(2) + b"\x80" * count]

    def _huge(self) -> bytes:
        size = (1 << 20) + self._random.choice((0, 1, 1000))
        return self._random.choice((b"\x81", b"x", b"\0")) + b"\xa0" * (size - 1)

    def _request(self) -> dict[str, Any]:
        return {"v": 1, "id": self._random.randrange(50), "op": self._random.choice(OPS), "args": {"moves": "f5"}}

    def _odd_request(self) -> list[bytes]:
        request = self._request()
        for _ in range(self._random.randrange(1, 3)):
            name = self._random.choice(("v", "id", "op", "args", "other"))
            if self._random.random() < 0.2:
                request.pop(name, None)
            else:
                request[name] = self._value()
        return [msgpack.packb(request)]

    def _odd_arguments(self) -> list[bytes]:
        args = {self._random.choice(NAMES): self._value() for _ in range(self._random.randrange(6))}
        return [msgpack.packb({**self._request(), "args": args})]

    def _value(self, depth: int = 2) -> Any:
        pick = self._random
        simple: list[Any] = [None, True, False, 0, -1, 1, 3, 60, 61, 2**31, 2**63, 2**64 - 1, -(2**63), 0.5]
        simple += [float("nan"), float("inf"), "", "f5", "f5d6", "pa", "a1", START, START[:30], "X" * 64 + " O", "use"]
        simple += ["../x", "/etc/passwd", "x\0y", "é" * 40, b"\xed\xa0\x80", b"\xff\0", b"x" * 999]
        if depth and pick.random() < 0.3:
            size = pick.randrange(5)
            if pick.random() < 0.5:
                return [self._value(depth - 1) for _ in range(size)]
            return {pick.choice(("a", "", 1, "v", b"b")): self._value(depth - 1) for _ in range(size)}
        return pick.choice(simple)

    def _line(self) -> list[bytes]:
        pick = self._random
        odd = ("1", "-5", "f5", "x" * 300, "\0", "é", START, "99999999999", "../..")
        words = [pick.choice(LINES), *pick.choices(odd, k=pick.randrange(4))]
        return [" ".join(words).encode() + pick.choice((b"", b"\n", b"\r\n", b"\xff", b"\0"))]

    def _frames(self) -> list[bytes]:
        count = self._random.choice((1, 2, 3, 4, 300))
        return [self._random.randbytes(self._random.randrange(3)) for _ in range(count)]

    def _replayed(self) -> list[bytes]:
        return [msgpack.packb({"v": 1, "id": "again", "op": "analyze", "args": {"level": 60, "book": "ignore"}})]
