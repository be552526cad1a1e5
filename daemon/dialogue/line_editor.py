"""Line editing, history and completion at a terminal, by readline."""

from __future__ import annotations

import os
from collections.abc import Callable

from desdaemon.protocol.system import folders, platform

LONGEST_HISTORY = 1000


class LineEditor:
    """Reads lines with readline. `read` is for one thread, `restore` for every thread and the end of the process."""

    def __init__(self, prompt: str, history: str, candidates: Callable[[str, str], list[str]]) -> None:
        """``history`` is the file that keeps the lines, if it can be used; ``candidates`` gets a line and its last word
        and names what that may become. Raises `ImportError`.
        """
        self._readline = readline = platform.line_editing()
        self._as_found = platform.terminal_state(0)
        self._prompt = prompt
        self._history = history
        self._found: list[str] = []
        self._candidates = candidates
        readline.set_history_length(LONGEST_HISTORY)
        readline.set_completer_delims(" ")
        readline.set_completer(self._complete)
        platform.complete_with_tab(readline)
        try:
            os.makedirs(os.path.dirname(history), mode=0o700, exist_ok=True)  # noqa: PTH103 PTH120  pathlib costs time
            os.close(platform.open_file(history, os.O_CREAT | os.O_RDONLY, 0o600))
            readline.read_history_file(history)
        except OSError:
            self._history = ""

    def _complete(self, word: str, at: int) -> str | None:
        if at == 0:
            self._found = self._candidates(self._readline.get_line_buffer(), word)
        return f"{self._found[at]} " if at < len(self._found) else None

    def read(self) -> str | None:
        """The next line behind a prompt; None at the end of the input."""
        try:
            line = input(self._prompt)
        except EOFError:
            return None
        if self._history:
            try:
                self._readline.write_history_file(self._history)
            except OSError:
                self._history = ""
        return line

    def restore(self) -> None:
        """Restore the terminal's settings, whatever state an unfinished read has left it in."""
        platform.restore_terminal(0, self._as_found)


def history_file() -> str:
    """The path of the file that keeps the lines of dialogues."""
    return os.path.join(folders.state(), "history")  # noqa: PTH118
