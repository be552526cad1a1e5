"""The solver of adjudicated games: exact scores, from this program as a child process."""

from __future__ import annotations

import json
import re
import threading

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import Position, board_text
from desdaemon.protocol.othello.scores import MoverScore

from .engine_process import OWN_COMMAND, EngineFault, EngineProcess
from .process_groups import ProcessGroups

MOST_EMPTIES = 24
"""Most empty squares that the solver manages in seconds."""

_LINE = re.compile(rb"[^\n]*\n")
_PATIENCE_S = 3600.0


class Adjudicator:
    """Solves positions in a child process, which starts with the first `solve` and ends with `close`. Any thread may
    call `solve`; positions are solved one at a time.
    """

    def __init__(self, groups: ProcessGroups) -> None:
        self._groups = groups
        self._lock = threading.Lock()
        self._process: EngineProcess | None = None
        self._asked = 0

    def solve(self, position: Position) -> MoverScore:
        """Return the exact score of a position that is not over, in discs for the side to move. Raises `BadInput` if
        the child fails or was stopped.
        """
        with self._lock:
            self._asked += 1
            args = {"board": board_text(position), "level": 60, "book": "ignore"}
            try:
                if self._process is None:
                    self._process = EngineProcess([*OWN_COMMAND, "--protocol", "json", "-n", "1"], groups=self._groups)
                self._process.send(json.dumps({"v": 1, "id": self._asked, "op": "analyze", "args": args}))
                while True:
                    answer, _ = self._process.until(_LINE, _PATIENCE_S)
                    reply = json.loads(answer[0])
                    if reply["type"] == "error":
                        raise BadInput(f"--adjudicate: {reply['error']['message']}: expected a position to solve")
                    if reply["type"] != "partial" and reply["id"] == self._asked:
                        return MoverScore(reply["data"]["moves"][0]["score"])
            except EngineFault as fault:
                raise BadInput(f"--adjudicate: the solver: {fault}: expected it to answer") from None

    def close(self) -> None:
        if self._process:
            self._process.close()
