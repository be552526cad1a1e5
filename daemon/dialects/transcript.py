"""A dialogue written down in a file as it goes on: ``<`` before what came in, ``>`` before what went out."""

from __future__ import annotations

from .dialogue import InputLine, LineSource
from .output import DialogueOutput


class DialogueLog:
    """The file. Raises `OSError` when it cannot be opened; one that cannot be written any more is given up."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "a", encoding="utf-8", errors="backslashreplace")  # noqa: PTH123 SIM115  kept open

    def note(self, mark: str, text: str) -> None:
        """Lines that came in or went out."""
        try:
            self._file.writelines(f"{mark} {line}\n" for line in text.splitlines())
            self._file.flush()
        except (OSError, ValueError):
            self._file.close()


class LoggedOutput:
    """An `DialogueOutput` whose text is written down."""

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
    """A `LineSource` whose lines are written down as they are taken."""

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
