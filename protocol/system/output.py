"""Output that waits for no reader: a thread of its own writes, and what finds no room is dropped and counted."""

from __future__ import annotations

import os
import select
import threading

from . import platform

MOST_WAITING = 1 << 20
"""Most bytes that wait to be written."""
CLOSE_S = 1.0
"""Seconds that the end of a program waits for a reader."""
_PIECE = 1 << 16

_patience_s = CLOSE_S


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of ``data``, and wait as long as that takes, whether the descriptor blocks or not. Raises `OSError`."""
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:
            select.select([], [descriptor], [])


def leave_unread() -> None:
    """After a signal that ends the program: let go of standard streams that nobody reads, so that what is still written
    waits for nobody. A reader has `CLOSE_S` to make room, at the first signal alone: each further one comes within the
    handler of the one before, and would wait in turn.
    """
    global _patience_s
    patience_s, _patience_s = _patience_s, 0.0
    for descriptor in (1, 2):
        if not platform.takes_output(descriptor, patience_s):
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


class UnreadOutput:
    """Writes texts to a file descriptor from a thread of its own, so that a reader who does not read stops nobody.

    While `MOST_WAITING` bytes wait, further texts are dropped; once the reader has taken those, a line tells how many
    lines were lost. After a closed pipe all is dropped. Any thread may use it. Nothing else may write to the
    descriptor meanwhile.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting = bytearray()
        self._lost = 0
        self._ended = False
        self._failure: OSError | None = None
        self._changed = threading.Condition()
        # A thread that waits for a reader must not keep the process.
        self._thread = threading.Thread(target=self._write, name="desdaemon output", daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        """Take a text, or drop it. Raises `OSError` if an earlier one could not be written, as on a full disk."""
        data = text.encode("utf-8", "backslashreplace")
        with self._changed:
            if self._failure and not platform.reader_left(self._failure):
                raise self._failure
            if self._failure or self._ended:
                return
            if self._lost or len(self._waiting) + len(data) > MOST_WAITING:
                self._lost += text.count("\n") or 1
                return
            self._waiting += data
            self._changed.notify_all()

    def close(self) -> None:
        """Wait `CLOSE_S` for what is still to be written, then drop it. Raises `OSError` as `write` does."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join(CLOSE_S)
        if self._failure and not platform.reader_left(self._failure):
            raise self._failure

    def _write(self) -> None:
        try:
            while piece := self._next():
                write_all(self._descriptor, piece)
                with self._changed:
                    del self._waiting[: len(piece)]
        except OSError as error:
            with self._changed:
                self._failure = error
                self._waiting.clear()

    def _next(self) -> bytes:
        """Wait for something to write, and return it; b"" at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._lost or self._ended)
            if not self._waiting and self._lost:
                self._waiting += f"... lines dropped because nobody was reading: {self._lost}\n".encode()
                self._lost = 0
            return bytes(self._waiting[:_PIECE])
