"""The output of a dialogue that is held in the test's own process."""


class Collected:
    """Keeps everything written until `take`."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.err: list[str] = []

    def write(self, text: str) -> None:
        self.out.append(text)

    def error(self, line: str) -> None:
        self.err.append(line)

    def flush(self) -> None:
        pass

    def take(self) -> tuple[str, str]:
        """The text and the error lines written since the last time."""
        out, err = "".join(self.out), "".join(line + "\n" for line in self.err)
        self.out.clear()
        self.err.clear()
        return out, err
