"""A dialogue at a terminal: readline edits the lines, with history and completion."""

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
    """Reads lines with readline. One thread calls `read`; any may call `restore`, as is done when the process ends."""

    def __init__(self, prompt: str, history: str, candidates: Callable[[str, str], list[str]]) -> None:
        """Load the history of lines from the file ``history``, to which lines are added if it can be used, and change
        settings of readline and of the terminal. Call `restore` before the process ends: it resets the terminal. Raises
        `ImportError` without readline.

        ``candidates`` gets a line and its last word and returns the words that this may become.
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
        """Show the prompt and return the next line, None at the end of the input. The line goes into the history."""
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
        """Reset the terminal to the settings that it had when this editor was made."""
        platform.restore_terminal(0, self._first_state)


def history_file() -> str:
    """Return the path of the file with the history of lines typed in dialogues."""
    return os.path.join(folders.state(), "history")  # noqa: PTH118


class PromptingOutput:
    """A `DialogueOutput` for a terminal where a line editor shows the prompt: the `flush` after a prompt sets
    ``prompted``. A prompt is only written if the next line was typed before it.

    The dialogue's thread writes; any thread may call `free`.
    """

    def __init__(self, output: DialogueOutput, prompt: str, waits: Callable[[], object]) -> None:
        """``waits`` returns a true value while lines that were typed before a prompt wait for the dialogue."""
        self._output = output
        self._prompt = prompt
        self._waits = waits
        self._due = False
        """Whether the prompt was written last and not flushed yet."""
        self._free = True
        self.prompted = threading.Event()
        """Set when a line is wanted and all text before the prompt has been written."""
        self.keys = threading.Lock()
        """Held by the thread that reads the keyboard while a command runs."""

    def free(self) -> bool:
        """Return whether the cursor is at the beginning of a line without a prompt."""
        return self._free

    def write(self, text: str) -> None:
        self._due = text == self._prompt
        if not self._due:
            self.prompted.clear()
            self._claim()
            self._output.write(text)
            self._output.flush()
            self._free = text.endswith("\n")

    def error(self, line: str) -> None:
        free = self._free
        self._claim()
        self._output.error(line)
        self._free = free

    def paged(self, text: str) -> bool:
        """Show a text page by page, as `desdaemon.protocol.system.terminal.paged` does. Returns False if nothing was
        shown.
        """
        from desdaemon.protocol.system.terminal import paged

        self._claim()
        with self.keys:
            return paged(text)

    def flush(self) -> None:
        self._output.flush()
        if self._due:
            self._due = False
            self._claim()
            with self.keys:
                if not self._waits():
                    self.prompted.set()
                    return
            self._output.write(self._prompt)
            self._output.flush()

    def _claim(self) -> None:
        """Clear the compiler's progress from the cursor's line, and note that the line is in use."""
        # Imported here: the first prompt does not need it.
        from desdaemon.engine.compiler import notice

        self._free = False
        notice.wipe()


def read_typed(editor: LineEditor, output: PromptingOutput, reader: LineReader) -> None:
    """Read lines typed at a terminal until the end of the input or a quit.

    The line editor reads while a prompt is shown. Between prompts the terminal is read plainly, so that a stop takes
    effect during a search.
    """
    going_on = True
    while going_on:
        data = None
        if output.prompted.wait(_POLL_S):
            typed = editor.read()
            data = b"" if typed is None else f"{typed}\n".encode("utf-8", "surrogateescape")
        with output.keys:
            if data is None and select.select([0], [], [], 0)[0]:
                data = os.read(0, CHUNK)
            if data is not None:
                # These lines answer the prompt, if there is one.
                output.prompted.clear()
                going_on = bool(data) and reader.feed(data)
    reader.close()
