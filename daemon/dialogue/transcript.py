"""The log of a dialogue for the option ``ui-log-file``: ``<`` before each input line, ``>`` before output, ``!`` before
errors.
"""

from __future__ import annotations

from desdaemon.dialogue.dialects.dialect import InputLine, LineSource

from .output import DialogueOutput


class DialogueLog:
    """The log file. Raises `OSError` when it cannot be opened; after a failed write nothing more is written."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "a", encoding="utf-8", errors="backslashreplace")  # noqa: PTH123 SIM115  kept open

    def note(self, mark: str, text: str) -> None:
        """Log lines of input or output."""
        try:
            self._file.writelines(f"{mark} {line}\n" for line in text.splitlines())
            self._file.flush()
        except (OSError, ValueError):
            self._file.close()


class LoggedOutput:
    """A `DialogueOutput` that writes its text to a `DialogueLog` as well."""

    def __init__(self, output: DialogueOutput, transcript: DialogueLog) -> None:
        self._output = output
        self._transcript = transcript

    def write(self, text: str) -> None:
        """See `DialogueOutput`."""
        self._transcript.note(">", text)
        self._output.write(text)

    def error(self, line: str) -> None:
        """See `DialogueOutput`."""
        self._transcript.note("!", line)
        self._output.error(line)

    def flush(self) -> None:
        """See `DialogueOutput`."""
        self._output.flush()


class LoggedSource:
    """A `LineSource` that writes each line to a `DialogueLog` when the dialogue takes it."""

    def __init__(self, source: LineSource, transcript: DialogueLog) -> None:
        self._source = source
        self._transcript = transcript

    def get(self) -> InputLine:
        """See `LineSource`."""
        item = self._source.get()
        self._transcript.note("<", item.text or item.error)
        return item

    def peek(self) -> InputLine | None:
        """See `LineSource`."""
        return self._source.peek()
