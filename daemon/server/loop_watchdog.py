"""A watchdog for the loop of the sockets: logs the stacks of a turn that lasts long, at level debug."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

    from desdaemon.protocol.system.logs import Log
    from desdaemon.server.transport.poller import Poller

HELD_S = 0.02
"""A turn of the loop that lasts longer is logged, once."""

_LOOK_S = 0.005
_FRAMES_SHOWN = 4


class LoopWatchdog:
    """A thread that samples the loop every few milliseconds; it takes the interpreter's lock for that."""

    def __init__(self, poller: Poller, log: Log) -> None:
        self._poller = poller
        self._log = log

    def start(self, loop_thread: int) -> None:
        """Begin to watch the loop, which runs on the thread of that `threading.get_ident`."""
        threading.Thread(target=self._watch, args=(loop_thread,), name="loop watchdog", daemon=True).start()

    def _watch(self, loop_thread: int) -> None:
        logged = 0.0
        while True:
            time.sleep(_LOOK_S)
            woke = self._poller.woke
            if woke and woke != logged and time.monotonic() - woke > HELD_S:
                logged = woke
                self._log.debug("loop held", ms=round(1000 * (time.monotonic() - woke), 1), stacks=stacks(loop_thread))


def stacks(first: int) -> str:
    """The innermost calls of all other threads that run Python code, those of the thread ``first`` before the rest."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    frames = sys._current_frames()
    frames.pop(threading.get_ident(), None)
    order = sorted(frames, key=lambda ident: (ident != first, ident))
    return "; ".join(f"{names.get(ident, ident)}: {_calls(frames[ident])}" for ident in order)


def _calls(frame: FrameType) -> str:
    found = [call for call in traceback.extract_stack(frame) if "importlib" not in call.filename][-_FRAMES_SHOWN:]
    return " > ".join(f"{call.filename.rpartition('/')[2]}:{call.lineno} {call.name}" for call in found)
