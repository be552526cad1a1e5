"""A dialogue at a terminal: readline edits the lines behind a prompt, with history and completion."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable

from desdaemon.protocol.system import folders, platform

from .streams import CHUNK, DialogueOutput, LineReader

LONGEST_HISTORY = 1000

_POLL_S = 0.1


class LineEditor:
    """Reads lines with readline. `read` is for one thread, `restore` for every thread and the end of the process."""

    def __init__(self, prompt: str, history: str, candidates: Callable[[str, str], list[str]]) -> None:
        """``history`` is the file that keeps the lines, if it can be used; ``candidates`` gets a line and its last word
        and returns what the word may become. Raises `ImportError`.
        """
        self._readline = readline = platform.line_editing()
        self._first_state = platform.terminal_state(0)
        platform.hide_control_keys(0)
        self._prompt = prompt
        self._history = history
        self._completions: list[str] = []
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

    def _complete(self, word: str, number: int) -> str | None:
        if number == 0:
            self._completions = self._candidates(self._readline.get_line_buffer(), word)
        return f"{self._completions[number]} " if number < len(self._completions) else None

    def read(self) -> str | None:
        """Return the next line behind a prompt; None at the end of the input."""
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
        """Restore the terminal's first settings, which an unfinished read has changed."""
        platform.restore_terminal(0, self._first_state)


def history_file() -> str:
    """Return the path of the file that keeps the lines of dialogues."""
    return os.path.join(folders.state(), "history")  # noqa: PTH118


class PromptingOutput:
    """A `DialogueOutput` at a terminal. The line editor shows the prompt: instead of writing it, `flush` sets
    ``prompted``.

    The dialogue's thread writes; `free` may be called from any thread.
    """

    def __init__(self, output: DialogueOutput, prompt: str) -> None:
        self._output = output
        self._prompt = prompt
        self._due = False
        """The prompt was written last and has not been flushed."""
        self._free = True
        self.prompted = threading.Event()
        """A line is wanted, and everything before it has been written."""

    def free(self) -> bool:
        """True if the cursor is at the beginning of a line, and no prompt follows before more is written."""
        return self._free

    def write(self, text: str) -> None:
        """See `DialogueOutput`."""
        self._due = text == self._prompt
        if not self._due:
            self.prompted.clear()
            self._claim()
            self._output.write(text)
            self._output.flush()
            self._free = text.endswith("\n")

    def error(self, line: str) -> None:
        """See `DialogueOutput`."""
        free = self._free
        self._claim()
        self._output.error(line)
        self._free = free

    def flush(self) -> None:
        """See `DialogueOutput`."""
        self._output.flush()
        if self._due:
            self._due = False
            self._claim()
            self.prompted.set()

    def _claim(self) -> None:
        """Clear the compiler's progress from the cursor's line."""
        # Imported here: nothing before the first prompt needs it.
        from desdaemon.engine.compiler import notice

        self._free = False
        notice.wipe()


def read_typed(editor: LineEditor, prompted: threading.Event, reader: LineReader) -> None:
    """Read lines typed at a terminal to its end or to a quit.

    The line editor reads while a prompt is shown; otherwise plain reads, so that a stop arrives during a search.
    """
    going_on = True
    while going_on:
        if prompted.wait(_POLL_S):
            prompted.clear()
            typed = editor.read()
            data = b"" if typed is None else f"{typed}\n".encode("utf-8", "surrogateescape")
        elif select.select([0], [], [], 0)[0]:
            data = os.read(0, CHUNK)
        else:
            continue
        going_on = bool(data) and reader.feed(data)
    reader.close()
